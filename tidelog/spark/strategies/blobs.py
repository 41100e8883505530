"""Facts on their way between executors: blobs of columns, and the home of each fact.

A blob is a row of a frame: a few of them carry what millions of rows would, and Spark need not look
inside. The *home* of a value is a part, the same in every process and on every machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.formats import spark_columns
from tidelog.program.rules import Relation
from tidelog.program.syntax import Value
from tidelog.program.table import Column, SymbolColumn, Table

CHUNK = (
    1 << 16
)  # facts of a blob, at most: a megabyte or two. Spark takes 16 before it checks its memory

Mask = NDArray[np.bool_]
Parts = NDArray[np.int64]


def pack(relation: Relation, table: Table) -> bytes:
    """A table as an Arrow stream, with each distinct string once."""
    arrays = [_packed(column) for column in table.columns]
    if not arrays:
        arrays = [pa.array(np.zeros(min(1, table.size), dtype=np.int64))]
    return to_bytes(pa.table(arrays, names=spark_columns.names(relation)))


def _packed(column: Column) -> Any:
    if isinstance(column, SymbolColumn):
        words = pa.array(list(column.words), type=pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(column.codes.astype(np.int32)), words)
    return pa.array(column.view(np.int64) if column.dtype == np.uint64 else column)


def unpack(relation: Relation, blob: bytes) -> Table:
    return spark_columns.from_arrow(relation, from_bytes(blob))


def unpack_arrow(relation: Relation, blob: bytes) -> pa.Table:
    """The facts of a blob in the form of Spark's frames."""
    return from_bytes(blob).cast(spark_columns.arrow_schema(relation))


def to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def from_bytes(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def chunks(table: Table, size: int = CHUNK) -> Iterator[Table]:
    """The table in pieces of the size of blobs."""
    if table.size <= size:
        if table.size:
            yield table
        return
    for start in range(0, table.size, size):
        yield select(table, np.arange(start, min(table.size, start + size)))


def select(table: Table, rows: NDArray[Any]) -> Table:
    """Rows of a table, by number or by mask, with only the strings that they use."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    columns = tuple(_selected(column, rows) for column in table.columns)
    return Table(table.kinds, columns, len(rows))


def _selected(column: Column, rows: NDArray[Any]) -> Column:
    if not isinstance(column, SymbolColumn):
        return np.asarray(column[rows])
    used, codes = np.unique(column.codes[rows], return_inverse=True)
    return SymbolColumn(codes.astype(np.int64), [column.words[i] for i in used.tolist()])


def after(table: Table, start: int) -> Table:
    """The rows from one on, without a copy."""
    columns = tuple(
        SymbolColumn(column.codes[start:], column.words)
        if isinstance(column, SymbolColumn)
        else column[start:]
        for column in table.columns
    )
    return Table(table.kinds, columns, table.size - start)


def concat(relation: Relation, tables: list[Table]) -> Table:
    if len(tables) == 1:
        return tables[0]
    columns = tuple(_joined([table.columns[c] for table in tables]) for c in range(relation.arity))
    size = sum(table.size for table in tables)
    return Table(relation.kinds, columns, size if relation.arity else min(1, size))


def _joined(parts: list[Column]) -> Column:
    words: list[str] = []
    codes = []
    for part in parts:
        if not isinstance(part, SymbolColumn):
            return np.concatenate(parts)  # type: ignore[arg-type]
        codes.append(part.codes + len(words))
        words.extend(part.words)
    return SymbolColumn(np.concatenate(codes), words)


# Homes.


def home(column: Column, parts: int) -> Parts:
    """The home of each value.

    >>> home(np.array([1, 2, 3, 4]), 3).tolist()
    [2, 1, 0, 1]
    """
    if isinstance(column, SymbolColumn):
        marks = [zlib.crc32(word.encode()) for word in column.words]
        by_code = _mixed(np.array(marks, dtype=np.uint64), parts)
        return by_code[column.codes] if len(by_code) else np.zeros(0, dtype=np.int64)
    if column.dtype == np.float64:
        column = column + 0.0  # -0.0 is 0.0
        column[np.isnan(column)] = np.nan
    return _mixed(np.ascontiguousarray(column).view(np.uint64), parts)


def _mixed(words: NDArray[np.uint64], parts: int) -> Parts:
    """Spread neighbours over different parts (the mixing function of SplitMix64)."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) % np.uint64(parts)).astype(np.int64)


def equal(column: Column, value: Value) -> Mask:
    """Whether each row has this value."""
    if isinstance(column, SymbolColumn):
        same = np.array([word == value for word in column.words], dtype=np.bool_)
        return same[column.codes] if len(same) else np.zeros(0, dtype=np.bool_)
    if column.dtype == np.float64 and value != value:
        return np.isnan(column)
    return np.asarray(column == np.array(value, dtype=column.dtype))


# Spark's own placement, for blobs that know their part.


def keys(parts: int) -> list[int]:
    """For each part a number that `repartition` over so many parts sends to that part.

    >>> keys(4)
    [12, 6, 2, 0]
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < parts:
        found.setdefault(_murmur(number) % parts, number)
        number += 1
    return [found[part] for part in range(parts)]


def _murmur(number: int) -> int:
    """Spark's hash of an int: MurmurHash3 of one word, with the seed 42, signed."""
    word = (1 << 32) - 1

    def turned(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & word

    k = (turned((number * 0xCC9E2D51) & word, 15) * 0x1B873593) & word
    h = (turned(42 ^ k, 13) * 5 + 0xE6546B64) & word
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & word
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & word
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
