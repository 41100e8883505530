"""Fully dynamic maintenance (Illich and Glimm 2023, Algorithm 1), one transition at a time.

An update may arrive between any two steps. Its facts become operations add(F) and del(F) in O;
operations are determined (explicitly by an update, implicitly by a rule), cancelled and executed.
This file has what DRed, counting and B/F share; each has a file of its own.

A state is a value, and `moves` lists all moves that are possible in it, including the arrival of
the next update. A scheduler chooses; `explore` tries every choice.

All three rely on these rules, with X = I ∪ {F | add(F) ∈ O}:
  - E is the explicit facts after all updates that have arrived. It says which of add(F) and
    del(F) is cancelled when both are in O, so that no outdated operation wins.
  - An operation stays in O until it has determined all that it can. Facts are therefore in X
    or on their way out, del(F) ∈ O, and rules are matched over X ∪ {F | del(F) ∈ O}.
  - Deletions come from updates and other deletions only, never from additions.
  - Additions of recursive facts (of all, except in counting) wait until no del(F) is left.
    Otherwise a fact could be added again because of one that is about to be deleted: the paper's
    invalid additions, and its endless cycles.
An endless sequence of deletions keeps additions waiting without end; the paper has no answer to
that either, and a system would settle now and then.

# E explicit facts   I materialisation   O operations: `adds` and `dels`   X as above
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact, Facts, Instance, Rules, closure

Set = frozenset[Fact]


class Case(NamedTuple):
    """A program, initial explicit facts, and updates. Any fact may be explicit here."""

    rules: Rules
    start: tuple[Fact, ...]
    updates: tuple[Update, ...]

    def explicit(self, arrived: int) -> set[Fact]:
        """E after this many updates."""
        E = set(self.start)
        for update in self.updates[:arrived]:
            E.difference_update(update.deleted)
            E.update(update.inserted)
        return E


@dataclass(frozen=True, slots=True)
class State:
    arrived: int
    E: Set
    I: Set
    adds: Set
    dels: Set
    memory: Hashable = None

    @property
    def X(self) -> Set:
        return self.I | self.adds


class Move(NamedTuple):
    """`kind` is arrive, determine, cancel or execute; `what` the operation, such as del(a())."""

    kind: str
    what: str
    after: State

    def __repr__(self) -> str:
        return f"{self.kind} {self.what}".rstrip()


Scheduler = Callable[[State, Sequence[Move]], Move]


class Dynamic(ABC):
    """One version of Algorithm 1 on one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        ever = (fact for update in case.updates for fact in update.inserted)
        # Rules are positive, so no other facts and no other instances can occur.
        possible = Facts(closure(case.rules, (*case.start, *ever)))
        self.with_body: dict[Fact, list[Instance]] = {fact: [] for fact in possible}
        self.with_head: dict[Fact, list[Instance]] = {fact: [] for fact in possible}
        for r in sorted(case.rules.instances(possible)):
            self.with_head[r.head].append(r)
            for fact in sorted(set(r.body)):
                self.with_body[fact].append(r)

    def start(self) -> State:
        E = frozenset(self.case.start)
        I = frozenset(closure(self.case.rules, E))
        return State(0, E, I, frozenset(), frozenset(), self.memory(I, E))

    def moves(self, s: State) -> list[Move]:
        """All possible next moves; none at the end."""
        return [*self._arrival(s), *self.deletions(s), *self.additions(s)]

    def _arrival(self, s: State) -> Iterator[Move]:
        """1 i: determine explicitly."""
        if s.arrived < len(self.case.updates):
            update = self.case.updates[s.arrived]
            E = (s.E - frozenset(update.deleted)) | frozenset(update.inserted)
            yield Move("arrive", "", self.settled(self.arrive(replace(s, E=E), update)))

    def arrive(self, s: State, update: Update) -> State:
        return replace(
            s,
            arrived=s.arrived + 1,
            adds=s.adds | frozenset(update.inserted),
            dels=s.dels | frozenset(update.deleted),
        )

    def deletions(self, s: State) -> Iterator[Move]:
        """Steps that bring deletions to their end: determine them, execute them, and cancel."""
        yield from self._cancelled(s)
        for after, what in self.determine_deletions(s):
            yield self._move("determine", f"del({what})", after)
        for fact in sorted((s.dels & s.I) - s.adds):
            yield self._move("execute", f"del({fact})", replace(s, I=s.I - {fact}))

    def additions(self, s: State) -> Iterator[Move]:
        for after, what in self.determine_additions(s):
            yield self._move("determine", f"add({what})", after)
        for fact in sorted(s.adds - s.I - s.dels):
            if not self.waits(s, fact):
                yield self._move("execute", f"add({fact})", replace(s, I=s.I | {fact}))

    def _cancelled(self, s: State) -> Iterator[Move]:
        """2: of add(F) and del(F), cancel the one that F has no reason for."""
        for fact in sorted(s.adds & s.dels):
            if self.is_supported(s, fact):
                yield self._move("cancel", f"del({fact})", replace(s, dels=s.dels - {fact}))
            else:
                yield self._move("cancel", f"add({fact})", replace(s, adds=s.adds - {fact}))

    def _move(self, kind: str, what: str, after: State) -> Move:
        return Move(kind, what, self.settled(after))

    def memory(self, I: Set, E: Set) -> Hashable:
        """What the version remembers in addition, when I is materialised."""
        return None

    def is_supported(self, s: State, fact: Fact) -> bool:
        return fact in s.E

    def waits(self, s: State, fact: Fact) -> bool:
        """Whether the addition of the fact must wait for deletions."""
        return bool(s.dels)

    @abstractmethod
    def determine_deletions(self, s: State) -> Iterable[tuple[State, object]]:
        """1 ii b: what follows, and of what."""

    @abstractmethod
    def determine_additions(self, s: State) -> Iterable[tuple[State, object]]:
        """1 ii a."""

    @abstractmethod
    def settled(self, s: State) -> State:
        """Drop operations that have nothing left to do."""

    def derived(self, s: State) -> list[Fact]:
        """Heads outside X of instances over X with a body fact that is being added."""
        X, found = s.X, dict[Fact, None]()
        for fact in sorted(s.adds):
            for r in self.with_body[fact]:
                if r.head not in X and X.issuperset(r.body):
                    found[r.head] = None
        return list(found)

    def without_spent_additions(self, s: State) -> State:
        """Whether add(F) is done: F is there, and so is everything that it derives."""
        X = s.X
        spent = {
            fact
            for fact in s.adds & s.I
            if all(r.head in X or not X.issuperset(r.body) for r in self.with_body[fact])
        }
        return replace(s, adds=s.adds - spent) if spent else s


def run(version: Dynamic, choose: Scheduler) -> State:
    """One run to its end."""
    s = version.start()
    while moves := version.moves(s):
        s = choose(s, moves).after
    return s
