"""Overlapping updates: a new one joins while those before it are still being worked on.

Algorithm 1 of Illich and Glimm, *Fully Dynamic Materialization Maintenance* (2023): between two
steps the driver looks for the next update, whose explicit changes take effect at once.
Departures: a step handles a set of facts instead of one operation; strata are worked on from the
lowest up, so that negation and aggregates may be used; rules do not change while updates overlap.

# E explicit facts, of all updates that joined     I facts that hold, as far as is known
# S suspects: facts of I that may have lost what they follow from           the paper's del(F)
# R candidates: facts outside I that may have a derivation
# N facts of I that no rule has used yet                                    the paper's add(F)

A stratum's facts are in step with the lower facts that it has *followed*: those of I, without
the changes that are pending. So an instance was applied if, and only if, the stratum has followed
its lower facts and its own are in I - N. That is what the paper asks counting to remember, and why
a lower fact that is inserted and deleted again before it is followed has no effect.

Between steps, in every stratum:
  sound      each fact of I that S does not lead to, over instances that were applied, has an
             acyclic derivation from E and the lower facts followed
  complete   an instance over the lower facts followed, with its own body facts in I, has its head
             in I, or its head in R, or a body fact in N
When S, R, N and the pending changes are empty, both say that I is the materialisation of E.
docs/overlapping.md has the argument that each step keeps them, and that work ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol, Self

from tidelog.engine import FactSet, OverlapEngine, Saved, View
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report, Work
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Context, StratumChange, Update
from tidelog.program.rules import Rule, Stratum

STEP = 0.002  # seconds that a step should take (docs/decisions/015-overlapping-updates.md)
# Facts of the first step, and of any step at least and at most: chosen, not measured.
FIRST, LEAST, MOST = 256, 64, 1 << 20


class UpdateWaiting(Exception):
    """Raised in a step that has changed nothing yet, because an update is waiting."""


@dataclass(slots=True)
class LowerChange:
    """Lower facts deleted (D) and inserted (A), net, that a stratum has not followed yet. I is up
    to date with them. The stratum follows some of them now (d, a)."""

    D: FactSet
    A: FactSet
    d: FactSet
    a: FactSet

    def before(self, I: FactSet) -> View:
        """The facts that the stratum has followed so far."""
        return (I - self.A) | self.D

    def change(self, explicit: FactSet) -> StratumChange:
        """The whole change, with these facts of the stratum whose explicitness has changed."""
        return StratumChange(self.A, self.D, explicit)

    def after(self, I: FactSet) -> View:
        """Those that it will have followed then."""
        return (I - (self.A - self.a)) | (self.D - self.d)


class Stepwise(Protocol):
    """An algorithm that brings a stratum up to date in steps."""

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        """How many of the lower facts deleted and inserted should it follow at once?"""

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        """Take note of the part of the change that is to be followed now."""

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        """Facts of the stratum have become explicit, or ceased to be; E is up to date. Lower strata
        may still be at work."""

    def step(self, updates: OverlappingUpdates) -> bool:
        """Do some work; false if the stratum is up to date with what it has followed."""


@dataclass(slots=True)
class Pending:
    """Lower facts deleted and inserted, net, that a stratum has not followed yet."""

    deleted: Saved
    inserted: Saved


@dataclass(slots=True)
class Noted:
    """Facts deleted from I and inserted into it, once for each time."""

    deleted: list[Saved] = field(default_factory=list)
    inserted: list[Saved] = field(default_factory=list)

    def __iadd__(self, other: Noted) -> Self:
        self.deleted += other.deleted
        self.inserted += other.inserted
        return self


class Book(Protocol):
    """The strata of a program, and which relations rules read."""

    @property
    def strata(self) -> Sequence[Stratum]: ...

    @property
    def stratum_of(self) -> Mapping[str, int]: ...

    @property
    def readers(self) -> Mapping[str, Iterable[str]]: ...


class OverlappingUpdates:
    """The materialisation while updates overlap."""

    def __init__(
        self,
        engine: OverlapEngine,
        E: FactSet,
        I: FactSet,
        watch: Watch,
        memory: Memory,
        book: Book,
        algorithm: Callable[[Stratum, Memory], Stepwise],
        report: Report,
    ) -> None:
        memory.circuit = None  # it does not see these changes
        self.engine, self.E, self.I = engine, E, I
        self.S, self.R, self.N = engine.none(), engine.none(), engine.none()
        self.size = FIRST
        self.waiting: Callable[[], bool] = lambda: False  # does an update want to join?
        self.patient_until = math.inf  # when a step under way may be given up for it
        self.steps = 0
        self._handled = 0  # facts, in the step under way
        self.u = Context(engine, E, I, _Patient(self, watch), memory, report=report)
        self._strata, self._stratum_of, self._readers = book.strata, book.stratum_of, book.readers
        self._choose = algorithm
        self._algorithms: dict[int, Stepwise] = {}
        self._works: dict[int, Work] = {}
        self._inputs: Work | None = None  # of relations without rules
        # By stratum, changes that its readers do not know of; and all that have been reported
        # since everything settled.
        self._noted: dict[int, Noted] = {}
        self._reported = Noted()
        self._reporters: dict[int, bool] = {}  # by stratum: more than once?
        self._pending: dict[int, Pending] = {}
        self._following: tuple[int, FactSet, FactSet] | None = None  # pending, as sets
        self._todo: list[int] = []
        self._queued: set[int] = set()

    @property
    def settled(self) -> bool:
        """Is I the materialisation of E?"""
        return not self._todo

    def changes(self) -> tuple[Saved, Saved]:
        """The facts deleted and inserted since everything had settled."""
        again = any(self._reporters.values())
        net = self._net(self._reported) if again else self._all(self._reported)
        return net.deleted, net.inserted

    def restart(self, report: Report) -> None:
        """Everything has settled: start a new delta and report."""
        assert self.settled
        self._reported, self.steps = Noted(), 0
        self._reporters.clear()
        self._works.clear()
        self._inputs = None
        self._algorithms.clear()
        self.u.report, self.u.work = report, Work(())

    # An update joins.

    def join(self, inserted: FactSet, deleted: FactSet) -> None:
        """These facts have become explicit, or ceased to be; E is up to date."""
        names = dict.fromkeys((*self.engine.relations(inserted), *self.engine.relations(deleted)))
        strata = dict.fromkeys(self._stratum_of[name] for name in names)
        for at in strata:
            stratum = self._strata[at]
            mine = [name for name in stratum.relations if name in names]
            plus, minus = self.engine.collect(inserted, mine), self.engine.collect(deleted, mine)
            if not stratum.given:
                self._begin(at, at_work=False)
                self._algorithms[at].explicit(self, plus, minus)
            else:
                self.delete(minus)
                self.insert(plus)
            self._queue(at)

    # Work.

    def step(self) -> bool:
        """Work on the lowest stratum that needs it; False if interrupted by a waiting update."""
        at = self._todo[0]
        stratum = self._strata[at]
        if self._following is not None and self._following[0] != at:
            self._stop_following()
        self.steps += 1
        self._handled = 0
        if stratum.given:
            self._report_inputs()
            return True
        began, instances = time.perf_counter(), self.engine.instances
        work = self._begin(at)
        try:
            more = self._follow(at) or self._algorithms[at].step(self)
        except UpdateWaiting:
            return False
        if not more:
            heappop(self._todo)
            self._queued.discard(at)
            self._report([at], work)
        seconds = time.perf_counter() - began
        work.seconds += seconds
        work.instances += self.engine.instances - instances
        self._settle_size(seconds)
        return True

    def _begin(self, at: int, at_work: bool = True) -> Work:
        """Begin to work on the stratum, or to give it work, in the report. Only work is shown to
        the watch, which may end it."""
        stratum = self._strata[at]
        if at not in self._works:
            self._algorithms[at] = self._choose(stratum, self.u.memory)
            self._works[at] = Work(stratum.relations)
            self.u.report.works.append(self._works[at])
        if at_work:
            if self.u.work is not self._works[at]:
                self.u.watch.stratum(stratum)
            else:
                self.u.watch.round()
        self.u.begin(self._works[at])
        return self._works[at]

    def _settle_size(self, seconds: float) -> None:
        """Fit the number of facts in a step to the time that the last one took."""
        if seconds > 2 * STEP:
            self.size = max(LEAST, self.size // 2)
        elif seconds < STEP / 2 and self._handled >= self.size:
            self.size = min(MOST, self.size * 2)

    def _follow(self, at: int) -> bool:
        """Follow a part of the pending changes; False if there are none."""
        engine = self.engine
        if at in self._pending:
            pending = self._pending.pop(at)
            # What the stratum does not read may have changed again since.
            read = tuple(self.u.memory.known(self._strata[at]).read)
            D = engine.collect(engine.hold(pending.deleted), read)
            self._following = at, D, engine.collect(engine.hold(pending.inserted), read)
        if self._following is None:
            return False
        _, D, A = self._following
        algorithm = self._algorithms[at]
        portion = max(self.size, algorithm.portion(self, D, A))
        if len(D) + len(A) <= portion:
            self._following = None
            algorithm.follow(self, LowerChange(D, A, D, A))
            return True
        lower = LowerChange(D, A, engine.some(D, portion), engine.none())
        lower.a |= engine.some(A, portion - len(lower.d))
        self._handled = portion
        algorithm.follow(self, lower)
        D -= lower.d
        A -= lower.a
        return True

    def _stop_following(self) -> None:
        """Save the pending changes: another stratum comes first."""
        if self._following is not None:
            at, D, A = self._following
            self._pending[at] = Pending(self.engine.save(D), self.engine.save(A))
            self._following = None

    def _report_inputs(self) -> None:
        """Report all changed relations without rules: one event is cheaper than many."""
        plain = [at for at in self._todo if self._strata[at].given]
        self._todo = [at for at in self._todo if not self._strata[at].given]
        heapify(self._todo)
        self._queued.difference_update(plain)
        names = [name for at in plain for name in self._strata[at].relations]
        if self._inputs is None:
            self._inputs = Work((), "input")
            self.u.report.works.append(self._inputs)
        self._inputs.relations = tuple(dict.fromkeys((*self._inputs.relations, *names)))
        self._report(plain, self._inputs)

    def _report(self, strata: Sequence[int], work: Work | None = None) -> None:
        """These strata are up to date: their changes are pending for those that read them."""
        engine, noted = self.engine, Noted()
        for at in strata:
            if at in self._noted:
                noted += self._noted.pop(at)
                self._reporters[at] = at in self._reporters
        # No fact is deleted twice unless one has been inserted.
        event = self._net(noted) if noted.deleted and noted.inserted else self._all(noted)
        deleted, inserted = engine.sizes_of(event.deleted), engine.sizes_of(event.inserted)
        if not (deleted or inserted):
            return
        if work is not None:
            work.deleted += sum(deleted.values())
            work.added += sum(inserted.values())
        self._reported += Noted([event.deleted], [event.inserted])
        changed = {*deleted, *inserted}
        heads = {head for name in changed for head in self._readers.get(name, ())}
        mine = {self._stratum_of[name] for name in changed}
        for reader in sorted({self._stratum_of[head] for head in heads} - mine):
            known = self._pending.get(reader)
            self._pending[reader] = event if known is None else self._both(known, event)
            self._queue(reader)

    def _both(self, before: Pending, event: Pending) -> Pending:
        """Both changes in turn: a fact deleted and inserted, or the reverse, has not changed."""
        engine = self.engine
        D, A = engine.hold(before.deleted), engine.hold(before.inserted)
        d, a = engine.hold(event.deleted), engine.hold(event.inserted)
        back, off = engine.collect(D & a), engine.collect(A & d)
        D |= d - off
        D -= back
        A |= a - back
        A -= off
        return Pending(engine.save(D), engine.save(A))

    def _queue(self, at: int) -> None:
        if at not in self._queued:
            self._queued.add(at)
            heappush(self._todo, at)

    def update(self, change: StratumChange) -> Update:
        """An update of the stratum at work, for an algorithm that follows the whole change."""
        now, X = self.u, change.explicit
        base = (self.engine, self.E, self.I, now.watch, now.memory)
        u = Update(*base, X, change.deleted, change.inserted, report=now.report)
        u.begin(now.work)
        return u

    # For the algorithms.

    def take(self, facts: FactSet, relations: Sequence[str], most: int | None = None) -> FactSet:
        """Take facts out of a set, to be handled in a step."""
        found = self.engine.cut(facts, self.size if most is None else most, relations)
        self._handled = max(self._handled, len(found))
        return found

    def share(self, stratum: Stratum, D: FactSet, A: FactSet) -> int:
        """How many lower facts to follow in a step. A group is evaluated as a whole, however few of
        its facts have changed: where there are groups, half of the facts that are left, so that
        none is evaluated often."""
        grouped = self.u.memory.known(stratum).grouped
        return max(self.size, (len(D) + len(A)) // 2) if grouped else self.size

    def delete(self, F: FactSet) -> None:
        """Delete facts of a stratum from I."""
        self.note_deleted(F)
        self.I -= F

    def insert(self, F: FactSet) -> None:
        """Insert facts of a stratum into I."""
        self.note_inserted(F)
        self.I |= F

    def note_deleted(self, F: FactSet) -> None:
        """Facts of a stratum are deleted from I, or have been."""
        if F:
            self._noted_of(F).deleted.append(self.engine.save(F))

    def note_inserted(self, F: FactSet) -> None:
        """Facts of a stratum are inserted into I, or have been."""
        if F:
            self._noted_of(F).inserted.append(self.engine.save(F))

    def _noted_of(self, F: FactSet) -> Noted:
        at = self._stratum_of[self.engine.relations(F)[0]]
        return self._noted.setdefault(at, Noted())

    def _net(self, noted: Noted) -> Pending:
        """The net change: a fact has changed if it did so an odd number of times."""
        engine = self.engine
        changed = engine.odd([*noted.deleted, *noted.inserted])
        deleted, inserted = engine.collect(changed - self.I), engine.collect(changed & self.I)
        return Pending(engine.save(deleted), engine.save(inserted))

    def _all(self, noted: Noted) -> Pending:
        """The same, where no fact has changed twice."""
        return Pending(self.engine.joined(noted.deleted), self.engine.joined(noted.inserted))


class _Patient:
    """A watch that raises `UpdateWaiting` for an update, while an algorithm allows it."""

    def __init__(self, updates: OverlappingUpdates, watch: Watch) -> None:
        self._updates, self._watch = updates, watch

    def stratum(self, stratum: Stratum) -> None:
        self._watch.stratum(stratum)

    def round(self) -> None:
        self._watch.round()
        updates = self._updates
        if time.perf_counter() > updates.patient_until and updates.waiting():
            raise UpdateWaiting

    def room(self) -> int:
        return 0  # every round checks for a waiting update

    def passed(self, count: int) -> None:
        self._watch.passed(count)

    def at(self, rule: Rule) -> None:
        self._watch.at(rule)

    def pairs(self, count: int) -> None:
        self._watch.pairs(count)
