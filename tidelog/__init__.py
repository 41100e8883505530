"""Datalog whose consequences stay correct while facts and rules change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.changes.policies.policy import Finished
    from tidelog.changes.stream import Stream
    from tidelog.control.limits import Limits
    from tidelog.explain.proof import Proof
    from tidelog.maintain.report import Report
    from tidelog.program.changes import Commit, FactChange, RuleChange
    from tidelog.program.diagnostics import (
        DataError,
        EvaluationError,
        LimitError,
        ProgramError,
        TidelogError,
    )
    from tidelog.program.functors import functor
    from tidelog.program.terms import Branch
    from tidelog.session.database import Database
    from tidelog.session.evaluation import Stats
    from tidelog.session.relation_views import Answer, Latest, RelationView, Snapshot
    from tidelog.transaction.delta import Delta
    from tidelog.transaction.transaction import Transaction

__version__ = "0.9.0"

__all__ = [
    "Answer",
    "Branch",
    "Commit",
    "DataError",
    "Database",
    "Delta",
    "EvaluationError",
    "FactChange",
    "Finished",
    "Latest",
    "LimitError",
    "Limits",
    "ProgramError",
    "Proof",
    "RelationView",
    "Report",
    "RuleChange",
    "Snapshot",
    "Stats",
    "Stream",
    "TidelogError",
    "Transaction",
    "functor",
]

# Imported on first use: the compiler behind the engine takes most of a second to load, and
# half of the commands do without it.
_HOMES = {
    "tidelog.session.database": ("Database",),
    "tidelog.session.evaluation": ("Stats",),
    "tidelog.transaction.delta": ("Delta",),
    "tidelog.control.limits": ("Limits",),
    "tidelog.explain.proof": ("Proof",),
    "tidelog.maintain.report": ("Report",),
    "tidelog.program.changes": ("Commit", "FactChange", "RuleChange"),
    "tidelog.program.diagnostics": (
        "DataError",
        "EvaluationError",
        "LimitError",
        "ProgramError",
        "TidelogError",
    ),
    "tidelog.program.functors": ("functor",),
    "tidelog.program.terms": ("Branch",),
    "tidelog.session.relation_views": ("Answer", "Latest", "RelationView", "Snapshot"),
    "tidelog.changes.policies.policy": ("Finished",),
    "tidelog.changes.stream": ("Stream",),
    "tidelog.transaction.transaction": ("Transaction",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
