"""Facts on their way to their home parts, as blobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats import spark_columns
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark.packed_frames import union
from tidelog.spark.strategies.blobs import CHUNK, chunks, concat, keys, pack
from tidelog.spark.strategies.partition_state import Inputs
from tidelog.spark.strategies.partitioning import Partitioning, Route, by_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUTED = "part int, name string, blob binary"
_SCHEMA = pa.schema([("part", pa.int32()), ("name", pa.string()), ("blob", pa.binary())])


def divide(
    inputs: Inputs, names: Sequence[str], partitioning: Partitioning, parts: int
) -> DataFrame:
    """Blobs with the part that each is for, wherever they are; the driver divides its own facts."""
    relations, tables = inputs.relations, inputs.options.tables
    held = [name for name in names if name in tables]
    rows = [(part, "", b"") for part in range(parts)]
    for name in held:
        table = spark_columns.from_arrow(relations[name], tables[name])
        rows += _blobs(relations[name], partitioning.routes[name], table, parts)
    found = [inputs.spark.createDataFrame(_table(rows), ROUTED)]
    others = [name for name in names if name not in tables]
    known = [(relations[name], partitioning.routes[name]) for name in others]
    for frame in inputs.by_signature(others):
        found.append(frame.coalesce(parts).mapInArrow(_router(known, parts), ROUTED))
    return union(found)


def at_home(divided: DataFrame, parts: int) -> DataFrame:
    """The blobs, each in the partition of its part (partitions may have several parts)."""
    from pyspark.sql import functions as F

    numbers = F.array(*(F.lit(number) for number in keys(parts)))
    key = F.element_at(numbers, F.col("part") % parts + 1)
    return divided.withColumn("key", key).repartition(parts, "key").drop("key")


def arrivals(batches: Iterator[pa.RecordBatch]) -> dict[int, list[tuple[str, bytes]]]:
    """Blobs by part: usually there is one part."""
    found: dict[int, list[tuple[str, bytes]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            mine = found.setdefault(row["part"], [])
            if row["name"]:
                mine.append((row["name"], row["blob"]))
    return found


def _router(known: list[tuple[Relation, tuple[Route, ...]]], parts: int) -> Any:
    def route(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: dict[int, list[Table]] = {}
        for batch in batches:
            for i, table in by_number(batch):
                each = waiting.setdefault(i, [])
                each.append(spark_columns.from_arrow(known[i][0], table))
                if sum(one.size for one in each) >= CHUNK:
                    yield from sent(i, waiting.pop(i))
        for i, each in waiting.items():
            yield from sent(i, each)

    def sent(i: int, each: list[Table]) -> Iterator[pa.RecordBatch]:
        relation, routes = known[i]
        for row in _blobs(relation, routes, concat(relation, each), parts):
            yield from _table([row]).to_batches()

    return route


def by_number(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
    """The facts of each relation in a batch of `by_signature`."""
    table = pa.Table.from_batches([batch])
    numbers = table.column("r")
    for i in numbers.unique().to_pylist():
        yield i, table.filter(pc.equal(numbers, i)).drop_columns("r")


def _blobs(
    relation: Relation, routes: Sequence[Route], table: Table, parts: int
) -> Iterator[tuple[int, str, bytes]]:
    for part, mine in by_part(routes, table, parts):
        for piece in chunks(mine):
            yield part, relation.name, pack(relation, piece)


def _table(rows: Sequence[tuple[int, str, bytes]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.table(arrays, schema=_SCHEMA)
