"""The search for proofs of minimal height.

The height of an explicit fact is 0; that of another one is 1 more than the greatest height of a
premise, in the instance where that is least. Negations and aggregates read what is complete before
the rule, and do not count. Facts that a closure connects through others have a path instead of
instances (`paths`), and count as 1.

The search goes backwards, level by level: from the goals to the facts of their instances' bodies,
to the bodies of those, and so on. All proofs of height d lie within d levels. So when a goal has a
proof of height h after d >= h levels, no proof is lower; and a proof never goes round in a circle,
because heights decrease from each conclusion to its premises.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.explain.clauses import Clauses
from tidelog.explain.probes import IdFact, IdRow, Probes, RuleMatch, by_relation
from tidelog.explain.ranks import UNKNOWN, Ranks
from tidelog.program.rules import Literal

WIDE = 5_000  # facts, after which heights by rounds are faster


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A rule instance in the search: its head follows from its premises."""

    head: IdFact
    premises: tuple[IdFact, ...]
    match: RuleMatch


class TooWide(Exception):
    """The search backwards has met too much."""


class Search:
    """`heights` are those of facts that have been proved so far, within the levels searched."""

    def __init__(
        self,
        probes: Probes,
        clauses: Clauses,
        closed: Collection[str],
        check: Callable[[], None],
        avoided: IdFact | None = None,
    ) -> None:
        """`clauses` have the rules, those of closures without recursion; `closed` are the relations
        of closures. No proof uses the fact `avoided`. `check` may raise to stop the search."""
        self._probes = probes
        self._clauses = clauses
        self._closed = closed
        self._check = check
        self._avoided = avoided
        self.heights: dict[IdFact, int] = {}
        self.explicit: set[IdFact] = set()
        self.connected: set[IdFact] = set()  # facts of closures that no other rule derives
        self.complete = True  # all instances have been read
        self.met: set[IdFact] = set()
        self._nodes: dict[IdFact, list[Node]] = {}
        self._users: dict[IdFact, list[Node]] = {}
        self._readers: dict[int, list[tuple[str, Callable[[Mapping[str, int]], IdRow]]]] = {}

    def height(self, fact: IdFact) -> float:
        return self.heights.get(fact, math.inf)

    def run(self, goals: Sequence[IdFact], alternatives: int = 1) -> None:
        """Find the heights of the goals, and so many instances of each with proofs."""
        N = self._meet(goals)
        if alternatives > 1:
            N = dict.fromkeys((*N, *goals))
        depth = 0
        while N and not all(self._done(goal, depth, alternatives) for goal in goals):
            self._check()
            if len(self.met) > WIDE:
                raise TooWide
            depth += 1
            N = self._expand(N)

    def _done(self, goal: IdFact, depth: int, alternatives: int) -> bool:
        found = self.height(goal) <= depth
        return found and (alternatives == 1 or len(self.proved(goal)) >= alternatives)

    def proved(self, fact: IdFact) -> list[Node]:
        """The instances of a fact whose premises have proofs, the lowest first."""
        ranked = [(self._above(n), n.match.order, n.premises, n) for n in self._nodes.get(fact, ())]
        found = [each for each in ranked if each[0] < math.inf]
        return [node for *_, node in sorted(found, key=lambda each: each[:3])]

    def _above(self, node: Node) -> float:
        """The height of a head by this instance."""
        heights = self.heights
        return 1 + max([heights.get(p, math.inf) for p in node.premises], default=0)

    def _meet(self, facts: Iterable[IdFact]) -> dict[IdFact, None]:
        """Note facts, and return those that must be derived."""
        new = dict.fromkeys(fact for fact in facts if fact not in self.met)
        self.met.update(new)
        engine = self._probes.engine
        explicit = self._probes.among(engine.explicit & engine.all, new)
        self.explicit |= explicit
        for fact in explicit:
            self._lower(fact, 0)
        return {fact: None for fact in new if fact not in explicit}

    def _expand(self, N: Iterable[IdFact]) -> dict[IdFact, None]:
        """Find the instances of facts; returns the premises that must be derived in turn."""
        goals = by_relation(N)
        found = [node for node in self._instances(goals) if self._avoided not in node.premises]
        for node in found:
            self._nodes.setdefault(node.head, []).append(node)
            for premise in dict.fromkeys(node.premises):
                self._users.setdefault(premise, []).append(node)
        for name in goals.keys() & self._closed:
            for row in goals[name]:
                if (name, row) not in self._nodes:
                    self.connected.add((name, row))
                    self._lower((name, row), 1)
        for node in found:
            self._lower(node.head, self._above(node))
        return self._meet(premise for node in found for premise in node.premises)

    def _instances(self, goals: Mapping[str, list[IdRow]]) -> Iterator[Node]:
        probes = self._probes
        asked = [
            (rule, Literal(f"%goal:{name}", rule.head.terms))
            for name in goals
            for rule in self._clauses.rules(name)
        ]
        rows = {f"%goal:{name}": mine for name, mine in goals.items()}
        matches = probes.matches(asked, rows)
        self.complete &= probes.found == len(matches)
        for match in matches:
            (name, head), *premises = self._readers_of(match)
            found = tuple([(relation, read(match.env)) for relation, read in premises])
            yield Node((name, head(match.env)), found, match)

    def _readers_of(
        self, match: RuleMatch
    ) -> list[tuple[str, Callable[[Mapping[str, int]], IdRow]]]:
        """The relations of the head and the premises, and how to read their facts."""
        known = self._readers.get(id(match.rule))
        if known is None:
            literals = (match.rule.head, *self._clauses.premises(match.origin, match.rule))
            known = [(each.relation, self._probes.reader(each)) for each in literals]
            self._readers[id(match.rule)] = known
        return known

    def _lower(self, fact: IdFact, height: float) -> None:
        """The fact has a proof of this height: so do those that it helps to prove."""
        work = deque([(fact, height)])
        while work:
            fact, height = work.popleft()
            if height < self.height(fact):
                self.heights[fact] = int(height)
                users = self._users.get(fact, ())
                work.extend((node.head, self._above(node)) for node in users)


