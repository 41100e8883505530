"""Updates from sources of every kind: the same ones, in order, without waiting in `poll`."""

# ruff: noqa: PT012 (what a block does before the error is the point here)

from __future__ import annotations

import gzip
import io
import itertools
import os
import queue
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tidelog import (
    Commit,
    Database,
    FactChange,
    LimitError,
    Limits,
    RuleChange,
    TidelogError,
)
from tidelog.changes.arrivals import Arrivals
from tidelog.changes.policies.policy import Arrived
from tidelog.changes.reader_thread import AHEAD, PIECE
from tidelog.formats.change_files import place_of
from tidelog.formats.json_changes import jsonl_text
from tidelog.text import parse
from tidelog.text.change_notation import change_text

PROGRAM = """
.decl edge(x: number, y: number)
.decl weight(of: number, is: float)
path(x, y) :- edge(x, y).
"""
UPDATES = [
    [FactChange("+", "edge", (1, 2)), FactChange("+", "edge", (2, 3))],
    [FactChange("-", "edge", (1, 2))],
    [FactChange("+", "edge", (3, 4))],
]
FLAT = [change for update in UPDATES for change in (*update, Commit())]
TEXT = "\n".join(map(change_text, FLAT)) + "\n"
JSON = "\n".join(map(jsonl_text, FLAT)) + "\n"
TABLE = "op,commit,x,y\n+,1,1,2\n+,1,2,3\n-,2,1,2\n+,3,3,4\n"


def arrivals_of(source: Any, stdin: Any = None) -> Arrivals:
    db = Database(PROGRAM)
    return Arrivals(source, db._state, stdin)


def polled(arrivals: Arrivals, seconds: float = 30) -> Iterator[Arrived]:
    """All updates, with waiting in between."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        update = arrivals.poll()
        if update is not None:
            yield update
        elif arrivals.ended:
            return
        else:
            arrivals.wait(1)
    raise AssertionError("the source does not end")


def changes(updates: Any) -> list[list[object]]:
    return [[change for change, _ in update.changes] for update in updates]


# Every kind.


def _pipe(folder: Path) -> Any:
    ours, theirs = os.pipe()
    _later(lambda: _write_slowly(os.fdopen(theirs, "wb"), TEXT.encode()))
    return os.fdopen(ours, "rb")


def _write_slowly(stream: Any, data: bytes) -> None:
    with stream:
        for at in range(0, len(data), 7):  # in the midst of lines and updates
            stream.write(data[at : at + 7])
            stream.flush()


def _named_pipe(folder: Path) -> Path:
    path = folder / "a.changes"
    os.mkfifo(path)
    _later(lambda: _write_slowly(open(path, "wb"), TEXT.encode()))  # noqa: SIM115
    return path


def _read_before(folder: Path) -> Any:
    """A stream of which the first line was read: the rest waits inside it."""
    ours, theirs = os.pipe()
    os.write(theirs, b"ready\n" + TEXT.encode()[:20])
    stream = os.fdopen(ours, "rb")
    assert stream.readline() == b"ready\n"
    _later(lambda: _write_slowly(os.fdopen(theirs, "wb"), TEXT.encode()[20:]))
    return stream


def _socket(folder: Path) -> socket.socket:
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            for at in range(0, len(TEXT), 5):
                theirs.sendall(TEXT.encode()[at : at + 5])

    _later(send)
    return ours


def serve(data: bytes, reset: threading.Event | None = None) -> str:
    """The address of a server that sends this to whoever comes first, and may then break off."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with server, server.accept()[0] as connection:
            connection.sendall(data)
            if reset is not None:
                reset.wait()
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    _later(accept)
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def _queue(folder: Path, kind: Callable[[], Any] = queue.Queue) -> Any:
    made = kind()

    def put() -> None:
        for update in (*UPDATES, None):
            time.sleep(0.01)
            made.put(update)

    _later(put)
    return made


