"""One update after the other: each is a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from tidelog.limits import Limits, Show
from tidelog.stream.policy import Arrived, Base, Finished, Look, finished
from tidelog.transactions import Transaction


def carry_out(transaction: Transaction, update: Arrived) -> float:
    """Make the update's changes and commit them; returns when its explicit facts were in. Ctrl-C
    that comes when they have taken effect is not for the transaction."""
    with transaction as tx:
        for change, sources in update.changes:
            tx.change(change, sources)
        tx._flush()
        effect = perf_counter()
        try:
            tx.commit()
        except KeyboardInterrupt:
            if not tx.committed:
                raise
    return effect


class Sequential:
    """The next update is begun when the one before it is done."""

    def __init__(
        self,
        database: Base,
        look: Look,
        algorithm: str | None = None,
        *,
        strict: bool | None = None,
        dry_run: bool = False,
        limits: Limits | None = None,
        progress: Show | None = None,
    ) -> None:
        self._database = database
        self._algorithm = algorithm
        self._strict = strict
        self._dry_run = dry_run
        self._limits = limits
        self._progress = progress
        self._update: Arrived | None = None

    @property
    def busy(self) -> bool:
        return self._update is not None

    def wants(self) -> bool:
        return self._update is None

    def take(self, update: Arrived) -> None:
        self._update = update

    def step(self) -> Sequence[Finished]:
        update = self._update
        if update is None:
            return ()
        began = perf_counter()
        transaction = self._database._transaction(
            algorithm=self._algorithm,
            strict=self._strict,
            dry_run=self._dry_run,
            limits=self._limits,
            progress=self._progress,
        )
        effect = carry_out(transaction, update)
        self._update = None
        delta, report = transaction.delta, transaction.report
        return [finished(update, delta, report, began=began, effect=effect)]

    def give_up(self) -> None:
        self._update = None  # a step that fails has rolled its transaction back
