"""The settings of a pipeline: sources, mappings, sinks and trigger."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tidelog.control.limits import Limits
from tidelog.formats.spark_formats import FILES
from tidelog.pipeline.schemas import check_schema
from tidelog.pipeline.setting_errors import SettingError, one_of
from tidelog.pipeline.table_files import TABLE_FORMATS

TRIGGERS = ("available-now", "once", "continuous")
MODES = ("append", "signed", "cdc", "rules")
OWN_FORMATS = tuple(TABLE_FORMATS)  # of sinks that Tidelog writes itself
FILE_FORMATS = (*FILES, "changes")  # of sources that are files
_TABLE_FORMATS = f"{', '.join(OWN_FORMATS)}, or a format that Spark writes"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_INTERVAL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*(ms|milliseconds?|s|seconds?|minutes?|hours?)\s*")

_RELATION = "expected a relation of the program"
_NOT_EMPTY = {  # optional settings of a source that must not be empty
    "table": "expected the name of a table",
    "schema": "for example x long, y string",
    "op": "expected the column with the kind of change",
    "rule": "expected the column with the text of a rule",
    "before": "expected the column with the row before an update",
    "after": "expected the column with the row after an update",
    "order": "expected a column of whole numbers",
    "where": "expected an SQL condition",
}

# Lower-case spellings in change data capture: Debezium, Delta's change data feed, Flink, and words.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "insert": ("insert", "i", "c", "r", "create", "read", "+", "+i", "1"),
    "update_before": ("update_before", "update_preimage", "ub", "-u"),
    "update_after": ("update_after", "update_postimage", "ua", "+u"),
    "delete": ("delete", "d", "-", "-d", "-1"),
    "update": ("u", "update"),  # rows with the columns `before` and `after`
}


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping from a source to a relation.

    `columns` are SQL expressions over the source's columns, one per attribute of the relation;
    by default, the source's columns of the same names. `where` is an SQL condition on its rows.
    """

    relation: str
    columns: tuple[str, ...] | None = None
    where: str | None = None

    def check(self, key: str) -> None:
        _check_not_empty(f"{key}.relation", self.relation, _RELATION)
        _check_not_empty(f"{key}.where", self.where, _NOT_EMPTY["where"])
        for column in self.columns or ():
            _check_not_empty(f"{key}.columns", column, "expected a column or an SQL expression")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of changes.

    With `stream=False` a source is read once, before the first batch. `mode` is the meaning of a
    row: append (insert a fact), signed (`op` is + or -, 1 or -1), cdc (`op` is a database's word
    for a change) or rules (`op` is a sign, `rule` the text of a rule). `order` is a sequence
    number: of several changes of a fact, the one with the highest number wins.
    """

    name: str
    format: str = ""
    path: str | None = None
    table: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    stream: bool = True
    mode: str = "append"
    op: str = "op"
    rule: str = "rule"
    before: str | None = None
    after: str | None = None
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: SPELLINGS)
    order: str | None = None
    late: int | None = None
    where: str | None = None
    maps: tuple[Map, ...] = ()

    def __post_init__(self) -> None:
        key = f"source.{self.name}"
        if not _NAME.fullmatch(self.name):
            raise SettingError(key, "a name may contain only letters, digits, - and _")
        one_of(f"{key}.mode", self.mode, MODES)
        check_path(f"{key}.path", self.path)
        for name, advice in _NOT_EMPTY.items():
            _check_not_empty(f"{key}.{name}", getattr(self, name), advice)
        for map_ in self.maps:
            map_.check(key)
        _check_values(f"{key}.values", self.values)
        if self.schema is not None:
            check_schema(f"{key}.schema", self.schema)
        if not self.format.strip() and self.table is None:
            raise SettingError(key, "missing format", 'set format = "csv", or table = "NAME"')
        if self.path is not None and self.table is not None:
            raise SettingError(key, "both path and table are set", "set one of them")
        if self.format in FILE_FORMATS and self.path is None and self.table is None:
            raise SettingError(key, "missing path", "set the folder in which files arrive")
        needs = self.stream and self.format in FILES and self.format != "text"
        if needs and self.schema is None:
            advice = 'schema = "op string, x long, y long"'
            raise SettingError(key, f"a stream of {self.format} files needs a schema", advice)
        if (self.before is None) != (self.after is None):
            raise SettingError(key, "before requires after, and after requires before")
        if self.before is not None and self.mode != "cdc":
            raise SettingError(f"{key}.before", 'requires mode = "cdc"')
        if self.late is not None and self.order is None:
            raise SettingError(f"{key}.late", "requires order")
        if self.maps and (self.format == "changes" or self.mode == "rules"):
            raise SettingError(key, "a source of rules, or in the format changes, has no mappings")
        if not self.maps and self.format != "changes" and self.mode != "rules":
            advice = f'set relation = "edge", or add a [[{key}.map]] per relation'
            raise SettingError(key, "missing relation", advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A published relation: a maintained table, or an append-only feed of its changes."""

    name: str
    relation: str
    kind: str = "table"
    format: str = "parquet"
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        key = f"sink.{self.name}"
        if not _NAME.fullmatch(self.name):
            raise SettingError(key, "a name may contain only letters, digits, - and _")
        one_of(f"{key}.kind", self.kind, ("table", "changes"))
        check_path(f"{key}.path", self.path)
        _check_not_empty(f"{key}.relation", self.relation, _RELATION)
        _check_not_empty(f"{key}.format", self.format, f"expected {_TABLE_FORMATS}")
        if self.format == "changes" and self.kind == "table":
            message = "a table cannot have the format changes"
            raise SettingError(f"{key}.format", message, f"expected {_TABLE_FORMATS}")
        if self.own and self.path is None:
            raise SettingError(key, "missing path", "set the folder to write")
        if self.own and self.options:
            raise SettingError(f"{key}.options", f"the format {self.format} has no options")

    @property
    def own(self) -> bool:
        """Whether Tidelog writes the sink itself, version by version."""
        return self.format in (*OWN_FORMATS, "changes")


