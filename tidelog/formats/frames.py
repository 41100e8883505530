"""Facts from Python rows, NumPy arrays and data frames, and frames from facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.control.limits import poll
from tidelog.formats.byte_source import DistinctFacts
from tidelog.formats.field_values import CellFault, a_kind, shown
from tidelog.formats.term_cells import in_text, parse_term
from tidelog.program.diagnostics import DataError, plural
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind
from tidelog.program.table import DTYPES, Column, SymbolColumn, Table, columns_of, python_values
from tidelog.program.terms import Misfit, TermKind, fit

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_BOUNDS = {"number": (-(1 << 63), (1 << 63) - 1), "unsigned": (0, (1 << 64) - 1)}


_PORTION = 2**14  # rows between two checks of their number


def is_stream(data: object) -> bool:
    """Is it an iterator of rows, which may never end?"""
    return isinstance(data, Iterable) and not (isinstance(data, Sized) or _is_frame(data))


def rereadable(name: str, data: Any, max_facts: int | None) -> Any:
    """Data that can be looked at twice: rows that come one by one as a list, and what gives its
    batches once, such as a reader of Arrow, as a table."""
    if is_stream(data):
        return listed(data, max_facts)
    if not hasattr(data, "__arrow_c_stream__") or isinstance(data, Sized):
        return data
    with _readable(name):
        return _whole(data, DistinctFacts(max_facts))


def _whole(data: Any, distinct: DistinctFacts) -> pyarrow.Table:
    """All batches of a reader, which need not end."""
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(data)
    batches: list[pyarrow.RecordBatch] = []
    size = 0
    for batch in reader:
        poll()
        batches.append(batch)
        size += batch.num_rows
        distinct.look(size, lambda: _facts(pa.Table.from_batches(batches)))
    return pa.Table.from_batches(batches, reader.schema)


def _facts(rows: pyarrow.Table) -> int:
    return int(rows.group_by(rows.column_names).aggregate([]).num_rows)


def listed(rows: Iterable[Any], max_facts: int | None) -> list[Any]:
    """The rows of a source that may never end; LimitError if it has more facts than the limit."""
    found: list[Any] = []
    coming, distinct = iter(rows), DistinctFacts(max_facts)
    while some := list(islice(coming, _PORTION)):
        poll()
        found += some
        distinct.check(found)
    return found


def to_table(relation: Relation, data: Any) -> Table:
    """A table of the relation's kinds from rows, an array or a frame; of one dimension, it is one
    column."""
    if isinstance(data, Table):
        return data
    if isinstance(data, np.ndarray):
        if np.ma.is_masked(data):
            raise _fault(relation, "the array has masked cells\n    leave out their rows")
        data = np.asarray(data)  # rows of a matrix are matrices
        if data.ndim == relation.arity == 1:
            data = data.reshape(-1, 1)
        if data.ndim != 2:
            advice = f"reshape it: array.reshape(-1, {relation.arity})"
            found = "dimension" if data.ndim == 1 else "dimensions"
            message = f"takes an array of 2 dimensions; this one has {data.ndim} {found}"
            raise _fault(relation, f"{message}\n    {advice}")
        if data.shape[1] != relation.arity:
            shape = "×".join(map(str, data.shape))
            raise _fault(
                relation, f"takes {plural(relation.arity, 'column')}; the array is {shape}"
            )
        columns = [data[:, c] for c in range(relation.arity)]
        return _from_columns(relation, columns, len(data))
    if is_spark(data):
        data = data.toArrow()
    if _is_frame(data):
        return _from_arrow(relation, data)
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | Mapping):
        raise _fault(relation, f"takes rows or a frame, got {data!r}")
    rows = list(data)
    for number, row in enumerate(rows):
        if not _is_row(row) or len(row) != relation.arity:
            message = f"takes rows of {plural(relation.arity, 'value')}, got {row!r}"
            if relation.arity == 1 and not _is_row(row):
                message += f"\n    a row is a tuple, as in {(row,)!r}"
            raise _fault(relation, message, number)
    return _from_columns(relation, columns_of(rows, relation.arity), len(rows))


def _is_row(row: object) -> bool:
    return isinstance(row, Sequence) and not isinstance(row, str | bytes)


def kinds_of(name: str, data: Any) -> tuple[Kind, ...] | None:
    """The kinds of columns, judged by the data; None where it does not show them."""
    if isinstance(data, Table):
        return data.kinds
    if isinstance(data, np.ndarray) and data.ndim not in (1, 2):
        return None
    if isinstance(data, np.ndarray):
        kind = _kind_of_dtype(data.dtype)
        return None if kind is None else (kind,) * (data.shape[1] if data.ndim == 2 else 1)
    if is_spark(data):
        return _kinds_of_spark(data)
    if _is_frame(data):
        return tuple(_kind_of_arrow(field.type) for field in _arrow(data, name).schema)
    rows = list(data) if isinstance(data, Iterable) else []
    if not rows or not _is_row(rows[0]):
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
    return hasattr(data, "__arrow_c_stream__") or _home(data) in ("pandas", "polars", "pyarrow")


def _home(data: object) -> str:
    """The library that an object comes from."""
    return type(data).__module__.partition(".")[0]


def is_spark(data: object) -> bool:
    """Is this a Spark frame? Works without PySpark."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "sparkSession")


