"""Frames of Spark for users: relations and deltas, of any engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelog.formats import spark_columns
from tidelog.program.changes import Op
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def active(spark: SparkSession | None) -> SparkSession:
    """The given session, or the active one."""
    from pyspark.sql import SparkSession

    spark = spark or SparkSession.getActiveSession()
    if spark is None:
        raise TidelogError("error: no Spark session\n    give one: to_spark(…, spark=session)")
    return spark


def relation_frame(
    relation: Relation, found: Table | DataFrame, spark: SparkSession | None
) -> DataFrame:
    """Facts as users see them."""
    if isinstance(found, Table):
        table = spark_columns.to_arrow(relation, found)
        found = spark_columns.to_frame(active(spark), relation, table)
    return spark_columns.outward(relation, found)


def delta_frame(
    relation: Relation, facts: Callable[[Op], Any], spark: SparkSession | None
) -> DataFrame:
    """The inserted and deleted facts, with the sign in the first column."""
    from pyspark.sql import functions as F

    sign = "op" if "op" not in relation.attributes else "%op"
    signs: tuple[Op, Op] = ("+", "-")
    plus, minus = (
        relation_frame(relation, facts(op), spark).select(F.lit(op).alias(sign), "*")
        for op in signs
    )
    return plus.unionAll(minus)
