"""The inputs and results of strategies: frames in, blobs of facts out.

Executors leave facts as blobs in the parts where they were derived; a frame of rows is opened from
them on demand. A stratum is thus materialised without turning its facts into rows of Spark, which
would take longer than deriving them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.control.limits import Limits
from tidelog.formats import spark_columns
from tidelog.program.diagnostics import LimitError, plural
from tidelog.program.rules import Relation, Stratum
from tidelog.program.table import Table
from tidelog.spark.packed_frames import union
from tidelog.spark.strategies.blobs import CHUNK, chunks, pack, unpack_arrow
from tidelog.spark.strategies.executor_errors import TaskFault, TaskReport

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Read = Callable[[str], "DataFrame"]
BLOBS = "part int, name string, size bigint, blob binary"
_SCHEMA = pa.schema(
    [("part", pa.int32()), ("name", pa.string()), ("size", pa.int64()), ("blob", pa.binary())]
)


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a stratum, for a progress line."""

    relation: str
    round: int
    facts: int  # new facts of the round
    seconds: float


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """How a stratum is materialised; the defaults suit a session with few, large parts."""

    parts: int | None = None  # by default as many as the session has cores
    limits: Limits = field(default_factory=Limits)  # on the facts of the stratum, and on time
    sizes: Mapping[str, int] = field(default_factory=dict)  # what `read` returns, where known
    # the same, where the driver has it
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    # the same, where it is already blobs
    blobs: Mapping[str, DataFrame] = field(default_factory=dict)
    small: int = 100_000  # facts of a relation that may be sent to every part
    show: Callable[[Round], None] | None = None

    def size(self, name: str) -> int | None:
        """How many facts `read` would return, if known."""
        held = self.tables.get(name)
        return self.sizes.get(name) if held is None else len(held)


@dataclass
class RelationBlobs:
    """A relation's distinct facts, computed."""

    relation: Relation
    count: int
    blobs: DataFrame  # of all relations of the stratum, in their home parts

    @cached_property
    def frame(self) -> DataFrame:
        """The facts as rows, opened on demand."""
        return opened(self.blobs, self.relation)


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs of the block with this text in Spark's own pages."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


