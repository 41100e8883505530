"""Datalog interpretation by its definitions: section 3 and Figure 1 of DYRE's paper.

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024). This is the specification of `interpreter`, which is Figures 2
and 3: streams of changes of rules and facts go in, streams of changes of facts come out, and every
value is computed from whole programs and whole sets of facts. For positive programs without
arithmetic.

# Σ a rewrite: values for some variables      Π rules      E explicit facts      F facts

>>> from tidelog.dbsp.definitions import Fact, Weighted, WEIGHTED, interpreted
>>> from tidelog.program.rules import Literal, Rule
>>> from tidelog.program.syntax import Variable
>>> x, y = Variable("x"), Variable("y")
>>> rule = Rule(Literal("path", (x, y)), (Literal("edge", (x, y)),))
>>> rules = Stream.of(WEIGHTED, [Weighted({rule: 1}), Weighted(), Weighted({rule: -1})])
>>> facts = Stream.of(WEIGHTED, [Weighted(), Weighted({("edge", (1, 2)): 1})])
>>> [dict(change) for change in interpreted(rules, facts).prefix(3)]
[{}, {('edge', (1, 2)): 1, ('path', (1, 2)): 1}, {('path', (1, 2)): -1}]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from tidelog.dbsp.streams import Stream, incremental, lift, recursive
from tidelog.program.rules import Literal, Rule
from tidelog.program.syntax import Constant, Variable

Fact = tuple[str, tuple[Any, ...]]
Rewrite = Mapping[str, Any]


class Weighted(dict[Hashable, int]):
    """A Z-set of any values, for definitions: elements with weights other than 0."""

    def distinct(self) -> Weighted:
        return Weighted({each: 1 for each, weight in self.items() if weight > 0})


class _Weighted:
    zero = Weighted()

    def add(self, a: Weighted, b: Weighted) -> Weighted:
        sums = {each: a.get(each, 0) + b.get(each, 0) for each in (*a, *b)}
        return Weighted({each: weight for each, weight in sums.items() if weight})

    def negate(self, a: Weighted) -> Weighted:
        return Weighted({each: -weight for each, weight in a.items()})


WEIGHTED = _Weighted()


def unified(atom: Literal, rewrite: Rewrite, row: tuple[Any, ...]) -> Rewrite | None:
    """The rewrite, extended so that it makes the atom this row; None if there is none."""
    extended = dict(rewrite)
    for term, value in zip(atom.terms, row, strict=True):
        if isinstance(term, Constant) and term.value != value:
            return None
        if isinstance(term, Variable) and extended.setdefault(term.name, value) != value:
            return None
    return extended


def product(rewrites: Iterable[Rewrite], atom: Literal, facts: Iterable[Fact]) -> Iterator[Rewrite]:
    """Σ ⊗ atom (Definition 3.2)."""
    rows = [row for relation, row in facts if relation == atom.relation]
    for rewrite in rewrites:
        for row in rows:
            extended = unified(atom, rewrite, row)
            if extended is not None:
                yield extended


def consequences(rules: Weighted, facts: Weighted) -> Weighted:
    """T(Π, F): the heads of rules under all rewrites of their bodies, each once."""
    found: dict[Hashable, int] = {}
    for rule in rules:
        assert isinstance(rule, Rule)
        rewrites: list[Rewrite] = [{}]
        for atom in rule.body:
            assert isinstance(atom, Literal)
            rewrites = list(product(rewrites, atom, facts))  # type: ignore[arg-type]
        for rewrite in rewrites:
            found[rule.head.relation, _grounded(rule.head, rewrite)] = 1
    return Weighted(found)


def _grounded(head: Literal, rewrite: Rewrite) -> tuple[Any, ...]:
    return tuple(
        rewrite[term.name] if isinstance(term, Variable) else getattr(term, "value", None)
        for term in head.terms
    )


def materialised(rules: Weighted, facts: Weighted) -> Weighted:
    """The least fixpoint of distinct(E + T(Π, F)), as the stream of its rounds comes to an end."""

    def round(explicit: Weighted, found: Weighted) -> Weighted:
        return WEIGHTED.add(explicit, consequences(rules, found)).distinct()

    return recursive(round, WEIGHTED, WEIGHTED)(facts)


def interpreted(rules: Stream[Weighted], facts: Stream[Weighted]) -> Stream[Weighted]:
    """Figure 1: changes of rules and of facts are integrated, and what follows differentiated."""
    return incremental(lift(materialised))(rules, facts)
