"""Walks over formulas, terms and parts of rules. `own` nodes are those outside aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

from tidelog.program.rules import BodyLiteral, Constraint, Group, Literal, Range
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Clause,
    Comparison,
    Constant,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    Wildcard,
)

Node = Formula | Term
N = TypeVar("N", bound=Node)

# A table, because a match statement would be most of the time of a pass over many clauses.
_PARTS: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Atom: attrgetter("terms"),
    Call: attrgetter("args"),
    And: attrgetter("parts"),
    Or: attrgetter("parts"),
    Comparison: attrgetter("left", "right"),
    Not: lambda node: (node.part,),
    Cast: lambda node: (node.term,),
    Aggregate: lambda node: (node.body,) if node.target is None else (node.target, node.body),
}
_OWN_PARTS = {kind: get for kind, get in _PARTS.items() if kind is not Aggregate}


def parts(aggregate: Aggregate) -> tuple[Node, ...]:
    """Its target, if it has one, and its body."""
    return _PARTS[Aggregate](aggregate)


def everything(*nodes: Node) -> list[Node]:
    """The nodes and all below them, aggregates included, in the order written."""
    return _walk(nodes, _PARTS)


def own(*nodes: Node) -> list[Node]:
    """The same without what is inside aggregates: those are in the list, but not entered."""
    return _walk(nodes, _OWN_PARTS)


def _walk(
    nodes: tuple[Node, ...], table: dict[type, Callable[[Any], tuple[Node, ...]]]
) -> list[Node]:
    found = []
    stack = [*reversed(nodes)]
    while stack:
        node = stack.pop()
        found.append(node)
        get = table.get(type(node))
        if get is not None:
            stack += get(node)[::-1]
    return found


def rebuilt(node: N, change: Callable[[Any], Any]) -> N:
    """The node with `change` applied to what is directly below it."""
    found: Any = node  # of the same type, which a type checker cannot see
    match node:
        case Atom(relation, terms, at):
            found = Atom(relation, tuple(map(change, terms)), at)
        case Comparison(op, left, right, at):
            found = Comparison(op, change(left), change(right), at)
        case And(subs, at) | Or(subs, at):
            found = type(node)(tuple(map(change, subs)), at)
        case Not(part, at):
            found = Not(change(part), at)
        case Call(functor, args, at, kind):
            found = Call(functor, tuple(map(change, args)), at, kind)
        case Cast(term, type_name, at, kind):
            found = Cast(change(term), type_name, at, kind)
        case Aggregate(op, target, body, at, kind):
            found = Aggregate(op, target and change(target), change(body), at, kind)
    made: N = found
    return made


def clause_nodes(clause: Clause) -> list[Node]:
    return everything(*clause.heads, clause.body)


_SIMPLE = frozenset({Variable, Constant, Wildcard})


def flat(clause: Clause) -> list[Atom | Comparison] | None:
    """The atoms and comparisons of a clause that has nothing below their terms.

    Most clauses are so, and passes that look at every clause are quicker for knowing it.
    """
    found: list[Atom | Comparison] = []
    body = clause.body
    for node in (*clause.heads, *(body.parts if type(body) is And else (body,))):
        kind = type(node)
        if kind is Not:
            node = node.part  # type: ignore[union-attr]
            kind = type(node)
        if kind is Atom:
            if not _SIMPLE.issuperset(map(type, node.terms)):  # type: ignore[union-attr]
                return None
        elif kind is not Comparison or not (
            type(node.left) in _SIMPLE and type(node.right) in _SIMPLE  # type: ignore[union-attr]
        ):
            return None
        found.append(node)  # type: ignore[arg-type]
    return found


def has_aggregate(clause: Clause) -> bool:
    return flat(clause) is None and Aggregate in {*map(type, clause_nodes(clause))}


def relations(clause: Clause) -> set[str]:
    """All relations that the clause mentions."""
    nodes = flat(clause) or clause_nodes(clause)
    return {node.relation for node in nodes if type(node) is Atom}


def relations_of(formula: Formula) -> set[str]:
    return {node.relation for node in everything(formula) if type(node) is Atom}


def variables(*nodes: Node) -> Iterator[Variable]:
    return (found for found in everything(*nodes) if type(found) is Variable)


def own_variables(*nodes: Node) -> Iterator[Variable]:
    return (found for found in own(*nodes) if type(found) is Variable)


def own_names(*nodes: Node) -> set[str]:
    return {found.name for found in own(*nodes) if type(found) is Variable}


def all_names(*nodes: Node) -> set[str]:
    return {found.name for found in everything(*nodes) if type(found) is Variable}


def aggregates(*nodes: Node) -> Iterator[Aggregate]:
    """The outermost aggregates."""
    return (found for found in own(*nodes) if type(found) is Aggregate)


def terms_of(part: BodyLiteral) -> tuple[Term, ...]:
    """The terms of a part of a rule in core form."""
    match part:
        case Literal():
            return part.terms
        case Constraint():
            return part.left, part.right
        case Range():
            ends = (part.start, part.stop, part.step)
            return (part.variable, *(end for end in ends if end is not None))
        case Group():
            return (part.result, *part.terms)


def names_of(part: BodyLiteral) -> frozenset[str]:
    return frozenset(all_names(*terms_of(part)))
