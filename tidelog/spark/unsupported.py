"""Programs that Spark does not support, refused before it starts."""

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
            f"error: no algorithm {name!r} on Spark\n    expected one of {', '.join(ON_SPARK)}"
        )


def check_program(types: Iterable[TypeDecl], checked: CheckedProgram, sources: Sources) -> None:
    """Refuse what only the local engine can do."""
    for declared in types:
        if declared.branches:
            found = Diagnostic(
                f"type {declared.name} has records or branches, which Spark does not support",
                declared.at,
                "use the local engine, or give relations one column per field",
            )
            raise ProgramError([found], sources)
    refuse_numbers(checked.rules)
    refuse_functors(checked.rules)
    refuse_thinned(checked.relations.values())
