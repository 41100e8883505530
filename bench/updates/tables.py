"""Rows as tables: times beside recomputing, and the papers' numbers."""

from __future__ import annotations

import statistics

from bench.report import table
from bench.updates.figures import AUTO, BASE, Row, Sample
from bench.updates.plot import Line, plot

# Table 2 of Motik et al. (2015), for the algorithms that have the numbers.
PAPERS = (
    ("dred", ("|D|", "DR2", "DR4", "DR5")),
    ("dredc", ("|D|", "DR2", "DR5", "counts")),
    ("bf", ("|C|", "backward", "saturate", "del prop")),
    ("bfc", ("|C|", "backward", "saturate", "del prop", "counts")),
)


def milliseconds(seconds: float) -> str:
    """
    >>> [milliseconds(value) for value in (0.00012, 0.0456, 12.3)]
    ['0.12', '45.6', '12,300']
    """
    value = 1000 * seconds
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def factor(value: float) -> str:
    return f"{value:.2f}×" if value < 10 else f"{value:,.0f}×"


def time_of(row: Row, algorithm: str) -> str:
    """Milliseconds, or the reason why there are none."""
    seconds = row.seconds(algorithm)
    if seconds is not None:
        return milliseconds(seconds)
    other = {"stopped": f"> {row.limit:g} s", "failed": "failed"}
    return other.get(row.status(algorithm), "–")


def cell(row: Row, algorithm: str) -> str:
    """The time, and how many times as fast as recomputing that is."""
    ratio = row.times_faster(algorithm)
    mark = "" if ratio is None or algorithm == BASE else f" ({factor(ratio)})"
    return time_of(row, algorithm) + mark


def behind(row: Row) -> str:
    value = row.behind()
    return "–" if value is None else f"{value:.2f} of {row.fastest()}"


def times(rows: list[Row], algorithms: list[str]) -> str:
    header = ["workload", "update", "facts in", "all facts", "changed", *algorithms]
    lines = [
        [
            row.title,
            row.step,
            f"{row.given:,}",
            f"{row.facts:,}",
            f"{row.changed():,.0f}",
            *(cell(row, name) for name in algorithms),
        ]
        for row in rows
    ]
    if AUTO not in algorithms:
        return table(header, lines)
    return table(
        [*header, "auto is"],
        [[*line, behind(row)] for line, row in zip(lines, rows, strict=True)],
    )


def first_times(rows: list[Row], algorithms: list[str]) -> str:
    """Medians of the same changes made for the first time."""
    lines = [
        [row.title, row.step, *(_median(row.series[name].first) for name in algorithms)]
        for row in rows
        if AUTO in row.series and row.series[AUTO].first
    ]
    return table(["workload", "update", *algorithms], lines) if lines else ""


def _median(samples: list[Sample]) -> str:
    if not samples:
        return "–"
    return milliseconds(statistics.median_high(sample.seconds for sample in samples))


def numbers(rows: list[Row]) -> str:
    """Averages over the updates of a row, where facts or rules are removed."""
    known = {name for row in rows for name in row.series}
    columns = [(name, number) for name, some in PAPERS if name in known for number in some]
    lines = []
    for row in rows:
        if "again" in row.step:
            continue
        figures = [
            f"{row.series[name].number(number):,.0f}" if row.seconds(name) is not None else "–"
            for name, number in columns
        ]
        lines.append([row.title, row.step, *figures])
    # A bar would end the cell.
    names = [f"{name} {number}".replace("|", "\\|") for name, number in columns]
    return table(["workload", "update", *names], lines)


def choices(rows: list[Row]) -> str:
    """What `auto` chose for the strata of a row's updates."""
    lines = [
        [row.title, row.step, ", ".join(f"{name} {count}" for name, count in chosen.most_common())]
        for row in rows
        if AUTO in row.series and (chosen := row.series[AUTO].chosen())
    ]
    return table(["workload", "update", "strata maintained by"], lines) if lines else ""


def rule_changes(rows: list[Row]) -> str:
    """A rule added or removed, against an evaluation from scratch."""
    lines = []
    for row in rows:
        seconds = row.seconds(AUTO)
        if row.fresh is not None and seconds is not None:
            lines.append(
                [
                    row.step,
                    str(len(row.series[AUTO].samples)),
                    f"{row.changed():,.0f}",
                    milliseconds(seconds),
                    milliseconds(max(sample.seconds for sample in row.series[AUTO].samples)),
                    milliseconds(row.fresh),
                    factor(row.fresh / seconds),
                ]
            )
    header = ["update", "rules", "facts changed", "median ms", "at most", "fresh, ms", "faster"]
    return table(header, lines) if lines else ""


def scale_plot(rows: list[Row], algorithms: list[str]) -> str | None:
    """Milliseconds of deleting one fact against the size of the materialisation."""
    part = [row for row in rows if row.case == "same part" and "delete" in row.step]
    lines = []
    for name in algorithms:
        points = [(row.facts, 1000 * s) for row in part if (s := row.seconds(name)) is not None]
        if points:
            lines.append(Line(name, points))
    if len(part) < 2 or not lines:
        return None
    title = "Deleting one edge of a chain of ten nodes changes 26 facts"
    return plot(title, "facts of the materialisation", "milliseconds, median", lines)


def rule_plot(rows: list[Row]) -> str | None:
    """Milliseconds of a rule's change against the number of changed facts, a point per rule."""
    lines = []
    for row in rows:
        if row.case == "rules" and AUTO in row.series and row.series[AUTO].samples:
            # Many rules change nothing, and the axis has no zero.
            points = [
                (max(1, sum(sample.changed)), 1000 * sample.seconds)
                for sample in row.series[AUTO].samples
            ]
            lines.append(Line(row.step, points, joined=False))
    if not lines:
        return None
    title = "Removing and adding one of Claros' rules (no facts are drawn as 1)"
    return plot(title, "facts that change", "milliseconds", lines)
