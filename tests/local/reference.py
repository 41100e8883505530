"""Rule evaluation by brute force over Python sets, and the way in and out of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import numpy as np

from tidelog.engine import View
from tidelog.local.engine import LocalEngine
from tidelog.local.sets import LocalSet
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Group,
    Literal,
    Range,
    Relation,
    Rule,
)
from tidelog.program.syntax import Call, Constant, Kind, Value, Variable, Wildcard
from tidelog.program.table import Table

Fact = tuple[str, tuple[Value, ...]]
Facts = frozenset[Fact]
Bound = dict[str, Any]

TESTS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
FUNCTORS = {"+": add, "-": sub, "*": mul}


def value(term: Any, bound: Bound) -> Any:
    """The term's value, or None where a variable of it is not bound."""
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Variable):
        return bound.get(term.name)
    args = [value(arg, bound) for arg in term.args]
    return None if None in args else FUNCTORS[term.functor](*args)


def matches(terms: Sequence[Any], row: Sequence[Value], bound: Bound) -> Bound | None:
    found = dict(bound)
    for term, cell in zip(terms, row, strict=True):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Variable) and term.name not in found:
            found[term.name] = cell
        elif value(term, found) != cell:
            return None
    return found


def instances(rule: Rule, X: Facts, Y: Facts) -> Iterator[tuple[Fact, tuple[Fact, ...]]]:
    """Head and body facts of every instance: positive literals in X, the others in Y."""
    return ((head, used) for head, used, _ in bound_instances(rule, X, Y))


def touched_instances(rule: Rule, X: Facts, Y: Facts, p: Facts, n: Facts) -> Iterator[Fact]:
    """Heads of the instances that meet p positively, n negatively, or either in an aggregate."""

    def touches(part: BodyLiteral, bound: Bound) -> bool:
        if isinstance(part, Literal) and part.negated:
            return (part.relation, tuple(value(t, bound) for t in part.terms)) in n
        if isinstance(part, Group):
            free = {key: cell for key, cell in bound.items() if key != part.result.name}
            return any(
                name == part.relation and matches(part.terms, row, free) is not None
                for name, row in p | n
            )
        return False

    for head, used, bound in bound_instances(rule, X, Y):
        if any(fact in p for fact in used) or any(touches(part, bound) for part in rule.body):
            yield head


def bound_instances(
    rule: Rule, X: Facts, Y: Facts
) -> Iterator[tuple[Fact, tuple[Fact, ...], Bound]]:
    def go(left: Sequence[Any], bound: Bound, used: tuple[Fact, ...]) -> Iterator[Any]:
        if not left:
            head = rule.head.relation, tuple(value(t, bound) for t in rule.head.terms)
            yield head, used, bound
            return
        part, rest = left[0], left[1:]
        if isinstance(part, Literal) and not part.negated:
            for name, row in X:
                if name == part.relation:
                    found = matches(part.terms, row, bound)
                    if found is not None:
                        yield from go(rest, found, (*used, (name, row)))
        elif isinstance(part, Literal):
            if (part.relation, tuple(value(t, bound) for t in part.terms)) not in Y:
                yield from go(rest, bound, used)
        elif isinstance(part, Range):
            for number in range(value(part.start, bound), value(part.stop, bound)):
                found = matches((part.variable,), (number,), bound)
                if found is not None:
                    yield from go(rest, found, used)
        elif isinstance(part, Group):
            result = aggregate(part, Y, bound)
            found = None if result is None else matches((part.result,), (result,), bound)
            if found is not None:
                yield from go(rest, found, used)
        else:
            assert isinstance(part, Constraint)
            left_value, right_value = value(part.left, bound), value(part.right, bound)
            if left_value is None or right_value is None:
                side, known = (
                    (part.left, right_value) if left_value is None else (part.right, left_value)
                )
                assert isinstance(side, Variable)
                yield from go(rest, bound | {side.name: known}, used)
            elif TESTS[part.op](left_value, right_value):
                yield from go(rest, bound, used)

    yield from go(sorted(rule.body, key=_rank), {}, ())


def _rank(part: BodyLiteral) -> int:
    """Positive literals first: what they bind, the others need."""
    if isinstance(part, Literal):
        return 1 if part.negated else 0
    return {Constraint: 1, Range: 2, Group: 3}[type(part)]


def aggregate(part: Group, Y: Facts, bound: Bound) -> Any:
    rows = [
        found
        for name, row in Y
        if name == part.relation and (found := matches(part.terms, row, bound)) is not None
    ]
    if part.op == "count":
        return len(rows)
    assert part.value is not None
    values = [found[part.value.name] for found in rows]
    if part.op == "sum":
        return sum(values)
    return {"min": min, "max": max}[part.op](values) if values else None


# The engine's side.


def table(kinds: Sequence[Kind], rows: Iterable[Sequence[Value]]) -> Table:
    return Table.from_rows(tuple(kinds), list(rows))


def declare(engine: LocalEngine, arities: dict[str, int]) -> None:
    for name, arity in arities.items():
        attributes = tuple(f"c{i}" for i in range(arity))
        kinds: tuple[Kind, ...] = ("number",) * arity
        engine.declare(Relation(name, attributes, kinds))


def put(engine: LocalEngine, facts: Iterable[Fact], *into: LocalSet) -> None:
    """Add facts to sets of the engine."""
    rows: dict[str, list[tuple[Value, ...]]] = {}
    for name, row in sorted(facts):
        rows.setdefault(name, []).append(row)
    for name, listed in rows.items():
        engine.load(name, table(engine.kinds[name].kinds, listed), into)


def hold(engine: LocalEngine, facts: Iterable[Fact]) -> LocalSet:
    made = engine.none()
    put(engine, facts, made)
    return made


def facts_of(engine: LocalEngine, view: View) -> Facts:
    names = {number: name for name, number in engine.numbers.items()}
    found: set[Fact] = set()
    for r, rows in engine.members(view):
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop, dtype=np.uint32)
        listed = engine.table(names[r], rows).rows()
        assert len(listed) == len(set(listed)), "a row twice"
        found |= {(names[r], row) for row in listed}
    return frozenset(found)


def number(name: str) -> Variable:
    return Variable(name, kind="number")


def constant(cell: int) -> Constant:
    return Constant(cell, "number")


def call(functor: str, *args: Any) -> Call:
    return Call(functor, args, kind="number")
