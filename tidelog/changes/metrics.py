"""Counts and times of a stream, in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.changes.policies.policy import Finished

LEAST = 1e-6  # seconds; shorter durations count as this
GROWTH = 1.05  # ratio of bucket bounds: percentiles are exact to 3 percent
BUCKETS = 600  # the last begins at over a month


@dataclass(slots=True)
class Times:
    """A histogram of durations, with buckets of exponential width.

    >>> times = Times()
    >>> for milliseconds in range(1, 101):
    ...     times.add(milliseconds / 1000)
    >>> round(times.percentile(50), 2), times.most
    (0.05, 0.1)
    """

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    _buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.most = max(self.most, seconds)
        at = int(math.log(seconds / LEAST) / _LOG) if seconds > LEAST else 0
        self._buckets[min(at, BUCKETS - 1)] += 1

    def percentile(self, percent: float) -> float:
        """The duration that `percent` percent of all durations do not exceed."""
        wanted = max(1, math.ceil(self.count * percent / 100))
        seen = 0
        for at, count in enumerate(self._buckets):
            seen += count
            if seen >= wanted and count:
                return min(LEAST * math.pow(GROWTH, at + 0.5), self.most)
        return 0.0

    def record(self) -> dict[str, float]:
        """Seconds, for statistics."""
        percentiles = {f"p{percent}": self.percentile(percent) for percent in (50, 95, 99)}
        return {**percentiles, "max": self.most}


_LOG = math.log(GROWTH)


@dataclass(slots=True)
class Metrics:
    """Statistics of the updates that a stream has finished, in constant memory."""

    updates: int = 0
    changes: int = 0
    facts: int = 0  # inserted and deleted
    overlapped: int = 0  # updates that settled together with others
    latency: Times = field(default_factory=Times)
    work: Times = field(default_factory=Times)
    waited: Times = field(default_factory=Times)
    first_effect: Times = field(default_factory=Times)
    _began: float | None = None
    _ended: float = 0.0

    def add(self, done: Finished) -> None:
        self._ended = perf_counter()
        if self._began is None:
            self._began = self._ended - (done.latency - done.waited)
        self.updates += 1
        self.changes += done.changes
        self.facts += len(done.delta)
        self.overlapped += done.together > 1
        self.latency.add(done.latency)
        self.work.add(done.seconds)
        self.waited.add(done.waited)
        self.first_effect.add(done.first_effect)

    @property
    def per_second(self) -> float:
        """Updates per second, from the start of the first to the end of the last."""
        seconds = self._ended - (self._began or 0.0)
        return self.updates / seconds if self._began is not None and seconds > 0 else 0.0

    def record(self) -> dict[str, Any]:
        """All numbers, for statistics."""
        return {
            "updates": self.updates,
            "changes": self.changes,
            "facts": self.facts,
            "overlapped": self.overlapped,
            "updates_per_second": self.per_second,
            "latency": self.latency.record(),
            "work": self.work.record(),
            "waited": self.waited.record(),
            "first_effect": self.first_effect.record(),
        }
