"""The text of a run's page, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rdf.apart import Run
from bench.rdf.systems import OURS
from bench.rdf.targets import find, targets
from bench.spark.tables import table

HOW = (
    "Each system runs in a process of its own, warmed up before. Seconds are wall or "
    "CPU time, whichever is less, because other work shares the machine; the median if a step was "
    "repeated. Bytes are the growth of the process until everything was derived, per triple. "
    "Triples per second are the given triples, over the time of loading and reasoning."
)
STEPS = ("1 triple", "100 triples", "1 % of the triples", "1 axiom")


def page(where: str, runs: Sequence[Run]) -> str:
    word = {True: "yes", False: "no", None: "not measured"}
    lines = [[t.text, t.figure, word[t.reached]] for t in targets(runs)]
    parts = [where, HOW, table(["target", "measured", "met"], lines)]
    parts += ["### Materialising", materialising(runs), "### Changing", changing(runs)]
    return "\n\n".join(parts)


def materialising(runs: Sequence[Run]) -> str:
    lines = []
    for run in runs:
        triples, grown = run.figure("reason", "triples"), run.figure("reason", "bytes")
        lines.append(
            [
                f"LUBM-{run.universities}",
                run.system,
                f"{run.given:,}",
                seconds(run.seconds("load")),
                seconds(run.seconds("reason")) if run.total is not None else stopped(run),
                "" if triples is None else f"{triples:,}",
                "" if not run.total else f"{run.given / run.total:,.0f}",
                "" if not triples or grown is None else f"{grown / triples:,.0f}",
            ]
        )
    head = ["data", "system", "given", "load (s)", "reason (s)", "triples", "per second", "bytes"]
    return table(head, lines)


def changing(runs: Sequence[Run]) -> str:
    """Milliseconds of removing and adding again, by size."""
    lines = []
    for universities in sorted({run.universities for run in runs}):
        for system in OURS:
            run = find(runs, system, universities)
            if run is None:
                continue
            for what in STEPS:
                gone, back = run.seconds(f"remove {what}"), run.seconds(f"add {what}")
                count = run.figure(f"add {what}", "changed")
                if gone is not None and back is not None and count is not None:
                    cells = [f"{1000 * gone:,.1f}", f"{1000 * back:,.1f}", f"{count:,}"]
                    lines.append([f"LUBM-{universities}", system, what, *cells])
    return table(["data", "system", "change", "remove (ms)", "add (ms)", "triples changed"], lines)


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def stopped(run: Run) -> str:
    told = {"seconds": f"more than {run.limit:.0f}", "memory": "out of memory"}
    return told.get(run.status, run.status)
