"""What a pipeline is made of: sources, mappings, sinks, and when it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.pipeline.faults import SettingError, one_of
from tidelog.pipeline.schemas import check_schema

TRIGGERS = ("available-now", "once", "continuous")
MODES = ("append", "signed", "cdc", "rules")
ENGINES = ("local", "spark")
OWN = ("parquet", "csv", "json")  # formats of sinks that Tidelog writes itself
FILES = ("csv", "json", "parquet", "orc", "text", "changes")  # that Spark reads as files
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_INTERVAL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*(ms|milliseconds?|s|seconds?|minutes?|hours?)\s*")

_RELATION = "it is a relation of the program"
_FILLED = {  # settings of a source that are not empty where they are given
    "table": "it is the name of a table",
    "schema": "such as x long, y string",
    "op": "it is the column that tells what happened",
    "rule": "it is the column with the text of a rule",
    "before": "it is the column with the row before an update",
    "after": "it is the column with the row after an update",
    "order": "it is a column of whole numbers",
    "where": "it is an SQL condition",
}

# How change data capture spells what happened to a row: Debezium, Delta's change data feed,
# Flink, and plain words. Compared in lower case.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "insert": ("insert", "i", "c", "r", "create", "read", "+", "+i", "1"),
    "update_before": ("update_before", "update_preimage", "ub", "-u"),
    "update_after": ("update_after", "update_postimage", "ua", "+u"),
    "delete": ("delete", "d", "-", "-d", "-1"),
    "update": ("u", "update"),  # of both sides at once, where `before` and `after` are columns
}


@dataclass(frozen=True, slots=True)
class Map:
    """Which columns of a source become which relation's, and which of its rows.

    `columns` are SQL expressions over the source's columns, one for each of the relation's;
    without them the source's columns of the same names are taken.
    """

    relation: str
    columns: tuple[str, ...] | None = None
    where: str | None = None

    def check(self, key: str) -> None:
        _check_filled(f"{key}.relation", self.relation, _RELATION)
        _check_filled(f"{key}.where", self.where, _FILLED["where"])
        for column in self.columns or ():
            _check_filled(f"{key}.columns", column, "each is a column or an SQL expression")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where changes come from.

    A `table` is read once, before the first batch; a stream goes on. `mode` says what a row is:
    append (a fact that comes), signed (`op` is + or -, 1 or -1), cdc (`op` is what a database
    says of a change) or rules (`op` a sign, `rule` the text of a rule). `order` is a sequence
    number: of several changes of a fact the one with the highest counts.
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
            raise SettingError(key, "a name has letters, digits, - and _ only")
        one_of(f"{key}.mode", self.mode, MODES)
        check_path(f"{key}.path", self.path)
        for name, advice in _FILLED.items():
            _check_filled(f"{key}.{name}", getattr(self, name), advice)
        for map_ in self.maps:
            map_.check(key)
        _check_values(f"{key}.values", self.values)
        if self.schema is not None:
            check_schema(f"{key}.schema", self.schema)
        if not self.format.strip() and self.table is None:
            raise SettingError(key, "it has no format", 'such as format = "csv", or table = "NAME"')
        if self.path is not None and self.table is not None:
            raise SettingError(key, "it has both path and table", "give one of them")
        if self.format in FILES and self.path is None and self.table is None:
            raise SettingError(key, "it has no path", "it is the folder in which files arrive")
        needs = self.format in ("csv", "json", "parquet", "orc") and self.stream
        if needs and self.schema is None:
            advice = 'schema = "op string, x long, y long"'
            raise SettingError(key, f"a stream of {self.format} files needs a schema", advice)
        if (self.before is None) != (self.after is None):
            raise SettingError(key, "before and after belong together", "give both, or neither")
        if self.before is not None and self.mode != "cdc":
            raise SettingError(f"{key}.before", 'it is for mode = "cdc" only')
        if self.late is not None and self.order is None:
            raise SettingError(f"{key}.late", "it needs order, by which changes can be late")
        if self.maps and (self.format == "changes" or self.mode == "rules"):
            raise SettingError(key, "it says itself what changes, so it maps to no relation")
        if not self.maps and self.format != "changes" and self.mode != "rules":
            advice = 'relation = "edge", or [[' + f"{key}.map]] for each of several"
            raise SettingError(key, "it maps to no relation", advice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where a relation goes: a table kept up to date, or an append-only feed of its changes."""

    name: str
    relation: str
    kind: str = "table"
    format: str = "parquet"
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        key = f"sink.{self.name}"
        if not _NAME.fullmatch(self.name):
            raise SettingError(key, "a name has letters, digits, - and _ only")
        one_of(f"{key}.kind", self.kind, ("table", "changes"))
        check_path(f"{key}.path", self.path)
        _check_filled(f"{key}.relation", self.relation, _RELATION)
        _check_filled(f"{key}.format", self.format, f"there are {', '.join(OWN)}, and Spark's")
        if self.format == "changes" and self.kind == "table":
            advice = f"a table is in {', '.join(OWN)}, or a format that Spark writes"
            raise SettingError(f"{key}.format", "the change notation is no table", advice)
        if self.own and self.path is None:
            raise SettingError(key, "it has no path", "it is the folder that is written")
        if self.own and self.options:
            raise SettingError(f"{key}.options", f"{self.format} is written without options")

    @property
    def own(self) -> bool:
        """Is it written by Tidelog itself, version by version?"""
        return self.format in (*OWN, "changes")


def check_path(key: str, path: object, what: str = "a folder") -> None:
    """Can this be a name in the file system? It is if it is not given."""
    _check_filled(key, path, f"it is the name of {what}")
    if "\0" in str(path):
        raise SettingError(key, "no path has a NUL in it", f"it is the name of {what}")


def _check_filled(key: str, text: object, advice: str) -> None:
    if isinstance(text, str) and not text.strip():
        raise SettingError(key, "it is empty", advice)


def _check_values(key: str, values: Mapping[str, tuple[str, ...]]) -> None:
    for name, spelt in values.items():
        one_of(key, name, SPELLINGS)
        if not spelt or not all(map(str.strip, spelt)):
            told = "is spelt in no way" if not spelt else "has an empty spelling"
            raise SettingError(key, f"{name} {told}", f'such as {name} = ["{SPELLINGS[name][0]}"]')


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a pipeline runs: until all that is there has been taken, or until it is stopped."""

    kind: str = "available-now"
    interval: str = "1 second"

    def __post_init__(self) -> None:
        one_of("trigger", self.kind, TRIGGERS)
        if not _INTERVAL.fullmatch(self.interval):
            raise SettingError("interval", f"{self.interval!r} is no time", "such as 5 seconds")

    def options(self) -> dict[str, str | bool]:
        """As `DataStreamWriter.trigger` takes it."""
        if self.kind == "continuous":
            return {"processingTime": self.interval}
        return {"availableNow": True} if self.kind == "available-now" else {"once": True}
