"""The law under streams: whenever updates have settled, the state is that of naive evaluation, and
what the stream delivered is the difference; with updates that overlap, cancel and undo each other,
that arrive at random moments, and that are given up in between.

`python -m tests.law.overlapping FIRST COUNT` plays more of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.law.histories import history
from tests.law.overlapping import COURSES, marked, overlap
from tidelog.maintain import closure_seeds, materialise

HISTORIES = int(os.environ.get("TIDELOG_HISTORIES", "200")) // 5
FIRST = int(os.environ.get("TIDELOG_SEED", "0"))


@pytest.fixture(scope="module")
def happened() -> Iterator[Counter[str]]:
    """What the histories are for must have happened in them."""
    counted: Counter[str] = Counter()
    yield counted
    if counted["histories"] > 50:
        assert counted["together"] > 50
        assert counted["marks"] > 50


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES))
def test_fully_dynamic(seed: int, happened: Counter[str]) -> None:
    told = history(seed)
    for course in (COURSES[seed % len(COURSES)], COURSES[seed % 3]):
        happened["together"] += overlap(told, course, Random(f"{seed} {course}"))
    happened["histories"] += 1


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES))
def test_fully_dynamic_with_modules(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where closures are modules from the first, however small."""
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)
    overlap(history(seed), "auto", Random(f"{seed} modules"))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES))
def test_marking(seed: int, happened: Counter[str]) -> None:
    algorithm = ("dred", "bf", "auto")[seed % 3]
    happened["marks"] += marked(history(seed), algorithm, Random(f"{seed} {algorithm}"))
