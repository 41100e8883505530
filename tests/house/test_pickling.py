"""What users catch and are given can be sent to another process."""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import pkgutil

import pytest

import tidelog
from tidelog import (
    Branch,
    Commit,
    Database,
    Delta,
    FactChange,
    Limits,
    ProgramError,
    RuleChange,
    Stats,
    TidelogError,
)
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.syntax import Span

# What owns an engine, a thread or a lock stays in its process.
STAYS = {"Database", "Latest", "RelationView", "Snapshot", "Stream", "Transaction", "functor"}


def exceptions() -> list[type[TidelogError]]:
    """Every class of exception that a user may see, from all modules that can be imported."""
    for module in pkgutil.walk_packages(tidelog.__path__, "tidelog."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:  # an optional dependency is missing
                continue
    found: dict[type[TidelogError], None] = {TidelogError: None}
    for kind in found.copy():
        pending = [kind]
        while pending:
            for each in pending.pop().__subclasses__():
                found[each] = None
                pending.append(each)
    return list(found)


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "ProgramError": (
        [Diagnostic("no such thing", Span("a.dl", 1, 3), "write another", notes=("a note",))],
        {"a.dl": ["p(x)."]},
    ),
    "SettingError": ("key", "a message", "advice"),
}


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: kind.__name__)
def test_exceptions(kind: type[TidelogError]) -> None:
    error = kind(*ARGUMENTS.get(kind.__name__, ("error: a message",)))
    error.add_note("a note")
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is kind
    assert (str(found), found.args) == (str(error), error.args)
    assert found.__dict__ == error.__dict__


def values() -> dict[str, object]:
    """A value of every public type that is not an exception."""
    db = Database("p(x, y) :- e(x, y).", facts={"e": [(1, 2)]})
    with db.transaction() as tx:
        tx.insert("e", [(3, 4)])
    (finished,) = db.stream([FactChange("+", "e", (5, 6)), Commit()])
    return {
        "Answer": db.query("p(x, y)"),
        "Branch": Branch("A", (1, None)),
        "Commit": Commit(),
        "Delta": tx.delta,
        "FactChange": FactChange("+", "e", (1, 2)),
        "Finished": finished,
        "Limits": Limits(max_facts=3),
        "Proof": db.why("p(1, 2)"),
        "Report": tx.report,
        "RuleChange": RuleChange("-", "p.123456"),
        "Stats": Stats(facts=2),
    }


def test_values() -> None:
    found = values()
    errors = {kind.__name__ for kind in exceptions()}
    assert found.keys() == set(tidelog.__all__) - STAYS - errors
    for name, value in found.items():
        copy = pickle.loads(pickle.dumps(value))
        assert type(copy) is type(value), name
        if isinstance(value, Delta):
            assert (copy, hash(copy)) == (value, hash(value))
            assert (str(copy), copy.counts) == ("+e(3, 4).\n+p(3, 4).", value.counts)
            assert copy.removed("p") == []
            assert str(pickle.loads(pickle.dumps(copy))) == str(value)
        else:
            assert repr(copy) == repr(value), name


def fail(text: str) -> None:
    Database(text)


def test_a_pool_reports_the_error_of_its_worker() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply_async(fail, ("p(x) :- q(y).",))
        with pytest.raises(ProgramError) as caught:
            result.get(timeout=100)
    with pytest.raises(ProgramError) as here:
        fail("p(x) :- q(y).")
    assert str(caught.value) == str(here.value)
    assert caught.value.diagnostics == here.value.diagnostics


def test_deltas_are_equal_if_their_facts_are() -> None:
    db = Database(".decl e(x: float)")
    deltas = []
    for row in ((1.0,), (float("nan"),), (2.0,)):
        with db.transaction() as tx:
            tx.insert("e", [row])
        deltas.append(tx.delta)
    copies = pickle.loads(pickle.dumps(deltas))
    assert copies == deltas
    assert len({*copies, *deltas}) == 3
    assert deltas[0] != str(deltas[0])
