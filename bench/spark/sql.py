"""A closure by Spark SQL's recursive query, as far as it can be expressed.

Spark has it since 4.1. The two parts are put together by UNION ALL alone, and a level sees the
level before and no other, so what was found before cannot be left out: on a graph with cycles it
never ends. Within a level, DISTINCT is possible, without which a DAG's paths would be counted
one by one. Levels and rows are limited (`spark.sql.cteRecursionLevelLimit`, 100, and
`spark.sql.cteRecursionRowLimit`, a million); both limits can be taken away.
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
ONE_BY_ONE = CLOSURE.format(union="UNION ALL", distinct="")  # right where there is one way only
BY_LEVELS = CLOSURE.format(union="UNION ALL", distinct="DISTINCT")
AS_A_SET = CLOSURE.format(union="UNION", distinct="")


def edges(spark: SparkSession, rows: Rows) -> None:
    """Makes them known as `edge`."""
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    spark.createDataFrame(table).createOrReplaceTempView("edge")


def closure(spark: SparkSession, query: str) -> DataFrame:
    """The facts, computed and kept as those of other systems are."""
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
