"""Blobs come back as they were, and values are at home in one part."""

from __future__ import annotations

from typing import Any

import numpy as np

from tidelog.formats import spark_columns
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark.strategies.blobs import (
    chunks,
    concat,
    from_bytes,
    home,
    keys,
    pack,
    select,
    unpack,
    unpack_arrow,
)

MIXED = Relation("r", ("a", "b", "c", "d"), ("number", "unsigned", "float", "symbol"))
ROWS = [
    (-1, 2**64 - 1, 0.5, "été"),
    (2**63 - 1, 0, -1.5, ""),
    (0, 2**63, float("inf"), 'say "hi"'),
    (5, 7, 0.0, "été"),
]


def test_there_and_back() -> None:
    table = Table.from_rows(MIXED.kinds, ROWS)
    assert unpack(MIXED, pack(MIXED, table)).rows() == ROWS
    found = unpack_arrow(MIXED, pack(MIXED, table))
    assert found.schema == spark_columns.arrow_schema(MIXED)
    assert spark_columns.from_arrow(MIXED, found).rows() == ROWS


def test_pieces() -> None:
    table = Table.from_rows(MIXED.kinds, ROWS)
    pieces = list(chunks(table, 3))
    assert [piece.size for piece in pieces] == [3, 1]
    assert concat(MIXED, pieces).rows() == ROWS
    assert select(table, np.array([True, False, False, True])).rows() == [ROWS[0], ROWS[3]]
    words = from_bytes(pack(MIXED, select(table, np.array([0, 3])))).column(3).chunk(0).dictionary
    assert words.to_pylist() == ["été"]


def test_no_columns() -> None:
    relation = Relation("yes", (), ())
    assert unpack(relation, pack(relation, Table((), (), 1))).rows() == [()]


def test_home_depends_on_the_value_alone() -> None:
    table = Table.from_rows(MIXED.kinds, ROWS)
    other = Table.from_rows(MIXED.kinds, ROWS[::-1])
    for mine, theirs in zip(table.columns, other.columns, strict=True):
        assert home(mine, 7).tolist() == home(theirs, 7).tolist()[::-1]
    zeros = np.array([0.0, -0.0])
    assert len(set(home(zeros, 1000).tolist())) == 1


def test_spark_places_keys_where_they_say(spark: Any) -> None:
    from pyspark.sql import functions as F

    for parts in (1, 2, 5):
        rows = [(part, key) for part, key in enumerate(keys(parts))]
        frame = spark.createDataFrame(rows, "part int, key int").repartition(parts, "key")
        placed = frame.select("part", F.spark_partition_id()).collect()
        assert sorted(map(tuple, placed)) == [(part, part) for part in range(parts)]