class RankedSearch(Search):
    """The same where the heights of all facts are known: only facts of the proof are expanded."""

    def __init__(
        self,
        probes: Probes,
        clauses: Clauses,
        closed: Collection[str],
        check: Callable[[], None],
        ranks: Ranks,
        avoided: IdFact | None = None,
    ) -> None:
        super().__init__(probes, clauses, closed, check, avoided)
        self._ranks = ranks

    def run(self, goals: Sequence[IdFact], alternatives: int = 1) -> None:
        N = self._meet(goals)
        if alternatives > 1:
            N = dict.fromkeys((*N, *goals))
        seen: set[IdFact] = set()
        while N:
            self._check()
            seen.update(N)
            self._expand(N)
            # Heights of closures count nothing: what rests on them may be lower or not.
            self.complete &= not any(name in self._closed for name, _ in N)
            best = (node for fact in N for node in self.proved(fact)[:alternatives])
            premises = dict.fromkeys(premise for node in best for premise in node.premises)
            N = {p: None for p in premises if p not in seen and p not in self.explicit}
            alternatives = 1

    def proved(self, fact: IdFact) -> list[Node]:
        """Of the fact to be avoided, premises that are not above it: their proofs do without."""
        found = super().proved(fact)
        most = self.heights.get(fact, UNKNOWN) if fact == self._avoided else UNKNOWN
        return [node for node in found if self._above(node) - 1 <= most]

    def _meet(self, facts: Iterable[IdFact]) -> dict[IdFact, None]:
        found = super()._meet(facts)
        for name, rows in by_relation(found).items():
            for row, height in zip(rows, self._ranks.of(name, rows), strict=True):
                if height < UNKNOWN:
                    self.heights[name, row] = height
                elif name in self._closed:
                    self.heights[name, row] = 0
        return found

    def _lower(self, fact: IdFact, height: float) -> None:
        if height < self.height(fact) and (fact in self.explicit or fact in self.connected):
            self.heights[fact] = int(height)
