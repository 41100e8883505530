"""The program and the facts that a database is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidelog.engine import Store
from tidelog.formats.directives import inputs
from tidelog.formats.frames import kinds_of, rereadable, to_table
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import DataError, TidelogError, during
from tidelog.program.rules import Relation
from tidelog.program.syntax import Attribute, Program, RelationDecl
from tidelog.text import Parsed, parse, parse_file
from tidelog.transaction.backend import Backend

_NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*(?:\.[A-Za-z_?][A-Za-z0-9_?]*)*")


def facts_by_relation(
    facts: Mapping[str, Any] | str | Path | None, max_facts: int | None
) -> dict[str, Any]:
    """Facts by relation, in a form that can be read twice."""
    if facts is None or isinstance(facts, str | Path):
        return {}
    if not isinstance(facts, Mapping):
        raise TidelogError(
            f"error: expected facts as a mapping by relation or a folder, got {facts!r}"
        )
    for name in facts:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TidelogError(f"error: {name!r} cannot be the name of a relation")
    given = {}
    for name, data in facts.items():
        with during(f"the facts of `{name}` were read"):
            given[name] = rereadable(name, data, max_facts)
    return given


def declare_given(program: Program, given: Mapping[str, Any]) -> Program:
    """Declare relations that come with facts and that the program does not declare."""
    declared = {decl.name for decl in program.relations}
    defined = {head.relation for clause in program.clauses for head in clause.heads}
    defined |= {fact.relation for fact in program.facts}
    made = []
    for name, data in given.items():
        if name in declared:
            continue
        kinds = kinds_of(name, data)
        if kinds is None and name not in defined:
            raise DataError(
                f"error: {name}: its facts do not show the types of its columns\n"
                f"    declare it in the program: .decl {name}(…)"
            )
        if kinds is not None:
            attributes = tuple(Attribute(f"x{i}", kind) for i, kind in enumerate(kinds))
            made.append(RelationDecl(name, attributes))
    return replace(program, relations=(*program.relations, *made)) if made else program


def tables_of_inputs(
    accepted: Accepted, backend: Backend, folder: str | Path, paths: bool, max_facts: int | None
) -> Iterator[tuple[str, Any]]:
    """What `.input` directives read from the folder."""
    own, sources = backend.own_formats, accepted.sources
    asked = inputs(accepted.checked, folder, allow_paths=paths, sources=sources, spark=own)
    yield from backend.read_inputs(asked, sources=sources, max_facts=max_facts)


def tables_of_facts(
    given: Mapping[str, Any], store: Store, named: Callable[[str], Relation]
) -> Iterator[tuple[str, Any]]:
    """The facts by relation as tables, or as they are where the store reads them."""
    for name, data in given.items():
        relation = named(name)
        if store.reads(data):
            yield name, data
        else:
            with during(f"the facts of `{name}` were read"):
                table = to_table(relation, data)
            yield name, table


def parse_program(
    program: str | Path,
    allow_paths: bool,
    include: Sequence[str | Path],
    macros: Mapping[str, object] | None,
) -> Parsed:
    if not isinstance(program, str | Path):
        raise TidelogError(f"error: expected a program as a path or text, got {program!r}")
    for name in macros or ():
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
            raise TidelogError(f"error: expected the name of a macro, such as LIMIT, got {name!r}")
    if isinstance(program, Path) or (program.endswith(".dl") and "\n" not in program):
        path = Path(program)
        return parse_file(path, allow_paths=allow_paths, include=include, macros=macros)
    return parse(program, allow_paths=allow_paths, include=include, macros=macros)
