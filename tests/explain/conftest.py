"""No test of explanations depends on the speed of the machine."""

from __future__ import annotations

import pytest

from tests.explain.proving import take_time


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    take_time(monkeypatch)
