"""`tidelog`, with a Ctrl-C at a chosen point, when a function is called for the nth time, or with
all the time of the limits passing there.

python -m tests.cli.interrupting HOW MODULE NAME N ARGUMENTS …
"""

from __future__ import annotations

import ctypes
import importlib
import signal
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

from tests.clock import Clock
from tidelog.__main__ import main


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class Pressing:
    def __set_name__(self, owner: type, name: str) -> None:
        press()


def in_a_class() -> None:
    """Python 3.11 makes a RuntimeError of it."""
    type("Made", (), {"attribute": Pressing()})


def in_a_callback() -> None:
    """Whatever is raised there is dropped."""
    ctypes.CFUNCTYPE(None)(press)()


def nothing() -> None: ...


# What is done before the call, and after it.
WAYS: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
    "before": (press, nothing),
    "after": (nothing, press),
    "class": (in_a_class, nothing),
    "callback": (in_a_callback, nothing),
}


def interrupt(how: str, module: str, name: str, nth: int) -> None:
    *path, last = name.split(".")
    home = reduce(getattr, path, importlib.import_module(module))
    function = getattr(home, last)
    patch = pytest.MonkeyPatch()
    before, after = (Clock(patch).late, nothing) if how == "late" else WAYS[how]
    calls = 0

    def called(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth:
            before()
        result = function(*given, **named)
        if calls == nth:
            after()
        return result

    patch.setattr(home, last, called)


if __name__ == "__main__":
    how, module, name, nth, *arguments = sys.argv[1:]
    interrupt(how, module, name, int(nth))
    sys.argv[1:] = arguments
    sys.exit(main())