_SPARK_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "number"),
    **dict.fromkeys(("float", "double"), "float"),
    "string": "symbol",
}


def _kinds_of_spark(frame: Any) -> tuple[Kind, ...] | None:
    found = [_SPARK_KINDS.get(kind) for _, kind in frame.dtypes]
    return None if None in found else tuple(kind for kind in found if kind is not None)


def _arrow(data: Any, name: str) -> Any:
    """Any frame as an Arrow table; DataError where Arrow cannot take it."""
    import pyarrow as pa

    with _readable(name):
        try:
            if hasattr(data, "to_frame"):  # a Series or an Index: one column
                data = data.to_frame()
            if hasattr(data, "collect") and not hasattr(data, "__arrow_c_stream__"):
                data = data.collect()  # a lazy frame
            if isinstance(data, pa.Array | pa.ChunkedArray):
                return pa.table([data], names=["0"])
            if _home(data) == "pandas":
                return _pandas_to_arrow(data)
            return data if isinstance(data, pa.Table) else pa.table(data)
        except AttributeError:  # another kind of object of these libraries
            found = f"expected rows, a frame or a series, got a {type(data).__name__}"
            raise DataError(f"error: {name}: {found}") from None


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Errors of Arrow as errors of the relation's data."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = "; ".join(map(str, error.args))
        raise DataError(f"error: {name}: the frame cannot be read: {reason}") from None


def _pandas_to_arrow(data: Any) -> Any:
    """A NaN in a column of NumPy floats is a value, where Arrow would make it a null."""
    import pyarrow as pa

    table = pa.Table.from_pandas(data, preserve_index=False)
    for place, dtype in enumerate(data.dtypes):
        if isinstance(dtype, np.dtype) and dtype.kind == "f":
            values = pa.array(data.iloc[:, place].to_numpy(), from_pandas=False)
            table = table.set_column(place, table.field(place).name, values)
    return table


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
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and len(values):
        return _numeric(relation, kind, name, values)
    values = list(values)
    if isinstance(kind, TermKind):
        return _terms(relation, kind, name, values)
    wanted = {"symbol": (str,), "float": (int, float, np.integer, np.floating)}
    allowed = wanted.get(kind, (int, np.integer))
    for number, value in enumerate(values):
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise _fault(relation, f"column {name} is {a_kind(kind)}, got {value!r}", number)
    if kind == "symbol":
        return _symbols(relation, name, values)
    if kind == "float":
        try:
            return np.array([float(value) for value in values], dtype=np.float64)
        except OverflowError:
            raise _fault(relation, f"column {name} has a value too large for a float") from None
    low, high = _BOUNDS[kind]
    for number, value in enumerate(values):
        if not low <= value <= high:
            raise _fault(relation, f"column {name}: {value} does not fit a 64-bit {kind}", number)
    return np.array(values, dtype=DTYPES[kind])


def _terms(relation: Relation, kind: TermKind, name: str, values: list[Any]) -> SymbolColumn:
    """Tuples, branches, or their text as it stands in files of facts."""
    ids: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for number, value in enumerate(values):
        found = parse_term(kind, value) if isinstance(value, str) else value
        if isinstance(found, CellFault):
            message = found.message.format(cell=shown(str(value)), column=f"column {name}")
            raise _fault(relation, message, number)
        try:
            found = fit(kind, found, partial(_leaf, relation, name, number))
        except Misfit as misfit:
            raise _fault(relation, f"column {name} is {a_kind(kind)}; {misfit}", number) from None
        codes[number] = ids.setdefault(found, len(ids))
    return SymbolColumn(codes, list(ids))


