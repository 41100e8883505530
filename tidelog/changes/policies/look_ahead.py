"""Marking: an update is applied with a look at those that wait behind it.

Explicit facts that it inserts and that one of the next few updates deletes are marked, with all
that follows from them alone, and leave without a rule being applied (`maintain.driver.marking`).
If no update is waiting, or marks cannot save anything, an update is applied as by `sequential`.
Updates are committed one after the other, with the same deltas.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from tidelog.changes.apply import apply
from tidelog.changes.policies.policy import Arrived, Finished, Look, Sequential, finished
from tidelog.maintain.driver.auto import SMALL
from tidelog.maintain.driver.marking import Marked, Marks, can_mark, reach
from tidelog.program.diagnostics import TidelogError
from tidelog.program.table import Table
from tidelog.transaction.core import Core, Options
from tidelog.transaction.transaction import Row, Transaction

ALGORITHMS = ("auto", "dred", "bf", "aged")
AHEAD = 2  # updates that are looked at (docs/decisions/016-marking.md)
WORTH = 20_000  # instances of deletions that take as long as a pass with marked facts

Facts = dict[str, set[Row]]  # by relation


@dataclass(slots=True)
class Waiting:
    """An update that has arrived and is not applied yet, and the facts that it changes."""

    update: Arrived
    inserted: Facts = field(default_factory=dict)
    deleted: Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rows in self.update.last_changes().items():
            for op, facts in (("+", self.inserted), ("-", self.deleted)):
                if mine := {row for row, last in rows.items() if last == op}:
                    facts[name] = mine


@dataclass(slots=True)
class Before:
    """What the last update has marked."""

    marked: Marked | None = None
    rows: Facts = field(default_factory=dict)  # the explicit ones
    commits: int = 0  # of the database, when they were marked


class LookAhead:
    def __init__(self, core: Core, look: Look, options: Options, ahead: int = AHEAD) -> None:
        self._algorithm = options.algorithm
        if self._algorithm not in ALGORITHMS:
            raise TidelogError(
                f"error: the policy marking does not support the algorithm {self._algorithm}\n"
                f"    it supports {', '.join(ALGORITHMS)}"
            )
        self._core = core
        self._look = look
        self._options = options
        self._ahead = ahead
        self._waiting: deque[Waiting] = deque()
        self._before = Before()
        self._work = 0  # instances considered for the last update that deleted facts
        self._alone = Sequential(core, look, options)

    @property
    def busy(self) -> bool:
        return bool(self._waiting) or self._alone.busy

    def wants(self) -> bool:
        return not self.busy

    def take(self, update: Arrived) -> None:
        if update.changes_rules:
            self._before = Before()  # the strata may change
            self._alone.take(update)
        else:
            self._waiting.append(Waiting(update))

    def step(self) -> Sequence[Finished]:
        if self._alone.busy:
            return self._alone.step()
        if not self._waiting:
            return ()
        began = perf_counter()
        while len(self._waiting) <= self._ahead and (found := self._look()) is not None:
            self._waiting.append(Waiting(found))
        if self._before.commits != self._core.state.commits:
            self._before = Before()  # facts have changed between two updates of the stream
        rows = self._to_mark()
        marks = Marks(self._before.marked, self._tables(rows))
        tx = Transaction(self._core, self._options, marks)
        done = next(apply([self._waiting[0].update.make], lambda: tx))
        self._before = Before(marks.marked, rows, self._core.state.commits)
        if self._waiting[0].deleted:
            self._work = done.report.instances
        update = self._waiting.popleft().update
        return [finished(update, done.delta, done.report, began=began, effect=done.made)]

    def _to_mark(self) -> Facts:
        """Facts that are inserted now, or were marked before, and that a waiting update deletes;
        none where that would not pay."""
        now, *later = self._waiting
        found: Facts = {}
        nothing: set[Row] = set()
        for coming in later:
            for name, rows in coming.deleted.items():
                kept = self._before.rows.get(name, nothing) - now.deleted.get(name, nothing)
                if mine := rows & (now.inserted.get(name, nothing) | kept):
                    found[name] = found.get(name, nothing) | mine
        if not found or (self._algorithm == "auto" and not self._pays(found, later[0])):
            return {}
        book, memory = self._core.state.book, self._core.state.memory
        least = SMALL if self._algorithm == "auto" else 0
        reached = reach(found, book.strata, book.stratum_of, book.readers)
        return found if can_mark(self._core.store, memory, reached, least) else {}

    def _pays(self, found: Facts, coming: Waiting) -> bool:
        """Do the marks save the next update all deletions, or enough of their work, by what
        deletions took last?"""
        dying = _size(coming.deleted)
        marked = sum(len(rows & found.get(name, set())) for name, rows in coming.deleted.items())
        return 0 < dying <= marked or marked * self._work > WORTH * dying

    def _tables(self, rows: Facts) -> Mapping[str, Table]:
        relations = self._core.state.book.relations
        return {
            name: Table.from_rows(relations[name].kinds, list(some)) for name, some in rows.items()
        }

    def give_up(self) -> None:
        self._waiting.clear()
        self._before = Before()
        self._alone.give_up()


def _size(facts: Facts) -> int:
    return sum(map(len, facts.values()))
