"""The engine interface over frames: what algorithms and placement are given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tidelog.engine import FactSet, Ids, OwnEvaluation, Taken, View
from tidelog.formats import spark_columns
from tidelog.local.dictionary import Dictionary
from tidelog.program.rules import Relation, Rule
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import DTYPES, Column, Table
from tidelog.spark.algebra import SMALL, Found, spark_set
from tidelog.spark.evaluators import Evaluators
from tidelog.spark.sets import Extent, SparkSet, SparkTaken

Saved = dict[str, Extent]
HELD = 1_000_000  # facts of the driver that it deduplicates itself


class FrameEngine(Evaluators):
    """Relations by name, sets as frames, rules as joins."""

    # What only the local engine can do.
    ages = proofs = overlapping = profiles = join_orders = scratch = None
    own_evaluation: OwnEvaluation | None = None

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self.dictionary = Dictionary()

    # Facts as numbers, for closure modules, which run in the driver.

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        if kind == "symbol":
            return np.array([self.dictionary.id(kind, value) for value in values], dtype=np.uint32)
        return self.dictionary.encode(kind, np.asarray(values, dtype=DTYPES[kind]))

    def values(self, kind: Kind, ids: Ids) -> Column:
        return self.dictionary.decode(kind, np.ascontiguousarray(ids))

    def ids(self, view: View, relation: str) -> Ids:
        extent, known = self.extent(view, relation), self.kinds[relation]
        table = spark_columns.as_table(known, self.rows(relation, extent))
        found = np.empty((table.size, known.arity), dtype=np.uint32)
        for c, (kind, column) in enumerate(zip(known.kinds, table.columns, strict=True)):
            found[:, c] = self.dictionary.encode(kind, column)
        return found

    def pick(self, relation: str, ids: Ids) -> SparkSet:
        known, made = self.kinds[relation], self.none()
        decode = self.dictionary.decode
        columns = tuple(
            decode(kind, np.ascontiguousarray(ids[:, c])) for c, kind in enumerate(known.kinds)
        )
        made.put(relation, self.hand_over(known, Table(known.kinds, columns, len(ids))))
        return made

    def ordered(self, relation: str, ids: Ids) -> NDArray[np.int64]:
        return self.dictionary.ordered(self.kinds[relation].kinds, ids)

    def hand_over(self, relation: Relation, table: Table, distinct: bool = False) -> Extent:
        """Facts of the driver as an extent; `distinct` if they are known to have no duplicates."""
        found = spark_columns.to_arrow(relation, table)
        if found.num_rows <= SMALL:
            return Extent(spark_columns.rows_of(relation, found))
        if not distinct:
            if found.num_rows > HELD:
                frame = spark_columns.to_frame(self.spark, relation, found)
                return self.gather(Found({relation.name: [frame]}, []), True)[relation.name]
            found = found.group_by(found.column_names, use_threads=False).aggregate([])
        # It becomes a frame on demand.
        make = cache(partial(spark_columns.to_frame, self.spark, relation, found))
        return Extent((), size=found.num_rows, make=make, held=found)

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        """Record that something other than the engine derived facts of a rule."""

    # Changes.

    def take(self, relations: Sequence[str]) -> SparkTaken:
        taken = {name: self.all.of(name) for name in relations}
        for name in relations:
            self.all.put(name, self.explicit.of(name).copy())
        return SparkTaken(taken)

    def compare(self, taken: Taken) -> tuple[SparkSet, SparkSet]:
        assert isinstance(taken, SparkTaken)
        deleted, inserted = self.none(), self.none()
        for name, before in taken.extents.items():
            now = self.all.of(name)
            if before is not now:
                deleted.put(name, self.without(name, before, now).copy())
                inserted.put(name, self.without(name, now, before).copy())
        return self.settled(deleted), self.settled(inserted)

    def save(self, facts: FactSet) -> Saved:
        mine = spark_set(facts)
        mine.frozen.update(mine.extents)
        return {name: mine.of(name) for name in mine.names()}

    def hold(self, saved: Saved) -> SparkSet:
        made = self.none()
        made.extents = dict(saved)
        made.frozen.update(saved)
        return made
