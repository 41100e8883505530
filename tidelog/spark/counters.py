"""Derivation counters on Spark: a frame with most of them, and changes in the driver."""

from __future__ import annotations

from collections import Counter as Tally

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from tidelog.engine import Counter
from tidelog.formats import spark_columns
from tidelog.formats.spark_columns import Row
from tidelog.spark.algebra import SMALL, Algebra, Found, refuse
from tidelog.spark.packed_frames import Packing, union
from tidelog.spark.sets import Extent, SparkSet


class SparkCounter(Counter):
    """Counters by relation: those of a frame, in column k, and later additions."""

    __slots__ = ("bases", "over")

    def __init__(self) -> None:
        self.bases: dict[str, DataFrame] = {}
        self.over: dict[str, dict[Row, int]] = {}

    def forget(self, name: str) -> None:
        self.bases.pop(name, None)
        self.over.pop(name, None)


class Counts:
    """Adds instances to counters, and looks counters up."""

    def __init__(self, engine: Algebra) -> None:
        self.engine = engine

    def add(
        self, counter: SparkCounter, sign: int, found: Found, large: bool, result: SparkSet
    ) -> int:
        """Add the instances of the heads to the counters, and the distinct heads to `result`.
        Returns the number of instances, as far as the driver knows it."""
        engine, asked = self.engine, list(found.frames)
        packing = Packing(tuple(engine.kinds[name] for name in asked), counted=True)
        frames = []
        for i, name in enumerate(asked):
            heads = union(found.frames[name])
            many = heads.groupBy(*heads.columns).agg(F.count(F.lit(1)).alias("k"))
            frames.append(packing.pack(i, many))
        packed = engine.with_faults(packing, frames, found)
        assert packed is not None
        rows = None if large else packed.limit(SMALL + 1).toArrow()
        if rows is not None and rows.num_rows <= SMALL:
            return self._add_rows(counter, sign, packing, rows, result)
        kept, sizes = engine.kept(packing, packed)
        for i, size in sizes.items():
            if i >= 0 and size:
                many = packing.unpack(kept, i)
                self._add_frame(counter, asked[i], many, sign)
                result.put(asked[i], Extent((), many.drop("k"), size))
        return sum(sizes.values())

    def _add_rows(
        self, counter: SparkCounter, sign: int, packing: Packing, rows: pa.Table, result: SparkSet
    ) -> int:
        tables, wrong = packing.split(rows)
        refuse(wrong)
        instances = 0
        for i, table in tables.items():
            relation = packing.relations[i]
            heads = spark_columns.rows_of(relation, table.drop_columns(["k"]))
            over = counter.over.setdefault(relation.name, {})
            for head, k in zip(heads, table.column("k").to_pylist(), strict=True):
                over[head] = over.get(head, 0) + sign * k
                instances += k
            result.put(relation.name, Extent(heads))
        return instances

    def _add_frame(self, counter: SparkCounter, name: str, many: DataFrame, sign: int) -> None:
        columns = spark_columns.names(self.engine.kinds[name])
        many = many.withColumn("k", F.col("k") * sign)
        if name in counter.bases:
            both = counter.bases[name].unionAll(many)
            many = both.groupBy(*columns).agg(F.sum("k").alias("k"))
        counter.bases[name] = many.localCheckpoint(eager=True)

    def positive(self, counter: SparkCounter, facts: SparkSet) -> SparkSet:
        """The facts whose counter is above zero."""
        made = self.engine.none()
        for name in facts.names():
            extent = facts.of(name)
            held = (
                self._few(counter, name, extent)
                if extent.small
                else self._many(counter, name, extent)
            )
            made.put(name, held)
        return self.engine.settled(made)

    def _few(self, counter: SparkCounter, name: str, extent: Extent) -> Extent:
        relation, base = self.engine.kinds[name], counter.bases.get(name)
        over = counter.over.get(name, {})
        counts = Tally({row: over.get(row, 0) for row in extent.plus})
        if base is not None and extent.plus:
            asked = F.broadcast(self.engine.few(relation, extent.plus))
            found = base.join(asked, on=spark_columns.names(relation)).toArrow()
            rows = spark_columns.rows_of(relation, found.drop_columns(["k"]))
            for row, k in zip(rows, found.column("k").to_pylist(), strict=True):
                counts[row] += k
        return Extent(row for row, k in counts.items() if k > 0)

    def _many(self, counter: SparkCounter, name: str, extent: Extent) -> Extent:
        every = self.every(counter, name)
        if every is None:
            return Extent()
        held = every.filter(F.col("k") > 0).drop("k")
        mine = self.engine.frame(name, extent)
        return Extent(
            (), mine.join(held, on=mine.columns, how="left_semi"), extent.most, done=False
        )

    def every(self, counter: SparkCounter, name: str) -> DataFrame | None:
        """The counters of a relation as one frame; later additions join its base."""
        over = counter.over.pop(name, None)
        if over:
            relation = self.engine.kinds[name]
            table = spark_columns.as_arrow(relation, over)
            table = table.append_column("k", pa.array(list(over.values()), type=pa.int64()))
            wanted = spark_columns.schema(relation).add("k", LongType(), nullable=False)
            added = self.engine.spark.createDataFrame(table, schema=wanted)
            self._add_frame(counter, name, added, 1)
        return counter.bases.get(name)
