"""Clauses without disjunction: a body as alternatives, each a conjunction of parts.

A variable that only the body of a `min` or `max` binds, though it stands outside as well,
is a witness: `youngest(p, n) :- n = min x : { family(p, x) }.` has all p with the minimum.
As in Soufflé, the aggregate then ranges over all values of p, and its body follows once
more, with the result for its target. A witness of an aggregate inside another one belongs to
the rule, too: there the inner aggregate follows once more, if it depends on nothing that is
local to the outer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tidelog.plan.bound_variables import bound_by
from tidelog.plan.conjunction import Part, Parts
from tidelog.program.formula_walk import (
    Node,
    aggregates,
    all_names,
    has_aggregate,
    own_names,
    parts,
    rebuilt,
)
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Clause,
    Comparison,
    Formula,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.program.terms import is_constructor

MOST = 10_000  # rules that one clause may become: chosen, not measured
MOST_RULES = 100_000  # of all clauses, beyond those that are written
INVERSE = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "match": "!match",
    "contains": "!contains",
}

NOTHING: frozenset[str] = frozenset()


class TooManyAlternatives(Exception):
    """The disjunctions of one clause multiply to more than `MOST`, or they do with its heads."""

    def __init__(self, what: str = "alternatives") -> None:
        self.message = f"the {what} of this clause multiply to more than {MOST:,}"


class Alternative(NamedTuple):
    """One way to satisfy a clause, in which each name is one variable.

    `scope` are the variables outside of aggregates, or nothing if there are no aggregates:
    nobody asks for it then.
    """

    heads: tuple[Atom, ...]
    body: Parts
    scope: Set[str]


def alternatives(clause: Clause) -> list[Alternative]:
    """The clause's alternatives, in the order written.

    Variables that are local to an aggregate get names of their own where the name is
    used outside of it as well, and each `_` of an aggregate becomes such a variable.
    """
    bodies = conjunctions(clause.body)
    heads = clause.heads
    if len(bodies) > 1 and len(heads) * len(bodies) > MOST:  # each pair becomes a rule
        raise TooManyAlternatives("heads and alternatives")
    if not has_aggregate(clause):
        return [Alternative(heads, body, NOTHING) for body in bodies]
    found: list[Alternative] = []
    for body in bodies:
        for alike in _with_same_witnesses(heads, body):
            found += _separate(alike, body)
        if len(found) > MOST:
            raise TooManyAlternatives
    if len(found) > 1 and len(heads) * len(found) > MOST:
        raise TooManyAlternatives("heads and alternatives")
    return found


def conjunctions(formula: Formula) -> list[Parts]:
    """The formula in disjunctive normal form."""
    if isinstance(formula, And) and all(isinstance(p, Atom | Comparison) for p in formula.parts):
        return [formula.parts]  # type: ignore[list-item]
    return _conjunctions(_positive(formula))


def _conjunctions(formula: Formula) -> list[Parts]:
    match formula:
        case Atom() | Comparison() | Not():
            return [(formula,)]
        case Truth(value):
            return [()] if value else []
        case Or(subs):
            found: list[Parts] = []
            for sub in subs:
                found += _conjunctions(sub)
                if len(found) > MOST:
                    raise TooManyAlternatives
            return found
        case And(subs):
            choices = [_conjunctions(sub) for sub in subs]
            if all(len(each) == 1 for each in choices):
                return [tuple([part for each in choices for part in each[0]])]
            found = [()]
            for each in choices:
                if len(found) * len(each) > MOST:
                    raise TooManyAlternatives
                found = [before + after for before in found for after in each]
            return found


def written(name: str) -> str:
    """The name as the program spells it."""
    return name.partition("%")[0]


def is_named_wildcard(variable: Variable) -> bool:
    return variable.name.startswith("_%")


def _with_same_witnesses(heads: tuple[Atom, ...], body: Parts) -> list[tuple[Atom, ...]]:
    """The heads together, or one by one: a witness of one head is no condition of another."""
    if len(heads) == 1:
        return [heads]
    first, *rest = (witnesses((head,), body) for head in heads)
    return [heads] if all(each == first for each in rest) else [(head,) for head in heads]


def _separate(heads: tuple[Atom, ...], body: Parts) -> list[Alternative]:
    visible = own_names(*heads, *body)
    renamer = _Renamer(visible, witnesses(heads, body))
    heads = tuple([renamer.atom(head, renamer.rule) for head in heads])
    body = tuple([renamer.part(part, renamer.rule) for part in body])
    if not renamer.again:
        return [Alternative(heads, body, visible or {""})]  # not empty: there is an aggregate
    whole = And((*body, *renamer.again))
    scope = own_names(*heads, whole)
    return [Alternative(heads, parts, scope) for parts in conjunctions(whole)]


def witnesses(heads: tuple[Atom, ...], body: Parts) -> set[str]:
    """Variables outside of aggregates that only the body of a `min` or `max` binds."""
    bound = bound_by(body, NOTHING)
    unbound = own_names(*heads, *body) - bound
    found: set[str] = set()
    others: set[str] = set()

    def look(nodes: Iterable[Node], around: Set[str], local: Set[str]) -> None:
        """`around` are the names of the aggregates around these, `local` those of only them."""
        for aggregate in aggregates(*nodes):
            here = own_names(aggregate.body)
            targets = own_names(aggregate.target) if aggregate.target else set()
            chooses = aggregate.op in ("min", "max")
            if chooses or not around:
                alone = local.isdisjoint(all_names(aggregate))
                taken = found if chooses and alone else others
                taken.update((here & unbound) - targets - around)
            look(parts(aggregate), around | here | targets, local | targets | (here - bound))

    look((*heads, *body), NOTHING, NOTHING)
    return found - others


class _Names(NamedTuple):
    """Names as they can be seen at a place, and how they are called from now on."""

    visible: set[str]
    new: dict[str, str]
    inside: bool  # an aggregate, under no negation: each `_` is a variable that counts
    depth: int = 0  # aggregates around


class _Renamer:
    def __init__(self, visible: set[str], witnesses: set[str]) -> None:
        self.taken = {"_", *visible}
        self.witnesses = witnesses
        self.rule = _Names(visible, {}, inside=False)
        self.again: list[Formula] = []  # bodies of aggregates with witnesses, and their results

    def atom(self, atom: Atom, names: _Names) -> Atom:
        terms = self.terms(atom.terms, names)
        if names.inside:
            terms = tuple([self.named(term) for term in terms])
        return Atom(atom.relation, terms, atom.at)

    def named(self, term: Term) -> Term:
        if isinstance(term, Call) and is_constructor(term.functor):
            return replace(term, args=tuple([self.named(arg) for arg in term.args]))
        return Variable(self.fresh("_"), term.at, term.kind) if isinstance(term, Wildcard) else term

    def part(self, part: Part, names: _Names) -> Part:
        match part:
            case Atom():
                return self.atom(part, names)
            case Comparison("=", Variable() as result, Aggregate() as aggregate, at) | Comparison(
                "=", Aggregate() as aggregate, Variable() as result, at
            ) if not names.depth:
                return Comparison("=", result, self.aggregate(aggregate, names, result), at)
            case Comparison(op, left, right, at):
                left, right = self.terms((left, right), names)
                return Comparison(op, left, right, at)
            case Not(sub, at):
                return Not(self.formula(sub, names._replace(inside=False)), at)

    def formula(self, formula: Formula, names: _Names) -> Formula:
        if isinstance(formula, And | Or | Truth):
            return rebuilt(formula, partial(self.formula, names=names))
        return self.part(formula, names)

    def terms(self, terms: Sequence[Term], names: _Names) -> tuple[Term, ...]:
        return tuple([self.term(term, names) for term in terms])

    def term(self, term: Term, names: _Names) -> Term:
        match term:
            case Variable(name, at, kind):
                return Variable(names.new[name], at, kind) if name in names.new else term
            case Aggregate():
                return self.aggregate(term, names)
            case _:
                return rebuilt(term, partial(self.term, names=names))

    def aggregate(
        self, aggregate: Aggregate, around: _Names, result: Variable | None = None
    ) -> Term:
        targets = own_names(aggregate.target) if aggregate.target else set()
        here = targets | own_names(aggregate.body)
        witnesses = (here & self.witnesses) - targets - around.new.keys()
        if aggregate.op not in ("min", "max"):
            witnesses = set()
        new = dict(around.new)
        for name in sorted(targets | witnesses | (here - around.visible)):
            new[name] = self.fresh(name)
        names = _Names(around.visible | here, new, inside=True, depth=around.depth + 1)
        target = aggregate.target and self.term(aggregate.target, names)
        body = self.formula(_positive(aggregate.body), names)
        found = Aggregate(aggregate.op, target, body, aggregate.at, aggregate.kind)
        if not witnesses:
            return found
        if around.depth:  # whose witnesses are the rule's
            result = Variable(self.fresh(aggregate.op), aggregate.at, aggregate.kind)
            same = self.aggregate(aggregate, self.rule, result)
            self.again.append(Comparison("=", result, same, aggregate.at))
            return found
        # Those inside share the witnesses, which are none of their own.
        again = names._replace(new=around.new | {name: name for name in witnesses}, inside=False)
        for name in sorted(targets | (here - around.visible)):
            again.new[name] = self.fresh(name)
        if result is None:
            result = Variable(self.fresh(aggregate.op), aggregate.at, aggregate.kind)
            self.again.append(Comparison("=", result, found, aggregate.at))
            self.again.append(self.body_again(aggregate, result, again))
            return result
        self.again.append(self.body_again(aggregate, result, again))
        return found

    def body_again(self, aggregate: Aggregate, result: Variable, names: _Names) -> Formula:
        """What holds for the witnesses: the body, with the result for the target."""
        target = aggregate.target
        assert target is not None, "min and max have one"
        equal: tuple[Formula, ...] = ()
        if isinstance(target, Variable):
            names.new[target.name] = result.name
        else:
            equal = (Comparison("=", self.term(target, names), result, target.at),)
        return And((self.formula(_positive(aggregate.body), names), *equal), aggregate.at)

    def fresh(self, name: str) -> str:
        new, i = name, 1
        while new in self.taken:
            i += 1
            new = f"{name}%{i}"
        self.taken.add(new)
        return new


def _positive(formula: Formula, wanted: bool = True) -> Formula:
    """The formula (its negation unless `wanted`) with negations of atoms only."""
    match formula:
        case Not(part):
            return _positive(part, not wanted)
        case And(subs, at) | Or(subs, at):
            parts = tuple([_positive(sub, wanted) for sub in subs])
            return And(parts, at) if isinstance(formula, And) == wanted else Or(parts, at)
        case Atom():
            return formula if wanted else Not(formula, formula.at)
        case Comparison(op, left, right, at):
            return formula if wanted else Comparison(INVERSE[op], left, right, at)
        case Truth(value, at):
            return Truth(value == wanted, at)
