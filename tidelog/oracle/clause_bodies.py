"""Clauses as rules: one head each, and a conjunction of literals in evaluation order.

Ranges and aggregates move from their literal to an equation `v = …` beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tidelog.oracle.values import CAN_FAIL
from tidelog.program.diagnostics import EvaluationError
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
    Truth,
    Variable,
    Wildcard,
)

Names = frozenset[str]
NONE: Names = frozenset()


class FlatLiteral(NamedTuple):
    """A literal without nested expressions: ranges and aggregates only occur in `x = …`."""

    formula: Atom | Comparison
    wanted: bool = True
    fold: Fold | None = None  # for `x = aggregate`


class Body(NamedTuple):
    literals: list[FlatLiteral]
    terms: tuple[Term, ...]  # of the head, or the target of an aggregate

    def later(self, i: int) -> Names:
        """The names that a rule needs after literal i."""
        literals = (names_in(literal.formula, True) for literal in self.literals[i + 1 :])
        return NONE.union(*map(names_in, self.terms), *literals)


class Fold(NamedTuple):
    bodies: list[Body]
    outer: Names  # bound outside
    witnesses: Names  # bound for the outside


Rule = tuple[str, Body]


def number_instances(clause: Clause) -> Clause:
    """Give `autoinc()` arguments that identify a rule instance: the number of the call, and the
    variables bound by facts, sorted by name."""
    if not has_autoinc(*clause.heads, clause.body):
        return clause
    atoms = [node for node in _unnegated(clause.body) if isinstance(node, Atom)]
    outer = sorted({name for atom in atoms for name in names_in(atom)})

    def with_arguments(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(map(with_arguments, node))
        if isinstance(node, Call) and node.functor == "autoinc":
            place = Constant(next(_counter), "number")
            kinds = {v.name: v for atom in atoms for v in walk(atom) if isinstance(v, Variable)}
            return replace(node, args=(place, *(kinds[name] for name in outer)))
        if not hasattr(node, "__match_args__") or isinstance(node, Variable | Constant):
            return node
        names = [name for name in node.__match_args__ if name not in ("at", "kind")]
        return replace(node, **{name: with_arguments(getattr(node, name)) for name in names})

    return replace(clause, heads=with_arguments(clause.heads), body=with_arguments(clause.body))


def has_autoinc(*nodes: Any) -> bool:
    return any(getattr(n, "functor", "") == "autoinc" for node in nodes for n in walk(node))


def _unnegated(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _unnegated(part)


def closure(name: str, qualifiers: Names) -> Iterator[Clause]:
    """The meaning of `eqrel` and `transitive`, as clauses."""
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    if qualifiers & {"eqrel", "transitive"}:
        yield Clause((Atom(name, (x, z)),), And((Atom(name, (x, y)), Atom(name, (y, z)))))
    if "eqrel" in qualifiers:
        heads = Atom(name, (x, x)), Atom(name, (y, y)), Atom(name, (y, x))
        yield Clause(heads, Atom(name, (x, y)))


_INVERSE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_counter = itertools.count()


def bodies_of(formula: Formula, terms: tuple[Term, ...], outer: Names = NONE) -> list[Body]:
    """The alternatives of the formula, each with the terms in simple form."""
    more: list[FlatLiteral] = []
    simple = tuple(_simple(term, more) for term in terms)
    return [Body(_plan(a + more, simple, outer), simple) for a in _alternatives(formula)]


def _alternatives(formula: Formula, wanted: bool = True) -> list[list[FlatLiteral]]:
    """The formula, negated unless `wanted`, as a disjunction of conjunctions."""
    named: tuple[type, ...]
    more: list[FlatLiteral] = []
    match formula:
        case Not(part):
            return _alternatives(part, not wanted)
        case Truth(value):
            return [[]] if value == wanted else []
        case And(parts) | Or(parts):
            choices = [_alternatives(part, wanted) for part in parts]
            if isinstance(formula, And) == wanted:
                return [list(itertools.chain(*choice)) for choice in itertools.product(*choices)]
            return list(itertools.chain(*choices))
        case Atom(name, terms):
            # A negated `_` stands for any value; other wildcards are variables.
            named = (Call, Cast, Aggregate, *([Wildcard] if wanted else []))
            simple = tuple(_pattern(term, more, named) for term in terms)
            return [[FlatLiteral(Atom(name, simple), wanted), *more]]
        case Comparison(op, left, right):
            if not wanted and op in _INVERSE:
                op, wanted = _INVERSE[op], True
            if op == "=" and (is_pattern(left) or is_pattern(right)):
                left, right = (_pattern(t, more, (Call, Cast, Wildcard)) for t in (left, right))
                return [[FlatLiteral(Comparison(op, left, right), wanted), *more]]
            if op == "=" and isinstance(right, Variable):
                left, right = right, left
            named = () if op == "=" and isinstance(left, Variable) else (Aggregate,)
            left, right = _simple(left, more), _simple(right, more, named)
            return [[FlatLiteral(Comparison(op, left, right), wanted), *more]]


def _simple(term: Term, more: list[FlatLiteral], named: tuple[type, ...] = (Aggregate,)) -> Term:
    """Replace ranges and terms of `named` types by variables, and add equations to `more`.

    No program can spell these variables; `=` marks those that other variables determine.
    """
    if isinstance(term, Call):
        term = replace(term, args=tuple(_simple(arg, more) for arg in term.args))
    elif isinstance(term, Cast):
        term = replace(term, term=_simple(term.term, more))
    if not named or not (isinstance(term, named) or _is_range(term)):
        return term
    mark = "#" if isinstance(term, Wildcard) or _is_range(term) else "="
    variable = Variable(f"{mark}{next(_counter)}", kind=term.kind)
    if not isinstance(term, Wildcard):
        more.append(FlatLiteral(Comparison("=", variable, term)))
    return variable


def is_pattern(term: Any) -> bool:
    return isinstance(term, Call) and term.functor[0] in "[$"


def _pattern(term: Term, more: list[FlatLiteral], named: tuple[type, ...]) -> Term:
    """Keep records and branches in place, and simplify other terms."""
    if isinstance(term, Call) and is_pattern(term):
        return replace(term, args=tuple(_pattern(arg, more, named) for arg in term.args))
    return _simple(term, more, named)


def _plan(literals: list[FlatLiteral], terms: tuple[Term, ...], outer: Names) -> list[FlatLiteral]:
    """The literals in evaluation order, with plans for their aggregates."""
    scope = outer.union(*map(names_in, terms), *(names_in(literal.formula) for literal in literals))
    # A name that stays unbound although every aggregate has a value must be a witness.
    _, unbound = _ordered(literals, scope, outer, names_in)

    def needs(term: Term) -> Names:
        if not isinstance(term, Aggregate):
            return names_in(term, True) & scope
        return names_in(term, True) & scope - witnesses(term) - (unbound - _own(term))

    def witnesses(aggregate: Aggregate) -> Names:
        return _own(aggregate) & unbound if aggregate.op in ("min", "max") else NONE

    for i, (formula, _, _) in enumerate(literals):  # which grow on the way
        if isinstance(a := getattr(formula, "right", None), Aggregate):
            for inner in _inner(a, unbound):
                variable = Variable(f"={next(_counter)}", kind=inner.kind)
                literals.append(FlatLiteral(Comparison("=", variable, inner)))
                scope |= {variable.name}
            bodies = bodies_of(a.body, (a.target or Constant(1, "number"),), needs(a))
            literals[i] = literals[i]._replace(fold=Fold(bodies, needs(a), witnesses(a)))
    ordered, unbound = _ordered(literals, scope, outer, needs)
    if unbound:
        raise EvaluationError("a variable of the program is not bound")
    return ordered


def _own(aggregate: Aggregate) -> Names:
    """The names of its body, without those of aggregates in it, and not its target's."""
    return names_in(aggregate.body) - names_in(aggregate.target)


