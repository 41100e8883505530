"""Ctrl-C is neither lost nor raised where it would do harm."""

# ruff: noqa: PT012 (what a block does before it is left is the point here)

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, names
from tidelog import Database
from tidelog.control.limits import Interrupts, Position
from tidelog.formats.atomic_files import Staged
from tidelog.program.syntax import Value


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def usual_handler() -> object:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_it_waits_for_a_look() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        interrupts.check()
        ctrl_c()
        passed.append("the signal")
        interrupts.check()
        passed.append("the look")
    assert passed == ["the signal"]


def test_it_is_raised_at_the_end_if_nobody_looks() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), Interrupts():
        ctrl_c()
        passed.append("all")
    assert passed == ["all"]


def test_an_error_comes_first() -> None:
    with pytest.raises(ZeroDivisionError), Interrupts():
        ctrl_c()
        raise ZeroDivisionError


def test_the_second_does_not_wait() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), Interrupts():
        ctrl_c()
        passed.append("one")
        ctrl_c()
        passed.append("two")
    assert passed == ["one"]


def test_blocks_inside_each_other() -> None:
    """The inner one raises it; if that is caught, the outer one raises it at its end."""
    passed = []
    with pytest.raises(KeyboardInterrupt), Interrupts(whole=True):
        with pytest.raises(KeyboardInterrupt), Interrupts() as inner:
            ctrl_c()
            passed.append("the signal")
            inner.check()
            passed.append("the look")
        passed.append("the rest")
    assert passed == ["the signal", "the rest"]


def test_a_handler_of_the_user_is_left_alone() -> None:
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with Interrupts() as interrupts:
        ctrl_c()
        interrupts.check()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert heard == [signal.SIGINT]


def test_another_thread_evaluates_without_signals() -> None:
    found: list[list[tuple[Value, ...]]] = []
    work = threading.Thread(target=lambda: found.append(Database("p(1).")["p"].rows()))
    work.start()
    work.join()
    assert found == [[(1,)]]


def test_an_evaluation_ends_between_two_steps() -> None:
    def show(position: Position) -> None:
        ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        Database("n(0). n(x + 1) :- n(x).", progress=show)


def test_files_get_their_names_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def interrupted(old: str, new: str) -> None:
        ctrl_c()
        replace(old, new)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), Staged() as staged:
        for name in "abc":
            staged.write(str(tmp_path / name), [b"x"], compress=False)
        staged.commit()
    assert names(tmp_path) == {"a", "b", "c"}


def test_before_that_none_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Staged() as staged:
        staged.write(str(tmp_path / "a"), [b"x"], compress=False)
        ctrl_c()
    assert names(tmp_path) == set()


def test_a_closure_that_compiles_nothing_announces_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("run", "reach.dl") == (0, "", "")  # compiles what it needs, if the cache is cold
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli("run", "reach.dl") == (0, "", "")
    Path("none.changes").write_text("")
    assert cli("apply", "reach.dl", "none.changes", "--algorithm", "dbsp").code == 0
