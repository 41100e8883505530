"""Formats that Spark knows, as directives name them: `IO=parquet`, `IO=delta`, `IO=table`.

    .input edge(IO=parquet, filename="edges.parquet")      a file, or a folder of part files
    .input edge(IO=delta, path="edges", versionAsOf=3)     further parameters are Spark's options
    .input edge(IO=iceberg, table="lake.edges")
    .output path(IO=table, table="paths")

Directives are only parsed here, which does not need PySpark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidelog.formats.field_values import shown
from tidelog.program.syntax import Directive

TABLE = "table"  # no format: whatever the table has
FILES = ("parquet", "json", "orc", "csv", "avro", "xml", "text")  # folders of plain files
# How a file without a name ends.
ENDINGS = {"json": ".jsonl", **{name: f".{name}" for name in FILES if name != "json"}}
OURS = ("IO", "filename", "path", "table", "name")
_TABLE_NAME = re.compile(r"\w+(\.\w+)*")
_ALLOW = "run with --allow-paths if the program may name it"


@dataclass(frozen=True, slots=True)
class SparkFormat:
    """A format by Spark's name, where its data is, and options of its reader or writer."""

    name: str
    place: str | None = None  # a path, or an address such as s3a://…
    table: str | None = None
    options: tuple[tuple[str, str], ...] = ()


class Wrong(Exception):
    """A rejected directive."""

    def __init__(self, message: str, advice: str, *notes: str) -> None:
        super().__init__(message)
        self.message, self.advice, self.notes = message, advice, notes


def read_format(
    directive: Directive, path_of: Callable[[dict[str, str], str], Path], allow_paths: bool
) -> tuple[SparkFormat, Path | None, dict[str, str]]:
    """The format, its local path if it has one, and the parameters that are ours.

    `path_of` turns a file name, or the ending of a default one, into a path that is allowed.
    """
    given, options = _divided(directive)
    if not allow_paths:
        _refuse_outside(given, options)
    name = given["IO"]
    found = tuple(options.items())
    if TABLE in given or name == TABLE:
        return SparkFormat(name, None, _table(given), found), None, given
    place = given.get("filename")
    if place is None and name not in FILES:
        return SparkFormat(name, None, None, found), None, given
    if place is not None and "://" in place:
        return SparkFormat(name, place, None, found), None, given
    path = path_of(given, ENDINGS.get(name, ""))
    return SparkFormat(name, str(path), None, found), path, given


def _divided(directive: Directive) -> tuple[dict[str, str], dict[str, str]]:
    """Our own parameters, and those for Spark."""
    ours = {"relation": directive.relation}
    options: dict[str, str] = {}
    for key, value in directive.parameters:
        known = next((each for each in OURS if each.lower() == key.lower()), None)
        if known is not None and known != key:  # Spark would not mind the case
            raise Wrong(f"unknown parameter `{key}`", f"did you mean {known}?")
        into = options if known is None else ours
        key = "filename" if key == "path" else key
        if key in into or any(key.lower() == other.lower() for other in options):
            raise Wrong(f"parameter `{key}` is given twice", "keep one of them")
        into[key] = value
    return ours, options


def _table(given: dict[str, str]) -> str:
    if TABLE not in given:
        raise Wrong("`IO=table` needs the name of a table", 'write table="database.name"')
    if "filename" in given:
        raise Wrong("a table has no file name", "keep one of `table` and `filename`")
    return given[TABLE]


def _refuse_outside(given: dict[str, str], options: dict[str, str]) -> None:
    """Refuse data outside the folder and the session's own tables."""
    table, place = given.get(TABLE), given.get("filename", "")
    if table is not None and not _TABLE_NAME.fullmatch(table):
        raise Wrong(f"{shown(table)} is more than the name of a table", _ALLOW)
    if "://" in place:
        raise Wrong(f"{shown(place)} lies outside the folder of facts", _ALLOW)
    for key, value in options.items():
        if "/" in value or "\\" in value:
            raise Wrong(f"option `{key}` may name a place: {shown(value)}", _ALLOW)
