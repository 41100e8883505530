"""Inline relations mean what their rules mean where they are used."""

from __future__ import annotations

import pytest

from tests.plan import fixtures
from tidelog import Database
from tidelog.oracle import evaluate
from tidelog.plan import analyse
from tidelog.program.diagnostics import ProgramError
from tidelog.program.syntax import Value
from tidelog.text import parse, to_text

FACTS = "e(1, 2). e(2, 3). e(3, 1). e(3, 4). e(5, 5). n(x) :- e(x, _). n(y) :- e(_, y).\n"
DECLARED = ".decl e(x: number, y: number)\n.decl n(x: number)\n"
# Rules of inline relations and of one that uses them, and the same by hand.
PAIRS = {
    "a comparison": (
        "lt(a: number, b: number)",
        "lt(a, b) :- a < b.",
        "p(x, y) :- n(x), n(y), lt(x, y).",
        "p(x, y) :- n(x), n(y), x < y.",
    ),
    "constants and expressions": (
        "lt(a: number, b: number)",
        "lt(a, b) :- a < b.",
        "p(x, y) :- e(x, y), lt(x + 1, 2 * y), lt(1, x).",
        "p(x, y) :- e(x, y), x + 1 < 2 * y, 1 < x.",
    ),
    "a join with variables of its own": (
        "two(a: number, b: number)",
        "two(a, b) :- e(a, x), e(x, b).",
        "p(x, y) :- two(x, z), two(z, y).",
        "p(x, y) :- e(x, u), e(u, z), e(z, v), e(v, y).",
    ),
    "several rules": (
        "near(a: number, b: number)",
        "near(a, b) :- e(a, b). near(a, a) :- n(a). near(b, a) :- e(a, b), a != 3.",
        "p(x, y) :- near(x, y), near(y, _).",
        "p(x, y) :- e(x, y). p(x, x) :- n(x). p(y, x) :- e(x, y), x != 3.",
    ),
    "constants in heads": (
        "at(a: number, b: number)",
        "at(1, b) :- e(1, b). at(a + 1, 7) :- n(a).",
        "p(x, y) :- at(x, y).",
        "p(1, y) :- e(1, y). p(x + 1, 7) :- n(x).",
    ),
    "under a negation": (
        "odd(a: number, b: number)",
        "odd(a, b) :- a > b, !e(b, a). odd(a, a) :- e(a, a).",
        "p(x, y) :- n(x), n(y), !odd(x, y + 0).",
        "p(x, y) :- n(x), n(y), !(x > y, !e(y, x)), !(x = y, e(x, x)).",
    ),
    "in an aggregate": (
        "lt(a: number, b: number)",
        "lt(a, b) :- a < b.",
        "p(x, c) :- n(x), c = count : { n(y), lt(y, x) }.",
        "p(x, c) :- n(x), c = count : { n(y), y < x }.",
    ),
    "an aggregate of its own": (
        "out(a: number, c: number)",
        "out(a, c) :- c = count : { e(a, x) }.",
        "p(x, c) :- n(x), out(x, c).",
        "p(x, c) :- n(x), c = count : { e(x, y) }.",
    ),
    "where it cannot be put": (
        "two(a: number, b: number)",
        "two(a, b) :- e(a, x), e(x, b).",
        "p(x, c) :- n(x), !two(x, 4), c = count : { two(x, _) }.",
        "p(x, c) :- n(x), !t(x, 4), c = count : { t(x, _) }. t(a, b) :- e(a, x), e(x, b).",
    ),
    "a recursion": (
        "step(a: number, b: number)",
        "step(a, b) :- e(a, b), a < b. step(a, b) :- e(b, a).",
        "p(x, y) :- step(x, y). p(x, z) :- p(x, y), step(y, z).",
        "p(x, y) :- e(x, y), x < y. p(x, y) :- e(y, x). p(x, z) :- p(x, y), e(y, z), y < z. "
        "p(x, z) :- p(x, y), e(z, y).",
    ),
}


def rows(text: str, unfold: bool) -> set[tuple[Value, ...]]:
    """`p` by naive evaluation of the typed program, which the engine must agree with."""
    found = analyse(parse(text).program, unfold)
    assert found.typed is not None, found.diagnostics
    return evaluate.evaluate(found.typed, {})["p"]


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_the_same_by_hand(name: str) -> None:
    declared, rules, use, by_hand = PAIRS[name]
    program = f"{DECLARED}{FACTS}.decl {declared} inline\n{rules}\n{use}"
    expected = rows(DECLARED + FACTS + by_hand, unfold=False)
    assert expected
    for unfold in (False, True):
        assert rows(program, unfold) == expected
    assert set(Database(program).relation("p")) == expected


