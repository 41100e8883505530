"""Why facts do not hold: what rules lack, and repairs that are checked by commits."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest

from tests.explain.proving import facts_of, text_of
from tests.law.generate import from_seed
from tidelog import Database, ProgramError, TidelogError
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.proof_steps import GroundFact

PROGRAMS = int(os.environ.get("TIDELOG_PROOFS", "40"))
FIRST = int(os.environ.get("TIDELOG_SEED", "0"))

TOWNS = """\
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
blocked(x) :- wall(x).
blocked(x) :- wall(y), near(x, y).
free(x) :- edge(x, _), !blocked(x).
count_of(x, n) :- edge(x, _), n = count : { path(x, y) }.
"""
FACTS = {"edge": [(1, 2), (2, 3)], "wall": [(2,)], "near": [(3, 2), (1, 2)]}


def towns() -> Database:
    return Database(TOWNS, facts=FACTS)


def test_what_fails_is_shown_with_values() -> None:
    assert str(towns().why_not("path(1, 9)")).splitlines() == [
        "path(1, 9) does not hold",
        "  path(x, y) :- edge(x, y).  <program>:2  x = 1, y = 9",
        "    fails: edge(1, 9)",
        "  path(x, z) :- path(x, y), edge(y, z).  <program>:3  x = 1, z = 9, y = 2",
        "    holds: path(1, 2)",
        "    … and 1 other way to match as much",
        "    fails: edge(2, 9)",
        "  repair: +edge(1, 9).",
        "  repair: +edge(2, 9).",
        "  repair: +edge(3, 9).",
    ]


def test_a_negation_is_repaired_by_deletions() -> None:
    found = towns().why_not("free(1)")
    assert found.attempts[0].failed == ("!blocked(1)",)
    deleted = {(FactChange("-", "near", (1, 2)),), (FactChange("-", "wall", (2,)),)}
    assert set(found.repairs) == deleted


def test_an_aggregate_shows_its_value() -> None:
    (attempt,) = towns().why_not("count_of(1, 7)").attempts
    assert attempt.failed == ("count : { path(1, y) } = 2, not 7",)


def test_a_fact_of_the_base_is_inserted() -> None:
    found = towns().why_not("edge(7, 7)")
    assert not found.derivable
    assert found.repairs == ((FactChange("+", "edge", (7, 7)),),)


def test_bad_questions() -> None:
    db = towns()
    with pytest.raises(TidelogError, match=r"^error: path\(1, 3\) holds\n    ask why"):
        db.why_not("path(1, 3)")
    with pytest.raises(ProgramError, match="expected a constant, got the variable `x`"):
        db.why_not("path(1, x)")
    with pytest.raises(ProgramError, match="unknown relation pat"):
        db.why_not("pat(1, 2)")
    with pytest.raises(ProgramError, match="expected one fact"):
        db.why_not("path(1, 2), path(2, 3)")
    assert sorted(db["path"]) == [(1, 2), (1, 3), (2, 3)]


def test_a_limit_on_time_is_told() -> None:
    found = towns().why_not("path(1, 9)", seconds=0)
    assert found.left_out[0] == "the search stopped at more than 0 seconds"


def test_programs_that_cannot_change_have_no_repairs() -> None:
    numbered = Database("p(x, autoinc()) :- q(x). q(1).").why_not("p(2, 0)")
    assert numbered.attempts[0].failed == ("q(2)",)
    assert numbered.repairs == ()
    limited = Database(".decl p(x: number) p(x) :- q(x). q(1). .limitsize p(n=5)")
    found = limited.why_not("p(2)")
    assert found.repairs == ()
    (reason,) = found.left_out
    assert reason.startswith("repairs: `.limitsize` ends the evaluation of p early")


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    return Counter()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS // 2))
@pytest.mark.filterwarnings("ignore::tidelog.program.diagnostics.Doubt")
def test_repairs_of_generated_programs(seed: int, seen: Counter[str]) -> None:
    """A repair makes the fact true, and no part of it does."""
    generated, random = from_seed(seed), Random(seed)
    try:
        db = Database(generated.text, facts=generated.facts, modules=seed % 2 == 0)
        before = set(facts_of(db))
        for fact in absent(db, before, random):
            found = db.why_not(text_of(db, fact))
            for repair in found.repairs:
                seen["repairs"] += 1
                seen["deletions"] += any(change.op == "-" for change in repair)
                parts = [tuple(c for c in repair if c is not left) for left in repair]
                for changes, holds in ((repair, True), *((part, False) for part in parts)):
                    fresh = Database(generated.text, facts=generated.facts)
                    with fresh.transaction() as tx:
                        for change in changes:
                            tx.change(change)
                    assert (fact.row in fresh.relation(fact.relation)) == holds, changes
        assert set(facts_of(db)) == before
    except EvaluationError:
        return


@pytest.mark.slow
def test_there_were_repairs(seen: Counter[str]) -> None:
    assert seen["repairs"] >= 10, seen


def absent(db: Database, facts: set[GroundFact], random: Random) -> list[GroundFact]:
    """Facts that do not hold, made of values that occur in others of their relation."""
    found = []
    for name in db.relations:
        rows = sorted((fact.row for fact in facts if fact.relation == name), key=repr)
        if len(rows) > 1:
            row = tuple(random.choice(rows)[i] for i in range(len(rows[0])))
            if row not in rows:
                found.append(GroundFact(name, row))
    return random.sample(found, min(3, len(found)))
