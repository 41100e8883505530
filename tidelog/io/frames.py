"""Facts from Python rows, NumPy arrays and data frames, and frames from facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind
from tidelog.program.table import DTYPES, Column, SymbolColumn, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_BOUNDS = {"number": (-(1 << 63), (1 << 63) - 1), "unsigned": (0, (1 << 64) - 1)}


def to_table(relation: Relation, data: Any) -> Table:
    """A table of the relation's kinds from rows, an array of two dimensions or a frame."""
    if isinstance(data, Table):
        return data
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] != relation.arity:
            shape = "×".join(map(str, data.shape))
            raise _fault(relation, f"takes {relation.arity} columns; the array is {shape}")
        columns = [data[:, c] for c in range(relation.arity)]
        return _from_columns(relation, columns, len(data))
    if _is_frame(data):
        return _from_arrow(relation, data)
    rows = list(data)
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != relation.arity:
            raise _fault(
                relation, f"takes rows of {relation.arity} values; {row!r} is none", number
            )
    parts = list(zip(*rows, strict=True)) if rows else [() for _ in relation.kinds]
    return _from_columns(relation, parts, len(rows))


def kinds_of(data: Any) -> tuple[Kind, ...] | None:
    """Kinds of columns as the data shows them; None where it does not."""
    if isinstance(data, Table):
        return data.kinds
    if isinstance(data, np.ndarray) and data.ndim == 2:
        kind = _kind_of_dtype(data.dtype)
        return None if kind is None else (kind,) * data.shape[1]
    if _is_frame(data):
        import pyarrow as pa

        return tuple(_kind_of_arrow(field.type) for field in pa.table(data).schema)
    rows = list(data)
    if not rows or not isinstance(rows[0], Sequence) or isinstance(rows[0], str):
        return None
    found = [_kind_of_values(row[c] for row in rows if len(row) > c) for c in range(len(rows[0]))]
    return tuple(k for k in found if k) if all(found) else None


def _kind_of_values(values: Iterable[Any]) -> Kind | None:
    types = {type(value) for value in values}
    if types <= {str, np.str_}:
        return "symbol"
    if all(issubclass(t, int | np.integer) and t is not bool for t in types):
        return "number"
    if all(issubclass(t, int | float | np.integer | np.floating) for t in types):
        return "float"
    return None


def _kind_of_dtype(dtype: Any) -> Kind | None:
    kinds: dict[str, Kind] = {"i": "number", "u": "unsigned", "f": "float", "U": "symbol"}
    return kinds.get(dtype.kind)


def _kind_of_arrow(kind: Any) -> Kind:
    import pyarrow.types as types

    if types.is_signed_integer(kind):
        return "number"
    if types.is_unsigned_integer(kind):
        return "unsigned"
    return "float" if types.is_floating(kind) else "symbol"


