"""The registry of formats that Tidelog writes tables in: Parquet, CSV with a header, JSON Lines."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv

from tidelog.pipeline.batches import from_bytes, to_bytes


class TableCodec(NamedTuple):
    """`decode` reads what `encode` wrote; the format's name is the ending of its files."""

    encode: Callable[[pa.Table], bytes]
    decode: Callable[[bytes, pa.Schema], pa.Table]


def _csv_bytes(table: pa.Table) -> bytes:
    written = io.BytesIO()
    csv.write_csv(table, written)
    return written.getvalue()


def _from_csv(data: bytes, schema: pa.Schema) -> pa.Table:
    return csv.read_csv(
        io.BytesIO(data),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=schema,
            null_values=[],
            strings_can_be_null=False,
        ),
    )


def _json_bytes(table: pa.Table) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) for row in table.to_pylist()]
    return "".join(f"{line}\n" for line in lines).encode()


def _from_json(data: bytes, schema: pa.Schema) -> pa.Table:
    rows = [json.loads(line) for line in data.decode().split("\n") if line]
    return pa.Table.from_pylist(rows, schema=schema)


TABLE_FORMATS: dict[str, TableCodec] = {
    "parquet": TableCodec(to_bytes, lambda data, schema: from_bytes(data).cast(schema)),
    "csv": TableCodec(_csv_bytes, _from_csv),
    "json": TableCodec(_json_bytes, _from_json),
}


def encode(table: pa.Table, format: str) -> bytes:
    """
    >>> encode(pa.table({"x": [1], "y": ["a b"]}), "csv").decode()
    '"x","y"\\n1,"a b"\\n'
    >>> encode(pa.table({"x": [1], "y": ["é"]}), "json").decode()
    '{"x": 1, "y": "é"}\\n'
    """
    return TABLE_FORMATS[format].encode(table)


def decode(data: bytes, schema: pa.Schema, format: str) -> pa.Table:
    """Read a table that `encode` wrote."""
    return TABLE_FORMATS[format].decode(data, schema)


def unused(name: str, names: Sequence[str]) -> str:
    """The name, with underscores in front if it is taken.

    >>> unused("op", ["from", "op"])
    '_op'
    """
    while name in names:
        name = f"_{name}"
    return name
