"""Checks of a pipeline before it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.pipeline.setting_errors import SettingError
from tidelog.pipeline.settings import Settings, Source
from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.functors import calls
from tidelog.program.rules import Relation
from tidelog.program.suggestions import did_you_mean
from tidelog.program.terms import TermKind
from tidelog.transaction.refusals import ends_early

if TYPE_CHECKING:
    from tidelog.plan.accept import Accepted


def check(pipeline: Settings, relations: Mapping[str, Relation]) -> None:
    """Check that mappings and sinks fit the program, and that the folder of facts exists."""
    visible = {name: relation for name, relation in relations.items() if not relation.hidden}
    for source in pipeline.sources:
        _check_maps(source, visible)
    for sink in pipeline.sinks:
        relation = _relation(f"sink.{sink.name}", sink.relation, visible)
        if sink.format != "changes":
            _reject_records(f"sink.{sink.name}", relation, "use a feed in the format changes")
        if sink.kind == "table":
            _reject_nullary(f"sink.{sink.name}", relation)
    if pipeline.facts is not None and not pipeline.facts.is_dir():
        raise SettingError("facts", f"no such folder: {pipeline.facts}")


def _check_maps(source: Source, visible: Mapping[str, Relation]) -> None:
    key = f"source.{source.name}"
    for map_ in source.maps:
        relation = _relation(key, map_.relation, visible)
        _reject_records(key, relation, "use a source in the format changes")
        if map_.columns is not None and len(map_.columns) != relation.arity:
            names = f"{relation.name}({', '.join(relation.attributes)})"
            count = len(map_.columns)
            are = "column is" if count == 1 else "columns are"
            raise SettingError(
                f"{key}.columns", f"{count} {are} mapped to {names}, which has {relation.arity}"
            )


def _reject_records(key: str, relation: Relation, advice: str) -> None:
    if any(isinstance(kind, TermKind) for kind in relation.kinds):
        message = f"a table cannot hold the records or branches of {relation.name}"
        raise SettingError(f"{key}.relation", message, advice)


def _reject_nullary(key: str, relation: Relation) -> None:
    if not relation.arity:
        message = f"a table cannot hold {relation.name}, which has no columns"
        raise SettingError(f"{key}.relation", message, 'use a sink of kind "changes"')


def refuse_limits(accepted: Accepted) -> None:
    """Reject `.limitsize`: what it omits depends on rounds, and so cannot be maintained."""
    found = [
        Diagnostic(
            f"{ends_early([each.relation])} so a pipeline cannot maintain it",
            each.at,
            "remove the directive",
        )
        for each in accepted.checked.directives
        if each.action == "limitsize"
    ]
    if found:
        raise ProgramError(found, accepted.sources)


def refuse_functions(accepted: Accepted) -> None:
    """Reject autoinc() and Python functions, which a pipeline does not support."""
    found = [
        Diagnostic(
            "autoinc() is not supported in a pipeline, where facts change"
            if call.functor == "autoinc"
            else f"functor {call.functor[1:]} has no function: pipelines do not support Python "
            "functions",
            call.at,
            "let a source provide the results as a column",
        )
        for rule in accepted.checked.rules
        for call in calls(rule)
    ]
    if found:
        raise ProgramError(found, accepted.sources)


def _relation(key: str, name: str, visible: Mapping[str, Relation]) -> Relation:
    if name not in visible:
        advice = did_you_mean(name, visible, f"the program has {', '.join(visible) or 'none'}")
        raise SettingError(f"{key}.relation", f"unknown relation {name}", advice)
    return visible[name]


def check_paths(pipeline: Settings) -> None:
    """Check that the state and the sinks have folders of their own, since they delete files."""
    paths = dict(_paths(pipeline))
    _check_state(paths)
    for sink in pipeline.sinks:
        if not (sink.own and sink.path):
            continue
        key = f"sink.{sink.name}.path"
        own = _real(pipeline.folder / sink.path)
        if own.is_file():
            raise SettingError(key, f"{sink.path} is a file", "a sink needs a folder of its own")
        for other, path in paths.items():
            if other != key and _overlap(own, path):
                twice = own == path and other.startswith("sink.")
                message = "two sinks share this path" if twice else f"overlaps with {other}"
                raise SettingError(key, message, "a sink needs a folder of its own")


def _check_state(paths: Mapping[str, Path]) -> None:
    state, advice = paths["state"], "the state needs a folder of its own"
    if state.is_file():
        raise SettingError("state", f"{state.name} is a file", advice)
    for other, path in paths.items():
        # The folder of facts may hold the state: only files that the program names are read.
        inside = state in (path, *path.parents)
        if other.startswith(("program", "facts", "source.")) and (
            inside or (other.startswith("source.") and path in state.parents)
        ):
            raise SettingError("state", f"overlaps with {other}", advice)


def _paths(pipeline: Settings) -> Iterator[tuple[str, Path]]:
    """The paths in use, by setting."""
    yield "program", _real(pipeline.program)
    yield "state", _real(pipeline.state)
    if pipeline.facts is not None:
        yield "facts", _real(pipeline.facts)
    for source in pipeline.sources:
        if source.path and ":/" not in source.path and not any(c in source.path for c in "*?[{"):
            yield f"source.{source.name}.path", _real(pipeline.folder / source.path)
    for sink in pipeline.sinks:
        if sink.own and sink.path:
            yield f"sink.{sink.name}.path", _real(pipeline.folder / sink.path)


def _overlap(own: Path, other: Path) -> bool:
    return own == other or own in other.parents or other in own.parents


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
