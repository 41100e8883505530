"""Marking: what coming updates delete leaves without a rule, and marks are made where they pay.

All is counted, in rule instances and facts; nothing depends on a clock.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import pytest

from tidelog import Database, FactChange
from tidelog.changes.policies import look_ahead
from tidelog.changes.policies.look_ahead import ALGORITHMS, LookAhead
from tidelog.changes.policies.policy import Arrived, Finished
from tidelog.maintain import closure_seeds, materialise
from tidelog.program.changes import Op
from tidelog.transaction.core import Options

REACH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
BY_NAME = tuple(name for name in ALGORITHMS if name != "auto")
Edge = tuple[int, int]
Update = list[FactChange]


def change(op: Op, *edges: Edge, relation: str = "edge") -> Update:
    return [FactChange(op, relation, edge) for edge in edges]


class Played(NamedTuple):
    done: list[Finished]
    database: Database

    @property
    def instances(self) -> int:
        return sum(each.report.instances for each in self.done)

    @property
    def marks(self) -> Counter[str]:
        return sum((each.report.marks for each in self.done), Counter[str]())


def play(
    text: str,
    start: list[Edge],
    updates: list[Update],
    policy: str,
    algorithm: str,
    **options: bool,
) -> Played:
    database = Database(text, facts={"edge": start} if start else {}, **options)
    return Played(list(database.stream(updates, policy, algorithm=algorithm)), database)


def both(
    text: str, start: list[Edge], updates: list[Update], algorithm: str, **options: bool
) -> tuple[Played, Played]:
    """Sequentially and with marks: with the same deltas."""
    plain, marked = (
        play(text, start, updates, policy, algorithm, **options)
        for policy in ("sequential", "marking")
    )
    assert [list(each.delta) for each in marked.done] == [list(each.delta) for each in plain.done]
    return plain, marked


def window(
    nodes: int, edges: int, updates: int, size: int, lasting: int, seed: int = 1
) -> tuple[list[Edge], list[Update]]:
    """A random graph; each update inserts some edges, and deletes those of `lasting` updates
    before."""
    rng, made = random.Random(seed), list[list[Edge]]()
    taken = set[Edge]()

    def new(count: int) -> list[Edge]:
        some = list[Edge]()
        while len(some) < count:
            edge = rng.randrange(nodes), rng.randrange(nodes)
            if edge not in taken:
                taken.add(edge)
                some.append(edge)
        return some

    start, found = new(edges), list[Update]()
    for number in range(updates):
        made.append(new(size))
        before = made[number - lasting] if number >= lasting else []
        found.append(change("-", *before) + change("+", *made[-1]))
    return start, found


@pytest.mark.parametrize("modules", [False, True])
@pytest.mark.parametrize("algorithm", BY_NAME)
@pytest.mark.parametrize(("nodes", "edges"), [(60, 60), (60, 240)])
def test_what_the_next_update_deletes_is_not_joined_again(
    nodes: int, edges: int, algorithm: str, modules: bool
) -> None:
    plain, marked = both(REACH, *window(nodes, edges, 20, 3, 1), algorithm, modules=modules)
    assert marked.instances < 0.6 * plain.instances
    assert marked.marks["explicit"] == 3 * 19
    assert marked.marks["deleted"] == marked.marks["facts"] >= marked.marks["explicit"]
    for done in marked.done[1:]:
        work = done.report.works[0]
        assert (work.algorithm, work.instances) == ("marks", 0)
        assert not any(each.deleted for each in done.report.works[1:]), "nothing else is deleted"


@pytest.mark.parametrize("algorithm", BY_NAME)
@pytest.mark.parametrize("lasting", [1, 2, 3, 5])
@pytest.mark.parametrize(("nodes", "edges"), [(40, 40), (40, 160)])
def test_marks_never_cost_many_instances(
    nodes: int, edges: int, lasting: int, algorithm: str
) -> None:
    plain, marked = both(REACH, *window(nodes, edges, 20, 2, lasting), algorithm)
    assert marked.instances <= 1.3 * plain.instances
    assert bool(marked.marks) == (lasting <= look_ahead.AHEAD)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_marks_where_none_is_deleted_soon(algorithm: str) -> None:
    """One edge comes or goes with each update, at random."""
    start, updates = window(40, 200, 30, 1, 30)
    gone = random.Random(1).sample(start, 15)
    for i, edge in enumerate(gone):
        updates[2 * i] = change("-", edge)
    _, marked = both(REACH, start, updates, algorithm)
    assert not marked.marks
    works = [work for done in marked.done for work in done.report.works]
    assert algorithm == "dred" or all(work.algorithm != "dred" for work in works)


def test_auto_leaves_closures_to_their_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dense graph, whose closure deletes quickly: nothing is marked, and nothing else done."""
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)
    start, updates = window(300, 1500, 60, 1, 1)
    _, marked = both(REACH, start, updates, "auto")
    assert ("path",) in marked.database.core.state.memory.closed
    assert not marked.marks
    algorithms = {work.algorithm for done in marked.done for work in done.report.works}
    assert algorithms == {"input", "dredc-mod"}


