"""An update: facts and rules change, and the materialisation follows, stratum by stratum.

# E explicit facts, as they are now     I materialisation     X explicit facts that changed
# D, A facts that went and that came, net, of the strata done so far

While a stratum is worked on, I is new below it and old from it on, and D and A hold
nothing of it. So the new state is I and the old one (I - A) | D, for all lower facts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol

from tidelog.maintain.marking import Marks
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report, Work
from tidelog.maintain.seam import Engine, FactSet, View
from tidelog.maintain.seminaive import Watch
from tidelog.program.rules import Rule, Stratum

THINNED = "subsumption and choice are not maintained"

__all__ = ["Algorithm", "Memory", "Report", "Spent", "Update", "Work", "everything", "update"]


class Spent(Exception):
    """A search has used up the time it was given."""


@dataclass(slots=True)
class Update:
    """One update under way. Giving it up is `I -= A; I |= D`, then the same for E, and
    `memory.settle(undone=True)`."""

    engine: Engine
    E: FactSet
    I: FactSet
    X: FactSet
    D: FactSet
    A: FactSet
    watch: Watch
    memory: Memory
    report: Report = field(default_factory=Report)
    work: Work = field(default_factory=lambda: Work(()))
    changed: list[str] = field(default_factory=list)  # relations, by the stratum at work
    marks: Marks | None = None
    deadline: float = math.inf  # of a search that can be given up, by `clock`
    lasting: float = 0.0  # seconds spent on what later updates will find
    only_gives: bool = False  # is it known that all of X is explicit now?
    only_takes: bool = False  # or that none of it is?
    _explicit: frozenset[str] = frozenset()  # relations that X has facts of
    _noted: int = 0
    _loses: bool | None = None

    def __post_init__(self) -> None:
        self._explicit = frozenset(self.engine.relations(self.X))

    @property
    def old(self) -> View:
        """All facts before the update, as far as strata are done or at work."""
        return (self.I - self.A) | self.D

    @property
    def loses(self) -> bool:
        """Are facts explicit no more?"""
        if self._loses is None:
            known = self.only_gives or self.only_takes
            lost = self.X if known else self.engine.some(self.X - self.E, 1)
            self._loses = not self.only_gives and bool(lost)
        return self._loses

    @property
    def removed(self) -> View:
        """Those of X that are explicit no more; of an update that loses some."""
        return self.X if self.only_takes else self.X - self.E

    @property
    def given(self) -> View:
        """Those of X that are explicit now."""
        return self.X & self.E if self.loses else self.X

    def gives(self, stratum: Stratum) -> bool:
        """Has X facts of the stratum?"""
        return not self._explicit.isdisjoint(stratum.relations)

    def went(self, stratum: Stratum) -> FactSet:
        """Facts of the stratum that are explicit no more."""
        if not self.loses:
            return self.engine.none()
        return self.engine.collect(self.removed, stratum.relations)

    def came(self, stratum: Stratum) -> FactSet:
        """Facts of the stratum that are explicit now."""
        if self.only_takes:
            return self.engine.none()
        return self.engine.collect(self.given, stratum.relations)

    def clock(self) -> float:
        """Seconds of this thread's work, but for what stays: indexes, and counters that are new."""
        return time.thread_time() - self.engine.lasting - self.lasting

    def round(self) -> bool:
        """A search goes on, and has changed nothing so far; `Spent` if it has taken too long."""
        self.glance()
        self.watch.round()
        if self.clock() > self.deadline:
            raise Spent
        return True

    def glance(self) -> None:
        """Between two steps, the next update may be looked for."""
        if self.marks is not None:
            self.marks.glance(self)

    def applied(self, kind: str, facts: int) -> None:
        """Rule applications, as the papers on marking count them: facts that they found."""
        if self.marks is not None:
            self.report.marks[kind] += facts

    def note(self, name: str) -> None:
        """The instances considered since the last note are of this kind."""
        now = self.engine.instances
        self.work.numbers[name] += now - self._noted
        self._noted = now

    def net(self, D: FactSet, A: FactSet) -> None:
        """The stratum is done: these of its facts went and came."""
        for mine, theirs in ((D, self.D), (A, self.A)):
            if mine:
                theirs |= mine
                self.changed += self.engine.relations(mine)
        self.work.deleted, self.work.added = len(D), len(A)

    def begin(self, work: Work) -> None:
        self.work = work
        self.changed = []
        self._noted = self.engine.instances


