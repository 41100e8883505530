"""A stop or a Ctrl-C where Python drops exceptions: it waits, or comes again."""

# ruff: noqa: PT012 (what a block does before the error is the point here)

from __future__ import annotations

import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from tidelog.control.limits import Interrupts, guarded, waiting
from tidelog.program.diagnostics import LimitError


class Thing:
    """Something that weak references can point to."""


def in_a_weak_reference(work: Callable[[], object]) -> None:
    """Do the work in a callback of a weak reference, where Python drops exceptions."""
    thing = Thing()
    reference = weakref.ref(thing, lambda dead, more=0: work())
    del thing
    assert reference() is None


def in_a_generator(work: Callable[[], object]) -> None:
    """Do the work where an abandoned generator ends; its frame looks like any other."""

    def generator() -> Iterator[None]:
        try:
            yield
        finally:
            work()

    abandoned = generator()
    next(abandoned)
    del abandoned


def alarming(passed: list[str]) -> tuple[Callable[[], None], Callable[[], None]]:
    """A check that fails from the first call of a function on, and that function, which looks at
    the check at once."""

    def check() -> None:
        if passed:
            raise LimitError("error: stopped")

    def alarm() -> None:
        passed.append("alarm")
        signal.raise_signal(signal.SIGALRM)
        passed.append("no stop")

    return check, alarm


@pytest.mark.filterwarnings("error")
def test_a_stop_in_a_callback_of_a_weak_reference_waits() -> None:
    passed: list[str] = []
    check, alarm = alarming(passed)
    with pytest.raises(LimitError, match=r"^error: stopped$"), guarded(check):
        in_a_weak_reference(alarm)
        assert passed == ["alarm", "no stop"]
        time.sleep(60)  # to the next alarm


@pytest.mark.parametrize("where", [in_a_weak_reference, in_a_generator])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_block_that_ends_before_a_dropped_stop_comes_again(
    where: Callable[[Callable[[], object]], None],
) -> None:
    passed: list[str] = []
    check, alarm = alarming(passed)
    with pytest.raises(LimitError, match=r"^error: stopped$"), guarded(check):
        where(alarm)
        passed.append("the end")
    assert passed[0] == "alarm"
    assert passed[-1] == "the end"


@pytest.mark.filterwarnings("error")
def test_a_ctrl_c_in_a_callback_of_a_weak_reference_waits() -> None:
    """The first is noted anyway, and the second would be raised at once."""
    passed = []

    def press() -> None:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        passed.append("pressed")

    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        in_a_weak_reference(press)
        passed.append("the block")
        interrupts.check()
        passed.append("the look")
    assert passed == ["pressed", "the block"]
    passed.clear()
    with pytest.raises(KeyboardInterrupt), Interrupts(), waiting():
        in_a_weak_reference(press)
        passed.append("the block")
    assert passed == ["pressed", "the block"]


def test_a_stop_that_was_dropped_prints_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DROPPED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("stopped\n", "")


DROPPED = """
import sys
from tests.control.test_dropped import alarming, in_a_generator
from tidelog import LimitError
from tidelog.control import interrupts
from tidelog.control.limits import guarded

sys.unraisablehook = interrupts.remember  # as in __main__
check, alarm = alarming([])
try:
    with guarded(check):
        in_a_generator(alarm)
except LimitError:
    print("stopped")
"""
