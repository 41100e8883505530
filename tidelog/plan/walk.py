"""Ways through a formula. `own` variables are those outside of aggregates."""

from __future__ import annotations

from collections.abc import Iterator

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
NO_NODES: tuple[Node, ...] = ()


def parts(node: Node) -> tuple[Node, ...]:
    """What a node is made of; an aggregate's parts are its target and its body."""
    match node:
        case Atom():
            return node.terms
        case Call():
            return node.args
        case And() | Or():
            return node.parts
        case Comparison():
            return node.left, node.right
        case Not():
            return (node.part,)
        case Cast():
            return (node.term,)
        case Aggregate():
            return (node.body,) if node.target is None else (node.target, node.body)
        case _:
            return NO_NODES


def clause_parts(clause: Clause) -> tuple[Node, ...]:
    return (*clause.heads, clause.body)


def everything(node: Node) -> Iterator[Node]:
    """The node and all below it, aggregates included, in the order written."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


def own(node: Node) -> Iterator[Node]:
    """The same without what is inside aggregates: those are yielded, but not entered."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Aggregate):
            stack.extend(reversed(parts(node)))


def atoms(node: Node) -> Iterator[Atom]:
    return (found for found in everything(node) if isinstance(found, Atom))


def variables(node: Node) -> Iterator[Variable]:
    return (found for found in everything(node) if isinstance(found, Variable))


def own_names(*nodes: Node) -> set[str]:
    return {found.name for node in nodes for found in own(node) if isinstance(found, Variable)}


def all_names(node: Node) -> set[str]:
    return {found.name for found in variables(node)}


def aggregates(node: Node) -> Iterator[Aggregate]:
    """The outermost aggregates."""
    return (found for found in own(node) if isinstance(found, Aggregate))
