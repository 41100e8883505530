"""Measurements: samples of one algorithm, and rows that compare all algorithms."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bench.checksum import Checksum
from bench.updates.scenes import Case

BASE = "recompute"
AUTO = "auto"
Status = Literal["ok", "stopped", "failed", "none"]
State = dict[str, Checksum]  # of a database: a checksum for each relation


@dataclass(frozen=True)
class Sample:
    """One update."""

    place: int  # number of the change in its scene
    seconds: float
    changed: tuple[int, int]  # inserted and deleted facts of all relations
    numbers: dict[str, int]  # under the papers' names
    chosen: tuple[str, ...] = ()  # the algorithms that maintained strata
    maintaining: float = 0.0  # those of the seconds in which consequences were found


@dataclass
class Series:
    """The updates of one kind by one algorithm."""

    detail: str = ""  # of an error, which ends it
    samples: list[Sample] = field(default_factory=list)
    first: list[Sample] = field(default_factory=list)  # of changes made for the first time
    stopped: set[int] = field(default_factory=set)  # numbers of updates that took too long
    # right after the change with that number
    states: dict[int, State] = field(default_factory=dict)

    def add(self, other: Series) -> None:
        """The same updates, made once more."""
        self.detail = self.detail or other.detail
        self.samples += other.samples
        self.first += other.first
        self.stopped |= other.stopped
        self.states = {**other.states, **self.states}

    def times(self) -> dict[int, float]:
        """The least seconds by the number of the change; infinite for a stopped update."""
        found: dict[int, float] = {}
        for sample in self.samples:
            found[sample.place] = min(sample.seconds, found.get(sample.place, math.inf))
        return found | dict.fromkeys(self.stopped, math.inf)

    def number(self, name: str) -> float:
        """The average of one of the papers' numbers."""
        return mean([sample.numbers.get(name, 0) for sample in self.samples])

    def changed(self) -> float:
        return mean([sum(sample.changed) for sample in self.samples])

    def chosen(self) -> Counter[str]:
        return Counter(name for sample in self.samples for name in sample.chosen)


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


@dataclass
class Row:
    """One kind of update of one scene, by every algorithm."""

    scene: str
    title: str
    step: str
    given: int
    facts: int  # of the materialisation
    case: Case
    best: bool
    limit: float
    series: dict[str, Series]
    fresh: float | None = None  # seconds of an evaluation from scratch, including reading
    compiled: int = 0  # starts and ends of compilations while updates were measured

    @property
    def name(self) -> str:
        return f"{self.scene}: {self.step}"

    def status(self, algorithm: str) -> Status:
        found = self.series.get(algorithm, Series())
        if found.detail:
            return "failed"
        if not found.times():
            return "none"
        return "stopped" if math.isinf(self._figure(found.times())) else "ok"

    def seconds(self, algorithm: str) -> float | None:
        """The best or the median time, if that is known."""
        times = self.series[algorithm].times() if self.status(algorithm) == "ok" else None
        return self._figure(times) if times else None

    def _figure(self, times: Mapping[int, float]) -> float:
        return min(times.values()) if self.best else statistics.median_high(times.values())

    def times_faster(self, algorithm: str, than: str = BASE) -> float | None:
        """A ratio over the changes that both have made; a lower bound if the other was stopped."""
        if self.status(algorithm) != "ok" or self.status(than) not in ("ok", "stopped"):
            return None
        mine, other = self.series[algorithm].times(), self.series[than].times()
        # An algorithm that is stopped while it warms up has no change in common with any other.
        if both := mine.keys() & other.keys():
            mine, other = ({place: some[place] for place in both} for some in (mine, other))
        if math.isinf(self._figure(mine)):
            return None
        return min(self._figure(other), self.limit) / self._figure(mine)

    def fastest(self) -> str | None:
        """The best of the algorithms other than `auto`."""
        known = [(s, name) for name in self.series if (s := self.seconds(name)) and name != AUTO]
        return min(known)[1] if known else None

    def behind(self) -> float | None:
        """The time of `auto` as a multiple of the best fixed algorithm's."""
        ratios = [self.times_faster(AUTO, name) for name in self.series if name != AUTO]
        return max((1 / ratio for ratio in ratios if ratio), default=None)

    def changed(self) -> float:
        return next((s.changed() for s in self.series.values() if s.samples), 0.0)

    def differing(self) -> list[str]:
        """Algorithms whose results differ from those of recomputing, as far as both have them."""
        base = self.series[BASE]
        return [name for name, found in self.series.items() if not agree(found, base)]

    def failed(self) -> list[str]:
        return [name for name, found in self.series.items() if found.detail]


def agree(one: Series, other: Series) -> bool:
    """Whether the same facts changed, and the states agree, where both were checked."""
    mine, theirs = ({s.place: s.changed for s in series.samples} for series in (one, other))
    return all(
        a[place] == b[place]
        for a, b in ((mine, theirs), (one.states, other.states))
        for place in a.keys() & b.keys()
    )