def _is_frame(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or type(data).__module__.startswith("pandas")


def _fault(relation: Relation, message: str, row: int | None = None) -> DataError:
    where = f"{relation.name}: " if row is None else f"{relation.name}, row {row + 1}: "
    return DataError(f"error: {where}{message}")


def _from_columns(relation: Relation, parts: Sequence[Any], size: int) -> Table:
    columns = tuple(
        _column(relation, kind, name, part)
        for kind, name, part in zip(relation.kinds, relation.attributes, parts, strict=True)
    )
    return Table(relation.kinds, columns, size)


def _column(relation: Relation, kind: Kind, name: str, values: Any) -> Column:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _numeric(relation, kind, name, values)
    values = list(values)
    wanted = {"symbol": (str,), "float": (int, float, np.integer, np.floating)}
    allowed = wanted.get(kind, (int, np.integer))
    for number, value in enumerate(values):
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise _fault(relation, f"column {name} is a {kind}; {value!r} is none", number)
    if kind == "symbol":
        return _symbols(values)
    if kind == "float":
        return _checked_floats(relation, name, np.array(values, dtype=np.float64))
    low, high = _BOUNDS[kind]
    for number, value in enumerate(values):
        if not low <= value <= high:
            raise _fault(relation, f"column {name}: {value} does not fit a 64-bit {kind}", number)
    return np.array(values, dtype=DTYPES[kind])


def _symbols(values: list[str]) -> SymbolColumn:
    ids: dict[str, int] = {}
    codes = np.array([ids.setdefault(v, len(ids)) for v in values], dtype=np.int64)
    return SymbolColumn(codes, list(ids))


def _checked_floats(relation: Relation, name: str, values: Any) -> Column:
    bad = np.flatnonzero(np.isnan(values))
    if len(bad):
        raise _fault(relation, f"column {name} has a NaN, which equals nothing", int(bad[0]))
    return np.asarray(values)


def _numeric(relation: Relation, kind: Kind, name: str, values: Any) -> Column:
    if kind == "float":
        return _checked_floats(relation, name, values.astype(np.float64))
    if kind == "symbol" or values.dtype.kind == "f":
        raise _fault(relation, f"column {name} is a {kind}; the array holds {values.dtype}")
    low, high = _BOUNDS[kind]
    if len(values) and not (low <= int(values.min()) and int(values.max()) <= high):
        raise _fault(relation, f"column {name} has a value that does not fit a 64-bit {kind}")
    return np.ascontiguousarray(values, dtype=DTYPES[kind])


def _from_arrow(relation: Relation, data: Any) -> Table:
    import pyarrow as pa

    try:
        frame = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise _fault(relation, f"the frame cannot be read: {error}") from None
    if type(data).__module__.startswith("pandas"):
        frame = pa.Table.from_pandas(data, preserve_index=False)
    if frame.num_columns != relation.arity:
        raise _fault(relation, f"takes {relation.arity} columns; the frame has {frame.num_columns}")
    if set(frame.column_names) == set(relation.attributes):
        frame = frame.select(list(relation.attributes))
    columns = []
    for kind, name, chunks in zip(relation.kinds, relation.attributes, frame.columns, strict=True):
        if chunks.null_count:
            raise _fault(relation, f"column {name} has empty cells (nulls)")
        columns.append(_arrow_column(relation, kind, name, chunks))
    return Table(relation.kinds, tuple(columns), frame.num_rows)


def _arrow_column(relation: Relation, kind: Kind, name: str, chunks: Any) -> Column:
    import pyarrow as pa

    if kind == "symbol":
        if pa.types.is_dictionary(chunks.type):
            chunks = chunks.cast(chunks.type.value_type)
        if not (pa.types.is_string(chunks.type) or pa.types.is_large_string(chunks.type)):
            if not pa.types.is_string_view(chunks.type):
                raise _fault(relation, f"column {name} is a symbol; the frame has {chunks.type}")
            chunks = chunks.cast(pa.string())
        encoded = chunks.combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return SymbolColumn(codes, encoded.dictionary.to_pylist())
    if not (pa.types.is_integer(chunks.type) or pa.types.is_floating(chunks.type)):
        raise _fault(relation, f"column {name} is a {kind}; the frame has {chunks.type}")
    return _numeric(relation, kind, name, chunks.to_numpy())


def to_arrow(relation: Relation, table: Table) -> pyarrow.Table:
    """An Arrow table; symbols are dictionary-encoded strings."""
    import pyarrow as pa

    arrays = []
    for column in table.columns:
        if isinstance(column, SymbolColumn):
            codes = pa.array(column.codes.astype(np.int32))
            words = pa.array(list(column.words), type=pa.string())
            arrays.append(pa.DictionaryArray.from_arrays(codes, words))
        else:
            arrays.append(pa.array(column))
    return pa.table(arrays, names=list(relation.attributes))


def to_pandas(relation: Relation, table: Table) -> pandas.DataFrame:
    import pandas as pd

    columns = {
        name: np.array(column.tolist(), dtype=object)
        if isinstance(column, SymbolColumn)
        else column
        for name, column in zip(relation.attributes, table.columns, strict=True)
    }
    return pd.DataFrame(columns, index=range(table.size))


def to_polars(relation: Relation, table: Table) -> polars.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            name: column.tolist() if isinstance(column, SymbolColumn) else column
            for name, column in zip(relation.attributes, table.columns, strict=True)
        }
    )
