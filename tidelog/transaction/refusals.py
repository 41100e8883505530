"""Why a transaction, or a source of changes, refuses something."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import DataError, Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.suggestions import did_you_mean
from tidelog.text.change_notation import change_text


def no_relation(name: object, known: Collection[str]) -> DataError:
    if not isinstance(name, str):
        return DataError(f"error: expected a relation name, got {name!r}")
    advice = did_you_mean(name, known, f"the program has {', '.join(known) or 'none'}")
    return DataError(f"error: unknown relation {name}\n    {advice}")


def ends_early(limits: Iterable[str]) -> str:
    return f"`.limitsize` ends the evaluation of {', '.join(limits)} early,"


def no_row(row: object) -> DataError:
    return DataError(f"error: expected a fact's row as a tuple, got {row!r}")


def strict_error(change: FactChange, why: str, sources: Sources | None) -> TidelogError:
    message = f"{why}: {change_text(change)}"
    advice = "without strict mode such a change does nothing"
    if change.at.line:
        return ProgramError([Diagnostic(message, change.at, advice)], sources)
    return DataError(f"error: {message}\n    {advice}")
