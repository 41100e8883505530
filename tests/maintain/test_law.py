"""The law: maintaining equals recomputing, whatever changes, by every algorithm.

Programs are generated; a history of updates changes their facts (of input and of derived
relations) and their rules. A failing seed is shown with its program.
"""

from __future__ import annotations

import pytest

from tests.algorithms import ALGORITHMS
from tests.law.adapters import oracle
from tests.law.generate import from_seed
from tests.maintain.histories import History, checked
from tests.maintain.worlds import naive
from tidelog.maintain import aged, bf, costs
from tidelog.maintain.driver import auto

UPDATES = 6
SEEDS = [("python", seed) for seed in range(6)] + [("local", seed) for seed in range(20)]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("on", "seed"), SEEDS)
def test_maintaining_equals_recomputing(on: str, seed: int, algorithm: str) -> None:
    history = History(seed, on)
    for _ in range(UPDATES):
        history.step(algorithm)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("on", "seed"), SEEDS)
def test_algorithms_may_follow_each_other(
    on: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(1000 + seed, on)
    for _ in range(2 * UPDATES):
        # B/F in small steps too, and auto in a hurry: generated programs are small.
        monkeypatch.setattr(bf, "FIRST", history.random.choice((1, 2, 64)))
        monkeypatch.setattr(costs, "TRIAL", history.random.choice((0.0, 1.0)))
        monkeypatch.setattr(costs, "PATIENCE", history.random.choice((1e-9, 1e9)))
        monkeypatch.setattr(costs, "LEAST", 0.0)
        monkeypatch.setattr(aged, "MANY", history.random.choice((0, 1, 32)))
        monkeypatch.setattr(aged, "ROUNDS", history.random.choice((1, 8)))
        monkeypatch.setattr(aged, "UNLIKELY", history.random.choice((0.0, 2.0)))
        monkeypatch.setattr(aged, "LIKELY", history.random.choice((0.0, 2.0)))
        monkeypatch.setattr(auto, "COUNT", history.random.choice((1e-9, 0.5)))
        monkeypatch.setattr(auto, "QUICK", history.random.choice((0.0, 1.0)))
        monkeypatch.setattr(auto, "MUCH", history.random.choice((0, 16)))
        monkeypatch.setattr(costs, "PLAN", history.random.choice((0.0, 0.0003)))
        monkeypatch.setattr(costs, "WORSE", history.random.choice((1e-9, 1e9)))
        monkeypatch.setattr(auto, "TINY", history.random.choice((-1, 500)))
        history.step(history.random.choice(sorted(ALGORITHMS)))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(2000, 2060))
def test_the_reference_equals_the_oracle(seed: int) -> None:
    """What these tests hold algorithms against is what the program means."""
    program = from_seed(seed)
    core = checked(program.text)
    E = {(name, row) for name, rows in core.facts.items() for row in rows}
    E |= {(name, row) for name, rows in program.facts.items() for row in rows}
    found = naive(core.relations, core.rules, E)
    for name, rows in oracle(program.text, program.facts).items():
        assert {row for relation, row in found if relation == name} == rows, str(program)
