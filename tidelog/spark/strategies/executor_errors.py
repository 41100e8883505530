"""Errors in an executor reach the user as they would in one process.

An executor does not raise: Spark would retry and print a traceback. It reports the error beside its
facts, and the driver raises it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.program.diagnostics import DataError, EvaluationError, LimitError, TidelogError

_KINDS: dict[str, type[TidelogError]] = {
    kind.__name__: kind for kind in (TidelogError, DataError, EvaluationError, LimitError)
}


@dataclass(frozen=True, slots=True)
class TaskFault:
    kind: str
    message: str

    @classmethod
    def of(cls, error: TidelogError) -> TaskFault:
        kind = type(error).__name__
        return cls(kind if kind in _KINDS else "TidelogError", str(error))

    def error(self) -> TidelogError:
        return _KINDS[self.kind](self.message)


@dataclass(slots=True)
class TaskReport:
    """What one task reports to the driver."""

    facts: dict[str, int] = field(default_factory=dict)  # new facts, by relation
    sent: int = 0  # facts for other parts
    instances: int = 0
    fault: TaskFault | None = None
