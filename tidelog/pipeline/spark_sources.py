"""Sources as Spark frames, and their batches as changes of relations.

Rows keep their order of arrival. Spark may read the files of a batch in any order, so rows are
sorted by time, name and block of their file, and within a block by Spark's row numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.pipeline.batches import signed
from tidelog.pipeline.settings import FILE_FORMATS, Map, Source
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError, TidelogError, plural
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind
from tidelog.transaction.refusals import no_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ORDER = ("__time", "__file", "__block", "__row")
_SIGNS: Mapping[str, int] = {"insert": 1, "update_after": 1, "update_before": -1, "delete": -1}
_COMPATIBLE: dict[Kind, tuple[str, ...]] = {
    "symbol": ("string", "varchar", "char"),
    "number": ("tinyint", "smallint", "int", "bigint", "decimal"),
    "unsigned": ("tinyint", "smallint", "int", "bigint", "decimal"),
    "float": ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double"),
}


@dataclass(slots=True)
class SourceBatch:
    """The changes in a batch of a source, in order."""

    facts: dict[str, list[pa.Table]] = field(default_factory=dict)
    rules: list[tuple[Op, str]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)  # name and text of each file


class SourceReader:
    """Reads one source."""

    def __init__(self, spark: SparkSession, source: Source, folder: Path) -> None:
        self.source = source
        self.name = source.name
        self._spark = spark
        self._folder = folder

    def frame(self) -> DataFrame:
        """The source as a Spark frame, streaming or not."""
        source = self.source
        reader: Any = self._spark.readStream if source.stream else self._spark.read
        reader = reader.options(**source.options)
        frame: DataFrame
        if source.table is not None:
            frame = reader.table(source.table)
        else:
            if source.schema is not None:
                reader = reader.schema(source.schema)
            if source.format == "changes":
                reader = reader.option("wholetext", "true")
            reader = reader.format("text" if source.format == "changes" else source.format)
            path = to_uri(source.path, self._folder)
            frame = reader.load(path) if path is not None else reader.load()
        return frame.select("*", "_metadata") if self._files else frame

    @property
    def _files(self) -> bool:
        return self.source.table is None and self.source.format in FILE_FORMATS

    def check(self, frame: DataFrame, schema: Mapping[str, Relation]) -> None:
        """Reject mappings with incompatible types."""
        rows = self._rows(frame)
        for map_ in self.source.maps:
            relation = relation_of(self.source, map_, schema)
            types = dict(self._mapped(rows, map_, relation).dtypes)
            for i, (name, kind) in enumerate(zip(relation.attributes, relation.kinds, strict=True)):
                if not types[f"c{i}"].startswith(_COMPATIBLE[kind]):
                    what = f"column {name} of {relation.name} has type {kind}"
                    advice = "convert it in `columns`: cast(… as …)"
                    raise self._error(f"{what}, but the source has {types[f'c{i}']}", advice)

    def batch(self, frame: DataFrame, schema: Mapping[str, Relation]) -> SourceBatch:
        """Collect the changes of a frame."""
        rows = self._rows(frame)
        if len(self.source.maps) > 1:
            rows = rows.persist()
        try:
            return self._batch(rows, schema)
        finally:
            if len(self.source.maps) > 1:
                rows.unpersist()

    def _batch(self, rows: DataFrame, schema: Mapping[str, Relation]) -> SourceBatch:
        found, source = SourceBatch(), self.source
        if source.format == "changes":
            table = _in_order(rows.toArrow())
            pairs = zip(*(table.column(c).to_pylist() for c in ("__file", "value")), strict=True)
            found.texts = [(file.rpartition("/")[2], text) for file, text in pairs]
        elif source.mode == "rules":
            signs = f"{self._sign()} as __sign"
            kept = rows.selectExpr(f"{source.rule} as __rule", signs, *self._extra(), *self._order)
            table = self._checked(_in_order(kept.toArrow()))
            if table.column("__rule").null_count:
                raise self._error("a row has no rule")
            listed = zip(*(table.column(c).to_pylist() for c in ("__sign", "__rule")), strict=True)
            found.rules = [("+" if sign > 0 else "-", rule) for sign, rule in listed]
        for map_ in source.maps:
            relation = relation_of(source, map_, schema)
            mapped = self._mapped(rows, map_, relation)
            # Changes of one relation keep their order across mappings.
            found.facts.setdefault(relation.name, []).append(mapped.toArrow())
        for name, tables in found.facts.items():
            merged = self._checked(_in_order(pa.concat_tables(tables)))
            found.facts[name] = [self._changes(schema[name], merged)]
        return found

    def _rows(self, frame: DataFrame) -> DataFrame:
        """The rows to map, with their order of arrival."""
        source = self.source
        place = ["monotonically_increasing_id() as __row"]
        if self._files:
            place += [
                "_metadata.file_modification_time as __time",
                "_metadata.file_path as __file",
                "_metadata.file_block_start as __block",
            ]
        rows = frame.selectExpr("*", *place)
        if source.where is not None:
            rows = rows.where(source.where)
        return rows if source.before is None else self._split_updates(rows)

    def _split_updates(self, rows: DataFrame) -> DataFrame:
        """Split rows with the states before and after a change into one row per state."""
        source, words = self.source, self.source.values
        both = {
            side: _sql_list((*words["update"], *words[side]))
            for side in ("insert", "delete", "update_before", "update_after")
        }
        op = f"lower(cast({source.op} as string))"
        deletes = f"{op} in ({both['delete']}, {both['update_before']})"
        inserts = f"{op} in ({both['insert']}, {both['update_after']})"
        sides = (
            f"filter(array(named_struct('__sign', -1, '__side', {source.before}, '__is', {deletes})"
            f",named_struct('__sign', 1, '__side', {source.after}, '__is', {inserts})),"
            f"each -> each.__is or not coalesce({deletes} or {inserts}, false))"
        )
        order = [f"{source.order} as __seq"] if source.order is not None else []
        kept = [*order, *self._order]
        wide = rows.selectExpr(f"explode({sides}) as __both", f"{source.op} as __op", *kept)
        sign = "case when __both.__is then __both.__sign end as __sign"
        absent = "__both.__side is null as __absent"
        names = [name.split(" as ")[-1] for name in kept]
        return wide.selectExpr("__both.__side.*", sign, absent, "__op", *names)

    @property
    def _order(self) -> list[str]:
        return [*(_ORDER if self._files else _ORDER[-1:])]

    def _mapped(self, rows: DataFrame, map_: Map, relation: Relation) -> DataFrame:
        """The relation's columns, with sign, sequence number and order of arrival."""
        expressions = map_.columns
        if expressions is None:
            expressions = tuple(f"`{name}`" for name in relation.attributes)
        own = [f"{each} as c{i}" for i, each in enumerate(expressions)]
        sign = "__sign" if self.source.before is not None else f"{self._sign()} as __sign"
        if map_.where is not None:
            rows = rows.where(map_.where)
        return rows.selectExpr(*own, sign, *self._extra(), *self._order)

    def _sign(self) -> str:
        """An SQL expression that is 1, -1, or null if the row has no known sign."""
        source = self.source
        if source.mode == "append":
            return "1"
        op = f"lower(trim(cast({source.op} as string)))"
        cases = "".join(
            f" when {op} in ({_sql_list(source.values[name])}) then {sign}"
            for name, sign in _SIGNS.items()
        )
        return f"case{cases} end"

    def _extra(self) -> list[str]:
        """Columns for messages and sequence numbers."""
        source, sides = self.source, self.source.before is not None
        kept = []
        if source.mode != "append":
            kept += ["__op", "__absent"] if sides else [f"cast({source.op} as string) as __op"]
        if source.order is not None:
            kept += ["__seq" if sides else f"{source.order} as __seq"]
        return kept

    def _checked(self, table: pa.Table) -> pa.Table:
        """The table, if every row has a sign and, if required, a sequence number."""
        signs = table.column("__sign")
        if signs.null_count:
            row = pc.index(pc.is_null(signs), True).as_py()
            value = table.column("__op")[row].as_py()
            known = ", ".join(word for words in self.source.values.values() for word in words)
            message = f"unknown value {value!r} of {self.source.op}"
            raise self._error(message, f"expected one of {known}")
        if "__absent" in table.column_names and pc.any(table.column("__absent")).as_py():
            what = f"an update or deletion has no {self.source.before}"
            advice = "the database must log whole rows (in PostgreSQL: REPLICA IDENTITY FULL)"
            raise self._error(what, advice)
        if "__seq" in table.column_names and table.column("__seq").null_count:
            raise self._error(f"order is null: {self.source.order}")
        return table

    def _changes(self, relation: Relation, table: pa.Table) -> pa.Table:
        columns = [table.column(f"c{i}") for i in range(relation.arity)]
        seqs = table.column("__seq") if "__seq" in table.column_names else None
        if seqs is not None:
            if not (pa.types.is_integer(seqs.type) or pa.types.is_decimal(seqs.type)):
                advice = "convert a time with unix_micros(…)"
                message = f"order must be a whole number, but the source has {seqs.type}"
                raise self._error(message, advice)
            seqs = seqs.cast(pa.int64())
        try:
            return signed(relation, columns, table.column("__sign"), seqs)
        except DataError as error:
            raise self._error(str(error).removeprefix("error: ")) from None

    def _error(self, message: str, advice: str = "") -> TidelogError:
        text = f"error: source {self.name}: {message}"
        return DataError(f"{text}\n    {advice}" if advice else text)


