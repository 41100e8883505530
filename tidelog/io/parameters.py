"""The parameters of directives: which ones go with which kind of `IO`, and what they say."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Literal

from tidelog.io.cells import shown
from tidelog.io.facts import count, is_delimiter
from tidelog.io.formats import Wrong
from tidelog.program.rules import Relation
from tidelog.program.syntax import Directive

Shape = Literal["list", "object"]  # of facts in JSON

KINDS = {
    "input": ("file", "stdin", "json", "jsonfile", "sqlite"),
    "output": ("file", "stdout", "stdoutprintsize", "json", "jsonfile", "sqlite"),
    "printsize": ("stdoutprintsize",),
}
_TEXT = ("delimiter", "headers", "compress", "rfc4180")
_BY_ACTION = {"input": "columns", "output": "attributeNames", "printsize": "attributeNames"}
_JSON = ("compress", "format", "params")
_SQLITE = ("dbname", "params")
# What Soufflé knows besides, and what to do instead.
_OTHERS = {
    "filepath": "use filename",
    "columns": "write a rule that has the columns in the order that you want",
}
_ON_SPARK = "; formats that Spark knows (parquet, json, delta, …) need --engine spark"


def read_parameters(directive: Directive) -> dict[str, str]:
    """The parameters by name, with the kind of IO always among them, and the relation's name."""
    action = f"`.{directive.action}`"
    kind = _kind(directive)
    known = _known(directive.action, kind)
    everywhere = {*known, *_TEXT, *_JSON, *_SQLITE, "columns", "attributeNames"}
    given: dict[str, str] = {}
    for key, value in directive.parameters:
        if key == "attributeNames" and directive.action == "input":
            continue  # what a header says is not looked at
        if key not in known:
            if key in _OTHERS:
                raise Wrong(f"{action} has no parameter `{key}`", _OTHERS[key])
            if key in everywhere:
                raise Wrong(f"parameter `{key}` does not go with `IO={kind}`", "remove it")
            close = get_close_matches(key, known, 1) or [
                each for each in known if each.lower() == key.lower()
            ]
            advice = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise Wrong(f"{action} has no parameter `{key}`", advice)
        if key in given:
            raise Wrong(f"parameter `{key}` is given twice", "keep one of them")
        given[key] = value
    return {"IO": kind, "relation": directive.relation, **given}


def _kind(directive: Directive) -> str:
    kinds = KINDS[directive.action]
    kind = next((value for key, value in directive.parameters if key == "IO"), kinds[0])
    if kind not in kinds:
        advice = "use " + " or ".join(f"IO={each}" for each in kinds)
        if any(kind in each for each in KINDS.values()):
            raise Wrong(f"`.{directive.action}` cannot use `IO={kind}`", advice)
        if directive.action != "printsize":
            advice += _ON_SPARK
        raise Wrong(f"there is no `IO={kind}`", advice)
    return kind


def _known(action: str, kind: str) -> tuple[str, ...]:
    """The parameters that go with a kind."""
    always = ("IO", "filename", "name")
    if kind in ("json", "jsonfile"):
        return (*always, *_JSON)
    if kind == "sqlite":
        return (*always, *_SQLITE)
    return (*always, *_TEXT, _BY_ACTION[action])


def truth(given: dict[str, str], key: str) -> bool:
    value = given.get(key, "false")
    if value not in ("true", "false"):
        raise Wrong(f"parameter `{key}` cannot be {shown(value)}", "write true or false")
    return value == "true"


def delimiter_of(given: dict[str, str], quoted: bool) -> str:
    """What separates fields; a comma where they may be quoted."""
    delimiter = given.get("delimiter", "," if quoted else "\t")
    if not is_delimiter(delimiter):
        raise Wrong(
            f"{shown(delimiter)} cannot be a delimiter",
            'choose one or more characters of one line, such as "\\t" or ","',
        )
    if quoted and (len(delimiter) != 1 or delimiter == '"'):
        advice = 'choose one character that is no quote, such as ","'
        raise Wrong(f"{shown(delimiter)} cannot be a delimiter with rfc4180", advice)
    return delimiter


def columns_of(given: dict[str, str], relation: Relation) -> tuple[int, ...] | None:
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
        raise Wrong(f"{shown(text)} is no list of columns", advice)
    found = tuple(map(int, parts))
    if len({*found}) < len(found):
        raise Wrong(f"{shown(text)} names a column twice", advice)
    return found


def _example(relation: Relation) -> str:
    return ":".join(str(i) for i in range(relation.arity))


def shape_of(given: dict[str, str]) -> Shape | None:
    """Whether facts are lists or objects in JSON, if that is said."""
    match given.get("format"):
        case None:
            return None
        case "list":
            return "list"
        case "object":
            return "object"
        case other:
            raise Wrong(f"parameter `format` cannot be {shown(other)}", "write list or object")


def names_of(given: dict[str, str], relation: Relation) -> tuple[str, ...]:
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
        wanted = ", ".join(f"'{name}'" for name in relation.attributes).replace("'", '\\"')
        raise Wrong(
            f"parameter `params` does not name the {relation.arity} columns",
            f'write params="{{\\"relation\\": {{\\"params\\": [{wanted}]}}}}"',
        )
    return tuple(names)
