"""The task of a measured process, and the systems that can do it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from bench.checksum import Checksum
from bench.dbsp.cases import Step
from bench.updates.changes import Change

PEER = "pydbsp"
SOUFFLE = "souffle"
OTHERS = (PEER, SOUFFLE)
State = dict[str, Checksum]  # a checksum for each relation that has facts


@dataclass(frozen=True)
class Play:
    """Changes that one system makes, one after the other."""

    system: str  # an algorithm of ours, or another system
    program: str
    steps: list[Step]
    warm: list[Step]  # not measured: they load the kernels
    limit: float  # seconds for a step
    memory: int  # bytes of the process


class TooMuch(Exception):
    """A step reached a limit, which the argument names: seconds or memory."""


class System(Protocol):
    """A system that keeps a program's consequences up to date."""

    def warm_up(self, steps: Sequence[Step]) -> None: ...
    def make(self, change: Change) -> float | None:
        """The seconds of the work itself, by the system's own clock, if it has one."""

    def state(self) -> State: ...
    def compiling(self) -> AbstractContextManager[Sequence[object]]: ...


def system_of(play: Play, limit: float) -> System:
    """A system with the program and no facts."""
    if play.system == PEER:
        from bench.dbsp.peer import Pydbsp

        return Pydbsp(play.program)
    if play.system == SOUFFLE:
        from bench.dbsp.souffle import Souffle

        return Souffle(play.program, limit)
    return Ours(play, limit)


class Ours:
    """Tidelog by one algorithm: each change is a transaction, including the first one."""

    def __init__(self, play: Play, limit: float) -> None:
        # Interpreters of other systems have no Tidelog.
        import tidelog

        self.tidelog = tidelog
        self.algorithm = play.system
        self.limits = tidelog.Limits(max_seconds=limit, max_memory=play.memory)
        self.database = tidelog.Database(play.program)

    def warm_up(self, steps: Sequence[Step]) -> None:
        """Load all kernels from the cache, or compile them, including those of closures."""
        from bench.modules.play import modules_at_once

        with modules_at_once():
            for step in steps:
                self.make(step.change)
        self.state()

    def make(self, change: Change) -> float | None:
        began = time.perf_counter()
        try:
            with self.database.transaction(algorithm=self.algorithm, limits=self.limits) as tx:
                change.make(tx)
            return float(tx.report.seconds)
        except self.tidelog.LimitError as error:
            late = time.perf_counter() - began >= (self.limits.max_seconds or 0)
            raise TooMuch("seconds" if late else "memory") from error

    def state(self) -> State:
        from bench.updates.play import state

        return state(self.database)

    @contextmanager
    def compiling(self) -> Iterator[Sequence[object]]:
        """The events of the compiler in the block."""
        from numba.core.event import install_recorder

        with install_recorder("numba:compile") as recorder:
            yield recorder.buffer
