"""Ways through a formula. `own` nodes are those outside of aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

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
    Variable,
)

Node = Formula | Term

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


def clause_nodes(clause: Clause) -> list[Node]:
    return everything(*clause.heads, clause.body)


def has_aggregate(nodes: Iterable[Node]) -> bool:
    return Aggregate in {*map(type, nodes)}


def relations(clause: Clause) -> set[str]:
    """All relations that the clause mentions."""
    return {node.relation for node in clause_nodes(clause) if type(node) is Atom}


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