def relation_of(source: Source, map_: Map, schema: Mapping[str, Relation]) -> Relation:
    """The relation of a mapping, if its columns fit."""
    relation = schema.get(map_.relation)
    if relation is None:
        raise no_relation(map_.relation, list(schema))
    if map_.columns is not None and len(map_.columns) != relation.arity:
        names = f"{relation.name}({', '.join(relation.attributes)})"
        given = len(map_.columns)
        are = "is" if given == 1 else "are"
        raise DataError(
            f"error: source {source.name}: {plural(given, 'column')} {are} mapped to {names}, "
            f"which has {relation.arity}"
        )
    return relation


def to_uri(path: str | None, folder: Path) -> str | None:
    """A path as a URI; a path without a scheme is relative to the folder."""
    if path is None or "://" in path or path.startswith("file:"):
        return path
    return (
        (folder / path).absolute().as_uri()
        if not any(c in path for c in "*?[{")
        else str((folder / path).absolute())
    )


def _sql_list(words: tuple[str, ...]) -> str:
    """Words as an SQL list."""
    return ", ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)


def _in_order(table: pa.Table) -> pa.Table:
    """The rows in order of arrival, with the deletion of an update before its insertion."""
    keys = [name for name in (*_ORDER, "__sign") if name in table.column_names]
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in keys]))
