"""Kinds of sources, and how each of them is read as changes."""

from __future__ import annotations

import io
import os
import queue
import socket
import stat
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from functools import partial
from operator import is_
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Protocol

from tidelog.changes.reader_thread import (
    END,
    NOTHING,
    Pump,
    called,
    commits,
    from_pipe,
    from_socket,
    from_stream,
    read_from,
)
from tidelog.formats.byte_source import FileFault
from tidelog.formats.change_files import (
    FORMATS,
    Format,
    Place,
    Sourced,
    place_of,
    read_changes,
    read_notation,
    read_pieces,
)
from tidelog.formats.frames import to_table
from tidelog.formats.sockets import TCP, connect
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import TidelogError
from tidelog.program.suggestions import suggestion
from tidelog.text.change_notation import Relations
from tidelog.text.fact_rows import fitting
from tidelog.transaction.refusals import no_relation, no_row
from tidelog.transaction.transaction import check_change

TEXT = "<changes>"
SOCKET = "<socket>"
SLICE = 0.2  # seconds between two checks whether the source was closed


class ItemFeed(Protocol):
    """Items that may not have arrived yet; see `Pump`."""

    at: float

    def get(self) -> Any: ...
    def wait(self, timeout: float | None) -> None: ...
    def waiting(self, given: int) -> int: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class OpenSource:
    """A source that is read: its changes, and None where the next has not arrived yet."""

    name: str
    changes: Iterator[Sourced | None]
    feed: ItemFeed | None = None  # None if the source never waits
    given: int = 0  # updates read so far
    at_once: bool = False  # whether it is read as a whole before its first change


def open_input(
    source: Any,
    relations: Relations,
    stdin: BinaryIO | None = None,
    format: Format | None = None,
) -> OpenSource:
    """Open a source of any kind; `format` applies to those that consist of bytes."""
    if format is not None and format not in FORMATS:
        advice = suggestion(str(format), FORMATS)
        raise TidelogError(f"error: unknown format {format!r}\n    {advice}")
    if isinstance(source, str) and source.startswith(TCP) and "\n" not in source:
        source = place_of(source, format)
    if isinstance(source, Path):
        source = place_of(os.fspath(source), format)
    if isinstance(source, Place):
        return _placed(source, relations, stdin)
    if isinstance(source, io.TextIOWrapper):
        source = source.buffer
    if isinstance(source, socket.socket):
        place = _nameless(SOCKET, format)
        return _pumped(place, from_socket(lambda: source, SOCKET, False), relations)
    if callable(getattr(source, "read", None)) and not isinstance(source, io.TextIOBase):
        return _streamed(_nameless(called(source), format), source, relations)
    if format is not None:
        raise TidelogError(
            "error: format applies only to paths, binary streams and connections\n    leave it out"
        )
    if isinstance(source, str):
        return OpenSource(TEXT, read_notation([source] if source else [], TEXT, relations))
    if isinstance(source, queue.Queue | queue.SimpleQueue):
        feed: ItemFeed = FromQueue(source)
        return OpenSource("<queue>", _values(feed, relations), feed)
    if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        feed = Listed(source) if isinstance(source, Sized) else Pump(lambda _: iter(source), _ends)
        return OpenSource("<updates>", _values(feed, relations), feed)
    raise TidelogError(
        f"error: expected a source of updates, got {source!r}\n"
        "    give text, a Path, a binary stream, a socket, a queue or an iterable of updates"
    )


def _nameless(name: str, format: Format | None) -> Place:
    """A source of bytes whose name gives neither format nor relation."""
    place = Place(name, format or "changes", "")
    if place.is_table:
        advice = "give a Path named after the relation, such as edge.csv"
        raise FileFault(f"the name of {name} does not name the relation of a table", advice)
    return place


def _placed(place: Place, relations: Relations, stdin: BinaryIO | None) -> OpenSource:
    address = place.address
    if address is not None:
        return _pumped(
            place, from_socket(partial(connect, *address, place.path), place.path, True), relations
        )
    if place.live and stdin is not None:
        return _streamed(place, stdin, relations)
    if not place.is_table and _is_pipe(place.path):
        return _pumped(place, from_pipe(place.path), relations)
    return OpenSource(place.name, read_changes(place, relations, stdin), at_once=place.is_table)


