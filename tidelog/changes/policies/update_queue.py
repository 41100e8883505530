"""The update queue: updates that wait to join, and their changes, some at a time.

The newest join first, so that a small update does not wait for a large one. The result is as if
they joined in order: the last of several changes of a fact counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.changes.policies.policy import Arrived, Changes
from tidelog.program.changes import Op
from tidelog.transaction.transaction import Row

PORTION = 1024  # about how many facts join at a time


@dataclass(slots=True)
class StartedUpdate:
    """An update under way."""

    update: Arrived
    began: float
    effect: float = 0.0  # when all its explicit facts were set


@dataclass(slots=True)
class JoiningUpdates:
    """Updates that join together."""

    changes: Changes
    size: int
    updates: list[StartedUpdate]


class UpdateQueue:
    """
    >>> def take(number, **changes):
    ...     queue.add(StartedUpdate(Arrived(number, (), 0.0), 0.0), {"p": changes})
    >>> def numbers(updates):
    ...     return [taken.update.number for taken in updates]
    >>> queue = UpdateQueue(portion=2)
    >>> take(1, a="+", b="+", c="+")
    >>> take(2, a="-")
    >>> changes, done = queue.some()
    >>> changes, numbers(done)
    ({'p': {'a': '-'}}, [2])
    >>> changes, done = queue.some()  # without what the second has changed
    >>> changes, numbers(done), bool(queue)
    ({'p': {'c': '+', 'b': '+'}}, [], True)
    >>> changes, done = queue.some()
    >>> changes, numbers(done), bool(queue)
    ({}, [1], False)
    """

    def __init__(self, portion: int = PORTION) -> None:
        self._portion = portion
        self._batches: list[JoiningUpdates] = []
        self._joined: dict[str, set[Row]] = {}  # changed by newer updates while older wait

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, taken: StartedUpdate, changes: Changes) -> None:
        for name, rows in changes.items():
            if name in self._joined:
                self._joined[name].difference_update(rows)
        size = sum(map(len, changes.values()))
        if not self._batches or self._batches[-1].size + size > self._portion:
            self._batches.append(JoiningUpdates(changes, size, [taken]))
            return
        last = self._batches[-1]
        for name, rows in changes.items():
            last.changes.setdefault(name, {}).update(rows)
        last.size += size
        last.updates.append(taken)

    def some(self) -> tuple[Changes, list[StartedUpdate]]:
        """The next changes to join, and the updates that are complete with them."""
        batch = self._batches[-1]
        found: Changes = {}
        room = self._portion
        while room and batch.changes:
            name, rows = batch.changes.popitem()
            newer = self._joined.get(name, ())
            mine: dict[Row, Op] = {}
            while room and rows:
                row, op = rows.popitem()
                if row not in newer:
                    mine[row] = op
                    room -= 1
            if rows:
                batch.changes[name] = rows
            if mine:
                found[name] = mine
        if len(self._batches) > 1:
            for name, mine in found.items():
                self._joined.setdefault(name, set()).update(mine)
        if batch.changes:
            return found, []
        self._batches.pop()
        if not self._batches:
            self._joined.clear()
        return found, batch.updates
