"""Policies: how updates that arrive are worked off. This is the seam between the processor,
which knows sources, order and readers, and the policies, which know the work.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from tidelog.deltas import Delta
from tidelog.engines.local.engine import LocalEngine
from tidelog.limits import Limits, Show
from tidelog.maintain.report import Report
from tidelog.plan.draft import did_you_mean
from tidelog.program.changes import FactChange, Op, RuleChange
from tidelog.program.diagnostics import Sources, TidelogError
from tidelog.stream import NAMES
from tidelog.transactions import Row, State, Transaction

Changes = dict[str, dict[Row, Op]]  # facts by relation, and whether they come or go


@dataclass(frozen=True, slots=True)
class Arrived:
    """An update that is there, whole.

    Its facts are of relations that exist, visible ones, and fit their columns. Each change
    comes with the lines that messages about it show.
    """

    number: int  # from 1 on
    changes: Sequence[tuple[FactChange | RuleChange, Sources]]
    at: float  # when its commit was read, by `perf_counter`
    changes_rules: bool = False

    def last_changes(self) -> Changes:
        """What becomes of its facts: of several changes of one the last counts."""
        found: Changes = {}
        for change, _ in self.changes:
            if isinstance(change, FactChange):
                found.setdefault(change.relation, {})[change.row] = change.op
        return found


@dataclass(frozen=True, slots=True)
class Finished:
    """An update that has taken effect.

    Where updates overlapped, `together` is how many settled in one go, each of them says so,
    and the delta of the whole go is that of its last update; those before it have an empty one.
    """

    number: int
    changes: int
    delta: Delta
    report: Report
    seconds: float  # of work
    waited: float  # from its arrival until work on it began
    latency: float  # from its arrival until it had taken effect
    first_effect: float  # from its arrival until its explicit facts were in
    together: int = 1


class Base(Protocol):
    """What a policy may use of a database; `Database` has it."""

    @property
    def _engine(self) -> LocalEngine: ...

    _state: State
    _limits: Limits
    _algorithm: str

    def _transaction(
        self,
        *,
        algorithm: str | None = None,
        strict: bool | None = None,
        dry_run: bool = False,
        limits: Limits | None = None,
        progress: Show | None = None,
    ) -> Transaction:
        """A transaction, also while a stream is under way."""


Look = Callable[[], Arrived | None]


class Policy(Protocol):
    """Works updates off. The processor calls nothing here from two threads at once.

    It gives updates in order, numbered without gaps. One that changes rules is given only
    while nothing is under way, and nothing is given, or seen by looking, until it is finished.

    An error in `step` leaves it to `give_up` to undo what is under way; the processor then
    takes the same updates one by one, to find which of them is at fault. An error in `take`
    leaves the policy as it was. Ctrl-C is held back during both (`Interrupts`); a policy that
    works long looks at it through a `Watch` or with `Interrupts().check()`, in a block of its
    own. Where it comes when an update is finished already, `step` returns the update.
    """

    @property
    def busy(self) -> bool:
        """Is there work: updates that are not finished, or what they left behind?"""

    def wants(self) -> bool:
        """May another update be given now?"""

    def take(self, update: Arrived) -> None:
        """Work on this one, too."""

    def step(self) -> Sequence[Finished]:
        """One step of work; the updates that it finished, in order.

        In the midst of a step a policy may `look`: it gets the next update, if one is there
        and may be had now, and has then taken it.
        """

    def give_up(self) -> None:
        """Undo whatever is not finished: an error, Ctrl-C, or the stream was closed."""


Make = Callable[..., Policy]  # (database, look, algorithm, limits=…, progress=…, …)


def _of(module: str, name: str) -> Make:
    def make(database: Base, look: Look, algorithm: str | None = None, **options: Any) -> Policy:
        home = importlib.import_module(module)
        made: Policy = getattr(home, name)(database, look, algorithm, **options)
        return made

    return make


_HOMES = (
    ("tidelog.stream.sequential", "Sequential"),
    ("tidelog.stream.marking", "Marking"),
    ("tidelog.stream.dynamic", "FullyDynamic"),
)
POLICIES: Mapping[str, Make] = {name: _of(*home) for name, home in zip(NAMES, _HOMES, strict=True)}


def check_policy(name: str) -> None:
    if name not in POLICIES:
        advice = did_you_mean(str(name), POLICIES, f"there are {', '.join(POLICIES)}")
        raise TidelogError(f"error: there is no policy {name!r}\n    {advice}")


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
    """The record of an update that is done now; times are those of `perf_counter`.

    Unless `seconds` are given, all time since `began` was work on it.
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
