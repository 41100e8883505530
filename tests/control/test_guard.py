"""Limits hold where the engine does not look: while facts are read, and inside functors."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clock import Clock
from tidelog import Database
from tidelog.control.limits import Limits, guarded, poll
from tidelog.formats import fact_files, fact_formats, json_facts, quoted_fields
from tidelog.program.diagnostics import LimitError

CALLS = ".functor spin(x: number): number\np(@spin(x)) :- q(x).\nq(1)."
SECONDS = Limits(max_seconds=0.2)
STOPPED = "error: stopped at more than 0.2 seconds\n    a larger limit is set by --max-seconds\n"


Functor = Callable[[int], int]


@pytest.fixture
def spin(clock: Clock) -> Functor:
    """A functor that never returns; all the time for the limits passes in it."""

    def spin(x: int) -> int:
        clock.late()
        while True:
            pass

    return spin


def in_thread(work: Callable[[], Any]) -> BaseException | None:
    """What the work raises in a thread that is not the main one."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


def endless_view(path: Path, select: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE VIEW q AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            f"SELECT x FROM n {select}"
        )
    database.close()


def late(clock: Clock) -> Iterator[tuple[int]]:
    """A first row, with which all the time passes."""
    clock.late()
    yield (0,)


SQLITE = '.decl q(x: number)\n.input q(IO=sqlite, filename="q.sqlite")\n.output q\n'


def spin_error(where: str = "<program>") -> str:
    return (
        f"{where}:2:1: error: stopped at more than 0.2 seconds, in round 1 of p, in the rule\n"
        "    p(@spin(x)) :- q(x).\n"
        "    a larger limit is set by --max-seconds\n"
        "    functor spin was running"
    )


def test_a_functor_that_never_returns(spin: Functor) -> None:
    with pytest.raises(LimitError) as stopped:
        Database(CALLS, functors={"spin": spin}, limits=SECONDS)
    assert str(stopped.value) == spin_error()


def test_a_functor_that_never_returns_off_the_main_thread(spin: Functor) -> None:
    error = in_thread(lambda: Database(CALLS, functors={"spin": spin}, limits=SECONDS))
    assert isinstance(error, LimitError)
    assert str(error) == spin_error()


def test_a_functor_that_catches_exceptions(spin: Functor) -> None:
    def stubborn(x: int) -> int:
        while True:
            try:
                spin(x)
            except Exception:
                continue

    with pytest.raises(LimitError, match="functor spin was running"):
        Database(CALLS, functors={"spin": stubborn}, limits=SECONDS)


def test_where_sigalrm_is_in_use(spin: Functor) -> None:
    """The program's own handler stays, and a watchdog thread does the work."""

    def own(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGALRM, own)
    try:
        with pytest.raises(LimitError, match="functor spin was running"):
            Database(CALLS, functors={"spin": spin}, limits=SECONDS)
        assert signal.getsignal(signal.SIGALRM) is own
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_commit_that_is_stopped_in_a_functor_is_rolled_back(spin: Functor) -> None:
    def slow(x: int) -> int:
        return spin(x) if x == 2 else x

    db = Database(CALLS, functors={"spin": slow})
    tx = db.transaction(limits=SECONDS)
    tx.insert("q", [(2,), (3,)])
    with pytest.raises(LimitError, match="functor spin was running"):
        tx.commit()
    assert (list(db["q"]), list(db["p"])) == ([(1,)], [(1,)])
    with db.transaction() as again:
        again.insert("q", [(3,)])
    assert list(db["p"]) == [(1,), (3,)]


def test_a_query_that_is_stopped_in_a_functor(clock: Clock, spin: Functor) -> None:
    text = ".functor spin(x: number): number\nq(1)."
    db = Database(text, functors={"spin": spin}, limits=SECONDS)
    with pytest.raises(LimitError, match="functor spin was running"):
        db.query("q(x), y = @spin(x)")
    clock.early()
    assert db.query("q(x)") == [(1,)]


@pytest.mark.parametrize("off_main", [False, True])
def test_a_view_that_yields_rows_for_ever(tmp_path: Path, clock: Clock, off_main: bool) -> None:
    clock.late_at(fact_formats, "read_sqlite")
    endless_view(tmp_path / "q.sqlite", "")
    error: BaseException | None = None
    if off_main:
        error = in_thread(lambda: Database(SQLITE, tmp_path, limits=SECONDS))
    else:
        with pytest.raises(LimitError) as stopped:
            Database(SQLITE, tmp_path, limits=SECONDS)
        error = stopped.value
    assert isinstance(error, LimitError)
    assert str(error) == f"{STOPPED}    `q` was read from {tmp_path}/q.sqlite"


