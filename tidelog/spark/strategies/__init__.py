"""Strategies for recursive strata; `choose` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.program.rules import Relation, Stratum
from tidelog.spark.strategies.choose import NAMES, Strategy, choose
from tidelog.spark.strategies.partition_state import Made, Options, Read, Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["NAMES", "Made", "Options", "Read", "Round", "Strategy", "choose", "materialise"]


def materialise(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options | None = None,
) -> dict[str, Made]:
    """All facts of a stratum's relations.

    `read` returns the explicit facts of a relation of the stratum, and all facts of a lower one.
    """
    from tidelog.spark.strategies import components, pivot, shuffle

    runs = {
        "pivot": pivot.materialise,
        "components": components.materialise,
        "shuffle": shuffle.materialise,
    }
    return runs[strategy.name](strategy, spark, stratum, relations, read, options or Options())
