"""The laws of streams, from the definitions (DBSP, sections 2, 3 and 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dbsp.generate import (
    BILINEAR,
    LINEAR,
    QUERIES,
    T,
    grid,
    lawful,
    long,
    nested,
    streams,
    zsets,
)
from tidelog.dbsp import (
    Integers,
    Stream,
    Streams,
    ZSet,
    ZSets,
    delay,
    differentiate,
    eliminate,
    fixpoint,
    incremental,
    integrate,
    introduce,
    lift,
    recursive,
)
from tidelog.program.diagnostics import LimitError

PAIRS = ZSets(2)
S = Stream[ZSet]


def same(a: S, b: S) -> bool:
    return a.prefix(T + 2) == b.prefix(T + 2)


@lawful
@given(s=streams())
def test_integration_and_differentiation_are_inverse(s: S) -> None:
    assert same(integrate(differentiate(s)), s)
    assert same(differentiate(integrate(s)), s)


@lawful
@given(s=streams())
def test_the_integral_is_the_sum_so_far(s: S) -> None:
    sums = [sum((s[k] for k in range(1, t + 1)), s[0]) for t in range(T)]
    assert integrate(s).prefix(T) == sums


@lawful
@given(a=streams(), b=streams())
def test_delay_is_linear_and_time_invariant_operators_commute_with_it(a: S, b: S) -> None:
    assert delay(a)[0] == ZSet.zero(2)
    assert delay(a).prefix(T + 1)[1:] == a.prefix(T)
    assert same(delay(a + b), delay(a) + delay(b))
    for operator in (integrate, differentiate, lift(ZSet.distinct)):
        assert same(operator(delay(a)), delay(operator(a)))


@lawful
@given(a=streams(), b=streams())
def test_streams_are_a_group(a: S, b: S) -> None:
    zero = Streams(PAIRS).zero
    assert same(a + b, b + a)
    assert same(a + zero, a)
    assert same(a - a, zero)
    assert same((a + b) - b, a)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINEAR)
@lawful
@given(data=st.data())
def test_a_linear_query_is_its_own_incremental_form(name: str, data: st.DataObject) -> None:
    query = LINEAR[name]
    inputs = [data.draw(streams()) for _ in range(query.inputs)]
    lifted = lift(query.function, query.group)
    assert same(incremental(lifted)(*inputs), lifted(*inputs))


@pytest.mark.parametrize("name", BILINEAR)
@lawful
@given(a=streams(), b=streams())
def test_the_expansion_of_a_bilinear_query(name: str, a: S, b: S) -> None:
    """(a × b)^Δ = a × b + z⁻¹(I(a)) × b + a × z⁻¹(I(b))."""
    times = lift(BILINEAR[name].function, BILINEAR[name].group)
    expanded = times(a, b) + times(delay(integrate(a)), b) + times(a, delay(integrate(b)))
    assert same(incremental(times)(a, b), expanded)


@lawful
@given(a=streams())
def test_the_expansion_of_distinct(a: S) -> None:
    """distinct^Δ(d) = H(z⁻¹(I(d)), d): what comes above 0, and what falls to it."""

    def H(i: ZSet, d: ZSet) -> ZSet:
        rows = {row for row, _ in i} | {row for row, _ in d}
        changes = {x: (i[x] + d[x] > 0) - (i[x] > 0) for x in rows}
        return ZSet.of(changes, width=2)

    expanded = lift(H)(delay(integrate(a)), a)
    assert same(incremental(lift(ZSet.distinct))(a), expanded)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("outer", [n for n, q in QUERIES.items() if q.inputs == 1])
@pytest.mark.parametrize("inner", ["distinct", "count", "select"])
@long
@given(a=streams())
def test_the_chain_rule(outer: str, inner: str, a: S) -> None:
    """(Q1 ∘ Q2)^Δ = Q1^Δ ∘ Q2^Δ."""
    first = lift(QUERIES[inner].function, QUERIES[inner].group)
    second = lift(QUERIES[outer].function, QUERIES[outer].group)
    composed = incremental(second)(incremental(first)(a))
    assert same(incremental(lambda s: second(first(s)))(a), composed)


@lawful
@given(a=streams())
def test_the_rule_of_sums(a: S) -> None:
    """(Q1 + Q2)^Δ = Q1^Δ + Q2^Δ."""
    one, two = lift(ZSet.distinct), lift(QUERIES["count"].function)
    both = incremental(one)(a) + incremental(two)(a)
    assert same(incremental(lambda s: one(s) + two(s))(a), both)


@lawful
@given(a=streams())
def test_the_rule_of_cycles(a: S) -> None:
    """(λs. fix α. Q(s, z⁻¹(α)))^Δ = λs. fix α. Q^Δ(s, z⁻¹(α))."""
    query = lift(lambda s, α: (s + α.project((1, 0))).distinct())

    def cycle(s: S) -> S:
        return fixpoint(lambda α: query(s, delay(α)), PAIRS)

    incremental_cycle = fixpoint(lambda α: incremental(query)(a, delay(α)), PAIRS)
    assert same(incremental(cycle)(a), incremental_cycle)


@lawful
@given(z=zsets())
def test_introduction_and_elimination(z: ZSet) -> None:
    assert introduce(z, PAIRS).prefix(3) == [z, ZSet.zero(2), ZSet.zero(2)]
    assert eliminate(introduce(z, PAIRS)) == z
    assert integrate(introduce(z, PAIRS)).prefix(3) == [z, z, z]


@long
@given(s=nested())
def test_lifted_operators_work_on_the_inner_clock(s: Stream[S]) -> None:
    rows = grid(s)
    assert grid(lift(delay)(s)) == [[ZSet.zero(2), *row[:-1]] for row in rows]
    assert grid(delay(s)) == [[ZSet.zero(2)] * len(rows[0]), *rows[:-1]]
    assert grid(lift(integrate)(lift(differentiate)(s))) == rows
    assert grid(integrate(differentiate(s))) == rows
    assert grid(lift(integrate)(integrate(s))) == grid(integrate(lift(integrate)(s)))


@long
@given(a=streams(), b=streams())
def test_both_kinds_of_elimination_are_linear(a: S, b: S) -> None:
    assert eliminate(a + b, T) == eliminate(a, T) + eliminate(b, T)
    within = lift(lambda z: introduce(z, PAIRS), Streams(PAIRS))(a)
    assert same(lift(eliminate, PAIRS)(within), a)


EDGES = Stream.of(PAIRS, [ZSet.of([(1, 2), (2, 3), (3, 1), (3, 4)])])


def test_recursion_is_iteration_until_nothing_changes() -> None:
    def step(edges: ZSet, paths: ZSet) -> ZSet:
        return (edges + paths.join(edges, [(1, 0)], (0, 3))).distinct()

    paths = recursive(step, PAIRS, PAIRS)(EDGES[0])
    assert {row for row, _ in paths} == {(a, b) for a in (1, 2, 3) for b in (1, 2, 3, 4)}
    # Seminaive evaluation: ∫(fix α. (↑R)^Δ(δ₀(i), z⁻¹(α)))
    rounds = fixpoint(lambda α: incremental(lift(step))(EDGES, delay(α)), PAIRS)
    assert eliminate(rounds) == paths


def test_a_fixpoint_needs_a_delay() -> None:
    with pytest.raises(ValueError, match="looks at the present: it needs z⁻¹"):
        fixpoint(lambda α: α + EDGES, PAIRS)[0]


def test_a_stream_that_does_not_end_is_given_up() -> None:
    with pytest.raises(LimitError, match="error: after 100000 values, a stream has not become 0"):
        eliminate(Stream(Integers(), lambda t: 1))
    with pytest.raises(ValueError, match="say how many times"):
        eliminate(Stream(Streams(PAIRS), lambda t: EDGES))


def test_late_times_are_reached_without_deep_recursion() -> None:
    assert integrate(Stream(Integers(), lambda t: 1))[100_000] == 100_001


def test_time_begins_at_0() -> None:
    with pytest.raises(IndexError):
        EDGES[-1]
