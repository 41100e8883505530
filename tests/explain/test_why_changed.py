"""Why commits change facts: the causes are needed, and no part of them is enough."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from random import Random

import pytest

from tests.law.generate import Generated, from_seed
from tidelog import Database, Delta, FactChange, ProgramError, TidelogError
from tidelog.program.diagnostics import EvaluationError
from tidelog.text.change_notation import change_text

PROGRAMS = int(os.environ.get("TIDELOG_PROOFS", "40"))
FIRST = int(os.environ.get("TIDELOG_SEED", "0"))
REACH = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
EDGES = {"edge": [(1, 2), (2, 3)]}


def edge(op: str, x: int, y: int) -> FactChange:
    return FactChange("+" if op == "+" else "-", "edge", (x, y))


def test_an_insertion_has_its_cause_and_its_proof() -> None:
    db = Database(REACH, facts=EDGES)
    (delta,) = db.apply("+edge(3, 4). +edge(7, 8).")
    cause = delta.why("+path(1, 4)")
    assert cause.changes == (edge("+", 3, 4),)
    assert str(cause).splitlines() == [
        "+path(1, 4).",
        "  because of +edge(3, 4).",
        "  path(1, 4)",
        "    by a path of 3 facts: left-linear path over edge",
        "    edge(1, 2)  explicit",
        "    edge(2, 3)  explicit",
        "    edge(3, 4)  explicit",
    ]


def test_two_ways_at_once_are_one_cause() -> None:
    """Without one of them the fact would have been inserted all the same."""
    db = Database("p(x) :- q(x). p(x) :- r(x).", facts={"q": [(1,)], "r": [(1,)]})
    (delta,) = db.apply("+q(2). +r(2). +r(3).")
    changes = {FactChange("+", "q", (2,)), FactChange("+", "r", (2,))}
    assert set(delta.why("+p(2).").changes) == changes


def test_rules_are_causes() -> None:
    db = Database("path(x, y) :- edge(x, y).", facts=EDGES)
    (delta,) = db.apply("+path(x, z) :- path(x, y), edge(y, z). +edge(7, 8). commit.")
    assert delta.why("+path(1, 3)").text == "+path(x, z) :- path(x, y), edge(y, z)."
    (delta,) = db.apply("-path(x, z) :- path(x, y), edge(y, z). commit.")
    assert delta.why("-path(1, 3)").text == "-path(x, z) :- path(x, y), edge(y, z)."


def test_a_negation_turns_the_cause_round() -> None:
    db = Database("free(x) :- town(x), !wall(x).", facts={"town": [(1,)], "wall": [(1,)]})
    (delta,) = db.apply("-wall(1).")
    assert delta.why("+free(1)").changes == (FactChange("-", "wall", (1,)),)


def test_outputs_hide_no_cause() -> None:
    db = Database(REACH + " .output path", facts=EDGES)
    (delta,) = db.apply("-edge(2, 3).")
    assert set(delta.counts) == {"path"}
    assert delta.why("-path(1, 3)").changes == (edge("-", 2, 3),)


def test_bad_questions() -> None:
    db = Database(REACH, facts=EDGES)
    first, second = db.apply("+edge(3, 4). commit. -edge(1, 2). commit.")
    with pytest.raises(TidelogError, match=r"^error: the database has changed since this delta"):
        first.why("+path(1, 4)")
    with pytest.raises(TidelogError, match=r"^error: the delta does not have -path\(9, 9\)\."):
        second.why("-path(9, 9)")
    with pytest.raises(ProgramError, match="unknown relation pat"):
        second.why("-pat(1, 2)")
    with pytest.raises(ProgramError, match="a change starts with"):
        second.why("path(1, 2)")
    with pytest.raises(TidelogError, match=r"^error: expected a change as text"):
        second.why(3)  # type: ignore[arg-type]
    with db.transaction(dry_run=True) as tx:
        tx.insert("edge", [(5, 6)])
    with pytest.raises(TidelogError, match=r"^error: this delta cannot be explained"):
        tx.delta.why("+path(5, 6)")


@pytest.mark.parametrize("policy", ["marking", "fully-dynamic"])
def test_a_stream_that_is_not_sequential_names_no_causes(policy: str) -> None:
    """Marking uses up the set of explicit changes; overlapping updates share one."""
    db = Database(REACH, facts={"edge": [(1, 2), (2, 3)]}, algorithm="dred", modules=False)
    updates = ["+edge(3, 4). +edge(5, 6).", "-edge(3, 4).", "+edge(4, 5)."]
    for done in db.stream(updates, policy):
        for change in done.delta:
            with pytest.raises(TidelogError, match=r"^error: this delta cannot be explained"):
                done.delta.why(change_text(change))


def test_impact_changes_nothing() -> None:
    db = Database(REACH, facts=EDGES)
    found = db.impact("-edge(2, 3)")
    assert sorted(db["path"]) == [(1, 2), (1, 3), (2, 3)]
    assert str(found).splitlines() == [
        "edge: 0 facts inserted, 1 deleted",
        "  -edge(2, 3).  because of -edge(2, 3).",
        "path: 0 facts inserted, 2 deleted",
        "  -path(1, 3).  because of -edge(2, 3).",
        "  -path(2, 3).  because of -edge(2, 3).",
    ]
    assert str(db.impact("")) == "nothing would change"


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    return Counter()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS // 2))
@pytest.mark.filterwarnings("ignore::tidelog.program.diagnostics.Doubt")
def test_causes_of_generated_programs(seed: int, seen: Counter[str]) -> None:
    """The commit without the cause does not give the change; without a part of the cause it does,
    or that part would have been left out."""
    generated, random = from_seed(seed), Random(seed)
    rows = [(name, row) for name, mine in generated.facts.items() for row in mine]
    changes = [FactChange("-", *fact) for fact in random.sample(rows, min(4, len(rows)))]
    names = [name for name, mine in generated.facts.items() if len(mine) > 1]
    for name in names[:2]:
        one, other = random.sample(generated.facts[name], 2)
        row = (*one[:1], *other[1:])
        if (name, row) not in rows:
            changes.append(FactChange("+", name, row))
    try:
        db = Database(generated.text, facts=generated.facts)
        deltas = db.apply(changes)
    except EvaluationError:
        return
    for delta in deltas:
        check(generated, changes, delta, random, seen)


def check(
    generated: Generated,
    changes: Sequence[FactChange],
    delta: Delta,
    random: Random,
    seen: Counter[str],
) -> None:
    every = list(delta)
    for change in random.sample(every, min(5, len(every))):
        cause = delta.why(change_text(change))
        assert cause.changes
        seen[change.op] += 1
        seen["several"] += len(cause.changes) > 1
        assert change not in _replayed(generated, changes, cause.changes)
        for one in cause.changes:
            part = [each for each in cause.changes if each != one]
            assert change in _replayed(generated, changes, part)


def _replayed(
    generated: Generated, changes: Sequence[FactChange], left_out: Collection[FactChange]
) -> set[FactChange]:
    """The delta of the commit without some changes."""
    db = Database(generated.text, facts=generated.facts)
    with db.transaction() as tx:
        for change in changes:
            if change not in left_out:
                tx.change(change)
    return set(tx.delta)


@pytest.mark.slow
def test_causes_are_of_both_kinds(seen: Counter[str]) -> None:
    assert seen["+"] >= 5, seen
    assert seen["-"] >= 5, seen
