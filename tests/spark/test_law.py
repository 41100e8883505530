"""The law on Spark: what is maintained equals a fresh naive evaluation, wherever work is done.

Worlds and histories are those of the local engine's tests. A session runs a job in a tenth of a
second at best, so there are few of them where every step is jobs, and more in the driver.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

import tests.spark.worlds  # makes "spark" known to worlds  # noqa: F401
from tests.law.histories import history
from tests.law.replay import always, replay
from tests.maintain.histories import History
from tidelog import Database
from tidelog.maintain.driver.algorithms import ON_SPARK
from tidelog.program.diagnostics import TidelogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ON_SPARK)
def test_maintaining_by_frames_equals_recomputing(spark: SparkSession, algorithm: str) -> None:
    """Every algorithm, written once against the engine interface, on frames alone."""
    History(ON_SPARK.index(algorithm), "spark").step(algorithm)


@pytest.mark.parametrize("seed", range(54))
def test_history_in_the_driver(spark: SparkSession, seed: int) -> None:
    replayed(spark, seed, "auto", 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(104, 108))
def test_history_in_places(spark: SparkSession, seed: int) -> None:
    """Some strata fit into the driver, others do not, and that changes."""
    replayed(spark, seed, "auto", 5 * (seed % 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 201))
def test_history_by_frames(spark: SparkSession, seed: int) -> None:
    replayed(spark, seed, "frames", 0)


def replayed(spark: SparkSession, seed: int, strategy: str, driver_facts: int) -> None:
    algorithm = ON_SPARK[seed % len(ON_SPARK)]
    opened = partial(
        Database, engine="spark", spark=spark, strategy=strategy, driver_facts=driver_facts
    )
    try:
        replay(history(seed), {algorithm: always(algorithm)}, opened)
    except TidelogError as error:
        if "symbols have no numbers on Spark" in str(error):
            pytest.xfail("ord and as of symbols")
        raise
