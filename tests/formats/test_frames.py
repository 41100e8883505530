"""Rows of Python values become columns without work for the garbage collector."""

from __future__ import annotations

import gc

from tidelog.program.table import Table, columns_of


def test_many_rows_are_not_looked_at_by_the_garbage_collector() -> None:
    rows = {(i, -i) for i in range(200_000)}
    gc.collect()
    before = sum(each["collections"] for each in gc.get_stats())
    columns = columns_of(rows, 2)
    assert sum(each["collections"] for each in gc.get_stats()) - before < 10
    assert len(columns[0]) == len(rows)
    assert set(zip(*columns, strict=True)) == rows


def test_columns_of_few_rows() -> None:
    assert columns_of([], 2) == [[], []]
    assert columns_of([()], 0) == []
    assert Table.from_rows(("number", "symbol"), [(1, "a"), (2, "b")]).rows() == [
        (1, "a"),
        (2, "b"),
    ]
