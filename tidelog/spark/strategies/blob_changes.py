"""Changes written into the blobs of a pivot stratum, part by part, by one job.

Only changed slices are opened; the other blobs are copied as they are. Blobs that have become small
are merged, so that they stay few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.control.limits import Limits
from tidelog.formats import spark_columns
from tidelog.program.rules import Relation, Stratum
from tidelog.spark.strategies.blobs import CHUNK, from_bytes, home, to_bytes
from tidelog.spark.strategies.choose import Strategy
from tidelog.spark.strategies.executor_errors import TaskReport
from tidelog.spark.strategies.partition_state import (
    BLOBS,
    RelationBlobs,
    batch,
    check,
    described,
    frames,
    title,
)
from tidelog.spark.strategies.slices import Overlay, changed, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = CHUNK >> 4  # smaller blobs are merged with others


def patched(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    state: Mapping[str, RelationBlobs],
    overlays: Mapping[str, Overlay],
) -> dict[str, RelationBlobs]:
    """The state with the overlays applied."""
    from tidelog.spark.strategies.accumulator import ByPart

    context = spark.sparkContext
    blobs = next(iter(state.values())).blobs
    known = {name: relations[name] for name in stratum.relations}
    tally = context.accumulator({}, ByPart())
    parts = blobs.rdd.getNumPartitions()
    sent = context.broadcast(Patches(known, dict(strategy.pivots), dict(overlays), parts))
    with described(spark, f"{title(stratum)}: changes written"):
        fresh = blobs.mapInArrow(_patcher(sent, tally), BLOBS).localCheckpoint()
    counts = check(tally.value, parts, Limits(), stratum)
    sent.destroy()
    return frames(fresh, counts, stratum.relations, relations)


@dataclass(frozen=True, slots=True)
class Patches:
    relations: dict[str, Relation]
    pivots: dict[str, int]
    overlays: dict[str, Overlay]
    parts: int

    def at_home(self, name: str, part: int) -> pa.Table:
        """Inserted facts whose home is a part."""
        table = self.overlays[name].added
        column = spark_columns.from_arrow(self.relations[name], table).columns[self.pivots[name]]
        return table.filter(pa.array(home(column, self.parts) == part))

    def touched(self, name: str) -> Any:
        """Pivots of changed slices."""
        overlay, pivot = self.overlays[name], self.pivots[name]
        ends = [overlay.removed.column(pivot), overlay.added.column(pivot)]
        return pa.chunked_array([c for end in ends for c in end.chunks], ends[0].type).unique()


@dataclass(slots=True)
class _Sorted:
    """Facts of a relation in one part that no longer have a blob of their own."""

    small: list[pa.Table] = field(default_factory=list)
    slices: list[pa.Table] = field(default_factory=list)


def _patcher(sent: Any, tally: Any) -> Any:
    def patch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part, report = context.partitionId(), TaskReport()
        for name, size, blob in rewritten(sent.value, part, batches):
            report.facts[name] = report.facts.get(name, 0) + size
            yield batch(part, name, size, blob)
        tally.add({part: report})

    return patch


def rewritten(
    patches: Patches, part: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[str, int, bytes]]:
    """The blobs of a part with the changes applied."""
    found = {name: _Sorted() for name in patches.relations}
    for rows in batches:
        for row in rows.to_pylist():
            name, size, blob = row["name"], row["size"], row["blob"]
            table = None
            if name in patches.overlays:
                table = _apart(patches, name, blob, found[name])
            elif size <= SMALL:
                table = _opened(patches, name, blob)
            if table is not None and table.num_rows <= SMALL:
                found[name].small.append(table)
            elif table is not None and table.num_rows < size:
                yield name, table.num_rows, to_bytes(table)
            else:
                yield name, size, blob
    for name, each in found.items():
        table = _together(patches, name, part, each)
        if table.num_rows:
            yield name, table.num_rows, to_bytes(table)


def _opened(patches: Patches, name: str, blob: bytes) -> pa.Table:
    return plain(from_bytes(blob)).cast(spark_columns.arrow_schema(patches.relations[name]))


def _apart(patches: Patches, name: str, blob: bytes, found: _Sorted) -> pa.Table:
    """The rest of a blob without the changed slices."""
    table = _opened(patches, name, blob)
    mask = pc.is_in(table.column(patches.pivots[name]), value_set=patches.touched(name))
    found.slices.append(table.filter(mask))
    return table.filter(pc.invert(mask))


def _together(patches: Patches, name: str, part: int, found: _Sorted) -> pa.Table:
    relation = patches.relations[name]
    none = spark_columns.arrow_schema(relation).empty_table()
    rest = found.small
    if name in patches.overlays:
        old = pa.concat_tables([none, *found.slices])
        inserted = patches.at_home(name, part)
        rest = [*rest, changed(relation, old, patches.overlays[name].removed, inserted)]
    return pa.concat_tables([none, *rest])
