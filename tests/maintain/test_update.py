"""The driver: what it visits and what it reports."""

from __future__ import annotations

import pytest

from tests.maintain.histories import checked
from tests.maintain.worlds import ENGINES, Unwatched, World
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.maintain.update import Update

engines = pytest.mark.parametrize("on", ENGINES)
WIDE = 300
PROGRAM = (
    ".decl a(x: number) .decl b(x: number)\n"
    + "".join(f"p{i}(x) :- a(x), x > {i}. q{i}(x) :- p{i}(x), !b(x).\n" for i in range(WIDE))
    + "r(x) :- b(x).\n"
)


def visited(world: World) -> list[str]:
    return [name for work in world.report.works for name in work.relations]


@pytest.mark.sampled(4)
@engines
@pytest.mark.parametrize("algorithm", BY_STRATUM)
def test_only_strata_that_the_change_reaches_are_visited(algorithm: str, on: str) -> None:
    core = checked(PROGRAM)
    world = World(core.relations.values(), core.rules, [("a", (WIDE,)), ("b", (5,))], on)
    world.change(algorithm, insert=[("a", (2,))])
    assert len(visited(world)) == 1 + WIDE + 2  # all p read a, and two of them change
    world.change(algorithm, delete=[("q7", (WIDE,))])
    assert visited(world) == []
    world.change(algorithm, insert=[("q7", (WIDE,)), ("r", (0,))])
    assert sorted(visited(world)) == ["q7", "r"]
    (rule,) = (rule for rule in core.rules if rule.head.relation == "p299")
    D, A = world.change(algorithm, gone=[rule])
    assert visited(world) == ["p299", "q299"]
    assert {("p299", (WIDE,)), ("q299", (WIDE,))} == D
    assert not A


@engines
def test_the_report_adds_up(on: str) -> None:
    core = checked(
        "p(x) :- e(x), !f(x). p(x) :- p(y), e(x), x = y + 1. .decl e(x: number) .decl f(x: number)"
    )
    world = World(core.relations.values(), core.rules, [("e", (i,)) for i in range(9)], on)
    D, A = world.change("dred", delete=[("e", (4,))], insert=[("f", (7,))])
    works = world.report.works
    inputs = tuple(name for s in world.strata for name in s.relations if name != "p")
    assert [work.relations for work in works] == [inputs, ("p",)]
    assert sum(work.deleted for work in works) == len(D)
    assert sum(work.added for work in works) == len(A)
    numbers = world.report.numbers
    assert world.report.instances == numbers["DR2"] + numbers["DR4"] + numbers["DR5"] > 0
    head, *_, total = world.report.table().splitlines()
    assert head.split() == [
        *("relations", "algorithm", "time", "(s)", "deleted", "added"),
        *("|D|", "DR2", "DR4", "DR5"),
    ]
    assert total.split()[2:4] == [str(len(D)), str(len(A))]


@engines
def test_no_fact_is_outside_the_materialisation_while_a_stratum_is_derived_anew(on: str) -> None:
    """One such fact would have joins look at the set of every fact."""
    core = checked(
        ".decl e(x: number) .decl f(x: number, y: number)\np(x) :- e(x). p(y) :- p(x), f(x, y)."
    )
    world = World(core.relations.values(), core.rules, [("e", (1,)), ("p", (2,))], on)
    engine, changed = world.engine, {("p", (5,)), ("p", (2,)), ("e", (3,))}
    X = engine.none()
    world.way.put(changed, X)
    u = Update(
        *(engine, engine.explicit, engine.all, Unwatched(), world.memory),
        *(X, engine.none(), engine.none()),
    )
    (stratum,) = (s for s in world.strata if "p" in s.relations)
    with u.anew(stratum):
        assert world.way.facts(X) == {("p", (2,)), ("e", (3,))}
        assert world.way.facts(engine.all) == {("e", (1,)), ("p", (2,))}
    assert world.way.facts(X) == changed
    assert world.way.facts(u.D) == {("p", (1,))}
    assert not u.A
    with pytest.raises(TimeoutError), u.anew(stratum):
        raise TimeoutError
    assert world.way.facts(X) == changed
