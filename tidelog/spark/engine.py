"""The Spark engine: the engine interface over frames.

A set is a `SparkSet`. A rule is a join of frames (`rule_joins`), and all rules of an evaluation are
one job (`evaluators`). Small results go to the driver; large ones stay in the executors, with their
lineage cut (`algebra`). `placement` decides where each stratum runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from tidelog.engine import FactSet, RelationDelta, View
from tidelog.formats import spark_columns
from tidelog.formats.frames import is_spark
from tidelog.formats.spark_columns import Row
from tidelog.local.dictionary import fits
from tidelog.maintain.memory import ModuleKinds
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.program.functors import Functor
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Value
from tidelog.program.table import Table
from tidelog.spark.algebra import SMALL, spark_set
from tidelog.spark.frame_engine import FrameEngine, Saved
from tidelog.spark.placement import Placement, SparkOptions
from tidelog.spark.sets import Extent, SparkSet


class SparkEngine(FrameEngine):
    """An engine with transactions, which places each stratum."""

    def __init__(
        self, spark: SparkSession, options: SparkOptions | None = None, modules: ModuleKinds = True
    ) -> None:
        super().__init__(spark)
        self._begun: tuple[dict[str, Extent], dict[str, Extent]] | None = None
        self.placement = Placement(self, options or SparkOptions(), modules)
        self.own_evaluation = self.placement

    def call(self, functions: Mapping[str, Functor]) -> None:
        """Refuse programs that call functions."""

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        self._tick = tick or (lambda rule: None)

    def _known(self, name: str, extent: Extent, rows: set[Row]) -> set[Row] | None:
        """Which of the rows the extent's base contains, if the driver knows."""
        for facts in (self.explicit, self.all):
            mine = self._committed(facts).get(name)
            if mine is not None and mine.shares(extent) and not rows & mine.over:
                return self.placement.driver.has(facts, name, rows)
        return None

    def _committed(self, facts: SparkSet) -> dict[str, Extent]:
        """The set as the last update left it."""
        if self._begun is None:
            return facts.extents
        return self._begun[0] if facts is self.all else self._begun[1]

    # Changes.

    def begin(self) -> None:
        """From now on, changes of the two persistent sets can be undone."""
        for facts in (self.all, self.explicit):
            facts.frozen.update(facts.extents)
        self._begun = dict(self.all.extents), dict(self.explicit.extents)
        self.placement.driver.begin()

    def commit(self) -> None:
        self._begun = None

    def rollback(self) -> None:
        if self._begun is not None:
            for facts, extents in zip((self.all, self.explicit), self._begun, strict=True):
                facts.extents = extents
                facts.frozen = set(extents)
        self._begun = None
        self.placement.driver.forget()

    def change_explicit(
        self,
        op: Op,
        name: str,
        data: Table | DataFrame,
        changed: FactSet,
        check: Callable[[tuple[Value, ...]], None] | None = None,
    ) -> bool:
        extent = self.taken_in(name, data)
        if check is not None:
            for row in dict.fromkeys(self.table_of(name, extent).rows()):
                check(row)
        given = self.none()
        given.put(name, extent)
        new = self.collect(given - self.explicit if op == "+" else given & self.explicit)
        if not new:
            return False
        if op == "+":
            self.add(self.explicit, new)
        else:
            self.subtract(self.explicit, new)
        again = self.collect(new & changed)
        self.subtract(new, again)
        self.subtract(spark_set(changed), again)
        self.add(spark_set(changed), new)
        return True

    def find(self, name: str, table: Table) -> SparkSet:
        found = self.none()
        found.put(name, self.hand_over(self.kinds[name], table))
        return found

    def delta(
        self, phases: Sequence[tuple[Saved, Saved]], relations: Mapping[str, Relation]
    ) -> dict[str, RelationDelta]:
        deleted, inserted = self.none(), self.none()
        for minus, plus in phases:
            D, A = self.hold(minus), self.hold(plus)
            back, off = self.collect(D & inserted), self.collect(A & deleted)
            inserted -= back
            deleted -= off
            deleted |= D - back
            inserted |= A - off
        found: dict[str, RelationDelta] = {}
        for name in (*deleted.names(), *inserted.names()):
            if name in relations and name not in found:
                found[name] = self._delta_of(relations[name], deleted.of(name), inserted.of(name))
        return found

    def _delta_of(self, relation: Relation, deleted: Extent, inserted: Extent) -> RelationDelta:
        extents: dict[Op, Extent] = {"+": inserted, "-": deleted}
        sizes = {op: self.count(relation.name, extent) for op, extent in extents.items()}
        decode = partial(_decode, self, relation, extents)
        return RelationDelta(relation, sizes, decode, partial(_frame, self, relation, extents))

    def forget(self, rules: Collection[Rule]) -> None:
        """The engine caches nothing by rule."""

    # Facts in and out.

    def reads(self, data: object) -> bool:
        return is_spark(data)

    def load(self, name: str, data: Table | DataFrame | Extent, into: Sequence[FactSet]) -> None:
        """Add facts to these sets."""
        extent = data if isinstance(data, Extent) else self.taken_in(name, data)
        for facts in map(spark_set, into):
            facts.put(name, self.either(name, facts.of(name), extent).copy())
            self.settled(facts)

    def taken_in(self, name: str, data: Table | DataFrame) -> Extent:
        """A user's facts as an extent; DataError if cells are empty."""
        relation = self.kinds[name]
        if isinstance(data, Table):
            return self.hand_over(relation, data)
        frame = spark_columns.inward(relation, data)
        self.describe(f"{name}: read")
        return self.checked(relation, frame)

    def checked(self, relation: Relation, frame: DataFrame) -> Extent:
        """A computed frame of the engine's columns; DataError if a cell is empty."""
        seen = Observation()
        empty = F.lit(False)
        for column in frame.columns:
            empty = empty | F.col(column).isNull()
        counts = (
            F.sum(empty.cast("bigint")).alias("empty"),
            F.count(F.lit(1)).alias("rows"),
        )
        kept = frame.distinct().observe(seen, *counts).localCheckpoint(eager=True)
        found = seen.get
        if found["empty"]:
            raise DataError(
                f"error: {relation.name}: the frame has empty cells (nulls), or values that do "
                "not fit a column's type"
            )
        if found["rows"] <= SMALL:
            return Extent(spark_columns.rows_of(relation, kept.toArrow()))
        return Extent((), kept, found["rows"])

    def table(self, name: str, facts: View | None = None) -> Table:
        return self.table_of(name, self.all.of(name) if facts is None else self.extent(facts, name))

    def native(self, name: str) -> DataFrame:
        return self.frame(name, self.all.of(name))

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Whether this fact is in the materialisation."""
        return self._has(self.all, relation, row)

    def is_explicit(self, relation: Relation, row: Sequence[Value]) -> bool:
        return self._has(self.explicit, relation, row)

    def _has(self, facts: SparkSet, relation: Relation, row: Sequence[Value]) -> bool:
        if len(row) != relation.arity or not all(map(fits, relation.kinds, row)):
            return False
        inside = tuple(map(spark_columns.inner, relation.kinds, row)) or (0,)
        name = relation.name
        return bool(self.members({name: (facts.of(name), {inside})})[name])

    def ask(
        self, strata: Sequence[Stratum], relation: Relation, parts: Sequence[Relation]
    ) -> Table:
        """Evaluate rules over relations of their own, and drop all but the answer."""
        found = self.none()
        known = dict(self.kinds)
        for each in (relation, *parts):
            self.declare(each)
        try:
            for stratum in strata:
                view = self.all | found
                found |= self.apply(stratum.rules, within=view)
            return self.table_of(relation.name, found.of(relation.name))
        finally:
            self.kinds = known


def _decode(engine: SparkEngine, relation: Relation, extents: dict[Op, Extent], op: Op) -> Table:
    return engine.table_of(relation.name, extents[op], relation)


def _frame(engine: SparkEngine, relation: Relation, extents: dict[Op, Extent], op: Op) -> DataFrame:
    return engine.frame(relation.name, extents[op], relation)
