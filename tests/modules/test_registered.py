"""The law for modules that users register, alone, beside closures, and fed by other rules."""

from __future__ import annotations

import re

import pytest

from tests.maintain import closures
from tests.maintain.closures import History
from tests.modules.examples import (
    Each,
    Finished,
    Line43,
    Line50,
    Printed,
    PrintedSymmetric,
    Repaired,
)
from tidelog import Database, TidelogError
from tidelog.maintain import closure_seeds, materialise
from tidelog.modules import STANDARD, Levels, Module
from tidelog.modules.levels import floor_of
from tidelog.plan import analyse
from tidelog.text import parse

LEVELS = """
.decl given(who: number, level: number)
.decl manages(who: number, whom: number)
.decl cleared(who: number, level: number)
.decl knows(x: number, y: number)
cleared(x, n) :- given(x, n).
cleared(x, n - 1) :- cleared(x, n), n > 1.
cleared(x, n) :- manages(x, y), cleared(y, n), !given(y, n).
knows(x, y) :- cleared(x, 3), manages(y, x).
knows(x, z) :- knows(x, y), knows(y, z).
cleared(x, 2) :- knows(x, x).
"""
ALONE = """
.decl given(who: number, level: number)
.decl cleared(who: number, level: number)
cleared(x, n) :- given(x, n).
cleared(x, n - 1) :- cleared(x, n), n > 1.
"""
MODULAR = ("auto", "recompute", "dredc-mod", "bfc-mod", "dred", "bf")
KINDS: dict[str, tuple[type[Module], ...]] = {
    "each rule": (Each,),
    "each rule but closures": (*STANDARD, Each),
    "as if with states": (Finished,),
    "repaired": (Repaired, PrintedSymmetric),
}


@pytest.fixture(autouse=True)
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


@pytest.mark.parametrize("algorithm", MODULAR)
@pytest.mark.parametrize("program", [LEVELS, ALONE], ids=["fed", "alone"])
@pytest.mark.parametrize("seed", range(6))
def test_levels(seed: int, program: str, algorithm: str) -> None:
    history = History(program, seed, "local", modules=(Levels, *STANDARD))
    history.steady = 1.0 if seed % 2 else 0.9
    used = 0
    for _ in range(12):
        history.step(algorithm)
        used += any(Levels in map(type, each) for each in history.world.memory.closed.values())
    if history.steady == 1.0 and algorithm in ("dredc-mod", "bfc-mod"):
        assert used == 12


@pytest.mark.sampled(32)
@pytest.mark.parametrize("algorithm", MODULAR[:4])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_registered_modules_keep_the_law(seed: int, kinds: str, algorithm: str) -> None:
    history = History(closures.mixed(seed), seed, "local", modules=KINDS[kinds])
    for _ in range(10):
        history.step(algorithm)


@pytest.mark.parametrize("seed", range(8))
def test_algorithms_may_take_turns(seed: int) -> None:
    """States are lost, and built again or recomputed."""
    program = LEVELS if seed % 2 else closures.mixed(seed)
    history = History(program, seed, "local", modules=(Levels, *STANDARD, Finished))
    for _ in range(16):
        history.step(history.random.choice(MODULAR))


CIRCLE = """
.decl r(x: symbol, y: symbol)
.decl s(x: symbol, y: symbol)
r(x, z) :- r(x, y), r(y, z).
"""


def left(kinds: tuple[type[Module], ...] | bool, program: str, *updates: str) -> list[object]:
    db = Database(program, modules=kinds, algorithm="dredc-mod")
    for update in updates:
        with db.transaction() as t:
            for sign, name, row in re.findall(r"([+-])(\w)\((.*?)\)", update):
                (t.insert if sign == "+" else t.delete)(name, [tuple(row.split(","))])
    return sorted(db.relation("r"))


@pytest.mark.parametrize("kinds", [True, False, (Repaired,), (Each,)])
def test_a_fact_that_rests_on_itself_is_deleted(kinds: tuple[type[Module], ...] | bool) -> None:
    """r(a, c) follows from s(a, c), which follows from r(a, c)."""
    program = CIRCLE + "s(x, y) :- r(x, y). r(x, y) :- s(x, y)."
    updates = ("+s(a,c)", "+r(a,b) +r(b,c)", "-r(a,b) -s(a,c)")
    assert left(kinds, program, *updates) == [("b", "c")]


@pytest.mark.parametrize("kinds", [Printed, Line43, Line50])
def test_algorithm_5_as_printed_keeps_a_fact_that_rests_on_itself(kinds: type[Module]) -> None:
    program = CIRCLE + "s(x, y) :- r(x, y). r(x, y) :- s(x, y)."
    updates = ("+s(a,c)", "+r(a,b) +r(b,c)", "-r(a,b) -s(a,c)")
    assert left((kinds,), program, *updates) == [("a", "c"), ("b", "c")]


@pytest.mark.parametrize(("kind", "kept"), [(Line43, [("a", "c")]), (Line50, []), (Repaired, [])])
def test_algorithm_5_as_printed_misses_two_deleted_facts_that_meet(
    kind: type[Module], kept: list[object]
) -> None:
    updates = ("+r(a,b) +r(b,c)", "-r(a,b) -r(b,c)")
    assert left((kind,), CIRCLE, *updates) == kept
    assert left(True, CIRCLE, *updates) == []


def test_only_classes_of_modules_are_registered() -> None:
    with pytest.raises(TidelogError, match="expected classes of modules, got 'levels'"):
        Database(ALONE, modules=["levels"])  # type: ignore[list-item]


def test_databases_do_not_share_modules() -> None:
    facts = {"given": [(1, 50)]}
    one, other = Database(ALONE, facts=facts, modules=[Levels]), Database(ALONE, facts=facts)
    assert one.stats.instances < 10 < other.stats.instances
    assert sorted(one.relation("cleared")) == sorted(other.relation("cleared"))


@pytest.mark.parametrize(
    ("rule", "floor"),
    [
        ("r(x, n - 1) :- r(x, n), n > 3.", 3),
        ("r(x, m) :- n > 3, m = n - 1, r(x, n).", 3),
        ("r(x, n - 2) :- r(x, n), n > 3.", None),
        ("r(x, n - 1) :- r(x, n), n >= 3.", None),
        ("r(x, n - 1) :- r(x, n), n > x.", None),
        ("r(x, n - 1) :- r(x, n), x > 3.", None),
        ("r(n, n - 1) :- r(n, n), n > 3.", None),
        ("r(1, n - 1) :- r(1, n), n > 3.", None),
        ("r(x, n - 1) :- r(y, n), n > 3, x = y.", None),
        ("r(x, n - 1) :- r(x, n), n > 3, r(n, n).", None),
        ("r(x, 1 - n) :- r(x, n), n > 3.", None),
    ],
)
def test_which_rules_are_levels(rule: str, floor: int | None) -> None:
    checked = analyse(parse(f".decl r(x: number, n: number)\n{rule}").program).checked
    assert checked is not None
    assert [floor_of(rule) for rule in checked.rules] == [floor]
