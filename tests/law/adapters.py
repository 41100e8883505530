"""How the law's tests reach the parts they hold against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tidelog.oracle import evaluate
from tidelog.plan import analyse
from tidelog.program.diagnostics import ProgramError
from tidelog.program.syntax import Program, Value
from tidelog.text import parse

Row = tuple[Value, ...]
Facts = Mapping[str, Sequence[Row]]


@lru_cache(maxsize=64)
def surface(text: str) -> Program:
    """The program as written; ProgramError if it cannot be parsed."""
    parsed = parse(text)
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    if errors:
        raise ProgramError(errors, parsed.sources)
    return parsed.program


@lru_cache(maxsize=64)
def typed(text: str) -> Program:
    """The program with types; ProgramError if it has faults."""
    analysis = analyse(surface(text))
    errors = [d for d in analysis.diagnostics if d.severity == "error"]
    if errors or analysis.typed is None or analysis.checked is None:
        raise ProgramError(errors, {"<program>": text.splitlines()})
    return analysis.typed


def oracle(text: str, facts: Facts, max_facts: int | None = None) -> dict[str, set[Row]]:
    """Every relation of the program by naive evaluation."""
    return evaluate.evaluate(typed(text), facts, max_facts)


def materialise(
    text: str, facts: Facts, functors: Mapping[str, Callable[..., Any]] | None = None
) -> dict[str, set[Row]]:
    """Every relation of the program by the engine."""
    from tidelog import Database  # here, so that the oracle's tests need no engine

    database = Database(text, facts=facts, functors=functors)
    unfolded = {clause.heads[0].relation for clause in typed(text).inlined}
    names = [name for name in evaluate.column_kinds(typed(text)) if name not in unfolded]
    return {name: set(database.relation(name)) for name in names}
