"""The law over histories: whatever changes, by whatever algorithm, what is maintained equals a
fresh naive evaluation, and a delta is the difference.

`make test-long` runs thousands. A seed that fails is replayed, and its history made small, by
`python -m tests.law.replay SEED`; what that prints is kept in `histories/`, beside some by hand.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tests.law.histories import Change, Facts, State, Step, by_relation, from_json, history, outcome
from tests.law.reach import REACH, reach
from tests.law.replay import Choice, always, any_of_them, check, difference, goes_wrong, replay
from tests.law.thresholds import lowest, thresholds
from tidelog import Database, Limits
from tidelog.maintain import bf
from tidelog.maintain.update import Spent, Update
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.text.change_notation import change_text

HISTORIES = int(os.environ.get("TIDELOG_HISTORIES", "300"))
FIRST = int(os.environ.get("TIDELOG_SEED", "0"))
KEPT = sorted((Path(__file__).parent / "histories").glob("*.json"))


@pytest.fixture(scope="module")
def steps() -> Iterator[Counter[str]]:
    """How many steps were taken, and how many were too much for the oracle."""
    counted: Counter[str] = Counter()
    yield counted
    assert counted["skipped"] <= 0.02 * counted["taken"] + 1


def choices(seed: int) -> Mapping[str, Choice]:
    """Two algorithms beside each other, one, or another one in every transaction."""
    names = list(ALGORITHMS)
    first, apart = seed // 3, 1 + seed // 21 % (len(names) - 1)
    one, other = names[first % len(names)], names[(first + apart) % len(names)]
    if seed % 3 == 0:
        return {one: always(one), other: always(other)}
    return {one: always(one)} if seed % 3 == 1 else {"any": any_of_them(seed)}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES))
def test_history(seed: int, steps: Counter[str]) -> None:
    told = history(seed)
    steps.update(taken=len(told.steps), skipped=told.skipped)
    try:
        with thresholds(seed):
            replay(told, choices(seed))
    except Exception as error:
        error.add_note(f"again, and smaller: python -m tests.law.replay {seed}")
        raise


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + HISTORIES // 10))
def test_history_as_text(seed: int) -> None:
    """What can be said in the change notation is applied by one call, commit by commit."""
    told = history(seed)
    state = State.of(told.text, told.given)
    names = list(ALGORITHMS)
    facts = by_relation(told.given)
    db = Database(told.text, facts=facts, algorithm=names[seed % len(names)])
    text, states = "", [state]
    for step in told.steps:
        after, refused = outcome(state, step)
        named = {change.relation for change in step.changes if isinstance(change, Facts)}
        try:
            if any(refused) or not named <= after.kinds.keys() or goes_wrong(after):
                continue
        except LimitError:  # too much for the naive evaluation
            continue
        text += "".join(f"{line}\n" for change in step.changes for line in _notation(change))
        text += "commit.\n"
        states.append(state := after)
    deltas = db.apply(text)
    for (before, after), delta in zip(pairwise(states), deltas, strict=True):
        if before is states[0] and _is_too_much(before):
            continue
        assert set(delta) == set(difference(before, after, after.kinds)), f"{told.text}\n{text}"
    check(db, state)


def _is_too_much(state: State) -> bool:
    """For the naive evaluation; the engine may have no trouble with it."""
    try:
        return not state.answer
    except LimitError:
        return True


def _notation(change: Change) -> list[str]:
    if isinstance(change, Facts):
        return [change_text(FactChange(change.op, change.relation, row)) for row in change.rows]
    return [change.op + change.text]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(FIRST + HISTORIES, FIRST + HISTORIES + HISTORIES // 10))
def test_history_with_little_patience(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Auto gives up what it has begun, now and then, and B/F begins with one fact."""
    random, patient = Random(seed), Update.round

    def round(u: Update) -> bool:
        if u.deadline < math.inf and random.random() < 0.3:
            raise Spent
        return patient(u)

    monkeypatch.setattr(Update, "round", round)
    monkeypatch.setattr(bf, "FIRST", 1)
    replay(history(seed), {"auto": always("auto")})


@pytest.mark.sampled(6)
@pytest.mark.parametrize("setting", [nullcontext, lowest], ids=["usual", "lowest"])
@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.stem)
def test_kept_history(case: Path, setting: Callable[[], AbstractContextManager[None]]) -> None:
    told = from_json(case.read_text(encoding="utf-8"))
    with setting():
        replay(told, {name: always(name) for name in ALGORITHMS} | {"any": any_of_them(0)})


@pytest.mark.slow
def test_histories_change_the_rules_of_closures() -> None:
    seen = sum((reach(history(seed)) for seed in range(3, 80, 4)), Counter[str]())
    assert min(seen[name] for name in REACH) >= 3, seen


