"""The project's targets for updates, checked against the rows of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bench.report import Target
from bench.updates.figures import AUTO, BASE, Row

MILLION = 1_000_000
FEW = 100  # facts that a small change affects


def targets(rows: list[Row]) -> list[Target]:
    part = [row for row in rows if row.case == "same part"]
    million = [row for row in part if row.facts >= 0.99 * MILLION and row.changed() < FEW]
    kept = [row for row in rows if row.case == "alternative proofs" and "delete" in row.step]
    return [
        agreement(rows),
        follows(part),
        most(
            "a change of fewer than 100 facts in a million takes less than 2 ms",
            million,
            lambda row: milliseconds(row, AUTO),
            2.0,
            "ms",
        ),
        least(
            "and is 200 times as fast as recomputing",
            million,
            lambda row: row.times_faster(AUTO),
            200,
        ),
        least(
            "B/F ten times as fast as DRed where facts keep other proofs",
            kept,
            lambda row: row.times_faster("bf", "dred"),
            10,
        ),
        most("auto within 1.3 times of the best fixed algorithm", rows, Row.behind, 1.3, "times"),
        compiles([row for row in rows if row.case == "rules"]),
    ]


def agreement(rows: list[Row]) -> Target:
    """Every algorithm gives the same result as recomputing, without an error."""
    wrong = [f"{row.name}, {name}" for row in rows for name in {*row.differing(), *row.failed()}]
    figure = "; ".join(wrong) or f"{len(rows)} rows"
    return Target("all algorithms give the same facts", not wrong if rows else None, figure)


def compiles(rows: list[Row]) -> Target:
    text = "a rule is added or removed without compilation"
    if not rows:
        return Target(text, None, "no figures")
    count = max(row.compiled for row in rows)
    updates = sum(len(series.samples) for row in rows for series in row.series.values())
    return Target(text, count == 0, f"{updates} updates, {count} events of the compiler")


def milliseconds(row: Row, algorithm: str) -> float | None:
    seconds = row.seconds(algorithm)
    return None if seconds is None else 1000 * seconds


def growth(rows: Iterable[Row], algorithm: str) -> list[tuple[float, str]]:
    """Times of one step on ten times the facts, as often as there is such a pair of rows."""
    found = []
    rows = list(rows)
    for small in rows:
        for large in rows:
            before, after = small.seconds(algorithm), large.seconds(algorithm)
            tenfold = small.step == large.step and 9 <= large.facts / small.facts <= 11
            if tenfold and before and after:
                found.append((after / before, f"{small.step}, {large.facts:,} facts"))
    return found


def follows(rows: list[Row]) -> Target:
    """Judged by `auto`; the others are shown for comparison."""
    text = "ten times the facts, the same part affected: at most 1.5 times the time"
    found = growth(rows, AUTO)
    if not found:
        return Target(text, None, "no figures")
    most, where = max(found)
    others = {name: growth(rows, name) for row in rows for name in row.series}
    beside = [
        f"{name} {max(pairs)[0]:.2f}"
        for name, pairs in others.items()
        if pairs and name not in (AUTO, BASE)
    ]
    return Target(text, most <= 1.5, ", ".join([f"at most {most:.2f} times: {where}", *beside]))


Figure = Callable[[Row], float | None]


def most(text: str, rows: list[Row], figure: Figure, bound: float, unit: str) -> Target:
    """The largest figure of some rows against a bound, with the rows that exceed it."""
    found = [(value, row.name) for row in rows if (value := figure(row)) is not None]
    if not found:
        return Target(text, None, "no figures")
    above = sorted((pair for pair in found if pair[0] > bound), reverse=True)
    if not above:
        value, name = max(found)
        return Target(text, True, f"at most {value:.2f} {unit}: {name}; {len(found)} rows")
    each = "; ".join(f"{value:.2f} {unit}: {name}" for value, name in above)
    return Target(text, False, f"{len(above)} of {len(found)} rows are above: {each}")


def least(text: str, rows: list[Row], figure: Figure, bound: float) -> Target:
    found = [(value, row.name) for row in rows if (value := figure(row)) is not None]
    if not found:
        return Target(text, None, "no figures")
    below = sorted(pair for pair in found if pair[0] < bound)
    if not below:
        value, name = min(found)
        return Target(text, True, f"at least {value:.1f} times: {name}; {len(found)} rows")
    each = "; ".join(f"{value:.1f} times: {name}" for value, name in below)
    return Target(text, False, f"{len(below)} of {len(found)} rows are below: {each}")
