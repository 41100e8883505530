"""The processor: updates come out in order and once, whatever the policy, errors and Ctrl-C."""

# ruff: noqa: PT012 (what a block does before the error is the point here)

from __future__ import annotations

import gc
import io
import itertools
import queue
import random
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.changes.together import Together
from tidelog import (
    Commit,
    Database,
    DataError,
    EvaluationError,
    FactChange,
    Finished,
    LimitError,
    Limits,
    ProgramError,
    TidelogError,
)
from tidelog.changes import NAMES
from tidelog.changes.metrics import Times
from tidelog.changes.policies import policy as policies
from tidelog.changes.stream import Stream
from tidelog.control.limits import Position, used_memory
from tidelog.program.changes import Op
from tidelog.transaction import state as turns

REACH = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
POLICIES = [*NAMES, "together", "lingering"]
Update = list[FactChange]


@pytest.fixture(autouse=True)
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = policies.POLICIES
    monkeypatch.setitem(known, "together", Together)
    monkeypatch.setitem(known, "lingering", partial(Together, linger=2))


def settling(db: Database, source: Any, **options: Any) -> Stream:
    """A stream of the policy `together`, with options of its own."""
    known: Any = policies.POLICIES
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(known, "together", partial(Together, **options))
        return db.stream(source, "together")


def reach(*edges: tuple[int, int]) -> Database:
    return Database(f".decl edge(x: number, y: number) {REACH}", facts={"edge": list(edges)})


def plus(*row: int) -> FactChange:
    return FactChange("+", "edge", row)


def minus(*row: int) -> FactChange:
    return FactChange("-", "edge", row)


def history(count: int, seed: int = 0) -> list[Update]:
    """Updates of a few changes each, among few facts."""
    chance = random.Random(seed)
    signs: list[Op] = ["+", "+", "-"]
    return [
        [
            FactChange(chance.choice(signs), "edge", (chance.randrange(6), chance.randrange(6)))
            for _ in range(chance.randrange(4))
        ]
        for _ in range(count)
    ]


def fresh(updates: list[Update]) -> list[tuple[Any, ...]]:
    """What a database with the facts that are left has."""
    edges: dict[tuple[Any, ...], None] = {}
    for change in itertools.chain(*updates):
        if change.op == "+":
            edges[change.row] = None
        else:
            edges.pop(change.row, None)
    return reach(*edges)["path"].rows() if edges else []  # type: ignore[arg-type]


def slowly(updates: list[Update], seed: int) -> Iterator[Update]:
    """Bursts and pauses."""
    chance = random.Random(seed)
    for update in updates:
        if chance.random() < 0.2:
            time.sleep(chance.random() * 0.02)
        yield update


# In order, and once.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_all_updates_in_order_and_once(policy: str, seed: int) -> None:
    updates = history(60, seed)
    db = reach()
    seen: set[tuple[Any, ...]] = set()
    numbers = []
    for done in db.stream(slowly(updates, seed), policy):
        numbers.append(done.number)
        assert not seen & set(done.delta.added("path"))
        assert seen >= set(done.delta.removed("path"))
        seen = (seen | set(done.delta.added("path"))) - set(done.delta.removed("path"))
        assert done.changes == len(updates[done.number - 1])
    assert numbers == list(range(1, 61))
    assert db["path"].rows() == sorted(seen) == fresh(updates)


def test_what_is_told_of_an_update() -> None:
    db = reach((1, 2))
    first, second = db.stream([[plus(2, 3), plus(3, 4)], [minus(1, 2)]])
    assert isinstance(first, Finished)
    assert (first.number, first.changes, first.together) == (1, 2, 1)
    assert first.delta.counts == {"edge": (2, 0), "path": (5, 0)}
    assert [work.relations for work in first.report.works] == [("edge",), ("path",)]
    for done in (first, second):
        assert 0 <= done.waited <= done.first_effect <= done.latency
        assert 0 < done.seconds <= done.latency


