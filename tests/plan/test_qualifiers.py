"""Qualifiers that stand for rules: in the engine they mean what they mean to the oracle."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from tests.law.adapters import materialise, oracle
from tidelog.plan.accept import accept
from tidelog.program.qualifiers import QUALIFIERS
from tidelog.text import parse

CLOSING = [name for name, qualifier in QUALIFIERS.items() if qualifier.rules]


@pytest.mark.parametrize("words", [*zip(CLOSING), *combinations(CLOSING, 2)], ids=" ".join)
def test_rules_of_qualifiers(words: tuple[str, ...]) -> None:
    random = Random(7)
    for count in range(12):
        facts = {(random.randrange(6), random.randrange(6)) for _ in range(count)}
        text = f".decl r(x: number, y: number) {' '.join(words)}"
        assert materialise(text, {"r": list(facts)}) == oracle(text, {"r": list(facts)})


def test_a_rule_of_two_qualifiers_is_one() -> None:
    text = ".decl r(x: number, y: number) eqrel transitive\nr(1, 2).\n"
    rules = accept(parse(text, "p")).checked.rules
    assert len(rules) == len(set(rules)) == len(QUALIFIERS["eqrel"].rules)
