"""An update: what a maintenance algorithm is given, and what it reports to.

# E explicit facts, as they are now     I materialisation     X explicit facts that changed
# D, A facts that were deleted and inserted, net, of the strata done so far

While a stratum is worked on, I is new below it and old from it on, and D and A hold
nothing of it. So the new state is I and the old one (I - A) | D, for all lower facts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.engine import Engine, FactSet, View
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report, Work
from tidelog.maintain.seminaive import Watch
from tidelog.program.rules import Rule, Stratum

UNMAINTAINED = "subsumption and choice are not maintained"


class Spent(Exception):
    """A search takes longer, or deletes more facts, than it may."""


@dataclass(slots=True)
class Context:
    """What algorithms work with, whatever has changed: facts, memory, limits and the report."""

    engine: Engine
    E: FactSet
    I: FactSet
    watch: Watch
    memory: Memory
    report: Report = field(default_factory=Report, kw_only=True)
    work: Work = field(default_factory=lambda: Work(()), kw_only=True)
    # Of a search that can be given up: when, by `clock`, and how many facts it may delete.
    deadline: float = field(default=math.inf, kw_only=True)
    most: float = field(default=math.inf, kw_only=True)
    lasting: float = field(default=0.0, kw_only=True)  # seconds spent on what later updates use
    _noted: int = field(default=0, kw_only=True)

    def begin(self, work: Work) -> None:
        self.work = work
        self._noted = self.engine.instances

    def clock(self) -> float:
        """Seconds of this thread's work, without what stays: indexes, and counters that are new."""
        return time.thread_time() - self.engine.lasting - self.lasting

    def round(self) -> bool:
        """Continue a search that has changed nothing so far; `Spent` if it takes too long."""
        self.watch.round()
        if self.clock() > self.deadline:
            raise Spent
        return True

    def deletes(self, facts: float) -> None:
        """A search that has changed nothing so far has found this many facts to delete; `Spent` if
        they are too many."""
        if facts > self.most:
            raise Spent

    def note(self, name: str) -> None:
        """Count the instances considered since the last note as of this kind."""
        now = self.engine.instances
        self.work.numbers[name] += now - self._noted
        self._noted = now

    def noted(self, instances: Mapping[str, int]) -> None:
        """Instances considered since the last note were of these kinds."""
        self.work.numbers.update(instances)
        self._noted = self.engine.instances


@dataclass(frozen=True, slots=True)
class StratumChange:
    """What a stratum has to follow: lower facts inserted and deleted, net, and facts of its own
    that have become explicit or ceased to be."""

    inserted: FactSet
    deleted: FactSet
    explicit: FactSet

    def before(self, I: View) -> View:
        """The facts of I, which has followed the change below the stratum, before it."""
        return (I - self.inserted) | self.deleted

    def explicit_before(self, E: View) -> View:
        """Facts that were explicit before the change, and others outside the stratum."""
        return (E - self.explicit) | (self.explicit - E)


@dataclass(slots=True)
class Update(Context):
    """One update under way. To give it up: `I -= A; I |= D`, then the same for E, and
    `memory.settle(undone=True)`."""

    X: FactSet
    D: FactSet
    A: FactSet
    changed: list[str] = field(default_factory=list)  # relations, by the stratum at work
    only_inserts: bool = False  # is it known that all of X is explicit now?
    only_deletes: bool = False  # or that none of it is?
    explicit_relations: frozenset[str] = field(init=False)  # those that X has facts of
    _loses: bool | None = field(init=False)

    def __post_init__(self) -> None:
        self.note_explicit()

    def note_explicit(self) -> None:
        """X has other facts than before: note what is known of them."""
        self.explicit_relations = frozenset(self.engine.relations(self.X))
        self._loses = None

    @property
    def change(self) -> StratumChange:
        """What the stratum at work has to follow."""
        return StratumChange(inserted=self.A, deleted=self.D, explicit=self.X)

    @property
    def old(self) -> View:
        """All facts before the update, as far as strata are done or at work."""
        return self.change.before(self.I)

    @property
    def loses(self) -> bool:
        """Have facts ceased to be explicit?"""
        if self._loses is None:
            known = self.only_inserts or self.only_deletes
            lost = self.X if known else self.engine.some(self.X - self.E, 1)
            self._loses = not self.only_inserts and bool(lost)
        return self._loses

    @property
    def deleted(self) -> View:
        """Those of X that have ceased to be explicit, of an update that loses some."""
        return self.X if self.only_deletes else self.X - self.E

    @property
    def inserted(self) -> View:
        """Those of X that have become explicit."""
        return self.X & self.E if self.loses else self.X

    def touches(self, stratum: Stratum) -> bool:
        """Does X have facts of the stratum?"""
        return not self.explicit_relations.isdisjoint(stratum.relations)

    def explicit_deleted(self, stratum: Stratum) -> FactSet:
        """Facts of the stratum that have ceased to be explicit."""
        if not self.loses:
            return self.engine.none()
        return self.engine.collect(self.deleted, stratum.relations)

    def explicit_inserted(self, stratum: Stratum) -> FactSet:
        """Facts of the stratum that have become explicit."""
        if self.only_deletes:
            return self.engine.none()
        return self.engine.collect(self.inserted, stratum.relations)

    @contextmanager
    def anew(self, stratum: Stratum) -> Iterator[None]:
        """The stratum is derived from scratch in the block, which begins with I having only its
        explicit facts. What that deletes and inserts is counted as `apply`."""
        D = self.explicit_deleted(stratum)
        # Facts outside I have joins look at the set of every fact.
        lost = self.engine.save(D)
        self.X -= D
        del D
        try:
            taken = self.engine.take(stratum.relations)
            yield
            self.note("apply")
            self.net(*self.engine.compare(taken))
        finally:
            self.X |= self.engine.hold(lost)

    def net(self, D: FactSet, A: FactSet) -> None:
        """The stratum is done: these of its facts were deleted and inserted."""
        for mine, theirs in ((D, self.D), (A, self.A)):
            if mine:
                theirs |= mine
                self.changed += self.engine.relations(mine)
        self.work.deleted, self.work.added = len(D), len(A)

    def begin(self, work: Work) -> None:
        Context.begin(self, work)  # `super()` fails: with slots, a dataclass is a new class
        self.changed = []


# What brings one stratum up to date, with the rules that were just removed from it and added to it.
# The stratum's rules are those that hold now.
Algorithm = Callable[[Update, Stratum, Sequence[Rule], Sequence[Rule]], None]


class WholeAlgorithm(Protocol):
    """What brings all strata up to date at once."""

    @property
    def name(self) -> str: ...

    def refusal(self, strata: Sequence[Stratum], removed: Sequence[Rule]) -> str:
        """Why it cannot maintain these strata, from which rules have been removed; empty if it
        can."""

    def maintain(
        self, u: Update, strata: Sequence[Stratum], removed: Sequence[Rule], added: Sequence[Rule]
    ) -> None: ...


def refuses_pruning(strata: Sequence[Stratum]) -> str:
    """The refusal of an algorithm that can maintain everything else."""
    return UNMAINTAINED if any(stratum.pruned for stratum in strata) else ""