def test_updates_that_settle_together() -> None:
    db = reach()
    done = list(db.stream([[plus(i, i + 1)] for i in range(6)], "together"))
    assert [each.together for each in done] == [4, 4, 4, 4, 2, 2]
    assert [len(each.delta) for each in done] == [0, 0, 0, 14, 0, 13]
    assert db.size("path") == 21


def test_a_queue_that_is_filled_while_it_is_worked_off() -> None:
    """Each delta is there before the next update is made: `run` tells when it is finished."""
    updates: queue.Queue[object] = queue.Queue()
    db = reach()

    def go_on(done: Finished) -> None:
        updates.put([plus(done.number, done.number + 1)] if done.number < 5 else None)

    updates.put([plus(0, 1)])
    metrics = db.stream(updates).run(go_on)
    assert (metrics.updates, metrics.changes) == (5, 5)
    assert metrics.facts == 5 + 15
    assert db.size("path") == 15


def test_rules_come_and_go_alone() -> None:
    db = reach((1, 2), (2, 3))
    log: list[str] = []
    text = """
        +edge(3, 4). commit.
        +edge(4, 5). commit.
        +far(x) :- path(x, 5). commit.
        +far(77). commit.
        -edge(1, 2). commit.
        -far(x) :- path(x, 5). commit.
        +edge(1, 2). commit.
    """
    done = list(settling(db, text, log=log))
    assert [each.together for each in done] == [2, 2, 1, 2, 2, 1, 1]
    groups = "; ".join(log).replace("step; ", "").replace("; step", "")
    assert groups == "; ".join(f"take {number}" for number in range(1, 8))
    assert db["far"].rows() == [(77,)]
    assert db.size("path") == 10


def test_a_dry_run_changes_nothing() -> None:
    db = reach((1, 2))
    done = list(db.stream("+edge(2, 3). commit. +edge(2, 3).", dry_run=True))
    assert [len(each.delta) for each in done] == [3, 3]
    assert db.size("edge") == 1


# Errors.

WRONG: list[tuple[str, type[TidelogError], str]] = [
    ("+egde(1, 2).", ProgramError, "unknown relation egde"),
    ("+edge(1).", ProgramError, "edge"),
    ("+edge(9, 0). +bad(10 / y) :- edge(x, y).", EvaluationError, "division by zero"),
    ("+edge(9, 9). +edge(x, y + 1) :- edge(x, y).", LimitError, "more than 1,000 facts"),
    ("-path(x, y) :- path(y, x).", ProgramError, "the program has no such rule"),
    ("+edge(1, 2)", ProgramError, "not complete"),
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("wrong", "kind", "message"), WRONG)
def test_an_update_at_fault(
    policy: str, wrong: str, kind: type[TidelogError], message: str
) -> None:
    """Those before it are applied and given, it and what follows are not."""
    db = reach((1, 2))
    stream = db.stream(
        [f"+edge({i}, {i + 1})." for i in range(2, 8)] + [wrong, "+edge(100, 100)."],
        policy,
        limits=Limits(max_facts=1000),
    )
    numbers = []
    with pytest.raises(kind, match=message) as caught:
        for done in stream:
            numbers.append(done.number)
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert "<changes>:1:" in str(caught.value)
    assert stream.closed
    assert list(stream) == []
    assert db.relations == ("edge", "path")
    assert db.size("edge") == 7
    assert db.size("path") == 28
    assert [done.number for done in db.stream("-edge(1, 2).")] == [1]  # it can be used again


def test_several_updates_together_of_which_one_is_at_fault() -> None:
    """They are taken one by one, to find it."""
    db = Database("n(100 / x) :- m(x). m(1).")
    stream = db.stream(["+m(2).", "+m(5).", "+m(0).", "+m(10)."], "together")
    numbers = []
    with pytest.raises(EvaluationError, match="division by zero"):
        for done in stream:
            numbers.append((done.number, done.together))
    assert numbers == [(1, 1), (2, 1)]
    assert db["n"].rows() == [(20,), (50,), (100,)]


