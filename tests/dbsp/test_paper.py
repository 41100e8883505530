"""The examples of "Incremental Evaluation of Dynamic Datalog Programs" (sections 3 and 4): of its
definitions, of its circuit and of the interpreter. The text of an example has lost its variables;
those here are the ones that its constants leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from tests.dbsp.generate import grid, lawful, nested
from tests.dbsp.test_dyre import kept, move, nodes
from tests.dbsp.words import Plain, rules_of, step
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
from tidelog.dbsp.definitions import (
    NOTHING,
    WEIGHTED,
    Rewrite,
    Weighted,
    combined,
    extended,
    grounded,
    interpreted,
    product,
)
from tidelog.dbsp.dyre import Dyre, atoms, provenance
from tidelog.dbsp.interpreter import Interpreter
from tidelog.program.rules import Literal
from tidelog.program.syntax import Variable

PAIRS = ZSets(2)
AB, BC, CD = ("a", "b"), ("b", "c"), ("c", "d")
names = Symbols()


def stream(values: Iterable[Mapping[tuple[str, str], int]]) -> Stream[ZSet]:
    return Stream.of(PAIRS, [names.zset(value, width=2) for value in values])


def shown(s: Stream[ZSet], times: int) -> list[dict[tuple[str | int, ...], int]]:
    return [names.rows(z) for z in s.prefix(times)]


X, Y, Z = map(Variable, "xyz")
A, B, C, D = range(1, 5)  # "a", "b", "c", "d" in circuits
DECLARED = """
.decl e(x: number, y: number) .decl k(y: number) .decl s(x: number) .decl t(x: number, y: number)
.decl w(x: number, y: number, z: number)
"""


def rewrite(**values: object) -> Rewrite:
    return frozenset(values.items())


def test_example_3_1_rewriting() -> None:
    """A rewrite of more variables than the atom has grounds it."""
    head, found = Literal("t", (X, Z)), rewrite(x="a", y="b", z="c")
    assert grounded(head, found) == ("t", ("a", "c"))
    (rule,) = rules_of(DECLARED + "t(x, z) :- w(x, y, z).")
    dyre, facts = Dyre(), {("w", (A, B, C)): 1}
    expected = facts | {("t", (A, C)): 1}
    assert move(dyre, facts, [rule], []) == expected
    assert rewrite(x=A, y=B, z=C) in {Σ for (_, Σ), _ in kept(dyre, dyre.rewrites.outputs)}
    assert step(Interpreter(Plain()), facts, [rule]) == expected


REWRITES = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3)).map(
    lambda values: rewrite(**values)
)


@lawful
@given(REWRITES, REWRITES, REWRITES)
def test_definition_3_1_rewrites_are_a_monoid(a: Rewrite, b: Rewrite, c: Rewrite) -> None:
    assert combined(a, combined(b, c)) == combined(combined(a, b), c)
    assert combined(a, NOTHING) == combined(NOTHING, a) == a
    both = dict(combined(a, b))
    assert both.keys() == dict(a).keys() | dict(b).keys()
    assert both.items() >= a


def test_example_3_2_rewrite_product() -> None:
    """Two rewrites meet three facts: each unifies with one of them, and is extended."""
    atom = Literal("e", (X, Y))
    facts = [("e", AB), ("e", BC), ("e", CD)]
    given = [rewrite(x="a"), rewrite(x="b")]
    assert list(product(given, atom, facts)) == [rewrite(x="a", y="b"), rewrite(x="b", y="c")]
    assert [extended(given[0], atom, fact) is not None for fact in facts] == [True, False, False]


def test_example_3_2_rewrite_product_in_the_circuits() -> None:
    (rule,) = rules_of(DECLARED + "t(x, y) :- s(x), e(x, y), k(y).")
    facts = dict.fromkeys([("s", (A,)), ("s", (B,))], 1)
    facts |= dict.fromkeys([("e", (A, B)), ("e", (B, C)), ("e", (C, D))], 1)
    body = atoms(rule)
    assert [atom.relation for atom in body] == ["s", "e", "k"]
    paths = [provenance(body[:1]), provenance(body[:2])]
    for dyre in (Dyre(), Dyre(indexed=False)):
        move(dyre, facts, [rule], [])
        known = [element for element, _ in kept(dyre, dyre.rewrites.outputs)]
        by_path = [{Σ for N, Σ in known if path == N} for path in paths]
        assert by_path[0] == {rewrite(x=A), rewrite(x=B)}
        assert by_path[1] == {rewrite(x=A, y=B), rewrite(x=B, y=C)}
    circuit = Interpreter(Plain())
    step(circuit, facts, [rule])
    first, second, last = nodes(circuit, rule)
    assert first.trace is not None
    assert second.trace is not None
    assert {row for (row, *_) in first.trace.batch().tolist()} == {A, B}
    # The interpreter keeps what is needed later: here y, for k, and x, for the head.
    assert {tuple(row) for *row, _, _ in second.trace.batch().tolist()} == {(A, B), (B, C)}
    assert last.trace is None


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


def test_example_4_2_dynamic_interpretation() -> None:
    """A rule comes with the second fact, and the first rule goes when the third fact comes."""
    base, further = rules_of(DECLARED + "t(x, y) :- e(x, y). t(x, z) :- e(x, y), t(y, z).")
    facts = [{("e", pair): 1} for pair in ((A, B), (B, C), (C, D))]
    rules = [{base: 1}, {further: 1}, {base: -1}]
    expected = [
        facts[0] | {("t", (A, B)): 1},
        facts[1] | {("t", (B, C)): 1, ("t", (A, C)): 1},
        facts[2] | {("t", (A, B)): -1, ("t", (B, C)): -1, ("t", (A, C)): -1},
    ]
    Π, E = (Stream.of(WEIGHTED, list(map(Weighted, each))) for each in (rules, facts))
    assert interpreted(Π, E).prefix(3) == expected
    for dyre in (Dyre(), Dyre(indexed=False)):
        assert [dyre.step(g, ρ) for g, ρ in zip(facts, rules, strict=True)] == expected


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


def test_example_4_4_the_grounding_kit_in_the_circuit() -> None:
    """Both rules begin with the same atom, whose direction therefore has the weight 2."""
    rules = rules_of(DECLARED + "t(x, y) :- e(x, y). t(x, z) :- e(x, y), t(y, z).")
    dyre = Dyre()
    move(dyre, {}, rules, [])
    edge, path = Literal("e", (X, Y)), Literal("t", (Y, Z))
    start, first, second = (provenance(some) for some in ([], [edge], [edge, path]))
    assert kept(dyre, dyre.gatekeep.right) == {
        ((start, first, edge), 0): 2,
        ((first, second, path), 0): 1,
    }
    assert kept(dyre, dyre.ground.right) == {
        ((first, Literal("t", (X, Y))), 0): 1,
        ((second, Literal("t", (X, Z))), 0): 1,
    }
    move(dyre, {}, [], rules[:1])
    assert kept(dyre, dyre.gatekeep.right)[(start, first, edge), 0] == 1


def test_example_4_7_join_orders_in_the_circuit() -> None:
    """No index for the first atom; the second is looked up by its zeroth term."""
    rules = rules_of(DECLARED + "t(x, z) :- e(x, y), t(y, z).")
    dyre = Dyre()
    move(dyre, {}, rules, [])
    assert kept(dyre, dyre.index.right) == {(("e", ()), 0): 1, (("t", (0,)), 0): 1}


def test_example_4_5_nested_streams_introduction_and_elimination() -> None:
    facts = stream([{AB: 1}, {BC: 1}])
    assert shown(introduce(facts[0], PAIRS), 3) == [{AB: 1}, {}, {}]
    within = lift(lambda z: introduce(z, PAIRS), Streams(PAIRS))(facts)
    assert [shown(inner, 2) for inner in within.prefix(2)] == [[{AB: 1}, {}], [{BC: 1}, {}]]
    assert names.rows(eliminate(facts)) == {AB: 1, BC: 1}
    assert shown(lift(eliminate, PAIRS)(within), 2) == [{AB: 1}, {BC: 1}]
    assert shown(eliminate(within, times=2), 2) == [{AB: 1, BC: 1}, {}]


@lawful
@given(nested())
def test_example_4_6_integrals_by_the_inner_and_by_the_outer_clock(
    s: Stream[Stream[ZSet]],
) -> None:
    """Left of a join: what this update has brought until now. Right: what all updates have brought
    in this round."""
    for t, inner in enumerate(grid(lift(integrate)(s))):
        for k, left in enumerate(inner):
            assert left == sum((s[t][i] for i in range(k + 1)), start=ZSet.zero(2))
    for t, inner in enumerate(grid(integrate(s))):
        for k, right in enumerate(inner):
            assert right == sum((s[i][k] for i in range(t + 1)), start=ZSet.zero(2))


def test_example_4_6_a_parallel_with_seminaive_evaluation() -> None:
    """A static program is one update: each pair of a rewrite and a fact that unify is found once,
    in the round in which the later one of them is new."""
    rules = rules_of(DECLARED + "t(x, y) :- e(x, y). t(x, z) :- e(x, y), t(y, z).")
    n = 9
    chain = {("e", (i, i + 1)): 1 for i in range(n)}
    edges, instances = n, n * (n - 1) // 2  # the second rule has an instance for each longer path
    dyre, circuit = Dyre(), Interpreter(Plain())
    assert move(dyre, chain, rules, []) == step(circuit, chain, rules)
    assert dyre.product.pairs == circuit.pairs == edges + instances
    derived = {g: time for ((g,), time) in kept(dyre, dyre.facts.outputs) if g[0] == "t"}
    # A longer path comes a round later, as in seminaive evaluation.
    assert [derived["t", (0, i)] for i in range(1, n + 1)] == list(range(1, n + 1))
