"""Facts into files and tables, from the Spark engine.

The driver writes relations that it can hold: text, JSON Lines and Parquet as one sorted file; equal
facts give equal bytes. Large relations are not gathered: text is still one sorted file, fetched
piece by piece; other formats are a folder of part files, written by the executors. All files are
renamed at the end. Tables, and places outside the file system, are written just before: their
previous contents cannot be restored.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa

from tidelog.formats import spark_columns
from tidelog.formats.atomic_files import Staged
from tidelog.formats.byte_source import FileFault
from tidelog.formats.directives import Output, placed, stage
from tidelog.formats.fact_files import fact_lines
from tidelog.formats.fact_formats import Text
from tidelog.formats.frames import to_arrow
from tidelog.formats.json_changes import object_text
from tidelog.formats.spark_formats import FILES, TABLE, SparkFormat
from tidelog.program.diagnostics import Diagnostic, Sources, TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark import errors
from tidelog.spark.inputs import address
from tidelog.spark.session import PREFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.spark.engine import SparkEngine

GATHERED = 1_000_000  # facts of a relation that the driver writes


class Facts(Protocol):
    """What outputs need of a database."""

    def size(self, name: str) -> int: ...

    def table(self, name: str) -> Table: ...


def write_outputs(
    engine: SparkEngine,
    facts: Facts,
    wanted: Iterable[Output],
    stdout: BinaryIO,
    *,
    sources: Sources | None = None,
) -> tuple[Diagnostic, ...]:
    """Write everything or nothing, tables excepted."""
    printed: list[bytes] = []
    warnings: list[Diagnostic] = []
    with Staged() as staged:
        writing = _Writing(engine, facts, staged, printed)
        for each in wanted:
            with _placed(each, sources):
                warnings += writing.write(each)
        for each, later in writing.later:
            with _placed(each, sources):
                later()
        staged.commit()
    stdout.writelines(printed)
    stdout.flush()
    return tuple(warnings)


def require_lasting(spark: SparkSession, wanted: Iterable[Output]) -> None:
    """Refuse, before any work is done, tables that would end with the session."""
    formats = (each.spark_format for each in wanted)
    tables = [each.table for each in formats if each and each.table]
    warehouse = spark.conf.get("spark.sql.warehouse.dir") or ""
    passing = [table for table in tables if table.count(".") < 2]  # not a catalog of its own
    if passing and PREFIX in warehouse:
        raise TidelogError(
            f"error: the table {passing[0]} would end with the session\n"
            "    say where tables are kept: --conf spark.sql.warehouse.dir=FOLDER"
        )


class _placed:
    """Report errors in the block at the directive."""

    def __init__(self, each: Output, sources: Sources | None) -> None:
        self._each, self._sources = each, sources

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        if errors.is_spark(error):
            error = errors.explained(error)
        if isinstance(error, FileFault | errors.SparkFault):
            fault = FileFault(error.message, error.advice)
            lead = f"`{self._each.relation.name}` cannot be written"
            raise placed(lead, fault, self._each.at, self._sources) from None


class _Writing:
    def __init__(
        self, engine: SparkEngine, facts: Facts, staged: Staged, printed: list[bytes]
    ) -> None:
        self.engine, self.facts = engine, facts
        self.staged, self.printed = staged, printed
        self.later: list[tuple[Output, Callable[[], None]]] = []

    def write(self, each: Output) -> Iterable[Diagnostic]:
        relation, format_ = each.relation, each.spark_format
        size = self.facts.size(relation.name)
        self.engine.describe(f"{relation.name}: write")
        if each.form == "size":
            self.printed.append(f"{each.name}\t{size}\n".encode())
            return ()
        if format_ is None:
            text = each.format
            if size <= GATHERED or each.path is None or not (isinstance(text, Text) and text.plain):
                table = self.facts.table(relation.name)
                return stage(each, table, self.staged, self.printed)
            return self._large_text(each, each.path, text)
        if each.path is None or format_.name not in FILES:
            self.later.append((each, partial(self._elsewhere, relation, format_)))
            return ()
        self._files(relation, format_, os.fspath(each.path), size)
        return ()

    def _files(self, relation: Relation, format_: SparkFormat, path: str, size: int) -> None:
        make = _ONE_FILE.get(format_.name)
        if make is not None and not format_.options and size <= GATHERED:
            table = self.facts.table(relation.name)
            self.staged.write(path, make(relation, table), compress=False, for_folder=True)
            return
        folder = self.staged.folder(path)
        if format_.name == "json" and not format_.options:
            lines = self._frame(relation).mapInArrow(json_writer(relation), "value string")
            lines.write.text(address(folder))
        else:
            writer = self._outward(relation).write.format(format_.name)
            writer.options(**dict(format_.options)).save(address(folder))
        self._require_all(relation, folder, format_, size)

    def _require_all(
        self, relation: Relation, folder: str, format_: SparkFormat, size: int
    ) -> None:
        """Executors on other machines may have written to disks of their own."""
        spark = self.engine.spark
        if not str(spark.sparkContext.master).startswith("local"):
            reader = spark.read.format("text" if format_.name == "json" else format_.name)
            there = os.path.isdir(folder) and reader.load(address(folder)).count() == size
            if not there:
                advice = "the output folder must be on a disk that all machines share"
                raise FileFault("what executors wrote is not here", advice)
        _tidy(folder)

    def _elsewhere(self, relation: Relation, format_: SparkFormat) -> None:
        writer = self._outward(relation).write.mode("overwrite").options(**dict(format_.options))
        if format_.name != TABLE:
            writer = writer.format(format_.name)
        if format_.table is not None:
            writer.saveAsTable(format_.table)
        elif format_.place is not None:
            writer.save(address(format_.place))
        else:
            writer.save()

    def _large_text(self, each: Output, path: Path, text: Text) -> Iterable[Diagnostic]:
        relation, doubts = each.relation, list[str]()
        make = text_writer(relation, text.delimiter)
        pieces = self._sorted(relation).mapInArrow(make, "piece binary, doubt string")

        def all_pieces() -> Iterator[bytes]:
            if text.headers:
                yield f"{text.title(relation)}\n".encode()
            for piece, doubt in pieces.toLocalIterator(prefetchPartitions=True):
                if doubt and not doubts:
                    doubts.append(doubt)
                yield bytes(piece)

        self.staged.write(os.fspath(path), all_pieces(), compress=each.compress)
        advice = "replace it in the program, or choose another delimiter"
        return [Diagnostic(doubt, each.at, advice, "warning") for doubt in doubts]

    def _frame(self, relation: Relation) -> DataFrame:
        return self.engine.frame(relation.name, self.engine.all.of(relation.name))

    def _outward(self, relation: Relation) -> DataFrame:
        return spark_columns.outward(relation, self._frame(relation))

    def _sorted(self, relation: Relation) -> DataFrame:
        """In the order in which one process writes facts."""
        from pyspark.sql import functions as F

        order: list[Any] = []
        for name, kind in zip(spark_columns.names(relation), relation.kinds, strict=False):
            if kind == "unsigned":
                order.append(F.col(name) < 0)  # it sorts by its bits, after all other numbers
            order.append(F.col(name))
        return self._frame(relation).orderBy(*order)


def _tidy(folder: str) -> None:
    """Make sure that the part files, and nothing else, are on the disk."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(".crc"):
            os.unlink(path)
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                os.fsync(file.fileno())


