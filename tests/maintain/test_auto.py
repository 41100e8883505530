"""Auto: what it chooses, and why."""

from __future__ import annotations

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import ENGINES, World, naive
from tidelog.local import proof_search
from tidelog.maintain import costs, materialise
from tidelog.maintain.costs import Costs
from tidelog.maintain.driver import auto

engines = pytest.mark.parametrize("on", ENGINES)

PATHS = """
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
far(x) :- path(x, y), y > 3.
"""
LINE: list[Fact] = [("edge", (i, i + 1)) for i in range(5)]


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it pay to count derivations, or is any change much."""
    monkeypatch.setattr(auto, "SMALL", -1)
    monkeypatch.setattr(auto, "TINY", -1)
    monkeypatch.setattr(auto, "QUICK", 0.0)
    monkeypatch.setattr(auto, "COUNT", 1e9)
    monkeypatch.setattr(auto, "A_FACT", 1e9)
    monkeypatch.setattr(auto, "MUCH", 0)
    monkeypatch.setattr(costs, "PATIENCE", 1e9)


def paths(on: str) -> World:
    core = checked(PATHS)
    return World(core.relations.values(), core.rules, LINE, on, modules=False)


def choice(world: World, relation: str) -> tuple[str, str]:
    work = world.works(relation)
    return work.algorithm, work.why


@engines
def test_insertion_needs_no_search(on: str) -> None:
    world = paths(on)
    world.change("auto", insert=[("edge", (5, 6))])
    assert choice(world, "path") == ("insert", "nothing is lost")
    assert choice(world, "far") == ("insert", "no recursion")


@engines
def test_without_recursion_one_step_checks(on: str) -> None:
    world = paths(on)
    world.change("auto", delete=[("edge", (4, 5))])
    assert choice(world, "far") == ("check", "no recursion")


@engines
def test_other_proofs_need_no_search(on: str) -> None:
    world = paths(on)
    world.change("auto", insert=[("path", (0, 1))])
    world.change("auto", delete=[("path", (0, 1))])
    assert choice(world, "path") == ("aged", "what is lost is followed")
    assert world.works("path").numbers["|D|"] == 0


@engines
def test_counters_that_are_in_step_are_used(on: str) -> None:
    world = paths(on)
    world.change("counting", delete=[("edge", (4, 5))])
    world.change("auto", insert=[("edge", (4, 5))])
    assert choice(world, "far") == ("counting", "no recursion, and derivations are counted")
    assert world.miscounts() == []


@engines
def test_without_ages_proofs_are_sought(on: str) -> None:
    world = paths(on)
    world.change("bf", delete=[("edge", (2, 3))])
    world.change("auto", delete=[("edge", (0, 1))])
    if world.engine.proofs is None:
        assert choice(world, "path") == ("dred", "what is lost is followed")
    else:
        assert choice(world, "path") == ("bf", "proofs are sought")
        assert world.works("path").numbers["|C|"] == 2
    world.change("recompute", insert=[("edge", (0, 1))])
    world.change("auto", delete=[("edge", (0, 1))])
    assert choice(world, "path") == ("aged", "what is lost is followed")


@engines
def test_a_search_that_takes_too_long_is_given_up(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PATIENCE", -1.0)
    monkeypatch.setattr(costs, "LEAST", -1.0)
    world = paths(on)
    D, A = world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("recompute", "aged takes longer")
    assert {f for f in D if f[0] == "path"} == {
        ("path", (i, j)) for i in range(3) for j in range(3, 6)
    }
    assert not A


def test_proofs_are_sought_where_deletion_by_age_took_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = paths("local")
    with monkeypatch.context() as patch:
        patch.setattr(costs, "PATIENCE", -1.0)
        patch.setattr(costs, "LEAST", -1.0)
        world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("recompute", "aged takes longer")
    world.change("auto", delete=[("edge", (0, 1))])
    assert choice(world, "path") == ("bf", "proofs are sought")
    assert world.state == naive(world.relations, world.rules, world.E)


def test_a_search_for_proofs_that_takes_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = paths("local")
    world.memory.forget(["path"])  # its ages
    monkeypatch.setattr(proof_search, "SOON", 0)
    for limit in ("PATIENCE", "LEAST", "PLAN"):
        monkeypatch.setattr(costs, limit, -1.0)
    path = next(stratum for stratum in world.strata if "path" in stratum.relations)
    known = world.memory.costs(path)
    known.recompute = 1e-12
    world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("recompute", "bf takes longer")
    assert known.proofs is False
    assert world.state == naive(world.relations, world.rules, world.E)


@engines
def test_small_strata_are_tried_from_scratch(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "SMALL", 100)
    world = paths(on)
    monkeypatch.setattr(costs, "LEAST", 0.0)
    for i in (5, 6):
        world.change("auto", insert=[("edge", (i, i + 1))])
        assert choice(world, "far") == ("insert", "no recursion")
    world.change("auto", insert=[("edge", (7, 8))])
    assert choice(world, "far") == ("recompute", "quicker from scratch")


def test_what_is_quicker_is_done_and_the_other_not_forgotten() -> None:
    known = Costs()
    assert not known.from_scratch(True, 10, counted=False, small=lambda: True)  # nothing is known
    known.followed(True, 10, 9.0)  # the first time says little
    assert not known.from_scratch(True, 10, counted=False, small=lambda: True)
    known.followed(True, 10, 1.0)
    assert known.from_scratch(True, 10, counted=False, small=lambda: True)
    assert not known.from_scratch(True, 10, counted=False, small=lambda: False)
    known.recomputed(0.5)
    assert known.from_scratch(True, 10, counted=False, small=lambda: False)
    assert not known.from_scratch(False, 10, counted=False, small=lambda: False)  # another kind
    times = 0
    while known.from_scratch(True, 10, counted=False, small=lambda: False):
        times += 1
    assert 2 <= times <= 20
    known.followed(True, 10, 1.0)
    assert known.from_scratch(True, 10, counted=False, small=lambda: False)


def test_counters_stay_if_they_save_time_once_their_plans_are_made() -> None:
    for seconds, stay in ((0.2, True), (0.6, False)):
        known = Costs()
        known.recomputed(1.0)
        assert not known.due(0.5)
        for _ in range(3):
            known.followed(True, 1000, 0.5)
            known.searched(0.5)
        assert known.due(0.5)
        assert not known.due(2.0)
        known.begin_to_count()
        assert not known.due(0.5)
        known.counted(1000, 2.0)  # the first time says nothing
        assert known.counts is None
        known.counted(1000, seconds)
        assert known.counts is stay


@engines
def test_without_recursion_derivations_are_counted_where_that_is_quick(
    on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "QUICK", 1e9)
    monkeypatch.setattr(auto, "A_FACT", 1.0)
    world = paths(on)
    world.change("auto", insert=[("edge", (5, 6))])
    assert choice(world, "far") == ("insert", "no recursion")
    for change in ({"delete": [("edge", (2, 3))]}, {"insert": [("edge", (2, 3))]}):
        world.change("auto", **change)
        assert choice(world, "far") == ("counting", "no recursion, and derivations are counted")
        assert world.miscounts() == []


@engines
def test_where_much_changes_nothing_is_counted(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "QUICK", 1e9)
    monkeypatch.setattr(auto, "A_FACT", 1.0)
    monkeypatch.setattr(auto, "MUCH", 1e9)
    world = paths(on)
    world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "far") == ("check", "no recursion")


def test_counters_are_not_given_up_for_little() -> None:
    known = Costs()
    known.recomputed(0.1 * costs.LEAST)
    for _ in range(3):
        known.followed(True, 10, 0.5 * costs.LEAST)
    assert known.from_scratch(True, 10, counted=False, small=lambda: False)
    assert not known.from_scratch(True, 10, counted=True, small=lambda: False)
    for _ in range(9):
        known.followed(True, 10, 9 * costs.LEAST)
    assert known.from_scratch(True, 10, counted=True, small=lambda: False)


def test_once_is_enough_where_a_change_is_very_slow() -> None:
    known = Costs()
    known.recomputed(0.5)
    known.followed(True, 10, 3.0)
    assert known.from_scratch(True, 10, counted=False, small=lambda: False)


@engines
def test_many_deletions_are_a_reason_to_count(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "COUNT", 1e-9)
    monkeypatch.setattr(costs, "WORSE", 1e9)
    monkeypatch.setattr(costs, "CLEARLY", 1e9)
    monkeypatch.setattr(Costs, "counted", lambda *_: None)  # they are tried again and again
    world = paths(on)
    for _ in range(3):
        world.change("auto", delete=[("edge", (2, 3))])
        world.change("auto", insert=[("edge", (2, 3))])
    world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("dredc", "derivations are counted")
    assert world.miscounts() == []


@engines
def test_counters_that_do_not_pay_are_dropped(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "COUNT", 1e-9)
    monkeypatch.setattr(costs, "WORSE", 1e9)
    monkeypatch.setattr(costs, "CLEARLY", 1e9)
    monkeypatch.setattr(costs, "BETTER", 1e9)
    world = paths(on)
    chosen = []
    for _ in range(8):
        world.change("auto", delete=[("edge", (2, 3))])
        chosen.append(choice(world, "path")[0])
        world.change("auto", insert=[("edge", (2, 3))])
    assert chosen.count("dredc") == 2
    assert chosen[-1] == "aged"


@engines
def test_counting_that_takes_too_long_is_given_up(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "COUNT", 1e-9)
    monkeypatch.setattr(costs, "PLAN", 0.0)
    monkeypatch.setattr(costs, "CLEARLY", 1e9)
    monkeypatch.setattr(Costs, "patience_with_counters", lambda *_, **__: -1.0)
    world = paths(on)
    for _ in range(4):
        D, A = world.change("auto", delete=[("edge", (2, 3))])
        assert choice(world, "path")[0] != "dredc"
        assert {f for f in D if f[0] == "path"} == {
            ("path", (i, j)) for i in range(3) for j in range(3, 6)
        }
        assert not A
        world.change("auto", insert=[("edge", (2, 3))])


@engines
def test_closures_have_modules(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    core = checked(PATHS)
    world = World(core.relations.values(), core.rules, LINE, on)
    world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("dredc-mod", "closures have their own algorithm")


def test_plans_wait_until_recomputing_has_taken_as_long() -> None:
    known = Costs()
    known.recomputed(5 * costs.PLAN)
    assert known.waits(10, plans=lambda: 10)
    known.recomputed(6 * costs.PLAN)
    assert not known.waits(10, plans=lambda: 10)


def test_a_search_that_needs_plans_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PATIENCE", 0.5)
    known = Costs()
    known.recomputed(1.0)
    assert known.patience(plans=10) == 0.5 + 10 * costs.PLAN
    assert known.patience(plans=10**9) == 0.5 + 1.0
    for _ in range(costs.SEEN):
        known.followed(True, 10, 0.1)
    assert known.patience(plans=10) == 0.5


def test_once_it_has_plans_a_change_is_followed() -> None:
    known = Costs()
    known.followed(True, 10, 1.0)
    assert not known.waits(10, plans=lambda: 10)


@engines
def test_tiny_strata_are_recomputed_at_first(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "TINY", 100)
    monkeypatch.setattr(costs, "PLAN", 1.0)
    world = paths(on)
    world.change("auto", delete=[("edge", (4, 5))])
    assert choice(world, "path") == ("recompute", "quicker from scratch")
    world.change("auto", insert=[("edge", (4, 5))])
    assert choice(world, "path") == ("insert", "nothing is lost")


@engines
def test_a_fact_that_is_no_longer_explicit_is_a_deletion(
    on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = paths(on)
    world.change("auto", insert=[("path", (0, 1))])
    monkeypatch.setattr(auto, "TINY", 100)
    monkeypatch.setattr(costs, "PLAN", 1.0)
    world.change("auto", delete=[("path", (0, 1))])
    assert choice(world, "path") == ("recompute", "quicker from scratch")
