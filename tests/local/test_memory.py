"""Memory: at most 64 bytes for a binary fact with one index, whatever was grown last."""

from __future__ import annotations

import numpy as np
import pytest

from tests.local.reference import declare, number
from tidelog.local.engine import LocalEngine
from tidelog.program.rules import Literal, Rule
from tidelog.program.table import Table

LIMIT = 64


def bytes_per_fact(facts: int, values: int = 100_000) -> float:
    """Loaded and indexed on the first column, by the engine's own account."""
    random = np.random.default_rng(facts)
    engine = LocalEngine()
    declare(engine, {"e": 2, "f": 2, "p": 2})
    rows = random.integers(0, values, (facts, 2))
    engine.load("e", Table(("number", "number"), (rows[:, 0], rows[:, 1]), facts), (engine.all,))
    x, y, z = number("x"), number("y"), number("z")
    rule = Rule(Literal("p", (x, z)), (Literal("f", (x, y)), Literal("e", (y, z))))
    engine.load("f", Table(("number", "number"), (np.array([0]), np.array([0])), 1), (engine.all,))
    found = engine.apply([rule], within=engine.all)
    assert len(found) < facts
    return engine.memory() / engine.size("e")


@pytest.mark.parametrize("facts", [1_000_000, 3_000_000])
def test_bytes_per_binary_fact(facts: int) -> None:
    assert bytes_per_fact(facts) <= LIMIT


@pytest.mark.parametrize("facts", [1_050_000, 1_600_000, 2_400_000])
def test_bytes_per_binary_fact_just_after_growth(facts: int) -> None:
    assert bytes_per_fact(facts) <= LIMIT
