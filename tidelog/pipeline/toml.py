"""A pipeline's file: what is in it, and where it is wrong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tidelog.pipeline.faults import SettingError, one_of
from tidelog.pipeline.settings import SPELLINGS, Map, Sink, Source, Trigger
from tidelog.plan.draft import did_you_mean
from tidelog.program.diagnostics import TidelogError

T = TypeVar("T")
_AT = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
_TOP = {
    **dict.fromkeys(("program", "state", "facts", "engine", "algorithm"), str),
    **dict.fromkeys(("trigger", "interval", "master"), str),
    **dict.fromkeys(("keep", "max_facts"), int),
    "max_seconds": float,
    **dict.fromkeys(("source", "sink", "spark"), dict),
}
_MAP = {"relation": str, "columns": list, "where": str}
_SOURCE = {
    **dict.fromkeys(("kind", "format", "path", "table", "schema", "mode", "op", "rule"), str),
    **dict.fromkeys(("before", "after", "order"), str),
    **_MAP,
    "late": int,
    "options": dict,
    "values": dict,
    "map": list,
}
_SINK = {
    **dict.fromkeys(("kind", "relation", "format", "path"), str),
    "options": dict,
}
_SAID: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}


def read(path: Path, make: Callable[[dict[str, Any]], T]) -> T:
    """What `make` makes of a file's settings; errors of both say where in the file they are."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise TidelogError(f"error: {path} is no UTF-8: byte {error.start:,}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: {path} cannot be read: {reason}") from None
    try:
        return make(settings(tomllib.loads(text), path.parent))
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, str(error)) from None
    except SettingError as error:
        raise in_file(path, error, text) from None


def in_file(path: Path, error: SettingError, text: str | None = None) -> TidelogError:
    """The error, and where in the file it is."""
    line = line_of(path.read_text(encoding="utf-8") if text is None else text, error.key)
    where = f"{path}:{line}" if line else f"{path}"
    advice = f"\n    {error.advice}" if error.advice else ""
    return TidelogError(f"{where}: error: {error.key}: {error.message}{advice}")


def _syntax(path: Path, message: str) -> TidelogError:
    found = _AT.fullmatch(message)
    if found is None:
        return TidelogError(f"{path}: error: {message}")
    return TidelogError(
        f"{path}:{found[2]}:{found[3]}: error: {found[1][:1].lower()}{found[1][1:]}"
    )


