"""Reading takes time in proportion to the text. Bounds are generous: machines are shared."""

from __future__ import annotations

from time import process_time

import pytest

from tidelog.text import Parsed, parse


def timed(text: str, seconds: float) -> Parsed:
    start = process_time()
    parsed = parse(text)
    spent = process_time() - start
    assert spent < seconds
    return parsed


def test_a_hundred_thousand_facts() -> None:
    parsed = timed("".join(f"edge({i}, {i + 1}).\n" for i in range(100_000)), 6)
    assert len(parsed.program.facts) == 100_000
    assert parsed.program.facts[-1].at.line == 100_000


def test_a_hundred_thousand_facts_of_strings_on_one_line() -> None:
    parsed = timed("".join(f'name("n{i}", 1.5). ' for i in range(100_000)), 8)
    assert len(parsed.program.facts) == 100_000


def test_ten_thousand_rules() -> None:
    rule = "p{0}(x, z) :- p{0}(x, y), edge(y, z), x + 1 < {0}, !q(x, _).\n"
    parsed = timed("".join(rule.format(i) for i in range(10_000)), 12)
    assert len(parsed.program.clauses) == 10_000


@pytest.mark.parametrize(
    "text",
    [
        "a(" + ", ".join(f"x{i}" for i in range(10_000)) + ") :- b(x0).",
        "a(" + ", ".join(map(str, range(10_000))) + ").",
        ".decl a(" + ", ".join(f"x{i}: number" for i in range(10_000)) + ")",
        "a(x) :- " + ", ".join(f"b{i}(x)" for i in range(10_000)) + ".",
        "a(" + "1, " * 10_000 + "x).",
    ],
    ids=["variables", "literals", "attributes", "conditions", "mixed"],
)
def test_ten_thousand_columns(text: str) -> None:
    assert timed(text, 4).diagnostics == ()


@pytest.mark.parametrize(
    "text",
    [
        '"' * 100_001,
        '"\\' * 50_000,
        "/*" * 100_000,
        "a(" * 100_000,
        "/ " * 100_000,
        "a." * 50_000,
        '"\n' * 50_001,
        "#x\n" * 50_000,
        "1" * 100_000,
        "a(1" * 50_000,
        ".decl " * 30_000,
        "é " * 50_000,
        " " * 300_000 + "a",
        "{" * 100_000,
        'a("' + "\\n" * 200_000,
    ],
)
def test_no_text_takes_for_ever(text: str) -> None:
    assert timed(text, 10).diagnostics != ()
