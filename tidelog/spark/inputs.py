"""Facts from files and tables, for the Spark engine.

The driver reads small text files, as in one process. Spark reads large ones in parallel: they need
no quotes and can be split at any line, and the same readers parse the lines. Spark reads all other
formats, and their frames are checked like any other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from tidelog.formats import directives, json_changes, spark_columns
from tidelog.formats.arrow_csv import BOM
from tidelog.formats.byte_source import GZIP_MAGIC, FileFault, read_bytes, whole_lines
from tidelog.formats.directives import Input, placed
from tidelog.formats.fact_files import read_lines
from tidelog.formats.fact_formats import Text
from tidelog.formats.spark_formats import SparkFormat
from tidelog.program.diagnostics import DataError, Sources, TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark import errors
from tidelog.spark.sets import Extent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.spark.engine import SparkEngine

LARGE = 64 * 2**20  # bytes of text from which on Spark reads it
BLOCK = 2**24  # bytes that are searched for an error at a time
UNTYPED = ("csv", "json", "xml")  # formats whose column types we supply
_TYPES = {"number": "bigint", "unsigned": "decimal(20,0)", "float": "double", "symbol": "string"}

Lines = Iterator[pa.RecordBatch]


def read_inputs(
    engine: SparkEngine,
    wanted: Iterable[Input],
    stdin: BinaryIO | None = None,
    *,
    sources: Sources | None = None,
) -> Iterator[tuple[str, Extent]]:
    """Each relation and its facts, in order; an unreadable input is an error at its directive."""
    for each in wanted:
        lead = f"no facts for `{each.relation.name}`"
        try:
            with errors.translated():
                extent = _read(engine, each, stdin, sources)
        except (FileFault, errors.SparkFault) as fault:
            found = FileFault(fault.message, fault.advice)
            raise placed(lead, found, each.at, sources) from None
        yield each.relation.name, extent


def _read(
    engine: SparkEngine, each: Input, stdin: BinaryIO | None, sources: Sources | None
) -> Extent:
    relation, format_ = each.relation, each.spark_format
    if format_ is None:
        text = each.format
        # Quoted rows may span lines; other formats are read as a whole.
        if isinstance(text, Text) and text.plain and _is_large(each.path) and relation.arity:
            return _Text(each, Path(each.path or ""), text).read(engine)
        for name, table in directives.read_inputs([each], stdin, sources=sources):
            return engine.taken_in(name, table)
    assert format_ is not None
    if each.path is not None:
        require_files(each.path)
    if format_.name == "json" and format_.table is None and not format_.options:
        return _Json(each, format_).read(engine)
    try:
        return engine.taken_in(relation.name, read_frame(engine.spark, format_, relation))
    except FileFault:
        raise
    except DataError as error:
        what = format_.table or each.path or format_.place or f"the {format_.name} source"
        message = str(error).removeprefix("error: ").removeprefix(f"{relation.name}: ")
        raise FileFault(f"{what}: {message}", f"it is read as {_signature(relation)}") from None


def read_frame(spark: SparkSession, format_: SparkFormat, relation: Relation) -> DataFrame:
    """What Spark finds in a file, a folder or a table."""
    options = dict(format_.options)
    if format_.table is not None:
        # It must be in a catalog: Spark would take some names for file names.
        if not spark.catalog.tableExists(format_.table):
            raise FileFault(f"unknown table {format_.table}", "check the session's catalog")
        return spark.read.options(**options).table(format_.table)
    reader = spark.read.format(format_.name)
    if format_.name in UNTYPED:
        reader = reader.schema(_schema(relation)).option("mode", "FAILFAST")
    reader = reader.options(**options)
    return reader.load() if format_.place is None else reader.load(address(format_.place))


def _schema(relation: Relation) -> str:
    columns = zip(relation.attributes, relation.kinds, strict=True)
    return ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in columns)


def _signature(relation: Relation) -> str:
    columns = zip(relation.attributes, relation.kinds, strict=True)
    return f"{relation.name}({', '.join(f'{name}: {kind}' for name, kind in columns)})"


def address(place: str) -> str:
    """A path as Spark needs it: local files whatever Spark's default file system, and characters
    that it would take for patterns escaped.

    >>> address("/data/a[1].parquet")
    'file:///data/a\\\\[1\\\\].parquet'
    """
    if "://" in place:
        return place
    path = os.path.abspath(place)
    return "file://" + "".join(f"\\{c}" if c in "{}[]*?\\" else c for c in path)


def require_files(path: Path) -> None:
    """A file or a folder of files; pipes and links out of the folder are refused."""
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            _require_file(path, path.parent, path)
            return
        for folder, _, names in os.walk(path):
            for name in names:
                _require_file(path, path, Path(folder) / name)
    except FileNotFoundError:
        raise FileFault(f"file {path} does not exist", "check the name and the folder") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileFault(f"{path} cannot be read: {reason[:1].lower()}{reason[1:]}") from None


def _require_file(asked: Path, inside: Path, path: Path) -> None:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileFault(f"{path} is a pipe or a device, not a file", "name a file or a folder")
    home = os.path.realpath(inside)
    if path != asked and os.path.commonpath([home, os.path.realpath(path)]) != home:
        raise FileFault(f"{path} is a link out of the folder {asked}", "put the file itself there")


# Lines in parallel.


def _is_large(path: Path | None) -> bool:
    """Whether this is a plain, large text file. Its reader reports anything unusual."""
    if path is None:
        return False
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size < LARGE or path.suffix == ".gz":
            return False
        with open(path, "rb") as file:
            return not file.read(2).startswith(GZIP_MAGIC)
    except OSError:
        return False


class _Text:
    """A large file of facts."""

    def __init__(self, each: Input, path: Path, text: Text) -> None:
        self.each, self.path, self.format = each, path, text

    def read(self, engine: SparkEngine) -> Extent:
        relation, before = self.each.relation, os.stat(self.path)
        self._check_header()
        frame = _lines(engine.spark, str(self.path))
        parse = text_parser(relation, self.format.delimiter, self.format.headers)
        engine.describe(f"{relation.name}: read {self.path.name}")
        try:
            with errors.translated():
                extent = engine.checked(
                    relation, frame.mapInArrow(parse, spark_columns.schema(relation))
                )
        except DataError:
            self._find_fault()
            raise
        after = os.stat(self.path)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            message = f"file {self.path} changed while it was read"
            raise FileFault(message, "run again when it is complete")
        return extent

    def _check_header(self) -> None:
        """The first line is skipped, but must be valid text like the rest."""
        if self.format.headers:
            with open(self.path, "rb") as file:
                list(whole_lines([file.readline(BLOCK)], str(self.path)))

    def _find_fault(self) -> None:
        """Read the file here, piece by piece, up to the line that an executor could not read."""
        name, before = str(self.path), 0
        with open(self.path, "rb") as file:
            while block := file.read(BLOCK):
                block += file.readline()
                start = _begin(block, self.format.headers) if not before else 0
                skipped = block.count(b"\n", 0, start)
                read_lines(
                    block[start:], self.each.relation, self.format.delimiter, name, before + skipped
                )
                before += block.count(b"\n")


def _lines(spark: SparkSession, place: str) -> DataFrame:
    """Lines as bytes, with their file and the offset of the piece."""
    from pyspark.sql import functions as F

    read = spark.read.option("lineSep", "\n").text(address(place))
    start, file = F.col("_metadata.file_block_start"), F.col("_metadata.file_path")
    return read.select(
        F.col("value").cast("binary").alias("line"), start.alias("start"), file.alias("file")
    )


def text_parser(
    relation: Relation, delimiter: str, headers: bool
) -> Callable[[Lines], Iterator[pa.RecordBatch]]:
    """What executors do with lines of facts."""

    def parse(batches: Lines) -> Iterator[pa.RecordBatch]:
        header = headers  # not seen yet; Spark itself skips a byte order mark
        for batch in batches:
            lines = batch.column("line").to_pylist()
            starts = batch.column("start").to_pylist() if header else []
            if 0 in starts:
                del lines[starts.index(0)]
                header = False
            if lines:
                table = read_lines(b"\n".join(lines) + b"\n", relation, delimiter)
                yield from spark_columns.to_arrow(relation, table).to_batches()

    return parse


def _begin(data: bytes, headers: bool) -> int:
    """Where facts begin in a file: after a byte order mark and a header."""
    start = len(BOM) if data.startswith(BOM) else 0
    return data.find(b"\n", start) + 1 or len(data) if headers else start


class _Json:
    """Facts as objects, one per line, in a file or in a folder of files."""

    def __init__(self, each: Input, format_: SparkFormat) -> None:
        self.relation, self.path, self.place = each.relation, each.path, format_.place

    def read(self, engine: SparkEngine) -> Extent:
        relation = self.relation
        assert self.place is not None
        if self.path is not None and self.path.is_file() and not _is_large(self.path):
            return engine.taken_in(relation.name, self._here(self.path))
        frame = _lines(engine.spark, self.place)
        engine.describe(f"{relation.name}: read {self.place}")
        try:
            with errors.translated():
                parsed = frame.mapInArrow(json_parser(relation), spark_columns.schema(relation))
                return engine.checked(relation, parsed)
        except DataError:
            for path in _data_files(self.path):
                self._here(path)  # this is the faulty line, or one after it
            raise

    def _here(self, path: Path) -> Table:
        name = str(path)
        text = "".join(whole_lines([read_bytes(path)], name))
        return Table.from_rows(
            self.relation.kinds,
            list(json_changes.read_objects(text.split("\n"), name, self.relation)),
        )


def _data_files(path: Path | None) -> list[Path]:
    if path is None or path.is_file():
        return [] if path is None else [path]
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sorted(each for each in found if each.name[0] not in "_.")


def json_parser(relation: Relation) -> Callable[[Lines], Iterator[pa.RecordBatch]]:
    """What executors do with lines of objects."""

    def parse(batches: Lines) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[Any] = []
            files = batch.column("file").to_pylist()
            for line, file in zip(batch.column("line").to_pylist(), files, strict=True):
                rows += _objects(line, file, relation)
            table = Table.from_rows(relation.kinds, rows)
            yield from spark_columns.to_arrow(relation, table).to_batches()

    return parse


def _objects(line: bytes, file: str, relation: Relation) -> list[Any]:
    """The fact of a line; its number in the file is unknown here."""
    try:
        return list(json_changes.read_objects([line.decode()], file, relation))
    except UnicodeDecodeError:
        raise DataError(f"error: {file}: a line is not valid UTF-8") from None
    except TidelogError as error:
        message = str(error).partition("error: ")[2]
        raise DataError(f"error: {file}: {message}") from None
