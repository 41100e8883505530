"""Auto: what it chooses, and why."""

from __future__ import annotations

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import ENGINES, World
from tidelog.maintain import auto, costs
from tidelog.maintain.costs import Costs

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
    monkeypatch.setattr(auto, "SMALL", -1)


def paths(on: str) -> World:
    core = checked(PATHS)
    return World(core.relations.values(), core.rules, LINE, on)


def choice(world: World, relation: str) -> tuple[str, str]:
    work = world.works(relation)
    return work.algorithm, work.why


@engines
def test_insertion_needs_no_search(on: str) -> None:
    world = paths(on)
    world.change("auto", insert=[("edge", (5, 6))])
    assert choice(world, "path") == ("insert", "nothing is lost")
    assert choice(world, "far") == ("bf", "no recursion")


@engines
def test_other_proofs_need_no_search(on: str) -> None:
    world = paths(on)
    world.change("auto", insert=[("path", (0, 1))])
    world.change("auto", delete=[("path", (0, 1))])
    assert choice(world, "path") == ("bf", "what is lost has other proofs")


@engines
def test_counters_that_are_in_step_are_used(on: str) -> None:
    world = paths(on)
    world.change("counting", delete=[("edge", (4, 5))])
    world.change("auto", insert=[("edge", (4, 5))])
    assert choice(world, "far") == ("counting", "no recursion, and derivations are counted")
    assert world.miscounts() == []


@engines
def test_a_search_that_takes_too_long_is_given_up(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "TRIAL", 0.0)
    world = paths(on)
    D, A = world.change("auto", delete=[("edge", (2, 3))])
    assert choice(world, "path") == ("recompute", "searches take longer; dred and bf given up")
    assert {f for f in D if f[0] == "path"} == {
        ("path", (i, j)) for i in range(3) for j in range(3, 6)
    }
    assert not A


def tried_once() -> Costs:
    """The first time indexes are made that stay: what it took is not remembered."""
    known = Costs()
    known.took("dred", 1, 9.0)
    known.gave_up("bf", 1, 9.0)
    return known


def test_what_has_not_been_tried_is_tried_first() -> None:
    known = tried_once()
    assert known.searches(1) == ["dred", "bf"]
    known.took("dred", 1, 0.1)
    assert known.searches(1) == ["bf", "dred"]
    assert known.budget("bf", 1) == pytest.approx(costs.TRIAL)
    known.took("bf", 1, 0.2)
    assert known.searches(1) == ["dred", "bf"]


def test_only_something_much_quicker_becomes_the_favourite() -> None:
    known = tried_once()
    known.took("dred", 1, 0.1)
    known.took("bf", 1, 0.06)
    assert known.searches(1)[0] == "dred"
    known.took("bf", 1, 0.01)
    assert known.searches(1)[0] == "bf"


def test_recomputing_is_first_where_searches_take_longer() -> None:
    known = tried_once()
    known.recomputed(1.0)
    known.gave_up("dred", 1, 0.6)
    known.gave_up("bf", 1, 0.2)
    assert known.searches(1) == ["bf"]
    # Changes of another size are another matter.
    assert known.searches(1000) == ["dred", "bf"]


def test_what_is_given_up_again_rests_for_longer() -> None:
    known = tried_once()
    known.recomputed(1.0)
    known.took("dred", 1, 0.1)
    rested = []
    for _ in range(20):
        found = known.searches(1)
        rested.append("bf" not in found)
        if "bf" in found:
            known.gave_up("bf", 1, 0.01)
    runs = "".join("-" if rest else "+" for rest in rested)
    assert runs.startswith("++--+------+")


def test_what_was_slow_is_tried_again_in_the_end() -> None:
    known = tried_once()
    known.recomputed(1.0)
    known.took("dred", 1, 0.9)
    known.gave_up("bf", 1, 0.7)
    assert any("bf" in known.searches(1) for _ in range(50))


@engines
def test_small_strata_are_tried_from_scratch(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "SMALL", 100)
    world = paths(on)
    for i in (5, 6):
        world.change("auto", insert=[("edge", (i, i + 1))])
        assert choice(world, "path") == ("insert", "nothing is lost")
    world.change("auto", insert=[("edge", (7, 8))])
    assert choice(world, "path") == ("recompute", "quicker from scratch")


def test_what_is_quicker_is_done_and_the_other_not_forgotten() -> None:
    known = Costs()
    assert not known.from_scratch(True, 10, small=True)  # nothing is known
    known.followed(True, 10, 9.0)  # the first time says little
    assert not known.from_scratch(True, 10, small=True)
    known.followed(True, 10, 1.0)
    assert known.from_scratch(True, 10, small=True)
    assert not known.from_scratch(True, 10, small=False)
    known.recomputed(0.5)
    assert known.from_scratch(True, 10, small=False)
    assert not known.from_scratch(False, 10, small=False)  # another kind of change
    times = 0
    while known.from_scratch(True, 10, small=False):
        times += 1
    assert 2 <= times <= 6
    known.followed(True, 10, 1.0)
    assert known.from_scratch(True, 10, small=False)
