"""`r(x, a) <= r(x, b) :- a >= b.` and `choice-domain`: facts that are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.program.syntax import (
    UNDER,
    And,
    Atom,
    Attribute,
    Clause,
    Formula,
    Span,
    Term,
    Variable,
    Wildcard,
)
from tidelog.text.lexer import Fault

if TYPE_CHECKING:
    from tidelog.text.cursor import Cursor

ADVICE = "write `best(x, a) <= best(x, b) :- a > b.`"


@dataclass(frozen=True, slots=True)
class Subsumption:
    """`dominated <= dominating`, which stands before the `:-` and nowhere else."""

    dominated: Atom
    dominating: Atom
    at: Span


def as_clause(found: Subsumption, body: Formula) -> Clause:
    """The clause that derives pairs of facts, of which the first is dominated."""
    first, second = found.dominated, found.dominating
    if first.relation != second.relation:
        message = f"{first.relation} and {second.relation} are different relations"
        raise Fault(message, found.at, "a fact is dominated by one of the same relation")
    if body == And(()):
        raise Fault("a subsumption has a body", found.at, ADVICE)
    first, second = _named(first, 0), _named(second, len(first.terms))
    rest = body.parts if isinstance(body, And) else (body,)
    head = Atom(f"{UNDER}{first.relation}", (*first.terms, *second.terms), first.at)
    return Clause((head,), And((first, second, *rest), first.at), first.at)


def _named(atom: Atom, start: int) -> Atom:
    """The atom with a variable for each `_`, because the whole fact is meant."""
    terms: list[Term] = [
        Variable(f"__{start + i}", term.at) if isinstance(term, Wildcard) else term
        for i, term in enumerate(atom.terms)
    ]
    return replace(atom, terms=tuple(terms))


def choices(cursor: Cursor, attributes: list[Attribute]) -> list[tuple[str, ...]]:
    """What follows a declaration: `choice-domain x, (y, z)`."""
    advice = "write `choice-domain x` or `choice-domain (x, y)`"
    at = cursor.at(cursor.peek())._replace(width=len("choice-domain"))
    cursor.index += 2
    if cursor.peek().text != "domain":
        raise Fault("unknown qualifier `choice`", at, advice)
    cursor.index += 1
    found: list[tuple[str, ...]] = []
    while True:
        if cursor.accept("("):
            names = [_attribute(cursor, attributes, advice)]
            while cursor.accept(","):
                names.append(_attribute(cursor, attributes, advice))
            cursor.expect(")", "`)` must close the attributes", advice)
            found.append(tuple(names))
        else:
            found.append((_attribute(cursor, attributes, advice),))
        if not cursor.accept(","):
            return found


def _attribute(cursor: Cursor, attributes: list[Attribute], advice: str) -> str:
    name = cursor.expect("name", "an attribute's name must stand here", advice)
    known = [attribute.name for attribute in attributes]
    if name.text not in known:
        message = f"the relation has no attribute {name.text}"
        raise Fault(message, cursor.at(name), f"it has {', '.join(known) or 'none'}")
    return name.text