def _later(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def _generator(folder: Path) -> Iterator[object]:
    for update in UPDATES:
        time.sleep(0.01)
        yield update


def _file(name: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def _parquet(folder: Path) -> Path:
    rows = [("+", 1, 1, 2), ("+", 1, 2, 3), ("-", 2, 1, 2), ("+", 3, 3, 4)]
    columns = dict(zip(("op", "commit", "x", "y"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), folder / "edge.parquet")
    return folder / "edge.parquet"


def _files(folder: Path) -> list[Path]:
    """The last update of a file needs no commit."""
    parts = TEXT.split("commit.\n")
    paths = [_file(f"{i}.changes", part.encode())(folder) for i, part in enumerate(parts)]
    _later(lambda: None)
    return paths


class Generic(io.RawIOBase):
    """A stream that only Python knows."""

    def __init__(self) -> None:
        self.left = TEXT.encode()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        time.sleep(0.001)
        piece, self.left = self.left[:9], self.left[9:]
        return piece


KINDS: dict[str, Callable[[Path], Any]] = {
    "text": lambda folder: TEXT,
    "a file": _file("a.changes", TEXT.encode()),
    "a compressed file": _file("a.changes.gz", gzip.compress(TEXT.encode())),
    "JSON Lines": _file("a.jsonl", JSON.encode()),
    "a table": _file("edge.csv", TABLE.encode()),
    "Parquet": _parquet,
    "files": _files,
    "a place": lambda folder: place_of(f"edge={_file('new.csv', TABLE.encode())(folder)}"),
    "an open file": lambda folder: _file("a.changes", TEXT.encode())(folder).open("rb"),
    "bytes in memory": lambda folder: io.BytesIO(TEXT.encode()),
    "a text stream over bytes": lambda folder: io.TextIOWrapper(io.BytesIO(TEXT.encode())),
    "a pipe": _pipe,
    "a pipe that was read before": _read_before,
    "a named pipe": _named_pipe,
    "another stream": lambda folder: Generic(),
    "a socket": _socket,
    "an address": lambda folder: serve(TEXT.encode()),
    "an address of a table": lambda folder: place_of(f"edge={serve(TABLE.encode())}", "csv"),
    "JSON Lines from an address": lambda folder: place_of(serve(JSON.encode()), "jsonl"),
    "a queue": _queue,
    "a simple queue": lambda folder: _queue(folder, queue.SimpleQueue),
    "a list of lists": lambda folder: UPDATES,
    "a list of texts": lambda folder: ["\n".join(map(change_text, u)) for u in UPDATES],
    "a list of changes": lambda folder: FLAT,
    "changes without the last commit": lambda folder: iter(FLAT[:-1]),
    "a generator": _generator,
    "updates that end with a commit": lambda folder: ([*update, Commit()] for update in UPDATES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_updates(kind: str, tmp_path: Path) -> None:
    began = time.perf_counter()
    source = KINDS[kind](tmp_path)
    arrivals = arrivals_of(source)
    found = list(polled(arrivals))
    assert changes(found) == UPDATES
    assert [update.number for update in found] == [1, 2, 3]
    assert [update.changes_rules for update in found] == [False] * 3
    assert all(began <= update.at <= time.perf_counter() for update in found)
    assert arrivals.ended
    assert arrivals.poll() is None
    if hasattr(source, "close"):
        source.close()


@pytest.mark.parametrize("format", ["changes", "jsonl", "csv"])
def test_the_standard_input(format: Any) -> None:
    data = {"changes": TEXT, "jsonl": JSON, "csv": TABLE}[format].encode()
    place = place_of("edge=-" if format == "csv" else "-", format)
    assert changes(polled(arrivals_of([place], io.BytesIO(data)))) == UPDATES


@pytest.mark.parametrize(
    ("format", "text"), [("changes", TEXT), ("jsonl", JSON), ("csv", TABLE), (None, TEXT)]
)
def test_a_format_is_given_where_no_name_tells_it(tmp_path: Path, format: Any, text: str) -> None:
    path = tmp_path / "edge"
    path.write_text(text)
    if format is not None:
        db = Database(PROGRAM)
        assert db.stream(path, format=format).run().updates == len(UPDATES)
        assert db.stream([path], format=format).run().updates == len(UPDATES)
    if format != "csv":
        db = Database(PROGRAM)
        assert db.stream(io.BytesIO(text.encode()), format=format).run().updates == len(UPDATES)
        with path.open("rb") as opened:
            assert db.stream(opened, format=format).run().updates == len(UPDATES)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(text.encode())
            theirs.shutdown(socket.SHUT_WR)
            assert db.stream(ours, format=format).run().updates == len(UPDATES)


@pytest.mark.parametrize(
    ("source", "format", "message"),
    [
        (
            Path("log"),
            "json",
            "error: unknown format 'json'\n    did you mean jsonl?",
        ),
        (
            io.BytesIO(b""),
            "csv",
            "error: the name of <stream> does not name the relation of a table\n"
            "    give a Path named after the relation, such as edge.csv",
        ),
        (
            "+edge(1, 2).",
            "changes",
            "error: format applies only to paths, binary streams and connections\n    leave it out",
        ),
        (
            [["+edge(1, 2)."]],
            "jsonl",
            "error: format applies only to paths, binary streams and connections\n    leave it out",
        ),
        (Path("."), None, "error: . is a folder, not a file\n    name a file inside it"),
    ],
)
def test_formats_that_cannot_be(source: Any, format: Any, message: str) -> None:
    with pytest.raises(TidelogError) as caught:
        Database(PROGRAM).stream(source, format=format).run()
    assert str(caught.value) == message


def test_a_rule_goes_by_its_text_as_a_value() -> None:
    db = Database(PROGRAM, facts={"edge": [(1, 2)]})
    text = "far(x) :- path(x, _)."
    there = db.stream([[RuleChange("+", text)]])
    assert [done.delta.counts for done in there] == [{"far": (1, 0)}]
    with pytest.raises(TidelogError, match="the program has no such rule"):
        db.stream([[RuleChange("-", "far(x) :- path(_, x)")]]).run()
    again = db.stream([[RuleChange("-", "far(y) :- path(y, _)")], [RuleChange("+", text)]])
    assert [done.delta.counts for done in again] == [{"far": (0, 1)}, {"far": (1, 0)}]
    assert db.apply([RuleChange("-", text)])[0].counts == {"far": (0, 1)}
    with pytest.raises(TidelogError, match="expected a rule as text, got 5"):
        db.stream([[RuleChange("-", 5)]]).run()  # type: ignore[arg-type]


def test_a_delta_is_an_update() -> None:
    db = Database(PROGRAM)
    deltas = db.apply("+edge(1, 2). commit. -edge(1, 2). +edge(3, 4). commit.")
    copy = Database(".decl edge(x: number, y: number) .decl path(x: number, y: number)")
    assert [done.delta.counts for done in copy.stream(deltas)] == [d.counts for d in deltas]
    assert copy["path"].rows() == [(3, 4)]


def test_empty_sources_and_empty_updates() -> None:
    for nothing in ("", "  \n", [], [""], iter(()), io.BytesIO(b"")):
        assert list(polled(arrivals_of(nothing))) == []
    for empty in ("commit.", [[]], [Commit()], ["commit."], iter([[Commit()]])):
        assert changes(polled(arrivals_of(empty))) == [[]]


def test_values_of_other_libraries_fit_their_columns() -> None:
    rows: list[Any] = [
        ("edge", (np.int64(1), np.int32(2))),
        ("weight", (1, 2)),
        ("weight", (2, -0.0)),
    ]
    (update,) = polled(arrivals_of([[FactChange("+", name, row) for name, row in rows]]))
    found = [change.row for change, _ in update.changes if isinstance(change, FactChange)]
    assert found == [(1, 2), (1, 2.0), (2, 0.0)]
    kinds = [[type(value) for value in row] for row in found]
    assert kinds == [[int, int], [int, float], [int, float]]
    assert str(found[2][1]) == "0.0"


# Waiting.


def test_poll_never_waits() -> None:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as stream, os.fdopen(theirs, "wb", buffering=0) as sender:
        arrivals = arrivals_of(stream)
        assert [arrivals.poll() for _ in range(100)] == [None] * 100
        arrivals.wait(0.05)
        assert arrivals.poll() is None
        assert not arrivals.ended
        sender.write(b"+edge(1, 2).\ncom")
        arrivals.wait()
        assert arrivals.poll() is None
        sent = time.perf_counter()
        sender.write(b"mit.\n")
        arrivals.wait()
        there = time.perf_counter()
        update = arrivals.poll()
        assert update is not None
        assert sent <= update.at <= there  # when it was read, not when it was asked for
        arrivals.close()
        assert arrivals.ended


def test_waiting_ends_when_the_source_is_closed() -> None:
    for source in (queue.Queue[object](), _endless_silence()):
        arrivals = arrivals_of(source)
        assert arrivals.poll() is None
        threading.Timer(0.1, arrivals.close).start()
        arrivals.wait()
        assert arrivals.poll() is None
        assert arrivals.ended


def test_an_update_that_arrives_in_small_parts_stops_at_a_limit() -> None:
    source: queue.Queue[object] = queue.Queue()
    arrivals = arrivals_of(source)
    arrivals.limit(Limits(max_facts=3))
    assert arrivals.poll() is None
    for number in range(3):
        source.put(FactChange("+", "edge", (number, number)))
        arrivals.wait()
        assert arrivals.poll() is None
    source.put(FactChange("+", "edge", (3, 3)))
    arrivals.wait()
    with pytest.raises(LimitError, match="more than 3 facts"):
        arrivals.poll()


def _endless_silence() -> Iterator[object]:
    time.sleep(3600)
    yield []


def test_waiting_updates_are_counted() -> None:
    made = queue.Queue[object]()
    arrivals = arrivals_of(made)
    for update in UPDATES:
        made.put(update)
    assert arrivals.poll() is not None
    assert arrivals.waiting == 2
    arrivals = arrivals_of(UPDATES)
    assert arrivals.poll() is not None
    assert arrivals.waiting == 2
    ours, theirs = os.pipe()
    os.write(theirs, TEXT.encode())
    with os.fdopen(ours, "rb") as stream:
        arrivals = arrivals_of(stream)
        assert next(polled(arrivals)).number == 1
        assert arrivals.waiting == 2
        os.close(theirs)
        assert len(list(polled(arrivals))) == 2
        assert arrivals.waiting == 0


# Back pressure.


def test_an_endless_iterator_is_read_no_further_than_needed() -> None:
    made = 0

    def endless() -> Iterator[list[FactChange]]:
        nonlocal made
        for made in itertools.count(1):
            yield [FactChange("+", "edge", (made, made))]

    arrivals = arrivals_of(endless())
    first = list(itertools.islice(polled(arrivals), 5))
    time.sleep(0.2)
    assert [update.number for update in first] == [1, 2, 3, 4, 5]
    assert made <= 5 + AHEAD + 1
    arrivals.close()


def test_whoever_writes_into_a_full_pipe_waits() -> None:
    ours, theirs = os.pipe()
    written = 0
    line = b"+edge(1, 2). commit.\n" * 1000

    def write() -> None:
        nonlocal written
        try:
            while True:
                written += os.write(theirs, line)
        except OSError:
            os.close(theirs)

    with os.fdopen(ours, "rb") as stream:
        arrivals = arrivals_of(stream)
        writer = threading.Thread(target=write)
        writer.start()
        assert len(list(itertools.islice(polled(arrivals), 10))) == 10
        before = -1
        while before != written:  # until the pipe is full
            before = written
            time.sleep(0.1)
            assert written < (AHEAD + 2) * PIECE + 2**17 + len(line)
        arrivals.close()
    writer.join(10)  # nobody reads any more
    assert not writer.is_alive()


# Errors, in their place.


def faults(source: Any, each: Callable[[], object] = lambda: None) -> tuple[int, str]:
    """How many updates come before the error, and what it says."""
    arrivals = arrivals_of(source)
    count = 0
    with pytest.raises(TidelogError) as caught:
        for _ in polled(arrivals):
            count += 1
            each()
    assert arrivals.ended
    assert arrivals.poll() is None
    return count, str(caught.value)


def _then(*items: object) -> Iterator[object]:
    yield from items
    raise TidelogError("the source is broken")


@pytest.mark.parametrize(
    ("source", "count", "message"),
    [
        (
            "+edge(1, 2). commit. -edge(1, 2). commit. +egde(1, 2).",
            2,
            "<changes>:1:44: error: unknown relation egde\n"
            "  1 | +edge(1, 2). commit. -edge(1, 2). commit. +egde(1, 2).\n"
            "    |                                            ^^^^ did you mean edge?",
        ),
        (_then([], []), 2, "the source is broken"),
        ([[], 7], 1, "error: expected an update (a list of changes, or text), got 7"),
        ([[], [7]], 1, "error: expected a FactChange or a RuleChange, got 7"),
        (
            [[], [FactChange("+", "egde", (1, 2))]],
            1,
            "error: unknown relation egde\n    did you mean edge?",
        ),
        (
            [[], [FactChange("+", "edge", (1, "a"))]],
            1,
            "error: edge, row 1: column y is a number, got 'a'",
        ),
        (
            [[FactChange("+", "edge", [1, 2])]],  # type: ignore[arg-type]
            0,
            "error: expected a fact's row as a tuple, got [1, 2]",
        ),
        (
            ["+edge(1, 2).", "-path(y, x) :- edge(x, y)."],
            1,
            "<changes>:1:2: error: the program has no such rule\n"
            "  1 | -path(y, x) :- edge(x, y).\n"
            "    |  ^^^^ write the text of the rule; only the names of variables may differ\n"
            "    note: there is path(x, y) :- edge(x, y).",
        ),
        (
            Path("no.changes"),
            0,
            "error: file no.changes does not exist\n    check the name and the folder",
        ),
        (
            7,
            0,
            "error: expected a source of updates, got 7\n"
            "    give text, a Path, a binary stream, a socket, a queue or an iterable of updates",
        ),
        (b"+edge(1, 2).", 0, "error: expected a source of updates, got b'+edge(1, 2).'\n"),
        ("tcp://localhost", 0, "error: 'tcp://localhost' is not an address\n"),
        ("tcp://localhost:http", 0, "error: 'tcp://localhost:http' is not an address\n"),
        ("tcp://:99/x", 0, "error: 'tcp://:99/x' is not an address\n"),
        ("tcp://[::1:99", 0, "error: 'tcp://[::1:99' is not an address\n"),
        ("tcp://no-such-host.invalid:9", 0, "error: the host of tcp://no-such-host.invalid:9 is"),
    ],
)
def test_errors_come_in_their_place(source: Any, count: int, message: str) -> None:
    found, told = faults(source)
    assert found == count
    assert told.startswith(message) if message.endswith(("\n", "is")) else told == message


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    assert faults(address) == (
        0,
        f"error: nothing listens at {address}\n    start the sender first",
    )


def test_a_connection_that_breaks() -> None:
    reset = threading.Event()
    address = serve(b"+edge(1, 2). commit.\n+edge(2, 3).\n", reset)
    assert faults(address, reset.set) == (
        1,
        f"error: {address} cannot be read: Connection reset by peer",
    )


def test_an_error_is_told_before_its_update_is_complete() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"+edge(1, 2). commit.\n+edge(1, x).\n")
        assert faults(ours) == (
            1,
            "<socket>:2:10: error: expected a constant, got the variable `x`\n"
            "  2 | +edge(1, x).\n"
            '    |          ^ write a constant, such as 1 or "x"',
        )


def test_a_closed_stream() -> None:
    ours, theirs = os.pipe()
    os.close(theirs)
    stream = os.fdopen(ours, "rb")
    stream.close()
    assert faults(stream) == (0, "error: <stream> is closed")


def test_what_is_cut_off_at_the_end_of_a_connection() -> None:
    assert faults(serve(b"commit.\n+edge(1,"))[0] == 1


# Rules.

RULE = parse("far(x) :- path(x, 3).").program.clauses[0]


@pytest.mark.parametrize(
    "source",
    [
        "+far(x) :- path(x, 3). +far(77). commit. +far(78). commit.",
        [
            [RuleChange("+", RULE), FactChange("+", "far", (77,))],
            [FactChange("+", "far", (78,))],
        ],
        ["+far(x) :- path(x, 3). +far(77).", "+far(78)."],
        iter([[RuleChange("+", "far(x) :- path(x, 3)."), *FLAT[:0], FactChange("+", "far", (77,))],
              "+far(78)."]),
    ],
)  # fmt: skip
def test_nothing_is_read_beyond_a_change_of_rules(source: Any) -> None:
    db = Database(PROGRAM)
    arrivals = Arrivals(source, db._state)
    first = next(polled(arrivals))
    assert first.changes_rules
    assert len(first.changes) == 2
    assert arrivals.poll() is None
    assert not arrivals.ended
    arrivals.wait(0.01)
    with db.transaction() as tx:
        for change, sources in first.changes:
            tx.change(change, sources)
    arrivals.applied(1)
    (second,) = polled(arrivals)
    assert changes([second]) == [[FactChange("+", "far", (78,))]]


class Caseless(tuple[str]):
    """A row that is equal to others by a rule of its own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[0].lower() == other[0].lower()

    def __hash__(self) -> int:
        return hash(self[0].lower())


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_rows_are_equal_by_their_values_alone(policy: str) -> None:
    db = Database(".decl s(x: symbol)\nd(x) :- s(x).")
    updates = [[FactChange("+", "s", Caseless(("A",)))], [FactChange("-", "s", Caseless(("a",)))]]
    assert len(list(db.stream(updates, policy))) == 2
    assert db["s"].rows() == [("A",)]


@pytest.mark.parametrize("name", [None, 5, ["n"]])
def test_a_relation_is_given_by_its_name(name: Any) -> None:
    db = Database("d(x) :- s(x). s(1).")
    with pytest.raises(TidelogError, match="expected a relation name"):
        list(db.stream([[FactChange("+", name, (2,))]]))
    assert db["d"].rows() == [(1,)]


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_an_update_without_end_keeps_none_from_taking_effect_and_can_be_interrupted(
    policy: str,
) -> None:
    db = Database("d(x) :- s(x). s(1).")
    given: list[int] = []

    def endless() -> Iterator[FactChange]:
        for number in itertools.count():
            yield FactChange("+", "s", (number % 100,))
            if given and number % 5000 == 0:
                signal.raise_signal(signal.SIGINT)
            assert number < 1_000_000

    stream = db.stream([[FactChange("+", "s", (2,))], endless()], policy)
    with pytest.raises(KeyboardInterrupt):
        stream.run(lambda done: given.append(done.number))
    stream.close()
    assert given == [1]
    assert db["d"].rows() == [(1,), (2,)]
