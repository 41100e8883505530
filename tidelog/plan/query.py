"""Queries: the body of a rule, compiled to rules that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidelog.plan import analyse
from tidelog.program.diagnostics import Diagnostic, ProgramError, TidelogError
from tidelog.program.formula_walk import own_variables
from tidelog.program.rules import (
    BodyLiteral,
    CheckedProgram,
    Group,
    Literal,
    Relation,
    Rule,
    Stratum,
)
from tidelog.program.syntax import NOWHERE, Atom, Clause, Formula, Program, Variable
from tidelog.text import parse

_HEAD = "query'"  # no program can spell it
_FILE = "<query>"
_ADVICE = "a query is the body of one rule, such as path(1, x), x > 2"
_DOT = re.compile(r"\.(?:\s|$)")  # at the end of a statement, not in a number or a name


@dataclass(frozen=True, slots=True)
class Question:
    """The variables in order of occurrence, and the rules that compute the answer."""

    columns: tuple[str, ...]
    relation: Relation
    strata: tuple[Stratum, ...]
    holds: bool  # whatever the facts are, as `true` does
    parts: tuple[Relation, ...] = ()  # hidden relations of the rules


def compile_question(text: object, typed: Program, number: int = 0) -> Question:
    """Rules for a query over the relations of this program; `number` tells several apart."""
    if not isinstance(text, str):
        raise TidelogError(f"error: expected a query as text, got {text!r}\n    {_ADVICE}")
    body = parse_query(text)
    first: dict[str, Variable] = {}
    for variable in own_variables(body):
        first.setdefault(variable.name, variable)
    columns = tuple(first)
    name = f"{_HEAD}{number}'{len(columns)}"
    head = Atom(name, tuple(first.values()))
    asked = Program(
        types=typed.types,
        relations=tuple(replace(d, inferred=False) for d in typed.relations),
        clauses=(Clause((head,), body),),
        functors=typed.functors,
        inlined=typed.inlined,
    )
    analysis = analyse(asked)
    if analysis.checked is None:
        raise _error(analysis.diagnostics, text)
    checked = analysis.checked
    relation = checked.relations[head.relation]
    parts = tuple(replace(r, name=_apart(r.name)) for r in checked.relations.values() if r.hidden)
    strata = _renamed(checked, text)
    return Question(columns, relation, strata, head.relation in checked.facts, parts)


def is_complete(text: str) -> bool:
    """Whether this is a whole query, or the beginning of one.

    >>> is_complete("path(1, x)"), is_complete("path(1, x),"), is_complete("path(1,")
    (True, False, False)
    """
    try:
        parse_query(text)
    except ProgramError:
        return False
    return True


def parse_query(text: str) -> Formula:
    """Parse a query; ProgramError if it is not one."""
    parsed = parse(f"query() :-\n{text}\n.", file=_FILE)
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    program = parsed.program
    alone = len(program.clauses) == 1 and program == Program(clauses=program.clauses)
    if not errors and not alone:
        errors = [Diagnostic("unexpected text after the query", None, _ADVICE)]
    if errors:
        raise _error(errors, text)
    return program.clauses[0].body


def _error(diagnostics: Iterable[Diagnostic], text: str) -> ProgramError:
    """Errors about the query's own lines, without the names of the rule compiled from it."""
    lines = text.splitlines() or [""]
    found = [_own(d, lines) for d in diagnostics if d.severity == "error"]
    return ProgramError(found, {_FILE: lines})


def _own(found: Diagnostic, lines: list[str]) -> Diagnostic:
    message = re.sub(rf"{_HEAD}[\d']+", "the query", found.message)
    message = message.replace("is in the head but in no", "is in no")
    if not any(_DOT.search(line) for line in lines):  # the `.` is that of the rule
        message = re.sub(r"(got|before) `\.`$", r"\1 the end of the query", message)
    advice = "" if _HEAD in found.advice else found.advice
    notes = tuple(re.sub(rf"(?<={_FILE}:)\d+", _one_less, note) for note in found.notes)
    at = found.at
    if at is not None and at.file == _FILE:
        line = at.line - 1
        if not 1 <= line <= len(lines):
            message = message.removesuffix(": `.` follows `:-`")  # which are not the query's own
            return replace(found, message=message, at=None, advice=_ADVICE, notes=notes)
        at = at._replace(line=line)
    return replace(found, message=message, at=at, advice=advice, notes=notes)


def _one_less(found: re.Match[str]) -> str:
    return str(int(found.group()) - 1)


def _apart(name: str) -> str:
    return f"%query{name}" if name.startswith("%") else name


def _renamed(checked: CheckedProgram, text: str) -> tuple[Stratum, ...]:
    """The rules of the query; the program has no hidden relations of the same names."""

    def moved(part: BodyLiteral) -> BodyLiteral:
        if isinstance(part, Literal | Group):
            return replace(part, relation=_apart(part.relation))
        return part

    def renamed(rule: Rule) -> Rule:
        head = replace(rule.head, relation=_apart(rule.head.relation))
        body = tuple(moved(part) for part in rule.body)
        return replace(rule, head=head, body=body, text=text, at=NOWHERE)

    return tuple(
        Stratum(tuple(map(_apart, s.relations)), tuple(map(renamed, s.nonrecursive)), ())
        for s in checked.strata
        if s.nonrecursive
    )
