"""How a database derives its materialisation: at once, or when it is first read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tidelog.control.limits import Interrupts, LimitWatch, Show
from tidelog.engine import Measure, Store
from tidelog.explain.why_changed import Cause, why_changed
from tidelog.program.changes import FactChange
from tidelog.transaction.backend import Backend
from tidelog.transaction.core import Options
from tidelog.transaction.delta import Origin
from tidelog.transaction.state import State

if TYPE_CHECKING:
    from tidelog.report.profile import RuleRound


@dataclass(slots=True)
class Stats:
    """What an evaluation did and took."""

    load_seconds: float = 0.0
    evaluate_seconds: float = 0.0
    instances: int = 0
    rounds: int = 0
    facts: int = 0
    profile: list[RuleRound] = field(default_factory=list)


@dataclass(slots=True)
class Evaluation:
    """The first evaluation of a database; for other layers, its `Core`."""

    loaded: Backend  # has the facts, and all that follows from them unless it is pending
    state: State
    options: Options
    profile: bool = False
    progress: Show | None = None
    pending: bool = False  # nothing has been derived yet: the database is lazy
    stats: Stats = field(default_factory=Stats)

    @property
    def backend(self) -> Backend:
        """The backend with the materialisation, which is derived now if it is pending."""
        if self.pending:
            with self.state.lock:
                if self.pending:
                    self._try()
        return self.loaded

    @property
    def store(self) -> Store:
        return self.backend.store

    @property
    def explain(self) -> Callable[[Origin, FactChange], Cause] | None:
        """What explains a change of a commit; None if the engine cannot."""
        return None if self.loaded.store.scratch is None else partial(why_changed, self)

    def _try(self) -> None:
        """Derive what is pending; an error leaves the database as it was."""
        store = self.loaded.store
        try:
            with nullcontext() if store.scratch is None else store.scratch.scope():
                self.run()
            self.pending = False
        except BaseException:
            strata = [stratum for stratum in self.state.book.strata if not stratum.given]
            store.take([name for stratum in strata for name in stratum.relations])
            raise

    def run(self, reading: float = 0.0) -> None:
        """Derive all that follows; `reading` seconds count towards the limit on time."""
        engine, stats = self.loaded.store, self.stats
        began = time.perf_counter()
        self.loaded.warm()
        with Interrupts() as interrupts:
            watch = LimitWatch(self.options.limits, engine.facts, self.progress, interrupts)
            watch.began -= reading
            engine.watch(watch.tick)
            profiles = engine.profiles if self.profile else None
            if profiles is not None:
                profiles.profile(_recorder(stats, watch, self.state.book.stratum_of))
            with interrupts.explaining():
                self.loaded.materialise(self.state.book.strata, watch, self.state.memory)
            watch.tick(None)
        engine.watch(None)
        if profiles is not None:
            profiles.profile(None)
        stats.evaluate_seconds = time.perf_counter() - began
        stats.instances = engine.instances
        stats.rounds = watch.rounds
        stats.facts = len(engine.all)


def _recorder(
    stats: Stats, watch: LimitWatch, stratum_of: Mapping[str, int]
) -> Callable[[Measure], None]:
    """Notes what each rule did, under the stratum and round in which it did it."""
    from tidelog.report.profile import RuleRound

    def record(found: Measure) -> None:
        rule = found.rule
        stats.profile.append(
            RuleRound(
                stratum=stratum_of[rule.head.relation] + 1,  # as `tidelog plan` has it
                round=watch.in_round,
                rule=rule.text,
                at=f"{rule.at.file}:{rule.at.line}" if rule.at.line else "",
                relation=rule.head.relation,
                seconds=found.seconds,
                instances=found.instances,
                facts=found.facts,
            )
        )

    return record
