"""A policy for tests of the processor: updates that arrive while one is worked on join it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from tidelog.changes.policies.policy import Arrived, Finished, Look, finished
from tidelog.maintain.report import Report
from tidelog.transaction.core import Core, Options
from tidelog.transaction.transaction import Transaction


class Together:
    """Updates settle `steps` steps after the first of them was taken, at most `most` at once.

    With `linger` it has work for so many steps more, in a transaction that stays open.
    """

    def __init__(
        self,
        core: Core,
        look: Look,
        options: Options,
        *,
        steps: int = 3,
        most: int = 4,
        linger: int = 0,
        log: list[str] | None = None,
    ) -> None:
        self._core = core
        self._look = look
        self._options = options
        self._steps, self._most = steps, most
        self._log = log if log is not None else []
        self._updates: list[Arrived] = []
        self._transaction: Transaction | None = None
        self._left = 0
        self._linger, self._lingering = linger, 0
        self._began = 0.0

    @property
    def busy(self) -> bool:
        return bool(self._updates) or self._transaction is not None

    def wants(self) -> bool:
        return len(self._updates) < self._most

    def take(self, update: Arrived) -> None:
        if not self._updates:
            self._tidy()
            self._left, self._began = self._steps, perf_counter()
        self._updates.append(update)
        self._log.append(f"take {update.number}")

    def step(self) -> Sequence[Finished]:
        self._log.append("step")
        if self.wants() and (update := self._look()) is not None:
            self.take(update)
        if not self._updates:
            self._lingering -= 1
            if not self._lingering:
                self._tidy()
            return ()
        self._left -= 1
        if self._left:
            return ()
        tx = self._transaction = Transaction(self._core, self._options)
        for update in self._updates:
            for change, sources in update.changes:
                tx.change(change, sources)
        effect = perf_counter()
        try:
            tx.commit()
        except KeyboardInterrupt:
            if not tx.committed:
                raise
        self._transaction = Transaction(self._core, self._options) if self._linger else None
        self._lingering = self._linger
        updates, self._updates = self._updates, []
        return [
            finished(
                update,
                tx.delta if update is updates[-1] else tx.delta.unchanged(),
                tx.report if update is updates[-1] else Report(),
                began=self._began,
                effect=effect,
                together=len(updates),
            )
            for update in updates
        ]

    def _tidy(self) -> None:
        if self._transaction is not None and self._core.state.open:
            self._transaction.rollback()
        self._transaction = None

    def give_up(self) -> None:
        self._log.append("give up")
        self._tidy()
        self._updates = []
