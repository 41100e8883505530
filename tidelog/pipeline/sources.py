"""Sources as Spark frames, and their batches as changes of relations.

Rows keep the order in which they arrived: a batch of files may read them in any order, so
they are sorted by the files' times, names and places, and within those as Spark numbers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.pipeline.changes import signed
from tidelog.pipeline.settings import FILES, Map, Source
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError, TidelogError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind
from tidelog.transactions import no_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE = ("__time", "__file", "__block", "__row")
_SIGNS: Mapping[str, int] = {"insert": 1, "update_after": 1, "update_before": -1, "delete": -1}
_FITTING: dict[Kind, tuple[str, ...]] = {
    "symbol": ("string", "varchar", "char"),
    "number": ("tinyint", "smallint", "int", "bigint", "decimal"),
    "unsigned": ("tinyint", "smallint", "int", "bigint", "decimal"),
    "float": ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double"),
}


@dataclass(slots=True)
class Batch:
    """What a batch of a source says, in its order."""

    facts: dict[str, list[pa.Table]] = field(default_factory=dict)
    rules: list[tuple[Op, str]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)  # file and what is in it


class Reader:
    """Reads one source."""

    def __init__(self, spark: SparkSession, source: Source, folder: Path) -> None:
        self.source = source
        self.name = source.name
        self._spark = spark
        self._folder = folder

    def frame(self) -> DataFrame:
        """The source as Spark has it, a stream or a table."""
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
            path = located(source.path, self._folder)
            frame = reader.load(path) if path is not None else reader.load()
        return frame.select("*", "_metadata") if self._files else frame

    @property
    def _files(self) -> bool:
        return self.source.table is None and self.source.format in FILES

    def check(self, frame: DataFrame, schema: Mapping[str, Relation]) -> None:
        """Refuse at once a mapping that cannot work."""
        rows = self._rows(frame)
        for map_ in self.source.maps:
            relation = relation_of(self.source, map_, schema)
            types = dict(self._mapped(rows, map_, relation).dtypes)
            for i, (name, kind) in enumerate(zip(relation.attributes, relation.kinds, strict=True)):
                if not types[f"c{i}"].startswith(_FITTING[kind]):
                    what = f"column {name} of {relation.name} is a {kind}"
                    advice = "convert it in `columns`: cast(… as …)"
                    raise self._error(f"{what}; the source has {types[f'c{i}']}", advice)

    def batch(self, frame: DataFrame, schema: Mapping[str, Relation]) -> Batch:
        """The changes in a frame, here in this process."""
        rows = self._rows(frame)
        if len(self.source.maps) > 1:
            rows = rows.persist()
        try:
            return self._batch(rows, schema)
        finally:
            if len(self.source.maps) > 1:
                rows.unpersist()

    def _batch(self, rows: DataFrame, schema: Mapping[str, Relation]) -> Batch:
        found, source = Batch(), self.source
        if source.format == "changes":
            table = _arrived(rows.toArrow())
            pairs = zip(*(table.column(c).to_pylist() for c in ("__file", "value")), strict=True)
            found.texts = [(file.rpartition("/")[2], text) for file, text in pairs]
        elif source.mode == "rules":
            signs = f"{self._sign()} as __sign"
            kept = rows.selectExpr(f"{source.rule} as __rule", signs, *self._kept(), *self._place)
            table = self._checked(_arrived(kept.toArrow()))
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
            merged = self._checked(_arrived(pa.concat_tables(tables)))
            found.facts[name] = [self._changes(schema[name], merged)]
        return found

    def _rows(self, frame: DataFrame) -> DataFrame:
        """The rows to be mapped, with their place in the order of arrival."""
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
        return rows if source.before is None else self._sides(rows)

    def _sides(self, rows: DataFrame) -> DataFrame:
        """Rows that carry what was before and what is after, as one row for each side."""
        source, words = self.source, self.source.values
        both = {
            side: _listed((*words["update"], *words[side]))
            for side in ("insert", "delete", "update_before", "update_after")
        }
        op = f"lower(cast({source.op} as string))"
        gone = f"{op} in ({both['delete']}, {both['update_before']})"
        come = f"{op} in ({both['insert']}, {both['update_after']})"
        sides = (
            f"filter(array(named_struct('__sign', -1, '__side', {source.before}, '__is', {gone}),"
            f"named_struct('__sign', 1, '__side', {source.after}, '__is', {come})),"
            f"each -> each.__is or not coalesce({gone} or {come}, false))"
        )
        order = [f"{source.order} as __seq"] if source.order is not None else []
        kept = [*order, *self._place]
        wide = rows.selectExpr(f"explode({sides}) as __both", f"{source.op} as __op", *kept)
        sign = "case when __both.__is then __both.__sign end as __sign"
        absent = "__both.__side is null as __absent"
        names = [name.split(" as ")[-1] for name in kept]
        return wide.selectExpr("__both.__side.*", sign, absent, "__op", *names)

    @property
    def _place(self) -> list[str]:
        return [*(_PLACE if self._files else _PLACE[-1:])]

    def _mapped(self, rows: DataFrame, map_: Map, relation: Relation) -> DataFrame:
        """The relation's columns, with sign, sequence number and place."""
        expressions = map_.columns
        if expressions is None:
            expressions = tuple(f"`{name}`" for name in relation.attributes)
        own = [f"{each} as c{i}" for i, each in enumerate(expressions)]
        sign = "__sign" if self.source.before is not None else f"{self._sign()} as __sign"
        if map_.where is not None:
            rows = rows.where(map_.where)
        return rows.selectExpr(*own, sign, *self._kept(), *self._place)

    def _sign(self) -> str:
        """An SQL expression: 1, -1, or null where it is neither."""
        source = self.source
        if source.mode == "append":
            return "1"
        op = f"lower(trim(cast({source.op} as string)))"
        cases = "".join(
            f" when {op} in ({_listed(source.values[name])}) then {sign}"
            for name, sign in _SIGNS.items()
        )
        return f"case{cases} end"

    def _kept(self) -> list[str]:
        """What messages and the order need."""
        source, sides = self.source, self.source.before is not None
        kept = []
        if source.mode != "append":
            kept += ["__op", "__absent"] if sides else [f"cast({source.op} as string) as __op"]
        if source.order is not None:
            kept += ["__seq" if sides else f"{source.order} as __seq"]
        return kept

    def _checked(self, table: pa.Table) -> pa.Table:
        """The table, if every row says what happened, and when if it should."""
        signs = table.column("__sign")
        if signs.null_count:
            row = pc.index(pc.is_null(signs), True).as_py()
            said = table.column("__op")[row].as_py()
            known = ", ".join(word for words in self.source.values.values() for word in words)
            raise self._error(f"{self.source.op} is {said!r}", f"known are {known}")
        if "__absent" in table.column_names and pc.any(table.column("__absent")).as_py():
            what = f"an update or a deletion has no {self.source.before}"
            advice = "the database must log whole rows (in PostgreSQL: REPLICA IDENTITY FULL)"
            raise self._error(what, advice)
        if "__seq" in table.column_names and table.column("__seq").null_count:
            raise self._error(f"order is empty (null): {self.source.order}")
        return table

    def _changes(self, relation: Relation, table: pa.Table) -> pa.Table:
        columns = [table.column(f"c{i}") for i in range(relation.arity)]
        seqs = table.column("__seq") if "__seq" in table.column_names else None
        if seqs is not None:
            if not (pa.types.is_integer(seqs.type) or pa.types.is_decimal(seqs.type)):
                advice = "a time becomes one by unix_micros(…)"
                raise self._error(f"order is a whole number; the source has {seqs.type}", advice)
            seqs = seqs.cast(pa.int64())
        try:
            return signed(relation, columns, table.column("__sign"), seqs)
        except DataError as error:
            raise self._error(str(error).removeprefix("error: ")) from None

    def _error(self, message: str, advice: str = "") -> TidelogError:
        said = f"error: source {self.name}: {message}"
        return DataError(f"{said}\n    {advice}" if advice else said)


def relation_of(source: Source, map_: Map, schema: Mapping[str, Relation]) -> Relation:
    """The relation that a mapping is for, if its columns fit."""
    relation = schema.get(map_.relation)
    if relation is None:
        raise no_relation(map_.relation, list(schema))
    if map_.columns is not None and len(map_.columns) != relation.arity:
        names = f"{relation.name}({', '.join(relation.attributes)})"
        raise DataError(
            f"error: source {source.name}: {len(map_.columns)} columns are mapped to {names}, "
            f"which has {relation.arity}"
        )
    return relation


def located(path: str | None, folder: Path) -> str | None:
    """A path as an address; one without a scheme is beside the pipeline's file."""
    if path is None or "://" in path or path.startswith("file:"):
        return path
    return (
        (folder / path).absolute().as_uri()
        if not any(c in path for c in "*?[{")
        else str((folder / path).absolute())
    )


def _listed(words: tuple[str, ...]) -> str:
    """Words as SQL spells a list of them."""
    return ", ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)


def _arrived(table: pa.Table) -> pa.Table:
    """The rows in the order in which they arrived; of the two sides of an update, the one
    before comes first."""
    keys = [name for name in (*_PLACE, "__sign") if name in table.column_names]
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in keys]))
