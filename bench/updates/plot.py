"""Plots on two logarithmic axes, as SVG texts that need nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 44, 52
COLOURS = ("#6b7280", "#b45309", "#1d6fb8", "#5b3fa0", "#0f766e", "#a21caf", "#c62828")


@dataclass(frozen=True)
class Line:
    """A named series of points. Joined by a line, or each on its own."""

    name: str
    points: Sequence[tuple[float, float]]
    joined: bool = True


@dataclass(frozen=True)
class Axis:
    """Whole decades, from pixel `start` to pixel `end`."""

    low: int
    high: int
    start: float
    end: float

    @staticmethod
    def over(values: Sequence[float], start: float, end: float) -> Axis:
        logs = [math.log10(value) for value in values]
        low = math.floor(min(logs) + 1e-9)
        return Axis(low, max(math.ceil(max(logs) - 1e-9), low + 1), start, end)

    def place(self, value: float) -> float:
        """
        >>> Axis(0, 2, 100, 300).place(10)
        200.0
        """
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def decades(self) -> Iterator[tuple[float, str]]:
        for power in range(self.low, self.high + 1):
            yield self.place(10.0**power), f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def plot(title: str, across: str, up: str, lines: Sequence[Line]) -> str:
    """All values are positive; `across` and `up` name the axes."""
    points = [point for line in lines for point in line.points]
    x = Axis.over([point[0] for point in points], LEFT, WIDTH - RIGHT)
    y = Axis.over([point[1] for point in points], HEIGHT - BOTTOM, TOP)
    parts = [
        *opened(title, WIDTH, HEIGHT, LEFT),
        *grid(x, y),
        text((x.start + x.end) / 2, HEIGHT - 12, across),
        f'<g transform="rotate(-90)">{text(-(y.start + y.end) / 2, 18, up)}</g>',
    ]
    for number, line in enumerate(lines):
        parts += drawn(line, COLOURS[number % len(COLOURS)], x, y, TOP + 10 + 20 * number)
    return "\n".join([*parts, "</svg>", ""])


def opened(title: str, width: int, height: int, left: int) -> Iterator[str]:
    """How a picture begins: its size, its title, a white ground."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="system-ui, sans-serif" '
        'font-size="12">'
    )
    yield f"<title>{escape(title)}</title>"
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    yield f'<text x="{left}" y="24" font-size="14" fill="#1c2430">{escape(title)}</text>'


def grid(x: Axis, y: Axis) -> Iterator[str]:
    for at, label in x.decades():
        yield rule(at, y.start, at, y.end)
        yield text(at, y.start + 18, label)
    for at, label in y.decades():
        yield rule(x.start, at, x.end, at)
        yield text(x.start - 8, at + 4, label, "end")


def drawn(line: Line, colour: str, x: Axis, y: Axis, legend: float) -> Iterator[str]:
    places = [(x.place(a), y.place(b)) for a, b in line.points]
    if line.joined:
        way = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        yield f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for (a, b), (across, up) in zip(places, line.points, strict=True):
        about = escape(f"{line.name}: {across:,.0f}, {up:.3g}")
        yield (
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}" fill-opacity="0.8">'
            f"<title>{about}</title></circle>"
        )
    left = WIDTH - RIGHT + 18
    yield f'<rect x="{left}" y="{legend - 5:.1f}" width="14" height="4" fill="{colour}"/>'
    yield text(left + 22, legend + 1, line.name, "start")


def rule(x: float, y: float, u: float, v: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke="#e2e6ea"/>'


def text(x: float, y: float, content: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#3b4754">'
        f"{escape(content)}</text>"
    )
