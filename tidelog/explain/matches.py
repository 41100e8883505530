"""The longest matches of a rule's body: which of its parts hold together, for a given head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.explain.probes import IdFact, Probes, RuleMatch
from tidelog.plan.core_body import (
    Item,
    bound_in,
    constraint_item,
    group_item,
    literal_item,
    range_item,
)
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.program.formula_walk import everything, names_of, terms_of
from tidelog.program.rules import BodyLiteral, Constraint, Group, Literal, Rule
from tidelog.program.syntax import Call

WAYS = 20  # matches of one set of parts that are looked at


class Partial:
    """Evaluates some parts of a rule's body, for one head."""

    def __init__(self, probes: Probes, rule: Rule, head: IdFact) -> None:
        self._probes = probes
        self._rule = rule
        self._head = head
        self._items = [_item(rule, part) for part in rule.body]
        self._numbering = {i for i, part in enumerate(rule.body) if _numbers(part)}
        self._given = literal_item(replace(rule.head, negated=False))

    def fits(self) -> bool:
        """Is the fact of the form of the rule's head?"""
        return bool(self.ways([]))

    def ways(self, parts: Sequence[int], most: int = WAYS) -> list[RuleMatch]:
        """Some matches of these parts, which must be evaluable."""
        body = tuple(self._rule.body[i] for i in sorted(parts))
        return self.matching(body, most)

    def matching(self, body: tuple[BodyLiteral, ...], most: int) -> list[RuleMatch]:
        rule = replace(self._rule, body=body)
        name, row = self._head
        goal = Literal(f"%goal:{name}", rule.head.terms)
        try:
            found = self._probes.matches([(rule, goal)], {goal.relation: [row]}, most=most)
        except LimitError:
            raise
        except EvaluationError:  # a part that is left out would have kept a value away
            return []
        return [RuleMatch(self._rule, match.rule, match.env, 0) for match in found]

    def evaluable(self, parts: Iterable[int]) -> bool:
        """Do these parts bind all that they need? `autoinc()` numbers whole instances only."""
        parts = list(parts)
        if len(parts) < len(self._items) and not self._numbering.isdisjoint(parts):
            return False
        items = [self._given, *(self._items[i] for i in parts)]
        bound = bound_in(items)
        return all(item.uses <= bound for item in items)

    def longest(self) -> tuple[list[int], list[int]]:
        """As many parts as hold together, in about the order of the rule, and those that fail with
        them; all others depend on what fails."""
        matched: list[int] = []
        failed: list[int] = []
        left = list(range(len(self._rule.body)))
        while True:
            ready = [i for i in left if self.evaluable([*matched, i])]
            if not ready:
                return matched, failed
            i = min(ready, key=self._rank)
            left.remove(i)
            holds = self.ways([*matched, i], 1)
            (matched if holds else failed).append(i)

    def _rank(self, i: int) -> tuple[bool, bool, int]:
        """Tests come first, then facts, then what can fail with an error."""
        return self._items[i].risky, _reads(self._rule.body[i]), i

    def without(self, i: int) -> list[RuleMatch]:
        """Matches of all parts but this one, if they can be matched."""
        rest = [j for j in range(len(self._rule.body)) if j != i]
        return self.ways(rest) if self.evaluable(rest) else []


def _numbers(part: BodyLiteral) -> bool:
    nodes = everything(*terms_of(part))
    return any(isinstance(node, Call) and node.functor == "autoinc" for node in nodes)


def _reads(part: BodyLiteral) -> bool:
    return isinstance(part, Literal) and not part.negated


def _item(rule: Rule, part: BodyLiteral) -> Item:
    if isinstance(part, Literal):
        return literal_item(part)
    if isinstance(part, Constraint):
        return constraint_item(part)
    if isinstance(part, Group):
        others = [each for each in (rule.head, *rule.body) if each is not part]
        outside = frozenset[str]().union(*map(names_of, others))
        terms = names_of(part) - {part.result.name}
        return group_item(part, frozenset(terms & outside))
    return range_item(part)