@pytest.mark.slow
def test_histories_are_seldom_dull() -> None:
    """The generator's promise: all sorts of steps, and most of them change what is derived."""
    seen: Counter[str] = Counter()
    for seed in range(60):
        told = history(seed)
        state = State.of(told.text, told.given)
        for step in told.steps:
            after, refused = outcome(state, step)
            seen.update(_sorts(step, state))
            seen.update(refused=any(refused), steps=1)
            try:
                heads = {text.partition("(")[0] for text in state.rules.values()}
                changed = any(state.answer[name] != after.answer[name] for name in heads)
                seen.update(derives=changed)
            except EvaluationError:
                seen["error"] += 1
                continue
            state = after if step.end in ("commit", "limit") else state
    assert seen["derives"] > 0.4 * seen["steps"], seen
    rare = {
        name: seen[name]
        for name in ("commit", "rollback", "dry run", "exception", "limit", "nothing", "refused",
                     "error", "+rule", "-rule", "-only derived", "+only derived", "-absent",
                     "+present", "-present", "+absent")
    }  # fmt: skip
    assert min(rare.values()) >= 3, rare


def _sorts(step: Step, state: State) -> set[str]:
    found = {step.end, *([] if step.changes else ["nothing"])}
    derived = set(state.derived())
    for change in step.changes:
        if not isinstance(change, Facts):
            found.add(f"{change.op}rule")
            continue
        for row in change.rows:
            fact = change.relation, row
            where = "present" if fact in state.facts else "absent"
            found.add(change.op + ("only derived" if fact in derived else where))
    return found


# Errors in the middle of a commit: four strata change before a fifth cannot.

RATIOS = """
.decl edge(x: number, y: number)
.decl node(x: number)
node(x), node(y) :- edge(x, y).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
apart(x, y) :- node(x), node(y), !path(x, y).
.decl reaches(x: number, n: number)
reaches(x, n) :- node(x), n = count : { path(x, _) }.
share(x, 12 / n) :- reaches(x, n).
"""
RING = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 4), (8, 9), (9, 9)]
FAULTS: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = [  # to delete, to insert
    ([(9, 9)], []),
    ([], [(1, 7)]),
    ([(2, 3), (8, 9)], [(2, 8), (1, 3)]),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_error_leaves_all_as_it_was(algorithm: str) -> None:
    facts = frozenset(("edge", edge) for edge in RING)
    state = State.of(RATIOS, facts)
    db = Database(RATIOS, facts={"edge": RING}, algorithm=algorithm)
    more = [(4, 5), (5, 1)]
    for _ in range(2):
        for delete, insert in FAULTS:
            tx = db.transaction()
            tx.delete("edge", delete)
            tx.insert("edge", insert)
            with pytest.raises(EvaluationError, match="division by zero"):
                tx.commit()
            check(db, state)
        few = Limits(max_facts=db._engine.facts() + 5)
        with pytest.raises(LimitError), db.transaction(limits=few) as tx:
            tx.insert("edge", more)
        check(db, state)
        for change in (Facts("+", "edge", tuple(more)), Facts("-", "edge", ((3, 1),))):
            state = state.after(change)
            with db.transaction() as tx:
                (tx.insert if change.op == "+" else tx.delete)("edge", list(change.rows))
            check(db, state)
        more = [(5, 6), (6, 3), (3, 1)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_error_of_a_state_that_never_is(algorithm: str) -> None:
    """A division that would fail between the changes of a transaction, and not after them."""
    text = """
    .decl a(x: number)
    .decl b(x: number)
    c(x) :- a(x), x >= 0.
    d(12 / x) :- c(x), !b(x).
    d(12 / n) :- a(1), n = count : { b(_) }.
    """
    db = Database(text, facts={"a": [(1,)], "b": [(7,)]}, algorithm=algorithm)
    state = State.of(text, [("a", (1,)), ("b", (7,))])
    for changes in (
        (Facts("+", "a", ((0,),)), Facts("+", "b", ((0,),)), Facts("-", "b", ((7,),))),
        (Facts("-", "b", ((0,),)), Facts("-", "a", ((0,), (1,)))),
        (Facts("+", "a", ((1,),)), Facts("+", "b", ((5,), (6,)))),
        (Facts("-", "b", ((5,),)), Facts("+", "b", ((8,),)), Facts("-", "b", ((6,),))),
    ):
        with db.transaction() as tx:
            for change in changes:
                state = state.after(change)
                (tx.insert if change.op == "+" else tx.delete)(change.relation, list(change.rows))
        check(db, state)
