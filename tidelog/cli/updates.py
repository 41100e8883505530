"""Updates that a person makes: changes go in, a delta comes out of each commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from tidelog.program.changes import FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.progress import Progress, Rounds

if TYPE_CHECKING:
    from tidelog.api import Database
    from tidelog.deltas import Delta
    from tidelog.limits import Position
    from tidelog.maintain.report import Report
    from tidelog.transactions import Transaction


@dataclass(frozen=True, slots=True)
class Done:
    """An update that was committed."""

    number: int
    changes: int
    seconds: float
    delta: Delta
    report: Report


class Updates:
    """The update under way, and the number of those before it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.algorithm: str | None = None  # the database's own
        self.committed = 0
        self.pending = 0  # changes of the update under way
        self._line = Rounds() if database._spark is not None else Progress()
        self._transaction: Transaction | None = None

    def relations(self) -> Mapping[str, Relation]:
        """The relations as the update under way leaves them."""
        if self._transaction is not None:
            return self._transaction._book.relations
        return self.database._state.book.relations

    def change(self, change: FactChange | RuleChange, sources: Sources) -> None:
        self._begun().change(change, sources)
        self.pending += 1

    def commit(self) -> Done:
        """End the update; if that fails it is as if it had not begun."""
        transaction, changes = self._begun(), self.pending
        began = perf_counter()
        self._transaction, self.pending = None, 0
        with type(self._line)() as self._line:
            delta = transaction.commit()
        self.committed += 1
        seconds = perf_counter() - began
        return Done(self.committed, changes, seconds, delta, transaction.report)

    def rollback(self) -> None:
        """Forget the update under way."""
        if self._transaction is not None:
            self._transaction.rollback()
        self._transaction = None
        self.pending = 0

    def _begun(self) -> Transaction:
        if self._transaction is None:
            self._transaction = self.database.transaction(
                algorithm=self.algorithm, progress=self._show if self._line.on else None
            )
        return self._transaction

    def _show(self, position: Position) -> None:
        self._line(position)
