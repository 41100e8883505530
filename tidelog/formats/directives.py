"""What a program reads and writes: its `.input`, `.output` and `.printsize` directives.

`inputs` and `outputs` only check and decide; `read_inputs` and
`write_outputs` act. As in Soufflé, the output folder `-` prints every output with headers,
and `name` replaces the relation's name in default file names and printed output.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from tidelog.formats.atomic_files import Staged, check_folder_target
from tidelog.formats.byte_source import MAX_BYTES, MAX_RATIO, Bounds, FileFault, name_of
from tidelog.formats.directive_parameters import read_parameters
from tidelog.formats.fact_formats import IO, FactFormat, Text
from tidelog.formats.field_values import shown
from tidelog.formats.parameters import truth
from tidelog.formats.spark_formats import FILES, SparkFormat, Wrong, read_format
from tidelog.program.diagnostics import DataError, Diagnostic, ProgramError, Sources, during, render
from tidelog.program.rules import CheckedProgram, Relation
from tidelog.program.syntax import Directive, Span
from tidelog.program.table import Table


@dataclass(frozen=True, slots=True)
class Input:
    """Facts to read, in a format of Tidelog or of Spark."""

    relation: Relation
    path: Path | None
    format: FactFormat
    at: Span = field(compare=False)
    spark_format: SparkFormat | None = None

    @property
    def stdin(self) -> bool:
        return self.path is None and self.spark_format is None


@dataclass(frozen=True, slots=True)
class Output:
    """Facts, or their number (`size`), to write; `name` is what is printed above them."""

    relation: Relation
    form: Literal["file", "stdout", "size"]
    path: Path | None
    name: str
    format: FactFormat
    compress: bool
    at: Span = field(compare=False)
    spark_format: SparkFormat | None = None  # if Spark writes it


def inputs(
    checked: CheckedProgram,
    folder: str | os.PathLike[str] = ".",
    *,
    allow_paths: bool = False,
    sources: Sources | None = None,
    spark: bool = False,
) -> tuple[Input, ...]:
    """What `.input` directives ask for; raises ProgramError with all errors in them.

    With `spark` they may name formats that Spark knows.
    """
    reader = _Directives(checked, Path(folder), allow_paths, spark)
    found: list[Input] = []
    for directive in checked.directives:
        if directive.action == "input" and (made := reader.input(directive)):
            found.append(made)
    reader.finish(sources)
    return tuple(found)


def outputs(
    checked: CheckedProgram,
    folder: str | os.PathLike[str] = ".",
    *,
    allow_paths: bool = False,
    sources: Sources | None = None,
    spark: bool = False,
) -> tuple[Output, ...]:
    """What `.output` and `.printsize` directives ask for; raises ProgramError as `inputs` does."""
    printed = os.fspath(folder) == "-"
    reader = _Directives(checked, Path(folder), allow_paths, spark, printed)
    found: list[Output] = []
    for directive in checked.directives:
        if directive.action in ("output", "printsize") and (made := reader.output(directive)):
            found.append(made)
    reader.finish(sources)
    return tuple(found)


def read_inputs(
    wanted: Iterable[Input],
    stdin: BinaryIO | None = None,
    *,
    sources: Sources | None = None,
    max_bytes: int = MAX_BYTES,
    max_ratio: int = MAX_RATIO,
    max_facts: int | None = None,
) -> Iterator[tuple[str, Table]]:
    """Each relation and its facts, in order; what cannot be read is an error at its directive.
    With `max_facts`, the facts of a large file come in several tables."""
    for each in wanted:
        source = each.path or stdin
        if source is None:
            message = f"no facts for `{each.relation.name}`: the standard input is closed"
            raise DataError(render(Diagnostic(message, each.at), sources or {}))
        format_ = each.format.of_stream() if each.path is None else each.format
        bounds = Bounds(max_bytes, max_ratio, max_facts)
        with during(f"`{each.relation.name}` was read from {name_of(source)}"):
            try:
                for table in format_.read(source, each.relation, bounds):
                    yield each.relation.name, table
            except FileFault as fault:
                lead = f"no facts for `{each.relation.name}`"
                raise placed(lead, fault, each.at, sources) from None


def require_writable(wanted: Iterable[Output], *, sources: Sources | None = None) -> None:
    """Refuse, before any work is done, outputs that could not be written after it."""
    for each in wanted:
        if each.path is not None:
            try:
                if each.spark_format is None:
                    each.format.check(os.fspath(each.path), each.relation)
                elif each.spark_format.name in FILES:
                    check_folder_target(os.fspath(each.path))
            except FileFault as fault:
                lead = f"`{each.relation.name}` cannot be written"
                raise placed(lead, fault, each.at, sources) from None


def write_outputs(
    wanted: Iterable[Output],
    tables: Mapping[str, Table],
    stdout: BinaryIO,
    *,
    sources: Sources | None = None,
) -> tuple[Diagnostic, ...]:
    """Write everything, or nothing: files get their names when all of them are complete.

    There is a warning for each file that would not read back as the same facts.
    """
    printed: list[bytes] = []
    warnings: list[Diagnostic] = []
    with Staged() as staged:
        for each in wanted:
            try:
                warnings += stage(each, tables[each.relation.name], staged, printed)
            except FileFault as fault:
                lead = f"`{each.relation.name}` cannot be written"
                raise placed(lead, fault, each.at, sources) from None
        staged.commit()
    stdout.writelines(printed)
    stdout.flush()
    return tuple(warnings)


def stage(each: Output, table: Table, staged: Staged, printed: list[bytes]) -> Iterable[Diagnostic]:
    """Stage one output, or collect it for printing."""
    if each.form == "size":
        printed.append(f"{each.name}\t{table.size}\n".encode())
        return ()
    if each.path is None:
        printed.extend(each.format.printed(each.name, each.relation, table))
        return ()
    path = os.fspath(each.path)
    warnings = each.format.save(staged, path, each.relation, table, each.compress)
    return [replace(warning, at=each.at) for warning in warnings]


def placed(lead: str, fault: FileFault, at: Span, sources: Sources | None) -> DataError:
    """An error about a file, shown at its directive."""
    diagnostic = Diagnostic(f"{lead}: {fault.message}", at, fault.advice)
    return DataError(render(diagnostic, sources or {}))


class _Directives:
    """Checks directives in order; collects errors, and the files that are already written."""

    def __init__(
        self,
        checked: CheckedProgram,
        folder: Path,
        allow_paths: bool,
        spark: bool,
        printed: bool = False,
    ) -> None:
        self.relations = checked.relations
        self.folder = folder
        self.allow_paths = allow_paths
        self.spark = spark
        self.printed = printed
        self.written: dict[str, Output] = {}  # by what only one may write
        self.files: dict[str, Output] = {}
        self.stdin: Directive | None = None
        self.wrong: list[Diagnostic] = []

    def finish(self, sources: Sources | None) -> None:
        if self.wrong:
            raise ProgramError(self.wrong, sources)

    def refuse(self, directive: Directive, wrong: Wrong) -> None:
        self.wrong.append(
            Diagnostic(wrong.message, directive.at, wrong.advice, notes=tuple(wrong.notes))
        )

    def input(self, directive: Directive) -> Input | None:
        try:
            if self.is_foreign(directive):
                return self.foreign_input(directive)
            given = read_parameters(directive)
            relation = self.relations[directive.relation]
            io = IO[given["IO"]]
            format_ = io.format(given, relation)
            truth(given, "compress")  # gzip is known by its content
            path = None
            if (ending := io.ending_of(given, "input")) is not None:
                path = self.path(given, ending)
            elif self.stdin is None:
                self.stdin = directive
            else:
                raise Wrong(
                    "the standard input can be read only once",
                    "read one of the two from a file",
                    f"it is read for `{self.stdin.relation}` at {_place(self.stdin.at)}",
                )
        except Wrong as wrong:
            self.refuse(directive, wrong)
            return None
        return Input(relation, path, format_, directive.at)

    def output(self, directive: Directive) -> Output | None:
        """The output, or None if it is refused or the same as an earlier one."""
        try:
            if self.is_foreign(directive):
                return self.foreign_output(directive)
            given = read_parameters(directive)
            relation = self.relations[directive.relation]
            io = IO[given["IO"]]
            format_, compress = io.format(given, relation), truth(given, "compress")
            form: Literal["file", "stdout", "size"] = "file"
            path = None
            if given["IO"] == "stdoutprintsize":
                form = "size"
            elif self.printed:
                form = "stdout"
                format_ = replace(format_ if isinstance(format_, Text) else Text(), headers=True)
            elif (ending := io.ending_of(given, "output")) is None:
                form = "stdout"
            else:
                path = self.path(given, f"{ending}.gz" if compress else ending)
                compress = compress or (path.name.endswith(".gz") and io.compressed)
            name = given.get("name", directive.relation)
            made = Output(relation, form, path, name, format_, compress, directive.at)
            if path is not None and self.is_repeated(made, _target(made, path)):
                return None
        except Wrong as wrong:
            self.refuse(directive, wrong)
            return None
        return made

    def is_foreign(self, directive: Directive) -> bool:
        """Whether Spark reads or writes it; on Spark, `IO=json` is a different format."""
        kind = dict(directive.parameters).get("IO", "file")
        ours = kind != "json" and kind in IO
        return self.spark and directive.action != "printsize" and not ours

    def foreign_input(self, directive: Directive) -> Input:
        spark, path, _ = read_format(directive, self.path, self.allow_paths)
        relation = self.relations[directive.relation]
        return Input(relation, path, Text(), directive.at, spark)

    def foreign_output(self, directive: Directive) -> Output | None:
        spark, path, given = read_format(directive, self.path, self.allow_paths)
        relation = self.relations[directive.relation]
        name = given.get("name", relation.name)
        if self.printed:
            format_ = Text(headers=True)
            return Output(relation, "stdout", None, name, format_, False, directive.at)
        made = Output(relation, "file", path, name, Text(), False, directive.at, spark)
        place = os.path.realpath(path) if path else spark.table or spark.place
        return None if place is not None and self.is_repeated(made, place) else made

    def is_repeated(self, made: Output, place: str) -> bool:
        """Was this output requested before? A different one to the same file is an error."""
        file = place.partition("\0")[0]
        first = self.written.setdefault(place, made)
        holder = self.files.setdefault(file, made)
        tables = made.format.table != "" and holder.format.table != ""
        if first is made and (holder is made or tables):
            return False
        if first is not made and first == made:
            return True
        first = holder if first is made else first
        raise Wrong(
            f"two outputs go to the {'file' if made.path else 'place'} {made.path or place}",
            f"give one of them another {'name' if tables else 'filename'}",
            f"the first is that of `{first.relation.name}` at {_place(first.at)}",
        )

    def path(self, given: dict[str, str], ending: str) -> Path:
        name = given.get("filename", given.get("dbname"))
        if name is None:
            name = given.get("name", given["relation"]) + ending
        if not name or "\0" in name or name.endswith("/"):
            raise Wrong(f"{shown(name)} cannot be the name of a file", "name a file")
        path = self.folder / name
        if self.allow_paths:
            return path
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
            raise Wrong(
                f"the file {shown(name)} lies outside the folder {self.folder}",
                "name a file inside it, or run with --allow-paths",
            )
        inside = os.path.realpath(self.folder)
        if os.path.commonpath([inside, os.path.realpath(path)]) != inside:
            raise Wrong(
                f"the file {shown(name)} is a link out of the folder {self.folder}",
                "name a file inside it, or run with --allow-paths",
            )
        return path


def _target(made: Output, path: Path) -> str:
    """A target that only one output may write: a file, or a table of a database."""
    place = os.path.realpath(path)
    return f"{place}\0{made.format.table}" if made.format.table else place


def _place(at: Span) -> str:
    return f"{at.file}:{at.line}:{at.column}"
