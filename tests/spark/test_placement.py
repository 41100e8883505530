"""Where work is done, and that it comes to the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tidelog import Database
from tidelog.program.diagnostics import TidelogError
from tidelog.spark.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATHS = """
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def beside(
    spark: SparkSession, program: str, facts: dict[str, Any], **options: Any
) -> tuple[Database, Database]:
    """The same database on Spark and in one process."""
    local = Database(program, facts=facts)
    mine = Database(program, facts=facts, engine="spark", spark=spark, **options)
    assert_same(mine, local)
    return mine, local


def assert_same(mine: Database, local: Database) -> None:
    for name in local.relations:
        assert mine[name].rows() == local[name].rows(), name


def change(
    mine: Database, local: Database, relation: str, delete: Iterable[Any], insert: Iterable[Any]
) -> list[str]:
    """One transaction of both; where strata were worked on."""
    deltas = []
    for db in (mine, local):
        with db.transaction() as tx:
            tx.delete(relation, list(delete))
            tx.insert(relation, list(insert))
        deltas.append(list(tx.delta))
        if db is mine:
            places = [work.place for work in tx.report.works if work.place]
    assert deltas[0] == deltas[1]
    assert_same(mine, local)
    return places


def rows(random: Random, count: int, most: int) -> list[tuple[int, int]]:
    return sorted({(random.randrange(most), random.randrange(most)) for _ in range(count)})


@pytest.mark.parametrize(
    ("driver_facts", "place"),
    [(100_000, "driver"), (700, "driver, by slices"), (0, "pivot, by slices")],
)
def test_a_closure_in_every_place(spark: SparkSession, driver_facts: int, place: str) -> None:
    random = Random(7)
    edges = sorted({(x, x + random.randrange(1, 4)) for x in range(40) for _ in range(2)})
    mine, local = beside(spark, PATHS, {"edge": edges}, driver_facts=driver_facts)
    for i in range(2):
        gone = edges[2 * i : 2 * i + 2]
        assert change(mine, local, "edge", gone, [(45 + i, 46 + i)]) == [place]


def test_a_closure_that_is_not_linear(spark: SparkSession) -> None:
    program = PATHS.replace("edge(y, z)", "path(y, z)")
    edges = [(x, x + 1) for x in range(20)]
    mine, local = beside(spark, program, {"edge": edges}, driver_facts=120)
    assert change(mine, local, "edge", [(17, 18)], [(30, 31)])
    # Explicit facts of the closure itself: slices do not tell what follows.
    assert change(mine, local, "path", [], [(18, 40), (40, 2)])
    assert change(mine, local, "path", [(40, 2)], [])


@pytest.mark.parametrize("driver_facts", [100_000, 0])
def test_what_goes_is_told_from_what_comes(spark: SparkSession, driver_facts: int) -> None:
    """Explicit facts that go, alone and beside others, of a derived relation as well."""
    edges = [(x, x + 1) for x in range(12)]
    mine, local = beside(spark, PATHS, {"edge": edges}, driver_facts=driver_facts)
    change(mine, local, "path", [], [(3, 30), (30, 2)])
    change(mine, local, "path", [(30, 2)], [])
    change(mine, local, "path", [(3, 30)], [(4, 30)])
    change(mine, local, "edge", [(2, 3)], [])
    change(mine, local, "edge", [], [(2, 3)])


def test_components(spark: SparkSession) -> None:
    program = ".decl same(x: symbol, y: symbol) eqrel\n.decl told(x: symbol, y: symbol)\n"
    program += "same(x, y) :- told(x, y)."
    told = [(f"{i}", f"{i + i % 3}") for i in range(40)]
    mine, local = beside(spark, program, {"told": told}, driver_facts=0)
    assert change(mine, local, "told", told[:4], [("1", "30")]) == ["components"]


def test_what_travels_between_parts(spark: SparkSession) -> None:
    program = """
    .decl up(x: number, y: number)
    .decl flat(x: number, y: number)
    same(x, y) :- flat(x, y).
    same(x, y) :- up(x, a), same(a, b), up(y, b).
    far(x) :- same(x, y), !flat(x, y).
    """
    random = Random(3)
    facts = {"up": rows(random, 30, 12), "flat": rows(random, 8, 12)}
    mine, local = beside(spark, program, facts, driver_facts=0)
    places = change(mine, local, "flat", facts["flat"][:2], [(3, 4)])
    assert set(places) <= {"shuffle", "frames"}


def test_many_strata_are_derived_together(spark: SparkSession) -> None:
    """Without a job for each of them."""
    names = [f"p{i}" for i in range(1, 15)]
    rules = [f"{name}(x, y) :- p{i}(x, y), x != {i}." for i, name in enumerate(names)]
    rules.append("none(x) :- p0(x, _), !p14(x, x).")
    program = ".decl p0(x: number, y: number)\n" + "\n".join(rules)
    given = rows(Random(5), 60, 30)
    mine, local = beside(spark, program, {"p0": given}, driver_facts=0)
    for i in range(2):
        places = change(mine, local, "p0", given[3 * i : 3 * i + 3], [(50 + i, 50 + i)])
        assert places == ["shuffle"]


def test_more_than_the_driver_may_hold(spark: SparkSession) -> None:
    """What is read is little, what follows is not: the driver gives up, and partitions do it."""
    edges = [(x, (x + 1) % 60) for x in range(60)]
    mine, _ = beside(spark, PATHS, {"edge": edges}, driver_facts=100)
    places = mine.core.backend.places
    assert places is not None
    assert places["path",].startswith("pivot")


