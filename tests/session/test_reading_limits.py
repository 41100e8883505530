"""Limits hold while changes and files are read: what is read counts as it comes."""

# ruff: noqa: PT012 (what a block does before the error is the point here)

from __future__ import annotations

import io
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from tests.clock import Clock
from tidelog import Commit, Database, FactChange
from tidelog.changes import NAMES
from tidelog.changes import arrivals as arriving
from tidelog.changes.arrivals import Arrivals
from tidelog.control.limits import Limits
from tidelog.formats import fact_files, quoted_fields
from tidelog.formats.byte_source import Bounds
from tidelog.local import string_functors
from tidelog.program.diagnostics import DataError, LimitError, TidelogError
from tidelog.program.rules import Relation

PROGRAM = ".decl q(x: number)\np(x) :- q(x)."
FACTS = "error: stopped at more than 1,000 facts\n    a larger limit is set by --max-facts\n    "
SECONDS = (
    "error: stopped at more than 0.2 seconds\n    a larger limit is set by --max-seconds\n    "
)
LIMITS = Limits(max_facts=1000)


class Endless:
    """Rows that can be asked for again and again, and never end."""

    def __init__(self) -> None:
        self.given = 0

    def __iter__(self) -> Iterator[tuple[int]]:
        for n in itertools.count():
            self.given += 1
            yield (n,)


def insertions() -> Iterator[FactChange]:
    return (FactChange("+", "q", (n,)) for n in itertools.count())


def test_facts_without_an_end_that_are_no_iterator() -> None:
    rows = Endless()
    with pytest.raises(LimitError) as stopped:
        Database(PROGRAM, {"q": rows}, limits=LIMITS)
    assert str(stopped.value) == f"{FACTS}the facts of `q` were read"
    assert rows.given < 200_000


@pytest.mark.parametrize("make", [Endless, lambda: ((n,) for n in itertools.count())])
def test_rows_inserted_without_an_end(make: Callable[[], Iterator[tuple[int]]]) -> None:
    db = Database(PROGRAM, limits=LIMITS)
    tx = db.transaction()
    with pytest.raises(LimitError) as stopped:
        tx.insert("q", make())
    assert str(stopped.value) == f"{FACTS}the changes of `q` were read"
    tx.rollback()
    assert db.size("q") == 0
    with db.transaction() as tx:
        tx.insert("q", ((n % 7,) for n in range(5000)))
    assert db.size("p") == 7


