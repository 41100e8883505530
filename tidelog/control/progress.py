"""A progress line for an evaluation, on a terminal."""

from __future__ import annotations

import os
import sys
from typing import Self, TextIO

from tidelog.control.limits import Position
from tidelog.control.terminal import is_terminal
from tidelog.program.diagnostics import plural

# Chosen, not measured.
FIRST_AFTER = 0.5  # seconds: shorter runs show nothing
BETWEEN = 0.1  # seconds between two lines


class Line:
    """A line on a terminal: each text replaces the previous one, and the end clears it.

    On other streams it shows nothing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.on = is_terminal(self.stream)
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        if self.on:
            self._write(text[: self.columns - 1])
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._write("")
            self._shown = False

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return _columns(self.stream)

    def _write(self, text: str) -> None:
        try:
            self.stream.write(f"\r{text}\x1b[K")
            self.stream.flush()
        except OSError:  # the terminal is closed; work continues
            self.on = False


class Progress(Line):
    """Shows the position of an evaluation."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._next = FIRST_AFTER
        self._before = (0.0, 0)  # seconds and facts when the line was last written

    def __call__(self, position: Position) -> None:
        if not self.on or position.seconds < self._next:
            return
        seconds, facts = self._before
        passed = position.seconds - seconds
        rate = (position.facts - facts) / passed if passed > 0 else 0.0
        self._before = (position.seconds, position.facts)
        self._next = position.seconds + BETWEEN
        self.show(line(position, rate))


class RoundProgress(Progress):
    """For rounds that take seconds: shows each one, with the latest number of facts."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._facts = self._new = 0

    def __call__(self, position: Position) -> None:
        if not self.on:
            return
        if position.facts != self._facts:
            self._new = max(0, position.facts - self._facts)
            self._facts = position.facts
        self.show(round_line(position, self._new))


def round_line(position: Position, new: int) -> str:
    """
    >>> round_line(Position("path", 3, 12_000, 4.52), 8_000)
    'path, round 3: 12,000 facts, 8,000 new, 4.5 s'
    """
    return (
        f"{_printable(position.relation)}, round {position.round:,}: "
        f"{plural(position.facts, 'fact')}, "
        f"{new:,} new, {position.seconds:.1f} s"
    )


def line(position: Position, rate: float) -> str:
    """
    >>> line(Position("path", 12, 1_234_567, 2.0), 400_000.4)
    'path, round 12: 1,234,567 facts, 400,000 facts/s'
    """
    return (
        f"{_printable(position.relation)}, round {position.round:,}: "
        f"{plural(position.facts, 'fact')}, "
        f"{max(rate, 0):,.0f} facts/s"
    )


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
