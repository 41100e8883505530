"""`r(x, a) <= r(x, b) :- a >= b.` and `choice-domain`: facts that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from tidelog.program.formula_walk import all_names
from tidelog.program.syntax import (
    UNDER,
    And,
    Atom,
    Attribute,
    Call,
    Clause,
    Formula,
    Span,
    Term,
    Variable,
    Wildcard,
)
from tidelog.program.terms import is_constructor
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
        raise Fault(message, found.at, "a fact can only be dominated by one of the same relation")
    if body == And(()):
        raise Fault("a subsumption needs a body", found.at, ADVICE)
    used = all_names(first, second, body)
    fresh = (name for number in count() if (name := f"__{number}") not in used)
    first, second = _named(first, fresh), _named(second, fresh)
    rest = body.parts if isinstance(body, And) else (body,)
    head = Atom(f"{UNDER}{first.relation}", (*first.terms, *second.terms), first.at)
    return Clause((head,), And((first, second, *rest), first.at), first.at)


def _named(atom: Atom, fresh: Iterator[str]) -> Atom:
    """The atom with a variable for each `_`, because the whole fact is meant."""
    return replace(atom, terms=tuple(_known(term, fresh) for term in atom.terms))


def _known(term: Term, fresh: Iterator[str]) -> Term:
    match term:
        case Wildcard():
            return Variable(next(fresh), term.at)
        case Call(functor, args) if is_constructor(functor):
            return replace(term, args=tuple(_known(arg, fresh) for arg in args))
        case _:
            return term


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
            cursor.expect(")", "expected `)` after the attributes", advice)
            found.append(tuple(names))
        else:
            found.append((_attribute(cursor, attributes, advice),))
        if not cursor.accept(","):
            return found


def _attribute(cursor: Cursor, attributes: list[Attribute], advice: str) -> str:
    name = cursor.expect("name", "expected an attribute name", advice)
    known = [attribute.name for attribute in attributes]
    if name.text not in known:
        message = f"the relation has no attribute {name.text}"
        raise Fault(message, cursor.at(name), f"it has {', '.join(known) or 'none'}")
    return name.text
