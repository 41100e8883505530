"""Rows as tables."""

from __future__ import annotations

from collections.abc import Sequence

from bench.dbsp.cases import MATERIALISE
from bench.dbsp.figures import Row
from bench.modules.tables import bounded
from bench.report import table
from bench.updates.tables import milliseconds

MEBI = 2**20


def time_of(row: Row, system: str) -> str:
    """Milliseconds, or the reason why there are none."""
    seconds = row.seconds(system)
    if seconds is not None:
        return milliseconds(seconds)
    why = {"seconds": f"> {row.limit(system):.0f} s", "memory": "out of memory", "failed": "failed"}
    return why.get(row.status(system) or "", "–")


def index(rows: Sequence[Row], systems: Sequence[str], circuit: str, plain: str) -> str:
    """Materialisation with the index and without."""
    header = ["program and data", "part", "facts in", "all facts", *systems, f"{plain} / {circuit}"]
    header += ["in the circuit"]
    lines = []
    for row in rows:
        found, within = row.faster(circuit, plain), row.faster(circuit, plain, own=True)
        lines.append(
            [
                *(row.title, f"{row.percent} %", f"{row.given:,}", f"{row.facts():,}"),
                *(time_of(row, name) for name in systems),
                bounded(*found) if found else "–",
                bounded(*within) if within else "–",
            ]
        )
    return table(header, lines)


def relative(rows: Sequence[Row], row: Row, system: str) -> float | None:
    """A step's time as a fraction of materialising in the same play."""
    (whole,) = [r for r in rows if r.runs is row.runs and r.step == MATERIALISE]
    mine, first = row.seconds(system), whole.seconds(system)
    return mine / first if mine is not None and first else None


def updates(rows: Sequence[Row], systems: Sequence[str]) -> str:
    """Each step, and its time as a fraction of materialising."""
    header = ["program and data", "first", "step", "all facts after it", *systems]
    header += [f"{name}: of materialising" for name in systems]
    lines = []
    for row in rows:
        parts = [relative(rows, row, name) for name in systems]
        lines.append(
            [
                *(row.title, f"{row.percent} %", row.step, f"{row.facts():,}"),
                *(time_of(row, name) for name in systems),
                *("–" if part is None else f"{part:.3f}" for part in parts),
            ]
        )
    return table(header, lines)


def peak(rows: Sequence[Row], system: str) -> int | None:
    """Bytes, for a play with these rows as steps; none if it reached a limit."""
    peaks = [row.peak(system) for row in rows]
    return None if None in peaks else max((p for p in peaks if p is not None), default=None)


def memory(rows: Sequence[Row], systems: Sequence[str]) -> str:
    """Peaks of full materialisations, and of partial ones with the updates after them."""
    plays: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        plays.setdefault(row.title, {}).setdefault(row.percent, []).append(row)
    percents = sorted({row.percent for row in rows}, reverse=True)
    header = ["program and data", "system", "loaded"]
    header += [cell for percent in percents for cell in (f"{percent} %", "beyond loaded")]
    lines = []
    for title, parts in plays.items():
        for name in systems:
            known = [row.loaded(name) for some in parts.values() for row in some]
            if not any(known):
                continue
            line = [title, name, mebibytes(max(value or 0 for value in known))]
            for percent in percents:
                some = parts.get(percent, [])
                most = peak(some, name)
                line += [mebibytes(most), mebibytes(most and most - (some[0].loaded(name) or 0))]
            lines.append(line)
    return table(header, lines)


def mebibytes(value: int | None) -> str:
    return "–" if value is None else f"{value / MEBI:,.0f}"


def changes(rows: Sequence[Row], systems: Sequence[str]) -> str:
    """Medians, with the longest time in parentheses."""
    lines = []
    for row in rows:
        cells = [time_of(row, name) for name in systems]
        for place, name in enumerate(systems):
            worst = row.worst(name)
            if worst is not None and len(row.times(name)) > 1:
                cells[place] += f" ({milliseconds(worst)})"
        lines.append([row.title, row.step, f"{row.facts():,}", *cells])
    return table(["program and data", "step", "all facts after it", *systems], lines)
