"""A department of LUBM: both reasoners have the same counts per class and property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pyoxigraph
import pytest

from bench.rdf import generate
from bench.rdf.lubm import UB, Department
from tests.rdf.bases import base
from tests.rdf.notation import Triple
from tests.rdf.routes import about_things, open_compiled, things
from tidelog.rdf.ontology_rules import compile
from tidelog.rdf.vocabulary import TYPE


@cache
def ontology() -> list[Triple]:
    text = generate.ontology("univ-bench").encode()
    found = pyoxigraph.parse(text, pyoxigraph.RdfFormat.TURTLE)
    return [(str(t.subject), str(t.predicate), str(t.object)) for t in found]


@cache
def data() -> list[Triple]:
    return [*Department(0, 0, seed=0).triples()]


@cache
def over_triples() -> set[Triple]:
    return {*base("owl2rl", [*ontology(), *data()])["triple"]}


def counts(triples: Iterable[Triple]) -> Counter[str]:
    """The number of triples per property, and of members per class."""
    return Counter(o if p == TYPE else p for _, p, o in triples)


def test_both_reasoners_have_equal_counts() -> None:
    compiled = compile(ontology())
    found = things(open_compiled(compiled, data()), compiled)
    assert counts(found) == counts(about_things(over_triples()))
    assert found == about_things(over_triples())


def test_what_a_department_implies() -> None:
    """By hierarchies, restrictions with intersections, and inverses."""
    given, found = counts(data()), counts(over_triples())
    students = given[UB.UndergraduateStudent] + given[UB.GraduateStudent]
    assert found[UB.Student] == students
    assert found[UB.Chair] == given[UB.headOf] == 1
    assert given[UB.Employee] == given[UB.member] == given[UB.hasAlumnus] == 0
    assert found[UB.Employee] >= found[UB.Faculty] > 0
    assert found[UB.member] == found[UB.memberOf]
    assert found[UB.hasAlumnus] == found[UB.degreeFrom]


@pytest.mark.slow
def test_owlrl_derives_the_same() -> None:
    pytest.importorskip("owlrl")
    pytest.importorskip("reasonable")
    from tests.rdf.peers import by_owlrl
    from tests.rdf.test_agreement import always, informative

    theirs = by_owlrl("owl2rl", [*ontology(), *data()]) - always("owl2rl")
    ours = over_triples() - always("owl2rl")
    assert {*filter(informative, ours)} == {*filter(informative, theirs)}
