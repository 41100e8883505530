"""Limits on an evaluation, and the watch that keeps them and shows progress."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from tidelog import ctrl_c
from tidelog.program.diagnostics import LimitError, TidelogError
from tidelog.program.rules import Rule, Stratum


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an evaluation stops. None is no limit, but for memory: see `default_memory`."""

    max_facts: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None  # bytes of the process

    def __post_init__(self) -> None:
        for name in ("max_facts", "max_seconds", "max_memory"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0
            ):
                raise TidelogError(f"error: {name} is a number of at least 0; {value!r} is none")


@dataclass(frozen=True, slots=True)
class Position:
    """Where an evaluation is, for a progress line."""

    relation: str
    round: int
    facts: int
    seconds: float


Show = Callable[[Position], None]


def default_memory() -> int | None:
    """Nine tenths of the machine's memory, so that a run away program ends before the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10
    except (ValueError, OSError, AttributeError):
        return None


def used_memory() -> int:
    """Bytes that this process holds now (at its most, where the system does not tell)."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


_listeners: list[Callable[[], None]] = []


def on_interrupt(listener: Callable[[], None]) -> None:
    """Have this called when a Ctrl-C is noted, in the midst of anything: it must be short."""
    _listeners.append(listener)


class Interrupts:
    """Ctrl-C in the block is noted when it comes, and raised where a watch looks at its limits.

    Raised anywhere it could come in the middle of a change, or be lost: Python drops what a
    finalizer raises. A second Ctrl-C is not held back, unless the block is `whole`: where it
    must be done or undone entirely. None is if a program handles the signal in its own way.
    A block inside another one looks at what that one has noted. A `quiet` one raises nothing when
    it ends: it must be inside another one. `presses` counts them all.
    """

    def __init__(self, whole: bool = False, quiet: bool = False) -> None:
        self.noted = False
        self.presses = 0
        self._at_once = False  # nothing can be left half done: see `waiting`
        self._whole = whole
        self._quiet = quiet
        self._before: Any = None
        self._outer: Interrupts | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._before = signal.signal(signal.SIGINT, self._note)
            else:
                self._outer = Interrupts.around()
        return self

    @staticmethod
    def around() -> Interrupts | None:
        """The block that notes what this thread is told, if it is in one."""
        if threading.current_thread() is not threading.main_thread():
            return None
        block = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
        return block if isinstance(block, Interrupts) else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if kind is None and not self._quiet:
            self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.presses += 1
        if self._at_once or (self.noted and not self._whole):
            self._at_once = False  # whatever is done about it may be whole again
            raise KeyboardInterrupt
        self.noted = True
        for listener in _listeners:
            listener()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Whatever fails in the block because a Ctrl-C has ended it is that Ctrl-C."""
        try:
            yield
        except Exception:
            self.check()
            raise

    def check(self) -> None:
        if ctrl_c.dropped():
            self.noted = True
        if self.noted:
            raise KeyboardInterrupt
        if self._outer is not None:
            self._outer.check()

    def heard(self) -> None:
        """The Ctrl-C that was noted is on its way: what has to be done first is not ended by it."""
        self.noted = False
        if self._outer is not None:
            self._outer.heard()


@contextmanager
def waiting() -> Iterator[None]:
    """Ctrl-C ends this block at once, also inside one that holds it back: in it one only waits."""
    block = Interrupts.around()
    if block is None:
        yield
        return
    try:
        block._at_once = True
        block.check()  # it may have come just before
        yield
    finally:
        block._at_once = False


def _shown(stratum: Stratum) -> str:
    """What a stratum is called: its first relation, as it is written."""
    for name in stratum.relations:
        if not name.startswith("%"):
            return name.rpartition(":")[2]
    for name in stratum.relations:
        if "^" in name:  # derived as far as it is asked for: `%path^bf`, `%need:path^bf`
            return name.rpartition("^")[0].strip("%").rpartition(":")[2]
    return "an aggregate or a negation"


@dataclass(slots=True)
class Watch:
    """Keeps the limits of one evaluation and tells `show` where it is, ten times a second."""

    limits: Limits
    facts: Callable[[], int]
    show: Show | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    rounds: int = 0
    strata: int = 0
    began: float = field(default_factory=time.perf_counter)
    _relation: str = ""
    in_round: int = 0  # of the stratum
    outside: int = 0  # facts that were found elsewhere and are not the engine's yet
    _rule: Rule | None = None
    _next: float = 0.0
    _memory: int | None = None

    def __post_init__(self) -> None:
        given = self.limits.max_memory
        self._memory = default_memory() if given is None else given
        if given is None:
            self._next = self.began + 0.1  # a short update need not even ask

    def stratum(self, stratum: Stratum) -> None:
        self.strata += 1
        self._relation = _shown(stratum)
        self.in_round = 0
        rules = stratum.recursive or stratum.rules
        self._rule = rules[0] if rules else None
        self.round()

    def round(self) -> None:
        self.rounds += 1
        self.in_round += 1
        self.tick(self._rule)

    def at(self, rule: Rule) -> None:
        """Of all strata at once, this rule is worked on."""
        self._rule, self._relation = rule, rule.head.relation

    def pairs(self, count: int) -> None:
        """A closure goes on, and has found so many pairs."""
        most = self.limits.max_facts
        if most is not None and self.facts() + count > most:
            self._stop(f"more than {most:,} facts", self._rule, "--max-facts")
        self.tick(self._rule)

    def tick(self, rule: Rule | None) -> None:
        """Look at the limits; called in every round and now and then within one."""
        self.interrupts.check()
        rule = rule or self._rule
        limits, now = self.limits, time.perf_counter()
        if limits.max_facts is not None and self.facts() > limits.max_facts:
            self._stop(f"more than {limits.max_facts:,} facts", rule, "--max-facts")
        if limits.max_seconds is not None and now - self.began > limits.max_seconds:
            self._stop(f"more than {limits.max_seconds:g} seconds", rule, "--max-seconds")
        if now < self._next:
            return
        self._next = now + 0.1
        if self._memory is not None and used_memory() > self._memory:
            self._stop(f"more than {self._memory / 2**20:,.0f} MiB of memory", rule, "--max-memory")
        if self.show is not None:
            facts, seconds = self.facts() + self.outside, now - self.began
            self.show(Position(self._relation, self.in_round, facts, seconds))

    def _stop(self, what: str, rule: Rule | None, option: str) -> None:
        message = f"stopped at {what}, in round {self.in_round} of {self._relation}"
        if rule is not None:
            where = f"{rule.at.file}:{rule.at.line}:{rule.at.column}: " if rule.at.line else ""
            message = f"{where}error: {message}, in the rule\n    {rule.text}"
        raise LimitError(f"{message}\n    a larger limit is set by {option}")