def test_updates_that_only_fail_together_are_done_one_by_one() -> None:
    db = Database("n(100 / x) :- m(x). m(1).")
    updates = ["+m(2).", "+m(5).", "-m(5). -m(2).", "+m(10)."]
    stream = settling(db, updates, steps=2)
    failing = stream._policy
    step, asked = failing.step, []

    def fail_once() -> Any:
        asked.append(1)
        if len(asked) == 1:
            raise DataError("together it is too much")
        return step()

    failing.step = fail_once  # type: ignore[method-assign]
    assert [(done.number, done.together) for done in stream] == [(n, 1) for n in range(1, 5)]
    assert db["m"].rows() == [(1,), (10,)]


def test_an_error_that_is_not_ours() -> None:
    def broken() -> Iterator[str]:
        yield "+edge(1, 2)."
        raise ZeroDivisionError("mine")

    db = reach()
    stream = db.stream(broken())
    assert next(stream).number == 1
    with pytest.raises(ZeroDivisionError, match="mine"):
        next(stream)
    assert list(stream) == []
    assert db.size("edge") == 1


def test_strict_mode() -> None:
    db = reach((1, 2))
    with pytest.raises(ProgramError, match="the fact already exists"):
        db.stream("+edge(1, 2).", strict=True).run()
    strict = Database("p(1).", strict=True)
    with pytest.raises(TidelogError, match=r"there is no such fact: -p\(2\)"):
        strict.stream([[FactChange("-", "p", (2,))]]).run()
    with pytest.raises(TidelogError, match="strict mode requires the policy sequential"):
        strict.stream("", "together")
    with pytest.raises(TidelogError, match="a dry run requires the policy sequential"):
        db.stream("", "together", dry_run=True)


def test_unknown_names() -> None:
    db = reach()
    with pytest.raises(TidelogError, match=r"unknown policy 'dynamic'\n    .*fully-dynamic"):
        db.stream("", "dynamic")
    with pytest.raises(TidelogError, match=r"unknown algorithm 'dread'\n    did you mean dred"):
        db.stream("", algorithm="dread")
    assert list(db.stream("")) == []


# One at a time.


def test_one_stream_at_a_time() -> None:
    db = reach()
    stream = db.stream("+edge(1, 2). commit. +edge(2, 3).")
    assert next(stream).number == 1
    with pytest.raises(TidelogError, match="a stream is open"):
        db.stream("")
    stream.close()
    assert list(stream) == []
    with db.stream("+edge(3, 4).") as other:
        assert len(list(other)) == 1
    assert db["edge"].rows() == [(1, 2), (3, 4)]


def test_what_settled_together_is_had_when_a_stream_is_left() -> None:
    """An update that has taken effect is given, or `close` returns it."""
    updates = [[plus(node, node + 1)] for node in range(20)]
    db = reach()
    with db.stream(updates, policy="fully-dynamic") as stream:
        first = next(stream)
    left = stream.close()
    assert [first.together, *(done.together for done in left)] == [20] * 20
    assert [done.number for done in left] == list(range(2, 21))
    assert left[-1].delta.counts == {"edge": (20, 0), "path": (210, 0)}
    assert stream.close() is left
    assert all(mine is its for mine, its in zip(stream, left, strict=True))  # as it was before
    assert stream.close() is left
    assert db["path"].rows() == fresh(updates)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_given_and_what_is_left_have_taken_effect(policy: str) -> None:
    updates = history(30, seed=1)
    for given in range(0, 30, 7):
        db = reach()
        stream = db.stream(updates, policy=policy)
        done = [next(stream).number for _ in range(given)]
        done += [each.number for each in stream.close()]
        assert done == list(range(1, len(done) + 1))
        assert db["path"].rows() == fresh(updates[: len(done)])
    assert Database("p(1).").stream([]).close() == []


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(TypeError) as caught:
        reach().stream([], polcy="marking")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "Database.stream() has no option 'polcy'; its options are policy, algorithm, strict, "
        "dry_run, format, limits and progress"
    )


