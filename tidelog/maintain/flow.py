"""Updates that overlap: a new one joins while those before it are still being worked on.

Algorithm 1 of Illich and Glimm, *Fully Dynamic Materialization Maintenance* (2023): between two
steps of work the next update is looked for, and what it changes explicitly takes effect at once.
Departures: a step handles some facts and not one operation; strata are worked on from below, so
that negation and aggregates may be used; rules do not change while updates overlap.

# E explicit facts, of all updates that joined     I facts that hold, as far as is known
# S suspects: facts of I that may have lost what they follow from           the paper's del(F)
# R candidates: facts outside I that may follow, now that they are asked about
# N facts of I that no rule has used yet                                    the paper's add(F)

What a stratum has *heard* are the lower facts that its own facts are in step with: the facts of
I, but for what is written down in `pending`. So an instance was really applied if, and only if,
its lower facts have been heard and its own are in I - N: that is what the paper asks counting to
remember, and what keeps a fact that comes and goes unheard from having any effect.

Between steps, in every stratum:
  sound      each fact of I that S does not lead to, over instances that were applied, follows
             from E and from what was heard by instances without circles
  complete   an instance over what was heard whose own body facts are in I has its head in I, or
             its head in R, or a body fact in N
When S, R, N and all that is pending are empty, both together say that I is the materialisation
of E. docs/streams.md has the argument that each step keeps them, and that work ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol, Self

from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report, Work
from tidelog.maintain.seam import FactSet, OverlapEngine, Saved, View
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum

STEP = 0.002  # seconds that a step should take
FIRST, LEAST, MOST = 256, 64, 1 << 20  # facts of a step, in the beginning and ever


class Waiting(Exception):
    """An update waits, and a step that has changed nothing yet makes room for it."""


@dataclass(slots=True)
class News:
    """Lower facts that went (D) and came (A), net, and that a stratum has not heard of. I has
    them so already. Some of them (d, a) are what it hears now."""

    D: FactSet
    A: FactSet
    d: FactSet
    a: FactSet

    def before(self, I: FactSet) -> View:
        """The facts that the stratum has heard of so far."""
        return (I - self.A) | self.D

    def after(self, I: FactSet) -> View:
        """Those that it has heard of then."""
        return (I - (self.A - self.a)) | (self.D - self.d)


class Course(Protocol):
    """How a stratum is brought up to date, in steps."""

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        """Of these facts that went and came, how many should it hear at once?"""

    def hear(self, flow: Flow, news: News) -> None:
        """Some of the news."""

    def explicit(self, flow: Flow, came: FactSet, went: FactSet) -> None:
        """Facts of the stratum are explicit now, or no more: E has them so already. Lower strata
        may be under way."""

    def step(self, flow: Flow) -> bool:
        """Some work, if there is any: false if the stratum is up to date with what it heard."""


@dataclass(slots=True)
class Pending:
    """Lower facts that went and came, net, and that a stratum has not heard of."""

    went: Saved
    came: Saved


@dataclass(slots=True)
class Noted:
    """Facts that left I, and facts that entered it, each time that they did."""

    went: list[Saved] = field(default_factory=list)
    came: list[Saved] = field(default_factory=list)

    def __iadd__(self, other: Noted) -> Self:
        self.went += other.went
        self.came += other.came
        return self


class Flow:
    """The materialisation while updates overlap."""

    def __init__(
        self,
        engine: OverlapEngine,
        E: FactSet,
        I: FactSet,
        watch: Watch,
        memory: Memory,
        strata: Sequence[Stratum],
        stratum_of: Mapping[str, int],
        readers: Mapping[str, Iterable[str]],
        course: Callable[[Stratum, Memory], Course],
        report: Report,
    ) -> None:
        memory.circuit = None  # it would not be told
        self.engine, self.E, self.I = engine, E, I
        self.S, self.R, self.N = engine.none(), engine.none(), engine.none()
        self.size = FIRST
        self.waiting: Callable[[], bool] = lambda: False  # does an update want to join?
        self.patient_until = math.inf  # when a step under way may be given up for it
        self.steps = 0
        self._handled = 0  # facts, in the step under way
        # What an update has in X, D and A is kept elsewhere: courses put it there if need be.
        self.u = Update(engine, E, I, E, E, E, _Patient(self, watch), memory, report)
        self._strata, self._stratum_of, self._readers = strata, stratum_of, readers
        self._course = course
        self._courses: dict[int, Course] = {}
        self._works: dict[int, Work] = {}
        # By stratum, what nobody was told of; and what has been told since all settled.
        self._noted: dict[int, Noted] = {}
        self._told = Noted()
        self._tellers: dict[int, bool] = {}  # strata that have told something: more than once?
        self._pending: dict[int, Pending] = {}
        self._listening: tuple[int, FactSet, FactSet] | None = None  # pending, as sets
        self._todo: list[int] = []
        self._queued: set[int] = set()

    @property
    def settled(self) -> bool:
        """Is I the materialisation of E?"""
        return not self._todo

    def changes(self) -> tuple[Saved, Saved]:
        """What went and what came since all had settled."""
        again = any(self._tellers.values())
        net = self._net(self._told) if again else self._all(self._told)
        return net.went, net.came

    def restart(self, report: Report) -> None:
        """All has settled: what follows is told of apart."""
        assert self.settled
        self._told, self.steps = Noted(), 0
        self._tellers.clear()
        self._works.clear()
        self._courses.clear()
        self.u.report, self.u.work = report, Work(())

    # An update joins.

    def join(self, came: FactSet, went: FactSet) -> None:
        """These facts are explicit now, or no more; E has them so already."""
        names = dict.fromkeys((*self.engine.relations(came), *self.engine.relations(went)))
        strata = dict.fromkeys(self._stratum_of[name] for name in names)
        for at in strata:
            stratum = self._strata[at]
            mine = [name for name in stratum.relations if name in names]
            plus, minus = self.engine.collect(came, mine), self.engine.collect(went, mine)
            if not stratum.given:
                self._begin(at, at_work=False)
                self._courses[at].explicit(self, plus, minus)
            else:
                self.leave(minus)
                self.enter(plus)
            self._queue(at)

    # Work.

    def step(self) -> bool:
        """Some work on the lowest stratum that has any; false if an update waits instead."""
        at = self._todo[0]
        stratum = self._strata[at]
        if self._listening is not None and self._listening[0] != at:
            self._stop_listening()
        self.steps += 1
        self._handled = 0
        if stratum.given:
            self._tell_inputs()
            return True
        began, instances = time.perf_counter(), self.engine.instances
        work = self._begin(at)
        try:
            more = self._hear(at) or self._courses[at].step(self)
        except Waiting:
            return False
        if not more:
            heappop(self._todo)
            self._queued.discard(at)
            self._tell([at], work)
        seconds = time.perf_counter() - began
        work.seconds += seconds
        work.instances += self.engine.instances - instances
        self._settle_size(seconds)
        return True

    def _begin(self, at: int, at_work: bool = True) -> Work:
        """The stratum is worked on, or given something to do: in the report and for the watch,
        which may end work, but nothing else."""
        stratum = self._strata[at]
        if at not in self._works:
            self._courses[at] = self._course(stratum, self.u.memory)
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
        """Steps that handled as much as they may tell how long that takes."""
        if seconds > 2 * STEP:
            self.size = max(LEAST, self.size // 2)
        elif seconds < STEP / 2 and self._handled >= self.size:
            self.size = min(MOST, self.size * 2)

    def _hear(self, at: int) -> bool:
        """Is there news for the stratum? It has heard some of it then."""
        engine = self.engine
        if at in self._pending:
            pending = self._pending.pop(at)
            # It is told of more than it reads. What it does not read may have changed again since.
            read = tuple(self.u.memory.known(self._strata[at]).read)
            D = engine.collect(engine.hold(pending.went), read)
            self._listening = at, D, engine.collect(engine.hold(pending.came), read)
        if self._listening is None:
            return False
        _, D, A = self._listening
        course = self._courses[at]
        portion = max(self.size, course.portion(self, D, A))
        if len(D) + len(A) <= portion:
            self._listening = None
            course.hear(self, News(D, A, D, A))
            return True
        news = News(D, A, engine.some(D, portion), engine.none())
        news.a |= engine.some(A, portion - len(news.d))
        self._handled = portion
        course.hear(self, news)
        D -= news.d
        A -= news.a
        return True

    def _stop_listening(self) -> None:
        """Another stratum is worked on first."""
        if self._listening is not None:
            at, D, A = self._listening
            self._pending[at] = Pending(self.engine.save(D), self.engine.save(A))
            self._listening = None

    def _tell_inputs(self) -> None:
        """All relations without rules that have changed: one event is cheaper than many."""
        plain = [at for at in self._todo if self._strata[at].given]
        self._todo = [at for at in self._todo if not self._strata[at].given]
        heapify(self._todo)
        self._queued.difference_update(plain)
        self._tell(plain)

    def _tell(self, strata: Sequence[int], work: Work | None = None) -> None:
        """These strata are up to date: those that read them shall hear what changed."""
        engine, noted = self.engine, Noted()
        for at in strata:
            if at in self._noted:
                noted += self._noted.pop(at)
                self._tellers[at] = at in self._tellers
        # Facts cannot leave twice if none have entered.
        event = self._net(noted) if noted.went and noted.came else self._all(noted)
        went, came = engine.sizes_of(event.went), engine.sizes_of(event.came)
        if not (went or came):
            return
        if work is not None:
            work.deleted += sum(went.values())
            work.added += sum(came.values())
        self._told += Noted([event.went], [event.came])
        changed = {*went, *came}
        heads = {head for name in changed for head in self._readers.get(name, ())}
        mine = {self._stratum_of[name] for name in changed}
        for reader in sorted({self._stratum_of[head] for head in heads} - mine):
            known = self._pending.get(reader)
            self._pending[reader] = event if known is None else self._both(known, event)
            self._queue(reader)

    def _both(self, before: Pending, event: Pending) -> Pending:
        """What went and came again, or came and went again, did neither."""
        engine = self.engine
        D, A = engine.hold(before.went), engine.hold(before.came)
        d, a = engine.hold(event.went), engine.hold(event.came)
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

    # What courses do with facts.

    def take(self, facts: FactSet, relations: Sequence[str], most: int | None = None) -> FactSet:
        """Facts to be handled in a step, which leave the set."""
        found = self.engine.cut(facts, self.size if most is None else most, relations)
        self._handled = max(self._handled, len(found))
        return found

    def leave(self, F: FactSet) -> None:
        """Facts do not hold any more."""
        self.went(F)
        self.I -= F

    def enter(self, F: FactSet) -> None:
        """Facts hold from now on."""
        self.came(F)
        self.I |= F

    def went(self, F: FactSet) -> None:
        """Note that facts of a stratum leave I, or have left it."""
        if F:
            self._noted_of(F).went.append(self.engine.save(F))

    def came(self, F: FactSet) -> None:
        """Note that facts of a stratum enter I, or have entered it."""
        if F:
            self._noted_of(F).came.append(self.engine.save(F))

    def _noted_of(self, F: FactSet) -> Noted:
        at = self._stratum_of[self.engine.relations(F)[0]]
        return self._noted.setdefault(at, Noted())

    def _net(self, noted: Noted) -> Pending:
        """What went and what came. A fact has changed if it did so an odd number of times."""
        engine = self.engine
        changed = engine.odd([*noted.went, *noted.came])
        went, came = engine.collect(changed - self.I), engine.collect(changed & self.I)
        return Pending(engine.save(went), engine.save(came))

    def _all(self, noted: Noted) -> Pending:
        """The same, where no fact has changed twice."""
        return Pending(self.engine.joined(noted.went), self.engine.joined(noted.came))

    @contextmanager
    def parked(self, names: str = "SRN") -> Iterator[None]:
        """An engine holds a limited number of sets: in the block these are not among them. Nor are
        they after an error, which ends all that is under way: sets of the block are still held."""
        saved = {}
        for name in names:
            saved[name] = self.engine.save(getattr(self, name))
            delattr(self, name)
        waiting: Waiting | None = None
        try:
            yield
        except Waiting as error:
            waiting = error
        for name in names:
            setattr(self, name, self.engine.hold(saved[name]))
        if waiting is not None:
            raise waiting


class _Patient:
    """A watch that a waiting update can end, where a course lets it."""

    def __init__(self, flow: Flow, watch: Watch) -> None:
        self._flow, self._watch = flow, watch

    def stratum(self, stratum: Stratum) -> None:
        self._watch.stratum(stratum)

    def round(self) -> None:
        self._watch.round()
        flow = self._flow
        if time.perf_counter() > flow.patient_until and flow.waiting():
            raise Waiting

    def at(self, rule: Rule) -> None:
        self._watch.at(rule)

    def pairs(self, count: int) -> None:
        self._watch.pairs(count)
