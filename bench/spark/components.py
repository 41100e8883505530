"""Symmetric-transitive closures of 200,000 edges: merged forests against stars."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench import data
from bench.spark import stars
from bench.spark.figures import Row, Rows, Say
from bench.spark.measure import keep, of_frame, on_spark, only_sum, repeated
from tidelog.formats import spark_columns
from tidelog.plan import analyse
from tidelog.spark.strategies import Inputs
from tidelog.spark.strategies.connected_components import SortedComponents
from tidelog.spark.strategies.spanning_forest import forests
from tidelog.text import parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
.decl edge(x: number, y: number)
.decl same(x: number, y: number)
.input edge
.output same
same(x, y) :- edge(x, y).
same(y, x) :- same(x, y).
same(x, z) :- same(x, y), same(y, z).
"""
LABELS, PAIRS = "labels", "pairs"
OURS, STARS, GRAPHFRAMES = "components", "large-star/small-star", "GraphFrames"
CLUSTERS, CHAINS = "clusters", "chains"
LIMIT = {False: 120.0, True: 60.0}


def clusters(count: int, nodes: int, more: int, seed: int) -> data.Rows:
    """Components with equal numbers of nodes: a random tree, and `more` edges within it.

    Node names are shuffled, so that a component's nodes are not adjacent.
    """
    rng = np.random.default_rng(seed)
    first = nodes * np.arange(count, dtype=np.int64)[:, None]
    children = np.arange(1, nodes, dtype=np.int64)
    parents = (rng.random((count, nodes - 1)) * children).astype(np.int64)
    tree = np.stack([first + children, first + parents], axis=2).reshape(-1, 2)
    loops = (first[:, :, None] + rng.integers(nodes, size=(count, more, 2))).reshape(-1, 2)
    names = rng.permutation(count * nodes)
    return data.distinct(names[np.concatenate([tree, loops])])


def chains(count: int, edges: int, seed: int) -> data.Rows:
    """Components with the greatest possible diameter."""
    first = (edges + 1) * np.arange(count, dtype=np.int64)[:, None]
    start = (first + np.arange(edges)).ravel()
    names = np.random.default_rng(seed).permutation(count * (edges + 1))
    return names[np.column_stack([start, start + 1])]


def cases(quick: bool) -> dict[str, data.Rows]:
    part = 100 if quick else 1
    return {
        CLUSTERS: clusters(2_000 // part, 80, 21, seed=7),
        CHAINS: chains(20_000 // part, 10, seed=8),
    }


def measured(spark: SparkSession, quick: bool, say: Say) -> Rows:
    rows: Rows = []
    warm(spark)
    for case, edges in cases(quick).items():
        for row in (*ours(spark, case, edges), *by_stars(spark, case, edges, LIMIT[quick])):
            rows.append(row)
            say(row)
    rows.append(graphframes())
    say(rows[-1])
    return rows


def warm(spark: SparkSession) -> None:
    edges = chains(3, 3, seed=1)
    on_spark(spark, PROGRAM, {"edge": edges}, strategy="components", driver_facts=0)
    labelled(spark, edges)()
    stars.pairs(stars.labels(frame(spark, edges))[0])


def ours(spark: SparkSession, case: str, edges: data.Rows) -> Rows:
    pairs, label = Row(case, PAIRS, OURS, len(edges)), Row(case, LABELS, OURS, len(edges))
    options: dict[str, Any] = {"strategy": "components", "driver_facts": 0}
    made = repeated(pairs, spark, lambda: on_spark(spark, PROGRAM, {"edge": edges}, **options), 3)
    if made is not None:
        keep(pairs, made, ["same"])
    found = repeated(label, spark, labelled(spark, edges), 3)
    if found is not None:
        label.sums = counted(found, "c0", "c1")
        label.facts = label.sums["nodes"][0]
    return [label, pairs]


def labelled(spark: SparkSession, edges: data.Rows) -> Callable[[], DataFrame]:
    """Labels alone; the edges are a frame in executors, as they are for stars."""
    checked = analyse(parse(PROGRAM).program).checked
    assert checked is not None
    relation = checked.relations["edge"]
    facts = frame(spark, edges).toDF(*spark_columns.names(relation)).localCheckpoint()

    def read(name: str) -> DataFrame:
        return facts if name == "edge" else facts.limit(0)

    return lambda: labels(Inputs(spark, checked.strata[-1], checked.relations, read))


def labels(inputs: Inputs) -> DataFrame:
    """Each node (c0) with its component's representative (c1), instead of all pairs."""
    relation = inputs.relations[inputs.stratum.relations[0]]
    classes = SortedComponents.of(forests(inputs))
    first = classes.bounds[:, 0]
    found = pa.table(
        [classes.nodes, classes.nodes.take(pa.array(first))],
        schema=spark_columns.arrow_schema(relation),
    )
    return spark_columns.to_frame(inputs.spark, relation, found)


def by_stars(spark: SparkSession, case: str, edges: data.Rows, limit: float) -> Rows:
    """Labels, and then the pairs: the time of the pairs includes both."""
    label, pairs = Row(case, LABELS, STARS, len(edges)), Row(case, PAIRS, STARS, len(edges))
    given = frame(spark, edges).localCheckpoint()
    found = repeated(label, spark, lambda: stars.labels(given), 2, limit)
    if found is None:
        pairs.status, pairs.limit, pairs.detail = label.status, label.limit, label.detail
        return [label, pairs]
    label.sums = counted(found[0], "u", "v")
    label.facts, label.detail = label.sums["nodes"][0], f"{found[1]} rounds"
    made = repeated(pairs, spark, lambda: stars.pairs(stars.labels(given)[0]), 2, limit)
    if made is not None:
        pairs.sums = only_sum("same", of_frame(made))
        pairs.facts = len(edges) + pairs.sums["same"][0]
    return [label, pairs]


def counted(labels: DataFrame, node: str, label: str) -> dict[str, list[int]]:
    """The choice of representatives is arbitrary; their number is not."""
    from pyspark.sql import functions as F

    row = labels.agg(F.countDistinct(node), F.countDistinct(label)).first()
    assert row is not None
    return {"nodes": [row[0]], "components": [row[1]]}


def frame(spark: SparkSession, edges: data.Rows) -> DataFrame:
    return spark.createDataFrame(pa.table({"u": edges[:, 0], "v": edges[:, 1]}))


def graphframes() -> Row:
    row = Row("all", LABELS, GRAPHFRAMES, status="failed")
    there = importlib.util.find_spec("graphframes") is not None
    row.detail = "it is there, but was not run" if there else "it cannot be imported here"
    return row
