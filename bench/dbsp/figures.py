"""Measurements: one step of a play, by every system."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.dbsp.apart import Done, Run, Status
from bench.dbsp.cases import Case, Step
from bench.dbsp.play import OTHERS
from bench.updates.figures import BASE

Bounded = tuple[float, bool]  # a ratio, and whether it is only a lower bound


@dataclass(frozen=True)
class Row:
    """One step, with all its repetitions."""

    case: str
    title: str
    percent: int  # per cent of the facts that are materialised first
    step: str
    given: int  # facts that are materialised first
    runs: dict[str, list[Run]]
    likes: tuple[tuple[int, int], ...] = ()  # steps after which the facts are the same

    @property
    def name(self) -> str:
        return f"{self.case} {self.percent} %: {self.step}"

    def done(self, system: str) -> list[Done]:
        runs = self.runs.get(system, [])
        return [done for run in runs for done in run.steps if done.name == self.step]

    def times(self, system: str) -> list[float]:
        """Seconds; infinite if a limit was reached."""
        met = [run for run in self.runs.get(system, []) if run.at == self.step]
        stopped = [math.inf for run in met if run.status in ("seconds", "memory")]
        return [done.seconds for done in self.done(system)] + stopped

    def seconds(self, system: str) -> float | None:
        """From the fastest completed run, because other work on a machine only adds time. A run
        that makes the step several times counts with its median."""
        return self._least(system, lambda done: done.seconds)

    def own(self, system: str) -> float | None:
        """The same for the work itself, without the transaction around it."""
        return self._least(system, lambda done: done.own)

    def _least(self, system: str, read: Callable[[Done], float | None]) -> float | None:
        medians = []
        for run in self.runs.get(system, []):
            times = [read(done) for done in run.steps if done.name == self.step]
            known = [time for time in times if time is not None]
            if known:
                medians.append(statistics.median(known))
        return min(medians, default=None)

    def worst(self, system: str) -> float | None:
        times = self.times(system)
        return max(times) if times and not math.isinf(max(times)) else None

    def status(self, system: str) -> Status | None:
        """How the step ended, if it was reached at all."""
        if self.seconds(system) is not None:
            return "ok"
        return next((run.status for run in self.runs.get(system, []) if run.at == self.step), None)

    def limit(self, system: str) -> float:
        """The limit of the step, in seconds."""
        return max((run.limit for run in self.runs.get(system, [])), default=0.0)

    def peak(self, system: str) -> int | None:
        """Bytes: the median of the peaks of the runs."""
        peaks = [
            max(step.peak for step in run.steps if step.name == self.step)
            for run in self.runs.get(system, [])
            if any(step.name == self.step for step in run.steps)
        ]
        return statistics.median_high(peaks) if peaks else None

    def loaded(self, system: str) -> int | None:
        """Bytes that were resident before there were any facts."""
        loaded = [run.loaded for run in self.runs.get(system, []) if run.loaded]
        return statistics.median_high(loaded) if loaded else None

    def facts(self) -> int:
        """All facts after the step, when it was first made."""
        first = next((done for name in self.runs for done in self.done(name)), None)
        return sum(sums.size for sums in first.state.values()) if first else 0

    def faster(self, system: str, than: str, own: bool = False) -> Bounded | None:
        """How many times as fast as another system; a lower bound if that one reached the time
        limit. By whole transactions, or by the work itself."""
        read = self.own if own else self.seconds
        mine, theirs = read(system), read(than)
        if mine is None:
            return None
        if theirs is not None:
            return theirs / mine, False
        return (self.limit(than) / mine, True) if self.status(than) == "seconds" else None

    def differing(self) -> list[str]:
        """Systems whose facts differ from those of recomputing, or from their own earlier ones."""
        runs = [run for name in (BASE, *self.runs) for run in self.runs.get(name, []) if run.steps]
        return sorted(
            {
                run.system
                for run in runs
                if not same(run.steps, runs[0].steps) or not returned(run.steps, self.likes)
            }
        )

    def failed(self) -> dict[str, str]:
        """Our systems that ended with an error, and the error."""
        every = [run for some in self.runs.values() for run in some]
        return {
            r.system: r.detail for r in every if r.status == "failed" and r.system not in OTHERS
        }


def same(one: Sequence[Done], other: Sequence[Done]) -> bool:
    """Whether the states agree as far as both went."""
    return all(a.state == b.state for a, b in zip(one, other, strict=False))


def returned(steps: Sequence[Done], likes: Sequence[tuple[int, int]]) -> bool:
    return all(steps[a].state == steps[b].state for a, b in likes if max(a, b) < len(steps))


def rows(case: Case, percent: int, steps: Sequence[Step], runs: dict[str, list[Run]]) -> list[Row]:
    """A row for each kind of step."""
    first = steps[0].change.come
    likes = tuple((n, step.like) for n, step in enumerate(steps) if step.like is not None)
    return [
        Row(
            *(case.name, case.title, percent, name),
            given=sum(map(len, first.values())),
            runs=runs,
            likes=likes,
        )
        for name in dict.fromkeys(step.name for step in steps)
    ]
