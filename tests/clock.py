"""The clock and the memory that limits look at, so that no test waits for a machine to be slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.control import limits
from tidelog.program.rules import Stratum

LATER = 1000.0  # seconds: past every limit of a test


class Clock:
    """Time stands still, and no memory is used, until it is `late`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._stands: float | None = time.perf_counter()
        self._memory = limits.used_memory
        patch.setattr(limits, "time", self)
        patch.setattr(limits, "used_memory", lambda: 0 if self._stands else self._memory())

    def perf_counter(self) -> float:
        return time.perf_counter() + LATER if self._stands is None else self._stands

    def early(self) -> None:
        self._stands = time.perf_counter()

    def late(self) -> None:
        self._stands = None

    def late_at(self, owner: Any, name: str) -> None:
        """It is late as soon as this function is called."""
        function: Callable[..., Any] = getattr(owner, name)

        def called(*given: Any, **named: Any) -> Any:
            self.late()
            return function(*given, **named)

        self._patch.setattr(owner, name, called)

    def late_in(self, relation: str) -> None:
        """It is late when the first round of this relation has begun."""
        begin = limits.LimitWatch.stratum

        def begun(watch: limits.LimitWatch, stratum: Stratum) -> None:
            begin(watch, stratum)
            if relation in stratum.relations:
                self.late()

        self._patch.setattr(limits.LimitWatch, "stratum", begun)


class Ticking:
    """Each look at the clock takes so many seconds."""

    def __init__(self, step: float) -> None:
        self._now, self._step = 0.0, step

    def perf_counter(self) -> float:
        self._now = self._now + self._step if self._now else time.perf_counter()
        return self._now
