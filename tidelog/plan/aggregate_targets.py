"""Witnesses in the target of an aggregate: `p(x, s) :- s = min x * y : { q(x, y) }.`

As in Soufflé, a target that is an expression becomes a variable that the body makes equal to it:
`min t : { q(x, y), t = x * y }`. Its variables are then like all others of the body, and those
that only the body binds are witnesses. A target that is a variable stays local to the aggregate.
An aggregate whose result is `_` gets a variable for it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from tidelog.plan.alternatives import NOTHING, TooManyAlternatives, conjunctions
from tidelog.plan.bound_variables import bound_by
from tidelog.plan.draft import Draft
from tidelog.program.formula_walk import has_aggregate, own_names, rebuilt
from tidelog.program.syntax import Aggregate, And, Clause, Comparison, Not, Term, Variable, Wildcard


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
    heads = tuple(map(namer.node, clause.heads))
    return replace(clause, heads=heads, body=namer.node(clause.body))


class _Namer:
    def __init__(self, unbound: Set[str]) -> None:
        self.unbound = unbound
        self.made = 0

    def fresh(self, name: str) -> str:
        self.made += 1
        return f"{name}%{self.made}"

    def node(self, node: Any) -> Any:
        match node:
            case Comparison("=", Wildcard(at), Aggregate() as right):
                return Comparison("=", Variable(self.fresh("_"), at), self.node(right), node.at)
            case Aggregate(op, target, body):
                body = self.node(body)
                if target is None or op not in ("min", "max") or not self.has_witness(target):
                    return replace(node, body=body)
                name = Variable(self.fresh("target"), target.at)
                body = And((body, Comparison("=", name, target, target.at)))
                return replace(node, target=name, body=body)
            case Not():
                return node
            case _:
                return rebuilt(node, self.node)

    def has_witness(self, target: Term) -> bool:
        return not isinstance(target, Variable) and not self.unbound.isdisjoint(own_names(target))
