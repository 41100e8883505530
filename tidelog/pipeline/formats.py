"""Tables as files: Parquet, CSV with a header (RFC 4180), JSON Lines, and back."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import csv

from tidelog.pipeline.changes import from_bytes, to_bytes

ENDINGS = {"parquet": "parquet", "csv": "csv", "json": "json", "changes": "changes"}


def encode(table: pa.Table, format: str) -> bytes:
    """
    >>> encode(pa.table({"x": [1], "y": ["a b"]}), "csv").decode()
    '"x","y"\\n1,"a b"\\n'
    >>> encode(pa.table({"x": [1], "y": ["é"]}), "json").decode()
    '{"x": 1, "y": "é"}\\n'
    """
    if format == "parquet":
        return to_bytes(table)
    if format == "csv":
        written = io.BytesIO()
        csv.write_csv(table, written)
        return written.getvalue()
    lines = [json.dumps(row, ensure_ascii=False) for row in table.to_pylist()]
    return "".join(f"{line}\n" for line in lines).encode()


def decode(data: bytes, schema: pa.Schema, format: str) -> pa.Table:
    """A table that `encode` wrote."""
    if format == "parquet":
        return from_bytes(data).cast(schema)
    if format == "csv":
        return csv.read_csv(
            io.BytesIO(data),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=schema,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    rows = [json.loads(line) for line in data.decode().split("\n") if line]
    return pa.Table.from_pylist(rows, schema=schema)


def unlike(names: Sequence[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Names for further columns that none of the others has.

    >>> unlike(["from", "op"], {"op": "op", "version": "version"})
    {'op': '_op', 'version': 'version'}
    """
    found = {}
    for key, name in wanted.items():
        while name in names:
            name = f"_{name}"
        found[key] = name
    return found