@pytest.mark.parametrize("kept", ["nonrecursive", "recursive", "trace", "modules", "certain"])
def test_nothing_is_marked_that_counters_or_closures_follow(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_ahead, "SMALL", 0)
    database = Database(REACH, facts={"edge": [(1, 2)]})
    memory, book = database.core.state.memory, database.core.state.book
    stratum = book.strata[book.stratum_of["path"]]
    reached = look_ahead.reach(["edge"], book.strata, book.stratum_of, book.readers)
    assert stratum in reached
    assert look_ahead.can_mark(database.core.store, memory, reached, 0)
    assert not look_ahead.can_mark(database.core.store, memory, reached, 2)
    if kept in ("modules", "certain"):
        (memory.closed if kept == "modules" else memory.certain)[stratum.relations] = []
    memory.keep(stratum, kept)  # type: ignore[arg-type]
    assert not look_ahead.can_mark(database.core.store, memory, reached, 0)


def test_auto_marks_where_marks_save_all_deletions_or_much_work() -> None:
    database = Database(REACH)
    policy = LookAhead(database.core, lambda: None, Options("auto"))

    def waiting(update: Update) -> look_ahead.Waiting:
        return look_ahead.Waiting(Arrived(1, [(each, {}) for each in update], 0.0))

    coming = waiting(change("-", (1, 2), (2, 3), (3, 4)))
    found = {"edge": {(1, 2), (2, 3)}}
    assert not policy._pays(found, coming)
    policy._work = look_ahead.WORTH
    assert not policy._pays(found, coming)
    policy._work = 2 * look_ahead.WORTH
    assert policy._pays(found, coming)
    policy._work = 0
    assert policy._pays({"edge": {(1, 2), (2, 3), (3, 4)}}, coming)
    assert not policy._pays(found, waiting(change("+", (1, 2))))


@pytest.mark.parametrize("algorithm", BY_NAME)
def test_an_explicit_fact_that_a_rule_derives_passes_no_mark_on(algorithm: str) -> None:
    text = """
    .decl q(x: number)
    .decl p(x: number)
    .decl t(x: number)
    q(1).
    p(x) :- q(x).
    t(x) :- p(x).
    """
    updates = [change("+", (1,), relation="p"), change("-", (1,), relation="p")]  # type: ignore[arg-type]
    plain, marked = both(text, [], updates, algorithm)
    assert marked.marks == Counter({"explicit": 1})
    assert not list(marked.done[1].delta)
    assert marked.instances <= plain.instances
    explicit = Database(text + "p(1).")
    done = list(explicit.stream([change("+", (2,), relation="q"), *updates[1:]], "marking"))  # type: ignore[arg-type]
    assert not done[0].report.marks


def ahead_of(database: Database, updates: list[Update], ahead: int) -> LookAhead:
    """The policy, with the first update taken."""
    coming = [Arrived(n + 1, [(c, {}) for c in each], 0.0) for n, each in enumerate(updates)]
    first, rest = coming[0], iter(coming[1:])
    policy = LookAhead(database.core, lambda: next(rest, None), Options("dred"), ahead)
    policy.take(first)
    return policy


@pytest.mark.parametrize(("ahead", "marked"), [(1, [0, 1, 1, 0]), (2, [1, 2, 1, 0])])
def test_as_many_updates_are_looked_at_as_asked_for(ahead: int, marked: list[int]) -> None:
    """Two edges are each deleted two updates later."""
    updates = [change("+", (1, 2)), change("+", (2, 3)), change("-", (1, 2)), change("-", (2, 3))]
    if ahead == 1:  # and two by the next update
        updates[1] += change("+", (1, 3))
        updates[2] += change("-", (1, 3)) + change("+", (8, 9))
        updates[3] += change("-", (8, 9))
    database = Database(REACH)
    policy = ahead_of(database, updates, ahead)
    done = [each for _ in updates for each in policy.step()]
    assert [each.report.marks["explicit"] for each in done] == marked
    assert not policy.busy
    assert database["edge"].rows() == []


def test_marks_end_where_others_change_the_database() -> None:
    database = Database(REACH)
    policy = ahead_of(database, [change("+", (1, 2)), change("-", (1, 2))], 1)
    assert policy.step()[0].report.marks["facts"] == 2
    with database.transaction() as tx:
        tx.insert("edge", [(2, 3)])
    (done,) = policy.step()
    assert not done.report.marks
    assert done.delta.counts == {"edge": (0, 1), "path": (0, 2)}
    assert database["path"].rows() == [(2, 3)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "rules",
    [
        "lone(x) :- edge(x, _), !edge(_, x).",
        "many(x, n) :- edge(x, _), n = count : edge(x, _).",
    ],
)
def test_nothing_is_marked_that_reaches_negation_or_aggregates(rules: str, algorithm: str) -> None:
    """An insertion deletes through them: to undo it would insert."""
    updates = [change("+", (2, 1)), change("-", (2, 1)), change("+", (7, 7))]
    _, marked = both(REACH + rules, [(1, 2), (1, 3)], updates, algorithm)
    assert not marked.marks
