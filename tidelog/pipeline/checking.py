"""What can be wrong with a pipeline, found before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.pipeline.faults import SettingError
from tidelog.pipeline.settings import Source
from tidelog.plan.draft import did_you_mean
from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.functors import calls
from tidelog.program.rules import Relation
from tidelog.program.terms import TermKind
from tidelog.transactions import ends_early

if TYPE_CHECKING:
    from tidelog.accept import Accepted
    from tidelog.pipeline.pipeline import Pipeline


def check(pipeline: Pipeline, relations: Mapping[str, Relation]) -> None:
    """Mappings and sinks fit the program, and facts that are named are there."""
    shown = {name: relation for name, relation in relations.items() if not relation.hidden}
    for source in pipeline.sources:
        _check_maps(source, shown)
    for sink in pipeline.sinks:
        relation = _relation(f"sink.{sink.name}", sink.relation, shown)
        if sink.format != "changes":
            _refuse_records(f"sink.{sink.name}", relation, "a feed in the format changes has them")
        if sink.kind == "table":
            _refuse_nullary(f"sink.{sink.name}", relation)
    if pipeline.facts is not None and not pipeline.facts.is_dir():
        raise SettingError("facts", f"there is no folder {pipeline.facts}")


def _check_maps(source: Source, shown: Mapping[str, Relation]) -> None:
    key = f"source.{source.name}"
    for map_ in source.maps:
        relation = _relation(key, map_.relation, shown)
        _refuse_records(key, relation, "a source in the format changes has them")
        if map_.columns is not None and len(map_.columns) != relation.arity:
            names = f"{relation.name}({', '.join(relation.attributes)})"
            given = len(map_.columns)
            are = "column is" if given == 1 else "columns are"
            raise SettingError(
                f"{key}.columns", f"{given} {are} mapped to {names}, which has {relation.arity}"
            )


def _refuse_records(key: str, relation: Relation, advice: str) -> None:
    if any(isinstance(kind, TermKind) for kind in relation.kinds):
        told = f"{relation.name} has records or branches, and tables have not"
        raise SettingError(f"{key}.relation", told, advice)


def _refuse_nullary(key: str, relation: Relation) -> None:
    if not relation.arity:
        told = f"{relation.name} has no columns, so no table can hold it"
        raise SettingError(f"{key}.relation", told, 'a sink of the kind "changes" can')


def refuse_limits(accepted: Accepted) -> None:
    """What `.limitsize` leaves out depends on rounds, and changes have rounds of their own."""
    found = [
        Diagnostic(
            f"{ends_early([each.relation])} so nothing can keep it up to date",
            each.at,
            "remove the directive",
        )
        for each in accepted.checked.directives
        if each.action == "limitsize"
    ]
    if found:
        raise ProgramError(found, accepted.sources)


def refuse_functions(accepted: Accepted) -> None:
    """A pipeline's program cannot call what is not in its files."""
    found = [
        Diagnostic(
            "autoinc() numbers facts once, and in a pipeline they change"
            if call.functor == "autoinc"
            else f"functor {call.functor[1:]} has no function: a pipeline has none in Python",
            call.at,
            "let a source bring the results as a column",
        )
        for rule in accepted.checked.rules
        for call in calls(rule)
    ]
    if found:
        raise ProgramError(found, accepted.sources)


def _relation(key: str, name: str, shown: Mapping[str, Relation]) -> Relation:
    if name not in shown:
        advice = did_you_mean(name, shown, f"the program has {', '.join(shown) or 'none'}")
        raise SettingError(f"{key}.relation", f"there is no relation {name}", advice)
    return shown[name]


def check_paths(pipeline: Pipeline) -> None:
    """Folders that sinks write, and clean up, have nothing else in them; nor has the state's."""
    taken = dict(_taken(pipeline))
    _check_state(taken)
    for sink in pipeline.sinks:
        if not (sink.own and sink.path):
            continue
        key = f"sink.{sink.name}.path"
        mine = _real(pipeline.folder / sink.path)
        if mine.is_file():
            raise SettingError(key, f"{sink.path} is a file", "a sink writes a folder of its own")
        for other, what in taken.items():
            if other != key and _overlap(mine, what):
                twice = mine == what and other.startswith("sink.")
                message = "two sinks have this path" if twice else f"it overlaps with {other}"
                raise SettingError(key, message, "a sink writes a folder of its own")


def _check_state(taken: Mapping[str, Path]) -> None:
    state, advice = taken["state"], "the state has a folder of its own"
    if state.is_file():
        raise SettingError("state", f"{state.name} is a file", advice)
    for other, what in taken.items():
        # Of a folder of facts, only files that the program names are read.
        inside = state in (what, *what.parents)
        if other.startswith(("program", "facts", "source.")) and (
            inside or (other.startswith("source.") and what in state.parents)
        ):
            raise SettingError("state", f"it overlaps with {other}", advice)


def _taken(pipeline: Pipeline) -> Iterator[tuple[str, Path]]:
    """What has a place, by the setting that says so."""
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


def _overlap(mine: Path, other: Path) -> bool:
    return mine == other or mine in other.parents or other in mine.parents


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
