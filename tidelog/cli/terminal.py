"""Standard streams: what is said to people, and what is printed as a result."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from time import monotonic
from typing import BinaryIO

from tidelog.limits import Interrupts
from tidelog.program.diagnostics import TidelogError

LOOK = 0.1  # seconds between two looks at whether a reader is still waited for
PATIENCE = 1.0  # seconds that a reader has after a second Ctrl-C


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a word on what it left behind."""


class Unread(TidelogError):
    """Nobody reads the results any more, and not all is done; the exit code is 1."""


def say(text: str) -> None:
    """A line or more for people, on the standard error."""
    # Whoever closed it does not want to know; `print` would use the standard output instead.
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(_encodable(text, sys.stderr.encoding) + "\n")
            sys.stderr.flush()


def out(text: str) -> None:
    """A line or more of the command's result, on the standard output, always in UTF-8."""
    stdout().write(text.encode("utf-8", "surrogateescape") + b"\n")


def fault(message: str) -> str:
    """The message, marked as an error if it is not yet.

    >>> fault("there is no relation p")
    'error: there is no relation p'
    >>> fault("p.dl:1:1: error: no")
    'p.dl:1:1: error: no'
    """
    first = message.partition("\n")[0]
    return message if "error: " in first else f"error: {message}"


def stdout() -> BinaryIO:
    if sys.stdout is None:
        raise TidelogError("the standard output is closed")
    sys.stdout.flush()
    return sys.stdout.buffer


class Whole:
    """The standard output, for what must reach its reader as a whole.

    In a block that holds Ctrl-C back, writing goes on after the first one, however long the
    reader takes. A second one ends it, if the reader has not taken all soon after.
    """

    def __init__(self) -> None:
        self._stdout = stdout()
        self._until = float("inf")
        try:
            self._file = self._stdout.fileno() if hasattr(select, "poll") else -1
        except (OSError, ValueError):
            self._file = -1  # it is no real file

    def write(self, data: bytes) -> None:
        if self._file < 0:
            self._stdout.write(data)
            return
        ready = select.poll()
        ready.register(self._file, select.POLLOUT)
        rest = memoryview(data)
        while rest:
            # Inside a write of more than a pipe can take, nobody could give up.
            if ready.poll(LOOK * 1000):
                rest = rest[os.write(self._file, rest[: select.PIPE_BUF]) :]
            self._look()

    def _look(self) -> None:
        block = Interrupts.around()
        if block is None or block.presses < 2:
            return
        self._until = min(self._until, monotonic() + PATIENCE)
        if monotonic() > self._until:
            raise KeyboardInterrupt

    def flush(self) -> None:
        self._stdout.flush()


def stdin() -> BinaryIO | None:
    return sys.stdin.buffer if sys.stdin is not None else None


def flush_stdout() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def close_ears() -> None:
    """All is done: a Ctrl-C that comes now would only break off how things are put away."""
    if threading.current_thread() is threading.main_thread():
        flush_stdout()  # that may wait for a reader
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def open_ears() -> Iterator[None]:
    """Ctrl-C is heard after the block as it was before."""
    heard = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not heard:
            signal.signal(signal.SIGINT, heard)


def drop_stdout() -> None:
    """Nobody reads it any more; the interpreter must not complain about that at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _encodable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
