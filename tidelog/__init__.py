"""Datalog whose consequences stay correct while facts and rules change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Imported on first use: the compiler behind the engine takes most of a second to load, and
# half of the commands do without it.
_HOMES = {
    "tidelog.api": ("Answer", "Database", "RelationView", "Stats"),
    "tidelog.limits": ("Limits",),
    "tidelog.program.diagnostics": (
        "DataError",
        "EvaluationError",
        "LimitError",
        "ProgramError",
        "TidelogError",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
