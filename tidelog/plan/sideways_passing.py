"""Sideways information passing: in which order the parts of a rule hand values on.

A rule whose head is asked for with some columns bound hands those values from part to part
(Beeri and Ramakrishnan 1991). The order here takes what restricts most first: tests, then
literals with the most bound columns, given relations before derived ones. Negated literals and
aggregates come behind all that, and what can fail comes last: a value that the rule itself would
never compute must not be computed for a demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.program.builtin_functors import BUILTINS, PARTIAL
from tidelog.program.formula_walk import everything, names_of, own_names
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Expression,
    Group,
    Literal,
    Range,
    Rule,
)
from tidelog.program.syntax import Call, Constant, Variable


class PassingStep(NamedTuple):
    """A part, with the variables whose values can be passed to it.

    Of those, the values of `grown` are computed from values that no fact has: handed round in a
    recursion, they might never end.
    """

    part: BodyLiteral
    known: frozenset[str]
    grown: frozenset[str]
    hands_on: bool  # whether what it binds is handed on


def in_order(
    rule: Rule, given: frozenset[str], derived: Callable[[str], bool]
) -> Iterator[PassingStep]:
    """The parts of the rule's body in order, when the variables `given` are bound."""
    sip = _Sideways(rule, given, derived)
    while sip.left:
        yield sip.step()


def _names(terms: tuple[object, ...]) -> frozenset[str]:
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def group_keys(group: Group, rule: Rule) -> frozenset[str]:
    """The variables of an aggregate's atom that occur elsewhere in the rule."""
    others = [names_of(part) for part in rule.body if part is not group]
    around = _names(rule.head.terms).union(*others)
    return _names(group.terms) & around - {group.result.name}


class _Sideways:
    def __init__(self, rule: Rule, given: frozenset[str], derived: Callable[[str], bool]) -> None:
        self.rule = rule
        self.derived = derived
        self.left = list(rule.body)
        self.bound = set(given)  # have a value
        self.known = set(given)  # and hand it on
        self.sure: set[str] = set()  # and some fact or the program's text has it
        self.grown: set[str] = set()

    def step(self) -> PassingStep:
        i = min(range(len(self.left)), key=lambda i: (self.rank(self.left[i]), i))
        part = self.left.pop(i)
        hands_on = self.hands_on(part)
        step = PassingStep(part, frozenset(self.known), frozenset(self.grown), hands_on)
        self.take(part, hands_on)
        return step

    def rank(self, part: BodyLiteral) -> tuple[int, int]:
        """A sort key: the smallest part is next."""
        match part:
            case Literal(negated=False):
                bound = sum(self.fixed(term) for term in part.terms)
                late = self.derived(part.relation)
                return (5 + late if not bound and part.terms else 2 + late, -bound)
            case Literal() | Group():
                keys = names_of(part) if isinstance(part, Literal) else group_keys(part, self.rule)
                return (7 if keys <= self.bound else 11, 0)
            case Constraint() | Range():
                needed = needs(part, self.bound)
                if needed is None:
                    return (10, 0)
                if is_risky(part):
                    return (9, 0)
                if not needed <= self.known:
                    return (8, 0)
                if is_plain(part) or needed == names_of(part) or needed <= self.sure:
                    return (1, 0)
                return (4, 0)

    def fixed(self, term: object) -> bool:
        return isinstance(term, Constant) or (
            isinstance(term, Variable) and term.name in self.known
        )

    def hands_on(self, part: BodyLiteral) -> bool:
        if isinstance(part, Literal):
            return not part.negated
        if isinstance(part, Group) or is_risky(part):
            return False
        needed = needs(part, self.bound)
        return needed is not None and needed <= self.known

    def take(self, part: BodyLiteral, hands_on: bool) -> None:
        names = names_of(part)
        if hands_on:
            new = names - self.known
            if isinstance(part, Literal):
                self.sure |= names
                self.grown -= names
            elif names - new <= self.sure:
                self.sure |= new
            elif not is_plain(part) or names & self.grown:
                self.grown |= new
            self.known |= names
        if isinstance(part, Group):
            names = frozenset({part.result.name})
        self.bound |= names


def needs(part: Constraint | Range, bound: set[str]) -> frozenset[str] | None:
    """The variables whose values the part uses when these are bound; None if it must wait."""
    names = names_of(part)
    missing = names - bound
    if not missing:
        return names
    if isinstance(part, Range):
        return names - missing if missing == {part.variable.name} else None
    for one, other in ((part.left, part.right), (part.right, part.left)):
        alone = isinstance(one, Variable) and missing == {one.name}
        if part.op == "=" and alone and one.name not in own_names(other):  # type: ignore[union-attr]
            return names - missing
    return None


def is_plain(part: BodyLiteral) -> bool:
    """An equation or comparison of variables and constants, which computes nothing."""
    return isinstance(part, Constraint) and all(
        isinstance(side, Variable | Constant) for side in (part.left, part.right)
    )


def is_risky(part: Constraint | Range) -> bool:
    """May its evaluation be an error, or have other effects?"""
    if isinstance(part, Constraint):
        sides: tuple[Expression | None, ...] = (part.left, part.right)
    else:
        sides = (part.start, part.stop, part.step)
    calls = [n.functor for side in sides if side for n in everything(side) if isinstance(n, Call)]
    return any(functor in PARTIAL or functor not in BUILTINS for functor in calls)
