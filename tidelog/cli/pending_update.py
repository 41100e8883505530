"""The update that a prompt collects: its changes wait for `commit.` in an open transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.control.progress import Progress, RoundProgress
from tidelog.program.changes import FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from tidelog.changes.apply import Applied
    from tidelog.control.limits import Position
    from tidelog.session.database import Database
    from tidelog.transaction.transaction import Transaction


class PendingUpdate:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.algorithm: str | None = None  # the database's own
        self.changes: list[FactChange | RuleChange] = []
        self._line = RoundProgress() if database.core.backend.shows_rounds else Progress()
        self._transaction: Transaction | None = None

    def relations(self) -> Mapping[str, Relation]:
        """The relations as the changes leave them."""
        return (self._transaction or self.database).schema

    def change(self, change: FactChange | RuleChange, sources: Sources) -> None:
        self._begun().change(change, sources)
        self.changes.append(change)

    def commit(self) -> Applied:
        """Apply the changes; if that fails, undo all of them."""
        from tidelog.changes.apply import apply

        transaction = self._begun()
        self._transaction, self.changes = None, []
        with type(self._line)() as self._line:
            (done,) = apply([lambda tx: None], lambda: transaction)  # it has its changes
        return done

    def rollback(self) -> None:
        """Discard the changes."""
        if self._transaction is not None:
            self._transaction.rollback()
        self._transaction, self.changes = None, []

    def _begun(self) -> Transaction:
        if self._transaction is None:
            self._transaction = self.database.transaction(
                algorithm=self.algorithm, progress=self._show if self._line.on else None
            )
        return self._transaction

    def _show(self, position: Position) -> None:
        self._line(position)
