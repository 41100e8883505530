"""Which variables a conjunction binds: by its positive atoms, and by equations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from tidelog.plan.conjunction import Part
from tidelog.program.formula_walk import all_names, own
from tidelog.program.syntax import Aggregate, Atom, Call, Cast, Comparison, Term, Variable, Wildcard
from tidelog.program.terms import is_constructor

Equation = tuple[str, set[str]]  # a variable, and those that must have a value before it has one


def needs(term: Term, scope: Set[str]) -> set[str]:
    """Variables that must have a value before the term has one.

    Of an aggregate's variables these are the ones of the scope around it. A `_` in a record
    never has a value, which its name stands for.
    """
    names: set[str] = set()
    for node in own(term):
        if isinstance(node, Variable):
            names.add(node.name)
        elif isinstance(node, Aggregate):
            names |= all_names(node) & scope
        elif isinstance(node, Wildcard):
            names.add("_")
    return names


def bare(term: Term) -> Term:
    """A record or branch without the `as` that says of which type it is."""
    inside = term.term if isinstance(term, Cast) else None
    return inside if isinstance(inside, Call) and is_constructor(inside.functor) else term


def pattern_names(terms: Iterable[Term]) -> Iterator[str]:
    """Variables among the terms, and in records and branches among them."""
    for term in map(bare, terms):
        if isinstance(term, Variable):
            yield term.name
        elif isinstance(term, Call) and is_constructor(term.functor):
            yield from pattern_names(term.args)


def equations(left: Term, right: Term, scope: Set[str]) -> Iterator[Equation]:
    """What `left = right` says of variables: by whole terms, or by parts of two records."""
    left, right = bare(left), bare(right)
    constructed = [isinstance(t, Call) and is_constructor(t.functor) for t in (left, right)]
    if all(constructed) and left.functor == right.functor and len(left.args) == len(right.args):  # type: ignore[union-attr]
        for one, other in zip(left.args, right.args, strict=True):  # type: ignore[union-attr]
            yield from equations(one, other, scope)
        return
    for one, other in ((left, right), (right, left)):
        for name in pattern_names((one,)):
            yield name, needs(other, scope)


def bound_by(parts: Iterable[Part], scope: Set[str], bound: Set[str] = frozenset()) -> set[str]:
    """All variables bound by the parts when those in `bound` are; equations in any order."""
    known = set(bound)
    waiting: list[Equation] = []
    for part in parts:
        if isinstance(part, Atom):
            known.update(pattern_names(part.terms))
        elif isinstance(part, Comparison) and part.op == "=":
            waiting += equations(part.left, part.right, scope)
    follow(known, waiting)
    return known


def follow(known: set[str], equations: Iterable[Equation]) -> None:
    """Add to `known` each variable whose equation needs only known ones, in linear time."""
    waiting: dict[str, list[tuple[str, set[str]]]] = {}
    new = []
    for name, required in equations:
        if name in known:
            continue
        missing = required - known
        if not missing:
            new.append(name)
        for other in missing:
            waiting.setdefault(other, []).append((name, missing))
    while new:
        name = new.pop()
        if name in known:
            continue
        known.add(name)
        for result, missing in waiting.get(name, ()):
            missing.discard(name)
            if not missing:
                new.append(result)
