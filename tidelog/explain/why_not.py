"""Why a fact does not hold: how far each rule gets, and what would repair it.

Repairs are found by leaving parts of rules out: where all other parts match, the part that is left
out says which fact to insert, or to delete under a negation. A fact of a derived relation is
inserted by repairs of its own. Every repair is tried in a transaction that is rolled back.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidelog.control.limits import LimitWatch
from tidelog.explain.absence import Attempt, WhyNot
from tidelog.explain.clauses import Clauses
from tidelog.explain.goals import asking, fact_of
from tidelog.explain.matches import Partial
from tidelog.explain.premises import Premises
from tidelog.explain.probes import IdFact, Probes, RuleMatch
from tidelog.explain.trials import makes
from tidelog.explain.why import Explainer, ProofBounds, stopped
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import LimitError, TidelogError, plural
from tidelog.program.proof_steps import Absent, Explicit, GroundFact
from tidelog.program.rules import BodyLiteral, Group, Literal, Rule
from tidelog.program.syntax import Constant, Variable, Wildcard
from tidelog.text.writer import to_text, value_text
from tidelog.transaction.core import Core

DEEP = 3  # relations between a fact and the explicit facts that would derive it
CANDIDATES = 100  # sets of changes that are tried
Repair = frozenset[FactChange]


@dataclass(slots=True)
class _Found:
    attempts: list[Attempt]
    candidates: list[Repair]


def why_not(core: Core, question: str, repairs: int = 3, seconds: float = 10.0) -> WhyNot:
    """Why a fact does not hold, and up to so many repairs."""
    ProofBounds(seconds=seconds).check(max(repairs, 1))
    fact = fact_of(core, question)
    relation = core.state.book.relations[fact.relation]
    if core.store.holds(relation, fact.row):
        raise TidelogError(f"error: {question} holds\n    ask why: the answer is a proof")
    left_out: list[str] = []
    found = _Found([], [])
    try:
        with asking(core, seconds) as (probes, watch):
            diagnosis = Diagnosis(core, probes, watch)
            goal = fact.relation, probes.ids(relation, fact.row)
            found.attempts += diagnosis.attempts(goal)
            derivable = bool(diagnosis.rules(goal))
            if repairs:
                found.candidates += diagnosis.candidates(goal)
    except LimitError as error:
        left_out.append(stopped(error))
        derivable = True
    tried: list[tuple[FactChange, ...]] = []
    try:
        tried = _tried(core, fact, found.candidates, repairs, seconds, left_out)
    except TidelogError as error:  # facts of this program cannot be changed
        left_out.append(f"repairs: {str(error).splitlines()[0].partition('error: ')[2]}")
    return WhyNot(
        fact,
        tuple(found.attempts),
        tuple(tried),
        core.state.book.relations,
        derivable,
        tuple(left_out),
    )


class Diagnosis:
    """Looks for what rules lack."""

    def __init__(self, core: Core, probes: Probes, watch: LimitWatch) -> None:
        book = core.state.book
        self._core = core
        self._probes = probes
        self._explainer = Explainer(core, probes, watch)
        rules: dict[str, list[Rule]] = {}
        for stratum in book.components:
            for rule in stratum.rules:
                rules.setdefault(rule.head.relation, []).append(rule)
        self._clauses = Clauses(book, rules)
        self._premises = Premises(probes, self._clauses, book.relations)
        self._seen: set[IdFact] = set()

    def rules(self, goal: IdFact) -> list[Rule]:
        return self._clauses.rules(goal[0])

    def attempts(self, goal: IdFact) -> Iterator[Attempt]:
        for rule in self.rules(goal):
            partial = Partial(self._probes, rule, goal)
            if not partial.fits():
                continue
            matched, failed = partial.longest()
            way = partial.ways(matched)[0]
            more = self._probes.found - 1
            instance, _ = self._premises.step(way)
            known = self._premises.constants(way)
            rest = [part for i, part in enumerate(rule.body) if i not in (*matched, *failed)]
            yield Attempt(
                instance.rule,
                instance.bindings,
                instance.premises,
                tuple(self._failed(partial, rule, rule.body[i], matched, way) for i in failed),
                tuple(self._premises.text(rule, part, known) for part in rest),
                more,
                instance.at,
            )

    def _failed(
        self,
        partial: Partial,
        rule: Rule,
        part: BodyLiteral,
        matched: Sequence[int],
        way: RuleMatch,
    ) -> str:
        """A part that fails, with values; an aggregate with the value that it has instead."""
        known = self._premises.constants(way)
        text = self._premises.text(rule, part, known)
        if isinstance(part, Literal):
            return text.removesuffix("  absent")
        if not isinstance(part, Group) or part.result.name not in known:
            return text
        free = Variable("%value", kind=part.result.kind)
        body = (*(rule.body[i] for i in matched), replace(part, result=free))
        wanted = to_text(known[part.result.name])
        for found in partial.matching(body, 1):
            value = self._probes.value(free.kind, found.env[free.name])
            return f"{text} = {value_text(value, free.kind)}, not {wanted}"
        return f"{text} = {wanted}"

    # Repairs.

    def candidates(self, goal: IdFact) -> list[Repair]:
        """Sets of changes that may make the goal true, the smallest first; of one size, those of
        different relations in turn."""
        found = sorted(dict.fromkeys(self._repairs(goal, DEEP)), key=_in_order)
        turns = Counter[tuple[str, ...]]()
        keyed: list[tuple[int, int, Repair]] = []
        for repair in found:
            kind = tuple(sorted(f"{change.op}{change.relation}" for change in repair))
            turns[kind] += 1
            keyed.append((len(repair), turns[kind], repair))
        return [repair for *_, repair in sorted(keyed, key=lambda each: each[:2])]

    def _repairs(self, goal: IdFact, depth: int) -> Iterator[Repair]:
        if goal in self._seen:
            return
        self._seen.add(goal)
        rules = self.rules(goal)
        if not rules or (depth < DEEP and self._is_given(goal[0])):
            yield frozenset({FactChange("+", *self._premises.fact(goal))})
        for rule in rules if depth else ():
            partial = Partial(self._probes, rule, goal)
            if not partial.fits():
                continue
            for i, part in enumerate(rule.body):
                for way in partial.without(i) if isinstance(part, Literal) else ():
                    yield from self._of_part(rule, part, way, depth)
            matched, failed = partial.longest()
            if len(failed) > 1 and len(matched) + len(failed) == len(rule.body):
                parts = [rule.body[i] for i in failed]
                for way in partial.ways(matched):
                    yield from self._of_parts(rule, parts, way, depth)

    def _of_parts(
        self, rule: Rule, parts: Sequence[BodyLiteral], way: RuleMatch, depth: int
    ) -> Iterator[Repair]:
        """All parts are repaired, each in the first way that there is."""
        together: set[FactChange] = set()
        for part in parts:
            first = next(self._of_part(rule, part, way, depth), None)
            if first is None:
                return
            together |= first
        yield frozenset(together)

    def _of_part(
        self, rule: Rule, part: BodyLiteral, way: RuleMatch, depth: int
    ) -> Iterator[Repair]:
        """Changes that let a part hold, where the others do."""
        if not isinstance(part, Literal):
            return
        known = self._premises.constants(way)
        if part.negated:
            for absent in self._premises.absent(rule, part, known):
                if isinstance(absent, Absent):
                    yield from self._deletions(absent)
        elif not part.relation.startswith("%"):
            bound = (isinstance(t, Constant) or getattr(t, "name", "") in known for t in part.terms)
            if all(bound):
                fact = part.relation, self._probes.ids_of(part, way.env)
                yield from self._repairs(fact, depth - 1)

    def _deletions(self, absent: Absent) -> Iterator[Repair]:
        """Deletions after which no fact may match: of what the facts that match rest on."""
        gone: set[FactChange] = set()
        for fact in self._matching(absent):
            steps = self._explainer.prove([fact], 1, ProofBounds(nodes=100))
            explicit = [f for f, found in steps.items() if isinstance(found[0], Explicit)]
            changes = [FactChange("-", *leaf) for leaf in explicit]
            yield from (frozenset({change}) for change in changes)
            gone.update(changes[:1])
        if len(gone) > 1:
            yield frozenset(gone)

    def _matching(self, absent: Absent) -> list[GroundFact]:
        """Some facts that match."""
        atom = absent.atom
        terms = tuple(
            Variable(f"v{i}", kind=t.kind) if isinstance(t, Wildcard) else t
            for i, t in enumerate(atom.terms)
        )
        literal = Literal(atom.relation, terms)  # type: ignore[arg-type]
        goal = Literal("%any", ())
        found = self._probes.matches([(Rule(literal, (literal,)), goal)], {"%any": [()]}, most=5)
        facts = (self._probes.ids_of(literal, match.env) for match in found)
        return [self._premises.fact((atom.relation, row)) for row in facts]

    def _is_given(self, relation: str) -> bool:
        """Has the relation explicit facts?"""
        engine = self._core.store
        return bool(engine.collect(engine.explicit, (relation,)))


def _in_order(repair: Repair) -> list[str]:
    return sorted(map(repr, repair))


def _tried(
    core: Core,
    fact: GroundFact,
    candidates: Sequence[Repair],
    wanted: int,
    seconds: float,
    left_out: list[str],
) -> list[tuple[FactChange, ...]]:
    """The candidates that make the fact true, without what they do not need."""
    found: list[Repair] = []
    end = math.inf
    for i, candidate in enumerate(candidates):
        if i == 1:  # the first trial may compile kernels
            end = time.monotonic() + seconds
        if len(found) >= wanted:
            break
        if i >= CANDIDATES or time.monotonic() > end:
            left_out.append(f"{plural(len(candidates) - i, 'possible repair')} not tried")
            break
        if any(known <= candidate for known in found) or not repaired(core, fact, candidate):
            continue
        for change in sorted(candidate, key=repr):
            if len(candidate) > 1 and repaired(core, fact, candidate - {change}):
                candidate -= {change}
        if candidate not in found:
            found.append(candidate)
    return [tuple(sorted(each, key=repr)) for each in sorted(found, key=len)]


def repaired(core: Core, fact: GroundFact, changes: Repair) -> bool:
    """Does the fact hold after these changes? They are rolled back."""
    return bool(makes(core, changes, FactChange("+", *fact)))