def test_batches_without_an_end() -> None:
    schema = pa.schema([("x", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for n in itertools.count():
            assert n < 1000, "read to the end before any fact is counted"
            yield pa.record_batch({"x": range(n * 100, n * 100 + 100)})

    def reader() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(schema, batches())

    with pytest.raises(LimitError) as stopped:
        Database(PROGRAM, {"q": reader()}, limits=LIMITS)
    assert str(stopped.value) == f"{FACTS}the facts of `q` were read"
    db = Database(PROGRAM, limits=LIMITS)
    with pytest.raises(LimitError) as stopped, db.transaction() as tx:
        tx.insert("q", reader())
    assert str(stopped.value) == f"{FACTS}the changes of `q` were read"
    assert db.size("q") == 0


def test_changes_one_by_one_without_an_end(clock: Clock) -> None:
    db = Database(PROGRAM, limits=LIMITS)
    with pytest.raises(LimitError) as stopped:
        db.apply(insertions())
    assert str(stopped.value) == f"{FACTS}the changes were read"
    with pytest.raises(LimitError, match="more than 1,000 facts"), db.transaction() as tx:
        for change in insertions():
            tx.change(change)

    def same() -> Iterator[FactChange]:
        clock.late()
        while True:
            yield FactChange("-", "q", (1,))

    db = Database(PROGRAM, limits=Limits(max_seconds=0.2))
    with pytest.raises(LimitError) as stopped:
        db.apply(same())
    assert str(stopped.value) == f"{SECONDS}the changes were read"
    assert db.size("q") == 0


@pytest.mark.parametrize("policy", NAMES)
def test_an_update_without_an_end(policy: str) -> None:
    db = Database(PROGRAM, limits=LIMITS)
    seen = []
    with pytest.raises(LimitError) as stopped:
        for done in db.stream([[FactChange("+", "q", (1,))], insertions()], policy):
            seen.append(done.number)
    assert str(stopped.value) == f"{FACTS}update 2 was read from <updates>"
    assert (seen, list(db["q"])) == ([1], [(1,)])


@pytest.mark.parametrize("name", ["q.changes", "q.csv", "q.jsonl"])
def test_a_file_that_takes_too_long(name: str, clock: Clock, tmp_path: Path) -> None:
    path, rows = tmp_path / name, range(100_000)
    if name == "q.csv":
        path.write_text("op,x\n" + "".join(f"+,{n}\n" for n in rows))
    elif name == "q.jsonl":
        path.write_text("".join(f'{{"op": "+", "relation": "q", "args": [{n}]}}\n' for n in rows))
    else:
        path.write_text("".join(f"+q({n}).\n" for n in rows))
    db = Database(PROGRAM)
    clock.late_at(arriving, "open_input")
    with pytest.raises(LimitError) as stopped:
        db.stream(path, limits=Limits(max_seconds=0.2)).run()
    assert str(stopped.value) == f"{SECONDS}update 1 was read from {path}"
    with pytest.raises(LimitError) as stopped:
        db.stream(path, limits=LIMITS).run()
    assert str(stopped.value) == f"{FACTS}update 1 was read from {path}"
    with pytest.raises(LimitError) as stopped:
        db.stream(path, limits=Limits(max_memory=1 << 20)).run()
    assert str(stopped.value).startswith("error: stopped at more than 1 MiB of memory")
    assert str(stopped.value).endswith(f"update 1 was read from {path}")
    assert db.size("q") == 0


def test_changes_of_one_fact_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving, "PORTION", 10)
    db = Database(PROGRAM, limits=Limits(max_facts=20))
    update = [FactChange("+", "q", (n % 7,)) for n in range(500)]
    gone = [FactChange("-" if n % 2 else "+", "q", (n // 2,)) for n in range(500)]
    arrivals = Arrivals([update, gone], db._state)
    arrivals.limit(db.core.options.limits)
    while arrivals.given < 2:
        arrivals.poll()
        arrivals.wait(1)
    db.stream([update]).run()
    assert db.size("q") == 7


def test_waiting_for_a_source_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    wait, now, left = Arrivals.wait, time.perf_counter(), iter(range(4))

    def waited(self: Arrivals, timeout: float | None = None) -> None:
        """The next line comes after a long time."""
        nonlocal now
        now += 1000
        if (n := next(left, None)) is not None:
            os.write(writing, b"+q(%d).\n" % n)
        else:
            os.close(writing)
        wait(self, timeout)

    monkeypatch.setattr(arriving, "perf_counter", lambda: now)
    monkeypatch.setattr(Arrivals, "wait", waited)
    db = Database(PROGRAM)
    with open(reading, "rb") as stream:
        (done,) = db.stream(stream, limits=Limits(max_seconds=500))
    assert done.delta.counts["p"] == (4, 0)
    assert next(left, None) is None


def test_reading_counts_for_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reading has taken is not given once more to the evaluation."""
    db = Database("n(0). n(x + 1) :- n(x), go(y), x < y. go(-1).")
    limits = Limits(max_seconds=5)
    poll = Arrivals._poll

    def late(self: Arrivals) -> object:
        self._watch.began -= 1000
        return poll(self)

    monkeypatch.setattr(Arrivals, "_poll", late)
    with pytest.raises(LimitError, match="more than 5 seconds"):
        db.stream([[FactChange("+", "go", (5,)), Commit()]], limits=limits).run()
    assert db.size("n") == 1


@pytest.mark.parametrize("parameters", ["", "(rfc4180=true)", '(columns="1")', "(headers=true)"])
def test_a_file_of_facts_is_read_in_portions(
    parameters: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_files, "FIRST", 1000)
    monkeypatch.setattr(quoted_fields, "ROWS", 100)
    separated = "," if "rfc" in parameters else "\t"
    lines = [
        f"a{separated}{n % 2000}\n" if "col" in parameters else f"{n}\n" for n in range(20_000)
    ]
    path = tmp_path / "q.facts"
    path.write_text("".join(lines[:19_000]) + "no number\n")
    program = f".decl q(x: number)\n.input q{parameters}"
    with pytest.raises(LimitError):  # before it comes to the line that is wrong
        Database(program, tmp_path, limits=LIMITS)
    with pytest.raises(TidelogError, match=r"19001:\d+: error: ") as wrong:
        Database(program, tmp_path, limits=Limits(max_facts=18_999))
    with pytest.raises(TidelogError) as whole:
        Database(program, tmp_path)
    assert str(wrong.value).splitlines()[0] == str(whole.value).splitlines()[0]
    path.write_text("".join(lines))
    sizes = [
        Database(program, tmp_path, limits=Limits(max_facts=most)).size("q")
        for most in ((2_000, 3_000, 30_000) if "col" in parameters else (20_000, 30_000))
    ]
    assert set(sizes) == {Database(program, tmp_path).size("q")}


def test_the_standard_input_need_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_files, "FIRST", 1000)
    relation = Relation("q", ("x",), ("number",))

    class Lines(io.BytesIO):
        given = 0

        def read(self, size: int | None = -1, /) -> bytes:
            first, self.given = self.given, self.given + 100
            assert first < 10_000, "read to the end before any fact is counted"
            return "".join(f"{n}\n" for n in range(first, first + 100)).encode()

    tables = fact_files.read_portions(Lines(), relation, bounds=Bounds(max_facts=50))
    rows = [row for table in islice(tables, 3) for row in table.rows()]
    assert rows == [(n,) for n in range(len(rows))]
    text = "".join(f"{n}\n" for n in range(3_000)) + "x\n"
    tables = fact_files.read_portions(
        io.BytesIO(text.encode()), relation, bounds=Bounds(max_facts=50)
    )
    with pytest.raises(DataError, match=r"^<stdin>:3001:1: error: "):
        list(tables)
    (empty,) = fact_files.read_portions(io.BytesIO(), relation, bounds=Bounds(max_facts=50))
    assert empty.rows() == []


def test_a_pattern_that_is_none_warns_at_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "m.dl"
    path.write_text('s("a").\np(x) :- s(x), match("(a", x).\n')
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Database(path)
    (warning,) = found
    assert warning.filename == __file__
    assert str(warning.message).startswith(
        f'{path}:2:1: warning: match: "(a" is not a regular expression: missing `)` in `(a`'
    )
    assert str(warning.message).endswith('in the rule\n    p(x) :- s(x), match("(a", x).')
    assert string_functors.compute("match", ("symbol",) * 3, [["a"], ["a"]]) == [1]