def _parquet(relation: Relation, table: Table) -> Iterator[bytes]:
    from pyarrow import parquet

    found = to_arrow(relation, table)
    plain = [pa.string() if pa.types.is_dictionary(f.type) else f.type for f in found.schema]
    wanted = pa.schema(list(zip(found.column_names, plain, strict=True)))
    buffer = io.BytesIO()
    parquet.write_table(found.cast(wanted), buffer)
    yield buffer.getvalue()


def _json(relation: Relation, table: Table) -> Iterator[bytes]:
    for row in table.rows():
        yield f"{object_text(relation, row)}\n".encode()


_ONE_FILE: dict[str, Callable[[Relation, Table], Iterator[bytes]]] = {
    "parquet": _parquet,
    "json": _json,
}


# What executors do.


def text_writer(
    relation: Relation, delimiter: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            table = spark_columns.from_arrow(relation, pa.Table.from_batches([batch]))
            # With headers, because not every batch begins a file; the header itself is dropped.
            pieces, doubts = fact_lines(relation, table, delimiter=delimiter, headers=True)
            next(pieces)
            text = b"".join(pieces)
            doubt = doubts[0].message if doubts else None
            yield pa.record_batch(
                [pa.array([text], pa.binary()), pa.array([doubt], pa.string())], ["piece", "doubt"]
            )

    return write


def json_writer(
    relation: Relation,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            table = spark_columns.from_arrow(relation, pa.Table.from_batches([batch]))
            lines = [object_text(relation, row) for row in table.rows()]
            yield pa.record_batch([pa.array(lines, pa.string())], ["value"])

    return write
