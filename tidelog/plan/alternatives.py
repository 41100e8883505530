"""Clauses without disjunction: a body as alternatives, each a conjunction of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.plan.walk import aggregates, clause_parts, own_names
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

Part = Atom | Comparison | Not  # Not of an atom; comparisons are inverted instead
Parts = tuple[Part, ...]


class TooManyAlternatives(Exception):
    """The disjunctions of one clause multiply to more than `MOST`."""


class Alternative(NamedTuple):
    """One way to satisfy a clause. Each variable name stands for one variable."""

    heads: tuple[Atom, ...]
    body: Parts


def alternatives(clause: Clause) -> list[Alternative]:
    """The clause's alternatives, in the order written.

    Variables that are local to an aggregate get names of their own where the name is
    used outside of it as well.
    """
    bodies = conjunctions(clause.body)
    if not any(True for part in clause_parts(clause) for _ in aggregates(part)):
        return [Alternative(clause.heads, body) for body in bodies]
    return [_separate(clause.heads, body) for body in bodies]


def conjunctions(formula: Formula, wanted: bool = True) -> list[Parts]:
    """The formula (its negation unless `wanted`) in disjunctive normal form."""
    match formula:
        case Atom():
            return [(formula if wanted else Not(formula, formula.at),)]
        case Comparison() if wanted:
            return [(formula,)]
        case Comparison(op, left, right, at):
            return [(Comparison(INVERSE[op], left, right, at),)]
        case Truth(value):
            return [()] if value == wanted else []
        case Not(part):
            return conjunctions(part, not wanted)
        case And(subs) | Or(subs):
            choices = [conjunctions(sub, wanted) for sub in subs]
            if isinstance(formula, And) != wanted:
                return _limited([choice for each in choices for choice in each])
            if all(len(each) == 1 for each in choices):
                return [tuple([part for each in choices for part in each[0]])]
            found: list[Parts] = [()]
            for each in choices:
                if len(found) * len(each) > MOST:
                    raise TooManyAlternatives
                found = [before + after for before in found for after in each]
            return found


def _limited(found: list[Parts]) -> list[Parts]:
    if len(found) > MOST:
        raise TooManyAlternatives
    return found


def written(name: str) -> str:
    """The name as it stands in the program."""
    return name.partition("%")[0]


def _separate(heads: tuple[Atom, ...], body: Parts) -> Alternative:
    visible = own_names(*heads, *body)
    renamer = _Renamer(set(visible))
    return Alternative(
        tuple([renamer.atom(head, visible, {}) for head in heads]),
        tuple([renamer.part(part, visible, {}) for part in body]),
    )


class _Renamer:
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def atom(self, atom: Atom, visible: set[str], names: dict[str, str]) -> Atom:
        return Atom(atom.relation, self.terms(atom.terms, visible, names), atom.at)

    def part(self, part: Part, visible: set[str], names: dict[str, str]) -> Part:
        match part:
            case Atom():
                return self.atom(part, visible, names)
            case Comparison(op, left, right, at):
                left, right = self.terms((left, right), visible, names)
                return Comparison(op, left, right, at)
            case Not(Atom() as atom, at):
                return Not(self.atom(atom, visible, names), at)
        raise AssertionError(part)

    def formula(self, formula: Formula, visible: set[str], names: dict[str, str]) -> Formula:
        match formula:
            case And(subs, at):
                return And(tuple([self.formula(sub, visible, names) for sub in subs]), at)
            case Or(subs, at):
                return Or(tuple([self.formula(sub, visible, names) for sub in subs]), at)
            case Not(sub, at):
                return Not(self.formula(sub, visible, names), at)
            case Truth():
                return formula
            case _:
                return self.part(formula, visible, names)

    def terms(
        self, terms: Sequence[Term], visible: set[str], names: dict[str, str]
    ) -> tuple[Term, ...]:
        return tuple([self.term(term, visible, names) for term in terms])

    def term(self, term: Term, visible: set[str], names: dict[str, str]) -> Term:
        match term:
            case Variable(name, at, kind):
                return Variable(names[name], at, kind) if name in names else term
            case Call(functor, args, at, kind):
                return Call(functor, self.terms(args, visible, names), at, kind)
            case Cast(inner, type_name, at, kind):
                return Cast(self.term(inner, visible, names), type_name, at, kind)
            case Aggregate():
                return self.aggregate(term, visible, names)
            case _:
                return term

    def aggregate(
        self, aggregate: Aggregate, visible: set[str], names: dict[str, str]
    ) -> Aggregate:
        targets = own_names(aggregate.target) if aggregate.target else set()
        inside = targets | own_names(aggregate.body)
        names = dict(names)
        for name in sorted(targets | (inside - visible)):
            names[name] = self.fresh(name)
        visible = visible | inside
        target = aggregate.target and self.term(aggregate.target, visible, names)
        body = self.formula(aggregate.body, visible, names)
        return Aggregate(aggregate.op, target, body, aggregate.at, aggregate.kind)

    def fresh(self, name: str) -> str:
        new, i = name, 1
        while new in self.taken:
            i += 1
            new = f"{name}%{i}"
        self.taken.add(new)
        return new
