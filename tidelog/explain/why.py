"""Why facts hold: the search, and what is shown of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.control.limits import LimitWatch
from tidelog.explain.clauses import Clauses
from tidelog.explain.goals import asking, goals_of
from tidelog.explain.height_search import RankedSearch, Search, TooWide
from tidelog.explain.paths import Paths, closed_strata
from tidelog.explain.premises import Premises
from tidelog.explain.probes import MOST, IdFact, Probes
from tidelog.explain.proof import Proof
from tidelog.explain.ranks import Ranks, below
from tidelog.program.diagnostics import LimitError, TidelogError, plural
from tidelog.program.proof_steps import Explicit, GroundFact, Open, Path, PathLink, Step
from tidelog.program.rules import Rule
from tidelog.transaction.core import Core

LOST = "it was derived from facts that subsumption, choice or a limit has left out since"
MANY = f"more than {plural(MOST, 'rule instance')} to look at"


@dataclass(frozen=True)
class ProofBounds:
    """How much of a proof is shown, and how long it is looked for."""

    depth: int = 1000
    nodes: int = 1000
    seconds: float = 10.0

    def check(self, n: int) -> None:
        """TidelogError if one of them is no bound."""
        whole = {"depth": self.depth, "nodes": self.nodes, "n": n}
        for name, value in whole.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise TidelogError(f"error: {name} must be a whole number above 0, got {value!r}")
        if not isinstance(self.seconds, int | float) or not self.seconds >= 0:
            raise TidelogError(
                f"error: seconds must be a number of at least 0, got {self.seconds!r}"
            )


class Explainer:
    """Explains facts of one database, in a block; nothing is kept afterwards."""

    def __init__(self, core: Core, probes: Probes, watch: LimitWatch) -> None:
        book, memory = core.state.book, core.state.memory
        self._probes = probes
        self._watch = watch
        self._relations = book.relations
        strata = book.components
        self._closed = closed_strata(strata, probes.engine, memory)
        rules: dict[str, list[Rule]] = {}
        for stratum in strata:
            closed = stratum.relations[0] in self._closed
            for rule in stratum.nonrecursive if closed else stratum.rules:
                rules.setdefault(rule.head.relation, []).append(rule)
        self._rules, self._memory = rules, memory
        self._clauses = Clauses(book, rules)
        self._premises = Premises(probes, self._clauses, book.relations)
        self._paths: dict[str, Paths] = {}
        self.minimal = True
        self.left_out: list[str] = []

    def prove(
        self, goals: Sequence[GroundFact], n: int, bounds: ProofBounds
    ) -> dict[GroundFact, tuple[Step, ...]]:
        """The steps of the goals, of what they need, and so on; `n` for a goal that is alone."""
        batch = [(f.relation, self._probes.ids(self._relations[f.relation], f.row)) for f in goals]
        shown = _Shown(bounds, dict.fromkeys(batch, 0))
        avoided = batch[0] if n > 1 else None
        try:
            while batch:
                search = self._searched(batch, n, avoided)
                self.minimal &= search.complete
                batch = self._assemble(search, batch, n, shown)
                avoided, n = None, 1
        except LimitError as error:
            self._stopped(shown, stopped(error))
        self.left_out += shown.reasons
        self.minimal &= not shown.reasons
        return {self._premises.fact(fact): found for fact, found in shown.steps.items()}

    def _searched(self, goals: Sequence[IdFact], n: int, avoided: IdFact | None) -> Search:
        """A search that has found the goals: backwards, or by heights if that is too wide."""
        ranks: Ranks | None = self._memory.ranks
        names = {name for name, _ in goals}
        if ranks is None or not names <= ranks.relations:
            search = Search(self._probes, self._clauses, self._closed, self._check, avoided)
            try:
                search.run(goals, n)
                return search
            except TooWide:
                ranks = self._ranked(names)
        found = RankedSearch(self._probes, self._clauses, self._closed, self._check, ranks, avoided)
        found.run(goals, n)
        return found

    def _ranked(self, names: Iterable[str]) -> Ranks:
        """The heights of facts of these relations, and of those that they depend on."""
        rules = below(self._rules, names)
        ranks = self._memory.ranks = Ranks(self._probes.engine, rules, self._closed.keys())
        return ranks

    def _check(self) -> None:
        self._watch.tick(None)

    def _stopped(self, shown: _Shown, why: str) -> None:
        for fact in shown.levels.keys() - shown.steps.keys():
            shown.leave_out(fact, why)

    def _assemble(
        self, search: Search, batch: Sequence[IdFact], n: int, shown: _Shown
    ) -> list[IdFact]:
        """Add what the search has found for a batch; returns facts that paths and aggregates
        need, which it did not look for."""
        more: dict[IdFact, None] = {}
        queue = deque(batch)
        while queue:
            fact = queue.popleft()
            if fact in shown.steps or shown.is_too_much(fact):
                continue
            steps: list[Step] = [Explicit()] if fact in search.explicit else []
            for node in search.proved(fact)[: n - len(steps)]:
                step, facts = self._premises.step(node.match)
                steps.append(step)
                shown.below(fact, (*node.premises, *facts))
                queue.extend(node.premises)
                more.update(dict.fromkeys(facts))
            if fact in search.connected and not steps:
                steps, facts = self._path(fact)
                shown.below(fact, facts)
                more.update(dict.fromkeys(facts))
            if not steps:
                shown.leave_out(fact, LOST if search.complete else MANY)
                continue
            shown.steps[fact] = tuple(steps)
            n = 1  # below the goal
        return [fact for fact in more if fact not in shown.steps]

    def _path(self, fact: IdFact) -> tuple[list[Step], list[IdFact]]:
        self.minimal = False
        closed = self._closed[fact[0]]
        closure = closed.closure
        if closure.relation not in self._paths:
            kind = self._relations[closure.relation].kinds[0]
            self._paths[closure.relation] = Paths(self._probes, closed, kind)
        edges = self._paths[closure.relation].shortest(fact, self._check)
        if not edges:
            return [], []
        links = tuple(PathLink(self._premises.fact(edge.fact), edge.swapped) for edge in edges)
        path = Path(str(closure), links, fact[0] == closure.inverse)
        return [path], [edge.fact for edge in edges]


@dataclass(slots=True)
class _Shown:
    """The steps so far, within bounds."""

    bounds: ProofBounds
    levels: dict[IdFact, int]  # below the goals, of facts that were met
    steps: dict[IdFact, tuple[Step, ...]] = field(default_factory=dict)
    reasons: dict[str, None] = field(default_factory=dict)

    def below(self, fact: IdFact, facts: Iterable[IdFact]) -> None:
        for each in facts:
            self.levels.setdefault(each, self.levels[fact] + 1)

    def is_too_much(self, fact: IdFact) -> bool:
        """Leave out what is beyond the bounds."""
        if len(self.steps) >= self.bounds.nodes:
            self.leave_out(fact, f"more than {plural(self.bounds.nodes, 'fact')}: set by nodes=")
        elif self.levels[fact] > self.bounds.depth:
            self.leave_out(fact, f"more than {plural(self.bounds.depth, 'level')}: set by depth=")
        return fact in self.steps

    def leave_out(self, fact: IdFact, why: str) -> None:
        self.steps[fact] = (Open(why),)
        self.reasons[why] = None


def stopped(error: LimitError) -> str:
    """What a limit has left out, of time or of memory."""
    return f"the search {str(error).splitlines()[0].removeprefix('error: ')}"


def why(core: Core, question: str, n: int = 1, bounds: ProofBounds | None = None) -> Proof:
    """Why a fact holds, or all answers of a query."""
    bounds = bounds or ProofBounds()
    bounds.check(n)
    with asking(core, bounds.seconds) as (probes, watch):
        asked = goals_of(core, question, bounds.nodes)
        if n > 1 and len(asked.facts) > 1:
            raise TidelogError(
                "error: alternatives are found for one fact at a time, "
                f"and the query has {plural(len(asked.facts), 'fact')}\n    ask for one of them"
            )
        explainer = Explainer(core, probes, watch)
        steps = explainer.prove(asked.facts, n, bounds)
    return Proof(
        asked.facts,
        steps,
        core.state.book.relations,
        explainer.minimal,
        (*asked.left_out, *explainer.left_out),
    )
