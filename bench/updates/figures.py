"""What was measured: samples of one algorithm, and rows that compare all of them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
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

    place: int  # of the change in its scene
    seconds: float
    changed: tuple[int, int]  # facts that came and that went, of all relations
    numbers: dict[str, int]  # under the papers' names
    chosen: tuple[str, ...] = ()  # algorithms that strata were maintained by


@dataclass
class Series:
    """The updates of one kind by one algorithm."""

    detail: str = ""  # of an error, which ends it
    stopped: int = 0  # updates that took longer than the limit
    samples: list[Sample] = field(default_factory=list)
    states: dict[int, State] = field(default_factory=dict)  # right after the change at a place

    def seconds(self, best: bool) -> float:
        """The best time or the median; infinite if that is above the limit, or unknown."""
        times = [sample.seconds for sample in self.samples] + self.stopped * [math.inf]
        if self.detail or not times:
            return math.inf
        return min(times) if best else statistics.median_high(times)

    def status(self, best: bool) -> Status:
        if self.detail:
            return "failed"
        if not math.isinf(self.seconds(best)):
            return "ok"
        return "stopped" if self.stopped else "none"

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
    fresh: float | None = None  # seconds of an evaluation from the start, reading included
    compiled: int = 0  # starts and ends of a compilation while updates were measured

    @property
    def name(self) -> str:
        return f"{self.scene}: {self.step}"

    def seconds(self, algorithm: str) -> float | None:
        """The best or the median time, if that is known."""
        return self._of(algorithm).seconds(self.best) if self.status(algorithm) == "ok" else None

    def status(self, algorithm: str) -> Status:
        return self._of(algorithm).status(self.best)

    def _of(self, algorithm: str) -> Series:
        return self.series.get(algorithm, Series())

    def at_least(self, algorithm: str) -> float | None:
        """The time, or the limit that it is above."""
        return self.limit if self.status(algorithm) == "stopped" else self.seconds(algorithm)

    def times_faster(self, algorithm: str, than: str = BASE) -> float | None:
        mine, other = self.seconds(algorithm), self.at_least(than)
        return None if mine is None or other is None else other / mine

    def fastest(self) -> tuple[str, float] | None:
        """The best of the algorithms that do not choose."""
        known = ((self.seconds(name), name) for name in self.series if name != AUTO)
        times = [(seconds, name) for seconds, name in known if seconds is not None]
        return (min(times)[1], min(times)[0]) if times else None

    def behind(self) -> float | None:
        """How many times the best fixed algorithm's time `auto` takes."""
        fastest, mine = self.fastest(), self.seconds(AUTO)
        return None if fastest is None or mine is None else mine / fastest[1]

    def changed(self) -> float:
        return next((s.changed() for s in self.series.values() if s.samples), 0.0)

    def differing(self) -> list[str]:
        """Algorithms whose results are not those of recomputing, as far as both have them."""
        base = self.series[BASE]
        return [name for name, found in self.series.items() if not agree(found, base)]

    def failed(self) -> list[str]:
        return [name for name, found in self.series.items() if found.detail]


def agree(one: Series, other: Series) -> bool:
    """The same facts changed, and the states are the same, where both were looked at."""
    mine, theirs = ({s.place: s.changed for s in series.samples} for series in (one, other))
    return all(
        a[place] == b[place]
        for a, b in ((mine, theirs), (one.states, other.states))
        for place in a.keys() & b.keys()
    )
