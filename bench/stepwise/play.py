"""Plays streams with and without marking, and measures them.

The first update, which fills the dataset, is completed before any other is looked at; after it the
next update is always available. Every stream is played several times, old and new in turns, with
the garbage collector off, and the least CPU time of each update counts; a short stream is played
more often. Applications and marks are the same each time.

CPU time depends on the machine. *Steps* do not: rule instances looked at, plus rules applied.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bench.stepwise.marking import Marking, Update
from bench.stepwise.matching import Fact, Rules, closure

Algorithm = type[Marking]
ENOUGH = 1.0  # seconds that a stream is played for, at least


@dataclass(frozen=True)
class Side:
    """Old or new: averages over the streams of a row."""

    seconds: float
    counts: dict[str, float]


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    table: str
    algorithm: str
    label: int
    streams: int
    updates: int
    old: Side
    new: Side
    right: bool  # the last materialisation is the closure, old and new
    reductions: tuple[float, ...]  # of CPU time, in per cent, by stream
    each: tuple[tuple[dict[str, int], dict[str, int]], ...] = field(repr=False, default=())

    def reduction(self) -> float:
        """Of CPU time, in per cent."""
        return 100 * (1 - self.new.seconds / self.old.seconds)

    def steps(self) -> float:
        """Saved, in per cent."""
        old, new = (_steps(side.counts) for side in (self.old, self.new))
        return 100 * (1 - new / old)

    def saved(self, kind: str) -> float:
        return self.old.counts.get(kind, 0) - self.new.counts.get(kind, 0)


def play(
    table: str,
    label: int,
    rules: Rules,
    streams: Sequence[tuple[Update, ...]],
    algorithm: Algorithm,
    repeats: int,
) -> Row:
    pairs = [_pair(rules, stream, algorithm, repeats) for stream in streams]
    return Row(
        table,
        algorithm.__name__,
        label,
        len(streams),
        max(map(len, streams)),
        _average([old for old, _, _ in pairs]),
        _average([new for _, new, _ in pairs]),
        all(right for _, _, right in pairs),
        tuple(100 * (1 - new[0] / old[0]) for old, new, _ in pairs),
        tuple((dict(old[1]), dict(new[1])) for old, new, _ in pairs),
    )


Played = tuple[float, Counter[str]]


def _pair(
    rules: Rules, stream: tuple[Update, ...], algorithm: Algorithm, repeats: int
) -> tuple[Played, Played, bool]:
    E: set[Fact] = set()
    for update in stream:
        E.difference_update(update.deleted)
        E.update(update.inserted)
    right = closure(rules, E)
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    ends: dict[bool, Marking] = {}
    turn = (False, True)
    while len(times[False]) < repeats or (repeats > 1 and sum(map(sum, times[False])) < ENOUGH):
        for looks in turn:
            seconds, ends[looks] = _once(algorithm(rules, looks=looks), stream)
            times[looks].append(seconds)
        turn = turn[1], turn[0]
    equal = all(set(end.I) == right for end in ends.values())
    old, new = ((_least(times[looks]), _counts(ends[looks])) for looks in (False, True))
    return old, new, equal


def _least(times: Sequence[Sequence[float]]) -> float:
    """The sum of the least time of each update.

    >>> _least([[1.0, 5.0], [2.0, 4.0]])
    5.0
    """
    return sum(map(min, zip(*times, strict=True)))


def _counts(one: Marking) -> Counter[str]:
    return one.counts + Counter(instances=one.instances)


def _steps(counts: Mapping[str, float]) -> float:
    return sum(count for kind, count in counts.items() if "plicit" not in kind)


def _once(one: Marking, stream: tuple[Update, ...]) -> tuple[list[float], Marking]:
    gc.collect()
    gc.disable()
    ends = [time.process_time()]
    for part in (stream[:1], stream[1:]):
        for block in one.steps(part):
            if block == "g":
                ends.append(time.process_time())
    gc.enable()
    return [end - start for start, end in pairwise(ends)], one


def _average(sides: Sequence[Played]) -> Side:
    kinds = sorted({kind for _, counts in sides for kind in counts})
    mean = {kind: statistics.fmean(counts[kind] for _, counts in sides) for kind in kinds}
    return Side(statistics.fmean(seconds for seconds, _ in sides), mean)