def _inner(aggregate: Aggregate, unbound: Names) -> Iterator[Aggregate]:
    """Each `min` or `max` inside with witnesses: names that stay unbound and are in no aggregate
    around it. They are witnesses in the rule, where the inner one is evaluated by itself."""
    unbound -= _own(aggregate) | names_in(aggregate.target)
    for inner in (*_outermost(aggregate.target), *_outermost(aggregate.body)):
        if inner.op in ("min", "max") and _own(inner) & unbound:
            yield inner
        yield from _inner(inner, unbound)


def _outermost(node: Any) -> Iterator[Aggregate]:
    if isinstance(node, Aggregate):
        yield node
    else:
        for part in _parts(node):
            yield from _outermost(part)


def _ordered(
    literals: list[FlatLiteral], scope: Names, bound: Names, needs: Callable[[Term], Names]
) -> tuple[list[FlatLiteral], Names]:
    """Order literals: tests as early as possible, then facts, ranges, and what can fail.

    Also returns the names of the scope that stay unbound.
    """

    def ready(literal: FlatLiteral) -> bool:
        formula, wanted, _ = literal
        if isinstance(formula, Atom):
            return wanted or names_in(formula) <= bound
        sides = (formula.left, formula.right)
        lacking = [side for side in sides if not needs(side) <= bound]
        if formula.op == "=" and any(map(is_pattern, sides)):
            return _unifiable(*sides, bound)
        binds = formula.op == "=" and len(lacking) == 1 and isinstance(lacking[0], Variable)
        return binds or not lacking

    waiting, ordered = sorted(literals, key=_rank), []
    while (literal := next(filter(ready, waiting), None)) is not None:
        waiting.remove(literal)
        ordered.append(literal)
        bound |= names_in(literal.formula) | (literal.fold.witnesses if literal.fold else NONE)
    return ordered, scope - bound