@pytest.mark.parametrize("off_main", [False, True])
def test_a_view_that_yields_no_row_for_ever(tmp_path: Path, clock: Clock, off_main: bool) -> None:
    clock.late_at(fact_formats, "read_sqlite")
    endless_view(tmp_path / "q.sqlite", "WHERE x < 0")
    error: BaseException | None = None
    if off_main:
        error = in_thread(lambda: Database(SQLITE, tmp_path, limits=SECONDS))
    else:
        with pytest.raises(LimitError) as stopped:
            Database(SQLITE, tmp_path, limits=SECONDS)
        error = stopped.value
    assert isinstance(error, LimitError)
    assert str(error) == f"{STOPPED}    `q` was read from {tmp_path}/q.sqlite"


@pytest.fixture
def collecting() -> Iterator[None]:
    """A callback of the garbage collector that takes time, as profilers install them."""

    def callback(phase: str, info: dict[str, int]) -> None:
        for _ in range(20_000):
            pass

    gc.callbacks.append(callback)
    yield
    gc.callbacks.remove(callback)


@pytest.fixture(params=["view", "iterator"])
def endless(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Callable[[], Any]:
    """Make a database from a source whose rows are built in C, and do not end."""
    if request.param == "view":
        endless_view(tmp_path / "q.sqlite", "")
        clock.late_at(fact_formats, "read_sqlite")
        return lambda: Database(SQLITE, tmp_path, limits=SECONDS)
    rows = itertools.chain(late(clock), zip(itertools.count(), strict=True))
    return lambda: Database(".decl q(x: number)", {"q": rows}, limits=SECONDS)


@pytest.mark.usefixtures("collecting")
@pytest.mark.filterwarnings("error")  # where an exception is dropped, pytest warns
def test_a_stop_in_a_callback_of_the_garbage_collector(endless: Callable[[], Any]) -> None:
    with pytest.raises(LimitError, match="stopped at more than"):
        endless()


@pytest.mark.usefixtures("collecting")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_was_dropped(endless: Callable[[], Any]) -> None:
    """A thread cannot see where its exception arrives; the loop raises the stop again."""
    error = in_thread(endless)
    assert isinstance(error, LimitError)
    assert str(error).startswith(STOPPED)


def test_max_facts_while_a_view_is_read(tmp_path: Path) -> None:
    endless_view(tmp_path / "q.sqlite", "")
    with pytest.raises(LimitError) as stopped:
        Database(SQLITE, tmp_path, limits=Limits(max_facts=1000))
    assert str(stopped.value) == (
        "error: stopped at more than 1,000 facts\n    a larger limit is set by --max-facts\n"
        f"    `q` was read from {tmp_path}/q.sqlite"
    )


def test_rows_that_are_repeated_count_once(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "q.sqlite") as database:
        database.execute("CREATE TABLE q (x)")
        database.executemany("INSERT INTO q VALUES (?)", [(n % 7,) for n in range(50_000)])
    database.close()
    assert Database(SQLITE, tmp_path, limits=Limits(max_facts=10)).size("q") == 7


def many_rows(path: Path) -> None:
    path.write_bytes(b"".join(b"%d\n" % n for n in range(300_000)))


def test_max_facts_and_a_text_file(tmp_path: Path) -> None:
    many_rows(tmp_path / "q.facts")
    with pytest.raises(LimitError) as stopped:
        Database(".decl q(x: number)\n.input q", tmp_path, limits=Limits(max_facts=1000))
    assert str(stopped.value) == (
        "error: stopped at more than 1,000 facts\n    a larger limit is set by --max-facts\n"
        "    the facts of `q` were loaded"
    )


@pytest.mark.parametrize("parameters", ["", "(rfc4180=true)", '(IO=jsonfile, filename="q.facts")'])
def test_max_memory_while_a_file_is_read(tmp_path: Path, clock: Clock, parameters: str) -> None:
    for reader in (fact_files, quoted_fields, json_facts):
        clock.late_at(reader, "read_bytes")
    many_rows(tmp_path / "q.facts")
    if "json" in parameters:
        rows = ",".join(f"[{n}]" for n in range(300_000))
        (tmp_path / "q.facts").write_text(f"[{rows}]")
    program = f".decl q(x: number)\n.input q{parameters}"
    with pytest.raises(LimitError) as stopped:
        Database(program, tmp_path, limits=Limits(max_memory=1 << 20))
    first, *_, last = str(stopped.value).splitlines()
    assert first == "error: stopped at more than 1 MiB of memory"
    assert "`q`" in last


def test_iterators_without_an_end(clock: Clock) -> None:
    def rows() -> Iterator[tuple[int]]:
        return ((n,) for n in itertools.count())

    with pytest.raises(LimitError) as stopped:
        Database(".decl q(x: number)", {"q": rows()}, limits=Limits(max_facts=1000))
    assert str(stopped.value) == (
        "error: stopped at more than 1,000 facts\n    a larger limit is set by --max-facts\n"
        "    the facts of `q` were read"
    )
    same = itertools.chain(late(clock), ((1,) for _ in itertools.count()))
    with pytest.raises(LimitError) as stopped:
        Database(".decl q(x: number)", {"q": same}, limits=SECONDS)
    assert str(stopped.value) == f"{STOPPED}    the facts of `q` were read"


def test_changes_without_an_end(clock: Clock) -> None:
    db = Database("q(1).")
    tx = db.transaction(limits=SECONDS)
    with pytest.raises(LimitError) as stopped:
        tx.insert("q", itertools.chain(late(clock), ((1,) for _ in itertools.count())))
    assert str(stopped.value) == f"{STOPPED}    the changes of `q` were read"
    tx.rollback()
    assert list(db["q"]) == [(1,)]


ROOT = Path(__file__).parents[2]


def run(
    late: tuple[str, str], arguments: list[str], stdin: int, folder: Path
) -> subprocess.CompletedProcess[str]:
    """The command, with all its time passing where this function is called."""
    command = [sys.executable, "-m", "tests.cli.interrupting", "late", *late, "1", "run"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, *arguments], stdin=stdin, capture_output=True, text=True, cwd=folder,
        env=environment,
    )  # fmt: skip


