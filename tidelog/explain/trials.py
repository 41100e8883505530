"""Changes that are tried, and rolled back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.program.changes import FactChange, RuleChange
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.transaction.core import Core
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

Made = FactChange | RuleChange


def makes(core: Core, changes: Iterable[Made], change: FactChange) -> bool | None:
    """Do the changes make this one? None if their evaluation goes wrong."""
    try:
        delta = tried(core, changes)
    except LimitError:
        raise
    except EvaluationError:
        return None
    rows = delta.added if change.op == "+" else delta.removed
    return change.row in rows(change.relation)


def tried(core: Core, changes: Iterable[Made]) -> Delta:
    """What changes would change, of all relations."""
    tx = Transaction(core, replace(core.options, dry_run=True, strict=False, everything=True))
    with tx:
        for change in changes:
            tx.change(change)
    return tx.delta
