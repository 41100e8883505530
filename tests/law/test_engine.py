"""The law: what the engine derives equals a fresh naive evaluation.

A failing seed is shown with its program; add it to `cases/` once the fault is found.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from tests.law.adapters import Facts, materialise, oracle, typed
from tests.law.generate import Generated, from_seed, programs
from tests.law.metamorphic import TRANSFORMATIONS, variant
from tidelog.oracle.evaluate import check

SEEDS = 500
CASES = sorted((Path(__file__).parent / "cases").glob("*.dl"))


def differences(text: str, facts: Facts) -> list[str]:
    """How the engine's answer would have to change."""
    return check(typed(text), facts, materialise(text, facts))


@pytest.mark.sampled(60)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_engine_equals_oracle(seed: int) -> None:
    program = from_seed(seed)
    assert differences(program.text, program.facts) == [], f"seed {seed}\n{program}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path) -> None:
    assert differences(case.read_text(encoding="utf-8"), {}) == []


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_transformations_do_not_change_the_answer(seed: int) -> None:
    program, random = from_seed(seed), Random(seed)
    answer = oracle(program.text, program.facts)
    for transformation in random.sample(TRANSFORMATIONS, 2):
        other = variant(transformation, program.text, program.facts, random)
        found = materialise(other.text, other.facts)
        expected = other.renamed(answer)
        assert {name: found[name] for name in expected} == expected, (
            f"seed {seed}, {transformation.__name__}\n{program}\n---\n{other.text}"
        )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_generated_programs_shrink_to_a_fault(program: Generated) -> None:
    assert differences(program.text, program.facts) == [], str(program)
