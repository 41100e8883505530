"""A short slice of what `make fuzz` does at length, and every text that it has found."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import numbered
from tests.fuzz.check import outcome
from tests.fuzz.mutate import corpus

FOUND = {
    "a directive of a relation that cannot be read": "q(1).\nhub(a) :- q(a.\n.output hub\n",
    "an equation of nil and a record": ".type P = [x: number]\no(x) :- nil = [x].\n",
    "an equation of two branches": (
        ".type T = A {x: number} | B {y: number}\no(x) :- $A(1) = $B(x).\n"
    ),
    "such an equation in an aggregate": (
        ".type T = A {x: number} | B {y: number}\n"
        "o(n) :- n = sum x : { $A(1) = $B(x) }.\no(n) :- n = count : { $A(1) = $B(x) }.\n"
    ),
    "a fact of an inline relation with records": (
        ".type P = [x: number, y: number]\n.decl i(q: P) inline\ni([1, 2]).\ns(1, 2).\n"
        "o(x) :- s(x, y), i([x, y]).\n"
    ),
    "an inline relation in an aggregate over an unbound variable": (
        ".type P = [x: number, y: number]\n.decl i(q: P) inline\ns(1, 2).\n"
        "i([a, b]) :- s(a, b).\no(x) :- x = count : { i([x, y]) }.\n"
    ),
    "eqrel without columns": ".decl none() eqrel\n",
    "autoinc written back": "word(1). id(autoinc(), x) :- word(x).\n",
    "an include that a formatter meets": "`#include\n",
    "a hash before an include": "#\n  (#include\n",
    "no relation": ".comp Graph<Node> : More {}\n",
    "a type with a faulty type in it": (
        ".type M = N {} | S {x: N}\n.type T = L {} | K {l: T, v: M}\n.input tree\n"
        "leaves() :- 1 = count : { tree($K(a, _)) }.\n"
    ),
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND.keys())
def test_what_was_found_stays_mended(text: str) -> None:
    assert outcome(text).failure is None


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_mutants_are_accepted_or_refused_with_a_reason(start: int) -> None:
    failures = {f"0.{i}": outcome(numbered(f"0.{i}")).failure for i in range(start, start + 100)}
    assert {name: found for name, found in failures.items() if found is not None} == {}


def test_a_mutant_depends_on_its_name_alone() -> None:
    assert numbered("3.14") == numbered("3.14") != numbered("3.15")


def test_records_of_different_shapes_are_never_equal() -> None:
    from tests.law.adapters import materialise

    text = ".type P = [x: number]\no(x) :- nil = [x].\no(x) :- [2] = [x].\n"
    assert materialise(text, {})["o"] == {(2,)}


def test_a_fact_of_an_inline_relation_with_records_is_kept() -> None:
    from tidelog.plan.accept import accept
    from tidelog.session.database import Database
    from tidelog.text import parse

    text = FOUND["a fact of an inline relation with records"]
    assert Database.of(accept(parse(text), unfold=True)).relation("o").rows() == [(1,)]


def test_the_programs_of_the_documents_are_mutated() -> None:
    texts = corpus()
    assert any(text.startswith(".decl edge(x: symbol, y: symbol)") for text in texts)  # README.md
    assert any(".decl way(to: symbol, km: number)" in text for text in texts)  # docs/language.md
    assert not any("\n```" in text for text in texts)
