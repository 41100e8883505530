"""Every strategy on Spark equals the local engine."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from bench.data import STREAMS
from bench.spark.components import labels
from tests.spark.strategies.programs import Rows, checked, local, rows_of, run, same
from tidelog import Database, Limits
from tidelog.formats import spark_columns
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.program.table import Table
from tidelog.spark.strategies import Inputs, StrategyOptions, choose, materialise, shuffle
from tidelog.spark.strategies.fuse import fuse

EDGE = ".decl edge(x: number, y: number) "


def graph(nodes: int, edges: int, seed: int = 0) -> list[tuple[int, int]]:
    random = Random(seed)
    return sorted({(random.randrange(nodes), random.randrange(nodes)) for _ in range(edges)})


LINEAR = EDGE + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
RIGHT = EDGE + "path(x, y) :- edge(y, x). path(x, z) :- edge(y, x), path(y, z)."
SQUARE = EDGE + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z). path(7, 3)."
MUTUAL = (
    EDGE + "odd(x, y) :- edge(x, y). even(z, x) :- odd(x, y), edge(y, z). "
    "odd(x, z) :- even(y, x), edge(y, z), x != z. .decl shut(x: number) shut(2). "
    "odd(x, x) :- edge(x, y), !shut(x), !edge(y, x). odd(3, y) :- edge(y, y)."
)
WORDS = (
    ".decl edge(x: symbol, y: symbol) .decl far(x: symbol, n: number) "
    "far(x, 0) :- edge(x, _). far(x, n + 1) :- far(x, n), edge(y, x), n < strlen(y) + 2."
    ' far(cat(x, "!"), n) :- far(x, n), strlen(x) < 4.'
)
KIN = (
    EDGE + "same(x, y) :- edge(x, p), edge(y, p). "
    "same(x, y) :- edge(x, a), same(a, b), edge(y, b). .decl only(x: number) "
    "only(x) :- same(x, y), same(y, z), same(z, x), x < y, y < z, !edge(z, x)."
)
COUNTS = (
    EDGE + ".decl size(x: number, n: number) size(x, n) :- edge(x, _), n = count : { edge(x, _) }. "
    "reach(x, x, n) :- size(x, n). "
    "reach(x, z, m) :- reach(x, y, n), edge(y, z), size(z, m), m >= n."
)
FLAGS = EDGE + ".decl on() on() :- edge(1, _). on() :- on(), edge(2, _). p(x) :- edge(x, _), on()."
TRIPLES = """
.decl triple(s: number, p: number, o: number)
holds(s, p, o) :- triple(s, p, o).
holds(x, 0, c) :- holds(p, 3, c), holds(x, p, y).
holds(x, q, y) :- holds(p, 2, q), holds(x, p, y).
holds(x, 0, d) :- holds(c, 1, d), holds(x, 0, c).
holds(a, 1, c) :- holds(a, 1, b), holds(b, 1, c).
"""
EDGES = graph(40, 70)
NAMED = [(f"n{x}", f"n{y}") for x, y in EDGES[:40]]


@pytest.mark.parametrize(
    ("text", "facts", "forced", "taken"),
    [
        pytest.param(LINEAR, {"edge": EDGES}, None, "pivot", id="linear"),
        pytest.param(RIGHT, {"edge": EDGES}, None, "pivot", id="right"),
        pytest.param(SQUARE, {"edge": EDGES}, None, "pivot", id="square"),
        pytest.param(SQUARE, {"edge": EDGES}, "shuffle", "shuffle", id="square by shuffle"),
        pytest.param(MUTUAL, {"edge": EDGES}, None, "pivot", id="mutual"),
        pytest.param(WORDS, {"edge": NAMED}, "shuffle", "shuffle", id="words"),
        pytest.param(COUNTS, {"edge": EDGES}, None, "pivot", id="counts"),
        pytest.param(FLAGS, {"edge": EDGES}, None, "shuffle", id="flags"),
        pytest.param(LINEAR, {}, None, "pivot", id="nothing"),
        pytest.param(SQUARE, {}, "shuffle", "shuffle", id="nothing by shuffle"),
    ],
)
def test_equals_local(
    spark: Any, text: str, facts: Mapping[str, Rows], forced: str | None, taken: str
) -> None:
    assert taken in same(spark, text, facts, forced)


def test_large_relations_meet_at_home(spark: Any) -> None:
    """Nothing is small enough to be broadcast, so that longer bodies are divided."""
    same(spark, KIN, {"edge": graph(30, 40)}, options=StrategyOptions(small=0))


def test_few_facts_go_everywhere(spark: Any) -> None:
    random = Random(1)
    facts = {(random.randrange(30), random.randrange(5), random.randrange(30)) for _ in range(150)}
    expected = local(TRIPLES, {"triple": facts})["holds"]
    for small in (0, 40):
        found, _ = run(spark, TRIPLES, {"triple": facts}, options=StrategyOptions(small=small))
        assert found["holds"] == expected


def test_ontology(spark: Any) -> None:
    """LUBM's rules at once, from facts that the driver has and facts that it has not."""
    text = (STREAMS / "lubm" / "lubm.dl").read_text(encoding="utf-8")
    program, random = checked(text), Random(2)
    facts = {
        name: {tuple(f"c{random.randrange(40)}" for _ in relation.kinds) for _ in range(4)}
        for name, relation in program.relations.items()
    }
    expected = local(text, facts)
    tables = {
        name: spark_columns.to_arrow(
            program.relations[name], Table.from_rows(("symbol",) * len(row), rows)
        )
        for name, rows in facts.items()
        if name < "a1_m"
        for row in [next(iter(rows))]
    }

    def read(name: str) -> Any:
        relation = program.relations[name]
        assert name not in tables
        table = Table.from_rows(relation.kinds, facts.get(name, ()))
        return spark_columns.to_frame(spark, relation, spark_columns.to_arrow(relation, table))

    (stratum,) = fuse(program.strata)
    strategy = choose(stratum, program.relations)
    options = StrategyOptions(tables=tables, small=0)
    made = materialise(strategy, Inputs(spark, stratum, program.relations, read, options))
    assert {name: one.count for name, one in made.items()} == {
        name: len(expected[name]) for name in made
    }
    for name in random.sample(sorted(made), 3):
        assert rows_of(program, name, made[name]) == expected[name]


