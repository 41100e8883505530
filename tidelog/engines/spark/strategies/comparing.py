"""What became true and what stopped being true, of relations that were derived anew.

Blobs of before and after are compared part by part, by one job. A fact may have another home than
before: then it is told as gone and as come, and whoever asks takes out what is both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.engines.spark import values
from tidelog.engines.spark.packing import union
from tidelog.engines.spark.strategies.made import BLOBS, batch, described, named
from tidelog.engines.spark.strategies.renewing import CAME, WENT, facts
from tidelog.engines.spark.strategies.slices import Facts, changed, plain
from tidelog.engines.spark.strategies.wire import from_bytes, to_bytes
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def difference(
    spark: SparkSession,
    before: Sequence[DataFrame],
    after: Sequence[DataFrame],
    names: Collection[str],
    relations: Mapping[str, Relation],
) -> tuple[Facts, Facts]:
    """Facts of these relations that only the blobs of before have, and only those of after."""
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
        found = both.repartition(parts, "part").mapInArrow(_comparer(known), BLOBS).collect()
    return facts(WENT, found, known, known), facts(CAME, found, known, known)


def _comparer(relations: Mapping[str, Relation]) -> Any:
    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: dict[tuple[int, str], tuple[list[bytes], list[bytes]]] = {}
        for rows in batches:
            for row in rows.to_pylist():
                sides = held.setdefault((row["part"], row["name"]), ([], []))
                sides[row["side"]].append(row["blob"])
        for (part, name), sides in held.items():
            relation = relations[name]
            old, new = (_table(relation, blobs) for blobs in sides)
            nothing = old.schema.empty_table()
            for sign, one, other in ((WENT, old, new), (CAME, new, old)):
                rest = changed(relation, one, other, nothing)
                if rest.num_rows:
                    yield batch(part, sign + name, rest.num_rows, to_bytes(rest))

    return compare


def _table(relation: Relation, blobs: Sequence[bytes]) -> pa.Table:
    schema = values.arrow_schema(relation)
    tables = [plain(from_bytes(blob)).cast(schema) for blob in blobs]
    return pa.concat_tables([schema.empty_table(), *tables])
