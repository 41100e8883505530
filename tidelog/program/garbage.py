"""The cyclic garbage collector, paused while many objects are made."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the collector in the block: parsing and analysis make many objects, and no cycles.

    It belongs to the whole process, so only the main thread pauses it, and only if it runs: what
    another thread or a block around this one has set stays. docs/decisions/022 has the figures.
    """
    if threading.current_thread() is not threading.main_thread() or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
