"""Histories whose updates overlap: arrivals and steps in a random order, held against the model
whenever all has settled.

    python -m tests.law.overlapping FIRST COUNT [ALGORITHM…]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from time import perf_counter

from tests.law.histories import Facts, History, State, by_relation, history, outcome
from tests.law.replay import LIMITS, check, difference, goes_wrong
from tidelog import Database
from tidelog.changes.policies.fully_dynamic import FullyDynamic
from tidelog.changes.policies.look_ahead import ALGORITHMS as MARKING
from tidelog.changes.policies.look_ahead import LookAhead
from tidelog.changes.policies.policy import Arrived
from tidelog.changes.policies.shared_transaction import SPELL
from tidelog.program.changes import FactChange, RuleChange
from tidelog.program.diagnostics import EvaluationError, LimitError
from tidelog.text import parse
from tidelog.transaction.core import Options
from tidelog.transaction.transaction import Transaction

COURSES = (
    *("dred", "bf", "counting", "auto", "dredc", "bfc"),
    *("recompute", "aged", "dredc-mod", "dbsp"),
)


def updates(told: History, rng: Random) -> Iterator[tuple[Arrived, State]]:
    """The updates of a history that can be made, with the states that they lead to. Many updates
    of facts are undone by the next, and some of those are made again."""
    state, number = State.of(told.text, told.given), 0
    for step in told.steps:
        after, refused = outcome(state, step)
        named = {change.relation for change in step.changes if isinstance(change, Facts)}
        try:
            if any(refused) or not named <= after.kinds.keys() or goes_wrong(after):
                continue
        except LimitError:
            continue
        changes: list[FactChange | RuleChange] = []
        for change in step.changes:
            if isinstance(change, Facts):
                changes += [FactChange(change.op, change.relation, row) for row in change.rows]
            else:
                parsed = parse(change.text, "<rule>")
                changes.append(RuleChange(change.op, parsed.program.clauses[0]))
        rules = any(isinstance(change, RuleChange) for change in changes)
        made = [(changes, after)]
        while not rules and rng.random() < 0.5:
            made.append((_difference(after, state), state) if len(made) % 2 else made[0])
        for each, leads_to in made:
            number += 1
            yield Arrived(number, [(c, {}) for c in each], perf_counter(), rules), leads_to
            state = leads_to


def _difference(before: State, after: State) -> list[FactChange | RuleChange]:
    return [
        *(FactChange("-", name, row) for name, row in before.facts - after.facts),
        *(FactChange("+", name, row) for name, row in after.facts - before.facts),
    ]


def overlap(told: History, algorithm: str, rng: Random) -> int:
    """Play a history; returns how many updates settled together with others."""
    state = State.of(told.text, told.given)
    database = Database(told.text, facts=by_relation(told.given), limits=LIMITS)
    coming = list(updates(told, rng))

    def look() -> Arrived | None:
        return None

    policy = FullyDynamic(database.core, look, Options(algorithm, limits=LIMITS))
    settled, together = 0, 0
    taken = 0
    eager = rng.random()
    while settled < len(coming):
        may = policy.wants() and taken < len(coming)
        if may and coming[taken][0].changes_rules:
            may = taken == settled
        if taken > settled and coming[taken - 1][0].changes_rules:
            may = False
        if may and (taken == settled or rng.random() < eager):
            policy.take(coming[taken][0])
            taken += 1
            continue
        if policy._overlap is not None:
            policy._overlap.flow.size = rng.choice((1, 1, 2, 3, 100))
            policy._overlap.spell = rng.choice((0.0, 0.0, 0.0, SPELL))
        if rng.random() < 0.01:
            policy.give_up()
            taken = settled
            check(database, state)
            continue
        try:
            done = policy.step()
        except EvaluationError:
            # On the way between two good states a division may go wrong: one by one then.
            policy.give_up()
            check(database, state)
            eager, taken = 0.0, settled
            continue
        if done:
            assert [each.number for each in done] == [u.number for u, _ in coming[settled:taken]]
            settled = taken
            together += len(done) > 1
            after = coming[settled - 1][1]
            while rng.random() < 0.5 and policy.busy:
                assert not policy.step()
            check(database, after, swept=not policy.busy)
            assert list(done[-1].delta) == difference(state, after, database.relations)
            state = after
    return together


def marked(told: History, algorithm: str, rng: Random) -> int:
    """Play a history with marking, where the next updates are there or not, and others change the
    database in between; returns how many facts were deleted by their marks."""
    state = State.of(told.text, told.given)
    modules = rng.random() < 0.5
    facts = by_relation(told.given)
    database = Database(told.text, facts=facts, limits=LIMITS, modules=modules)
    coming = list(updates(told, rng))
    taken = settled = marks = 0
    seldom = rng.choice((0.1, 0.5))

    def look() -> Arrived | None:
        nonlocal taken
        if taken == len(coming) or coming[taken][0].changes_rules or rng.random() < seldom:
            return None
        taken += 1
        return coming[taken - 1][0]

    ahead = rng.choice((1, 1, 2, 3, 5))
    policy = LookAhead(database.core, look, Options(algorithm, limits=LIMITS), ahead)
    while settled < len(coming):
        if rng.random() < 0.05:
            policy.give_up()
            taken = settled
        elif rng.random() < 0.1 and state.facts:
            undo_and_redo(database, state, rng)
        if not policy.busy:
            policy.take(coming[taken][0])
            taken += 1
        for done in policy.step():
            after = coming[settled][1]
            settled += 1
            assert done.number == settled
            check(database, after)
            assert list(done.delta) == difference(state, after, database.relations)
            marks += done.report.marks["deleted"]
            state = after
    return marks


def undo_and_redo(database: Database, state: State, rng: Random) -> None:
    """Change the database and change it back, so that every age and counter may be another one."""
    name, row = rng.choice(sorted(state.facts, key=repr))
    for change in (Transaction.delete, Transaction.insert):
        with suppress(EvaluationError), database.transaction() as tx:
            change(tx, name, [row])


def main(first: int, count: int, *algorithms: str) -> None:
    together = marks = 0
    for seed in range(first, first + count):
        told = history(seed)
        for algorithm in algorithms or COURSES:
            try:
                together += overlap(told, algorithm, Random(f"{seed} {algorithm}"))
            except Exception as error:
                print(f"seed {seed} by {algorithm}: {type(error).__name__}: {str(error)[:300]}")
        for algorithm in MARKING:
            try:
                marks += marked(told, algorithm, Random(f"{seed} {algorithm}"))
            except Exception as error:
                print(
                    f"seed {seed} marking: {algorithm}: {type(error).__name__}: {str(error)[:300]}"
                )
    print(f"{together} times several updates settled together; {marks} marks")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