def title(stratum: Stratum) -> str:
    shown = [name for name in stratum.relations if not name.startswith("%")] or ["(hidden)"]
    more = len(shown) - 3
    return ", ".join(shown[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Inputs:
    """A stratum to derive. `read` returns the explicit facts of a relation of the stratum, and all
    facts of a lower one."""

    spark: SparkSession
    stratum: Stratum
    relations: Mapping[str, Relation]
    read: Read
    options: StrategyOptions = field(default_factory=StrategyOptions)

    @property
    def parts(self) -> int:
        return self.options.parts or max(1, self.spark.sparkContext.defaultParallelism)

    def described(self, text: str) -> AbstractContextManager[None]:
        """Describe the jobs of the block, as of this stratum."""
        return described(self.spark, f"{title(self.stratum)}: {text}")

    def filled(self, names: Iterable[str]) -> list[str]:
        """The relations that are not known to be empty."""
        return [name for name in names if self.options.size(name) != 0]

    def used(self) -> dict[str, Relation]:
        """The relations of the stratum, and those that its rules read."""
        used = {name for rule in self.stratum.rules for name, _ in rule.reads()}
        used |= {*self.stratum.relations}
        return {name: relation for name, relation in self.relations.items() if name in used}

    def by_signature(self, names: Sequence[str]) -> list[DataFrame]:
        """Frames with a column `r` before the relation's columns, which numbers the relation among
        `names`: one frame per list of types, because a plan for every relation would take longer
        than its facts."""
        from pyspark.sql import functions as F

        alike: dict[tuple[str, ...], list[DataFrame]] = {}
        stored: dict[tuple[tuple[str, ...], int], list[int]] = {}  # by types and frame of blobs
        for i, name in enumerate(names):
            relation, blobs = self.relations[name], self.options.blobs.get(name)
            types = tuple(spark_columns.types(relation))
            if blobs is not None:
                stored.setdefault((types, id(blobs)), []).append(i)
            else:
                frame = self.read(name).select(F.lit(i).alias("r"), *spark_columns.names(relation))
                alike.setdefault(types, []).append(frame)
        for (types, _), numbers in stored.items():
            mine = {i: self.relations[names[i]] for i in numbers}
            found = opened_together(self.options.blobs[names[numbers[0]]], mine)
            alike.setdefault(types, []).append(found)
        return [union(frames) for frames in alike.values()]

    def collected(
        self, names: Iterable[str], what: str = "facts for every part"
    ) -> dict[str, list[bytes]]:
        """Facts of whole relations as blobs in the driver, to be broadcast."""
        found = {name: self.options.tables.get(name) for name in names}
        missing = self.filled(name for name, table in found.items() if table is None)
        with self.described(what):
            for frame in self.by_signature(missing):
                table = frame.toArrow()
                numbers = table.column("r")
                for i in numbers.unique().to_pylist():
                    mine = table.filter(pc.equal(numbers, i)).drop_columns("r")
                    found[missing[i]] = mine
        return {
            name: [] if table is None else _packed(self.relations[name], table)
            for name, table in found.items()
        }


def _packed(relation: Relation, table: pa.Table) -> list[bytes]:
    return [pack(relation, piece) for piece in chunks(spark_columns.from_arrow(relation, table))]


# Blobs as rows of a frame.


def blob_row(part: int, relation: Relation, table: Table) -> pa.RecordBatch:
    return batch(part, relation.name, table.size, pack(relation, table))


def batch(part: int, name: str, size: int, blob: bytes | None) -> pa.RecordBatch:
    """One row for `BLOBS`."""
    row = zip((part, name, size, blob), _SCHEMA, strict=True)
    arrays = [pa.array([one], type=column.type) for one, column in row]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def frames(
    blobs: DataFrame, counts: Mapping[str, int], names: Sequence[str], kinds: Mapping[str, Relation]
) -> dict[str, RelationBlobs]:
    """Every relation's facts from existing blobs."""
    return {name: RelationBlobs(kinds[name], counts.get(name, 0), blobs) for name in names}


def opened(blobs: DataFrame, relation: Relation) -> DataFrame:
    from pyspark.sql import functions as F

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(0):
                found = unpack_arrow(relation, blob.as_buffer())
                yield from found.to_batches(max_chunksize=CHUNK)

    mine = blobs.where(F.col("name") == relation.name).select("blob")
    return mine.mapInArrow(read, spark_columns.schema(relation))


def opened_together(blobs: DataFrame, relations: Mapping[int, Relation]) -> DataFrame:
    """Facts of relations with the same types, with the relation's number as the first column."""
    from pyspark.sql.types import IntegerType, StructType

    numbers = {relation.name: i for i, relation in relations.items()}

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name, blob in zip(*batch.columns, strict=True):
                i = numbers[name.as_py()]
                found = unpack_arrow(relations[i], blob.as_buffer())
                number = pa.repeat(pa.scalar(i, pa.int32()), found.num_rows)
                yield from found.add_column(0, "r", number).to_batches(max_chunksize=CHUNK)

    made = StructType().add("r", IntegerType(), nullable=False)
    for column in spark_columns.schema(next(iter(relations.values()))):
        made = made.add(column)
    return blobs.where(named(numbers)).select("name", "blob").mapInArrow(read, made)


def named(names: Iterable[str]) -> Column:
    """Whether a blob belongs to one of these relations: one literal, however many they are."""
    from pyspark.sql import functions as F

    wanted = F.from_json(F.lit(json.dumps(list(names))), "array<string>")
    return F.array_contains(wanted, F.col("name"))


# Reports of tasks.


def check(
    tally: Mapping[int, TaskReport], parts: int, limits: Limits, stratum: Stratum, before: int = 0
) -> dict[str, int]:
    """New facts by relation. Raises a task's error, and checks the limit on all facts, of which a
    task knows only its own part."""
    if len(tally) != parts:
        raise RuntimeError(f"{len(tally)} of {parts} parts reported")
    counts: dict[str, int] = {}
    faults: list[TaskFault] = []
    for one in tally.values():
        if one.fault is not None:
            faults.append(one.fault)
        for name, count in one.facts.items():
            counts[name] = counts.get(name, 0) + count
    if faults:
        raise sorted(faults, key=lambda fault: fault.message)[0].error()
    most = limits.max_facts
    if most is not None and before + sum(counts.values()) > most:
        raise too_many(most, stratum)
    return counts


def too_many(most: int, stratum: Stratum) -> LimitError:
    return _stopped(
        f"more than {plural(most, 'fact')}, in {title(stratum)}", stratum, "--max-facts"
    )


def check_time(seconds: float, limits: Limits, stratum: Stratum, number: int) -> None:
    """Check the time between rounds; within one, its tasks check it themselves."""
    most = limits.max_seconds
    if most is not None and seconds > most:
        where = f"in round {number} of {title(stratum)}"
        raise _stopped(f"more than {most:g} seconds, {where}", stratum, "--max-seconds")


def _stopped(what: str, stratum: Stratum, option: str) -> LimitError:
    rules = stratum.recursive or stratum.rules
    where = f", in the rule\n    {rules[0].text}" if rules else ""
    return LimitError(f"error: stopped at {what}{where}\n    a larger limit is set by {option}")