def _streamed(place: Place, stream: BinaryIO, relations: Relations) -> OpenSource:
    if isinstance(stream, io.BytesIO) or _is_file(stream):
        changes = read_pieces(read_from(stream), place, relations)
        return OpenSource(place.name, changes, at_once=place.is_table)
    return _pumped(place, from_stream(stream), relations)


def _pumped(place: Place, items: Any, relations: Relations) -> OpenSource:
    pump = Pump(items, commits)
    changes = read_pieces(pump.pieces(), place, relations)
    return OpenSource(place.name, changes, pump, at_once=place.is_table)


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False  # reading it reports what is wrong


def _is_file(stream: BinaryIO) -> bool:
    if not isinstance(stream, io.BufferedReader | io.FileIO):
        return False
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


# Updates given as values.


def _values(feed: ItemFeed, relations: Relations) -> Iterator[Sourced | None]:
    """Items are updates (lists of changes, or text), or single changes with `Commit`."""
    while (item := feed.get()) is not END:
        if item is NOTHING:
            yield None
        elif isinstance(item, Change):
            yield _given(item, relations), {}
        elif isinstance(item, str):
            last: Change | None = Commit()
            for sourced in read_notation([item] if item else [], TEXT, relations):
                if sourced is not None:
                    yield sourced
                    last = sourced[0]
            if not isinstance(last, Commit):
                yield Commit(), {}
        elif isinstance(item, Iterable) and not isinstance(item, bytes | bytearray):
            last = None
            for last in item:
                yield _given(last, relations), {}
            if not isinstance(last, Commit):
                yield Commit(), {}
        else:
            raise TidelogError(
                f"error: expected an update (a list of changes, or text), got {item!r}"
            )


def _given(change: Change, relations: Relations) -> Change:
    """Check a change given as a value, and convert its row to the types of its relation."""
    if isinstance(change, Commit):
        return change
    check_change(change)
    if isinstance(change, RuleChange):
        return change
    known = relations()
    if not isinstance(change.relation, str) or change.relation not in known:
        raise no_relation(change.relation, known)
    if not isinstance(change.row, tuple):
        raise no_row(change.row)
    relation = known[change.relation]
    row = fitting(change.row, relation.kinds)
    if row is not None and type(change.row) is tuple and all(map(is_, row, change.row)):
        return change
    if row is None:  # values of other libraries, infinities, or values that do not fit
        row = to_table(relation, [change.row]).rows()[0]
    return replace(change, row=row)


def _ends(item: object) -> int:
    """How many updates an item ends."""
    return 0 if isinstance(item, FactChange | RuleChange) else 1


class Listed:
    """Items of a sequence, which never waits."""

    def __init__(self, items: Iterable[object]) -> None:
        self.at = perf_counter()
        self._items = iter(items)
        self._counted = sum(map(_ends, items))

    def get(self) -> Any:
        self.at = perf_counter()
        return next(self._items, END)

    def wait(self, timeout: float | None) -> None:
        """All items are available."""

    def waiting(self, given: int) -> int:
        return max(0, self._counted - given)

    def close(self) -> None:
        self._items = iter(())


class FromQueue:
    """Items of a queue; None ends it."""

    def __init__(self, items: queue.Queue[Any] | queue.SimpleQueue[Any]) -> None:
        self.at = perf_counter()
        self._queue = items
        self._next: Any = NOTHING  # taken from the queue while waiting
        self._closed = False

    def get(self) -> Any:
        if self._closed or self._next is END:
            return END
        self._take(block=False)
        item, self._next = self._next, NOTHING
        if item is END:
            self._next = END
        return item

    def wait(self, timeout: float | None) -> None:
        end = None if timeout is None else perf_counter() + timeout
        while self._next is NOTHING and not self._closed:
            left = SLICE if end is None else min(SLICE, end - perf_counter())
            if left <= 0:
                return
            self._take(block=True, timeout=left)

    def _take(self, block: bool, timeout: float | None = None) -> None:
        if self._next is not NOTHING:
            return
        try:
            item = self._queue.get(block, timeout)
        except queue.Empty:
            return
        except Exception as error:
            if type(error).__name__ != "ShutDown":  # queues can be shut down since Python 3.13
                raise
            item = None
        self.at = perf_counter()
        self._next = END if item is None else item

    def waiting(self, given: int) -> int:
        return self._queue.qsize() + (self._next not in (NOTHING, END))

    def close(self) -> None:
        self._closed = True
