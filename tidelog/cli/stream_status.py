"""The status line of a stream at a terminal."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING

from tidelog.control.progress import BETWEEN, Progress
from tidelog.control.terminal import is_terminal
from tidelog.program.diagnostics import plural

if TYPE_CHECKING:
    from tidelog.changes.stream import Stream
    from tidelog.control.limits import Position


class Live(Progress):
    """Shows the stream between updates, and the progress of a long update within it."""

    def __init__(self, rounds: type[Progress] = Progress) -> None:
        super().__init__()
        self._make = rounds
        self._began = perf_counter()
        self._counted = (0.0, 0)  # seconds and updates when the rate was last taken
        self._rate = 0.0
        self._rounds = self._make(self.stream)
        self._seconds = 0.0  # of the update under way
        self._hidden = False

    def __call__(self, position: Position) -> None:
        if position.seconds < self._seconds:  # of another update
            self._rounds.clear()
            self._rounds = self._make(self.stream)
        self._seconds = position.seconds
        self._rounds(position)

    def hide(self) -> None:
        """Clear the line if something is printed on the same terminal."""
        if is_terminal(sys.stdout):
            self._hidden = self._shown
            self.clear()

    def report(self, stream: Stream, now: bool = False) -> None:
        seconds = perf_counter() - self._began
        if not self.on or (seconds < self._next and not self._hidden and not now):
            return
        self._rounds.clear()
        self._hidden = False
        self._next = seconds + BETWEEN
        before, updates = self._counted
        if seconds - before >= BETWEEN:
            done = stream.metrics.updates
            self._rate = (done - updates) / (seconds - before)
            self._counted = (seconds, done)
        self._write(line(stream, self._rate)[: self.columns - 1])
        self._shown = True

    def clear(self) -> None:
        self._rounds.clear()
        super().clear()


def line(stream: Stream, rate: float) -> str:
    """
    >>> from tidelog import Database
    >>> stream = Database("p(x) :- q(x). q(1).").stream(["+q(2)."])
    >>> metrics = stream.run()
    >>> line(stream, 1250).partition(", latency ")[0]
    '<updates>: 1 update, 0 waiting, 1,250/s, 2 facts changed'
    """
    metrics, waiting = stream.metrics, stream.queue
    latency = metrics.latency.percentile(50)
    return (
        f"{stream.arrivals.name}: {plural(metrics.updates, 'update')}, {waiting:,} waiting, "
        f"{rate:,.0f}/s, "
        f"{plural(metrics.facts, 'fact')} changed, latency {_duration(latency)}"
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
