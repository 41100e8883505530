"""Reading takes time in proportion to the text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.growth import linear
from tidelog.text import Parsed, parse


def timed(make: Callable[[int], str], size: int) -> Parsed:
    return linear(lambda size: parse(make(size)), size)


def test_a_hundred_thousand_facts() -> None:
    parsed = timed(lambda n: "".join(f"edge({i}, {i + 1}).\n" for i in range(n)), 100_000)
    assert len(parsed.program.facts) == 100_000
    assert parsed.program.facts[-1].at.line == 100_000


def test_a_hundred_thousand_facts_of_strings_on_one_line() -> None:
    parsed = timed(lambda n: "".join(f'name("n{i}", 1.5). ' for i in range(n)), 100_000)
    assert len(parsed.program.facts) == 100_000


def test_ten_thousand_rules() -> None:
    rule = "p{0}(x, z) :- p{0}(x, y), edge(y, z), x + 1 < {0}, !q(x, _).\n"
    parsed = timed(lambda n: "".join(rule.format(i) for i in range(n)), 10_000)
    assert len(parsed.program.clauses) == 10_000


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "a(" + ", ".join(f"x{i}" for i in range(n)) + ") :- b(x0).",
        lambda n: "a(" + ", ".join(map(str, range(n))) + ").",
        lambda n: ".decl a(" + ", ".join(f"x{i}: number" for i in range(n)) + ")",
        lambda n: "a(x) :- " + ", ".join(f"b{i}(x)" for i in range(n)) + ".",
        lambda n: "a(" + "1, " * n + "x).",
    ],
    ids=["variables", "literals", "attributes", "conditions", "mixed"],
)
def test_ten_thousand_columns(make: Callable[[int], str]) -> None:
    assert timed(make, 10_000).diagnostics == ()


@pytest.mark.parametrize(
    ("begin", "repeated", "end", "size"),
    [
        ("", '"', "", 100_001),
        ("", '"\\', "", 50_000),
        ("", "/*", "", 100_000),
        ("", "a(", "", 100_000),
        ("", "/ ", "", 100_000),
        ("", "a.", "", 50_000),
        ("", '"\n', "", 50_001),
        ("", "#x\n", "", 50_000),
        ("", "1", "", 100_000),
        ("", "a(1", "", 50_000),
        ("", ".decl ", "", 30_000),
        ("", "é ", "", 50_000),
        ("", " ", "a", 300_000),
        ("", "{", "", 100_000),
        ('a("', "\\n", "", 200_000),
    ],
)
def test_no_text_takes_for_ever(begin: str, repeated: str, end: str, size: int) -> None:
    assert timed(lambda n: begin + repeated * n + end, size).diagnostics != ()
