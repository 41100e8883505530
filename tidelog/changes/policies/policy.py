"""Policies: how updates are applied as they arrive. This is the interface between the stream, which
knows sources, order and readers, and the policies, which do the work. `Sequential` is the simplest.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Protocol

from tidelog.changes import NAMES
from tidelog.changes.apply import apply, make
from tidelog.maintain.report import Report
from tidelog.program.changes import FactChange, Op, RuleChange
from tidelog.program.diagnostics import Sources, TidelogError
from tidelog.program.suggestions import suggestion
from tidelog.transaction.core import Core, Options
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Row, Transaction

Changes = dict[str, dict[Row, Op]]  # by relation: facts, and whether they are inserted or deleted


@dataclass(frozen=True, slots=True)
class Arrived:
    """An update that has arrived as a whole.

    Its facts belong to visible relations and fit their columns. Each change has the lines of text
    that messages about it show.
    """

    number: int  # from 1 on
    changes: Sequence[tuple[FactChange | RuleChange, Sources]]
    at: float  # when its commit was read, by `perf_counter`
    changes_rules: bool = False
    name: str = ""  # of what it was read from
    seconds: float = 0.0  # that reading took, without waiting

    @property
    def text(self) -> str:
        """What was done when a limit stopped its being read."""
        return f"update {self.number:,} was read from {self.name}"

    def make(self, transaction: Transaction) -> None:
        """Make its changes, and set its explicit facts."""
        transaction.reading_seconds = self.seconds
        make(transaction, self.changes, self.text)
        with transaction.reading(self.text):
            transaction.flush()

    def last_changes(self) -> Changes:
        """Its changes of facts; the last of several changes of a fact counts."""
        found: Changes = {}
        for change, _ in self.changes:
            if isinstance(change, FactChange):
                found.setdefault(change.relation, {})[change.row] = change.op
        return found


@dataclass(frozen=True, slots=True)
class Finished:
    """An update that has taken effect.

    If updates overlapped, `together` is how many of them settled at once. The last of them has
    the delta of all; the others have an empty one.
    """

    number: int
    changes: int
    delta: Delta
    report: Report
    seconds: float  # of work
    waited: float  # from arrival until work began
    latency: float  # from arrival until it had taken effect
    first_effect: float  # from arrival until its explicit facts were set
    together: int = 1


Look = Callable[[], Arrived | None]


class Policy(Protocol):
    """Applies updates. The stream never calls it from two threads at once.

    It receives updates in order, numbered without gaps. One that changes rules is passed only
    while nothing is under way; until it is finished, no other is passed, nor found by looking.

    After an error in `step`, the stream calls `give_up` to undo what is under way, and applies the
    same updates one by one to find the one at fault. An error in `take` leaves the policy as it
    was. Ctrl-C is held back during both (`Interrupts`); a policy that works long checks for it
    through a `Watch` or `Interrupts().check()`, in a block of its own. If it comes when an update
    is finished, `step` returns the update.
    """

    @property
    def busy(self) -> bool:
        """Is there work: unfinished updates, or cleaning up after them?"""

    def wants(self) -> bool:
        """May `take` be called now?"""

    def take(self, update: Arrived) -> None:
        """Begin this update."""

    def step(self) -> Sequence[Finished]:
        """Do one step of work; returns the updates that it finished, in order.

        During a step a policy may `look` for the next update: it then owns the update that it
        gets, if one is available.
        """

    def give_up(self) -> None:
        """Undo unfinished updates, after an error or Ctrl-C, or when the stream is closed."""


Make = Callable[[Core, Look, Options], Policy]


def _of(module: str, name: str) -> Make:
    def make(core: Core, look: Look, options: Options) -> Policy:
        made: Policy = getattr(importlib.import_module(module), name)(core, look, options)
        return made

    return make


_HOMES = (
    (__name__, "Sequential"),
    ("tidelog.changes.policies.look_ahead", "LookAhead"),
    ("tidelog.changes.policies.fully_dynamic", "FullyDynamic"),
)
POLICIES: Mapping[str, Make] = {name: _of(*home) for name, home in zip(NAMES, _HOMES, strict=True)}


def check_policy(name: str) -> None:
    if name not in POLICIES:
        advice = suggestion(str(name), POLICIES)
        raise TidelogError(f"error: unknown policy {name!r}\n    {advice}")


def finished(
    update: Arrived,
    delta: Delta,
    report: Report,
    *,
    began: float,
    effect: float,
    together: int = 1,
    seconds: float | None = None,
) -> Finished:
    """The record of an update that has just finished; times are those of `perf_counter`.

    Without `seconds`, all time since `began` counts as work.
    """
    now = perf_counter()
    return Finished(
        number=update.number,
        changes=len(update.changes),
        delta=delta,
        report=report,
        seconds=now - began if seconds is None else seconds,
        waited=began - update.at,
        latency=now - update.at,
        first_effect=effect - update.at,
        together=together,
    )


class Sequential:
    """Begins an update when the previous one has finished."""

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
