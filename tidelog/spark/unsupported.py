"""Programs that Spark cannot keep, told before it starts."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.maintain.driver.algorithms import ON_SPARK
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.rules import CheckedProgram
from tidelog.program.syntax import TypeDecl
from tidelog.spark.expressions import refuse_functors, refuse_numbers, refuse_thinned


def check_algorithm(name: str) -> None:
    if name not in ON_SPARK:
        raise TidelogError(
            f"error: on Spark there is no algorithm {name!r}\n    there are {', '.join(ON_SPARK)}"
        )


def check_program(types: Iterable[TypeDecl], checked: CheckedProgram, sources: Sources) -> None:
    """Refuse what only the local engine can do."""
    for declared in types:
        if declared.branches:
            found = Diagnostic(
                f"type {declared.name} is of records or branches, which Spark does not take",
                declared.at,
                "leave out the engine, or give relations one column per field",
            )
            raise ProgramError([found], sources)
    refuse_numbers(checked.rules)
    refuse_functors(checked.rules)
    refuse_thinned(checked.relations.values())
