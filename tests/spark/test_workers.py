"""Parts stay with their workers, whatever the order in which they are done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tidelog.spark.strategies import workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Home = tuple[str, int]  # a name of workers, and one of them


def homes(spark: SparkSession) -> dict[int, Home]:
    """Where each of two parts is worked on."""
    parts = spark.sparkContext.parallelize([0, 1], 2)

    def told(inbox: Any, first: int) -> Any:
        def run(place: int, rows: Iterable[int]) -> Iterator[tuple[int, Home]]:
            assert list(rows) == [first + place]
            yield first + place, (os.environ[workers.WORKERS], os.getpid())

        return inbox.mapPartitionsWithIndex(run).partitionBy(2)

    return dict(spark.sparkContext.union(workers.by_own_workers(parts, told)).collect())


def test_a_part_comes_to_its_worker_again(spark: SparkSession) -> None:
    first = homes(spark)
    assert {part: name for part, (name, _) in first.items()} == {0: "part 0", 1: "part 1"}
    assert homes(spark) == first
    assert workers.WORKERS not in spark.sparkContext.environment


def test_many_parts_have_workers_in_common(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PINNED", 1)
    assert {part: name for part, (name, _) in homes(spark).items()} == {0: "parts", 1: "parts"}
