"""The examples on DBSP in "Incremental Evaluation of Dynamic Datalog Programs" (section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.dbsp import (
    Stream,
    Streams,
    Symbols,
    ZSet,
    ZSets,
    delay,
    eliminate,
    incremental,
    integrate,
    introduce,
    lift,
)

PAIRS = ZSets(2)
AB, BC, CD = ("a", "b"), ("b", "c"), ("c", "d")
names = Symbols()


def stream(values: Iterable[Mapping[tuple[str, str], int]]) -> Stream[ZSet]:
    return Stream.of(PAIRS, [names.zset(value, width=2) for value in values])


def shown(s: Stream[ZSet], times: int) -> list[dict[tuple[str | int, ...], int]]:
    return [names.rows(z) for z in s.prefix(times)]


def test_example_4_1_delay_toset_and_todif() -> None:
    s = stream([{AB: 1}, {BC: 2}, {CD: 1}])
    changes = stream([{AB: -1}, {BC: 2}, {CD: -1}])
    short = stream([{AB: 1}, {BC: 2}])
    assert shown(lift(ZSet.distinct)(s), 3) == [{AB: 1}, {BC: 1}, {CD: 1}]
    assert shown(lift(ZSet.sign)(changes), 3) == [{AB: -1}, {BC: 1}, {CD: -1}]
    assert shown(delay(short), 3) == [{}, {AB: 1}, {BC: 2}]


def test_example_4_2_integration() -> None:
    """With the weight 2 for ("b", "c") that the example's sums have."""
    changes = stream([{AB: 1}, {BC: 2}, {CD: 1}])
    assert shown(integrate(changes), 3) == [
        {AB: 1},
        {AB: 1, BC: 2},
        {AB: 1, BC: 2, CD: 1},
    ]


COPY, STEP = 1, 2  # t(x, y) :- e(x, y).   t(x, z) :- t(x, y), e(y, z).


def consequences(rules: ZSet, facts: ZSet) -> ZSet:
    """T: what rules, which are rows themselves, derive from facts in one application.

    The body of the second rule has two atoms, so that T is quadratic in the facts.
    """
    copies = rules.select(lambda rule: rule == COPY).join(facts, [], (1, 2))
    pairs = facts.join(facts, [(1, 0)], (0, 3))
    return copies + rules.select(lambda rule: rule == STEP).join(pairs, [], (1, 2))


def test_example_4_3_immediate_consequence_is_not_bilinear() -> None:
    """The formula for bilinear operators misses what two facts of different times derive."""
    facts = stream([{AB: 1}, {BC: 1}])
    rules = Stream.of(ZSets(1), [ZSet.of([(COPY,)]), ZSet.of([(STEP,)])])
    T = lift(consequences, PAIRS)
    by_formula = (
        T(rules, facts) + T(delay(integrate(rules)), facts) + T(rules, delay(integrate(facts)))
    )
    correct = incremental(T)(rules, facts)
    assert shown(by_formula, 1) == shown(correct, 1) == [{AB: 1}]
    assert names.rows(integrate(correct)[1]) == {AB: 1, BC: 1, ("a", "c"): 1}
    assert names.rows(integrate(by_formula)[1]) == {AB: 1, BC: 1}


def test_example_4_5_nested_streams_introduction_and_elimination() -> None:
    facts = stream([{AB: 1}, {BC: 1}])
    assert shown(introduce(facts[0], PAIRS), 3) == [{AB: 1}, {}, {}]
    within = lift(lambda z: introduce(z, PAIRS), Streams(PAIRS))(facts)
    assert [shown(inner, 2) for inner in within.prefix(2)] == [[{AB: 1}, {}], [{BC: 1}, {}]]
    assert names.rows(eliminate(facts)) == {AB: 1, BC: 1}
    assert shown(lift(eliminate, PAIRS)(within), 2) == [{AB: 1}, {BC: 1}]
    assert shown(eliminate(within, times=2), 2) == [{AB: 1, BC: 1}, {}]
