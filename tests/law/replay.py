"""Histories on databases, held against the model after every step.

    python -m tests.law.replay SEED [ALGORITHM…]

replays one history; if it breaks the law, a smaller history that breaks it too is printed,
to be kept in `histories/`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.law.histories import Change, Facts, History, State, Step, by_relation, history, outcome
from tests.law.shrink import shrink
from tests.law.thresholds import thresholds
from tidelog import Database, Limits
from tidelog.local.engine import LocalEngine
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import EvaluationError, LimitError, ProgramError
from tidelog.program.syntax import Value
from tidelog.program.terms import order_key
from tidelog.transaction.transaction import Transaction

# What runs away is found, and ends; a busy machine that compiles kernels is no such thing.
LIMITS = Limits(max_facts=100_000, max_seconds=300)
# Which algorithm a database is given for a step: the same one always, or another each time.
Choice = Callable[[int], str]


def always(algorithm: str) -> Choice:
    return lambda step: algorithm


def any_of_them(seed: int) -> Choice:
    """Those that keep counters come more often, so that they meet what others left."""
    names = [*ALGORITHMS, "counting", "dredc", "bfc"]
    return lambda step: Random(f"{seed} {step}").choice(names)


def replay(
    told: History, choices: Mapping[str, Choice], opened: Callable[..., Database] = Database
) -> None:
    """The law: after every step each database equals the model, and deltas say the difference."""
    state = State.of(told.text, told.given)
    assert state.answer
    facts = by_relation(told.given)
    runs = {}
    for name in choices:
        with _telling(told, -1, name):
            runs[name] = opened(told.text, facts=facts, limits=LIMITS)
            check(runs[name], state)
    for i, step in enumerate(told.steps):
        after, refused = outcome(state, step)
        try:
            fails = goes_wrong(after)
        except LimitError:
            continue
        for name, database in runs.items():
            with _telling(told, i, name):
                take(database, step, refused, choices[name](i), state, None if fails else after)
        if step.end in ("commit", "limit") and not fails:
            state = after


def goes_wrong(state: State) -> bool:
    """Is there a division by zero, say, in the state's evaluation?"""
    try:
        return not state.answer
    except LimitError:
        raise
    except EvaluationError:
        return True


class _telling:
    """Says of whatever goes wrong in the block where it did."""

    def __init__(self, told: History, step: int, name: str) -> None:
        self.told, self.step, self.name = told, step, name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if isinstance(error, Exception):
            changes = map(str, self.told.steps[self.step].changes) if self.step >= 0 else ()
            error.add_note("\n".join([f"step {self.step} by {self.name}:", *changes]))


class _Stop(Exception):
    """Raised by a user in a `with` block."""


def take(
    database: Database,
    step: Step,
    refused: Sequence[bool],
    algorithm: str,
    before: State,
    after: State | None,
) -> None:
    """One transaction. Where `after` is None its evaluation goes wrong."""
    limits = LIMITS
    if step.end == "limit":
        limits = Limits(max_facts=database._engine.facts() + len(step.changes) % 3)
    dry = step.end == "dry run"
    tx = database.transaction(algorithm=algorithm, dry_run=dry, limits=limits)
    try:
        with tx:
            for i, change in enumerate(step.changes):
                if refused[i]:
                    with pytest.raises(ProgramError):
                        make(tx, change, i)
                else:
                    make(tx, change, i)
            if step.end == "exception":
                raise _Stop
            if step.end == "rollback":
                tx.rollback()
    except _Stop:
        pass
    except LimitError:
        assert limits is not LIMITS
        check(database, before)
        take(database, replace(step, end="commit"), refused, algorithm, before, after)
        return
    except EvaluationError:
        assert after is None, "the evaluation is no error"
    if after is None or step.end in ("rollback", "exception"):
        check(database, before)
    elif dry:
        check(database, before)
        assert set(tx.delta) == set(difference(before, after, after.kinds))
    else:
        check(database, after)
        assert list(tx.delta) == difference(before, after, database.relations)


def make(tx: Transaction, change: Change, i: int) -> None:
    """One change, in one of the ways that there are."""
    if isinstance(change, Facts):
        if i % 2:
            for row in change.rows:
                tx.change(FactChange(change.op, change.relation, row))
        else:
            (tx.insert if change.op == "+" else tx.delete)(change.relation, list(change.rows))
    elif change.op == "+":
        name = tx.add_rule(change.text)
        if i % 2:
            tx.remove_rule(name)
            tx.add_rule(change.text)
    else:
        tx.remove_rule(change.text)


def check(database: Database, state: State, swept: bool = True) -> None:
    """Rules, explicit facts and all that follows are those of the model."""
    assert set(database.rules) == set(state.rules)
    assert set(database.relations) == set(state.kinds)
    engine = database._engine
    if swept and isinstance(engine, LocalEngine):
        assert engine.facts() == len(engine.all), "a row is left of a fact that is none"
    for name, rows in state.answer.items():
        assert set(database.relation(name)) == rows, name
        assert len(database.relation(name)) == len(rows), name
        explicit = explicit_facts(database, name)
        assert {(name, row) for row in explicit} == {f for f in state.facts if f[0] == name}


def explicit_facts(database: Database, name: str) -> list[tuple[Value, ...]]:
    return database._engine.table(name, database._engine.explicit).rows()


def difference(before: State, after: State, names: Iterable[str]) -> list[FactChange]:
    """What became true and what stopped being true, in the order of these relations."""
    changes = []
    for name in names:
        if name not in after.visible:
            continue
        old, new = before.answer.get(name, set()), after.answer[name]
        for row in sorted(old ^ new, key=order_key):
            changes.append(FactChange("+" if row in new else "-", name, row))
    return changes


# From the command line.


def problem(
    told: History, choices: Mapping[str, Choice], opened: Callable[..., Database] = Database
) -> Exception | None:
    """How the history breaks the law, if it is one."""
    try:
        replay(told, choices, opened)
    except Exception as error:
        return error if hasattr(error, "__notes__") else None
    return None


def main(seed: int, algorithms: Sequence[str]) -> None:
    told = history(seed)
    choices = {name: always(name) for name in algorithms or ALGORITHMS}
    choices = choices if algorithms else choices | {"any": any_of_them(seed)}
    with thresholds(seed):
        error = problem(told, choices)
        if error is None:
            print(f"history {seed} keeps the law")
            return
        kind = type(error)
        least = shrink(told, lambda h: type(problem(h, choices)) is kind)
        print(least)
        raise problem(least, choices) or error


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