def test_what_readers_are_told_of_streams_that_ended_or_look_ahead() -> None:
    db = reach()
    stream = db.stream([[plus(node, node + 1)] for node in range(3)], "marking", algorithm="bf")
    next(stream)
    latest = db.latest()
    assert (latest.settled, latest.updates, latest.under_way) == (False, 1, (2, 3))
    stream.run()
    latest = db.latest()
    assert (latest.settled, latest.updates) == (True, 0)


def test_a_stream_that_nobody_holds_is_closed() -> None:
    db = reach()
    for done in db.stream("+edge(1, 2). commit. +edge(2, 3)."):
        assert done.number == 1
        break
    del done
    gc.collect()
    assert len(list(db.stream("+edge(5, 6)."))) == 1


def test_transactions_between_updates_but_not_during_them() -> None:
    db = reach()
    stream = db.stream(["+edge(1, 2).", "+edge(2, 3)."])
    next(stream)
    with db.transaction() as tx:
        tx.insert("edge", [(7, 8)])
        with pytest.raises(TidelogError, match="a transaction is open"):
            next(stream)
    assert next(stream).number == 2
    assert db.size("edge") == 3
    stream.close()
    stream = settling(db, (f"+edge({i}, {i})." for i in range(2)), steps=10**9, most=2)
    _advance_until_under_way(stream, 2)
    with pytest.raises(
        TidelogError,
        match="updates of a stream are under way: 1, 2\n    go on with the stream, take a",
    ):
        db.transaction()
    with pytest.raises(TidelogError, match="under way"):
        db.apply("+edge(5, 5).")
    stream.close()
    assert db.size("edge") == 3
    db.apply("+edge(5, 5).")


def test_work_that_is_left_when_updates_are_finished() -> None:
    """It is done before rules, transactions and snapshots, and at the end."""
    db = reach()
    updates: queue.Queue[object] = queue.Queue()
    stream = db.stream(updates, "lingering")
    for i in range(3):
        updates.put([plus(i, i + 1)])
    assert [next(stream).number for _ in range(3)] == [1, 2, 3]
    assert db._state.open
    assert stream.under_way == ()
    assert db.latest().settled
    with db.snapshot() as snapshot:
        assert (snapshot.updates, snapshot.size("path")) == (3, 6)
        assert not db._state.open
    updates.put([plus(7, 8)])
    assert next(stream).number == 4
    assert db._state.open
    with db.transaction() as tx:
        tx.insert("edge", [(9, 9)])
    updates.put("+far(x) :- path(x, 8).")
    updates.put([plus(6, 7)])
    updates.put(None)
    assert [done.delta.counts.get("far") for done in stream] == [(1, 0), (1, 0)]
    assert not db._state.open
    assert db["far"].rows() == [(6,), (7,)]


def _advance_until_under_way(stream: Any, count: int) -> None:
    end = time.monotonic() + 10
    while len(stream.under_way) < count and time.monotonic() < end:
        stream._advance()
    assert len(stream.under_way) == count


# Ctrl-C.


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("policy", POLICIES)
def test_ctrl_c_in_an_update(policy: str) -> None:
    """It is undone; the stream may go on with it later."""
    db = reach((1, 2))
    updates = ["+edge(2, 3).", "+edge(x, y + 1) :- edge(x, y).", "+edge(9, 9)."]
    given: list[int] = []

    def press(position: Position) -> None:
        if given:  # the second update does not end
            ctrl_c()

    stream = db.stream(updates, policy, progress=press)
    given.append(next(stream).number)
    assert given == [1]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert stream.under_way == ()
    assert db["edge"].rows() == [(1, 2), (2, 3)]
    with db.snapshot() as snapshot:
        assert (snapshot.updates, snapshot.settled) == (1, True)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    stream.close()
    assert list(stream) == []
    assert db["edge"].rows() == [(1, 2), (2, 3)]


