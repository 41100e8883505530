"""How facts look in Spark: columns c0, c1, … of plain types.

A number is a bigint and so is an unsigned, by its bits (Spark has no unsigned type; users see a
decimal). A float is a double, never -0.0 and with one NaN. A symbol is a string. Spark wants
at least one column: a relation without any has a c0 that is always 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.formats.field_values import a_kind
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Column, SymbolColumn, Table, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Row = tuple[Value, ...]  # as Spark has it: an unsigned is the number with the same bits

ARROW: dict[Kind, Any] = {
    "number": pa.int64(),
    "unsigned": pa.int64(),
    "float": pa.float64(),
    "symbol": pa.string(),
}
TYPES: dict[Kind, str] = {
    "number": "bigint",
    "unsigned": "bigint",
    "float": "double",
    "symbol": "string",
}


def names(relation: Relation) -> list[str]:
    """Columns of the relation's frames."""
    return [f"c{i}" for i in range(max(1, relation.arity))]


def types(relation: Relation) -> list[str]:
    return [TYPES[kind] for kind in relation.kinds] or ["bigint"]


def schema(relation: Relation) -> StructType:
    from pyspark.sql.types import DoubleType, LongType, StringType, StructType

    made = StructType()
    kinds = {"bigint": LongType(), "double": DoubleType(), "string": StringType()}
    for name, kind in zip(names(relation), types(relation), strict=True):
        made = made.add(name, kinds[kind], nullable=False)
    return made


def arrow_schema(relation: Relation) -> pa.Schema:
    kinds = [ARROW[kind] for kind in relation.kinds] or [pa.int64()]
    return pa.schema(list(zip(names(relation), kinds, strict=True)))


# Tables of the project, and Arrow tables as Spark gives and takes them.


def to_arrow(relation: Relation, table: Table) -> pa.Table:
    arrays = [_array(column) for column in table.columns]
    if not arrays:
        arrays = [pa.array(np.zeros(min(1, table.size), dtype=np.int64))]
    return pa.table(arrays, schema=arrow_schema(relation))


def _array(column: Column) -> Any:
    if isinstance(column, SymbolColumn):
        words = pa.array(list(column.words), type=pa.string())
        return words.take(pa.array(column.codes))
    if column.dtype == np.uint64:
        return pa.array(column.view(np.int64))
    return pa.array(column + 0.0 if column.dtype == np.float64 else column)


def from_arrow(relation: Relation, found: pa.Table) -> Table:
    if not relation.arity:
        return Table((), (), min(1, found.num_rows))
    chunks = zip(relation.kinds, found.columns, strict=True)
    columns = tuple(_column(kind, chunk) for kind, chunk in chunks)
    return Table(relation.kinds, columns, found.num_rows)


def _column(kind: Kind, chunk: Any) -> Column:
    chunk = chunk.combine_chunks() if isinstance(chunk, pa.ChunkedArray) else chunk
    if kind == "symbol":
        found = chunk.dictionary_encode()
        codes = found.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return SymbolColumn(codes, found.dictionary.to_pylist())
    values: NDArray[Any] = chunk.to_numpy(zero_copy_only=False)
    return values.view(np.uint64) if kind == "unsigned" else values


# Rows that the driver holds.


def rows_of(relation: Relation, found: pa.Table) -> list[Row]:
    """Rows of an Arrow table, which the driver can hold in a set."""
    columns: list[Sequence[Value]] = []
    for chunk, kind in zip(found.columns, relation.kinds or ("number",), strict=True):
        # Of numbers, NumPy makes values of Python's several times as fast as Arrow.
        made = chunk.to_pylist() if kind == "symbol" else chunk.to_numpy().tolist()
        columns.append([_float(value) for value in made] if kind == "float" else made)
    return list(zip(*columns, strict=True))


def as_table(relation: Relation, rows: Iterable[Row]) -> Table:
    return from_arrow(relation, as_arrow(relation, rows))


