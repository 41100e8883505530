"""A cost model of closures on Spark, fitted to runs by least squares.

    seconds = start + job · jobs + fact(strategy) · facts / cores + byte · shuffled bytes / cores

Errors are relative to the measured time, so that short runs count as much as long ones. A
coefficient that would be negative is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.spark.figures import Row

START, JOB, BYTE = "start", "job", "byte"


@dataclass(frozen=True)
class Point:
    """A measured or predicted run."""

    system: str
    facts: float
    jobs: float
    shuffled: float
    cores: float
    seconds: float = 0.0

    def factors(self, systems: Sequence[str]) -> dict[str, float]:
        return {
            START: 1.0,
            JOB: self.jobs,
            BYTE: self.shuffled / self.cores,
            **{of(name): (name == self.system) * self.facts / self.cores for name in systems},
        }


def of(system: str) -> str:
    return f"fact, {system}"


def point(row: Row) -> Point:
    return Point(
        row.system, row.facts, row.jobs, row.shuffled, row.more.get("cores", 1.0), row.seconds
    )


@dataclass(frozen=True)
class Model:
    """Seconds for each factor."""

    costs: dict[str, float]
    systems: tuple[str, ...]

    def seconds(self, at: Point) -> float:
        factors = at.factors(self.systems)
        return sum(cost * factors[name] for name, cost in self.costs.items())

    def knows(self, system: str, shuffled: float) -> bool:
        """Whether the runs show a cost of facts: by themselves, or by the bytes that they become in
        a shuffle, if there are enough of them."""
        by_bytes = shuffled > 0 and self.costs.get(BYTE, 0.0) > 0
        return self.costs.get(of(system), 0.0) > 0 or by_bytes

    def error(self, at: Point) -> float:
        """The error of the prediction, relative to the measured time."""
        return self.seconds(at) / at.seconds - 1

    def fit(self, points: Sequence[Point]) -> float:
        """R²: the part of the variance of seconds that the model explains."""
        measured = np.array([at.seconds for at in points])
        predicted = np.array([self.seconds(at) for at in points])
        total = ((measured - measured.mean()) ** 2).sum()
        return float(1 - ((measured - predicted) ** 2).sum() / total) if total else 1.0


def fitted(points: Sequence[Point]) -> Model:
    """
    >>> runs = [Point("a", f, j, 0, c, 0.5 * j + 2e-6 * f / c)
    ...         for f, j, c in ((1e6, 1, 1), (2e6, 1, 2), (4e6, 3, 1), (5e5, 2, 2))]
    >>> {name: float(f"{cost:.2g}") for name, cost in fitted(runs).costs.items() if cost > 1e-9}
    {'job': 0.5, 'fact, a': 2e-06}
    """
    systems = tuple(dict.fromkeys(at.system for at in points))
    names = [START, JOB, BYTE, *map(of, systems)]
    seconds = np.array([at.seconds for at in points])
    rows = [at.factors(systems) for at in points]
    while True:
        factors = np.array([[row[name] for name in names] for row in rows]) / seconds[:, None]
        scale = np.abs(factors).max(axis=0)
        scale[scale == 0] = 1.0  # bytes are a million times jobs
        shares = np.linalg.lstsq(factors / scale, np.ones(len(rows)), rcond=None)[0]
        if shares.min(initial=0.0) >= -1e-9 or len(names) == 1:
            costs = np.maximum(shares, 0) / scale
            return Model(dict(zip(names, costs.tolist(), strict=True)), systems)
        names.pop(int(np.argmin(shares)))


def line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """The straight line through points: its intercept and its slope."""
    if len(set(xs)) < 2:
        return float(np.mean(ys)), 0.0
    rise, start = np.polyfit(xs, ys, 1)
    return float(start), float(rise)