def check_path(key: str, path: object, what: str = "a folder") -> None:
    """Reject an empty path, and one that contains NUL; None passes."""
    _check_not_empty(key, path, f"expected the name of {what}")
    if "\0" in str(path):
        raise SettingError(key, "a path cannot contain NUL", f"expected the name of {what}")


def _check_not_empty(key: str, text: object, advice: str) -> None:
    if isinstance(text, str) and not text.strip():
        raise SettingError(key, "empty value", advice)


def _check_values(key: str, values: Mapping[str, tuple[str, ...]]) -> None:
    for name, spelt in values.items():
        one_of(key, name, SPELLINGS)
        if not spelt or not all(map(str.strip, spelt)):
            message = f"{name} has {'an empty' if spelt else 'no'} spelling"
            advice = f'for example {name} = ["{SPELLINGS[name][0]}"]'
            raise SettingError(key, message, advice)


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a pipeline ends: after all available changes, after one batch, or when stopped."""

    kind: str = "available-now"
    interval: str = "1 second"

    def __post_init__(self) -> None:
        one_of("trigger", self.kind, TRIGGERS)
        if not _INTERVAL.fullmatch(self.interval):
            message = f"expected a duration, got {self.interval!r}"
            raise SettingError("interval", message, "for example 5 seconds")

    def options(self) -> dict[str, str | bool]:
        """The arguments of `DataStreamWriter.trigger`."""
        if self.kind == "continuous":
            return {"processingTime": self.interval}
        return {"availableNow": True} if self.kind == "available-now" else {"once": True}


class Settings(Protocol):
    """The settings of a whole pipeline. Paths of sources and sinks are relative to `folder`."""

    folder: Path
    program: Path
    state: Path
    facts: Path | None
    sources: tuple[Source, ...]
    sinks: tuple[Sink, ...]
    engine: str
    algorithm: str
    trigger: Trigger
    keep: int
    limits: Limits
    adopt: frozenset[str]  # sources to read from the beginning again
