"""The project's targets for ontologies, checked against one run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rdf.apart import Run
from bench.rdf.systems import OURS
from bench.report import Target

OWLRL_FASTER = 20
SINGLE = 0.010  # seconds: milliseconds, not tens of them


def find(runs: Sequence[Run], system: str, universities: int) -> Run | None:
    return next((r for r in runs if (r.system, r.universities) == (system, universities)), None)


def targets(runs: Sequence[Run]) -> list[Target]:
    return [
        *(against(runs, ours, "owlrl", OWLRL_FASTER) for ours in OURS),
        *(against(runs, ours, "reasonable", 1) for ours in OURS),
        *(single(runs, ours) for ours in OURS),
        *(axiom(runs, ours) for ours in OURS),
    ]


def against(runs: Sequence[Run], ours: str, peer: str, wanted: float) -> Target:
    """On LUBM-1, in total: load and reason."""
    text = f"LUBM-1, {ours}: " + (
        f"at least {wanted:g} times as fast as {peer}" if wanted > 1 else f"no slower than {peer}"
    )
    mine, other = find(runs, ours, 1), find(runs, peer, 1)
    if mine is None or other is None or not mine.total or not other.least:
        return Target(text, None, "")
    ratio = other.least / mine.total
    bound = other.status == "seconds"
    reached = True if ratio >= wanted else None if bound else False
    return Target(text, reached, f"{'more than ' if bound else ''}{ratio:.1f} times")


def single(runs: Sequence[Run], ours: str) -> Target:
    text = f"{ours}: a single triple changes in at most {1000 * SINGLE:.0f} ms, whatever the size"
    times = [
        (run.universities, 1000 * each)
        for run in runs
        if run.system == ours
        for step in ("remove 1 triple", "add 1 triple")
        if (each := run.seconds(step)) is not None
    ]
    if not times:
        return Target(text, None, "")
    most = max(times, key=lambda each: each[1])
    return Target(text, most[1] <= 1000 * SINGLE, f"at most {most[1]:.1f} ms, LUBM-{most[0]}")


def axiom(runs: Sequence[Run], ours: str) -> Target:
    """Removing an axiom, compared with deriving everything again without it."""
    text = f"{ours}: an axiom's removal costs what it changes: less than a fresh start"
    shares, parts = [], []
    for run in runs:
        gone, reason = run.seconds("remove 1 axiom"), run.seconds("reason")
        if run.system == ours and gone is not None and reason is not None:
            shares.append(gone / reason)
            count = run.figure("add 1 axiom", "changed")
            each = f", {1e6 * gone / count:.0f} µs per removed triple" if count else ""
            share = f"{100 * shares[-1]:.0f} % of the reasoning"
            parts.append(f"LUBM-{run.universities}: {share}{each}")
    if not shares:
        return Target(text, None, "")
    return Target(text, all(share < 1 for share in shares), "; ".join(parts))
