"""The pictures of the page: the effect of the index, the steps of updates, and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bench.dbsp.cases import ADD, MATERIALISE, REMOVE
from bench.dbsp.figures import Row
from bench.dbsp.tables import MEBI, peak
from bench.updates.figures import AUTO, BASE
from bench.updates.plot import COLOURS, Axis, opened, rule, text
from bench.updates.tables import milliseconds

STEPS = {MATERIALISE: "1 materialise", ADD: "2 add", REMOVE: "3 remove"}
PANEL, GAP, HIGH = 300, 70, 190
LEFT, TOP, LEGEND = 70, 66, 44
BAND = 50


@dataclass(frozen=True)
class Point:
    across: float  # 0 to 1
    up: float
    about: str
    bound: bool = False  # the value is a lower bound


@dataclass(frozen=True)
class Curve:
    name: str
    place: int  # of its colour
    points: Sequence[Point]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    marks: Sequence[tuple[float, str]]  # along the horizontal axis, 0 to 1
    curves: Sequence[Curve]


def materialisations(rows: Sequence[Row], systems: Sequence[str]) -> str | None:
    """Milliseconds against the part of the facts, for each case."""

    def curve(some: Sequence[Row], place: int, system: str) -> Curve:
        points = [
            Point(row.percent / 100, *found, row.seconds(system) is None)
            for row in some
            if (found := figure(row, system)) is not None
        ]
        return Curve(system, hue(system, place), points)

    percents = sorted({row.percent for row in rows})
    panels = [
        Panel(
            some[0].title,
            [(percent / 100, f"{percent} %") for percent in percents],
            [curve(some, place, name) for place, name in enumerate(systems)],
        )
        for some in by_case(rows)
    ]
    return drawn("Materialising a part of the facts: milliseconds; arrow: more than that", panels)


def steps(rows: Sequence[Row], systems: Sequence[str]) -> str | None:
    """Milliseconds of each step: a solid line for 1 %, a dashed one for half of the facts."""
    marks = [((place + 0.5) / len(STEPS), name) for place, name in enumerate(STEPS.values())]

    def curve(some: Sequence[Row], percent: int, place: int, system: str) -> Curve:
        points = [
            Point(marks[number][0], *found, row.seconds(system) is None)
            for number, step in enumerate(STEPS)
            for row in some
            if row.step == step and row.percent == percent
            if (found := figure(row, system)) is not None
        ]
        return Curve(system, hue(system, place), points, dashed=percent != 99)

    panels = [
        Panel(
            some[0].title,
            marks,
            [
                curve(some, percent, place, name)
                for percent in sorted({row.percent for row in some}, reverse=True)
                for place, name in enumerate(systems)
            ],
        )
        for some in by_case(rows)
    ]
    return drawn("Steps in milliseconds: 99 % and then 1 %; dashed: 50 % and then 50 %", panels)


def figure(row: Row, system: str) -> tuple[float, str] | None:
    """Milliseconds with a label; the limit, if it was reached."""
    seconds = row.seconds(system)
    if seconds is not None:
        return 1000 * seconds, f"{system}, {row.name}: {milliseconds(seconds)} ms"
    if row.status(system) == "seconds":
        limit = row.limit(system)
        return 1000 * limit, f"{system}, {row.name}: more than {limit:.0f} s"
    return None


def by_case(rows: Sequence[Row]) -> list[list[Row]]:
    names = dict.fromkeys(row.case for row in rows)
    return [[row for row in rows if row.case == name] for name in names]


def drawn(title: str, panels: Sequence[Panel]) -> str | None:
    """Panels in two columns, each with its own decades."""
    panels = [panel for panel in panels if any(curve.points for curve in panel.curves)]
    if not panels:
        return None
    lines = math.ceil(len(panels) / 2)
    width = LEFT + 2 * PANEL + GAP + 20
    height = TOP + LEGEND + lines * (HIGH + GAP)
    parts = [*opened(title, width, height, LEFT)]
    names = {curve.name: curve.place for panel in panels for curve in panel.curves}
    parts += legend(names, LEFT, 46)
    for number, panel in enumerate(panels):
        left = LEFT + (number % 2) * (PANEL + GAP)
        top = TOP + LEGEND + (number // 2) * (HIGH + GAP)
        parts += framed(panel, left, top)
    return "\n".join([*parts, "</svg>", ""])


def legend(names: dict[str, int], left: float, y: float) -> Iterator[str]:
    for number, (name, place) in enumerate(names.items()):
        x = left + 150 * number
        yield f'<rect x="{x}" y="{y - 5}" width="14" height="4" fill="{colour(place)}"/>'
        yield text(x + 22, y + 1, name, "start")


def hue(system: str, place: int) -> int:
    """The number of its colour: the same in all pictures."""
    return {BASE: 2, AUTO: 3}.get(system, place)


def colour(place: int) -> str:
    return COLOURS[(1 + place) % len(COLOURS)]


def framed(panel: Panel, left: float, top: float) -> Iterator[str]:
    values = [point.up for curve in panel.curves for point in curve.points]
    y = Axis.over(values, top + HIGH, top)
    yield text(left, top - 10, panel.title, "start")
    for at, label in y.decades():
        yield rule(left, at, left + PANEL, at)
        yield text(left - 8, at + 4, label, "end")
    for across, label in panel.marks:
        x = left + across * PANEL
        yield rule(x, top, x, top + HIGH)
        yield text(x, top + HIGH + 18, label)
    for curve in panel.curves:
        yield from traced(curve, lambda across: left + across * PANEL, y)


def traced(curve: Curve, across: Callable[[float], float], y: Axis) -> Iterator[str]:
    ink = colour(curve.place)
    way = " ".join(f"{across(p.across):.1f},{y.place(p.up):.1f}" for p in curve.points)
    dashes = ' stroke-dasharray="5 4"' if curve.dashed else ""
    if len(curve.points) > 1:
        yield f'<polyline points="{way}" fill="none" stroke="{ink}" stroke-width="2"{dashes}/>'
    for p in curve.points:
        yield dot(across(p.across), y.place(p.up), ink, p.about, up=p.bound)


def dot(x: float, y: float, ink: str, about: str, up: bool = False) -> str:
    shape = f'circle cx="{x:.1f}" cy="{y:.1f}" r="4"'
    if up:
        shape = f'path d="M{x - 5:.1f} {y + 4:.1f}L{x:.1f} {y - 6:.1f}L{x + 5:.1f} {y + 4:.1f}Z"'
    return f'<{shape} fill="{ink}"><title>{escape(about)}</title></{shape.split()[0]}>'


def memory(rows: Sequence[Row], systems: Sequence[str]) -> str | None:
    """A band for each case: the peak, above that of the loaded process, when all facts are
    materialised."""
    whole = [row for row in rows if row.percent == 100]
    found = [
        (row, place, name, top - loaded)
        for row in whole
        for place, name in enumerate(systems)
        if (top := peak([row], name)) and (loaded := row.loaded(name)) and top > loaded
    ]
    if not found:
        return None
    left, right = 110, 20
    width = LEFT + 2 * PANEL + GAP + 20
    cases = list(dict.fromkeys(row.case for row in whole))
    bottom = TOP + BAND * len(cases)
    x = Axis.over([grown / MEBI for *_, grown in found], left, width - right)
    title = "Peak memory of materialising all facts, beyond the process with its kernels"
    parts = [*opened(title, width, bottom + 50, left)]
    parts += legend({name: hue(name, place) for _, place, name, _ in found}, left, 46)
    parts.append(text((x.start + x.end) / 2, bottom + 40, "MiB"))
    for at, label in x.decades():
        parts += [rule(at, TOP, at, bottom), text(at, bottom + 18, label)]
    for number, case in enumerate(cases):
        upper = TOP + BAND * number
        parts.append(rule(x.start, upper, x.end, upper))
        parts.append(text(x.start - 10, upper + BAND / 2 + 4, case, "end"))
    parts.append(rule(x.start, bottom, x.end, bottom))
    for row, place, name, grown in found:
        y = TOP + BAND * cases.index(row.case) + 12 + 12 * place
        about = f"{name}, {row.case}: {grown / MEBI:,.0f} MiB"
        parts.append(dot(x.place(grown / MEBI), y, colour(hue(name, place)), about))
    return "\n".join([*parts, "</svg>", ""])
