"""Witnesses in the target of an aggregate: `p(x, s) :- s = min x * y : { q(x, y) }.`

As in Soufflé, a target that is an expression becomes a variable that the body makes equal to it:
`min t : { q(x, y), t = x * y }`. Its variables are then like all others of the body, and those
that only the body binds are witnesses. A target that is a variable stays local to the aggregate.
An aggregate whose result is `_` gets a variable for it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from tidelog.plan.alternatives import NOTHING, TooManyAlternatives, conjunctions
from tidelog.plan.bound_variables import bound_by
from tidelog.plan.draft import Draft
from tidelog.program.formula_walk import has_aggregate, own_names
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Clause,
    Comparison,
    Formula,
    Or,
    Term,
    Variable,
    Wildcard,
)


def name_targets(draft: Draft) -> Draft:
    """Replace target expressions that have witnesses, and results `_`, by variables."""
    clauses = tuple([_named(clause) for clause in draft.program.clauses])
    return replace(draft, program=replace(draft.program, clauses=clauses))


def _named(clause: Clause) -> Clause:
    if not has_aggregate(clause):
        return clause
    outside = own_names(*clause.heads, clause.body)
    try:
        bodies = conjunctions(clause.body)
    except TooManyAlternatives:  # which is reported when the alternatives are needed
        return clause
    unbound = outside.intersection(*(outside - bound_by(body, NOTHING) for body in bodies))
    namer = _Namer(unbound)
    heads = tuple([namer.atom(head) for head in clause.heads])
    return replace(clause, heads=heads, body=namer.formula(clause.body))


class _Namer:
    def __init__(self, unbound: Set[str]) -> None:
        self.unbound = unbound
        self.made = 0

    def fresh(self, name: str) -> str:
        self.made += 1
        return f"{name}%{self.made}"

    def atom(self, atom: Atom) -> Atom:
        return replace(atom, terms=tuple([self.term(term) for term in atom.terms]))

    def formula(self, formula: Formula) -> Formula:
        match formula:
            case Atom():
                return self.atom(formula)
            case Comparison(op, left, right, at):
                left, right = self.term(left), self.term(right)
                if op == "=" and isinstance(left, Wildcard) and isinstance(right, Aggregate):
                    left = Variable(self.fresh("_"), left.at)
                return Comparison(op, left, right, at)
            case And(parts, at):
                return And(tuple([self.formula(part) for part in parts]), at)
            case Or(parts, at):
                return Or(tuple([self.formula(part) for part in parts]), at)
            case _:
                return formula

    def term(self, term: Term) -> Term:
        match term:
            case Call():
                return replace(term, args=tuple([self.term(arg) for arg in term.args]))
            case Cast():
                return replace(term, term=self.term(term.term))
            case Aggregate("min" | "max", target, body) if self.has_witness(target):
                assert target is not None
                name = Variable(self.fresh("target"), target.at)
                body = And((body, Comparison("=", name, target, target.at)))
                return replace(term, target=name, body=body)
            case _:
                return term

    def has_witness(self, target: Term | None) -> bool:
        if target is None or isinstance(target, Variable):
            return False
        return not self.unbound.isdisjoint(own_names(target))
