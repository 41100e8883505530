"""Plays a scene with every algorithm, each in a database of its own, and measures the updates."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numba.core.event import install_recorder

from bench.checksum import Checksum, checksum
from bench.updates.changes import Change
from bench.updates.figures import BASE, Row, Sample, Series, State
from bench.updates.scenes import Scene
from tidelog import Database, LimitError, Limits

BUDGET = 0.75  # limits: when an algorithm's updates take this long in all, the rest is left out
PATIENCE = 2  # limits that counting derivations for the first time may take
WARM_UPS = 2  # times that every single change is made before it is measured
WARM = 1.0  # seconds for what an algorithm does before it is measured
LATER = 4  # insertions that are measured separately where deletions were stopped
LONG = 5.0  # seconds: an update that takes longer needs no uncounted first time
STREAMS = 5  # times that streams are played, each with new databases; the best counts
TIMES = 5  # times that every single change is measured; the best counts


def play(scene: Scene, algorithms: Sequence[str], limit: float) -> list[Row]:
    """A row for each step of the scene. `recompute` is the first of the algorithms."""
    rows = played(scene, algorithms, limit)
    for _ in range(1, STREAMS if scene.shape == "one way" else 1):
        for row, again in zip(rows, played(scene, algorithms, limit), strict=True):
            row.compiled += again.compiled
            for name, series in row.series.items():
                series.add(again.series[name])
    return rows


def played(scene: Scene, algorithms: Sequence[str], limit: float) -> list[Row]:
    players = [Player(scene, name, limit) for name in algorithms]
    # The databases of all algorithms exist at once; the collector's work on one would cost all.
    gc.collect()
    gc.freeze()
    places = np.arange(len(scene.changes))
    single = scene.one_by_one
    with install_recorder("numba:compile") as compiling:
        if single:
            for player in players:
                for time_ in range(WARM_UPS):
                    player.warm_up(places.tolist(), first=time_ == 0)
        for turn, part in enumerate(parts(scene)):
            for player in players:
                player.play(part, first=turn == 0 and not single, warms=turn == 0 or scene.varied)
        for player in players:
            player.play_back(places[:LATER].tolist())
            player.look_back()
    gc.unfreeze()
    fresh = fresh_seconds(scene) if scene.case == "rules" else None
    facts = max(player.facts for player in players)
    return [
        Row(
            scene=scene.name,
            title=scene.title,
            step=step,
            given=scene.given,
            facts=facts,
            case=scene.case,
            best=scene.best,
            limit=limit,
            series={player.algorithm: player.series[number] for player in players},
            fresh=fresh,
            compiled=len(compiling.buffer),
        )
        for number, step in enumerate(scene.steps)
    ]


def parts(scene: Scene) -> list[list[int]]:
    """The work of an algorithm in one turn: the machine's speed varies, so turns are short. Where
    the first change of each does not count, further changes follow, a different one each time."""
    size = 1 if scene.shape == "one way" else 4 if scene.case == "rules" else 2
    count = len(scene.changes)
    found = []
    for time_ in range(TIMES if scene.one_by_one else 1):
        places = [(place + time_) % count for place in range(count)]
        found += [places[at : at + size] for at in range(0, count, size)]
    return found


@dataclass
class Player:
    """One algorithm on one scene."""

    scene: Scene
    algorithm: str
    limit: float
    # the algorithm's memory between updates; new if None, for auto with modules
    given: Database | None = None
    series: list[Series] = field(default_factory=list)
    spent: float = 0.0
    done: int = -1  # the last change that was made and not undone

    def __post_init__(self) -> None:
        self.series = [Series() for _ in self.scene.steps]
        scene, given = self.scene, self.given
        self.database = (
            Database(scene.program, facts=scene.facts, modules=self.algorithm == "auto")
            if given is None
            else given
        )
        self.facts = self.size()
        self.start = state(self.database)

    def size(self) -> int:
        return sum(map(self.database.size, self.database.relations))

    def warm_up(self, places: Sequence[int], first: bool) -> None:
        """Make the changes, as many as there is time for, so that their plans and indexes exist."""
        for number, place in enumerate(places):
            if self.spent > WARM or not self._goes_on():
                break
            self._one(place, counts=False, look=first and number == 0, first=first)
        self.spent = 0.0

    def play(self, places: Sequence[int], first: bool, warms: bool = True) -> None:
        """Make the changes with these numbers; the first one may be an uncounted warm-up."""
        for number, place in enumerate(places):
            if not self._goes_on():
                return
            self._one(place, counts=number > 0 or not warms, look=first and number == 0)

    def _goes_on(self) -> bool:
        """No error, no missing commit, and not too slow."""
        if any(series.detail for series in self.series):
            return False
        stopped = any(series.stopped for series in self.series)
        if stopped and self.scene.shape == "one way":
            return False
        known = stopped or any(series.samples for series in self.series)
        return not known or self.spent <= self.limit * BUDGET

    def play_back(self, places: Sequence[int]) -> None:
        """If the way there takes too long, the way back can still be measured separately."""
        if len(self.series) < 2 or not self.series[0].stopped or self.series[1].times():
            return
        for number, place in enumerate(places):
            change = self.scene.changes[place]
            self._recompute(change)
            if not self.keep_still():
                self._recompute(change.back())
                return
            sample = self._update(self.series[1], place, change.back())
            if sample is None:
                return
            if number > 0 or sample.seconds > LONG:
                self.series[1].samples.append(sample)
            if sample.seconds > LONG:
                return

    def keep_still(self) -> bool:
        """Make the change that affects nothing, and undo it; False if it takes too long."""
        still, limits = self.scene.still, Limits(max_seconds=PATIENCE * self.limit)
        if still is None:
            return True
        try:
            for change in (still, still.back()):
                with self.database.transaction(algorithm=self.algorithm, limits=limits) as tx:
                    change.make(tx)
        except LimitError:
            self._recompute(still.back())
            return False
        return True

    def _one(self, place: int, counts: bool, look: bool, first: bool = False) -> None:
        there = self.scene.changes[place]
        steps = [there, there.back()] if self.scene.shape == "there and back" else [there]
        for series, change in zip(self.series, steps, strict=True):
            sample = self._update(series, place, change)
            if sample is None:
                return
            if counts:
                series.samples.append(sample)
            elif first:
                series.first.append(sample)
            if look and len(steps) > 1:
                series.states[place] = state(self.database)
        if len(steps) == 1:
            self.done = place
            self.facts = max(self.facts, self.size())

    def _update(self, series: Series, place: int, change: Change) -> Sample | None:
        """One measured transaction; None if it was stopped, with everything as before."""
        limits = Limits(max_seconds=self.limit)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            with self.database.transaction(algorithm=self.algorithm, limits=limits) as tx:
                change.make(tx)
        except LimitError:
            series.stopped.add(place)
            self._undone(place, series)
            return None
        except Exception as error:
            series.detail = f"{type(error).__name__}: {error}"[:300]
            return None
        finally:
            # On a busy machine a process waits for its turn, which is not its fault.
            seconds = min(time.perf_counter() - wall, time.process_time() - cpu)
            self.spent += seconds
        works = tx.report.works
        return Sample(
            place,
            seconds,
            (sum(work.added for work in works), sum(work.deleted for work in works)),
            dict(tx.report.numbers),
            tuple(work.algorithm for work in works if work.algorithm != "input"),
            tx.report.seconds,
        )

    def _undone(self, place: int, series: Series) -> None:
        """A stopped update has left no trace; its first half is undone."""
        if series is not self.series[0]:
            self._recompute(self.scene.changes[place].back())
        if self.scene.shape == "there and back" and state(self.database) != self.start:
            series.detail = "a stopped update has left a trace"

    def _recompute(self, change: Change) -> None:
        """A change that is not measured, however long it takes."""
        with self.database.transaction(algorithm=BASE, limits=Limits()) as tx:
            change.make(tx)

    def look_back(self) -> None:
        """The last state, which must be the initial one after changes there and back."""
        last = self.series[-1]
        if any(series.detail for series in self.series):
            return
        now = state(self.database)
        if self.done >= 0:
            last.states[self.done] = now
        elif now != self.start:
            last.detail = "the state is not that of the start"


def state(database: Database) -> State:
    """Checksums of all relations; facts of numbers only."""
    return {name: of_relation(database, name) for name in database.relations if database.size(name)}


def of_relation(database: Database, name: str) -> Checksum:
    columns = database.table(name).columns
    return checksum(np.column_stack([np.asarray(column, dtype=np.int64) for column in columns]))


def fresh_seconds(scene: Scene, runs: int = 3) -> float:
    """An evaluation from scratch, as needed without updates after a rule's change."""
    times = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        Database(scene.program, facts=scene.facts, modules=False)
        times.append(min(time.perf_counter() - wall, time.process_time() - cpu))
    return min(times)
