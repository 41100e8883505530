"""Closures from scratch: inside partitions, by frames, by Spark SQL, and in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import data
from bench.spark import sql
from bench.spark.figures import Row, Rows, Say
from bench.spark.measure import keep, of_frame, on_spark, only_sum, repeated
from bench.workloads import text
from tidelog import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEP = "closure"
PIVOT, FRAMES, SQL = "pivot", "frames", "Spark SQL"
LOCAL, PLAIN = "one process", "one process, no modules"
RANDOM, DAG, FOREST, LARGE = "random digraph", "DAG", "forest", "large random digraph"
LIMIT = {False: 120.0, True: 60.0}
EACH = 10  # edges of a node


@dataclass(frozen=True)
class Graph:
    case: str
    edges: data.Rows
    small: data.Rows  # small data of the same kind, to warm up
    query: str = sql.BY_LEVELS
    cyclic: bool = False


def random(case: str, nodes: int) -> Graph:
    edges, small = (data.random_digraph(n, EACH / n, seed=1) for n in (nodes, 40))
    return Graph(case, edges, small, cyclic=True)


def graphs(quick: bool) -> list[Graph]:
    nodes, count, depth = (60, 2, 5) if quick else (1000, 55, 10)
    dag = data.random_dag(2 * nodes, 2 * EACH * nodes, seed=3)
    forest = data.trees(count, depth, 2, seed=6)
    return [
        random(RANDOM, nodes),
        Graph(DAG, dag, data.random_dag(20, 30, seed=3)),
        Graph(FOREST, forest, data.trees(2, 2, 2, seed=6), sql.ONE_BY_ONE),
    ]


def measured(spark: SparkSession, quick: bool, say: Say) -> Rows:
    rows: Rows = []
    times = 2 if quick else 3
    for graph in graphs(quick):
        for system, options, count in (
            (PIVOT, {"strategy": "pivot", "driver_facts": 0}, times),
            (FRAMES, {"strategy": "frames", "driver_facts": 0}, 2),
            (LOCAL, None, times),
            (PLAIN, {"modules": False}, times),
        ):
            rows.append(ours(spark, graph, system, options, count, LIMIT[quick]))
            say(rows[-1])
        for row in by_sql(spark, graph, LIMIT[quick]):
            rows.append(row)
            say(row)
    return rows + large(spark, 200 if quick else 5500, times, say)


def large(spark: SparkSession, nodes: int, times: int, say: Say) -> Rows:
    """Pivot against one process only, because the others would take too long."""
    graph, rows = random(LARGE, nodes), []
    pivot = {"strategy": "pivot", "driver_facts": 0}
    for system, options in ((PIVOT, pivot), (LOCAL, None), (PLAIN, {"modules": False})):
        rows.append(ours(spark, graph, system, options, times, None))
        say(rows[-1])
    return rows


def ours(
    spark: SparkSession,
    graph: Graph,
    system: str,
    options: dict[str, Any] | None,
    times: int,
    limit: float | None,
) -> Row:
    """Facts in, closure kept: a whole `Database`, including its program's analysis."""
    row = Row(graph.case, STEP, system, len(graph.edges))
    build = opener(spark, options or {})
    build(graph.small)
    session = None if system in (LOCAL, PLAIN) else spark
    made = repeated(row, session, lambda: build(graph.edges), times, limit)
    if made is not None:
        keep(row, made, ["path"])
    return row


def opener(spark: SparkSession, options: dict[str, Any]) -> Callable[[data.Rows], Database]:
    program = text("closure_linear")

    def build(edges: data.Rows) -> Database:
        facts = {"edge": edges}
        if "strategy" in options:
            return on_spark(spark, program, facts, **options)
        return Database(program, facts=facts, **options)

    return build


def by_sql(spark: SparkSession, graph: Graph, limit: float) -> Rows:
    """With its limits where it would not end, without them where it does; and what Spark reports
    about a UNION without duplicates."""
    row = Row(graph.case, STEP, SQL, len(graph.edges))
    as_set = Row(graph.case, STEP, f"{SQL}, UNION", len(graph.edges))
    sql.edges(spark, graph.small)
    repeated(as_set, spark, lambda: sql.closure(spark, sql.AS_A_SET), 1, limit)
    if graph.cyclic:
        sql.edges(spark, graph.edges)
        repeated(row, spark, lambda: sql.closure(spark, graph.query), 1, limit)
        return [row, as_set]
    with sql.unlimited(spark):
        sql.closure(spark, graph.query)
        sql.edges(spark, graph.edges)
        made = repeated(row, spark, lambda: sql.closure(spark, graph.query), 2, limit)
    if made is not None:
        row.sums = only_sum("path", of_frame(made))
        row.facts = row.given + row.sums["path"][0]
    return [row, as_set]
