"""The worked examples of the papers, by name, with the sets that they give."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

import pytest

from tests.algorithms import ALGORITHMS
from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import ENGINES, World, one_stratum

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)
engines = pytest.mark.parametrize("on", ENGINES)
NOTHING = (frozenset[Fact](), frozenset[Fact]())


def world(text: str, facts: Iterable[Fact], on: str = "python", together: bool = True) -> World:
    """The program in one stratum, as the papers have it, or in as many as there are."""
    core = checked(text)
    more = {"stratify": one_stratum} if together else {}
    return World(core.relations.values(), core.rules, facts, on, **more)


def numbers(world: World, relation: str) -> dict[str, int]:
    return dict(world.works(relation).numbers)


# Motik, Nenov, Piro and Horrocks (2015), section 1: the chain C_1 to C_n.

LENGTH = 9
CHAIN = ".decl A(x: symbol) .decl B(x: symbol) C1(x) :- A(x). C1(x) :- B(x)." + "".join(
    f"C{i}(x) :- C{i - 1}(x)." for i in range(2, LENGTH + 1)
)
A, B = ("A", ("a",)), ("B", ("a",))


@engines
@algorithms
@pytest.mark.parametrize("together", [True, False])
def test_chain(algorithm: str, on: str, together: bool) -> None:
    """Each C_i(a) has a derivation from A(a) and one from B(a): it stays while one of them does."""
    chain = world(CHAIN, [A, B], on, together)
    assert chain.change(algorithm, delete=[A]) == ({A}, frozenset())
    D, _ = chain.change(algorithm, delete=[B])
    assert {B, *((f"C{i}", ("a",)) for i in range(1, LENGTH + 1))} == D
    assert chain.state == frozenset()


def test_chain_is_overdeleted_by_dred() -> None:
    chain = world(CHAIN, [A, B])
    chain.change("dred", delete=[A])
    assert numbers(chain, "C1") == {
        "|D|": LENGTH,
        "DR2": LENGTH,  # from A(a), and from each C_i(a) but the last
        "DR4": 1,
        "DR5": LENGTH - 1,
    }


def test_chain_is_checked_once_by_bf() -> None:
    """C_1(a) is proved from B(a), and no other C_i(a) is considered."""
    chain = world(CHAIN, [A, B])
    chain.change("bf", delete=[A])
    assert numbers(chain, "C1") == {"|C|": 1, "del prop": 1, "saturate": 1, "DR5": 0}


def test_chain_is_not_entered_by_counters() -> None:
    for algorithm in ("dredc", "bfc"):
        chain = world(CHAIN, [A, B])
        chain.change(algorithm, delete=[])
        chain.change(algorithm, delete=[A])
        work = chain.works("C1")
        assert work.numbers["|D|"] + work.numbers["DR2"] == 0


# The same, Table 1: teaching assistants, persons and courses.

TABLE_1 = """
.decl Tutor(x: symbol, y: symbol)
TA(x) :- Person(x), Tutor(x, y), Course(y).
Person(x) :- TA(x).
Person(x) :- Tutor(x, y).
Course(y) :- Tutor(x, y).
"""
E1, E2, E3 = (("Tutor", pair) for pair in (("john", "math"), ("peter", "math"), ("john", "phys")))
I1, I2, I3 = ("Person", ("peter",)), ("TA", ("peter",)), ("Course", ("math",))
I4, I5, I6 = ("Person", ("john",)), ("TA", ("john",)), ("Course", ("phys",))


@engines
@algorithms
@pytest.mark.parametrize("together", [True, False])
def test_table_1(algorithm: str, on: str, together: bool) -> None:
    tutors = world(TABLE_1, [E1, E2, E3], on, together)
    assert tutors.state == {E1, E2, E3, I1, I2, I3, I4, I5, I6}
    assert tutors.change(algorithm, delete=[E1]) == ({E1}, frozenset())
    assert tutors.change(algorithm, delete=[E3]) == ({E3, I4, I5, I6}, frozenset())
    assert tutors.change(algorithm, insert=[E1]) == (frozenset(), {E1, I4, I5})
    assert tutors.state == {E1, E2, I1, I2, I3, I4, I5}


def test_table_1_is_overdeleted_by_dred() -> None:
    """All implicit facts but (I6) are deleted in DR3, only to be rederived in DR4 and DR5."""
    tutors = world(TABLE_1, [E1, E2, E3])
    tutors.change("dred", delete=[E1])
    heads = {instance.head for instance in tutors.logged("DR2")}
    assert heads == {I1, I2, I3, I4, I5}
    assert numbers(tutors, "TA")["|D|"] == 5
    assert {instance.head for instance in tutors.logged("DR4", "DR5")} == heads


def test_table_1_is_left_alone_by_bf() -> None:
    """From (E1) deletion derives (I3) to (I5); these are proved, with (I6) as support of (I5),
    so nothing else is examined."""
    tutors = world(TABLE_1, [E1, E2, E3])
    tutors.change("bf", delete=[E1])
    assert {instance.head for instance in tutors.logged("del prop")} == {I3, I4, I5}
    assert {fact for i in tutors.logged("backward") for fact in i.body} == {E3, I4, I6}
    assert {i.head for i in tutors.logged("saturate")} >= {I3, I4, I5, I6}
    assert numbers(tutors, "TA")["|C|"] == 4  # I3 to I6
    assert tutors.logged("DR5") == []


# The same, section 5: a clique, as of :hasSameHomeTownWith in UOBM.

SIZE = 7
CLIQUE = """
.decl T(x: number, y: number)
T(x, y) :- T(y, x).
T(x, z) :- T(x, y), T(y, z).
"""
TOWNS = [("T", (i, i + 1)) for i in range(SIZE - 1)]
EVERY = {("T", (i, j)) for i in range(SIZE) for j in range(SIZE)}


@engines
@algorithms
def test_clique(algorithm: str, on: str) -> None:
    back = ("T", (1, 0))
    clique = world(CLIQUE, [*TOWNS, back], on)
    assert clique.state == EVERY
    assert clique.change(algorithm, delete=[TOWNS[0]]) == NOTHING
    D, _ = clique.change(algorithm, delete=[back])
    assert {("T", (i, j)) for _, (i, j) in EVERY if 0 in (i, j)} == D


def test_clique_is_cubic_for_dred_and_one_step_for_bf() -> None:
    """If T(b, a) is explicit, T(a, b) follows by one rule instance; DRed deletes the clique."""
    back = ("T", (1, 0))
    for algorithm in ("dred", "bf"):
        clique = world(CLIQUE, [*TOWNS, back])
        clique.change(algorithm, delete=[TOWNS[0]])
        found = numbers(clique, "T")
        if algorithm == "dred":
            assert found["|D|"] == SIZE**2
            assert found["DR2"] == SIZE**3 + SIZE**2
        else:
            assert clique.works("T").instances < SIZE**2
            assert found["del prop"] == 0


# Hu, Motik and Horrocks (2022), Examples 1 and 2: transitive and symmetric-transitive closure.

TRANSITIVE = ".decl R(x: number, y: number) R(x, z) :- R(x, y), R(y, z)."
SYMMETRIC = TRANSITIVE + "R(y, x) :- R(x, y)."


@engines
@algorithms
def test_example_1(algorithm: str, on: str) -> None:
    n = 8
    line = world(TRANSITIVE, [("R", (i, i + 1)) for i in range(n)], on)
    assert line.state == {("R", (i, j)) for i in range(n + 1) for j in range(i + 1, n + 1)}
    D, A = line.change(algorithm, delete=[("R", (3, 4))])
    assert frozenset() == A
    assert {("R", (i, j)) for i in range(4) for j in range(4, n + 1)} == D
    assert line.change(algorithm, insert=[("R", (3, 4))]) == (A, D)


def test_example_1_considers_each_instance_once() -> None:
    n = 8
    line = world(TRANSITIVE, [("R", (i, i + 1)) for i in range(n)])
    assert line.engine.instances == comb(n + 1, 3)
    line.change("recompute", delete=[("R", (7, 8))])
    assert numbers(line, "R")["apply"] == comb(n, 3)


@engines
@algorithms
def test_example_2(algorithm: str, on: str) -> None:
    """The cycle stays connected without one of its edges, and falls apart without two."""
    n = 6
    ring = world(SYMMETRIC, [("R", (i, (i + 1) % n)) for i in range(n)], on)
    assert ring.state == {("R", (i, j)) for i in range(n) for j in range(n)}
    assert ring.change(algorithm, delete=[("R", (5, 0))]) == NOTHING
    D, _ = ring.change(algorithm, delete=[("R", (2, 3))])
    assert {("R", (i, j)) for i in range(n) for j in range(n) if (i < 3) != (j < 3)} == D


# Nicolas and Yazdanian (1983), by Motik et al.: a fact must not keep its own counter up.

SELF = ".decl e(x: number) p(x) :- e(x). p(x) :- q(x). q(x) :- p(x)."


@engines
@algorithms
def test_a_fact_is_no_reason_for_itself(algorithm: str, on: str) -> None:
    loop = world(SELF, [("e", (1,)), ("e", (2,))], on)
    assert loop.change(algorithm, delete=[("e", (1,))])[0] == {(r, (1,)) for r in "epq"}
    assert loop.change(algorithm, insert=[("q", (1,))])[1] == {("p", (1,)), ("q", (1,))}
    assert loop.change(algorithm, delete=[("q", (1,))])[0] == {("p", (1,)), ("q", (1,))}


# Rules that come and go; strata change with them.


@engines
@algorithms
@pytest.mark.parametrize("phases", ["one", "two", "old"])
def test_a_rule_that_goes_and_comes_back(algorithm: str, on: str, phases: str) -> None:
    tutors = world(TABLE_1, [E1, E2, E3], on, together=False)
    everything = tutors.state
    R2, R3 = (rule for rule in tutors.rules if rule.head.relation == "Person")
    # Without (R3) nobody is a person to begin with, and (R2) has nothing to work with.
    assert tutors.change(algorithm, gone=[R3], phases=phases)[0] == {I1, I2, I4, I5}
    assert tutors.change(algorithm, insert=[I2], phases=phases)[1] == {I1, I2}
    assert tutors.change(algorithm, gone=[R2], come=[R3], phases=phases)[1] == {I4, I5}
    assert tutors.change(algorithm, delete=[I2], come=[R2], phases=phases) == NOTHING
    assert tutors.state == everything
