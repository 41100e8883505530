"""Marking in the engine: the papers' streams with and without marks, counting rule applications.

As in the papers, the first update fills the dataset and is finished before any other is looked at;
after it the next update is always available, or for `old` never. `old` counts what `new` counts,
and otherwise works like the policy `sequential`.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.flows.updates import Update, recorded
from bench.stepwise import streams
from bench.updates.figures import State
from bench.updates.play import state
from bench.workloads import recorded as program_of
from tidelog import Database
from tidelog.changes.policies.look_ahead import LookAhead
from tidelog.changes.policies.policy import Arrived, Finished, Sequential
from tidelog.transaction.core import Options

ALGORITHMS = ("bf", "dred")
WAYS = ("sequential", "old", "new")
COUNTED = ("deletions", "backward", "forward", "insertions")
REPEATS = 2


@dataclass(frozen=True)
class Side:
    """Old or new: averages over the streams of a row."""

    seconds: float
    counts: dict[str, float]


@dataclass(frozen=True)
class Row:
    program: str
    label: int  # facts of an update, or the number of a track
    algorithm: str
    streams: int
    old: Side
    new: Side
    sequential: float  # seconds
    equal: bool  # the last states, old, new and sequential
    each: tuple[tuple[dict[str, int], dict[str, int]], ...] = field(repr=False, default=())

    @property
    def name(self) -> str:
        return f"{self.program} {self.label}, {self.algorithm}"

    def fewer(self) -> float:
        """Deletion applications saved, in per cent."""
        old, new = self.old.counts["deletions"], self.new.counts["deletions"]
        return 100 * (1 - new / old) if old else 0.0

    def reduction(self) -> float:
        """CPU time compared with `sequential`, in per cent."""
        return 100 * (1 - self.new.seconds / self.sequential)


@dataclass(frozen=True)
class Choice:
    """The decisions of `auto` on the streams of a row."""

    program: str
    label: int
    marked: int  # updates
    plain: int
    why: str  # at the end
    seconds: float
    sequential: float
    equal: bool


def tables(quick: bool) -> Iterator[tuple[str, int, list[list[Update]]]]:
    """The programs, with the streams of each row."""
    sizes = (10, 80) if quick else streams.SIZES
    seeds = streams.SEEDS[:1] if quick else streams.SEEDS
    for program in ("path", "sequence"):
        for size in sizes:
            yield program, size, [recorded(streams.recorded(size, seed)) for seed in seeds]
    for track in streams.TRACKS[2:] if quick else streams.TRACKS:
        yield "ways", track, [recorded(streams.track(track))]


def measured(quick: bool) -> Iterator[Row | Choice]:
    for program, label, some in tables(quick):
        for algorithm in ALGORITHMS:
            yield row(program, label, some, algorithm, 1 if quick else REPEATS)
        yield choice(program, label, some)


@dataclass(frozen=True)
class Played:
    seconds: float
    counts: Counter[str]
    state: State


def row(
    program: str, label: int, some: Sequence[list[Update]], algorithm: str, repeats: int
) -> Row:
    sides: dict[str, list[Played]] = {way: [] for way in WAYS}
    for stream in some:
        runs: dict[str, list[Played]] = {way: [] for way in WAYS}
        once(program, stream, algorithm, "new")  # plans and kernels are made
        for _ in range(repeats):
            for way in WAYS:
                runs[way].append(once(program, stream, algorithm, way))
        for way in WAYS:
            sides[way].append(min(runs[way], key=lambda run: run.seconds))
    each = zip(*sides.values(), strict=True)
    return Row(
        *(program, label, algorithm, len(some)),
        old=averaged(sides["old"]),
        new=averaged(sides["new"]),
        sequential=statistics.fmean(run.seconds for run in sides["sequential"]),
        equal=all(plain.state == old.state == new.state for plain, old, new in each),
        each=tuple(
            (dict(old.counts), dict(new.counts))
            for old, new in zip(sides["old"], sides["new"], strict=True)
        ),
    )


def averaged(runs: Sequence[Played]) -> Side:
    kinds = sorted({kind for run in runs for kind in run.counts})
    counts = {kind: statistics.fmean(run.counts[kind] for run in runs) for kind in kinds}
    return Side(statistics.fmean(run.seconds for run in runs), counts)


def once(program: str, updates: list[Update], algorithm: str, way: str) -> Played:
    """Play a stream from an empty database; CPU time is that of all updates but the first."""
    database = Database(program_of(program))
    todo = [
        Arrived(number, [(change, {}) for change in update], 0.0)
        for number, update in enumerate(updates, 1)
    ]
    todo.reverse()
    counts, filled = Counter[str](), False

    def look() -> Arrived | None:
        return todo.pop() if way == "new" and filled and todo else None

    make = Sequential if way == "sequential" else LookAhead
    policy = make(database.core, look, Options(algorithm))
    gc.collect()
    began = time.process_time()
    while todo or policy.busy:
        if not policy.busy:
            policy.take(todo.pop())
        for done in policy.step():
            counts.update(done.report.marks)
            counts["backward"] += done.report.numbers["backward"]
        if not filled:
            filled, began = True, time.process_time()
    return Played(time.process_time() - began, counts, state(database))


def choice(program: str, label: int, some: Sequence[list[Update]]) -> Choice:
    """`auto` on the same streams, under both policies."""
    marked, plain, why, equal = 0, 0, "", True
    seconds = {"marking": 0.0, "sequential": 0.0}
    for stream in some:
        states = []
        for policy in seconds:
            database = Database(program_of(program))
            database.stream(stream[:1], policy).run()
            began = time.process_time()
            finished = list(database.stream(stream[1:], policy))
            seconds[policy] += (time.process_time() - began) / len(some)
            states.append(state(database))
            if policy == "marking":
                with_marks = sum(bool(done.report.marks) for done in finished)
                marked, plain = marked + with_marks, plain + len(finished) - with_marks
                why = reason(finished) or why
        equal = equal and states[0] == states[1]
    return Choice(
        *(program, label, marked, plain, why), seconds["marking"], seconds["sequential"], equal
    )


def reason(finished: Sequence[Finished]) -> str:
    """The policy's last reason to mark, or not."""
    for done in reversed(finished):
        for work in done.report.works:
            told = work.why.split("; ")[-1]
            if "mark" in told:
                return told
    return ""
