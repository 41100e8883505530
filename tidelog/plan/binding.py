"""Which variables a conjunction binds: by its positive atoms, and by equations."""

from __future__ import annotations

from collections.abc import Iterable, Set

from tidelog.plan.parts import Part
from tidelog.plan.walk import all_names, own
from tidelog.program.syntax import Aggregate, Atom, Comparison, Term, Variable


def needs(term: Term, scope: Set[str]) -> set[str]:
    """Variables that must have a value before the term has one.

    Of an aggregate's variables these are the ones of the scope around it.
    """
    names: set[str] = set()
    for node in own(term):
        if isinstance(node, Variable):
            names.add(node.name)
        elif isinstance(node, Aggregate):
            names |= all_names(node) & scope
    return names


def bound_by(parts: Iterable[Part], scope: Set[str], bound: Set[str] = frozenset()) -> set[str]:
    """All variables that have a value, given those in `bound`; equations in any order."""
    known = set(bound)
    equations: list[tuple[str, set[str]]] = []
    for part in parts:
        if isinstance(part, Atom):
            known.update(term.name for term in part.terms if isinstance(term, Variable))
        elif isinstance(part, Comparison) and part.op == "=":
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, Variable):
                    equations.append((one.name, needs(other, scope)))
    follow(known, equations)
    return known


def follow(known: set[str], equations: Iterable[tuple[str, set[str]]]) -> None:
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
