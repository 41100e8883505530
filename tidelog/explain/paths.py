"""Shortest paths, which explain the facts of closures.

A closure that is all the recursion of its stratum has an algorithm of its own, and its facts an
explanation of their own: the facts that connect the first column to the second, instead of a step
for each pair on the way. Those are facts of the closed relation that are explicit or derived
without recursion, or facts of the base of a linear closure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.engine import Store
from tidelog.explain.probes import IdFact, Probes
from tidelog.maintain.memory import Memory
from tidelog.plan.closures import Closure, paired
from tidelog.program.rules import Literal, Rule, Stratum
from tidelog.program.syntax import Kind, Variable


@dataclass(frozen=True, slots=True)
class ClosedStratum:
    """A stratum whose recursion is one closure."""

    closure: Closure
    seeds: tuple[Rule, ...]  # its rules without recursion


def closed_strata(
    strata: Sequence[Stratum], engine: Store, memory: Memory
) -> dict[str, ClosedStratum]:
    """By relation, the strata whose facts have paths."""
    found: dict[str, ClosedStratum] = {}
    for stratum in strata if memory.modules is True else ():
        if not stratum.recursive or stratum.pruned:
            continue
        modules = memory.once(paired, stratum)
        if modules.generic or len(modules.own) != 1 or len(modules.closures) != 1:
            continue
        closure = modules.own[0]
        if closure.base is not None and engine.collect(engine.explicit, closure.relations):
            continue  # a path could begin with one of these, and it is not a fact of the base
        for name in closure.relations:
            found[name] = ClosedStratum(closure, stratum.nonrecursive)
    return found


class PathEdge(NamedTuple):
    """A fact, and whether a path takes it from its second column to its first."""

    fact: IdFact
    swapped: bool

    @property
    def source(self) -> int:
        return self.fact[1][self.swapped]

    @property
    def target(self) -> int:
        return self.fact[1][not self.swapped]


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """A rule whose heads are edges, from the second column to the first if `swapped`."""

    rule: Rule
    swapped: bool

    def asked(self, forwards: bool) -> tuple[Rule, Literal]:
        """The edges that begin in a node, or those that end there."""
        head = self.rule.head
        column = self.swapped if forwards else not self.swapped
        return self.rule, Literal(f"%node:{head.relation}:{column:d}", (head.terms[column],))


class Paths:
    """Shortest paths of one closure."""

    def __init__(self, probes: Probes, stratum: ClosedStratum, kind: Kind) -> None:
        self._probes = probes
        self._closure = closure = stratum.closure
        turned = [(closure.relation, False)]
        if closure.kind == "symmetric-transitive":
            turned.append((closure.relation, True))
        if closure.inverse is not None:
            turned.append((closure.inverse, True))
        explicit = [EdgeSource(_copy(name, kind), swapped) for name, swapped in turned]
        derived = [
            EdgeSource(rule, swapped)
            for name, swapped in turned
            for rule in stratum.seeds
            if rule.head.relation == name
        ]
        if closure.base is not None:
            explicit, derived = [], [EdgeSource(_copy(closure.base, kind), closure.swapped)]
        self._explicit, self._derived = explicit, derived

    def shortest(self, fact: IdFact, check: Callable[[], None]) -> list[PathEdge]:
        """The edges of a shortest path that explains a fact of the closure.

        Whole levels are searched from both ends, the smaller one next, until they meet.
        """
        name, (start, end) = fact
        if name == self._closure.inverse:
            start, end = end, start
        into: dict[int, PathEdge] = {}  # by node, the edge by which it is reached from the start
        out: dict[int, PathEdge] = {}  # and the one by which it leads to the end
        ahead, behind = {start}, {end}
        meeting: set[int] = set()
        forwards = False
        while not meeting and ahead and behind:
            check()
            if forwards:
                ahead = self._step(ahead, into, True, {start})
                meeting = ahead & out.keys()
            else:
                behind = self._step(behind, out, False, set())
                meeting = {node for node in behind if node == start or node in into}
            forwards = len(ahead) <= len(behind)
        if not meeting:
            return []
        middle = at = min(meeting)
        path: list[PathEdge] = []
        while at != start:
            path.append(into[at])
            at = path[-1].source
        path.reverse()
        at = middle
        while True:  # at least one edge leads to the end, even from the end itself
            path.append(out[at])
            at = path[-1].target
            if at == end:
                return path

    def _step(
        self, N: set[int], known: dict[int, PathEdge], forwards: bool, apart: set[int]
    ) -> set[int]:
        """Note the edges to the next level, and return its nodes."""
        reached: dict[int, PathEdge] = {}
        for edge in self._edges(N, forwards):
            node = edge.target if forwards else edge.source
            new = node not in known and node not in apart
            if new and (node not in reached or edge < reached[node]):
                reached[node] = edge
        known |= reached
        return set(reached)

    def _edges(self, N: set[int], forwards: bool) -> Iterator[PathEdge]:
        """The edges that begin in N, or end there."""
        yield from self._found(self._derived, N, forwards)
        if self._explicit:
            yield from self._found(self._explicit, N, forwards, frozenset(self._closure.relations))

    def _found(
        self,
        sources: Sequence[EdgeSource],
        N: set[int],
        forwards: bool,
        explicit: frozenset[str] = frozenset(),
    ) -> Iterator[PathEdge]:
        asked = [source.asked(forwards) for source in sources]
        goals = {goal.relation: [(x,) for x in sorted(N)] for _, goal in asked}
        read = [self._probes.reader(source.rule.head) for source in sources]
        for match in self._probes.matches(asked, goals, explicit):
            fact = match.rule.head.relation, read[match.order](match.env)
            yield PathEdge(fact, sources[match.order].swapped)


def _copy(relation: str, kind: Kind) -> Rule:
    terms = Variable("x", kind=kind), Variable("y", kind=kind)
    return Rule(Literal(relation, terms), (Literal(relation, terms),))
