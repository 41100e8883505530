"""The algebra of sets on Spark, and how one job computes the facts of frames.

The facts of one relation in a view are an `Extent`. The driver assembles it as long as the parts
are small; if a large base is involved, it is a frame that has yet to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from tidelog.engine import Combination, FactSet, View
from tidelog.formats import spark_columns
from tidelog.formats.spark_columns import Row
from tidelog.local.functor_calls import in_rule
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.rules import Relation, Rule
from tidelog.program.table import Table
from tidelog.spark.packed_frames import Packing, union
from tidelog.spark.sets import Extent, SparkSet

SMALL = 100_000  # facts that the driver holds


@dataclass(slots=True)
class Found:
    """Heads that an evaluation must find, and errors on the way."""

    frames: dict[str, list[DataFrame]]
    faults: list[tuple[Rule, DataFrame]]

    def add(self, rule: Rule, name: str, heads: DataFrame, faults: Iterable[DataFrame]) -> None:
        self.frames.setdefault(name, []).append(heads)
        self.faults += [(rule, fault) for fault in faults]


class Algebra:
    """Relations by name, and sets of their facts."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.kinds: dict[str, Relation] = {}
        self.all, self.explicit = SparkSet(self), SparkSet(self)
        self._aside: set[str] = set()
        self._tick: Callable[[Rule | None], None] = lambda rule: None

    # Relations.

    def declare(self, relation: Relation, aside: bool = False) -> None:
        self.kinds[relation.name] = relation
        if aside:
            self._aside.add(relation.name)

    def undeclare(self, name: str) -> None:
        self.kinds.pop(name, None)

    # Sets.

    def none(self) -> SparkSet:
        return SparkSet(self)

    def relations(self, facts: FactSet) -> list[str]:
        mine = spark_set(facts)
        return [name for name in mine.names() if self.count(name, mine.of(name))]

    def size(self, relation: str) -> int:
        return self.count(relation, self.all.of(relation))

    def facts(self) -> int:
        """An estimate of the number of facts."""
        return sum(
            extent.most for name, extent in self.all.extents.items() if name not in self._aside
        )

    def count(self, name: str, extent: Extent) -> int:
        if extent.small:
            return len(extent.plus)
        if extent.known_count is None:
            if extent.done and not extent.plus and not extent.minus:
                extent.known_count = extent.size
            else:
                extent.known_count = self.frame(name, extent).count()
        return extent.known_count

    def frame(self, name: str, extent: Extent, relation: Relation | None = None) -> DataFrame:
        """The facts of an extent; pass the relation if the engine may not know it."""
        if extent.known_frame is None:
            relation = relation or self.kinds[name]
            made = extent.base
            if made is not None and (extent.plus or extent.minus):
                over = self.few(relation, extent.over)
                made = made.join(
                    F.broadcast(over), on=spark_columns.names(relation), how="left_anti"
                )
            if extent.plus or made is None:
                plus = self.few(relation, extent.plus)
                made = plus if made is None else made.unionAll(plus)
            extent.known_frame = made
        return extent.known_frame

    def few(self, relation: Relation, rows: Iterable[Row]) -> DataFrame:
        return spark_columns.to_frame(self.spark, relation, spark_columns.as_arrow(relation, rows))

    def extent(self, view: View, name: str) -> Extent:
        """The facts of one relation in a view; the base may have yet to be computed."""
        if isinstance(view, SparkSet):
            return view.of(name)
        assert isinstance(view, Combination)
        if view.op == "or":
            return self.either(name, self.extent(view.left, name), self.extent(view.right, name))
        wanted, unwanted = parts_of(view)
        if not wanted:
            raise ValueError("this view has no bounds: it cannot be listed")
        found = self.extent(wanted[0], name)
        for other in wanted[1:]:
            found = self.both(name, found, self.extent(other, name))
        for other in unwanted:
            found = self.without(name, found, self.extent(other, name))
        return found

    def either(self, name: str, left: Extent, right: Extent) -> Extent:
        if left.empty or right.empty:
            return right if left.empty else left
        if not right.small and left.small:
            left, right = right, left
        if right.small:
            made = left.copy()
            made.add(right.plus)
            return made
        mine, theirs = self.frame(name, left), self.frame(name, right)
        more = theirs.join(mine, on=mine.columns, how="left_anti")
        return Extent((), mine.unionAll(more), left.most + right.most, done=False)

    def both(self, name: str, left: Extent, right: Extent) -> Extent:
        if left.empty or right.empty:
            return Extent()
        if left.small or right.small:
            few, other = (left, right) if left.small else (right, left)
            return Extent(self.members({name: (other, few.plus)})[name])
        mine, theirs = self.frame(name, left), self.frame(name, right)
        made = mine.join(theirs, on=mine.columns, how="left_semi")
        return Extent((), made, min(left.most, right.most), done=False)

    def without(self, name: str, left: Extent, right: Extent) -> Extent:
        if left.empty or right.empty:
            return left
        if right.small:
            made = left.copy()
            made.remove(right.plus)
            return made
        if left.small:
            return Extent(left.plus - self.members({name: (right, left.plus)})[name])
        mine, theirs = self.frame(name, left), self.frame(name, right)
        rest = mine.join(theirs, on=mine.columns, how="left_anti")
        return Extent((), rest, left.most, done=False)

    def members(self, asked: Mapping[str, tuple[Extent, set[Row]]]) -> dict[str, set[Row]]:
        """Which of these rows each extent contains; one job if bases must be read."""
        found: dict[str, set[Row]] = {}
        frames: dict[str, list[DataFrame]] = {}
        for name, (extent, rows) in asked.items():
            found[name] = rows & extent.plus
            if extent.small or not rows:
                continue
            rest = rows - extent.plus - extent.minus
            known = self._known(name, extent, rest) if rest else set()
            if known is not None:
                found[name] |= known
            else:
                few, base = self.few(self.kinds[name], rest), extent.base
                assert base is not None
                frames[name] = [base.join(F.broadcast(few), on=few.columns)]
        if frames:
            for name, extent in self.gather(Found(frames, []), large=False).items():
                found[name] |= extent.plus if extent.small else set(self.rows(name, extent))
        return found

    def _known(self, name: str, extent: Extent, rows: set[Row]) -> set[Row] | None:
        """Which of the rows the extent's base contains, if no job is needed to know."""
        return None

    def table_of(self, name: str, extent: Extent, relation: Relation | None = None) -> Table:
        """The facts of an extent, as values in the driver."""
        relation = relation or self.kinds[name]
        if extent.small:
            return spark_columns.as_table(relation, extent.plus)
        return spark_columns.from_arrow(relation, self.frame(name, extent, relation).toArrow())

    def rows(self, name: str, extent: Extent) -> Iterable[Row]:
        """All facts of an extent, in the driver."""
        if extent.small:
            return extent.plus
        found = self.frame(name, extent).toArrow()
        return spark_columns.rows_of(self.kinds[name], found)

    def names(self, view: View) -> list[str]:
        """Relations of which the view may contain facts."""
        if isinstance(view, SparkSet):
            return view.names()
        assert isinstance(view, Combination)
        if view.op == "not":
            return []
        if view.op == "or":
            return list(dict.fromkeys((*self.names(view.left), *self.names(view.right))))
        wanted, _ = parts_of(view)
        first = self.names(wanted[0])
        return [name for name in first if all(self._mentions(part, name) for part in wanted[1:])]

    def _mentions(self, view: View, name: str) -> bool:
        """Whether the view may contain facts of a relation. A set need not list its relations."""
        if isinstance(view, SparkSet):
            return not view.of(name).empty
        return name in self.names(view)

    def collect(self, view: View, relations: Sequence[str] | None = None) -> SparkSet:
        made = self.none()
        wanted = None if relations is None else frozenset(relations)
        for name in self.names(view):
            if wanted is None or name in wanted:
                extent = self.extent(view, name)
                if not extent.empty:
                    made.put(name, extent.copy())
        return self.settled(made)

    def settled(self, facts: SparkSet) -> SparkSet:
        """Compute, in one job, the bases that are not computed."""
        waiting = {name: extent for name, extent in facts.extents.items() if not extent.done}
        if waiting:
            frames = {name: [self.frame(name, extent)] for name, extent in waiting.items()}
            for name, extent in self.gather(Found(frames, []), large=True, distinct=False).items():
                facts.put(name, extent)
            for name in waiting:
                if not facts.of(name).done:
                    facts.put(name, Extent())
        return facts

    def add(self, facts: SparkSet, view: View) -> None:
        for name in self.names(view):
            more = self.extent(view, name)
            if more.empty:
                continue
            if more.small:
                facts.own(name).add(more.plus)
            else:
                facts.put(name, self.either(name, facts.of(name), more).copy())
        self.settled(facts)

    def subtract(self, facts: SparkSet, view: View) -> None:
        if view is facts:
            facts.extents.clear()
            return
        # A change touches few of the relations: search only those.
        for name in view.names() if isinstance(view, SparkSet) else facts.names():
            extent = facts.of(name)
            if extent.empty:
                continue
            if isinstance(view, SparkSet) and view.of(name).small:
                facts.own(name).remove(view.of(name).plus)
                continue
            made = self._without_view(name, extent, view)
            facts.put(name, made.copy() if made is extent else made)
        self.settled(facts)

    def _without_view(self, name: str, extent: Extent, view: View) -> Extent:
        whole = SparkSet(self)
        whole.put(name, extent)
        return self.extent(whole - view, name)

    def some(self, view: View, count: int) -> SparkSet:
        made = self.none()
        left = count
        for name in self.names(view):
            if not left:
                break
            extent = self.extent(view, name)
            if extent.small:
                rows = [row for row, _ in zip(extent.plus, range(left), strict=False)]
            else:
                found = self.frame(name, extent).limit(left).toArrow()
                rows = spark_columns.rows_of(self.kinds[name], found)
            made.own(name).add(rows)
            left -= len(rows)
        return made

    def sample(self, view: View, relation: str, count: int) -> SparkSet:
        return self.some(self.collect(view, (relation,)), count)

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> SparkSet:
        mine = spark_set(facts)
        chosen = self.none()
        for name in relations:
            chosen.put(name, mine.of(name).copy())
        found = self.some(chosen, count)
        self.subtract(mine, found)
        return found

    def settle(self, facts: FactSet) -> FactSet:
        return self.settled(spark_set(facts))

    # What frames contain.

    def gather(self, found: Found, large: bool, distinct: bool = True) -> dict[str, Extent]:
        """The distinct facts of frames: in the driver, or computed and kept by executors."""
        asked = [name for name, frames in found.frames.items() if frames]
        packing = Packing(tuple(self.kinds[name] for name in asked))
        frames = [
            packing.pack(i, frame) for i, name in enumerate(asked) for frame in found.frames[name]
        ]
        packed = self.with_faults(packing, frames, found)
        if packed is None:
            return {}
        if distinct:
            packed = packed.distinct()
        return {
            asked[i]: extent
            for i, extent in self._run(packing, packed, large).items()
            if not extent.empty
        }

    def with_faults(
        self, packing: Packing, frames: list[DataFrame], found: Found
    ) -> DataFrame | None:
        for rule, messages in found.faults:
            shown = in_rule("\0", rule).split("\0")
            said = F.concat(F.lit(shown[0]), F.col("message"), F.lit(shown[1]))
            frames.append(packing.fault(messages.limit(1).select(said.alias("message"))))
        return union(frames) if frames else None

    def _run(self, packing: Packing, packed: DataFrame, large: bool) -> dict[int, Extent]:
        """One job if the guess whether the facts are few is right; two otherwise."""
        if not large:
            rows = packed.limit(SMALL + 1).toArrow()
            if rows.num_rows <= SMALL:
                return self._small_extents(packing, rows)
        kept, sizes = self.kept(packing, packed)
        if sum(sizes.values()) <= SMALL:
            return self._small_extents(packing, kept.toArrow())
        return {
            i: Extent((), packing.unpack(kept, i), size)
            for i, size in sizes.items()
            if i >= 0 and size
        }

    def _small_extents(self, packing: Packing, rows: pa.Table) -> dict[int, Extent]:
        tables, wrong = packing.split(rows)
        refuse(wrong)
        return {
            i: Extent(spark_columns.rows_of(packing.relations[i], table))
            for i, table in tables.items()
        }

    def kept(self, packing: Packing, packed: DataFrame) -> tuple[DataFrame, dict[int, int]]:
        """The computed frame, and its number of rows by relation number."""
        seen = Observation()
        numbers = [-1, *range(len(packing.relations))]
        sums = [F.sum((F.col("r") == i).cast("bigint")).alias(f"r{i + 1}") for i in numbers]
        wrong = F.max(F.when(F.col("r") == -1, F.col("s0"))).alias("wrong")
        kept = packed.observe(seen, *sums, wrong).localCheckpoint(eager=True)
        row = seen.get
        if row.get("wrong"):
            refuse([row["wrong"]])
        return kept, {i: row.get(f"r{i + 1}") or 0 for i in numbers}


def parts_of(view: View) -> tuple[list[View], list[View]]:
    """What a conjunction requires, and what it excludes."""
    if isinstance(view, Combination):
        if view.op == "and":
            left, right = parts_of(view.left), parts_of(view.right)
            return left[0] + right[0], left[1] + right[1]
        if view.op == "not":
            if isinstance(view.left, Combination) and view.left.op == "not":
                return parts_of(view.left.left)
            return [], _forbidden(view.left)
    return [view], []


def _forbidden(view: View) -> list[View]:
    """The views that make up this one: a fact outside it is in none of them."""
    if isinstance(view, Combination) and view.op == "or":
        return _forbidden(view.left) + _forbidden(view.right)
    if isinstance(view, Combination) and view.op == "not":
        raise ValueError("a view that is negated twice")
    return [view]


def refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise EvaluationError(wrong[0])


def spark_set(facts: FactSet) -> SparkSet:
    assert isinstance(facts, SparkSet)
    return facts
