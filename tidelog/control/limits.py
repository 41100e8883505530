"""Limits on an evaluation, and the watch that checks them and shows progress."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from tidelog.control import interrupts as interrupt_signals
from tidelog.control.interrupts import Stop
from tidelog.program.diagnostics import LimitError, TidelogError, limit_error, plural
from tidelog.program.rules import Rule, Stratum


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an evaluation stops. None means no limit, except for memory: see `default_memory`."""

    max_facts: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None  # bytes of the process

    def __post_init__(self) -> None:
        for name in ("max_facts", "max_seconds", "max_memory"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0
            ):
                raise TidelogError(f"error: {name} must be a number of at least 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Position:
    """Where an evaluation is, for a progress line."""

    relation: str
    round: int
    facts: int
    seconds: float


Show = Callable[[Position], None]

# where Linux tells the limit of a container: control groups, version 2 and 1
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def default_memory() -> int | None:
    """Nine tenths of the memory of the machine, or of the container, so that a runaway program ends
    before that runs out."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    for file in CONTAINER:
        with suppress(OSError, ValueError):  # ValueError: "max"
            memory = min(memory, int(Path(file).read_text()))
    return memory * 9 // 10


def used_memory() -> int:
    """Bytes that this process holds now, or its peak where the system reports nothing else."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


_listeners: list[Callable[[], None]] = []


def on_interrupt(listener: Callable[[], None]) -> None:
    """Call the listener when a Ctrl-C is noted. It may interrupt any code, so it must be short."""
    _listeners.append(listener)


# blocks of the main thread that hold the signal back, innermost last
_noting: list[Interrupts] = []


class Interrupts:
    """Ctrl-C in the block is noted, and raised where a watch checks its limits.

    Raised at any point, it could interrupt a change halfway, or be lost: Python drops what a
    finalizer raises. A second Ctrl-C is not held back, unless the block is `whole`, which means
    that it must be done or undone entirely. If a program handles the signal itself, nothing is
    held back. A block inside another one checks what that one has noted. A `quiet` block, which
    must be inside another one, raises nothing when it ends. `presses` counts every Ctrl-C.
    """

    def __init__(self, whole: bool = False, quiet: bool = False) -> None:
        self.noted = False
        self.presses = 0
        self._at_once = False  # raise at once: see `waiting`
        self._whole = whole
        self._quiet = quiet
        self._before: Any = None
        self._outer: Interrupts | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._before = signal.signal(signal.SIGINT, self._note)
                _noting.append(self)
            else:
                self._outer = Interrupts.around()
        return self

    @staticmethod
    def around() -> Interrupts | None:
        """The block that notes Ctrl-C for this thread, if it is in one."""
        if threading.current_thread() is not threading.main_thread():
            return None
        return _noting[-1] if _noting else None

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._before is not None:
            _noting.remove(self)
            signal.signal(signal.SIGINT, self._before)
        if kind is None and not self._quiet:
            self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.presses += 1
        raised = self._at_once or (self.noted and not self._whole)
        if raised and not _drops_exceptions(frame):
            self._at_once = False  # the handler may hold the next one back again
            raise KeyboardInterrupt
        self.noted = True
        for listener in _listeners:
            listener()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """If a Ctrl-C was noted, raise it instead of the error that it caused in the block."""
        try:
            yield
        except Exception:
            self.check()
            raise

    def check(self) -> None:
        if interrupt_signals.dropped():
            self.noted = True
        if self.noted:
            raise KeyboardInterrupt
        if self._outer is not None:
            self._outer.check()

    def heard(self) -> None:
        """The noted Ctrl-C is being raised: do not raise it again during cleanup."""
        self.noted = False
        if self._outer is not None:
            self._outer.heard()


@contextmanager
def waiting() -> Iterator[None]:
    """Let Ctrl-C end this block at once, even inside a block that holds it back: this one only
    waits."""
    block = Interrupts.around()
    if block is None:
        yield
        return
    try:
        block._at_once = True
        block.check()  # a Ctrl-C may have been noted just before
        yield
        block.check()  # or where it could not be raised
    finally:
        block._at_once = False


_guards: list[_Guard] = []  # guards of running blocks, in all threads


# Chosen, not measured.
LOOK = 0.1  # seconds between two checks of a guarded block
AGAIN = 2.0  # seconds until a stop that had no effect is raised again; cleanup takes time


@contextmanager
def guarded(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` ten times a second while the block runs, and end the block with what it raises.

    This stops Python code that never checks the limits itself. In the main thread a timer signal
    does it, which also interrupts blocking reads. In other threads, and where SIGALRM is in use,
    a watchdog thread raises an asynchronous exception. Neither can stop C code that does not
    return to the interpreter, and code that catches BaseException may go on. Loops that spend
    their time in C call `poll`.
    """
    guard = _Guard(check)
    try:
        try:
            _guards.append(guard)
            guard.start()
            yield
        finally:
            guard.finish()
        if guard.error is not None:  # its stop was dropped
            raise guard.error
    except BaseException as error:
        guard.done = True  # the stop may have hit the line above
        stop = guard.error or error
        if stop is error and not isinstance(error, LimitError):
            raise
        raise _explained(stop, error) from None
    finally:
        if guard in _guards:
            _guards.remove(guard)
        guard.end()


def poll() -> None:
    """Raise the stop of a guarded block around the caller, if it is due.

    For loops over C code that builds many objects: there the interpreter runs hardly any Python
    except callbacks of the garbage collector, whose exceptions it drops.
    """
    here = threading.get_ident()
    for guard in _guards[::-1]:
        guard.poll(here)


def _explained(stop: BaseException, ended: BaseException) -> BaseException:
    """The error that stopped a block, with the work that `during` noted."""
    doing = getattr(ended, "doing", "")  # SQLite raises its own error instead
    for note in getattr(ended, "__notes__", [])[:1]:
        doing = note
    if not doing or not isinstance(stop, LimitError):
        return stop
    return LimitError(f"{stop}\n    {doing}")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """If a limit is reached in the block, the error names what was being done."""
    try:
        yield
    except LimitError as stop:
        if not what:
            raise
        raise LimitError(f"{stop}\n    {what}") from None


def _alarm_is_free() -> bool:
    return hasattr(signal, "SIGALRM") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def _drops_exceptions(frame: FrameType | None) -> bool:
    """Whether this is a finalizer, a callback of a weak reference, which is given the dead
    reference, or a callback of the garbage collector."""
    collecting = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code in collecting:
            return True
        given = map(frame.f_locals.get, code.co_varnames[: code.co_argcount])
        if any(isinstance(each, weakref.ref) and each() is None for each in given):
            return True
        frame = frame.f_back
    return False


class _Guard:
    def __init__(self, check: Callable[[], None]) -> None:
        self.done = False
        self.error: BaseException | None = None
        self._check = check
        self._checking = False
        self._stop_at = 0.0  # no stop is raised before this time
        self._thread: threading.Thread | None = None
        self._timed = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._id = threading.get_ident()

    def start(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        # If a program uses SIGALRM itself, or the system has none, a thread checks.
        self._timed = main and _alarm_is_free()
        if self._timed:
            signal.signal(signal.SIGALRM, self._alarm)
            signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)
            return
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Raise no stop from here on; one that the thread has already sent is raised here at the
        latest.

        It is not cleared instead: CPython looks for a cleared asynchronous exception at every call.
        """
        with self._lock:
            self.done = True

    def end(self) -> None:
        if self._timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        self._ended.set()

    def _stops(self) -> bool:
        """Whether the block must stop now."""
        if self._checking:  # on a busy machine the next alarm arrives before a check is over
            return False
        if self.error is None:
            self._checking = True
            try:
                self._check()
            except Stop:
                if self.error is None:  # the stop is not this guard's own
                    raise
            except BaseException as error:
                self.error = error
            finally:
                self._checking = False
        if self.error is None or self.done or time.perf_counter() < self._stop_at:
            return False
        self._stop_at = time.perf_counter() + AGAIN
        return True

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        if self.done or not self._stops():
            return
        if _drops_exceptions(frame):
            self._stop_at = 0.0  # at the next alarm
            return
        raise Stop

    def poll(self, thread: int) -> None:
        """Raise a stop that is due, even if it was raised before and dropped."""
        if thread != self._id or self.done:
            return
        self._stops()
        if self.error is not None:
            raise Stop

    def _watch(self) -> None:
        while not self._ended.wait(LOOK):
            with self._lock:
                if not self._ended.is_set() and not self.done and self._stops():
                    stop = ctypes.py_object(Stop)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._id), stop)


def _shown(stratum: Stratum) -> str:
    """A stratum's name: its first relation, as the user wrote it."""
    for name in stratum.relations:
        if not name.startswith("%"):
            return name.rpartition(":")[2]
    for name in stratum.relations:
        if "^" in name:  # of magic sets: `%path^bf`, `%need:path^bf`
            return name.rpartition("^")[0].strip("%").rpartition(":")[2]
    return "an aggregate or a negation"


@dataclass(slots=True)
class LimitWatch:
    """Checks the limits of one evaluation, and shows its position, ten times a second."""

    limits: Limits
    facts: Callable[[], int]
    show: Show | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    rounds: int = 0
    strata: int = 0
    began: float = field(default_factory=time.perf_counter)
    _relation: str = ""
    in_round: int = 0  # of the stratum
    outside: int = 0  # facts found that the engine has not inserted yet
    _rule: Rule | None = None
    _next: float = 0.0
    _memory: int | None = None

    def __post_init__(self) -> None:
        given = self.limits.max_memory
        self._memory = default_memory() if given is None else given
        if given is None:
            self._next = self.began + 0.1  # short updates skip the check

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

    def room(self) -> int:
        """How many facts may be added before the limits must be checked."""
        most = self.limits.max_facts
        return sys.maxsize if most is None else most - self.facts()

    def passed(self, count: int) -> None:
        """Count rounds that did not use up their allowance of facts."""
        self.rounds += count
        self.in_round += count

    def at(self, rule: Rule) -> None:
        """Called when a rule is evaluated; counts over all strata."""
        self._rule, self._relation = rule, rule.head.relation

    def pairs(self, count: int) -> None:
        """Check the limits; a closure has found this many pairs so far."""
        most = self.limits.max_facts
        if most is not None and self.facts() + count > most:
            self._stop(f"more than {plural(most, 'fact')}", self._rule, "--max-facts")
        self.tick(self._rule)

    def tick(self, rule: Rule | None) -> None:
        """Check the limits; called in every round, and now and then within one."""
        self.interrupts.check()
        self.look(rule)

    def look(self, rule: Rule | None = None) -> None:
        """Check the limits only; the caller handles Ctrl-C."""
        rule = rule or self._rule
        limits, now = self.limits, time.perf_counter()
        if limits.max_facts is not None and self.facts() > limits.max_facts:
            self._stop(f"more than {plural(limits.max_facts, 'fact')}", rule, "--max-facts")
        if limits.max_seconds is not None and now - self.began > limits.max_seconds:
            unit = "second" if limits.max_seconds == 1 else "seconds"
            self._stop(f"more than {limits.max_seconds:g} {unit}", rule, "--max-seconds")
        if now < self._next:
            return
        self._next = now + 0.1
        if self._memory is not None and used_memory() > self._memory:
            self._stop(f"more than {self._memory / 2**20:,.0f} MiB of memory", rule, "--max-memory")
        if self.show is not None:
            facts, seconds = self.facts() + self.outside, now - self.began
            self.show(Position(self._relation, self.in_round, facts, seconds))

    def check(self) -> None:
        """Check the limits outside the rounds of an evaluation: reading, analysis, writing."""
        self.tick(None)

    def _stop(self, what: str, rule: Rule | None, option: str) -> None:
        if not self._relation:
            raise limit_error(what, option)
        relation = "the query" if self._relation.startswith("query'") else self._relation
        message = f"stopped at {what}, in round {self.in_round} of {relation}"
        if rule is not None:
            where = f"{rule.at.file}:{rule.at.line}:{rule.at.column}: " if rule.at.line else ""
            message = f"{where}error: {message}, in the rule\n    {rule.text}"
        raise LimitError(f"{message}\n    a larger limit is set by {option}")
