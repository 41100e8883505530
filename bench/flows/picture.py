"""The pictures of the page: first effects, and the speed-up of bursts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bench.flows import bursts, effects
from bench.updates.plot import COLOURS, Axis, Line, opened, plot, rule, text
from bench.updates.tables import factor

WIDTH, LEFT, RIGHT, TOP, HIGH = 760, 90, 150, 66, 50


def first_effects(rows: Sequence[effects.Row]) -> str | None:
    lines = []
    for policy in effects.POLICIES:
        some = [row for row in rows if row.policy == policy and row.effects]
        for name, percent in (("p50", 50), ("p95", 95)):
            points = [(row.size, 1000 * row.percentile(percent)) for row in some]
            if len(points) > 1:
                lines.append(Line(f"{policy}, {name}", points))
    if not lines:
        return None
    title = "From a small update's arrival to its first effect, beside a large one"
    return plot(title, "facts of the update in flight", "milliseconds", lines)


def factors(rows: Sequence[bursts.Row]) -> str | None:
    """A band for each workload, a point for each algorithm: all at once, and at a steady rate."""
    rows = [row for row in rows if row.arriving != bursts.STAYING]
    if not rows:
        return None
    scenes = list(dict.fromkeys(row.scene for row in rows))
    x = Axis.over([1.0, *(row.factor() for row in rows)], LEFT, WIDTH - RIGHT)
    bottom = TOP + HIGH * len(scenes)
    title = "How many times as long sequential takes, where half of the updates undo another"
    parts = [
        *opened(title, WIDTH, bottom + 50, LEFT),
        text(LEFT, 44, "full: all there at once; hollow: arriving steadily", "start"),
        text((x.start + x.end) / 2, bottom + 40, "sequential / fully dynamic"),
        *bands(scenes, x, bottom),
    ]
    for place, algorithm in enumerate(bursts.ALGORITHMS):
        y = TOP + 10 + 20 * place
        parts.append(point(WIDTH - RIGHT + 24, y, place, algorithm, hollow=False))
        parts.append(text(WIDTH - RIGHT + 38, y + 4, algorithm, "start"))
    for row in rows:
        place = bursts.ALGORITHMS.index(row.algorithm)
        y = TOP + HIGH * scenes.index(row.scene) + 10 + 10 * place
        about = f"{row.name}: {factor(row.factor())}"
        parts.append(point(x.place(row.factor()), y, place, about, row.arriving != bursts.AT_ONCE))
    return "\n".join([*parts, "</svg>", ""])


def bands(names: list[str], x: Axis, bottom: int) -> Iterator[str]:
    for at, label in x.decades():
        yield rule(at, TOP, at, bottom)
        yield text(at, bottom + 18, label)
    for number, name in enumerate(names):
        upper = TOP + HIGH * number
        yield rule(x.start, upper, x.end, upper)
        yield text(x.start - 10, upper + HIGH / 2 + 4, name, "end")
    yield rule(x.start, bottom, x.end, bottom)


def point(x: float, y: float, place: int, about: str, hollow: bool) -> str:
    colour = COLOURS[1 + place]
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{"#ffffff" if hollow else colour}" '
        f'stroke="{colour}"><title>{escape(about)}</title></circle>'
    )
