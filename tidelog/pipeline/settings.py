"""What a pipeline is made of: sources, mappings, sinks, and when it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidelog.plan.draft import did_you_mean
from tidelog.program.diagnostics import TidelogError

TRIGGERS = ("available-now", "once", "continuous")
MODES = ("append", "signed", "cdc", "rules")
ENGINES = ("local", "spark")
OWN = ("parquet", "csv", "json")  # formats of sinks that Tidelog writes itself
FILES = ("csv", "json", "parquet", "orc", "text", "changes")  # that Spark reads as files
DDL_TYPES = (  # of columns, as Spark writes them
    *("string", "char", "varchar", "binary", "boolean", "date"),
    *("byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint"),
    *("float", "real", "double", "decimal", "dec", "numeric"),
    *("timestamp", "timestamp_ntz", "timestamp_ltz", "interval"),
    *("array", "map", "struct", "variant", "void"),
)
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_COLUMN = re.compile(r"\s*(?:`[^`]+`|\w+)\s*[:\s]\s*(\w+)")
_INTERVAL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*(ms|milliseconds?|s|seconds?|minutes?|hours?)\s*")

# How change data capture spells what happened to a row: Debezium, Delta's change data feed,
# Flink, and plain words. Compared in lower case.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "insert": ("insert", "i", "c", "r", "create", "read", "+", "+i", "1"),
    "update_before": ("update_before", "update_preimage", "ub", "-u"),
    "update_after": ("update_after", "update_postimage", "ua", "+u"),
    "delete": ("delete", "d", "-", "-d", "-1"),
    "update": ("u", "update"),  # of both sides at once, where `before` and `after` are columns
}


class SettingError(TidelogError):
    """A setting that is wrong; `key` says where it stands, as in source.roads.mode."""

    def __init__(self, key: str, message: str, advice: str = "") -> None:
        self.key, self.message, self.advice = key, message, advice
        super().__init__(f"error: {key}: {message}" + (f"\n    {advice}" if advice else ""))


def one_of(key: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        listed = f"there are {', '.join(known)}"
        raise SettingError(key, f"there is no {value!r}", did_you_mean(value, known, listed))


@dataclass(frozen=True, slots=True)
class Map:
    """Which columns of a source become which relation's, and which of its rows.

    `columns` are SQL expressions over the source's columns, one for each of the relation's;
    without them the source's columns of the same names are taken.
    """

    relation: str
    columns: tuple[str, ...] | None = None
    where: str | None = None


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
        _check_path(key, self.path)
        for name, spelt in self.values.items():
            one_of(f"{key}.values", name, SPELLINGS)
            if not spelt:
                advice = f'such as {name} = ["{SPELLINGS[name][0]}"]'
                raise SettingError(f"{key}.values", f"{name} is spelt in no way", advice)
        if self.schema is not None:
            _check_schema(f"{key}.schema", self.schema)
        if not self.format and self.table is None:
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
        _check_path(key, self.path)
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


def _check_schema(key: str, schema: str) -> None:
    """Names and types, as far as that can be told without Spark, which has the last word."""
    if schema.lstrip().startswith("{"):
        return  # JSON
    outer = re.sub(r"\([^()]*\)|'[^']*'", "", schema)
    while outer != (less := re.sub(r"<[^<>]*>", "", outer)):
        outer = less
    for column in outer.split(","):
        found = _COLUMN.match(column)
        if found is None:
            advice = "such as x long, y string"
            raise SettingError(key, f"{column.strip()!r} is no name with a type", advice)
        one_of(key, found[1].lower(), DDL_TYPES)


def _check_path(key: str, path: str | None) -> None:
    if path is not None and (not path or "\0" in path):
        told = "it is empty" if not path else "no path has a NUL in it"
        raise SettingError(f"{key}.path", told, "it is the name of a folder")


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
