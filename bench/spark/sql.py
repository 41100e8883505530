"""A closure by Spark SQL's recursive query, as far as it can be expressed.

Spark has it since 4.1. It combines the two parts by UNION ALL only, and a level sees only the
previous level, so known facts cannot be left out: on a graph with cycles it never ends. DISTINCT is
possible within a level; without it, a DAG's paths would be counted one by one. Levels and rows are
limited (`spark.sql.cteRecursionLevelLimit`, 100, and `spark.sql.cteRecursionRowLimit`, a million);
both limits can be lifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from bench.data import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIMITS = ("spark.sql.cteRecursionLevelLimit", "spark.sql.cteRecursionRowLimit")
CLOSURE = """
WITH RECURSIVE path(x, y) AS (
  SELECT x, y FROM edge
  {union}
  SELECT {distinct} path.x, edge.y FROM path JOIN edge ON path.y = edge.x
)
SELECT DISTINCT x, y FROM path
"""
# correct where each pair is connected by one path only
ONE_BY_ONE = CLOSURE.format(union="UNION ALL", distinct="")
BY_LEVELS = CLOSURE.format(union="UNION ALL", distinct="DISTINCT")
AS_A_SET = CLOSURE.format(union="UNION", distinct="")


def edges(spark: SparkSession, rows: Rows) -> None:
    """Register them as `edge`."""
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    spark.createDataFrame(table).createOrReplaceTempView("edge")


def closure(spark: SparkSession, query: str) -> DataFrame:
    """The facts, computed and kept like those of the other systems."""
    return spark.sql(query).localCheckpoint()


@contextmanager
def unlimited(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in LIMITS}
    for name in LIMITS:
        spark.conf.set(name, "-1")
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))