def ctrl_c_in_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_ctrl_c_when_an_update_is_done_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidelog.transaction.transaction import Transaction

    adopt = Transaction._adopt

    def adopt_and_interrupt(self: Transaction) -> None:
        adopt(self)
        ctrl_c()

    db = reach()
    stream = db.stream(["+edge(1, 2).", "+edge(2, 3)."])
    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "_adopt", adopt_and_interrupt)
        assert next(stream).number == 1
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert db.size("edge") == 1
    assert [done.number for done in stream] == [2]


def test_ctrl_c_between_two_steps_leaves_nothing_half_done() -> None:
    db = reach((1, 2))
    log: list[str] = []
    stream = settling(db, ["+edge(2, 3).", "+edge(3, 4)."], log=log)
    step = stream._policy.step

    def step_and_interrupt() -> Any:
        ctrl_c()
        ctrl_c()
        return step()

    stream._policy.step = step_and_interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert log == ["take 1", "take 2", "step", "give up"]
    assert stream.under_way == ()
    stream._policy.step = step  # type: ignore[method-assign]
    assert [(done.number, done.together) for done in stream] == [(1, 2), (2, 2)]
    assert db.size("path") == 6


def test_ctrl_c_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    updates: queue.Queue[object] = queue.Queue()
    db = reach()
    stream = db.stream(updates)
    wait = stream.arrivals.wait

    def waited(timeout: float | None = None) -> None:
        threading.Timer(0.2, ctrl_c_in_main).start()
        wait(timeout)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(stream.arrivals, "wait", waited)
        next(stream)
    updates.put("+edge(1, 2).")
    updates.put(None)
    assert [done.number for done in stream] == [1]


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_while_another_thread_reads(presses: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way is undone when the reader is done; a second Ctrl-C does not wait."""
    db = reach()
    stream = settling(db, (f"+edge({i}, {i})." for i in range(2)), most=2)
    _advance_until_under_way(stream, 2)
    reads, over = threading.Event(), threading.Event()

    def read() -> None:
        with db.latest():
            reads.set()
            over.wait()

    reader = threading.Thread(target=read)
    reader.start()
    reads.wait()
    points = iter([ctrl_c, ctrl_c if presses == 2 else over.set])
    look = turns._look

    def looked() -> None:
        """The stream waits for the reader."""
        next(points, lambda: None)()
        look()

    monkeypatch.setattr(turns, "_look", looked)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert over.is_set() == (presses == 1)
    assert stream.under_way == (() if presses == 1 else (1, 2))
    over.set()
    reader.join()
    assert [done.number for done in stream] == [1, 2]


# Reading.


def test_without_a_stream() -> None:
    db = reach((1, 2), (2, 3))
    with db.snapshot() as snapshot:
        assert snapshot.settled
        assert (snapshot.updates, snapshot.under_way) == (0, ())
        assert snapshot.relation("path").rows() == [(1, 2), (1, 3), (2, 3)]
        assert (1, 3) in snapshot["path"]
        assert snapshot.size("path") == 3
        assert snapshot.query("path(1, x)") == [(2,), (3,)]
        assert snapshot.table("edge").rows() == [(1, 2), (2, 3)]
        assert snapshot.relations == ("edge", "path")
        view = snapshot["path"]
        with pytest.raises(TidelogError, match="a snapshot is open\n    close it before"):
            db.apply("+edge(5, 6).")
    for read in (view.rows, lambda: snapshot.size("path"), lambda: snapshot["path"]):
        with pytest.raises(TidelogError, match="the snapshot is closed"):
            read()
    db.apply("+edge(5, 6).")
    latest = db.latest()
    assert (latest.settled, latest.updates, latest.size("path")) == (True, 0, 4)
    assert repr(latest) == "<Latest: 0 updates, settled>"
    stream = db.stream(["+edge(6, 7).", "+edge(7, 8)."])
    next(stream)
    assert repr(db.latest()) == "<Latest: 1 update, settled>"


def test_a_snapshot_finishes_what_is_under_way() -> None:
    db = reach()
    log: list[str] = []
    stream = settling(db, [f"+edge({i}, {i})." for i in range(9)], most=2, log=log)
    _advance_until_under_way(stream, 2)
    latest = db.latest()
    assert (latest.settled, latest.updates, latest.under_way) == (False, 0, (1, 2))
    assert repr(latest) == "<Latest: 0 updates, 2 under way>"
    with db.snapshot() as snapshot:
        assert (snapshot.settled, snapshot.updates, snapshot.under_way) == (True, 2, ())
        assert snapshot["path"].rows() == [(0, 0), (1, 1)]
        assert next(stream).number == 1  # what is finished can be had
        assert next(stream).number == 2
        with pytest.raises(TidelogError, match="a snapshot is open"):
            next(stream)
        with db.snapshot() as another, db.latest() as third:
            assert (another.updates, third.updates) == (2, 2)
        with pytest.raises(TidelogError, match="a snapshot is open"):
            next(stream)
    latest.size("path")
    assert (latest.settled, latest.updates) == (True, 2)
    assert [done.number for done in stream] == list(range(3, 10))


def test_a_snapshot_when_an_update_is_at_fault() -> None:
    db = Database("n(100 / x) :- m(x). m(1).")
    stream = settling(db, ["+m(2).", "+m(0).", "+m(5)."], steps=5)
    _advance_until_under_way(stream, 3)
    with db.snapshot() as snapshot:
        assert snapshot.updates == 1
        assert snapshot["n"].rows() == [(50,), (100,)]
    assert next(stream).number == 1
    with pytest.raises(EvaluationError, match="division by zero"):
        next(stream)
    assert list(stream) == []


def test_snapshots_and_latest_in_other_threads() -> None:
    """A snapshot has a whole prefix, and so has what `latest` calls settled."""
    size = 40
    db = reach()

    def updates() -> Iterator[Update]:
        for i in range(size):
            while max(counts, default=0) < i - 8:  # readers keep up
                time.sleep(0.001)
            yield [plus(i, 1000), plus(i, 2000)]

    stream = db.stream(updates(), "together")
    wrong: list[str] = []
    counts: list[int] = []
    over = threading.Event()

    def read(take: Any) -> None:
        while not over.is_set():
            with take() as found:
                edges, before = found.size("edge"), found.updates
                time.sleep(0.001)
                again = (found.size("edge"), found.updates)
            counts.append(before)
            if again != (edges, before):
                wrong.append(f"moved from {edges, before} to {again}")
            if found.settled and edges != 2 * before:
                wrong.append(f"{edges} edges after {before} updates")

    readers = [threading.Thread(target=read, args=(take,)) for take in (db.snapshot, db.latest)]
    for reader in readers:
        reader.start()
    numbers = [done.number for done in stream]
    over.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert numbers == list(range(1, size + 1))
    assert len(set(counts)) > 2


@pytest.mark.parametrize("take", ["snapshot", "latest"])
def test_a_stream_begins_while_a_reading_waits(take: str) -> None:
    """What a reading says of the stream is as of when it reads, and not as of when it was asked."""
    db = reach()
    found: list[tuple[bool, int, tuple[int, ...], int]] = []
    asked = threading.Event()
    look = db._open_stream

    def looked() -> Any:
        stream = look()
        asked.set()
        return stream

    def read() -> None:
        with getattr(db, take)() as reading:
            size = reading.size("edge")
            found.append((reading.settled, reading.updates, reading.under_way, size))

    db._open_stream = looked  # type: ignore[method-assign]
    reader = threading.Thread(target=read)
    with db._state.lock:  # as somebody has who reads at the moment
        reader.start()
        asked.wait(0.2)
        stream = db.stream([[plus(1, 2)], [plus(2, 3)]], "lingering")
        with db._state.changing():
            stream._advance()  # the reader comes when both updates are under way
    reader.join()
    assert found == [(True, 2, (), 2) if take == "snapshot" else (False, 0, (1, 2), 0)]
    assert [done.number for done in stream] == [1, 2]


def test_a_snapshot_waits_for_a_transaction_of_another_thread() -> None:
    db = reach()
    over = threading.Event()
    wrong: list[int] = []

    def read() -> None:
        while not over.is_set():
            with db.snapshot() as snapshot:
                if snapshot.size("path") % 3:
                    wrong.append(snapshot.size("path"))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(30):
        with db.transaction() as tx:
            tx.insert("edge", [(10 * i, 10 * i + 1), (10 * i + 1, 10 * i + 2)])
    over.set()
    reader.join()
    assert wrong == []
    assert db.size("path") == 90


def test_a_transaction_waits_for_a_query_of_another_thread() -> None:
    """Whatever it does to the facts, a query that is being answered does not meet it."""
    said: list[object] = []
    writers: list[threading.Thread] = []

    def write() -> None:
        try:
            tx = db.transaction()
            tx.insert("n", [(3,)])
            tx.rollback()
            said.append("done")
        except Exception as error:
            said.append(error)

    def twice(x: int) -> int:
        """In the midst of the query, another thread wants to change facts."""
        if not writers:
            writers.append(threading.Thread(target=write))
            writers[0].start()
            writers[0].join(0.2)
            said.append("asked")
        return 2 * x

    program = ".functor twice(x: number): number .decl n(x: number)"
    db = Database(program, facts={"n": [(1,), (2,)]}, functors={"twice": twice})
    assert db.query("n(x), y = @twice(x)") == [(1, 2), (2, 4)]
    writers[0].join()
    assert said == ["asked", "done"]
    assert db["n"].rows() == [(1,), (2,)]


# What it took.


def test_percentiles_are_right_to_a_few_percent() -> None:
    chance = random.Random(1)
    values = [chance.lognormvariate(-6, 2) for _ in range(5000)]
    times = Times()
    for value in values:
        times.add(value)
    values.sort()
    for percent in (1, 50, 95, 99, 100):
        exact = values[max(0, round(len(values) * percent / 100) - 1)]
        assert times.percentile(percent) == pytest.approx(exact, rel=0.03)
    assert times.most == values[-1]
    assert times.total == pytest.approx(sum(values))


def test_percentiles_of_little() -> None:
    times = Times()
    assert times.record() == {"p50": 0, "p95": 0, "p99": 0, "max": 0}
    for value in (0.0, -1e-9, 1e-9, 10.0**9):
        times.add(value)
    assert times.percentile(25) <= 1.1e-6
    assert times.most == 10.0**9


def test_metrics() -> None:
    db = reach()
    stream = db.stream([[plus(i, i + 1)] for i in range(10)], "together")
    metrics = stream.run()
    assert (metrics.updates, metrics.changes, metrics.facts) == (10, 10, 10 + 55)
    assert metrics.overlapped == 10
    assert metrics.per_second > 0
    told = metrics.record()
    for name in ("latency", "work", "first_effect", "waited"):
        assert set(told[name]) == {"p50", "p95", "p99", "max"}
        assert told[name]["p50"] <= told[name]["p99"] <= told[name]["max"] * 1.03
    assert stream.queue == 0


@pytest.mark.slow
def test_thousands_of_small_updates_in_bounded_memory() -> None:
    """Facts come and go, so the data does not grow; nothing else may."""
    db = reach((0, 1))

    def updates(count: int) -> Iterator[Update | Commit | FactChange]:
        for i in range(count):
            yield (minus if i % 2 else plus)(i // 2 % 50 + 1, i // 2 % 50 + 2)
            yield Commit()

    def grown() -> int:
        before = used_memory()
        db.stream(updates(4000)).run()
        return used_memory() - before

    grown()  # until tables have their size
    stream = db.stream(updates(4000))
    for number, done in enumerate(stream, 1):
        assert done.number == number
    assert stream.metrics.updates == 4000
    assert db.size("edge") == 1
    # What else the process does may need memory once, but not again and again.
    assert any(grown() < 8 * 2**20 for _ in range(3))


def test_a_burst_as_one_text() -> None:
    text = "".join(f"+edge({i % 20}, {i % 20 + 1}). commit. " for i in range(500))
    db = reach()
    assert len(list(db.stream(io.BytesIO(text.encode())))) == 500
    assert db.size("path") == 210
