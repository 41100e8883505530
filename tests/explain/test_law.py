"""The law of proofs: every fact has one, and every one passes an independent check, on generated
programs, with modules and without, and after every commit of generated histories."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tests.explain.proving import check_some, checker
from tests.law.generate import from_seed
from tests.law.histories import State, history, outcome
from tests.law.replay import LIMITS, by_relation, goes_wrong, take
from tidelog import Database
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.program.proof_steps import Absent, FoldedRows, Path, RuleInstance
from tidelog.program.proof_steps import Test as Comparison

PROGRAMS = int(os.environ.get("TIDELOG_PROOFS", "40"))
FIRST = int(os.environ.get("TIDELOG_SEED", "0"))
KEPT = (1011,)  # of two alternatives, the lower one is found at a deeper level


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    return Counter()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
@pytest.mark.filterwarnings("ignore::tidelog.program.diagnostics.Doubt")
def test_proofs_of_generated_programs(seed: int, seen: Counter[str]) -> None:
    generated = from_seed(seed)
    try:
        db = Database(generated.text, facts=generated.facts, modules=seed % 2 == 0)
        check = checker(db)
    except EvaluationError:
        return
    for proof in check_some(db, check, Random(seed), 8, 1 + seed % 3):
        steps = [step for each in proof.steps.values() for step in each]
        seen.update(type(step).__name__ for step in steps)
        instances = (step for step in steps if isinstance(step, RuleInstance))
        seen.update(type(premise).__name__ for each in instances for premise in each.premises)
        seen["minimal"] += proof.minimal
        seen["high"] += proof.height > 2


@pytest.mark.slow
def test_programs_have_all_kinds_of_premises(seen: Counter[str]) -> None:
    """The generator's promise: what the proofs above consist of is not all the same."""
    kinds = (RuleInstance, Absent, FoldedRows, Comparison, *((Path,) if PROGRAMS >= 40 else ()))
    assert all(seen[kind.__name__] for kind in kinds), seen
    assert seen["minimal"], seen
    assert seen["high"], seen


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*KEPT, *range(FIRST, FIRST + PROGRAMS // 4)])
@pytest.mark.filterwarnings("ignore::tidelog.program.diagnostics.Doubt")
def test_proofs_after_every_commit(seed: int) -> None:
    told = history(seed)
    names = list(ALGORITHMS)
    state = State.of(told.text, told.given)
    facts = by_relation(told.given)
    db = Database(told.text, facts=facts, limits=LIMITS, modules=seed % 3 > 0)
    for i, step in enumerate(told.steps):
        after, refused = outcome(state, step)
        try:
            fails = goes_wrong(after)
            algorithm = names[(seed + i) % len(names)]
            take(db, step, refused, algorithm, state, None if fails else after)
            if step.end in ("commit", "limit") and not fails:
                state = after
            check_some(db, checker(db), Random(seed), 4, 1 + i % 2)
        except LimitError:
            return
