"""Slow sources: a thread reads ahead into a bounded queue.

When the queue is full the thread waits, and with it the writer at the other end of the pipe.
"""

from __future__ import annotations

import io
import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, BinaryIO, Final

from tidelog.formats.byte_source import FileFault

AHEAD = 16  # pieces, or items of an iterator, in the queue at most
PIECE = 2**16  # bytes
LOOK = 200  # milliseconds between two checks whether the source was closed

NOTHING: Final = object()  # no item has arrived yet
END: Final = object()  # the source has ended

Closed = Callable[[], bool]


class Pump:
    """The items of a slow iterator, each with the time of its arrival.

    `items` makes the iterator, in the thread, from a function that says whether to stop.
    """

    def __init__(self, items: Callable[[Closed], Iterator[Any]], count: Callable[[Any], int]):
        self.at = perf_counter()  # when the last item that was taken arrived
        self._counted = 0  # about how many updates have arrived
        self._items = items
        self._count = count
        self._waiting: deque[tuple[float, Any]] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def get(self) -> Any:
        """The next item, NOTHING or END, without waiting. Raises errors of the source."""
        self._start()
        with self._change:
            if not self._waiting:
                return END if self._closed else NOTHING
            self.at, item = self._waiting[0]
            if item is not END:
                self._waiting.popleft()
                if len(self._waiting) == AHEAD // 2:
                    self._change.notify_all()  # wakes the thread, but not for every item
        if isinstance(item, _Failure):
            self.close()
            raise item.error
        return item

    def wait(self, timeout: float | None) -> None:
        """Wait for an item or the end."""
        self._start()
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._closed, timeout)

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._change.notify_all()

    def waiting(self, given: int) -> int:
        """About how many updates are in the queue, if `given` have been read."""
        return max(0, self._counted - given)

    def pieces(self) -> Iterator[bytes]:
        """The items, which are bytes; empty bytes where none has arrived yet."""
        while (item := self.get()) is not END:
            yield b"" if item is NOTHING else item

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="tidelog source", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        last: Any = END
        try:
            for item in self._items(lambda: self._closed):
                if not self._put(item):
                    return
        except BaseException as error:  # raised where the item would have been
            last = _Failure(error)
        self._put(last)

    def _put(self, item: Any) -> bool:
        count = 0 if item is END or isinstance(item, _Failure) else self._count(item)
        now = perf_counter()
        with self._change:
            self._change.wait_for(lambda: len(self._waiting) < AHEAD or self._closed)
            if self._closed:
                return False
            self._waiting.append((now, item))
            self._counted += count
            if len(self._waiting) == 1:
                self._change.notify_all()  # wakes the reader
        return True


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def commits(piece: bytes) -> int:
    """About how many updates end in a piece of text."""
    return piece.count(b"commit")


# Iterators of bytes that run in the thread.


def from_stream(stream: BinaryIO) -> Callable[[Closed], Iterator[bytes]]:
    """The bytes of a stream as they arrive."""
    name = called(stream)
    if getattr(stream, "closed", False):
        raise FileFault(f"{name} is closed")
    raw = stream.raw if type(stream) is io.BufferedReader else stream
    if not isinstance(raw, io.FileIO) or not hasattr(select, "poll"):
        return lambda closed: read_from(stream)
    # A thread that waits inside the stream would hold its lock, and the interpreter could not
    # exit. So the stream's buffer is taken first, and then the descriptor is read.
    rest = _held(stream) if type(stream) is io.BufferedReader else b""
    descriptor = os.dup(raw.fileno())

    def pieces(closed: Closed) -> Iterator[bytes]:
        try:
            if rest:
                yield rest
            yield from _polled(descriptor, lambda: os.read(descriptor, PIECE), name, closed)
        finally:
            os.close(descriptor)

    return pieces


def from_pipe(path: str) -> Callable[[Closed], Iterator[bytes]]:
    """The bytes of a named pipe; opening it waits for a writer."""

    def pieces(closed: Closed) -> Iterator[bytes]:
        try:
            with open(path, "rb", buffering=0) as opened:
                yield from from_stream(opened)(closed)
        except OSError as error:
            raise FileFault(f"{path} cannot be read: {error.strerror}") from None

    return pieces


def from_socket(connect: Callable[[], socket.socket], name: str, ours: bool) -> Any:
    """The bytes of a connection; closes it at the end if it is `ours`."""

    def pieces(closed: Closed) -> Iterator[bytes]:
        connected = connect()

        def receive() -> bytes:
            return connected.recv(PIECE)

        try:
            if type(connected) is socket.socket and hasattr(select, "poll"):
                yield from _polled(connected.fileno(), receive, name, closed)
            else:
                yield from _called(receive, name)
        finally:
            if ours:
                connected.close()

    return pieces


def _polled(
    descriptor: int, read: Callable[[], bytes], name: str, closed: Closed
) -> Iterator[bytes]:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)

    def when_ready() -> bytes:
        while not ready.poll(LOOK):
            if closed():
                return b""
        return read()

    return _called(when_ready, name)


def _called(read: Callable[[], bytes], name: str) -> Iterator[bytes]:
    try:
        while piece := read():
            yield piece
    except (OSError, ValueError) as error:  # closed elsewhere
        why = getattr(error, "strerror", None) or error
        raise FileFault(f"{name} cannot be read: {why}") from None


def called(stream: object) -> str:
    """The name of a stream, for messages."""
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "<stream>"


def read_from(stream: Any) -> Iterator[bytes]:
    """The bytes of a stream, by `read1` if it has that: `read` waits for a whole piece."""
    read: Callable[[int], bytes] = getattr(stream, "read1", None) or stream.read
    return _called(lambda: read(PIECE), called(stream))


def _held(stream: io.BufferedReader) -> bytes:
    """The bytes in a stream's buffer."""
    descriptor = stream.fileno()
    before = os.get_blocking(descriptor)
    os.set_blocking(descriptor, False)
    try:
        held = len(stream.peek())
        return stream.read1(held) if held else b""
    finally:
        os.set_blocking(descriptor, before)