def settings(found: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a TOML document says, checked."""
    check("", found, _TOP)
    for needed, such in (("program", "reach.dl"), ("state", "state")):
        if needed not in found:
            raise SettingError(needed, "it is missing", f'such as {needed} = "{such}"')
    taken = {key: found[key] for key in _TOP if key in found}
    taken["sources"] = [_source(name, each) for name, each in taken.pop("source", {}).items()]
    taken["sinks"] = [_sink(name, each) for name, each in taken.pop("sink", {}).items()]
    taken["trigger"] = _trigger(taken)
    taken["spark"] = _texts("spark", taken.get("spark", {}))
    return {**taken, "folder": folder}


def _trigger(taken: dict[str, Any]) -> Trigger:
    kind, interval = taken.pop("trigger", "available-now"), taken.pop("interval", None)
    if interval is not None and kind != "continuous":
        raise SettingError("interval", 'it is for trigger = "continuous" only')
    return Trigger(kind, interval) if interval is not None else Trigger(kind)


def _source(name: str, found: Any) -> Source:
    key = f"source.{name}"
    check(key, found, _SOURCE)
    given = dict(found)
    kind = given.pop("kind", "stream")
    one_of(f"{key}.kind", kind, ("stream", "table"))
    given["maps"] = _maps(key, given)
    given["options"] = _texts(f"{key}.options", given.get("options", {}))
    if "values" in given:
        given["values"] = _values(f"{key}.values", given["values"])
    return Source(name=name, stream=kind == "stream", **given)


def _maps(key: str, given: dict[str, Any]) -> tuple[Map, ...]:
    listed = given.pop("map", None)
    if listed is not None:
        if "relation" in given or "columns" in given:
            raise SettingError(key, "it has both map and relation", "put relation into a map")
        return tuple(_map(f"{key}.map", each) for each in listed)
    if "relation" not in given:
        if "columns" in given:
            raise SettingError(key, "it has columns, and no relation for them")
        return ()
    return (_map(key, {k: given.pop(k) for k in ("relation", "columns") if k in given}),)


def _map(key: str, found: Any) -> Map:
    check(key, found, _MAP)
    if "relation" not in found:
        raise SettingError(key, "it names no relation", 'such as relation = "edge"')
    columns = found.get("columns")
    if columns is not None:
        for each in columns:
            _is(f"{key}.columns", each, str)
        columns = tuple(columns)
    return Map(found["relation"], columns, found.get("where"))


def _sink(name: str, found: Any) -> Sink:
    key = f"sink.{name}"
    check(key, found, _SINK)
    if "relation" not in found:
        raise SettingError(key, "it names no relation", 'such as relation = "path"')
    options = _texts(f"{key}.options", found.get("options", {}))
    return Sink(name=name, **{**found, "options": options})


def _values(key: str, found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Spellings that are given take the place of ours."""
    spelled = dict(SPELLINGS)
    for name, each in found.items():
        one_of(key, name, SPELLINGS)
        listed = each if isinstance(each, list) else [each]
        spelled[name] = tuple(str(one).lower() for one in listed)
    return spelled


def _texts(key: str, found: Any) -> dict[str, str]:
    """Options, as Spark takes them: all text. Dotted keys are tables in TOML."""
    _is(key, found, dict)
    texts: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            texts |= {f"{name}.{k}": v for k, v in _texts(f"{key}.{name}", value).items()}
        elif isinstance(value, bool):
            texts[name] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            texts[name] = str(value)
        else:
            raise SettingError(f"{key}.{name}", "it is neither text nor a number")
    return texts


def check(key: str, found: Any, known: Mapping[str, type]) -> None:
    """Only keys that mean something, each with a value of its type."""
    _is(key, found, dict)
    for name, value in found.items():
        at = f"{key}.{name}" if key else name
        if name not in known:
            advice = did_you_mean(name, known, f"there are {', '.join(known)}")
            raise SettingError(at, "there is no such setting", advice)
        _is(at, value, known[name])


def _is(key: str, value: Any, wanted: type) -> None:
    fits: Callable[[Any], bool] = {
        int: lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
        float: lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v > 0,
    }.get(wanted, lambda v: isinstance(v, wanted))
    if not fits(value):
        raise SettingError(key, f"it is {_SAID[wanted]}; {value!r} is none")


def line_of(text: str, key: str) -> int | None:
    """The line on which a setting stands, or the table that should have it.

    >>> line_of('state = "s"\\n[source.roads]\\nmode = "x"', "source.roads.mode")
    3
    >>> line_of('state = "s"\\n[source.roads]\\nmode = "x"', "source.roads")
    2
    """
    places = _places(text.split("\n"))
    while key and key not in places:
        key = key.rpartition(".")[0]
    return places.get(key)


def _places(lines: Iterable[str]) -> dict[str, int]:
    """The lines on which settings, and tables that have some, are named first."""
    places: dict[str, int] = {}
    table: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("["):
            table = found = _names(line)
        else:
            name, equals, _ = line.partition("=")
            found = [*table, *_names(f"{name}= 0")] if equals else []
        for end in range(1, len(found) + 1):
            places.setdefault(".".join(found[:end]), number)
    return places


def _names(line: str) -> list[str]:
    """The names in a header, or before an equals sign, as TOML reads them.

    >>> _names('[source."old roads"]')
    ['source', 'old roads']
    """
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while found:
        found = found[0] if isinstance(found, list) else found
        if not isinstance(found, dict) or not found:
            break
        ((name, found),) = found.items()
        names.append(name)
    return names
