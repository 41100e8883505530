"""The line that tells how a stream is doing, for people who watch it at a terminal."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING

from tidelog.progress import BETWEEN, Progress, is_terminal

if TYPE_CHECKING:
    from tidelog.limits import Position
    from tidelog.stream.processor import Stream


class Live(Progress):
    """Between updates it tells of the stream, and inside a long one what that is at."""

    def __init__(self, rounds: type[Progress] = Progress) -> None:
        super().__init__()
        self._make = rounds
        self._began = perf_counter()
        self._told = (0.0, 0)  # seconds and updates when the rate was last taken
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
        """Make room if something is printed where the line stands."""
        if is_terminal(sys.stdout):
            self._hidden = self._shown
            self.clear()

    def tell(self, stream: Stream, now: bool = False) -> None:
        seconds = perf_counter() - self._began
        if not self.on or (seconds < self._next and not self._hidden and not now):
            return
        self._rounds.clear()
        self._hidden = False
        self._next = seconds + BETWEEN
        before, updates = self._told
        if seconds - before >= BETWEEN:
            done = stream.metrics.updates
            self._rate = (done - updates) / (seconds - before)
            self._told = (seconds, done)
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
    '<updates>: 1 updates, 0 wait, 1,250/s, 2 facts changed'
    """
    metrics, waiting = stream.metrics, stream.queue
    latency = metrics.latency.percentile(50)
    return (
        f"{stream.arrivals.name}: {metrics.updates:,} updates, {waiting:,} wait, {rate:,.0f}/s, "
        f"{metrics.facts:,} facts changed, latency {_told(latency)}"
    )


def _told(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
