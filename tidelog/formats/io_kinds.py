"""The registry of `IO=`: who may use a value, its format, parameters, and file names.

A new format of facts is a class as in `fact_formats` and a row here; messages derive from it.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

from tidelog.formats.cells import shown
from tidelog.formats.fact_formats import FactFormat, Json, Sqlite, Text
from tidelog.formats.parameters import columns_of, delimiter_of, names_of, shape_of, truth
from tidelog.formats.spark_formats import Wrong
from tidelog.program.rules import Relation
from tidelog.program.syntax import Directive

Given = dict[str, str]  # parameters of a directive


class Io(NamedTuple):
    """A value of `IO=`.

    `takes` are parameters besides those that all have. `ending` is that of default file names,
    for inputs and outputs; None where the standard input or output is meant, unless a `filename`
    is given and `or_file` says that this is allowed.
    """

    actions: tuple[str, ...]
    format: Callable[[Given, Relation], FactFormat]
    takes: tuple[str, ...]
    ending: tuple[str, str] | None
    or_file: bool = False
    compressed: bool = True  # a name that ends in .gz says so

    def ending_of(self, given: Given, action: str) -> str | None:
        if self.ending is None or (self.or_file and "filename" not in given):
            return None
        return self.ending[action != "input"]


def _text(given: Given, relation: Relation) -> FactFormat:
    quoted = truth(given, "rfc4180")
    delimiter, headers = delimiter_of(given, quoted), truth(given, "headers")
    return Text(delimiter, headers, quoted, columns_of(given, relation), _header(given))


def _header(given: Given) -> str | None:
    header = given.get("attributeNames")
    if header is not None and ("\n" in header or "\r" in header or "\0" in header):
        raise Wrong(f"{shown(header)} is more than one line", "name the columns in one line")
    return header


def _json(given: Given, relation: Relation) -> FactFormat:
    return Json(names_of(given, relation), shape_of(given))


def _sqlite(given: Given, relation: Relation) -> FactFormat:
    if "filename" in given and "dbname" in given:
        raise Wrong("`filename` and `dbname` name the same", "keep one of them")
    table = given.get("name", relation.name)
    if not table or "\0" in table:
        raise Wrong(f"{shown(table)} cannot be the name of a table", "name a table")
    return Sqlite(table, names_of(given, relation))


_BOTH = ("input", "output")
_TEXT = ("delimiter", "headers", "compress", "rfc4180")
_JSON = ("compress", "format", "params")
_JSON_NAMES = (".json", ".json")
IO: dict[str, Io] = {
    "file": Io(_BOTH, _text, _TEXT, (".facts", ".csv")),
    "stdin": Io(("input",), _text, _TEXT, None),
    "stdout": Io(("output",), _text, _TEXT, None),
    "stdoutprintsize": Io(("output", "printsize"), _text, _TEXT, None),
    # Soufflé has it for the standard streams alone; who names a file means the file.
    "json": Io(_BOTH, _json, _JSON, _JSON_NAMES, or_file=True),
    "jsonfile": Io(_BOTH, _json, _JSON, _JSON_NAMES),
    "sqlite": Io(_BOTH, _sqlite, ("dbname", "params"), (".sqlite", ".sqlite"), compressed=False),
}

ALWAYS = ("IO", "filename", "name")
_BY_ACTION = {"input": "columns", "output": "attributeNames", "printsize": "attributeNames"}
# Parameters that only Soufflé has, and what to do instead.
_OTHERS = {
    "filepath": "use filename",
    "columns": "write a rule that has the columns in the order that you want",
}
_ON_SPARK = "; formats that Spark knows (parquet, json, delta, …) need --engine spark"


def read_parameters(directive: Directive) -> Given:
    """The parameters by name, with the kind of IO always among them, and the relation's name."""
    action = f"`.{directive.action}`"
    kind = _kind(directive)
    known = _known(directive.action, kind)
    everywhere = {*_BY_ACTION.values(), *(key for io in IO.values() for key in io.takes)}
    given: Given = {}
    for key, value in directive.parameters:
        if key == "attributeNames" and directive.action == "input":
            continue  # what a header says is not looked at
        if key not in known:
            if key in _OTHERS:
                raise Wrong(f"{action} has no parameter `{key}`", _OTHERS[key])
            if key in everywhere:
                raise Wrong(f"parameter `{key}` does not apply to `IO={kind}`", "remove it")
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
    kinds = [name for name, io in IO.items() if directive.action in io.actions]
    kind = next((value for key, value in directive.parameters if key == "IO"), kinds[0])
    if kind not in kinds:
        advice = "use " + " or ".join(f"IO={each}" for each in kinds)
        if kind in IO:
            raise Wrong(f"`.{directive.action}` cannot use `IO={kind}`", advice)
        if directive.action != "printsize":
            advice += _ON_SPARK
        raise Wrong(f"unknown format `IO={kind}`", advice)
    return kind


def _known(action: str, kind: str) -> tuple[str, ...]:
    """The parameters that a kind takes."""
    takes = IO[kind].takes
    return (*ALWAYS, *takes, _BY_ACTION[action]) if takes is _TEXT else (*ALWAYS, *takes)