def test_a_run_stores_nothing_of_them() -> None:
    _, rules, use, _ = PAIRS["a recursion"]
    program = f"{DECLARED}{FACTS}.decl step(a: number, b: number) inline\n{rules}\n{use}"
    checked = analyse(parse(program).program, unfold=True).checked
    assert checked is not None
    assert "step" not in checked.relations
    stored = analyse(parse(program).program).checked
    assert stored is not None
    assert "step" in stored.relations


LT = ".decl lt(a: number, b: number) inline\nlt(a, b) :- a < b.\n.decl le(a: number, b: number) "
LT += "inline\nle(a, b) :- lt(a, b). le(a, b) :- a = b.\n"


def test_rules_and_questions_that_come_later() -> None:
    database = Database(f"{DECLARED}{LT}p(x) :- n(x), lt(x, 3).\n{FACTS}")
    assert set(database.relation("p")) == {(1,), (2,)}
    database.apply("+p(x) :- n(x), le(5, x). +e(9, 9). commit.")
    assert set(database.relation("p")) == {(1,), (2,), (5,), (9,)}
    assert database.query("n(x), le(x, 2)") == [(1,), (2,)]
    assert database.query("n(x), !le(x, 2), x < 5", demand=True) == [(3,), (4,)]
    database.apply("-p(x) :- n(x), le(5, x). commit.")
    assert set(database.relation("p")) == {(1,), (2,)}
    before = dict(database.rules)
    for change, message in (
        ("+lt(a, b) :- a = b. commit.", "lt is inline"),
        ("+lt(1, 2). commit.", "lt"),
        ("+q(x, y) :- n(x), lt(x, y). commit.", "variable y"),
    ):
        with pytest.raises(ProgramError, match=message):
            database.apply(change)
    assert database.rules == before
    assert all(parse(text).diagnostics == () for text in before.values())


FAULTS = {
    "recursive": (
        ".decl p(x: number) inline\np(x) :- q(x). p(x) :- p(x). q(1).",
        "t.dl:1:7: error: p is inline and depends on itself\n"
        "  1 | .decl p(x: number) inline\n"
        "    |       ^ declare it without inline",
    ),
    "written": (
        ".decl p(x: number) inline\np(1).\n.output p",
        "t.dl:3:9: error: p is inline, and has no facts of its own\n"
        "  3 | .output p\n"
        "    |         ^ remove .output, or declare p without inline",
    ),
    "misplaced": (
        ".decl p(x: number, y: number) inline\np(x, y) :- q(z), x < z, z < y.\n"
        "q(1). r(x) :- q(x), !p(x, 3).",
        "t.dl:3:22: error: p is inline and cannot be used here\n"
        "  3 | q(1). r(x) :- q(x), !p(x, 3).\n"
        "    |                      ^ write its definition here, or declare it without inline\n"
        "    note: under a negation and in an aggregate, its rules may have no variables of their "
        "own",
    ),
    "unbound": (
        ".decl p(x: number, y: number) inline\np(x, y) :- x < y.\nq(1). r(x, y) :- q(x), p(x, y).",
        "t.dl:3:12: error: variable y is in the head but in no positive body atom\n"
        "  3 | q(1). r(x, y) :- q(x), p(x, y).\n"
        "    |            ^ bind y in the body, or replace it by a constant",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    program, expected = FAULTS[name]
    assert fixtures.findings(program) == expected


def test_an_unfolded_rule_can_be_read_again() -> None:
    _, rules, use, _ = PAIRS["several rules"]
    program = f"{DECLARED}{FACTS}.decl near(a: number, b: number) inline\n{rules}\n{use}"
    typed = analyse(parse(program).program, unfold=True).typed
    assert typed is not None
    again = analyse(parse(to_text(typed)).program).typed
    assert again is not None
    assert evaluate.evaluate(again, {})["p"] == rows(program, unfold=False)


def test_what_expands_to_too_much_is_stored() -> None:
    """A run accepts what `check` accepts: unfolding is only a saving there."""
    double = "\n".join(
        f".decl i{k}(x: number) inline\ni{k}(x) :- i{k - 1}(x), i{k - 1}(x)." for k in range(1, 40)
    )
    many = ", ".join(["i0(x)"] * 22)
    for rules, use in (("", "i39(x)"), ("i0(x) :- q(x + 1), q(x).\n", many)):
        program = f".decl i0(x: number) inline\ni0(x) :- q(x).\n{rules}q(1).\n"
        program += f"{double}\np(x) :- {use}."
        assert rows(program, unfold=True) == {(1,)}


def test_what_must_be_unfolded_is_refused_if_it_is_too_much() -> None:
    rules = ".decl i(x: number, y: number) inline\ni(x, y) :- x < y. i(x, y) :- x > y + 1.\n"
    program = f"{rules}q(1).\np(x) :- q(x), {', '.join(f'i(x, {k})' for k in range(22))}."
    for unfold in (False, True):
        (found,) = analyse(parse(program).program, unfold).diagnostics
        assert found.message == "the alternatives of this clause multiply to more than 10,000"
