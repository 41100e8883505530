"""Datalog whose consequences stay correct while facts and rules change."""

from tidelog.api import Answer, Database, RelationView, Stats
from tidelog.limits import Limits
from tidelog.program.diagnostics import (
    DataError,
    EvaluationError,
    LimitError,
    ProgramError,
    TidelogError,
)

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "DataError",
    "Database",
    "EvaluationError",
    "LimitError",
    "Limits",
    "ProgramError",
    "RelationView",
    "Stats",
    "TidelogError",
]
