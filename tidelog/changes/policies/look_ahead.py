"""Marking: an update is applied with a look at the next one.

Facts that the next update will delete are marked, and their consequences with them, so that the
next update finds them without applying rules (`maintain.driver.marking`). The policy looks for the
next update once in every round, and continues without it until it arrives. Updates are committed
one after the other, with the same deltas as `sequential`.

`dred` and `bf` always mark. `auto` marks where that is cheaper: marks cost a join in every stratum,
and save the next update's joins some facts, which seldom pays in an engine that joins sets. It
tries both, with updates of about the same size, and keeps to the faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, thread_time

from tidelog.changes.apply import apply
from tidelog.changes.policies.policy import Arrived, Finished, Look, Sequential, finished
from tidelog.engine import FactSet
from tidelog.maintain.driver.marking import Marks, Next
from tidelog.program.changes import Op
from tidelog.program.diagnostics import TidelogError
from tidelog.program.table import Table
from tidelog.transaction.core import Core, Options
from tidelog.transaction.transaction import Transaction

ALGORITHMS = ("auto", "dred", "bf")
TRIALS = 2  # updates of each size that are tried with marks, and without
CLEARLY = 0.9  # mark if a change takes less than this part of its time without marks
AGAIN = 50  # updates after which the slower choice is tried again


class Marker:
    """Marks, during an update, what the next one will change."""

    def __init__(self, core: Core, look: Look, last: Marks | None, implicit: bool) -> None:
        self.next: Arrived | None = None  # the next update, if it has arrived
        self._core = core
        self._looking = look
        if last is not None:
            last.last = None  # older marks are not needed
        self.marks = Marks(last=last, implicit=implicit)

    def mark(self, X: FactSet) -> Marks:
        """The marks, for an update that changes the explicit facts X."""
        self.marks.look = lambda: self._look(X)
        return self.marks

    def _look(self, X: FactSet) -> Next | None:
        found = self._looking()
        if found is None:
            return None
        self.next = found
        engine, book = self._core.store, self._core.state.book
        deleted, added = engine.none(), engine.none()
        wanted: list[tuple[Op, FactSet]] = [("-", deleted)]
        if self.marks.implicit:  # others have no positive marks
            wanted.append(("+", added))
        for name, rows in found.last_changes().items():
            kinds = book.relations[name].kinds
            for op, marked in wanted:
                mine = [row for row, last in rows.items() if last == op]
                if mine:
                    facts, E = engine.find(name, Table.from_rows(kinds, mine)), engine.explicit
                    marked |= facts & E if op == "-" else facts - E
        if added:
            added -= engine.collect(added - X)  # only what this update deletes
        return deleted, added


@dataclass(slots=True)
class MarkingCosts:
    """Seconds for a change, of updates of one size, with marks and without."""

    seconds: dict[bool, float] = field(default_factory=dict)
    tried: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def choice(self) -> bool:
        """Mark now?"""
        for marked in (False, True):
            if self.tried[marked] < TRIALS:
                return marked
        best = self.seconds[True] < CLEARLY * self.seconds[False]
        return best if sum(self.tried.values()) % AGAIN else not best

    def took(self, marked: bool, seconds: float) -> None:
        self.tried[marked] += 1
        if self.tried[marked] == 1:
            return  # the first update also makes plans
        known = self.seconds.get(marked)
        self.seconds[marked] = seconds if known is None else known + 0.2 * (seconds - known)

    def why(self, marked: bool) -> str:
        on, off = self.seconds.get(True), self.seconds.get(False)
        if not on or not off or min(self.tried.values()) < TRIALS:
            return "with marks, as a trial" if marked else "no marks, as a trial"
        if marked:
            return f"marks: without them a change takes {off / on:.2f} times as long"
        return f"no marks: with them a change takes {on / off:.2f} times as long"


class LookAhead:
    def __init__(self, core: Core, look: Look, options: Options) -> None:
        self._algorithm = options.algorithm
        if self._algorithm not in ALGORITHMS:
            raise TidelogError(
                f"error: the policy marking does not support the algorithm {self._algorithm}\n"
                f"    it supports {', '.join(ALGORITHMS)}"
            )
        self._core = core
        self._look = look
        self._options = options
        self._update: Arrived | None = None
        self._last: Marks | None = None
        self._costs: dict[int, MarkingCosts] = {}
        self._alone = Sequential(core, look, options)

    @property
    def busy(self) -> bool:
        return self._update is not None or self._alone.busy

    def wants(self) -> bool:
        return not self.busy

    def take(self, update: Arrived) -> None:
        if update.changes_rules:
            self._last = None  # the strata may change
            self._alone.take(update)
        else:
            self._update = update

    def step(self) -> Sequence[Finished]:
        if self._alone.busy:
            return self._alone.step()
        update = self._update
        if update is None:
            return ()
        began, spent = perf_counter(), thread_time()  # other threads' work is not counted
        costs = self._costs.setdefault(len(update.changes).bit_length(), MarkingCosts())
        marking = self._algorithm != "auto" or costs.choice()
        algorithm = "dred" if marking and self._algorithm == "auto" else self._algorithm
        options = replace(self._options, algorithm=algorithm)
        marker = Marker(self._core, self._look, self._last, algorithm == "dred")
        tx = Transaction(self._core, options, marker.mark if marking else None)
        done = next(apply([update.make], lambda: tx))
        self._update, self._last = marker.next, marker.marks if marking else None
        if self._algorithm == "auto":
            why = costs.why(marking)
            costs.took(marking, (thread_time() - spent) / max(1, len(update.changes)))
            for work in done.report.works:
                work.why = "; ".join(filter(None, (work.why, why)))
        return [finished(update, done.delta, done.report, began=began, effect=done.made)]

    def give_up(self) -> None:
        self._update = self._last = None
        self._alone.give_up()
