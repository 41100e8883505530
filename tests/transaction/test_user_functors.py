"""Functors in Python: batches, remembered results, errors that leave everything as it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidelog as tl
from tests.clock import Clock
from tidelog.cli import main

PROGRAM = """
.functor f(x: number, y: symbol): number
.functor g(number): symbol
.decl p(x: number, y: symbol)
.decl q(x: number, y: symbol)
q(@f(x, y), @g(x + 1)) :- p(x, y), x > 0.
"""
FACTS = {"p": [(1, "a"), (2, "bb"), (0, "never"), (2, "a")]}


def f(x: int, y: str) -> int:
    if y == "bad":
        raise ValueError("no such luck")
    return x * 10 + len(y)


def g(x: int) -> str:
    return "!" * x


def opened(**functors: Callable[..., Any]) -> tl.Database:
    return tl.Database(PROGRAM, FACTS, functors={"f": f, "g": g, **functors})


def test_each_list_of_arguments_is_asked_for_once_in_the_life_of_a_database() -> None:
    asked: list[Any] = []

    def counted(x: int) -> str:
        asked.append(x)
        return g(x)

    db = opened(g=counted)
    assert set(db["q"]) == {(11, "!!"), (22, "!!!"), (21, "!!!")}
    assert sorted(asked) == [2, 3]
    with db.transaction() as tx:
        tx.delete("p", FACTS["p"])
    with db.transaction() as tx:
        tx.insert("p", [(1, "a"), (5, "c")])
    assert set(db["q"]) == {(11, "!!"), (51, "!!!!!!")}
    assert db.query("p(_, y), z = @g(1)") == [("a", "!"), ("c", "!")]
    assert sorted(asked) == [1, 2, 3, 6]


def test_what_a_fickle_function_gave_is_remembered() -> None:
    given = iter(range(100))

    def fickle(x: int, y: str) -> int:
        return f(x, y) if y == "bad" else next(given)

    db = opened(f=fickle)
    before = set(db["q"])
    with db.transaction() as tx:
        tx.insert("p", [(7, "x")])
    with pytest.raises(tl.EvaluationError, match="no such luck"), db.transaction() as tx:
        tx.insert("p", [(8, "x"), (1, "bad")])
    with db.transaction(algorithm="dred") as tx:
        tx.delete("p", [(7, "x")])
    assert set(db["q"]) == before
    with db.transaction() as tx:
        tx.delete("p", FACTS["p"])
    assert not db["q"].rows()


def test_vectorised_functions_get_arrays_of_the_kinds_that_are_declared() -> None:
    seen = []

    @tl.functor(vectorised=True)
    def many(x: Any, y: Any) -> Any:
        seen.append((x.dtype, y.dtype, len(x)))
        return x * 2

    assert {x for x, _ in opened(f=many)["q"]} == {2, 4}
    assert seen == [(np.dtype("int64"), np.dtype("O"), 3)]


@pytest.mark.parametrize("kind", ["number", "unsigned", "float", "symbol"])
def test_values_of_all_kinds_go_in_and_come_out(kind: str) -> None:
    values = {
        "number": [-(2**63), 2**63 - 1, 0],
        "unsigned": [2**64 - 1, 0],
        "float": [0.5, -1e300],
        "symbol": ["", "näive"],
    }[kind]
    text = f".functor same(x: {kind}): {kind} .decl p(x: {kind}) q(@same(x)) :- p(x)."
    for function in (lambda x: x, tl.functor(vectorised=True)(lambda x: x)):
        db = tl.Database(text, {"p": [(v,) for v in values]}, functors={"same": function})
        assert set(db["q"]) == {(v,) for v in values}


def test_a_functor_without_arguments_is_called_once() -> None:
    asked = []
    text = ".functor now(): number p(1). p(2). q(x, @now()) :- p(x). r(@now())."
    db = tl.Database(text, functors={"now": lambda: asked.append(1) or 42})
    assert set(db["q"]) == {(1, 42), (2, 42)}
    assert list(db["r"]) == [(42,)]
    assert len(asked) == 1


WRONG: list[tuple[Callable[..., Any], str]] = [
    (lambda x: 1, r"functor g\(2\) gave 1, of type int, which is not a value of type symbol, in"),
    (lambda x: "\ud800", r"functor g\(\d\) gave a string with half of a surrogate pair"),
    (lambda x: 1 // 0, r"functor g\(\d\) raised ZeroDivisionError: "),
    (lambda: "", r"functor g\(\d\) raised TypeError: "),
    (
        tl.functor(vectorised=True)(lambda x: x[:1].astype(str)),
        r"gave an array of shape \(1,\) for",
    ),
    (tl.functor(vectorised=True)(lambda x: x), r"gave an array of int64, which is not of type"),
    (tl.functor(vectorised=True)(lambda x: 1 // 0), r"functor g\(\d\) and 1 more raised ZeroDiv"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_a_function_may_not_do_is_told_with_arguments_and_rule(
    wrong: Callable[..., Any], message: str
) -> None:
    with pytest.raises(tl.EvaluationError, match=message) as found:
        opened(g=wrong)
    assert "<program>:6:1: error: " in str(found.value)
    assert str(found.value).endswith("q(@f(x, y), @g(x + 1)) :- p(x, y), x > 0.")


def test_an_error_rolls_the_transaction_back() -> None:
    db = opened()
    before = {name: set(db[name]) for name in db}
    for algorithm in ("auto", "dred", "counting", "dbsp"):
        tx = db.transaction(algorithm=algorithm)
        tx.insert("p", [(3, "bad"), (4, "fine")])
        tx.delete("p", [(1, "a")])
        with pytest.raises(tl.EvaluationError, match=r"functor f\(3, 'bad'\) raised ValueEr"):
            tx.commit()
        assert {name: set(db[name]) for name in db} == before
    with db.transaction() as tx:
        tx.insert("p", [(0, "bad"), (4, "fine")])  # x > 0 rules it out before it is called
    assert (44, "!!!!!") in db["q"]


def test_functors_that_are_missing_are_told_before_anything_is_evaluated() -> None:
    with pytest.raises(tl.ProgramError) as found:
        tl.Database(PROGRAM, FACTS, functors={"f": f})
    assert "functor g has no function" in str(found.value)
    assert "<program>:6:13" in str(found.value)
    with pytest.raises(
        tl.TidelogError, match="the program declares no functor h\n    it declares f"
    ):
        opened(h=f)
    with pytest.raises(tl.TidelogError, match="functor f must be a function, got 3"):
        opened(f=3)  # type: ignore[arg-type]
    db = tl.Database(PROGRAM.replace("q(@", "// "), FACTS)
    with pytest.raises(tl.ProgramError, match="functor f has no function"), db.transaction() as tx:
        tx.add_rule("r(@f(x, y)) :- p(x, y).")
    with pytest.raises(tl.ProgramError, match="functor f has no function"):
        db.query("p(x, y), z = @f(x, y)")
    db.functor("f", f)
    with db.transaction() as tx:
        name = tx.add_rule("r(@f(x, y)) :- p(x, y).")
    assert len(db["r"]) == 4
    with pytest.raises(tl.TidelogError, match="functor f is in use"):
        db.functor("f", f)
    with db.transaction() as tx:
        tx.remove_rule(name)
    assert "r" not in db or len(db["r"]) == 0


def test_impure_functors_are_for_batch_runs_unless_they_are_safe() -> None:
    impure = tl.functor(pure=False)(lambda x: "s")
    db = opened(g=impure)
    assert len(db["q"]) == 3
    with pytest.raises(tl.ProgramError, match="functor g is not pure, so facts and rules cannot"):
        db.transaction()
    stateful = PROGRAM.replace("(number): symbol", "(number): symbol stateful")
    db = tl.Database(stateful, FACTS, functors={"f": f, "g": g})
    with pytest.raises(tl.ProgramError, match="functor g is declared stateful"):
        db.apply('+p(3, "c"). commit.')
    safe = tl.functor(pure=False, safe=True)(g)
    db = tl.Database(stateful, FACTS, functors={"f": f, "g": safe})
    assert db.apply('+p(3, "c"). commit.')[0].counts == {"p": (1, 0), "q": (1, 0)}
    db = tl.Database(PROGRAM.replace("q(@", "// "), FACTS)
    db.functor("f", f, pure=False)
    with pytest.raises(tl.ProgramError, match="functor f is not pure"), db.transaction() as tx:
        tx.add_rule("r(@f(x, y)) :- p(x, y).")


def test_a_functor_may_not_use_the_database_that_calls_it() -> None:
    db = tl.Database(".functor h(x: number): number p(1).")
    db.functor("h", lambda x: len(db.query("p(y)")))
    with pytest.raises(tl.EvaluationError, match="a functor uses the database that calls it"):
        db.query("p(x), y = @h(x)")
    assert db.query("p(x)") == [(1,)]


def test_limits_end_functions_that_take_long(clock: Clock) -> None:
    def slow(x: int, y: str) -> int:
        if x >= 100:
            clock.late()
            time.sleep(0.06)  # a thousand of them take longer than from one look to the next
        return f(x, y) if x < 100 else x

    db = opened(f=slow)
    before = list(db["q"])
    tx = db.transaction(limits=tl.Limits(max_seconds=0.1))
    tx.insert("p", [(100 + i, "slow") for i in range(1000)])
    with pytest.raises(tl.LimitError, match=r"stopped at more than 0.1 seconds, in round 1 of q"):
        tx.commit()
    assert list(db["q"]) == before
    clock.early()
    with db.transaction() as tx:
        tx.insert("p", [(100, "slow")])
    assert (100, "!" * 101) in db["q"]


def test_the_command_line_takes_functions_from_a_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, module = tmp_path / "p.dl", tmp_path / "m.py"
    program.write_text(PROGRAM + '.output q\np(1, "a").\n')
    module.write_text("def f(x, y): return x\ng = str\n")
    run = ["run", str(program), "-D", "-", "--functors", str(module)]
    assert main([*run, "--check"]) == 0
    assert "1\t2" in capsys.readouterr().out
    changes = tmp_path / "c.changes"
    changes.write_text('+p(4, "b"). commit.\n')
    apply = ["apply", str(program), str(changes), "-D", "-", "--functors", str(module)]
    assert main([*apply, "--deltas", "-"]) == 0
    assert '+q(4, "5").' in capsys.readouterr().out
    assert main(["plan", str(program), "-F", str(tmp_path), "--functors", str(module)]) == 0
    capsys.readouterr()
    for text, told in (
        ("def f(x, y): return x\n", f"{program}:6:13: error: functor g has no function"),
        ("f = 3\n", f"error: {module}: f is not a function"),
        ("def f(\n", f"error: {module}:1: SyntaxError: "),
        ("\nimport nothing_of_this_name\n", f"error: {module}:2: ModuleNotFoundError: "),
    ):
        module.write_text(text)
        assert main(run) == 2
        captured = capsys.readouterr()
        assert told in captured.err
        assert not captured.out
    assert main([*run[:-1], str(tmp_path / "none.py")]) == 2
    assert "none.py: file not found" in capsys.readouterr().err