def test_what_came_to_the_driver_after_partitions_had_their_turn(spark: SparkSession) -> None:
    """A stratum that reads what partitions derived is small again, and follows its first update."""
    program = PATHS + "few(x) :- path(x, x).\nsome(x) :- few(x), x < 3.\n"
    edges = [(x, x + 1) for x in range(30)]
    mine, local = beside(spark, program, {"edge": edges, "some": [(7,), (8,)]}, driver_facts=20)
    change(mine, local, "some", [(7,)], [(9,)])
    change(mine, local, "edge", [(29, 30)], [(2, 1)])


def test_a_strategy_that_is_none(spark: SparkSession) -> None:
    with pytest.raises(TidelogError, match=r"unknown strategy 'pivots'\n    did you mean pivot"):
        Database(PATHS, engine="spark", spark=spark, strategy="pivots")
    with pytest.raises(TidelogError, match="unknown engine 'sparc'"):
        Database(PATHS, engine="sparc")


def test_frames_in_and_out(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2), (2, 3)], "x bigint, y int")
    db = Database(PATHS, facts={"edge": frame}, engine="spark", spark=spark)
    with db.transaction() as tx:
        tx.insert("edge", spark.createDataFrame([(3, 4), (3, 4)], "x int, y int"))
    assert tx.delta.counts == {"edge": (1, 0), "path": (3, 0)}
    found = tx.delta.to_spark("path").collect()
    assert {tuple(row) for row in found} == {("+", 1, 4), ("+", 2, 4), ("+", 3, 4)}
    assert db["path"].to_spark().count() == 6
    assert Database(PATHS, facts={"edge": frame}).size("path") == 3  # in one process, too


def test_a_frame_with_nulls(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2), (2, None)], "x bigint, y bigint")
    db = Database(PATHS, facts={"edge": [(1, 2)]}, engine="spark", spark=spark)
    with (
        pytest.raises(TidelogError, match="edge: the frame has empty cells"),
        db.transaction() as tx,
    ):
        tx.insert("edge", frame)
    assert db["edge"].rows() == [(1, 2)]


def test_rounds_between_parts_are_shown(spark: SparkSession) -> None:
    seen: list[Any] = []
    edges = [(i, i + 1) for i in range(40)]
    db = Database(
        "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z).\n"
        ".decl edge(x: number, y: number)",
        facts={"edge": edges},
        engine="spark",
        spark=spark,
        strategy="shuffle",
        driver_facts=0,
        progress=seen.append,
    )
    size = 40 * 41 // 2
    assert db.size("path") == size
    mine = [position for position in seen if position.relation == "path"]
    assert len({position.round for position in mine}) > 1
    assert max(position.facts for position in mine) >= size
    assert seen[-1].facts <= len(edges) + size  # what was found elsewhere is not counted twice


def test_what_the_driver_gives_is_not_read_again(spark: SparkSession) -> None:
    """More facts than a set of the driver takes, each twice: one job has the closure."""
    edges = np.column_stack([np.arange(120_000), np.arange(120_000) // 60 - 1])
    with Jobs(spark) as ran:
        mine = Database(
            PATHS,
            facts={"edge": np.concatenate([edges, edges])},
            engine="spark",
            spark=spark,
            strategy="pivot",
        )
    assert ran.record()["jobs"] == 1
    local = Database(PATHS, facts={"edge": edges})
    assert mine.size("edge") == 120_000
    assert mine.size("path") == local.size("path")
    deltas = []
    for db in (mine, local):
        with db.transaction() as tx:
            tx.delete("edge", [(65, 0)])
            tx.insert("edge", [(65, 3)])
        deltas.append(list(tx.delta))
    assert deltas[0] == deltas[1] != []


def test_zeros_of_many_floats(spark: SparkSession) -> None:
    zeros = np.where(np.arange(150_000) % 2, 0.0, -0.0)
    numbers = np.arange(150_000) // 2
    table = pa.table({"x": numbers, "y": zeros})
    program = ".decl f(x: number, y: float)\n.decl g(x: number)\ng(x) :- f(x, 0.0)."
    db = Database(program, facts={"f": table}, engine="spark", spark=spark, driver_facts=0)
    assert db.size("f") == db.size("g") == 75_000


def test_a_closure_with_given_facts_goes_by_them(spark: SparkSession) -> None:
    program = "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z)."
    facts = {"edge": [(i, i + 1) for i in range(100, 120)], "path": [(3, 4), (4, 5)]}
    mine, local = beside(spark, program, facts, driver_facts=100)
    change(mine, local, "edge", [], [(1, 3)])
    assert (1, 5) in mine["path"]
    change(mine, local, "edge", [(110, 111)], [])
    change(mine, local, "path", [(4, 5)], [])


def test_two_facts_that_one_fact_followed_from_go_together(spark: SparkSession) -> None:
    program = """
    p(x, y) :- g(w, y), f(z, w), e(x, z).
    p(x, z) :- p(x, y), h(y, z).
    """
    facts = {
        "e": [(1, 2), (10, 2), (11, 12)],
        "f": [(2, 3), (12, 13)],
        "g": [(3, 4), (13, 14)],
        "h": [(4, 5), (14, 15)],
    }
    mine, local = beside(spark, program, facts, driver_facts=0)
    for db in (mine, local):
        with db.transaction() as tx:
            tx.delete("f", [(2, 3)])
            tx.delete("g", [(3, 4)])
    assert_same(mine, local)
    assert (1, 4) not in mine["p"]
