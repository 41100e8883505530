"""An accumulator of the tasks' reports, by part, so that a task that runs twice counts once."""

from __future__ import annotations

from pyspark.accumulators import AccumulatorParam

from tidelog.spark.strategies.executor_errors import TaskReport

Tallied = dict[int, TaskReport]


class ByPart(AccumulatorParam[Tallied]):
    def zero(self, value: Tallied) -> Tallied:
        return {}

    def addInPlace(self, value1: Tallied, value2: Tallied) -> Tallied:
        value1.update(value2)
        return value1
