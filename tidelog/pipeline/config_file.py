"""Reads a pipeline from a TOML file, with line numbers in errors."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tidelog.pipeline.setting_errors import SettingError, one_of
from tidelog.pipeline.settings import SPELLINGS, Map, Sink, Source, Trigger
from tidelog.program.diagnostics import TidelogError
from tidelog.program.suggestions import suggestion

T = TypeVar("T")
_POSITION = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
_PIPELINE = {
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
_DESCRIPTIONS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}


def read(path: Path, build: Callable[[dict[str, Any]], T]) -> T:
    """Call `build` with a file's settings; errors report their position in the file."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise TidelogError(f"error: {path} is not UTF-8: byte {error.start:,}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: cannot read {path}: {reason}") from None
    try:
        return build(settings(tomllib.loads(text), path.parent))
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, str(error)) from None
    except SettingError as error:
        raise in_file(path, error, text) from None


def in_file(path: Path, error: SettingError, text: str | None = None) -> TidelogError:
    """The error with its position in the file."""
    line = line_of(path.read_text(encoding="utf-8") if text is None else text, error.key)
    return TidelogError(f"{path}:{line}: {error}" if line else f"{path}: {error}")


def _syntax(path: Path, message: str) -> TidelogError:
    found = _POSITION.fullmatch(message)
    if found is None:
        return TidelogError(f"{path}: error: {message}")
    return TidelogError(
        f"{path}:{found[2]}:{found[3]}: error: {found[1][:1].lower()}{found[1][1:]}"
    )


def settings(found: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Check a TOML document, and return the arguments of `Pipeline`."""
    check("", found, _PIPELINE)
    for needed, example in (("program", "reach.dl"), ("state", "state")):
        if needed not in found:
            raise SettingError(needed, "missing setting", f'for example {needed} = "{example}"')
    taken = {key: found[key] for key in _PIPELINE if key in found}
    taken["sources"] = [_source(name, each) for name, each in taken.pop("source", {}).items()]
    taken["sinks"] = [_sink(name, each) for name, each in taken.pop("sink", {}).items()]
    taken["trigger"] = _trigger(taken)
    taken["spark"] = _texts("spark", taken.get("spark", {}))
    return {**taken, "folder": folder}


def _trigger(taken: dict[str, Any]) -> Trigger:
    kind, interval = taken.pop("trigger", "available-now"), taken.pop("interval", None)
    if interval is not None and kind != "continuous":
        raise SettingError("interval", 'requires trigger = "continuous"')
    return Trigger(kind, interval) if interval is not None else Trigger(kind)


def _source(name: str, found: Any) -> Source:
    key = f"source.{name}"
    check(key, found, _SOURCE)
    arguments = dict(found)
    kind = arguments.pop("kind", "stream")
    one_of(f"{key}.kind", kind, ("stream", "table"))
    arguments["maps"] = _maps(key, arguments)
    arguments["options"] = _texts(f"{key}.options", arguments.get("options", {}))
    if "values" in arguments:
        arguments["values"] = _values(f"{key}.values", arguments["values"])
    return Source(name=name, stream=kind == "stream", **arguments)


def _maps(key: str, arguments: dict[str, Any]) -> tuple[Map, ...]:
    listed = arguments.pop("map", None)
    if listed is not None:
        if "relation" in arguments or "columns" in arguments:
            raise SettingError(key, "both map and relation are set", "move relation into a map")
        return tuple(_map(f"{key}.map", each) for each in listed)
    if "relation" not in arguments:
        if "columns" in arguments:
            raise SettingError(f"{key}.columns", "requires relation")
        return ()
    return (_map(key, {k: arguments.pop(k) for k in ("relation", "columns") if k in arguments}),)


def _map(key: str, found: Any) -> Map:
    check(key, found, _MAP)
    if "relation" not in found:
        raise SettingError(key, "missing relation", 'for example relation = "edge"')
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
        raise SettingError(key, "missing relation", 'for example relation = "path"')
    options = _texts(f"{key}.options", found.get("options", {}))
    return Sink(name=name, **{**found, "options": options})


def _values(key: str, found: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The default spellings, overridden by those of the file."""
    spellings = dict(SPELLINGS)
    for name, each in found.items():
        one_of(key, name, SPELLINGS)
        listed = each if isinstance(each, list) else [each]
        spellings[name] = tuple(str(one).lower() for one in listed)
    return spellings


def _texts(key: str, found: Any) -> dict[str, str]:
    """Options for Spark as text; nested tables become dotted keys."""
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
            raise SettingError(f"{key}.{name}", f"expected text or a number, got {value!r}")
    return texts


def check(key: str, found: Any, known: Mapping[str, type]) -> None:
    """Reject unknown keys, and values of the wrong type."""
    _is(key, found, dict)
    for name, value in found.items():
        at = f"{key}.{name}" if key else name
        if name not in known:
            advice = suggestion(name, known)
            raise SettingError(at, "unknown setting", advice)
        _is(at, value, known[name])


def _is(key: str, value: Any, wanted: type) -> None:
    fits: Callable[[Any], bool] = {
        int: lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
        float: lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v > 0,
    }.get(wanted, lambda v: isinstance(v, wanted))
    if not fits(value):
        raise SettingError(key, f"expected {_DESCRIPTIONS[wanted]}, got {value!r}")


def line_of(text: str, key: str) -> int | None:
    """The line of a setting, or of the table that should have it.

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
    """The first line of each setting and table."""
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
    """The names in a table header, or before an equals sign, in TOML syntax.

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
