"""The circuit as an algorithm: cases that once went wrong, and what it tells."""

from __future__ import annotations

import pytest

from tidelog import Database, Limits
from tidelog.maintain.circuit_host import MANY
from tidelog.program.diagnostics import EvaluationError, LimitError

PATHS = """
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""


def test_a_rule_that_goes_may_stand_in_the_way_of_one_that_comes() -> None:
    """Together they would have an aggregate in a recursion."""
    db = Database(
        ".decl m(x: number) .decl f(x: number) f(1). q(n) :- n = count : { m(_) }.",
    )
    with db.transaction(algorithm="dbsp") as tx:
        tx.insert("f", [(2,)])
    with db.transaction(algorithm="dbsp") as tx:
        tx.remove_rule("q(n) :- n = count : { m(_) }.")
        tx.add_rule("q(x) :- f(x).")
        tx.add_rule("m(x) :- q(x).")
    assert str(tx.delta) == "-q(0).\n+q(1).\n+q(2).\n+m(1).\n+m(2)."


def test_limits_count_facts_and_nothing_else() -> None:
    program = ".decl e(x: number) n(x) :- e(x), x < 0. m(x) :- e(x), x % 2 = 5."
    db = Database(program, facts={"e": [(i,) for i in range(400)]})
    with db.transaction(algorithm="dbsp", limits=Limits(max_facts=1000)) as tx:
        tx.insert("e", [(1000 + i,) for i in range(400)])
    assert tx.delta.counts == {"e": (400, 0)}


def test_limits_name_the_rule_at_work() -> None:
    db = Database(
        """
        .decl e(x: number, y: number) .decl s(x: number) .decl p(x: number, y: number)
        .decl n(x: number)
        p(x, z) :- p(x, y), e(y, z).
        n(x) :- s(x).
        n(x + 1) :- n(x).
        """
    )
    tx = db.transaction(algorithm="dbsp", limits=Limits(max_facts=1000))
    tx.insert("s", [(1,)])
    with pytest.raises(LimitError, match=r"of n, in the rule\s+n\(x \+ 1\) :- n\(x\)\."):
        tx.commit()
    with db.transaction(algorithm="dbsp") as tx:
        tx.insert("e", [(1, 2)])
    assert tx.delta.counts == {"e": (1, 0)}


def test_errors_name_a_rule_that_is_there() -> None:
    db = Database(".decl n(x: number) .decl a(x: number) .decl b(x: number)")
    for rule in ("a(y) :- n(x), y = 10 / x.", "b(y) :- n(x), y = 10 / x."):
        with db.transaction(algorithm="dbsp") as tx:
            tx.add_rule(rule)
            tx.insert("n", [(5,)])
    with db.transaction(algorithm="dbsp") as tx:
        tx.remove_rule("a(y) :- n(x), y = 10 / x.")
    tx = db.transaction(algorithm="dbsp")
    tx.insert("n", [(0,)])
    with pytest.raises(EvaluationError, match=r"b\(y\) :- n\(x\)"):
        tx.commit()


def test_reports_tell_of_the_circuit() -> None:
    db = Database(PATHS)
    with db.transaction(algorithm="dbsp") as tx:
        tx.insert("edge", [(1, 2), (2, 3)])
    (work,) = tx.report.works
    assert (work.algorithm, work.added) == ("dbsp", 5)
    assert set(work.relations) == {"edge", "path"}
    assert work.numbers["rounds"] >= 3
    assert work.numbers["rewrites"] == 3
    assert "bytes" in tx.report.table()


def test_another_algorithm_in_between() -> None:
    db = Database(PATHS)
    for i, algorithm in enumerate(("dbsp", "dred", "dbsp", "recompute", "dbsp-no-index", "dbsp")):
        with db.transaction(algorithm=algorithm) as tx:
            tx.insert("edge", [(i, i + 1)])
        assert len(db["path"]) == (i + 1) * (i + 2) // 2
        assert tx.delta.counts["path"] == (i + 1, 0)


@pytest.mark.parametrize(
    "rule", ["", "edge(x, x) :- x = range(1, 9).", "edge(x, x) :- 1 < x, x = 2."]
)
def test_many_facts_come_at_once(rule: str) -> None:
    """Explicit ones, some of which follow as well, beside those that rules give."""
    program = f"{PATHS} edge(y, x) :- edge(x, y), x > 4000. {rule}"
    edges = [(2 * i, 2 * i + 1) for i in range(MANY, 3 * MANY)]
    dbs = {name: Database(program) for name in ("dbsp", "recompute")}
    for given in (edges[:MANY], [*edges, (edges[-1][1], edges[-1][0])]):
        deltas = []
        for name, db in dbs.items():
            with db.transaction(algorithm=name) as tx:
                tx.insert("edge", given)
                tx.delete("edge", edges[:2])
            deltas.append(sorted(str(tx.delta).splitlines()))
        assert deltas[0] == deltas[1]
        assert len(deltas[0]) > MANY
