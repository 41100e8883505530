"""Counting what Spark does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tidelog.spark.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_nothing_ran(spark: SparkSession) -> None:
    with Jobs(spark) as ran:
        spark.range(10).filter("id > 5")  # nobody asks for the rows
    assert (ran.jobs, ran.stages, ran.tasks, ran.shuffled) == (0, 0, 0, 0)


def test_a_shuffle(spark: SparkSession) -> None:
    with Jobs(spark) as ran:
        assert spark.range(0, 1000, 1, 4).repartition(3).toArrow().num_rows == 1000
    assert (ran.jobs, ran.stages, ran.tasks) == (1, 2, 4 + 3)
    with Jobs(spark) as more:
        spark.range(0, 100_000, 1, 4).repartition(3).toArrow()
    assert 1000 < ran.shuffled < more.shuffled / 20


def test_jobs_before_and_after_do_not_count(spark: SparkSession) -> None:
    spark.range(10).collect()
    with Jobs(spark) as ran:
        for _ in range(3):
            spark.range(0, 10, 1, 2).collect()
    spark.range(10).collect()
    assert (ran.jobs, ran.stages, ran.tasks, ran.shuffled) == (3, 3, 6, 0)


def test_a_stage_that_is_skipped_does_not_count(spark: SparkSession) -> None:
    pairs = spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 7, n))
    groups = pairs.groupByKey(2)
    with Jobs(spark) as first:
        groups.count()
    with Jobs(spark) as second:
        groups.count()
    assert (first.stages, first.tasks) == (2, 4)
    assert (second.jobs, second.stages, second.tasks, second.shuffled) == (1, 1, 2, 0)


def test_a_job_that_fails_counts(spark: SparkSession) -> None:
    ran = Jobs(spark)
    with pytest.raises(Exception, match="told to"), ran:
        spark.sql("select raise_error('told to')").collect()
    assert (ran.jobs, ran.stages) == (1, 0)


def test_a_job_that_spark_has_forgotten_counts_as_a_job(spark: SparkSession) -> None:
    ran = Jobs(spark)
    ran._add(spark.sparkContext._jsc.sc().statusStore(), 10**9)
    assert (ran.stages, ran.tasks) == (0, 0)


def test_taking_some_rows_is_one_job(spark: SparkSession) -> None:
    """Spark would look at one partition first, then at four, and so on."""
    with Jobs(spark) as ran:
        rows = spark.range(0, 1000, 1, 8).filter("id > 990").take(3)
    assert [row.id for row in rows] == [991, 992, 993]
    assert ran.jobs == 1


def test_counting_takes_little_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver asks of Java is little, and no more for many tasks."""
    client = spark.sparkContext._gateway._gateway_client
    send, asked = client.send_command, 0

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal asked
        asked += 1
        return send(*given, **named)

    monkeypatch.setattr(client, "send_command", counted)
    costs = []
    for tasks in (4, 40):
        with Jobs(spark) as ran:
            spark.range(0, 1000, 1, tasks).repartition(tasks - 1).toArrow()
            before = asked
        costs.append(asked - before)
        assert ran.tasks == 2 * tasks - 1
    assert costs[0] == costs[1] < 50
