"""The project's targets for closure modules, checked against the rows of one run."""

from __future__ import annotations

from collections.abc import Callable

from bench import report
from bench.modules import paper
from bench.modules.paper import Kind
from bench.modules.play import MODULAR, PLAIN, Row
from bench.modules.tables import faster
from bench.report import Target
from bench.updates.figures import AUTO, BASE
from bench.updates.tables import time_of
from bench.updates.targets import agreement

STEPS: dict[Kind, tuple[str, float]] = {
    "materialise": ("materialisation", 5),
    "delete few": ("small deletions", 10),
}


def targets(rows: list[Row], peers: list[report.Row]) -> list[Target]:
    return [
        agreement(list(rows)),
        *(asked for kind in STEPS for asked in (so_many(rows, kind), as_theirs(rows, kind))),
        again([row for row in rows if row.scene == "dag-r"]),
        report.at_least(
            "non-linear closure ten times as fast as in every peer", peers, report.PEERS, 10
        ),
    ]


def so_many(rows: list[Row], kind: Kind) -> Target:
    """Every row is this many times as fast, or as many times as in the paper if that is less."""
    name, factor = STEPS[kind]

    def asked(row: Row) -> float:
        return min(factor, paper.ratio(row.paper, kind) or factor)

    text = f"{name} with modules at least {factor:.0f} times as fast as without"
    less = any(asked(row) < factor for row in rows if row.kind == kind)
    text += ", or as in the paper where that is less" if less else ""
    return least(text, [row for row in rows if row.kind == kind], asked)


def as_theirs(rows: list[Row], kind: Kind) -> Target:
    """Every row that is also in the paper gains as much as there."""
    theirs = [row for row in rows if row.kind == kind and paper.ratio(row.paper, kind)]
    text = f"modules gain as much in {STEPS[kind][0]} as in the paper"
    return least(text, theirs, lambda row: paper.ratio(row.paper, kind) or 0.0)


def least(text: str, rows: list[Row], asked: Callable[[Row], float]) -> Target:
    """Every row counts. A row whose ratio is only a lower bound leaves the target open if the bound
    does not decide."""
    if not rows:
        return Target(text, None, "no figures")
    above: list[tuple[float, str]] = []
    below: list[str] = []
    unknown: list[str] = []
    for row in rows:
        found = faster(row)
        if found is None:
            cells = f"{PLAIN} {time_of(row, PLAIN)}, {MODULAR} {time_of(row, MODULAR)}"
            below.append(f"{row.name}: {cells}")
        elif found[0] >= asked(row):
            above.append((found[0], row.name))
        else:
            told = f"{'more than ' * found[1]}{found[0]:.1f} of {asked(row):.1f} times: {row.name}"
            (unknown if found[1] else below).append(told)
    if not below and not unknown:
        ratio, name = min(above)
        return Target(text, True, f"at least {ratio:.1f} times: {name}; {len(rows)} rows")
    reached = False if below else None
    parts = [f"{len(below)} of {len(rows)} rows are below: {'; '.join(below)}"] if below else []
    parts += [f"not known: {'; '.join(unknown)}"] if unknown else []
    return Target(text, reached, "; ".join(parts))


def again(rows: list[Row]) -> Target:
    """Deleting few edges of DAG-R, against materialising it with modules, before or after."""
    text = "deleting 1,000 edges of DAG-R is faster than materialising it again"
    of = {row.kind: row for row in rows}
    if not of.keys() >= {"delete few", "materialise"}:
        return Target(text, None, "no figures")
    mine, fresh = of["delete few"].seconds(MODULAR), of["materialise"].seconds(MODULAR)
    after = of["delete few"].seconds(BASE)
    beside = (
        f"{MODULAR} {time_of(of['delete few'], MODULAR)} ms, auto "
        f"{time_of(of['delete few'], AUTO)} ms; materialising {time_of(of['materialise'], MODULAR)}"
        f" ms, recomputing after the deletion {time_of(of['delete few'], BASE)} ms"
    )
    known = [seconds for seconds in (fresh, after) if seconds is not None]
    return Target(text, mine is not None and bool(known) and mine < min(known), beside)
