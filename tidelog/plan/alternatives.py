"""Clauses without disjunction: a body as alternatives, each a conjunction of parts."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from tidelog.plan.walk import clause_nodes, has_aggregate, own_names
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
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

MOST = 10_000
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
Part = Atom | Comparison | Not  # Not of an atom; comparisons are inverted instead
Parts = tuple[Part, ...]


class TooManyAlternatives(Exception):
    """The disjunctions of one clause multiply to more than `MOST`."""


class Alternative(NamedTuple):
    """One way to satisfy a clause. Each variable name stands for one variable.

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
    if not has_aggregate(clause_nodes(clause)):
        return [Alternative(clause.heads, body, NOTHING) for body in bodies]
    return [_separate(clause.heads, body) for body in bodies]


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
    """The name as it stands in the program."""
    return name.partition("%")[0]


def is_named_wildcard(variable: Variable) -> bool:
    return variable.name.startswith("_%")


def _separate(heads: tuple[Atom, ...], body: Parts) -> Alternative:
    visible = own_names(*heads, *body)
    renamer = _Renamer({"_", *visible})
    outermost = _Names(visible, {}, inside=False)
    return Alternative(
        tuple([renamer.atom(head, outermost) for head in heads]),
        tuple([renamer.part(part, outermost) for part in body]),
        visible or {""},  # not empty, since there is an aggregate
    )


class _Names(NamedTuple):
    """Names as they can be seen at a place, and how they are called from now on."""

    visible: set[str]
    new: dict[str, str]
    inside: bool  # an aggregate, under no negation: each `_` is a variable that counts


class _Renamer:
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def atom(self, atom: Atom, names: _Names) -> Atom:
        terms = self.terms(atom.terms, names)
        if names.inside:
            terms = tuple([self.named(term) for term in terms])
        return Atom(atom.relation, terms, atom.at)

    def named(self, term: Term) -> Term:
        return Variable(self.fresh("_"), term.at, term.kind) if isinstance(term, Wildcard) else term

    def part(self, part: Part, names: _Names) -> Part:
        match part:
            case Atom():
                return self.atom(part, names)
            case Comparison(op, left, right, at):
                left, right = self.terms((left, right), names)
                return Comparison(op, left, right, at)
            case Not(sub, at):
                return Not(self.formula(sub, names._replace(inside=False)), at)

    def formula(self, formula: Formula, names: _Names) -> Formula:
        match formula:
            case And(subs, at):
                return And(tuple([self.formula(sub, names) for sub in subs]), at)
            case Or(subs, at):
                return Or(tuple([self.formula(sub, names) for sub in subs]), at)
            case Truth():
                return formula
            case _:
                return self.part(formula, names)

    def terms(self, terms: Sequence[Term], names: _Names) -> tuple[Term, ...]:
        return tuple([self.term(term, names) for term in terms])

    def term(self, term: Term, names: _Names) -> Term:
        match term:
            case Variable(name, at, kind):
                return Variable(names.new[name], at, kind) if name in names.new else term
            case Call(functor, args, at, kind):
                return Call(functor, self.terms(args, names), at, kind)
            case Cast(inner, type_name, at, kind):
                return Cast(self.term(inner, names), type_name, at, kind)
            case Aggregate():
                return self.aggregate(term, names)
            case _:
                return term

    def aggregate(self, aggregate: Aggregate, around: _Names) -> Aggregate:
        targets = own_names(aggregate.target) if aggregate.target else set()
        here = targets | own_names(aggregate.body)
        new = dict(around.new)
        for name in sorted(targets | (here - around.visible)):
            new[name] = self.fresh(name)
        names = _Names(around.visible | here, new, inside=True)
        target = aggregate.target and self.term(aggregate.target, names)
        body = self.formula(_positive(aggregate.body), names)
        return Aggregate(aggregate.op, target, body, aggregate.at, aggregate.kind)

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
