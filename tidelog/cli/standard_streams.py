"""Standard streams: messages on the standard error, results on the standard output."""

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

from tidelog.control.limits import Interrupts
from tidelog.program.diagnostics import TidelogError

LOOK = 0.1  # seconds between two checks whether to wait for a reader any longer
PATIENCE = 1.0  # seconds to wait for a reader after a second Ctrl-C


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a note about what was already done."""


class Unread(TidelogError):
    """The reader of the results closed them before the work was complete; the exit code is 1."""


def say(text: str) -> None:
    """Print a message on the standard error."""
    # It may be closed: `print` would use the standard output instead.
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(_encodable(text, sys.stderr.encoding) + "\n")
            sys.stderr.flush()


def out(text: str) -> None:
    """Print a result on the standard output, always in UTF-8."""
    stdout().write(text.encode("utf-8", "surrogateescape") + b"\n")


def fault(message: str) -> str:
    """The message, with `error:` in front unless it has that.

    >>> fault("unknown relation p")
    'error: unknown relation p'
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


class WholeOutput:
    """The standard output, for results that must reach their reader completely.

    In a block that holds Ctrl-C back, writing continues after the first one, however slow the
    reader is. A second one ends it unless the reader finishes soon after.
    """

    def __init__(self) -> None:
        self._stdout = stdout()
        self._until = float("inf")
        try:
            self._file = self._stdout.fileno() if hasattr(select, "poll") else -1
        except (OSError, ValueError):
            self._file = -1  # not a real file

    def write(self, data: bytes) -> None:
        if self._file < 0:
            self._stdout.write(data)
            return
        ready = select.poll()
        ready.register(self._file, select.POLLOUT)
        rest = memoryview(data)
        while rest:
            # A larger write could block, and could not be given up.
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
    """Ignore Ctrl-C: all work is done, and only cleanup is left to interrupt."""
    if threading.current_thread() is threading.main_thread():
        flush_stdout()  # may wait for a reader
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def open_ears() -> Iterator[None]:
    """Restore the handler of Ctrl-C after the block."""
    heard = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not heard:
            signal.signal(signal.SIGINT, heard)


def drop_stdout() -> None:
    """Discard further output: its reader has closed it, and the interpreter exits quietly."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _encodable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
