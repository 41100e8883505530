"""The values of the parameters of directives."""

from __future__ import annotations

import json
from typing import Literal

from tidelog.formats.fact_files import count, is_delimiter
from tidelog.formats.field_values import shown
from tidelog.formats.spark_formats import Wrong
from tidelog.program.rules import Relation

Given = dict[str, str]  # parameters of a directive
Shape = Literal["list", "object"]  # of facts in JSON


def truth(given: Given, key: str) -> bool:
    value = given.get(key, "false")
    if value not in ("true", "false"):
        raise Wrong(f"parameter `{key}` cannot be {shown(value)}", "write true or false")
    return value == "true"


def delimiter_of(given: Given, quoted: bool) -> str:
    """The delimiter of fields; by default a comma where they may be quoted."""
    delimiter = given.get("delimiter", "," if quoted else "\t")
    if not is_delimiter(delimiter):
        raise Wrong(
            f"{shown(delimiter)} cannot be a delimiter",
            'choose one or more characters of one line, such as "\\t" or ","',
        )
    if quoted and (len(delimiter) != 1 or delimiter == '"'):
        advice = 'choose one character other than a quote, such as ","'
        raise Wrong(f"{shown(delimiter)} cannot be a delimiter with rfc4180", advice)
    return delimiter


def columns_of(given: Given, relation: Relation) -> tuple[int, ...] | None:
    """Where in a row the relation's columns stand, the first being 0: `columns="2:0"`."""
    text = given.get("columns")
    if text is None:
        return None
    parts = text.split(":") if text else []
    advice = f'name {relation.arity} of them, the first is 0: columns="{_example(relation)}"'
    if len(parts) != relation.arity:
        named = count(len(parts), "column")
        raise Wrong(f"{shown(text)} names {named}, not {relation.arity}", advice)
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise Wrong(f"{shown(text)} is not a list of columns", advice)
    found = tuple(map(int, parts))
    if len({*found}) < len(found):
        raise Wrong(f"{shown(text)} names a column twice", advice)
    return found


def _example(relation: Relation) -> str:
    return ":".join(str(i) for i in range(relation.arity))


def header_of(given: Given) -> str | None:
    """The first line of an output, if it has a header."""
    header = given.get("attributeNames")
    if header is not None and ("\n" in header or "\r" in header or "\0" in header):
        raise Wrong(f"{shown(header)} is more than one line", "name the columns in one line")
    return header


def shape_of(given: Given) -> Shape | None:
    """Whether facts are lists or objects in JSON, if `format` says so."""
    match given.get("format"):
        case None:
            return None
        case "list":
            return "list"
        case "object":
            return "object"
        case other:
            raise Wrong(f"parameter `format` cannot be {shown(other)}", "write list or object")


def names_of(given: Given, relation: Relation) -> tuple[str, ...]:
    """The columns' names outside: the attributes', unless `params` says others, as Soufflé
    writes them: `{"relation": {"params": ["a", "b"]}}`."""
    text = given.get("params")
    if text is None:
        return relation.attributes
    try:
        names = json.loads(text)["relation"]["params"]
    except (ValueError, KeyError, TypeError, RecursionError):
        names = None
    right = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not right or len(names) != relation.arity or len({*names}) < len(names):
        columns = "the column" if relation.arity == 1 else f"the {relation.arity} columns"
        wanted = ", ".join(f"'{name}'" for name in relation.attributes).replace("'", '\\"')
        raise Wrong(
            f"parameter `params` does not name {columns}",
            f'write params="{{\\"relation\\": {{\\"params\\": [{wanted}]}}}}"',
        )
    return tuple(names)