SYMMETRIC = "r(x, y) :- r(y, x). r(x, z) :- r(x, y), r(y, z)."


@pytest.mark.parametrize(
    ("rules", "facts"),
    [
        (".decl e(x: number, y: number) r(x, y) :- e(x, y). " + SYMMETRIC, {"e": graph(60, 45)}),
        (".decl e(x: symbol, y: symbol) r(x, y) :- e(x, y). " + SYMMETRIC, {"e": NAMED}),
        (
            ".decl e(x: number, y: number) .decl r(x: number, y: number) r(1, 1). r(2, 50). "
            "r(x, y) :- e(x, y), !e(y, x), x != 3. r(x, x) :- e(x, 5). " + SYMMETRIC,
            {"e": graph(60, 45)},
        ),
        (".decl r(x: float, y: float) r(0.0, -1.5). r(-0.0, 2.5)." + SYMMETRIC, {}),
        (".decl r(x: unsigned, y: unsigned) " + SYMMETRIC, {}),
    ],
)
def test_components(spark: Any, rules: str, facts: Mapping[str, Rows]) -> None:
    assert same(spark, rules, facts) == ["components"]


def test_labels(spark: Any) -> None:
    text = ".decl e(x: number, y: number) r(x, y) :- e(x, y). " + SYMMETRIC
    program, edges = checked(text), graph(60, 45)
    kinds = program.relations["e"]
    frame = spark_columns.to_frame(spark, kinds, spark_columns.as_arrow(kinds, edges))
    found = labels(
        Inputs(
            spark,
            program.strata[-1],
            program.relations,
            lambda name: frame.limit(0) if name == "r" else frame,
        )
    )
    label = dict(map(tuple, found.collect()))
    pairs = local(text, {"e": edges})["r"]
    assert pairs == {(x, y) for x in label for y in label if label[x] == label[y]}


# What goes wrong.


def message(text: str, facts: Mapping[str, Rows], limits: Limits | None = None) -> str:
    with pytest.raises(EvaluationError) as caught:
        Database(text, facts=dict(facts), limits=limits)
    return str(caught.value)


@pytest.mark.parametrize("forced", ["pivot", "shuffle"])
def test_errors_are_the_same(spark: Any, forced: str) -> None:
    text = EDGE + "p(x, y) :- edge(x, y). p(x, 6 / y) :- p(x, y), edge(y, _)."
    facts = {"edge": [(1, 3), (3, 0), (0, 4)]}
    with pytest.raises(EvaluationError) as caught:
        run(spark, text, facts, forced)
    assert str(caught.value) == message(text, facts)


@pytest.mark.parametrize("forced", ["pivot", "shuffle"])
def test_endless(spark: Any, forced: str) -> None:
    text = ".decl n(x: number, y: number) n(1, 1). n(x, y + 1) :- n(x, y)."
    limits = Limits(max_facts=1000)
    with pytest.raises(LimitError) as caught:
        run(spark, text, {}, forced, StrategyOptions(limits=limits))
    assert str(caught.value) == message(text, {}, limits)


@pytest.mark.parametrize("forced", ["pivot", "components", "shuffle"])
def test_limits_count_the_facts_of_all_parts(spark: Any, forced: str) -> None:
    rules = SQUARE if forced == "pivot" else EDGE + SYMMETRIC + " r(x, y) :- edge(x, y)."
    chain = [(i, i + 1) for i in range(30)]
    with pytest.raises(LimitError, match="stopped at more than 400 facts, in") as caught:
        run(spark, rules, {"edge": chain}, forced, StrategyOptions(limits=Limits(max_facts=400)))
    assert "a larger limit is set by --max-facts" in str(caught.value)


def test_rounds_are_shown(spark: Any) -> None:
    rounds: list[Any] = []
    run(spark, SQUARE, {"edge": graph(20, 40)}, "shuffle", StrategyOptions(show=rounds.append))
    assert [one.round for one in rounds] == list(range(1, len(rounds) + 1))
    assert {one.relation for one in rounds} == {"path"}
    assert sum(one.facts for one in rounds) == len(local(SQUARE, {"edge": graph(20, 40)})["path"])


def test_time_is_up_between_rounds(spark: Any) -> None:
    limits = Limits(max_seconds=0.0)
    with pytest.raises(LimitError, match="stopped at more than 0 seconds, in round 1 of path"):
        run(spark, SQUARE, {"edge": EDGES}, "shuffle", StrategyOptions(limits=limits))


def test_many_rounds(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way that goes from part to part; what rounds have left behind is put together."""
    monkeypatch.setattr(shuffle, "LONG", 2)
    rounds: list[Any] = []
    text = EDGE + "seen(0). seen(y) :- seen(x), edge(x, y)."
    chain = {"edge": [(i, i + 1) for i in range(14)]}
    same(spark, text, chain, "shuffle", options=StrategyOptions(small=0, show=rounds.append))
    assert len(rounds) > 4
