"""Updates one after the other: changes go in, a delta comes out of each commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tidelog.program.changes import FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.progress import BETWEEN, Progress

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

    def record(self) -> dict[str, Any]:
        """What `--stats` writes of it."""
        report = self.report
        return {
            "commit": self.number,
            "changes": self.changes,
            "seconds": self.seconds,
            "instances": report.instances,
            "delta": {
                name: {"added": came, "removed": went}
                for name, (came, went) in self.delta.counts.items()
            },
            "numbers": dict(report.numbers),
            "strata": [
                {
                    "relations": work.relations,
                    "algorithm": work.algorithm,
                    "why": work.why,
                    "seconds": work.seconds,
                    "instances": work.instances,
                    "added": work.added,
                    "deleted": work.deleted,
                    "numbers": dict(work.numbers),
                }
                for work in report.works
            ],
        }


class Updates:
    """The update under way, and the number of those before it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.algorithm: str | None = None  # the database's own
        self.committed = 0
        self.pending = 0  # changes of the update under way
        self._line = Progress()
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
        with Progress() as self._line:
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


class Count(Progress):
    """One line that tells how many updates are done, for people who wait at a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._began = perf_counter()

    def tell(self, file: str, updates: int) -> None:
        seconds = perf_counter() - self._began
        if self.on and seconds >= self._next:
            self._next = seconds + BETWEEN
            self._write(f"{file}: {updates:,} updates"[:79])
            self._shown = True
