"""Transactions: cases that once failed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import tidelog as tl
from tests.algorithms import ALGORITHMS

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)


@pytest.mark.sampled(36)
@algorithms
@pytest.mark.parametrize("before", ALGORITHMS)
def test_what_was_tried_out_leaves_no_trace(before: str, algorithm: str) -> None:
    """Rows that recomputing had put in again stayed behind, and aggregates saw them."""
    db = tl.Database("m(x) :- x = max y : { w(y) }.", facts={"w": [(1,), (9,)]})
    with db.transaction(algorithm=before, dry_run=True) as tx:
        tx.delete("w", [(9,)])
    assert tx.delta.added("m") == [(1,)]
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete("w", [(9,)])
    assert db["m"].rows() == [(1,)]


@algorithms
def test_a_rule_may_need_nothing(algorithm: str) -> None:
    db = tl.Database("n(1) :- true. m(x) :- n(x). k() :- true.", algorithm=algorithm)
    assert (db["m"].rows(), len(db["k"])) == ([(1,)], 1)
    with db.transaction() as tx:
        tx.remove_rule("n(1) :- true.")
    assert tx.delta.counts == {"n": (0, 1), "m": (0, 1)}
    with db.transaction() as tx:
        tx.add_rule("n(1) :- true.")
        tx.insert("n", [(1,)])
    assert tx.delta.counts == {"n": (1, 0), "m": (1, 0)}
    with db.transaction() as tx:
        tx.delete("n", [(1,)])
    assert len(tx.delta) == 0
    assert db["m"].rows() == [(1,)]


@algorithms
def test_a_rule_goes_while_another_brings_a_relation_with_facts(algorithm: str) -> None:
    """The facts were looked for in the strata of before, which do not have the relation."""
    db = tl.Database("a(x) :- b(x). b(1).", algorithm=algorithm)
    with db.transaction() as tx:
        tx.remove_rule("a(x) :- b(x).")
        tx.add_rule("new(x) :- b(x).")
        tx.add_rule("a(x) :- new(x), x > 1.")
        tx.insert("new", [(5,)])
        tx.insert("b", [(2,)])
    assert tx.delta.counts == {"b": (1, 0), "new": (3, 0), "a": (2, 1)}
    assert db["a"].rows() == [(2,), (5,)]


def test_a_rule_that_never_holds_comes_and_goes() -> None:
    db = tl.Database("n(2).")
    with db.transaction() as tx:
        name = tx.add_rule("n(1) :- false.")
    assert db.rules == {name: "n(1) :- false."}
    with db.transaction() as tx:
        assert tx.remove_rule("n(1) :- false.") == name
    assert db.rules == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (None, "error: expected changes, as text or as values, got None"),
        ([1], "error: expected a FactChange or a RuleChange, got 1"),
        (
            [tl.FactChange("*", "n", (1,))],  # type: ignore[arg-type]
            "error: expected the sign + or - of a change, got '*'",
        ),
        (
            [tl.FactChange("+", "n", [1])],  # type: ignore[arg-type]
            "error: expected a fact's row as a tuple, got [1]",
        ),
    ],
)
def test_what_is_no_change(changes: Any, message: str) -> None:
    db = tl.Database("n(2).")
    with pytest.raises(tl.TidelogError) as error:
        db.apply(changes)
    assert str(error.value) == message
    assert db["n"].rows() == [(2,)]
    db.apply("+n(3).")
    assert len(db["n"]) == 2


def test_what_is_no_rule() -> None:
    db = tl.Database("n(2).")
    for not_a_rule in (None, 5):
        with (
            db.transaction() as tx,
            pytest.raises(tl.TidelogError, match="a rule as text"),
        ):
            tx.remove_rule(not_a_rule)  # type: ignore[arg-type]


INTERRUPTED = """
import os, random, signal, sys, threading, time
import tidelog as tl
program = '''
    .decl e(x: number, y: number)
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), e(y, z).
    c(x, n) :- e(x, _), n = count : { p(x, _) }.
    m(x) :- e(x, _), !p(x, x).
'''
random.seed(int(sys.argv[1]))
edge = lambda: (random.randrange(150), random.randrange(150))
E = {edge() for _ in range(200)}
db = tl.Database(program, facts={"e": list(E)})
state = lambda d: {name: set(d[name]) for name in d}
algorithms = ["recompute", "counting", "dred", "dredc", "bf", "bfc", "aged", "auto"]
interrupted, step, took = 0, 0, 0.03
while step < 60 or interrupted < 6:  # however fast the machine is
    step += 1
    go, come = set(random.sample(sorted(E), 5)), {edge() for _ in range(5)}
    done = threading.Event()
    delay = random.random() * took
    def interrupt():
        if not done.wait(delay):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
    other = threading.Thread(target=interrupt)
    began = time.monotonic()
    try:
        other.start()
        with db.transaction(algorithm=random.choice(algorithms)) as tx:
            tx.delete("e", list(go))
            tx.insert("e", list(come))
        took = time.monotonic() - began
    except KeyboardInterrupt:
        interrupted += 1
    while other.is_alive():
        try:
            done.set()
            other.join()
        except KeyboardInterrupt:
            pass
    now = state(db)
    after = (E - go) | come
    assert now["e"] in (E, after), step
    E = now["e"]
    assert now == state(tl.Database(program, facts={"e": list(E)})), step
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(2))
def test_ctrl_c_comes_at_any_time(seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(seed)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_delta_has_relations_that_rules_add_whatever_the_outputs_are() -> None:
    db = tl.Database("p(x) :- e(x). hidden(x) :- e(x).\n.output p\n", facts={"e": [(1,)]})
    with db.transaction() as tx:
        tx.add_rule("added(x) :- e(x).")
    assert str(tx.delta) == "+added(1)."
    with db.transaction() as tx:
        tx.insert("e", [(2,)])
    assert tx.delta.counts == {"p": (1, 0), "added": (1, 0)}


@algorithms
def test_flushed_changes_can_be_taken_back(algorithm: str) -> None:
    """The last change of a fact counts, whether those before it were flushed or not."""
    db = tl.Database("p(x) :- q(x).", facts={"q": [(1,)]}, algorithm=algorithm)
    relation, store = db.schema["q"], db.core.store
    with db.transaction() as tx:
        tx.change(tl.FactChange("+", "q", (2,)))
        tx.change(tl.FactChange("-", "q", (1,)))
        assert not store.is_explicit(relation, (2,))
        tx.flush()
        assert store.is_explicit(relation, (2,))
        assert not store.is_explicit(relation, (1,))
        tx.change(tl.FactChange("+", "q", (1,)))
    assert tx.delta.counts == {"q": (1, 0), "p": (1, 0)}
    assert [tx.delta.table("p", op).rows() for op in ("+", "-")] == [[(2,)], []]
    with pytest.raises(tl.TidelogError, match="the transaction has ended"):
        tx.flush()