def as_arrow(relation: Relation, rows: Iterable[Row]) -> pa.Table:
    wanted, rows = arrow_schema(relation), rows if isinstance(rows, Collection) else list(rows)
    arrays = [
        pa.array(column, type=field.type)
        for column, field in zip(columns_of(rows, len(wanted)), wanted, strict=True)
    ]
    return pa.table(arrays, schema=wanted)


def _float(value: Any) -> float:
    """One NaN, which is itself: so it can be looked up."""
    return math.nan if value != value else value + 0.0


def inner(kind: Kind, value: Value) -> Value:
    """One value as Spark has it."""
    if kind == "unsigned":
        return int(value) - (1 << 64) if int(value) >= 1 << 63 else int(value)
    return _float(float(value)) if kind == "float" else value


def to_frame(spark: SparkSession, relation: Relation, found: pa.Table) -> DataFrame:
    """A frame of facts that the driver holds."""
    return spark.createDataFrame(found, schema=schema(relation))


# Frames as users have them: columns by name, decimals for unsigned.


def inward(relation: Relation, frame: DataFrame) -> DataFrame:
    """A user's frame with the columns that the engine wants; DataError if they do not fit."""
    from pyspark.sql import functions as F

    if len(frame.columns) != relation.arity:
        raise _fault(relation, f"takes {relation.arity} columns; the frame has", frame.columns)
    if not relation.arity:
        return frame.select(F.lit(0).cast("bigint").alias("c0")).limit(1)
    columns = list(frame.columns)
    if set(columns) == set(relation.attributes):
        columns = list(relation.attributes)
    chosen = []
    for c, (column, kind) in enumerate(zip(columns, relation.kinds, strict=True)):
        chosen.append(_inward(relation, kind, column, frame).alias(f"c{c}"))
    return frame.select(*chosen)


_WHOLE = ("tinyint", "smallint", "int", "bigint")


def _inward(relation: Relation, kind: Kind, column: str, frame: DataFrame) -> Any:
    from pyspark.sql import functions as F

    field = frame.schema[column]
    given = field.dataType.simpleString()
    value = F.col("`" + column.replace("`", "``") + "`")
    whole = given in _WHOLE or (given.startswith("decimal") and given.endswith(",0)"))
    fits = {
        "symbol": given == "string" or given.startswith(("varchar", "char")),
        "float": whole or given in ("float", "double") or given.startswith("decimal"),
        "number": whole,
        "unsigned": whole,
    }
    if not fits[kind]:
        raise _fault(relation, f"column {column} is {a_kind(kind)}; the frame has", [given])
    if kind == "float":
        found = value.cast("double") + F.lit(0.0)
    elif kind == "unsigned":
        found = _bits(value.cast("decimal(38,0)"))
    else:
        found = value.try_cast(TYPES[kind])
    # What is no value of the kind is null here, and nulls are refused when facts are loaded.
    return found


def _bits(value: Any) -> Any:
    """The bigint with the bits of an unsigned, null for other values."""
    from pyspark.sql import functions as F

    half, top = F.lit("9223372036854775808"), F.lit("18446744073709551616")
    half, top = half.cast("decimal(38,0)"), top.cast("decimal(38,0)")
    small = F.when((value >= 0) & (value < half), value)
    large = F.when((value >= half) & (value < top), value - top)
    return F.coalesce(small, large).cast("bigint")


def outward(relation: Relation, frame: DataFrame) -> DataFrame:
    """The engine's frame as users see it."""
    from pyspark.sql import functions as F

    top = F.lit("18446744073709551616").cast("decimal(20,0)")
    chosen = []
    for name, kind, attribute in zip(
        names(relation), relation.kinds, relation.attributes, strict=False
    ):
        value = F.col(name)
        if kind == "unsigned":
            value = value.cast("decimal(20,0)")
            value = F.when(value < 0, value + top).otherwise(value).cast("decimal(20,0)")
        chosen.append(value.alias(attribute))
    return frame.select(*chosen)


def _fault(relation: Relation, message: str, found: Sequence[str]) -> DataError:
    shown = len(found) if not found or len(found) != 1 else found[0]
    return DataError(f"error: {relation.name}: {message} {shown}")
