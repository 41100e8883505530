"""The picture of the page: the speed-up of each step with modules, here and in the paper."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Literal

from bench.modules import paper
from bench.modules.play import MODULAR, PLAIN, Row
from bench.modules.tables import bounded, faster
from bench.updates.plot import COLOURS, Axis, opened, rule, text
from bench.updates.tables import factor

Style = Literal["full", "hollow", "arrow"]
STEPS: dict[paper.Kind, str] = {
    "materialise": "materialise",
    "delete few": "delete few",
    "insert few": "insert few",
    "delete many": "delete 25%",
}
WIDTH, LEFT, RIGHT, TOP, HIGH = 860, 130, 170, 66, 46
KEY = "full: here; hollow: in the paper; arrow: at least that"


def drawn(rows: list[Row]) -> str | None:
    """A band for each case with a point for each step, on a logarithmic scale."""
    found = [(row, pair) for row in rows if row.kind in STEPS and (pair := faster(row))]
    if not found:
        return None
    cases = list(dict.fromkeys(row.scene for row, _ in found))
    given = [ratio for row, _ in found if (ratio := paper.ratio(row.paper, row.kind))]
    x = Axis.over([1.0, *given, *(pair[0] for _, pair in found)], LEFT, WIDTH - RIGHT)
    bottom = TOP + HIGH * len(cases)
    parts = [
        *opened("Times as fast with modules as without", WIDTH, bottom + 50, LEFT),
        text(LEFT, 44, KEY, "start"),
        text((x.start + x.end) / 2, bottom + 40, f"{PLAIN} / {MODULAR}"),
        *bands(cases, x, bottom),
        *legend(),
    ]
    for row, (ratio, bound) in found:
        step = list(STEPS).index(row.kind)
        y = TOP + HIGH * cases.index(row.scene) + 8 + 10 * step
        about = f"{row.name}: {bounded(ratio, bound)}"
        parts.append(point(x.place(ratio), y, step, about, "arrow" if bound else "full"))
        if theirs := paper.ratio(row.paper, row.kind):
            about = f"{row.paper} in the paper, {row.kind}: {factor(theirs)}"
            parts.append(point(x.place(theirs), y, step, about, "hollow"))
    return "\n".join([*parts, "</svg>", ""])


def bands(cases: list[str], x: Axis, bottom: int) -> Iterator[str]:
    for at, label in x.decades():
        yield rule(at, TOP, at, bottom)
        yield text(at, bottom + 18, label)
    for number, name in enumerate(cases):
        upper = TOP + HIGH * number
        yield rule(x.start, upper, x.end, upper)
        yield text(x.start - 10, upper + HIGH / 2 + 4, name, "end")
    yield rule(x.start, bottom, x.end, bottom)


def legend() -> Iterator[str]:
    for step, name in enumerate(STEPS.values()):
        y = TOP + 10 + 20 * step
        yield point(WIDTH - RIGHT + 24, y, step, name, "full")
        yield text(WIDTH - RIGHT + 38, y + 4, name, "start")


def point(x: float, y: float, step: int, about: str, style: Style) -> str:
    colour = COLOURS[1 + step]
    shape = f'circle cx="{x:.1f}" cy="{y:.1f}" r="4"'
    if style == "arrow":
        shape = f'path d="M{x - 4:.1f} {y - 5:.1f}L{x + 6:.1f} {y:.1f}L{x - 4:.1f} {y + 5:.1f}Z"'
    fill = "#ffffff" if style == "hollow" else colour
    end = shape.split()[0]
    return f'<{shape} fill="{fill}" stroke="{colour}"><title>{escape(about)}</title></{end}>'
