"""As few strata as possible, the setting of papers without strata: the same law, their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random

import pytest

from bench.stepwise.matching import Fact, Facts, Instance, Rules
from tests.algorithms import ALGORITHMS
from tests.law.histories import history
from tests.law.replay import any_of_them, replay
from tests.maintain.histories import History, checked
from tests.maintain.test_examples import E1, E2, E3, I3, I4, I5, TABLE_1, numbers
from tests.maintain.worlds import ENGINES, World
from tidelog import Database
from tidelog.plan.strata import fewest, strata
from tidelog.program.rules import Rule, Stratum

SEEDS = [("python", seed) for seed in range(5000, 5004)]
SEEDS += [("local", seed) for seed in range(5000, 5012)]


def few(relations: Iterable[str], rules: Sequence[Rule]) -> Sequence[Stratum]:
    return fewest(strata(relations, rules))


# The law.


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("on", "seed"), SEEDS)
def test_maintaining_equals_recomputing(on: str, seed: int, algorithm: str) -> None:
    told = History(seed, on, stratify=few)
    for _ in range(5):
        told.step(algorithm)


@pytest.mark.parametrize(("on", "seed"), SEEDS)
def test_algorithms_may_follow_each_other(on: str, seed: int) -> None:
    told = History(1000 + seed, on, stratify=few)
    for _ in range(10):
        told.step(told.random.choice(sorted(ALGORITHMS)))


@pytest.mark.parametrize("seed", range(9000, 9030))
def test_databases_keep_the_law_when_rules_change(seed: int) -> None:
    choices = {"any": any_of_them(seed)}
    replay(history(seed), choices, partial(Database, one_stratum=True))


# Which strata there are.


def names(text: str) -> list[set[str]]:
    core = checked(text)
    return [set(each.relations) for each in fewest(core.strata, core.limits)]


CHAIN = ".decl a(x: number) .decl b(x: number) b(x) :- a(x). c(x) :- b(x). c(x) :- c(x), b(x)."


def test_all_relations_are_one_stratum_also_those_without_rules() -> None:
    assert names(CHAIN) == [{"a", "b", "c"}]


def test_negation_and_aggregates_separate_two_strata() -> None:
    text = CHAIN + "d(x) :- a(x), !c(x). e(x) :- d(x). f(n) :- n = count : c(_)."
    assert names(text) == [{"a", "b", "c"}, {"d", "e", "f"}]


def test_a_relation_that_waits_for_another_is_in_a_higher_stratum() -> None:
    text = CHAIN + "d(x) :- a(x), !c(x). e(x) :- b(x), !d(x). g(x) :- e(x), a(x)."
    assert names(text) == [{"a", "b", "c"}, {"d"}, {"e", "g"}]


def test_choice_and_limits_have_strata_of_their_own() -> None:
    text = CHAIN + ".decl first(x: number) choice-domain x first(x) :- c(x). last(x) :- first(x)."
    assert names(text) == [{"a", "b", "c"}, {"first"}, {"last"}]
    assert names(CHAIN + ".limitsize b(n=5)") == [{"a"}, {"b"}, {"c"}]


def test_rules_that_are_added_and_removed_keep_strata_few() -> None:
    db = Database(CHAIN + "d(x) :- c(x).", {"a": [(1,)]}, one_stratum=True)
    with db.transaction(algorithm="dred") as tx:
        tx.add_rule("e(x) :- d(x).")
        tx.delete("a", [(1,)])
    assert tx.report.numbers["|D|"] == 4  # a, b, c and d
    with db.transaction(algorithm="dred") as tx:
        tx.add_rule("g(x) :- a(x), !d(x).")
        tx.insert("a", [(2,)])
    assert [set(work.relations) for work in tx.report.works] == [{"a", "b", "c", "d", "e"}, {"g"}]
    with db.transaction(algorithm="dred") as tx:
        tx.remove_rule("g(x) :- a(x), !d(x).")
        tx.insert("a", [(3,)])
    assert len(db.core.state.book.strata) == 1
    assert sorted(db["e"]) == [(2,), (3,)]


def test_queries_by_demand() -> None:
    text = CHAIN + "p(x, y) :- q(x, y). p(x, z) :- p(x, y), q(y, z)."
    db = Database(text, {"q": [(1, 2), (2, 3), (4, 5)]}, one_stratum=True)
    assert db.query("p(1, x)", demand=True) == db.query("p(1, x)") == [(2,), (3,)]


# The numbers of Motik et al. (2015), Table 1: (E1) is deleted. The paper names the facts; the
# instances follow from its rules (5) and (6) and from Algorithms 1 to 3.
COLUMNS = {
    # (E1) and (I1) to (I5): "all implicit facts apart from (I6) get deleted".
    ("dred", "|D|"): 6,
    ("dred", "DR2"): 7,  # (R1) three times, (R2) twice, (R3) and (R4) once
    ("dred", "DR4"): 3,  # (I1), (I3) and (I4), from (E2) and (E3)
    ("dred", "DR5"): 4,  # (I5) and (I2) by (R1), and (R2) for each of them
    ("dredc", "|D|"): 6,
    ("dredc", "DR2"): 7,
    ("dredc", "DR5"): 4,
    ("bf", "|C|"): 7,  # (E1), (I3) to (I5), and their support (E2), (E3) and (I6)
    ("bf", "backward"): 4,  # one instance for each of (I3) to (I6)
    ("bf", "del prop"): 3,  # (I3) to (I5), from (E1)
    ("bf", "DR5"): 0,
    ("bfc", "|C|"): 7,
    ("bfc", "backward"): 4,
    ("bfc", "del prop"): 3,
    ("bfc", "DR5"): 0,
}


@pytest.mark.parametrize("on", ENGINES)
@pytest.mark.parametrize(("algorithm", "column"), COLUMNS)
def test_columns_of_table_1(algorithm: str, column: str, on: str) -> None:
    core = checked(TABLE_1)
    tutors = World(core.relations.values(), core.rules, [E1, E2, E3], on, few)
    tutors.change(algorithm, delete=[E1])
    assert numbers(tutors, "Tutor").get(column) == COLUMNS[algorithm, column]


@pytest.mark.parametrize("algorithm", ["bf", "bfc"])
def test_table_1_saturates_by_sets_as_printed(algorithm: str) -> None:
    """(R1) for (I5), (R2) for (I4), (R3) for (I4) and, delayed, for (I1), (R4) for (I3) and (I6).
    Fact by fact there is nothing left to saturate: each is proved when its support is found."""
    core = checked(TABLE_1)
    for on, instances in (("python", 6), ("local", 0)):
        tutors = World(core.relations.values(), core.rules, [E1, E2, E3], on, few)
        tutors.change(algorithm, delete=[E1])
        assert numbers(tutors, "Tutor")["saturate"] == instances
        if on == "python":
            assert {instance.head for instance in tutors.logged("del prop")} == {I3, I4, I5}


LINEAR = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
PROGRAMS = {
    "linear": LINEAR,
    "nonlinear": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "symmetric": LINEAR + "p(y, x) :- p(x, y).",
    "mutual": "p(x, y) :- e(x, y), p(y, x). e(y, x) :- p(x, y). p(x, x) :- e(x, x).",
    "tests": "t(x) :- q(x), e(x, y), p(y, z). q(x) :- t(x). q(x) :- e(x, y). p(y, y) :- e(x, y).",
}


def dred_as_printed(rules: Rules, explicit: Iterable[Fact], gone: Sequence[Fact]) -> Counter[str]:
    """Steps DR1 to DR5 with each instance once, as in section 3: what the columns count."""
    E, I, counted = dict.fromkeys(explicit), Facts(), Counter[str]()

    def insert(N: set[Fact], column: str) -> None:
        while N := {fact for fact in N if fact not in I}:
            for fact in N:
                I.add(fact)
            found = {each for fact in N for each in rules.touching(fact, I)}
            counted[column] += len(found)
            N = {instance.head for instance in found}

    insert(set(E), "")
    D, N = set[Fact](), set(gone)
    while N := N - D:
        found: set[Instance] = set()
        for fact in N:
            found |= {each for each in rules.touching(fact, I) if D.isdisjoint(each.body)}
        counted["DR2"] += len(found)
        D |= N
        N = {instance.head for instance in found}
    counted["|D|"] = len(D)
    for fact in D:
        I.remove(fact)
    again = [instance for fact in D for instance in rules.deriving(fact, I)]
    counted["DR4"] = len(again)
    left = (E.keys() - set(gone)) & D
    insert(left.union(instance.head for instance in again), "DR5")
    return counted


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(12))
def test_columns_are_those_of_dred_as_printed(program: str, seed: int) -> None:
    """But the engine rederives a fact by one instance, and takes one where only existence matters,
    as for y and z in `tests`."""
    random = Random(f"{program} {seed}")
    facts = {(random.choice("eeep"), (random.randrange(5), random.randrange(5))) for _ in range(12)}
    gone = random.sample(sorted(facts), random.choice((1, 2, 3)))
    text = ".decl e(x: number, y: number) .decl p(x: number, y: number) " + PROGRAMS[program]
    explicit = {name: [row for n, row in facts if n == name] for name in "ep"}
    db = Database(text, explicit, modules=False, one_stratum=True)
    with db.transaction(algorithm="dred") as tx:
        for name, row in gone:
            tx.delete(name, [row])
    printed = dred_as_printed(Rules.read(text), [Fact(*f) for f in facts], [Fact(*f) for f in gone])
    found = tx.report.numbers
    assert found["|D|"] == printed["|D|"]
    assert (found["DR4"] > 0) == (printed["DR4"] > 0)
    assert found["DR4"] <= printed["DR4"]
    for column in ("DR2", "DR5"):
        if program == "tests":
            assert found[column] <= printed[column]
        else:
            assert found[column] == printed[column]
