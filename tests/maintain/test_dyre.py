"""The circuit of the DYRE paper as an algorithm."""

from __future__ import annotations

import pytest

import tidelog as tl
from bench.data import RDFS_WORDS, lubm_like
from bench.workloads import text
from tests.maintain.histories import History
from tidelog import Database, Limits
from tidelog.maintain import dyre
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.maintain.dyre import POSITIVE, is_positive
from tidelog.program.diagnostics import LimitError

PATHS = """
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""


@pytest.mark.parametrize("seed", range(30))
def test_positive_programs_are_maintained_by_the_circuit(seed: int) -> None:
    history = History(seed, ("python", "local")[seed % 2], wanted=is_positive)
    for _ in range(6):
        history.step("dyre")
        assert {work.algorithm for work in history.world.report.works} == {"dyre"}


@pytest.mark.parametrize("seed", range(6))
def test_others_may_come_in_between(seed: int) -> None:
    history = History(seed, "local", wanted=is_positive)
    for _ in range(10):
        history.step(history.random.choice(("dyre", "dyre", "dbsp", *ALGORITHMS)))


@pytest.mark.parametrize(
    "rule",
    [
        "far(x) :- path(x, _), !edge(x, x).",
        "far(x) :- path(x, y), x < y.",
        "far(x + 1) :- path(x, _).",
        "far(n) :- n = count : { path(_, _) }.",
        "far(x) :- path(_, y), x = range(1, y).",
    ],
)
def test_other_rules_are_refused_and_evaluated_from_scratch(rule: str) -> None:
    db = Database(PATHS, facts={"edge": [(1, 2), (2, 3)]})
    with db.transaction(algorithm="dyre") as tx:
        tx.insert("edge", [(3, 4)])
    assert {work.algorithm for work in tx.report.works} == {"dyre"}
    with db.transaction(algorithm="dyre") as tx:
        tx.add_rule(rule)
        tx.delete("edge", [(3, 4)])
    works = [work for work in tx.report.works if work.algorithm != "input"]
    assert {(work.algorithm, work.why) for work in works} == {("recompute", POSITIVE)}
    other = Database(f"{PATHS}{rule}", facts={"edge": [(1, 2), (2, 3)]})
    assert set(db["far"]) == set(other["far"])
    assert db["far"]
    with db.transaction(algorithm="dyre") as tx:
        tx.remove_rule(rule)
    assert not db["far"]
    assert "dyre" not in {work.algorithm for work in tx.report.works}
    with db.transaction(algorithm="dyre") as tx:
        tx.insert("edge", [(3, 4)])
    assert {work.algorithm for work in tx.report.works} == {"dyre"}
    assert len(db["path"]) == 6


def test_a_real_program_under_changes_of_facts_and_of_rules() -> None:
    """RDFS on some thousand triples, as the paper's evaluation has it: the delta of every update is
    that of recomputing."""
    triples = lubm_like(1, 5).rows()
    schema = range(1, len(RDFS_WORDS))
    data = [tuple(row) for row in triples.tolist() if row[1] not in schema][:4000]
    ontology = [tuple(row) for row in triples.tolist() if row[1] in schema]
    rules = [line for line in text("rdfs_triples").splitlines() if ":-" in line]
    dbs = {name: Database(text("rdfs_triples")) for name in ("dyre", "recompute")}
    updates = [
        (ontology + data[100:], [], [], []),
        (data[:100], data[200:220], [], []),
        ([], [], [], rules[3:4]),
        ([], ontology[:1], rules[3:4], []),
        (ontology[:1], data[:100], [], rules[2:3]),
        (data[200:220], [], rules[2:3], []),
    ]
    for inserted, deleted, added, removed in updates:
        deltas = []
        for name, db in dbs.items():
            with db.transaction(algorithm=name) as tx:
                tx.insert("triple", inserted)
                tx.delete("triple", deleted)
                for rule in added:
                    tx.add_rule(rule)
                for rule in removed:
                    tx.remove_rule(rule)
            deltas.append(sorted(str(tx.delta).splitlines()))
        assert deltas[0] == deltas[1]
        assert deltas[0]
    assert db.size("triple") > 3000


def test_reports_name_the_circuit() -> None:
    db = Database(PATHS)
    with db.transaction(algorithm="dyre") as tx:
        tx.insert("edge", [(1, 2), (2, 3)])
    (work,) = tx.report.works
    assert (work.algorithm, work.added, work.instances) == ("dyre", 5, 3)
    assert work.numbers["rewrites"] == 4  # the empty one, two edges, and a path of two
    assert work.numbers["rounds"] > 2
    assert work.numbers["bytes"] > 0


def test_limits_count_facts_that_the_update_derives() -> None:
    db = Database(PATHS, facts={"edge": [(i, i + 1) for i in range(40)]})
    with db.transaction(algorithm="dyre", limits=Limits(max_facts=1000)) as tx:
        tx.insert("edge", [(100, 101)])
    tx = db.transaction(algorithm="dyre", limits=Limits(max_facts=1000))
    tx.insert("edge", [(40, 41), (41, 42), (42, 43), (43, 44)])
    with pytest.raises(LimitError, match="more than 1,000 facts"):
        tx.commit()
    with db.transaction(algorithm="dyre") as tx:
        tx.delete("edge", [(0, 1)])
    assert tx.delta.counts["path"] == (0, 40)


def test_an_update_that_is_undone_leaves_no_trace() -> None:
    db = Database(PATHS, facts={"edge": [(1, 2)]})
    with db.transaction(algorithm="dyre") as tx:
        tx.insert("edge", [(2, 3)])
    tx = db.transaction(algorithm="dyre")
    tx.insert("edge", [(3, 4)])
    tx.rollback()
    with db.transaction(algorithm="dyre") as tx:
        tx.insert("edge", [(3, 1)])
    assert tx.delta.counts == {"edge": (1, 0), "path": (6, 0)}


def test_a_circuit_that_has_grown_is_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dyre, "MANY", 0)
    db, circuits = Database(PATHS), set()
    for i in range(60):
        with db.transaction(algorithm="dyre") as tx:
            tx.delete("edge", [(i, i + 1)])
            tx.insert("edge", [(i + 1, i + 2), (i + 2, i + 3)])
        circuits.add(db._state.memory.circuit)
        assert set(db["path"]) == {(i + 1, i + 2), (i + 2, i + 3), (i + 1, i + 3)}
        assert {work.algorithm for work in tx.report.works} == {"dyre"}
    assert None in circuits
    assert len(circuits) > 3


def test_streams_and_waiting_updates() -> None:
    program = f"{PATHS}.output path"
    for policy in ("sequential", "fully-dynamic"):
        db = tl.Database(program)
        changes = "+edge(1, 2). +edge(2, 3). commit. -edge(1, 2). commit. +edge(3, 2). commit."
        db.stream(changes, algorithm="dyre", policy=policy).run()
        assert set(db["path"]) == {(2, 2), (2, 3), (3, 2), (3, 3)}
