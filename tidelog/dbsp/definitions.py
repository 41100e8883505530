"""Datalog interpretation by its definitions: section 3 and Figure 1 of DYRE's paper.

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024). This says what is to be computed: streams of changes of rules and
facts go in, streams of changes of facts come out, and every value is computed from whole programs
and whole sets of facts. `dyre` is Figures 2 and 3, which compute the same from changes alone. For
positive programs without arithmetic.

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
Rewrite = frozenset[tuple[str, Any]]  # substitutions, of which no two share a variable
NOTHING: Rewrite = frozenset()  # Σ₀, the empty rewrite


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


def combined(a: Rewrite, b: Rewrite) -> Rewrite:
    """a ⊕ b (Definition 3.1): a variable of both is mapped as a does."""
    return frozenset((dict(b) | dict(a)).items())


def bound(atom: Literal, values: Mapping[str, Any]) -> dict[int, Any]:
    """The columns of an atom that are constants when a rewrite is applied to it."""
    found = {}
    for c, term in enumerate(atom.terms):
        if isinstance(term, Constant):
            found[c] = term.value
        elif isinstance(term, Variable) and term.name in values:
            found[c] = values[term.name]
    return found


def grounded(atom: Literal, rewrite: Rewrite) -> Fact:
    """The fact that an atom becomes, applied to a rewrite that maps all of its variables."""
    found = bound(atom, dict(rewrite))
    return atom.relation, tuple(found[c] for c in range(len(atom.terms)))


def extended(rewrite: Rewrite, atom: Literal, fact: Fact) -> Rewrite | None:
    """Unification and extension: Σ ⊕ the rewrite that makes the atom, with Σ applied, this fact;
    None if there is none."""
    relation, row = fact
    if relation != atom.relation:
        return None
    known, new = dict(rewrite), dict[str, Any]()
    for term, value in zip(atom.terms, row, strict=True):
        if isinstance(term, Variable):
            if known.get(term.name, value) != value or new.setdefault(term.name, value) != value:
                return None
        elif isinstance(term, Constant) and term.value != value:
            return None
    return combined(rewrite, frozenset(new.items()))


def product(rewrites: Iterable[Rewrite], atom: Literal, facts: Iterable[Fact]) -> Iterator[Rewrite]:
    """Σ ⊗ atom (Definition 3.2)."""
    facts = list(facts)
    for rewrite in rewrites:
        for fact in facts:
            found = extended(rewrite, atom, fact)
            if found is not None:
                yield found


def consequences(rules: Weighted, facts: Weighted) -> Weighted:
    """T(Π, F): the heads of rules under all rewrites of their bodies, each once."""
    found: dict[Hashable, int] = {}
    for rule in rules:
        assert isinstance(rule, Rule)
        rewrites = [NOTHING]
        for atom in rule.body:
            assert isinstance(atom, Literal)
            rewrites = list(product(rewrites, atom, facts))  # type: ignore[arg-type]
        for rewrite in rewrites:
            found[grounded(rule.head, rewrite)] = 1
    return Weighted(found)


def materialised(rules: Weighted, facts: Weighted) -> Weighted:
    """The least fixpoint of distinct(E + T(Π, F)), as the stream of its rounds comes to an end."""

    def round(explicit: Weighted, found: Weighted) -> Weighted:
        return WEIGHTED.add(explicit, consequences(rules, found)).distinct()

    return recursive(round, WEIGHTED, WEIGHTED)(facts)


def interpreted(rules: Stream[Weighted], facts: Stream[Weighted]) -> Stream[Weighted]:
    """Figure 1: changes of rules and of facts are integrated, and what follows differentiated."""
    return incremental(lift(materialised))(rules, facts)