def test_a_standard_input_that_stays_open(tmp_path: Path) -> None:
    (tmp_path / "q.dl").write_text(".decl q(x: number)\n.input q(IO=stdin)\n.output q\n")
    reading, writing = os.pipe()
    try:
        os.write(writing, b"1\n")
        late = ("tidelog.formats.fact_files", "read_bytes")
        found = run(late, ["q.dl", "--max-seconds", "0.2", "-D", "out"], reading, tmp_path)
    finally:
        os.close(reading)
        os.close(writing)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == f"{STOPPED}    `q` was read from <stdin>\n"
    assert not (tmp_path / "out").exists()


def test_a_check_that_takes_too_long(tmp_path: Path) -> None:
    """The functor returns for the engine and never again for the naive evaluation."""
    (tmp_path / "f.py").write_text(
        "calls = []\ndef spin(x):\n    calls.append(x)\n    while len(calls) > 1: pass\n"
        "    return x\n"
    )
    (tmp_path / "p.dl").write_text(f"{CALLS}\n.output p\n")
    arguments = ["p.dl", "--check", "--functors", "f.py", "--max-seconds", "0.5", "-D", "-"]
    found = run(("tidelog.cli.run", "_check"), arguments, subprocess.DEVNULL, tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == (
        "error: stopped at more than 0.5 seconds\n    a larger limit is set by --max-seconds\n"
        "    --check evaluated naively\n"
    )


def test_a_guard_leaves_nothing_behind() -> None:
    """A block that ends by itself is not stopped later, in the main thread or another."""

    def blocks() -> None:
        for _ in range(20):
            with guarded(lambda: None):
                sum(range(1000))

    blocks()
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert in_thread(blocks) is None


TRACED = """
import sys, threading
from tidelog.control.limits import guarded

def block():
    with guarded(lambda: None):
        pass

thread = threading.Thread(target=block)
thread.start()
thread.join()
sys.settrace(lambda *event: None)
(lambda: None)()
sys.settrace(None)
print("traced")
"""


def test_nothing_is_left_for_the_interpreter_to_look_for() -> None:
    """CPython 3.11 traces for ever where an asynchronous exception was set and taken back."""
    done = subprocess.run(
        [sys.executable, "-c", TRACED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("traced\n", "")


def test_an_alarm_in_the_midst_of_a_check() -> None:
    """On a busy machine the next alarm arrives before a check is over."""
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 1:
            signal.raise_signal(signal.SIGALRM)
        raise LimitError("error: stopped")

    with pytest.raises(LimitError, match=r"^error: stopped$"), guarded(check):
        time.sleep(60)  # to the next alarm


def test_a_stop_of_an_outer_block_in_the_midst_of_a_check() -> None:
    """It ends the outer block, and is not taken for what the inner check found."""

    def inner() -> None:
        time.sleep(60)  # to the next alarm

    def outer() -> None:
        raise LimitError("error: outer")

    def work() -> None:
        with guarded(outer), guarded(inner):
            poll()

    with pytest.raises(LimitError, match=r"^error: outer$"):
        work()