# What brings one stratum up to date, with the rules that just went from it and came to it.
# The stratum's rules are those that hold now.
Algorithm = Callable[[Update, Stratum, Sequence[Rule], Sequence[Rule]], None]


class WholeAlgorithm(Protocol):
    """What brings all strata up to date at once."""

    @property
    def name(self) -> str: ...

    def maintain(
        self, u: Update, strata: Sequence[Stratum], gone: Sequence[Rule], come: Sequence[Rule]
    ) -> None: ...


def update(
    u: Update,
    strata: Sequence[Stratum],
    stratum_of: Mapping[str, int],
    readers: Mapping[str, Iterable[str]],
    gone: Sequence[Rule],
    come: Sequence[Rule],
    choose: Algorithm | WholeAlgorithm,
) -> None:
    """Bring I up to date with E and the rules; D and A say what that changed.

    `readers` has, for each relation, the heads of rules that read it. Only strata that
    the change reaches are visited.
    """
    if not callable(choose):
        choose.maintain(u, strata, gone, come)
        return
    u.memory.circuit = None
    went, came = _by_stratum(gone, stratum_of), _by_stratum(come, stratum_of)
    asked = {stratum_of[name] for name in u._explicit}
    plain = sorted(at for at in asked if strata[at].given and at not in went)
    queued = asked.union(went, came).difference(plain)
    todo = list(queued)
    heapify(todo)

    def visit(relations: Iterable[str]) -> None:
        for name in relations:
            for head in readers.get(name, ()):
                at = stratum_of[head]
                if at not in queued:
                    queued.add(at)
                    heappush(todo, at)

    if plain:
        visit(_take_inputs(u, tuple(name for at in plain for name in strata[at].relations)))
    while todo:
        at = heappop(todo)
        way = _from_scratch if strata[at].thinned else choose
        _bring(u, strata[at], way, went.get(at, ()), came.get(at, ()))
        visit(u.changed)


def everything(u: Update, strata: Sequence[Stratum], gone: Sequence[Rule]) -> None:
    """All strata from scratch, for an algorithm that takes them at once and cannot take these."""
    lose = {rule.head.relation for rule in gone}
    for stratum in strata:
        if stratum.given and lose.isdisjoint(stratum.relations):
            _take_inputs(u, stratum.relations)
        else:
            _bring(u, stratum, _from_scratch, (), ())


def _bring(
    u: Update, stratum: Stratum, way: Algorithm, gone: Sequence[Rule], come: Sequence[Rule]
) -> None:
    """Bring one stratum up to date in this way, and report what that took."""
    u.watch.stratum(stratum)
    began, instances = time.perf_counter(), u.engine.instances
    u.begin(Work(stratum.relations))
    way(u, stratum, gone, come)
    u.work.seconds = time.perf_counter() - began
    u.work.instances = u.engine.instances - instances
    u.report.works.append(u.work)


def _from_scratch(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """No algorithm can tell which facts come back when one goes that kept them out."""
    from tidelog.maintain import recompute

    recompute.maintain(u, stratum, gone, come)
    u.work.why = THINNED


def _take_inputs(u: Update, relations: tuple[str, ...]) -> list[str]:
    """Relations without rules hold what is explicit."""
    began = time.perf_counter()
    u.begin(Work(relations, "input"))
    D = u.engine.collect(u.removed, relations) if u.loses else u.engine.none()
    A = u.engine.collect(u.given, relations) if len(D) < len(u.X) else u.engine.none()
    u.I -= D
    u.I |= A
    u.net(D, A)
    u.work.seconds = time.perf_counter() - began
    u.report.works.append(u.work)
    return u.changed


def _by_stratum(rules: Iterable[Rule], stratum_of: Mapping[str, int]) -> dict[int, list[Rule]]:
    found: dict[int, list[Rule]] = {}
    for rule in rules:
        found.setdefault(stratum_of[rule.head.relation], []).append(rule)
    return found
