"""Rows as tables: times with and without modules, and the paper's ratios beside ours."""

from __future__ import annotations

from bench import report
from bench.modules import paper
from bench.modules.play import ALGORITHMS, MODULAR, PLAIN, Row
from bench.report import table
from bench.updates.tables import factor, time_of


def faster(row: Row) -> tuple[float, bool] | None:
    """How many times as fast modules make a step, and whether that is only a lower bound."""
    ratio = row.times_faster(MODULAR, PLAIN)
    return None if ratio is None else (ratio, row.status(PLAIN) == "stopped")


def times(rows: list[Row]) -> str:
    header = ["workload", "step", "facts in", "all facts", "changed", *ALGORITHMS]
    return table(
        [*header, f"{PLAIN} / {MODULAR}", "in the paper"],
        [
            [
                row.title,
                row.step,
                f"{row.given:,}",
                f"{row.facts:,}",
                f"{row.changed():,.0f}",
                *(time_of(row, name) for name in ALGORITHMS),
                ours(row),
                theirs(row),
            ]
            for row in rows
        ],
    )


def ours(row: Row) -> str:
    found = faster(row)
    return "–" if found is None else bounded(*found)


def bounded(ratio: float, is_bound: bool) -> str:
    """
    >>> bounded(12.0, False), bounded(12.0, True)
    ('12×', '> 12×')
    """
    return f"{'> ' * is_bound}{factor(ratio)}"


def theirs(row: Row) -> str:
    ratio = paper.ratio(row.paper, row.kind)
    return "–" if ratio is None else factor(ratio)


def memory(rows: list[Row]) -> str:
    """Peaks of processes that have read the facts and materialised them."""

    def mebibytes(row: Row, name: str) -> str:
        return f"{row.peaks[name] / 2**20:,.0f}" if row.peaks.get(name) else "–"

    lines = [
        [row.title, f"{row.facts:,}", mebibytes(row, PLAIN), mebibytes(row, MODULAR)]
        for row in rows
        if row.kind == "materialise"
    ]
    return table(["workload", "all facts", "without modules", "with modules"], lines)


def peers(rows: list[report.Row]) -> str:
    lines = []
    for row in rows:
        line = [row.title, f"{row.given:,}", f"{row.facts():,}"]
        for name in (report.OURS, *report.PEERS):
            shown = report.shown(row.best.get(name), lambda found: report.seconds(found.seconds))
            ratio = None if name == report.OURS else row.ratio(name)
            line.append(f"{shown} ({bounded(*ratio)})" if ratio else shown)
        lines.append([*line, "yes" if row.equal() else "NO"])
    names = ["Tidelog", "DuckDB", "nemo", "clingo", "egglog", "equal"]
    return table(["workload", "facts in", "facts out", *names], lines)
