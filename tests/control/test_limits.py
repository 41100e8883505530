"""Limits and interruptions: what stops an evaluation, what it says, and that nothing is spoilt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.clock import Clock
from tests.local.reference import call, constant, declare, facts_of, number, put
from tests.local.test_growth import closure
from tidelog import Database
from tidelog.control import limits
from tidelog.control.limits import Limits, LimitWatch
from tidelog.local import executor
from tidelog.local.engine import LocalEngine
from tidelog.maintain.materialise import materialise
from tidelog.maintain.memory import Memory
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.program.rules import Constraint, Literal, Rule, Stratum

ENDLESS = "n(0).\nn(x + 1) :- n(x)."


def test_max_facts() -> None:
    with pytest.raises(LimitError) as stopped:
        Database(ENDLESS, limits=Limits(max_facts=1000))
    assert str(stopped.value) == (
        "<program>:2:1: error: stopped at more than 1,000 facts, in round 1001 of n, in the rule\n"
        "    n(x + 1) :- n(x).\n"
        "    a larger limit is set by --max-facts"
    )


def test_max_facts_counts_the_programs_facts() -> None:
    """What string functors leave behind is no fact of the program."""
    text = 'q(cat(x, "!")) :- s(x).'
    facts = {"s": [(f"{n}",) for n in range(500)]}
    assert Database(text, facts=facts, limits=Limits(max_facts=1000)).size("q") == 500


def test_max_seconds(clock: Clock) -> None:
    clock.late_in("n")
    with pytest.raises(LimitError) as stopped:
        Database(ENDLESS, limits=Limits(max_seconds=0.2))
    lines = str(stopped.value).splitlines()
    assert lines[0].startswith("<program>:2:1: error: stopped at more than 0.2 seconds, in round ")
    assert lines[0].endswith(" of n, in the rule")
    assert lines[1:] == ["    n(x + 1) :- n(x).", "    a larger limit is set by --max-seconds"]


def test_max_seconds_within_one_round(clock: Clock) -> None:
    """A product of a billion: the clock is looked at while one rule runs."""
    clock.late_in("p")
    text = "p(x, y) :- a(x), a(y), a(z), a(u), x + y + z + u < 0."
    with pytest.raises(LimitError, match=r"more than 0.3 seconds, in round 1 of p, in the rule"):
        Database(text, facts={"a": [(n,) for n in range(1000)]}, limits=Limits(max_seconds=0.3))


def test_max_seconds_within_aggregates(clock: Clock) -> None:
    """Adding up is work too: the clock is looked at between two groups."""
    clock.late_in("p")
    text = "p(x) :- a(x, k), s = sum z : { b(z, k) }, s < x."
    rows = np.stack([np.arange(100_000), np.zeros(100_000, dtype=np.int64)], axis=1)
    with pytest.raises(LimitError, match=r"more than 1 second, in round 1 of p"):
        Database(text, facts={"a": rows, "b": rows}, limits=Limits(max_seconds=1))


def test_max_memory(clock: Clock) -> None:
    clock.late_in("n")
    with pytest.raises(LimitError) as stopped:
        Database(ENDLESS, limits=Limits(max_memory=1 << 20))
    assert str(stopped.value).endswith(
        " in the rule\n    n(x + 1) :- n(x).\n    a larger limit is set by --max-memory"
    )
    assert "stopped at more than 1 MiB of memory, in round " in str(stopped.value)


def test_a_limit_of_nothing_is_a_limit() -> None:
    with pytest.raises(LimitError, match="more than 0 facts"):
        Database(ENDLESS, limits=Limits(max_facts=0))
    with pytest.raises(LimitError, match="more than 0 seconds"):
        Database(ENDLESS, limits=Limits(max_seconds=0))
    with pytest.raises(LimitError, match="more than 0 MiB"):
        Database(ENDLESS, limits=Limits(max_memory=0, max_facts=3_000))


def test_memory_of_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tmp_path / "memory.max", tmp_path / "missing"
    monkeypatch.setattr(limits, "CONTAINER", files)
    files[0].write_text("max\n")
    measured = limits.default_memory.__wrapped__  # it is kept: every transaction asks for it
    machine = measured()
    files[0].write_text("1000\n")
    assert measured() == 900
    assert machine is not None
    assert machine > 900


class Silent:
    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def room(self) -> int:
        return 1 << 60

    def passed(self, count: int) -> None: ...

    def pairs(self, count: int) -> None: ...


@pytest.mark.parametrize("when", [1, 2, 3, 10, 50, 200, 1000])
def test_an_interrupted_evaluation_leaves_nothing_behind(
    when: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "TICKS", 7)
    x, y, z = (number(name) for name in "xyz")
    base = Rule(Literal("p", (x, y)), (Literal("e", (x, y)),))
    step = Rule(Literal("p", (x, z)), (Literal("p", (x, y)), Literal("p", (y, z))))
    wide = Rule(Literal("t", (x, y, z)), (Literal("p", (x, y)), Literal("p", (y, z))))
    strata = (Stratum(("p",), (base,), (step,)), Stratum(("t",), (wide,), ()))
    engine = LocalEngine()
    declare(engine, {"e": 2, "p": 2, "t": 3})
    edges = {(n, (n * 7 + 3) % 23) for n in range(23)} | {(n, n + 1) for n in range(9)}
    put(engine, {("e", edge) for edge in edges}, engine.all, engine.explicit)
    left = when

    def tick(rule: Rule | None) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    engine.watch(tick)
    with pytest.raises(KeyboardInterrupt):
        materialise(engine, strata, engine.all, Silent(), Memory(modules=False), engine.explicit)
    engine.watch(None)
    engine.all -= engine.all
    engine.all |= engine.explicit
    monkeypatch.undo()
    materialise(engine, strata, engine.all, Silent(), Memory(modules=False), engine.explicit)
    paths = closure(edges)
    assert facts_of(engine, engine.all) == (
        {("e", edge) for edge in edges}
        | {("p", path) for path in paths}
        | {("t", (a, b, d)) for a, b in paths for c, d in paths if b == c}
    )


def test_an_evaluation_that_failed_fails_again() -> None:
    """A division by zero, then the same rule over facts without one."""
    engine = LocalEngine()
    declare(engine, {"a": 1, "p": 1})
    x, y = number("x"), number("y")
    rule = Rule(
        Literal("p", (y,)),
        (Literal("a", (x,)), Constraint("=", y, call("/", constant(6), x))),
        "p(6 / x) :- a(x).",
    )
    put(engine, {("a", (n,)) for n in (3, 0, 2)}, engine.all)
    for _ in range(2):
        with pytest.raises(EvaluationError) as failed:
            engine.apply([rule], within=engine.all)
        assert str(failed.value) == "error: division by zero in the rule\n    p(6 / x) :- a(x)."
    zero = engine.none()
    put(engine, {("a", (0,))}, zero)
    found = engine.apply([rule], within=engine.all - zero)
    assert facts_of(engine, found) == {("p", (2,)), ("p", (3,))}


def test_a_functor_that_failed_fails_again() -> None:
    """What a string functor could not answer is asked again, and not taken as 'no answer'."""
    db = Database('s("1"). s("a"). s("2").')
    for _ in range(2):
        with pytest.raises(EvaluationError, match=r'to_number\("a"\): the string does not begin'):
            db.query("s(x), y = to_number(x)")
    assert db.query('s(x), x != "a", y = to_number(x)') == [("1", 1), ("2", 2)]


def test_an_interrupted_functor_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database('s("1"). s("2"). s("3").')

    def stop(watch: LimitWatch, rule: Rule | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(executor, "TICKS", 3)
    monkeypatch.setattr(LimitWatch, "tick", stop)
    with pytest.raises(KeyboardInterrupt):
        db.query('s(x), y = cat(x, "!")')
    monkeypatch.undo()
    assert db.query('s(x), y = cat(x, "!")') == [("1", "1!"), ("2", "2!"), ("3", "3!")]


def test_a_query_that_does_not_end_is_called_a_query(clock: Clock) -> None:
    db = Database("s(1).", limits=Limits(max_seconds=0.2))
    clock.late()
    for demand in (False, True):
        with pytest.raises(LimitError) as stopped:
            db.query("s(a), x = range(0, 100000), y = range(0, 100000), x + y < 0", demand=demand)
        assert "query'" not in str(stopped.value)
