"""Contradictions are reported with the triples that contradict each other."""

from __future__ import annotations

import pytest

from tests.rdf import cases
from tests.rdf.notation import term, triples
from tidelog.rdf import Graph, Inconsistency
from tidelog.rdf.contradictions import PREMISES

RULES = {name: case for name, case in cases.OWL2RL.items() if case.then.startswith("!")}


def test_every_rule_that_finds_one_has_premises() -> None:
    assert PREMISES.keys() == RULES.keys()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("compiled", [False, True], ids=["triples", "compiled"])
@pytest.mark.parametrize("rule", RULES)
def test_causes(rule: str, compiled: bool) -> None:
    """They are in the graph, and without the explicit ones the contradiction changes."""
    graph = Graph("owl2rl", compiled=compiled)
    graph.add(*triples(RULES[rule].given))
    wrong = Inconsistency(rule, tuple(map(term, RULES[rule].then[1:].split())))
    assert wrong in graph.inconsistencies()
    found = graph.causes(wrong)
    assert found
    assert all(triple in graph for triple in found)
    given = [triple for triple in graph.explicit() if triple in found]
    assert given
    graph.remove(*given)
    assert wrong not in graph.inconsistencies() or graph.causes(wrong) != found
