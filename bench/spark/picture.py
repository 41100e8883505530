"""The pictures of the pages: the systems' times, and the runs against the model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench.spark.figures import Row
from bench.spark.model import Model, point
from bench.updates.plot import COLOURS, Axis, Line, opened, plot, rule, text

WIDTH, LEFT, RIGHT, TOP, HIGH = 860, 170, 190, 44, 50


def systems(rows: Sequence[Row]) -> str | None:
    """A band for each graph with a point for each system, on a logarithmic scale."""
    some = [row for row in rows if row.done or row.status == "seconds"]
    if not some:
        return None
    cases = list(dict.fromkeys(row.case for row in some))
    names = list(dict.fromkeys(row.system for row in some))
    times = [row.seconds if row.done else row.limit for row in some]
    x = Axis.over(times, LEFT, WIDTH - RIGHT)
    bottom = TOP + HIGH * len(cases)
    parts = [
        *opened("Closures: seconds from the facts to all that follows", WIDTH, bottom + 50, LEFT),
        text((x.start + x.end) / 2, bottom + 40, "seconds; an arrow: stopped there"),
        *banded(cases, x, bottom),
    ]
    for place, name in enumerate(names):
        y = TOP + 10 + 20 * place
        parts.append(mark(WIDTH - RIGHT + 24, y, place, name, False))
        parts.append(text(WIDTH - RIGHT + 38, y + 4, name, "start"))
    for row, seconds in zip(some, times, strict=True):
        place = names.index(row.system)
        y = TOP + HIGH * cases.index(row.case) + 9 + 8 * place
        about = f"{row.case}, {row.system}: {'more than ' * (not row.done)}{seconds:.3g} s"
        parts.append(mark(x.place(seconds), y, place, about, not row.done))
    return "\n".join([*parts, "</svg>", ""])


def banded(cases: list[str], x: Axis, bottom: int) -> list[str]:
    lines = []
    for at, label in x.decades():
        lines += [rule(at, TOP, at, bottom), text(at, bottom + 18, label)]
    for number, name in enumerate(cases):
        upper = TOP + HIGH * number
        lines.append(rule(x.start, upper, x.end, upper))
        lines.append(text(x.start - 10, upper + HIGH / 2 + 4, name, "end"))
    return lines


def mark(x: float, y: float, place: int, about: str, arrow: bool) -> str:
    colour = COLOURS[place % len(COLOURS)]
    shape = f'circle cx="{x:.1f}" cy="{y:.1f}" r="4"'
    if arrow:
        shape = f'path d="M{x - 4:.1f} {y - 5:.1f}L{x + 6:.1f} {y:.1f}L{x - 4:.1f} {y + 5:.1f}Z"'
    end = shape.split()[0]
    return f'<{shape} fill="{colour}"><title>{escape(about)}</title></{end}>'


def model(rows: Sequence[Row], fitted: Model) -> str | None:
    """Measured times against the model's."""
    lines = []
    for system in fitted.systems:
        some = [point(row) for row in rows if row.done and row.system == system]
        points = [(fitted.seconds(at), at.seconds) for at in some if fitted.seconds(at) > 0]
        if points:
            lines.append(Line(system, points, joined=False))
    if not lines:
        return None
    ends = [value for line in lines for pair in line.points for value in pair]
    lines.append(Line("exact", [(min(ends), min(ends)), (max(ends), max(ends))]))
    return plot("Runs against the model", "seconds by the model", "seconds measured", lines)
