"""Parts of a core body with what they need and bind, so that a rule can borrow them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from tidelog.plan.bound_variables import follow
from tidelog.program.builtin_functors import can_fail
from tidelog.program.formula_walk import everything, own_names
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Expression,
    Group,
    Literal,
    Range,
)
from tidelog.program.syntax import Call, Variable
from tidelog.program.terms import is_constructor

NOTHING: frozenset[str] = frozenset()


class Item(NamedTuple):
    """`binds` says for each variable that the part can bind what it needs for that."""

    part: BodyLiteral
    binds: tuple[tuple[str, frozenset[str]], ...]
    uses: frozenset[str]
    risky: bool = False  # its evaluation may be an error


def literal_item(literal: Literal) -> Item:
    names = [term.name for term in literal.terms if isinstance(term, Variable)]
    binds = () if literal.negated else tuple([(name, NOTHING) for name in names])
    return Item(literal, binds, frozenset(names))


def constraint_item(constraint: Constraint) -> Item:
    left, right = (frozenset(own_names(side)) for side in (constraint.left, constraint.right))
    binds = []
    if constraint.op == "=":
        if isinstance(constraint.left, Variable):
            binds.append((constraint.left.name, right))
        if isinstance(constraint.right, Variable):
            binds.append((constraint.right.name, left))
        if isinstance(constraint.right, Call) and is_constructor(constraint.right.functor):
            binds += [(name, left) for name in own_names(constraint.right)]
    risky = _risky(constraint.left) or _risky(constraint.right)
    return Item(constraint, tuple(binds), left | right, risky)


def range_item(part: Range) -> Item:
    ends = [end for end in (part.start, part.stop, part.step) if end is not None]
    required = frozenset(own_names(*ends))
    binds = ((part.variable.name, required),)
    return Item(part, binds, required | {part.variable.name}, any(map(_risky, ends)))


def group_item(group: Group, keys: frozenset[str]) -> Item:
    return Item(group, ((group.result.name, keys),), keys | {group.result.name})


def _risky(expression: Expression) -> bool:
    return any(isinstance(n, Call) and can_fail(n.functor) for n in everything(expression))


def bound_in(items: Iterable[Item]) -> set[str]:
    known: set[str] = set()
    follow(known, ((name, set(required)) for item in items for name, required in item.binds))
    return known


def borrow(
    missing: Set[str], items: Sequence[Item], recursive: frozenset[str], all_of_them: bool
) -> list[Item]:
    """Items that bind the missing variables, and the tests that concern what they bind.

    Literals over `recursive` relations are taken only where nothing else binds a variable:
    an aggregate over them would close a cycle. `all_of_them` takes all others as well.
    """
    binder: dict[str, tuple[Item, frozenset[str]]] = {}
    avoided = [item for item in items if _reads(item, recursive)]
    preferred = [item for item in items if not _reads(item, recursive)]
    for considered in (preferred, preferred + avoided):
        N = considered
        while N:  # one round over all items for each link of a chain of equations
            N = [item for item in considered if _bind(item, binder)]
        if missing <= binder.keys():
            break
    taken: set[int] = set()
    wanted = sorted(missing)
    while wanted:
        item, required = binder[wanted.pop()]
        if id(item) not in taken:
            taken.add(id(item))
        wanted.extend(sorted(required))
    if all_of_them:
        taken.update(id(item) for item in preferred)
    bound = bound_in(item for item in items if id(item) in taken)
    return [
        item
        for item in items
        if item.uses <= bound and (id(item) in taken or _is_test(item, bound, recursive))
    ]


def _reads(item: Item, recursive: frozenset[str]) -> bool:
    return isinstance(item.part, Literal) and item.part.relation in recursive


def _is_test(item: Item, bound: set[str], recursive: frozenset[str]) -> bool:
    if isinstance(item.part, Literal):
        return item.part.negated and item.part.relation not in recursive
    return isinstance(item.part, Constraint)


def _bind(item: Item, binder: dict[str, tuple[Item, frozenset[str]]]) -> bool:
    new = [(n, r) for n, r in item.binds if n not in binder and r <= binder.keys()]
    for name, required in new:
        binder[name] = item, required
    return bool(new)