def _unifiable(a: Term, b: Term, bound: Names) -> bool:
    """Whether one side of each pair of parts is bound, so that the other can match it."""
    if is_pattern(a) and is_pattern(b) and a.functor == b.functor:  # type: ignore[union-attr]
        pairs = zip(a.args, b.args, strict=True)  # type: ignore[union-attr]
        return all(_unifiable(x, y, bound) for x, y in pairs)
    return names_in(a) <= bound or names_in(b) <= bound


def _rank(literal: FlatLiteral) -> int:
    formula, wanted, _ = literal
    functors = {getattr(n, "functor", "as" if isinstance(n, Cast) else "") for n in walk(formula)}
    if functors & {"as", *CAN_FAIL} or any(name.startswith("@") for name in functors):
        return 3
    return int(wanted) if isinstance(formula, Atom) else 2 * _is_range(formula.right)


def _is_range(node: Any) -> bool:
    return isinstance(node, Call) and node.functor == "range"


def walk(node: Any) -> Iterator[Any]:
    """The node and its descendants."""
    yield node
    for part in _parts(node):
        yield from walk(part)


def _parts(node: Any) -> list[Any]:
    names = [name for name in getattr(node, "__match_args__", ()) if name not in ("at", "kind")]
    parts = [getattr(node, name) for name in names]
    return [p for part in parts for p in (part if type(part) is tuple else (part,))]


def names_in(node: Any, inside: bool = False) -> Names:
    """Variables; with `inside` also those of aggregates, unless the target makes them local."""
    if isinstance(node, Variable):
        return frozenset({node.name})
    if isinstance(node, Aggregate) and not inside:
        return NONE
    names = NONE.union(*(names_in(part, inside) for part in _parts(node)))
    return names - names_in(node.target) if isinstance(node, Aggregate) else names


def has_gap(term: Term) -> bool:
    return any(isinstance(node, Wildcard) for node in walk(term))
