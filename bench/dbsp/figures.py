"""What was measured: a step of a play, by every system."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.dbsp.apart import Done, Run, Status
from bench.dbsp.cases import Case, Step
from bench.dbsp.play import PEER
from bench.updates.figures import BASE

Bounded = tuple[float, bool]  # a ratio, and whether it is only a lower bound


@dataclass(frozen=True)
class Row:
    """One step, as often as it was made."""

    case: str
    title: str
    percent: int  # of the facts that are materialised first
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
        """Seconds; infinite where a limit was met."""
        met = [run for run in self.runs.get(system, []) if run.at == self.step]
        stopped = [math.inf for run in met if run.status in ("seconds", "memory")]
        return [done.seconds for done in self.done(system)] + stopped

    def seconds(self, system: str) -> float | None:
        """Of the run that took least, if one came to an end: other work on a machine only adds. A
        run that makes the step several times counts with its median."""
        return self._least(system, lambda done: done.seconds)

    def own(self, system: str) -> float | None:
        """The same of the work itself, without what a transaction takes beside it."""
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
        """How it ended, if it came to this step at all."""
        if self.seconds(system) is not None:
            return "ok"
        return next((run.status for run in self.runs.get(system, []) if run.at == self.step), None)

    def limit(self, system: str) -> float:
        """Seconds that it was given for the step."""
        return max((run.limit for run in self.runs.get(system, [])), default=0.0)

    def peak(self, system: str) -> int | None:
        """Bytes: the median of the runs, each at its most."""
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
        """How many times as fast as another one; at least, if that one met the limit on time. By
        whole transactions, or by the work itself."""
        read = self.own if own else self.seconds
        mine, theirs = read(system), read(than)
        if mine is None:
            return None
        if theirs is not None:
            return theirs / mine, False
        return (self.limit(than) / mine, True) if self.status(than) == "seconds" else None

    def differing(self) -> list[str]:
        """Systems with other facts than recomputing, or than they had themselves before."""
        runs = [run for name in (BASE, *self.runs) for run in self.runs.get(name, []) if run.steps]
        return sorted(
            {
                run.system
                for run in runs
                if not same(run.steps, runs[0].steps) or not returned(run.steps, self.likes)
            }
        )

    def failed(self) -> dict[str, str]:
        """Systems of ours that ended with an error, and with which one."""
        every = [run for some in self.runs.values() for run in some]
        return {r.system: r.detail for r in every if r.status == "failed" and r.system != PEER}


def same(one: Sequence[Done], other: Sequence[Done]) -> bool:
    """The same states as far as both went."""
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
