"""Streams: cases that once failed."""

from __future__ import annotations

import contextlib
import dis
import gc
import itertools
import math
import os
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import nullcontext, suppress
from types import FrameType
from typing import Self

import pytest

from tidelog import Database, FactChange, LimitError, Limits
from tidelog.changes import stream as processor
from tidelog.changes.policies import fully_dynamic
from tidelog.control import limits
from tidelog.maintain import materialise
from tidelog.maintain.costs import Costs
from tidelog.maintain.driver import auto, overlap
from tidelog.program.changes import Op
from tidelog.transaction import transaction

PATHS = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."


def edges(count: int) -> list[list[FactChange]]:
    return [[FactChange("+", "edge", (i, i + 1))] for i in range(count)]


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_no_update_is_lost_by_ctrl_c(policy: str) -> None:
    """A real SIGINT at every moment of the first steps; the stream is iterated again."""
    for moment in range(12):
        db = Database(PATHS, facts={"edge": [(0, 1)]})
        stream = db.stream(edges(6), policy)
        looks = 0
        poll = stream.arrivals.poll

        def polled(poll=poll, moment=moment):  # type: ignore[no-untyped-def]
            nonlocal looks
            looks += 1
            if looks == moment:
                os.kill(os.getpid(), signal.SIGINT)
            return poll()

        stream.arrivals.poll = polled  # type: ignore[method-assign]
        given: list[int] = []
        for _ in range(4):
            with suppress(KeyboardInterrupt):
                stream.run(lambda done, given=given: given.append(done.number))  # type: ignore[misc]
        assert given == [1, 2, 3, 4, 5, 6]
        assert db.size("path") == 21


