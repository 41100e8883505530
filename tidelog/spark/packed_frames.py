"""Facts of many relations in one frame, so that one job finds them all.

A row has the relation's number, and as many columns of each type as any of the relations needs;
unused ones are null. Faults travel along, under a number that no relation has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats.spark_columns import arrow_schema, names, types
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FAULT = -1
LETTERS = {"bigint": "n", "double": "d", "string": "s"}


@dataclass(frozen=True, slots=True)
class Packing:
    """The packed relations by number, and their columns."""

    relations: tuple[Relation, ...]
    counted: bool = False  # each fact has a number

    @property
    def shape(self) -> dict[str, int]:
        """Columns of each type."""
        found = {"bigint": 0, "double": 0, "string": 1}
        for relation in self.relations:
            mine = types(relation)
            for kind in found:
                found[kind] = max(found[kind], mine.count(kind))
        return found

    def columns(self) -> list[tuple[str, str]]:
        """Names and types, the relation's number first."""
        made = [("r", "int")]
        for kind, count in self.shape.items():
            made += [(f"{LETTERS[kind]}{i}", kind) for i in range(count)]
        return [*made, ("k", "bigint")] if self.counted else made

    def places(self, relation: Relation) -> list[str]:
        """The packed columns that hold the relation's columns."""
        used = dict.fromkeys(LETTERS, 0)
        found = []
        for kind in types(relation):
            found.append(f"{LETTERS[kind]}{used[kind]}")
            used[kind] += 1
        return found

    def pack(self, number: int, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        relation = self.relations[number]
        at = dict(zip(self.places(relation), names(relation), strict=True))
        if self.counted:
            at["k"] = "k"
        chosen = [
            F.lit(number).alias("r")
            if name == "r"
            else (F.col(at[name]) if name in at else F.lit(None).cast(kind)).alias(name)
            for name, kind in self.columns()
        ]
        return frame.select(*chosen)

    def fault(self, messages: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        chosen = [
            F.lit(FAULT).alias("r")
            if name == "r"
            else (F.col("message") if name == "s0" else F.lit(None).cast(kind)).alias(name)
            for name, kind in self.columns()
        ]
        return messages.select(*chosen)

    def unpack(self, packed: DataFrame, number: int) -> DataFrame:
        from pyspark.sql import functions as F

        relation = self.relations[number]
        pairs = zip(self.places(relation), names(relation), strict=True)
        chosen = [F.col(place).alias(name) for place, name in pairs]
        if self.counted:
            chosen.append(F.col("k"))
        return packed.filter(F.col("r") == number).select(*chosen)

    def split(self, packed: pa.Table) -> tuple[dict[int, pa.Table], list[str]]:
        """Facts by the relations' numbers, and faults."""
        numbers = packed.column("r")
        found: dict[int, pa.Table] = {}
        for number in pc.unique(numbers).to_pylist():
            part = packed.filter(pc.equal(numbers, number))
            if number == FAULT:
                continue
            relation = self.relations[number]
            wanted = [part.column(place) for place in self.places(relation)]
            labels = names(relation)
            schema = arrow_schema(relation)
            if self.counted:
                wanted.append(part.column("k"))
                labels = [*labels, "k"]
                schema = schema.append(pa.field("k", pa.int64()))
            found[number] = pa.table(wanted, names=labels).cast(schema)
        wrong = packed.filter(pc.equal(numbers, FAULT)).column("s0").to_pylist()
        return found, sorted(set(wrong))


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of all frames, as a balanced tree of unions."""
    made = list(frames)
    while len(made) > 1:
        made = [_pair(made[i : i + 2]) for i in range(0, len(made), 2)]
    return made[0]


def _pair(frames: Sequence[Any]) -> Any:
    return reduce(lambda a, b: a.unionAll(b), frames)
