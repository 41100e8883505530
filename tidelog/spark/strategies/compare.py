"""The facts inserted and deleted in relations that were derived anew.

One job compares the blobs of before and after, part by part. A fact may have moved to another home:
then it is reported as both deleted and inserted, and the caller cancels the two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.local.engine import LocalEngine
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark.packed_frames import union
from tidelog.spark.strategies.blobs import chunks, concat, pack, unpack
from tidelog.spark.strategies.partition_state import BLOBS, batch, described, named
from tidelog.spark.strategies.rederive import DELETED, INSERTED, facts
from tidelog.spark.strategies.route import at_home
from tidelog.spark.strategies.slices import Facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def difference(
    spark: SparkSession,
    before: Sequence[DataFrame],
    after: Sequence[DataFrame],
    names: Collection[str],
    relations: Mapping[str, Relation],
) -> tuple[Facts, Facts]:
    """Facts of these relations that are only in the blobs of before, and only in those of after."""
    from pyspark.sql import functions as F

    sides = []
    for side, blobs in ((0, before), (1, after)):
        for one in blobs:
            mine = one.where(named(names))
            sides.append(mine.select(F.lit(side).alias("side"), "part", "name", "blob"))
    both = union(sides)
    parts = max(1, spark.sparkContext.defaultParallelism)
    known = {name: relations[name] for name in names}
    with described(spark, "what has changed"):
        found = at_home(both, parts).mapInArrow(_comparer(known), BLOBS).collect()
    return facts(DELETED, found, known, known), facts(INSERTED, found, known, known)


def _comparer(relations: Mapping[str, Relation]) -> Any:
    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: dict[tuple[int, str], tuple[list[bytes], list[bytes]]] = {}
        for rows in batches:
            for row in rows.to_pylist():
                sides = held.setdefault((row["part"], row["name"]), ([], []))
                sides[row["side"]].append(row["blob"])
        while held:
            (part, name), (old, new) = held.popitem()
            for sign, table in _differing(relations[name], old, new):
                for piece in chunks(table):
                    yield batch(part, sign + name, piece.size, pack(relations[name], piece))

    return compare


def _differing(
    relation: Relation, old: Sequence[bytes], new: Sequence[bytes]
) -> Iterator[tuple[str, Table]]:
    """Inserted and deleted facts, found in the tables of a local engine."""
    engine = LocalEngine()
    engine.declare(relation)
    O = engine.none()
    for blobs, into in ((new, engine.all), (old, O)):
        if blobs:
            tables = [unpack(relation, blob) for blob in blobs]
            engine.load(relation.name, concat(relation, tables), (into,))
    for sign, view in ((INSERTED, engine.all - O), (DELETED, O - engine.all)):
        found = engine.collect(view, (relation.name,))
        yield sign, engine.table(relation.name, found.rows(engine.numbers[relation.name]))
