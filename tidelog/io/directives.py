"""What a program reads and writes: its `.input`, `.output` and `.printsize` directives.

`inputs` and `outputs` only decide, and refuse what they do not know; `read_inputs` and
`write_outputs` act. As in Soufflé, the output folder `-` prints every output with headers,
and `name` stands for the relation in default file names and in what is printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from tidelog.io.atomic import Staged, check_folder_target, check_target
from tidelog.io.cells import shown
from tidelog.io.facts import fact_lines, is_delimiter, read_facts
from tidelog.io.formats import FILES, Format, Wrong, read_format
from tidelog.io.source import MAX_BYTES, MAX_RATIO, FileFault
from tidelog.program.diagnostics import DataError, Diagnostic, ProgramError, Sources, render
from tidelog.program.rules import CheckedProgram, Relation
from tidelog.program.syntax import Directive, Span
from tidelog.program.table import Table

_KINDS = {
    "input": ("file", "stdin"),
    "output": ("file", "stdout", "stdoutprintsize"),
    "printsize": ("stdoutprintsize",),
}
_PARAMETERS = ("IO", "filename", "name", "delimiter", "headers", "compress")
# Soufflé's other kinds and parameters, with what to do instead.
_OTHER_KINDS = ("sqlite", "json")
_ON_SPARK = "; formats that Spark knows (parquet, json, delta, …) need --engine spark"
_OTHER_PARAMETERS = {
    "rfc4180": "write fields without quotes, and choose a delimiter that occurs in no field",
    "columns": "read all columns, and take those you need by a rule",
    "attributeNames": "name the attributes in `.decl`",
    "dbname": "use IO=file",
    "filepath": "use filename",
    "format": "use IO=file",
}


@dataclass(frozen=True, slots=True)
class Input:
    """Facts to read: text, or something that Spark reads."""

    relation: Relation
    path: Path | None
    delimiter: str
    headers: bool
    at: Span = field(compare=False)
    format: Format | None = None

    @property
    def stdin(self) -> bool:
        return self.path is None and self.format is None


@dataclass(frozen=True, slots=True)
class Output:
    """Facts, or their number (`size`), to write; `name` is what is printed above them."""

    relation: Relation
    form: Literal["file", "stdout", "size"]
    path: Path | None
    name: str
    delimiter: str
    headers: bool
    compress: bool
    at: Span = field(compare=False)
    format: Format | None = None  # if Spark writes it


def inputs(
    checked: CheckedProgram,
    folder: str | os.PathLike[str] = ".",
    *,
    allow_paths: bool = False,
    sources: Sources | None = None,
    spark: bool = False,
) -> tuple[Input, ...]:
    """What `.input` directives ask for; raises ProgramError with all that is wrong in them.

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
        if directive.action != "input" and (made := reader.output(directive)):
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
) -> Iterator[tuple[str, Table]]:
    """Each relation and its facts, in order; what cannot be read is an error at its directive."""
    for each in wanted:
        source = each.path or stdin
        if source is None:
            message = f"no facts for `{each.relation.name}`: the standard input is closed"
            raise DataError(render(Diagnostic(message, each.at), sources or {}))
        try:
            table = read_facts(
                source,
                each.relation,
                delimiter=each.delimiter,
                # As in Soufflé, only files have a first line that is skipped.
                headers=each.headers and each.path is not None,
                max_bytes=max_bytes,
                max_ratio=max_ratio,
            )
        except FileFault as fault:
            raise placed(f"no facts for `{each.relation.name}`", fault, each.at, sources) from None
        yield each.relation.name, table


def require_writable(wanted: Iterable[Output], *, sources: Sources | None = None) -> None:
    """Refuse, before any work is done, outputs that could not be written after it."""
    for each in wanted:
        if each.path is not None:
            try:
                if each.format is None:
                    check_target(os.fspath(each.path))
                elif each.format.name in FILES:
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
    """Write one output, or note what is to be printed."""
    if each.form == "size":
        printed.append(f"{each.name}\t{table.size}\n".encode())
        return ()
    headers = each.headers and each.form == "file"
    lines, warnings = fact_lines(each.relation, table, delimiter=each.delimiter, headers=headers)
    if each.path is not None:
        staged.write(os.fspath(each.path), lines, compress=each.compress)
        return [replace(warning, at=each.at) for warning in warnings]
    title = [each.name]
    if each.headers:
        title.append(each.delimiter.join(each.relation.attributes))
    printed.append(("-" * 15 + "\n" + "\n".join(title) + "\n" + "=" * 15 + "\n").encode())
    printed.extend(lines)
    printed.append(b"=" * 15 + b"\n")
    return ()  # people read what is printed, so a tab inside a symbol does no harm there


def placed(lead: str, fault: FileFault, at: Span, sources: Sources | None) -> DataError:
    """A file that is at fault, shown at its directive."""
    diagnostic = Diagnostic(f"{lead}: {fault.message}", at, fault.advice)
    return DataError(render(diagnostic, sources or {}))


