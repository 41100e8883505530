"""Time for a program grows with its size: calls are counted at two sizes, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tidelog.plan import analyse, safety
from tidelog.text import parse

SHAPES: dict[str, Callable[[int, int], str]] = {
    "a chain of relations": lambda i, n: f"p{i + 1}(x, z) :- p{i}(x, y), e(y, z).",
    "one relation": lambda i, n: f"p(x, z) :- p0(x, y), e(y, z), x != {i}.",
    "one cycle": lambda i, n: f"p{(i + 1) % n}(x, z) :- p{i}(x, y), e(y, z).",
    "a fault at the beginning of a chain": lambda i, n: (
        f"q{i + 1}(x) :- q{i}(x)." if i else "q0(x) :- nowhere(x)."
    ),
}


def calls(text: str) -> int:
    """How many functions are called to read and analyse a program."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        analyse(parse(text).program)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_four_times_the_rules_take_four_times_the_calls(shape: Callable[[int, int], str]) -> None:
    def program(n: int) -> str:
        return "\n".join(["e(1, 2). p0(1, 2).", *(shape(i, n) for i in range(n))])

    assert calls(program(800)) < 5 * calls(program(200))


def test_inline_relations_that_double_stop_at_a_limit() -> None:
    doubling = [
        f".decl i{k}(x: number) inline\ni{k}(x) :- i{k - 1}(x), i{k - 1}(x + 1)."
        for k in range(1, 41)
    ]
    base = ".decl i0(x: number) inline\ni0(x) :- x > 0."
    text = "\n".join([base, *doubling, "e(1).", "o(x) :- e(x), i40(x)."])
    (found,) = analyse(parse(text).program).diagnostics
    assert found.message == "inline relations expand to more than 100,000 conditions and terms"
    assert found.advice.startswith("declare i")


def choices(count: int, heads: int = 1) -> str:
    left = ", ".join(f"h{n}(x)" for n in range(heads))
    return f"{left} :- {'; '.join(f'e(x), x != {n}' for n in range(count))}."


def test_heads_times_alternatives_stop_at_a_limit() -> None:
    """Each head with each alternative becomes a rule."""
    (found,) = analyse(parse("e(1).\n" + choices(150, 100)).program).diagnostics
    assert found.message == (
        "the heads and alternatives of this clause multiply to more than 10,000"
    )
    assert found.at is not None
    assert found.at.line == 2
    assert not analyse(parse("e(1).\n" + choices(3, 100)).program).diagnostics


def test_alternatives_of_all_clauses_stop_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safety, "MOST_RULES", 50)
    clauses = [choices(10, 2)] * 2
    assert not analyse(parse("\n".join(["e(1).", *clauses])).program).diagnostics
    clauses = [choices(10, 2)] * 10
    (found,) = analyse(parse("\n".join(["e(1).", *clauses])).program).diagnostics
    assert found.message == ("the alternatives of clauses up to this one make more than 50 rules")
    assert found.advice == "define a relation for some of them"
    assert found.at is not None
    assert found.at.line == 4
