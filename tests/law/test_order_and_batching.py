"""The same net change leads to the same state: in one transaction, in many, in any order.

What is undone leaves no trace: facts, rows and derivation counters are those of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tests.law.histories import Author, Change, Fact, Facts, RuleText, State, by_relation
from tests.law.replay import check, make
from tests.local.test_changes import counts
from tidelog import Database

NAMES = list(ALGORITHMS)
COUNTING = ("counting", "dredc", "bfc")


class World:
    """A generated program at its start, and a change in which no fact or rule occurs twice."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        author = Author(seed)
        self.text, self.given = author.start()
        self.state = State.of(self.text, self.given)
        facts = [author.facts() for _ in range(6)]
        changed: dict[Fact, Facts] = {}
        for change in facts:
            if change.relation == "trap":  # in some order its rule would divide by zero
                continue
            for row in change.rows:
                one = Facts(change.op, change.relation, (row,))
                changed.setdefault((change.relation, row), one)
        # Any of the generated program's rules make a program that is stratified and ends.
        rules = self.random.sample(sorted(set(author.rules)), min(3, len(author.rules)))
        held = self.state.rules.values()
        flipped = [RuleText("-" if text in held else "+", text) for text in rules]
        self.changes: list[Change] = [*changed.values(), *flipped]

    def database(self, algorithm: str) -> Database:
        return Database(self.text, facts=by_relation(self.given), algorithm=algorithm)

    def after(self) -> State:
        state = self.state
        for change in self.changes:
            state = state.after(change)
        return state

    def batches(self) -> list[list[Change]]:
        """The change in some order, cut into transactions at some places."""
        changes = self.random.sample(self.changes, len(self.changes))
        cuts = sorted(self.random.sample(range(len(changes) + 1), self.random.choice((0, 1, 3))))
        ends = zip([0, *cuts], [*cuts, len(changes)], strict=True)
        return [changes[start:end] for start, end in ends]


def commit(db: Database, changes: Iterable[Change], algorithm: str | None = None) -> None:
    with db.transaction(algorithm=algorithm) as tx:
        for i, change in enumerate(changes):
            make(tx, change, i)


def undoing(state: State, changes: Sequence[Change]) -> list[Change]:
    """What takes these changes back; changes that change nothing need none."""
    found: list[Change] = []
    for change in reversed(changes):
        if isinstance(change, RuleText):
            found.append(RuleText("-" if change.op == "+" else "+", change.text))
        elif ((change.relation, change.rows[0]) in state.facts) != (change.op == "+"):
            found.append(Facts("-" if change.op == "+" else "+", change.relation, change.rows))
    return found


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(5000, 5025))
def test_one_transaction_or_many_in_any_order(seed: int) -> None:
    world = World(seed)
    after = world.after()
    ways = [[world.changes], [[change] for change in world.changes[::-1]], *(
        world.batches() for _ in range(2)
    )]  # fmt: skip
    for i, batches in enumerate(ways):
        algorithm = NAMES[(seed + 2 * i) % len(NAMES)]
        db = world.database(algorithm)
        check(db, world.state)
        for batch in batches:
            commit(db, batch)
        check(db, after)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(5100, 5106))
def test_what_is_undone_leaves_no_trace(seed: int, algorithm: str) -> None:
    world = World(seed)
    db = world.database(algorithm)
    seen = []
    for _ in range(3):
        for batch in _there_and_back(world):
            commit(db, batch)
        check(db, world.state)
        counters = [counts(db._engine, which) for which in (0, 1)] if algorithm in COUNTING else []
        seen.append((db._engine.facts(), counters))
    # The first time, counters were counted; since then they are maintained.
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def _there_and_back(world: World) -> Iterator[list[Change]]:
    """Some changes and their opposites, then others, then all."""
    for part in (world.changes[::2], world.changes[1::2], world.changes):
        yield part
        yield undoing(world.state, part)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(5200, 5220))
def test_a_rule_removed_is_a_database_without_it(seed: int) -> None:
    world = World(seed)
    db = world.database(NAMES[seed % len(NAMES)])
    for i, (name, text) in enumerate(world.state.rules.items()):
        algorithm = NAMES[(seed + i) % len(NAMES)]
        without = world.state.after(RuleText("-", text))
        fresh = Database(without.text, facts=by_relation(without.facts))
        with db.transaction(algorithm=algorithm) as removing:
            assert removing.remove_rule(name if i % 2 else text) == name
        assert _all(db) == _all(fresh), text
        with db.transaction(algorithm=algorithm) as adding:
            assert adding.add_rule(text) == name
        check(db, world.state)
        opposite = {"+": "-", "-": "+"}
        # As sets: the strata, by which deltas are ordered, may be others with the rule.
        assert {(opposite[c.op], c.relation, c.row) for c in removing.delta} == {
            (c.op, c.relation, c.row) for c in adding.delta
        }


def _all(db: Database) -> dict[str, list[tuple[object, ...]]]:
    return {name: list(db.relation(name)) for name in sorted(db.relations)}