class _Directives:
    """Directives one after another, with what is wrong in them and what is already taken."""

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
        self.written: dict[str, Output] = {}
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
            given = _parameters(directive)
            delimiter, headers = _delimiter(given), _truth(given, "headers")
            _truth(given, "compress")  # gzip is known by its content
            path = None
            if given["IO"] == "file":
                path = self.path(given, ".facts")
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
        return Input(self.relations[directive.relation], path, delimiter, headers, directive.at)

    def output(self, directive: Directive) -> Output | None:
        """The output, or None if it is refused or the same as an earlier one."""
        try:
            if self.is_foreign(directive):
                return self.foreign_output(directive)
            given = _parameters(directive)
            delimiter, headers = _delimiter(given), _truth(given, "headers")
            compress = _truth(given, "compress")
            form: Literal["file", "stdout", "size"] = "file"
            path = None
            if given["IO"] == "stdoutprintsize":
                form = "size"
            elif given["IO"] == "stdout" or self.printed:
                form, headers = "stdout", headers or self.printed
            else:
                path = self.path(given, ".csv.gz" if compress else ".csv")
                compress = compress or path.name.endswith(".gz")
            name = given.get("name", directive.relation)
            relation = self.relations[directive.relation]
            made = Output(relation, form, path, name, delimiter, headers, compress, directive.at)
            if path is not None and self.is_repeated(made, os.path.realpath(path)):
                return None
        except Wrong as wrong:
            self.refuse(directive, wrong)
            return None
        return made

    def is_foreign(self, directive: Directive) -> bool:
        """Is it Spark that is to read or write it?"""
        kind = dict(directive.parameters).get("IO", "file")
        ours = any(kind in kinds for kinds in _KINDS.values())
        return self.spark and directive.action != "printsize" and not ours

    def foreign_input(self, directive: Directive) -> Input:
        format_, path, _ = read_format(directive, self.path, self.allow_paths)
        relation = self.relations[directive.relation]
        return Input(relation, path, "\t", False, directive.at, format_)

    def foreign_output(self, directive: Directive) -> Output | None:
        format_, path, given = read_format(directive, self.path, self.allow_paths)
        relation = self.relations[directive.relation]
        name = given.get("name", relation.name)
        if self.printed:
            return Output(relation, "stdout", None, name, "\t", True, False, directive.at)
        made = Output(relation, "file", path, name, "\t", False, False, directive.at, format_)
        place = os.path.realpath(path) if path else format_.table or format_.place
        return None if place is not None and self.is_repeated(made, place) else made

    def is_repeated(self, made: Output, place: str) -> bool:
        """Has this very output been asked for? Another one to its file is refused."""
        first = self.written.setdefault(place, made)
        if first is made:
            return False
        if first == made:
            return True
        raise Wrong(
            f"two outputs go to the {'file' if made.path else 'place'} {made.path or place}",
            "give one of them another filename",
            f"the first is that of `{first.relation.name}` at {_place(first.at)}",
        )

    def path(self, given: dict[str, str], ending: str) -> Path:
        name = given.get("filename")
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


def _parameters(directive: Directive) -> dict[str, str]:
    """The parameters by name, with the kind of IO always among them, and the relation's name."""
    action = f"`.{directive.action}`"
    kinds = _KINDS[directive.action]
    given: dict[str, str] = {}
    kind = next((value for key, value in directive.parameters if key == "IO"), kinds[0])
    if kind not in kinds:
        advice = "use " + " or ".join(f"IO={each}" for each in kinds)
        if any(kind in each for each in _KINDS.values()):
            raise Wrong(f"{action} cannot use `IO={kind}`", advice)
        if directive.action != "printsize" and kind != "sqlite":
            advice += _ON_SPARK
        if kind in _OTHER_KINDS:
            raise Wrong(f"`IO={kind}` is not supported yet", advice)
        raise Wrong(f"there is no `IO={kind}`", advice)
    for key, value in directive.parameters:
        if key == "rfc4180" and value == "false":
            continue
        if key in _OTHER_PARAMETERS:
            raise Wrong(f"parameter `{key}` is not supported yet", _OTHER_PARAMETERS[key])
        if key not in _PARAMETERS:
            close = get_close_matches(key, _PARAMETERS, 1) or [
                known for known in _PARAMETERS if known.lower() == key.lower()
            ]
            known = "the parameters are " + ", ".join(_PARAMETERS)
            advice = f"did you mean {close[0]}?" if close else known
            raise Wrong(f"{action} has no parameter `{key}`", advice)
        if key in given:
            raise Wrong(f"parameter `{key}` is given twice", "keep one of them")
        given[key] = value
    return {"IO": kind, "relation": directive.relation, **given}


def _truth(given: dict[str, str], key: str) -> bool:
    value = given.get(key, "false")
    if value not in ("true", "false"):
        raise Wrong(f"parameter `{key}` cannot be {shown(value)}", "write true or false")
    return value == "true"


def _delimiter(given: dict[str, str]) -> str:
    delimiter = given.get("delimiter", "\t")
    if not is_delimiter(delimiter):
        raise Wrong(
            f"{shown(delimiter)} cannot be a delimiter",
            'choose one or more characters of one line, such as "\\t" or ","',
        )
    return delimiter


def _place(at: Span) -> str:
    return f"{at.file}:{at.line}:{at.column}"