class CtrlC:
    """A SIGINT at a point that a stream's iteration passes, or at several: wherever Python looks
    for signals, which is where a function begins, after a call, and when a loop begins again.
    """

    LOOKS = ("CALL", "JUMP_BACKWARD", "POP_JUMP_BACKWARD")
    FILES = (processor.__file__, limits.__file__, transaction.__file__, contextlib.__file__)

    def __init__(self, points: Collection[int]) -> None:
        self.passed = 0
        self._points = points
        self._before: dict[FrameType, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Self | None:
        if event == "call":
            if frame.f_code.co_filename not in self.FILES:
                return None
            frame.f_trace_opcodes = True
            self._pass()
        elif event == "opcode":
            if self._before.get(frame, "").startswith(self.LOOKS):
                self._pass()
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return self

    def _pass(self) -> None:
        self.passed += 1
        if self.passed in self._points:
            signal.raise_signal(signal.SIGINT)

    def __enter__(self) -> Self:
        gc.disable()  # what a finalizer raises is dropped
        sys.settrace(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        gc.enable()


def play(db: Database, policy: str, ctrl_c: CtrlC) -> int:
    """Two updates, there or back; returns how many Ctrl-C left the iteration."""
    op: Op = "-" if (1, 2) in db["edge"] else "+"
    before, times, over = db.size("edge"), 0, False
    stream = db.stream([[FactChange(op, "edge", (i, i + 1))] for i in (1, 2)], policy)
    given: list[int] = []
    while not over:
        try:
            with nullcontext() if times else ctrl_c:
                for done in stream:
                    given.append(done.number)
            over = True
        except KeyboardInterrupt:
            times += 1
            if policy != "marking":  # which has only looked at the next one
                assert stream.under_way == ()
            assert abs(db.size("edge") - before) == stream.finished
            assert not db._state.changer
    assert given == [1, 2]
    assert db.size("path") == (6 if op == "+" else 1)
    return times


@pytest.mark.sampled(1)
@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_ctrl_c_at_any_point_leaves_nothing_half_done(policy: str) -> None:
    """Nor is anything lost. It is pressed twice, at one point and at the next."""
    db = Database(PATHS, facts={"edge": [(0, 1)]})
    for point in itertools.count(1, 2):
        ctrl_c = CtrlC((point, point + 1))
        times = play(db, policy, ctrl_c)
        if ctrl_c.passed < point:
            break
        assert times in (1, 2)
    assert point > 300


def test_what_is_gone_is_given_back_while_updates_keep_coming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fully_dynamic, "MOST", 10)
    monkeypatch.setattr(fully_dynamic, "LITTER", 50)
    db = Database("big(x) :- p(x), x > 0.", facts={"p": [(-1,)]})

    def there_and_back() -> Iterator[list[FactChange]]:
        for i in range(400):
            yield [FactChange("+", "p", (i,))]
            if i >= 5:
                yield [FactChange("-", "p", (i - 5,))]

    most = 0
    for _ in db.stream(list(there_and_back()), "fully-dynamic"):
        most = max(most, db._engine.litter)
    assert most <= 50 + 2 * 10
    assert db.size("p") == 6
    assert db._engine.facts() == len(db._engine.all)


@pytest.mark.parametrize("algorithm", ["auto", "dred", "bf", "counting", "dredc", "dbsp"])
def test_what_came_and_went_unnoticed_is_given_back_too(
    monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """Rows of facts that no rule has heard of, while updates keep coming."""
    monkeypatch.setattr(fully_dynamic, "MOST", 10)
    monkeypatch.setattr(fully_dynamic, "LITTER", 50)
    db = Database("big(x) :- p(x), x > 0.", facts={"p": [(-1,)]})
    updates = [[FactChange(op, "p", (i,))] for i in range(400) for op in "+-"]
    most = 0
    for _ in db.stream(updates, "fully-dynamic", algorithm=algorithm):
        most = max(most, db._engine.facts())
    assert most <= 50 + 2 * 10
    assert db.size("p") == 1


def test_large_updates_settle_before_a_thousand_of_them_have_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fully_dynamic, "MANY", 100)
    db = Database(".decl p(x: number)\nbig(x) :- p(x), x > 0.")
    large = [FactChange("+", "p", (i,)) for i in range(1000)]
    small = [[FactChange("-", "p", (i,)) for i in range(10 * n, 10 * n + 10)] for n in range(30)]
    done = list(db.stream([large, *small], "fully-dynamic"))
    assert [each.together for each in done] == [11] * 11 + [11] * 11 + [9] * 9
    assert db.size("p") == 700


@pytest.mark.parametrize("algorithm", ["auto", "dred", "bf", "counting", "dredc", "dbsp"])
def test_limits_are_kept(algorithm: str) -> None:
    db = Database(PATHS, facts={"edge": [(0, 1)]})
    stream = db.stream(edges(8), "fully-dynamic", algorithm=algorithm, limits=Limits(max_facts=12))
    with pytest.raises(LimitError, match="more than 12 facts"):
        stream.run()
    assert len(db["path"]) + len(db["edge"]) <= 12
    assert db._engine.facts() == len(db._engine.all)


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_whatever_a_source_raises_has_its_place(policy: str) -> None:
    def source() -> Iterator[list[FactChange]]:
        yield from edges(3)
        raise SystemExit(3)

    db = Database(PATHS, facts={"edge": [(9, 9)]})
    given: list[int] = []
    stream = db.stream(source(), policy)
    with pytest.raises(SystemExit):
        stream.run(lambda done: given.append(done.number))
    assert given == [1, 2, 3]


def test_a_check_serves_all_suspects() -> None:
    """By chunks, each check would chain back through the whole class again."""
    rule = ".decl eq(x: number, y: number) eqrel\neq(x, y) :- e(x, y)."
    ring = [(i, (i + 1) % 40) for i in range(40)]
    db = Database(rule, facts={"e": ring})
    updates = [[FactChange("-", "e", (i, i + 1))] for i in (3, 20)]
    (_, last) = list(db.stream(updates, "fully-dynamic", algorithm="bf"))
    assert last.together == 2
    work = next(work for work in last.report.works if "eq" in work.relations)
    assert work.numbers["|C|"] <= 2 * 1600
    assert db.size("eq") == 17 * 17 + 23 * 23


def test_auto_counts_derivations_where_that_is_quick() -> None:
    """As it does where updates do not overlap."""
    grid = [(i, i + j) for i in range(60) for j in (1, 2, 3)]
    rule = "two(x, z) :- e(x, y), e(y, z)."
    db = Database(rule, facts={"e": grid})
    updates = [[FactChange("-", "e", row)] for row in grid[::30]]
    *_, last = db.stream(updates, "fully-dynamic")
    assert [work.algorithm for work in last.report.works] == ["input", "counting"]
    right = Database(rule, facts={"e": [row for row in grid if row not in grid[::30]]})
    assert set(db["two"]) == set(right["two"])


CLOSED = """
.decl edge(x: number, y: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
p(x, y) :- edge(x, y).
p(x, z) :- p(x, y), p(y, z).
q(x, y) :- p(x, y), x < 50.
q(x, z) :- q(x, y), q(y, z).
p(x, y) :- q(y, x), x < 3.
"""


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closures are modules, and hear of a few facts at a time, however long that takes."""
    monkeypatch.setattr(auto, "is_better_from_scratch", lambda *_: False)
    monkeypatch.setattr(Costs, "waits", lambda *_: False)
    monkeypatch.setattr(Costs, "patience", lambda *_, **__: math.inf)
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(overlap, "FIRST", 3)
    monkeypatch.setattr(overlap, "LEAST", 2)
    monkeypatch.setattr(overlap, "STEP", 0)


@pytest.mark.parametrize("relation", ["edge", "p"])
@pytest.mark.usefixtures("in_parts")
def test_an_update_meets_a_closure_that_hears_of_another(relation: str) -> None:
    """In parts, of lower facts and of the closure's own explicit ones."""
    ring = [(i, (i + 1) % 60) for i in range(60)]
    db = Database(CLOSED, facts={relation: ring})
    updates = [[FactChange("-", relation, row) for row in ring[::2]]]
    updates += [[FactChange("+", relation, (i, i + 7))] for i in range(4)]
    updates += [[FactChange("+", relation, row) for row in ring[:20:2]]]
    done = list(db.stream(updates, "fully-dynamic"))
    assert done[-1].together == len(updates)
    assert done[-1].report.works[-1].algorithm == "dredc-mod"
    left = {*ring[1::2], *ring[:20:2], *((i, i + 7) for i in range(4))}
    right = Database(CLOSED, facts={relation: left})
    assert set(db["p"]) == set(right["p"])
    assert set(db["q"]) == set(right["q"])


@pytest.mark.usefixtures("in_parts")
def test_a_limit_ends_the_part_of_a_change() -> None:
    db = Database(CLOSED, facts={"edge": [(0, 1), (1, 2)]})
    before = {name: set(db[name]) for name in db.relations}
    update = [FactChange("+", "edge", (i, i + 1)) for i in range(30)]
    with pytest.raises(LimitError, match="more than 300 facts"):
        db.stream([update], "fully-dynamic", limits=Limits(max_facts=300)).run()
    assert {name: set(db[name]) for name in db.relations} == before
    assert db._engine.facts() == len(db._engine.all)
    db.stream([update], "fully-dynamic").run()
    right = Database(CLOSED, facts={"edge": [(i, i + 1) for i in range(30)]})
    assert set(db["p"]) == set(right["p"])