def _leaf(relation: Relation, name: str, number: int, kind: Kind, value: Any) -> Any:
    """A field of a term, checked as a column of its own."""
    try:
        return python_values(_column(relation, kind, name, [value]))[0]
    except DataError as error:
        raise Misfit(str(error).partition("; ")[2] or str(error)) from None


def _symbols(relation: Relation, name: str, values: list[str]) -> SymbolColumn:
    ids: dict[str, int] = {}
    codes = np.array([ids.setdefault(str(v), len(ids)) for v in values], dtype=np.int64)
    for word in ids:
        if not word.isascii() and any("\ud800" <= c <= "\udfff" for c in word):
            raise _fault(relation, f"column {name}: {word!r} is not valid text (a lone surrogate)")
    return SymbolColumn(codes, list(ids))


def _numeric(relation: Relation, kind: Kind, name: str, values: Any) -> Column:
    if kind == "float":
        return np.asarray(values.astype(np.float64))
    if kind == "symbol" or values.dtype.kind == "f":
        lacking = values.dtype.kind == "f" and np.isnan(values).any()
        holds = f"{values.dtype}, with missing values (NaN)" if lacking else values.dtype
        raise _fault(relation, f"column {name} is {a_kind(kind)}; the array holds {holds}")
    low, high = _BOUNDS[kind]
    if not np.can_cast(values.dtype, DTYPES[kind]) and not (
        low <= int(values.min()) and int(values.max()) <= high
    ):
        raise _fault(relation, f"column {name} has a value that does not fit a 64-bit {kind}")
    return np.ascontiguousarray(values, dtype=DTYPES[kind])


def _from_arrow(relation: Relation, data: Any) -> Table:
    frame = _arrow(data, relation.name)
    if frame.num_columns != relation.arity:
        raise _fault(
            relation, f"takes {plural(relation.arity, 'column')}; the frame has {frame.num_columns}"
        )
    if set(frame.column_names) == set(relation.attributes):
        frame = frame.select(list(relation.attributes))
    columns = []
    for kind, name, chunks in zip(relation.kinds, relation.attributes, frame.columns, strict=True):
        columns.append(_arrow_column(relation, kind, name, chunks))
    size = len(data) if not columns and hasattr(data, "__len__") else frame.num_rows
    return Table(relation.kinds, tuple(columns), size)


def _arrow_column(relation: Relation, kind: Kind, name: str, chunks: Any) -> Column:
    import pyarrow as pa
    from pyarrow import types

    if not len(chunks):
        return _column(relation, kind, name, [])
    if isinstance(kind, TermKind):
        return _terms(relation, kind, name, chunks.to_pylist())
    if kind == "symbol" and types.is_dictionary(chunks.type):
        chunks = chunks.combine_chunks()
        texts = chunks.dictionary.to_pylist()
        codes = np.asarray(chunks.indices.fill_null(len(texts))).astype(np.int64)
        chunks = pa.array([*texts, None]).take(pa.array(codes))
    if chunks.null_count:
        raise _fault(relation, f"column {name} has empty cells (nulls)")
    if kind == "symbol":
        texts = (types.is_string, types.is_large_string, types.is_string_view)
        if not any(is_text(chunks.type) for is_text in texts):
            raise _fault(relation, f"column {name} is a symbol; the frame has {chunks.type}")
        chunks = chunks.cast(pa.large_string())
        if isinstance(chunks, pa.ChunkedArray):
            chunks = chunks.combine_chunks()
        found = chunks.dictionary_encode()
        codes = found.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return SymbolColumn(codes, found.dictionary.to_pylist())
    if not (types.is_integer(chunks.type) or types.is_floating(chunks.type)):
        raise _fault(relation, f"column {name} is {a_kind(kind)}; the frame has {chunks.type}")
    return _numeric(relation, kind, name, chunks.to_numpy())


def to_arrow(relation: Relation, table: Table) -> pyarrow.Table:
    """An Arrow table; symbols are dictionary-encoded strings."""
    import pyarrow as pa

    arrays = []
    for column in in_text(table).columns:
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
        for name, column in zip(relation.attributes, in_text(table).columns, strict=True)
    }
    return pd.DataFrame(columns, index=range(table.size))


def to_polars(relation: Relation, table: Table) -> polars.DataFrame:
    import polars as pl

    return pl.DataFrame(
        [
            pl.Series(name, column.tolist(), dtype=pl.String)
            if isinstance(column, SymbolColumn)
            else pl.Series(name, column)
            for name, column in zip(relation.attributes, in_text(table).columns, strict=True)
        ]
    )
