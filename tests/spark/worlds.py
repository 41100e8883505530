"""The way into and out of the Spark engine, for worlds of `tests.maintain`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tests.maintain.worlds import ENGINES, Fact, Set
from tidelog.engine import Counter, FactSet, View
from tidelog.formats import spark_columns
from tidelog.program.syntax import Value
from tidelog.program.table import Table
from tidelog.spark.counters import SparkCounter
from tidelog.spark.engine import SparkEngine
from tidelog.spark.placement import SparkOptions
from tidelog.spark.sets import SparkSet

Row = tuple[Value, ...]


class OnSpark:
    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        assert spark is not None
        self.engine = SparkEngine(spark, SparkOptions(strategy="frames"))

    def put(self, facts: Iterable[Fact], *into: FactSet) -> None:
        by_name: dict[str, list[Row]] = defaultdict(list)
        for name, row in facts:
            by_name[name].append(row)
        for name, rows in by_name.items():
            relation = self.engine.kinds[name]
            table = spark_columns.to_arrow(relation, Table.from_rows(relation.kinds, rows))
            inside = spark_columns.rows_of(relation, table)
            for target in into:
                assert isinstance(target, SparkSet)
                target.own(name).add(inside)

    def _out(self, name: str, rows: Iterable[Row]) -> list[Fact]:
        relation = self.engine.kinds[name]
        return [(name, row) for row in spark_columns.as_table(relation, rows).rows()]

    def facts(self, view: View) -> Set:
        found: list[Fact] = []
        for name in self.engine.names(view):
            found += self._out(name, self.engine.rows(name, self.engine.extent(view, name)))
        return frozenset(found)

    def counts(self, counter: Counter) -> dict[Fact, int]:
        assert isinstance(counter, SparkCounter)
        found: dict[Fact, int] = {}
        for name in {*counter.bases, *counter.over}:
            every: Any = self.engine.counts.every(counter, name)
            if every is None:
                continue
            table = every.toArrow()
            rows = spark_columns.rows_of(self.engine.kinds[name], table.drop_columns(["k"]))
            for row, k in zip(rows, table.column("k").to_pylist(), strict=True):
                if k:
                    found[self._out(name, [row])[0]] = k
        return found

    def ages(self) -> Callable[[Fact], int]:
        return lambda fact: 0


ENGINES["spark"] = OnSpark  # type: ignore[assignment]
