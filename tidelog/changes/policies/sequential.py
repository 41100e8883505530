"""Sequential: one update after the other, each in a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter

from tidelog.changes.apply import apply
from tidelog.changes.policies.policy import Arrived, Finished, Look, finished
from tidelog.transaction.core import Core, Options
from tidelog.transaction.transaction import Transaction


class Sequential:
    """Begins an update when the one before is finished."""

    def __init__(self, core: Core, look: Look, options: Options) -> None:
        self._begin = partial(Transaction, core, options)
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
        done = next(apply([update.make], self._begin))
        self._update = None
        return [finished(update, done.delta, done.report, began=began, effect=done.made)]

    def give_up(self) -> None:
        self._update = None  # a failed step has rolled back its transaction
