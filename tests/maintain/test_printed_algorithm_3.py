"""Algorithm 3 of Hu, Motik and Horrocks (2019) as our copy prints it, and two updates that it gets
wrong (docs/papers.md, errata). One stratum above explicit facts, without negation; all modules are
seminaive."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact, Facts, PySet, instances
from tests.maintain.worlds import Set
from tidelog.program.rules import Rule

DECLARED = """
.decl e(x: number)
.decl f(x: number)
.decl d(x: number, y: number)
.decl q(x: number)
.decl p(x: number)
.decl h(x: number)
"""
NONRECURSIVE = "p(x) :- e(x). p(x) :- f(x)."
RECURSIVE = "p(y) :- p(x), d(x, y). h(x) :- p(x), q(x)."


def rules_of(text: str) -> tuple[Rule, ...]:
    return tuple(checked(DECLARED + text).rules)


def heads(rules: Sequence[Rule], I: set[Fact], touching: set[Fact] | None = None) -> set[Fact]:
    """Π[I], or Π[I : Δ]."""
    facts = Facts.of(PySet(I))
    found = (i for rule in rules for i in instances(rule, facts, facts))
    return {i.head for i in found if touching is None or touching & set(i.body)}


def add(rules: Sequence[Rule], I: set[Fact], N: set[Fact]) -> set[Fact]:
    J, new = set[Fact](), set(N)
    while new:
        new = heads(rules, I | J, new) - I - J
        J |= new
    return J


def overdelete(rules: Sequence[Rule], I: set[Fact], N: set[Fact], certain: set[Fact]) -> set[Fact]:
    """The lower bound of Definition 6."""
    J, new = set[Fact](), set(N)
    while new:
        new = heads(rules, I, new) - N - J - certain
        J |= new
    return J


def red(rules: Sequence[Rule], I: set[Fact], N: set[Fact]) -> set[Fact]:
    J = set[Fact]()
    while new := (heads(rules, (I - N) | J) & N) - J:
        J |= new
    return J


def algorithm_3(
    I: set[Fact], gone: Set, come: Set, filters: bool = False, passes: bool = False
) -> set[Fact]:
    """I after explicit facts of the stratum below are deleted and inserted.

    Repairs: `filters` leaves facts with C_nr > 0 out of Δ on lines 23 and 25; `passes` applies Add
    on line 39 also to what Red has returned.
    """
    nonrecursive, module = rules_of(NONRECURSIVE), rules_of(RECURSIVE)
    D, A = set(gone), set(come)
    delta = heads(nonrecursive, I, D - A)  # line 23
    certain = heads(nonrecursive, I - D)  # C_nr > 0
    delta |= heads(module, I, D - A)  # line 25
    if filters:
        delta -= certain
    own = set[Fact]()
    while delta:  # lines 26 to 30
        own = overdelete(module, I - (D - A), delta - own, certain)
        D |= delta
        delta = set(own)
    delta = heads(nonrecursive, (I - D) | A, A - D)  # line 32
    own = red(module, I, D - A)  # line 34
    delta |= own | heads(module, (I - D) | A, A - D)  # line 35
    if passes:
        own = set()
    while delta:  # lines 36 to 40
        A |= delta
        own = add(module, (I - D) | A, delta - own)
        delta = set(own)
    return (I - D) | A


def materialised(E: Set) -> set[Fact]:
    I = set(E)
    while new := heads(rules_of(NONRECURSIVE + RECURSIVE), I) - I:
        I |= new
    return I


def facts(text: str) -> Set:
    core = checked(DECLARED + text)
    return frozenset((name, row) for name, rows in core.facts.items() for row in rows)


def test_a_fact_with_another_nonrecursive_derivation_is_lost() -> None:
    E, gone = facts("e(1). f(1)."), facts("e(1).")
    assert materialised(E - gone) == facts("f(1). p(1).")
    assert algorithm_3(materialised(E), gone, frozenset()) == facts("f(1).")


def test_what_is_rederived_does_not_meet_new_lower_facts() -> None:
    """p(2) is overdeleted and rederived by the module; q(2), which is inserted, gives h(2)."""
    E, gone, come = facts("e(1). e(3). d(1, 2). d(3, 2)."), facts("e(1)."), facts("q(2).")
    expected = materialised((E - gone) | come)
    assert ("h", (2,)) in expected
    found = algorithm_3(materialised(E), gone, come, filters=True)
    assert found == expected - {("h", (2,))}


@pytest.mark.parametrize("seed", range(40))
def test_both_repairs_make_it_right(seed: int) -> None:
    random = Random(seed)

    def some(most: int) -> Set:
        arities = {"e": 1, "f": 1, "d": 2, "q": 1}
        names = random.choices([*arities, "d"], k=random.randint(1, most))
        return frozenset((n, tuple(random.randint(1, 4) for _ in range(arities[n]))) for n in names)

    E = some(12)
    gone, come = E & some(8), some(4) - E
    expected = materialised((E - gone) | come)
    assert algorithm_3(materialised(E), gone, come, filters=True, passes=True) == expected
