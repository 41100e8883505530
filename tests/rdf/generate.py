"""Random ontologies and data with every kind of axiom, over few terms so that axioms interact."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.rdf.notation import Triple, term, triples

CLASSES = [f"C{i}" for i in range(5)]
PROPERTIES = [f"p{i}" for i in range(4)]
THINGS = [f"i{i}" for i in range(6)]
VALUES = ['"7"^^xsd:integer', '"07"^^xsd:integer', '"8"^^xsd:integer', '"a"', '"a"@en', '"b"']

Draw = Callable[[random.Random], str]


def _c(rng: random.Random) -> str:
    return rng.choice(CLASSES)


def _p(rng: random.Random) -> str:
    return rng.choice(PROPERTIES)


def _i(rng: random.Random) -> str:
    return rng.choice(THINGS)


def _kind(kind: str) -> Draw:
    return lambda rng: f"{_p(rng)} rdf:type owl:{kind}Property."


def _classes(predicate: str) -> Draw:
    return lambda rng: f"{_c(rng)} {predicate} {_c(rng)}."


def _properties(predicate: str) -> Draw:
    return lambda rng: f"{_p(rng)} {predicate} {_p(rng)}."


def _restriction(predicate: str, value: Draw, more: str = "") -> Draw:
    """A class below a restriction, or equal to it."""

    def draw(rng: random.Random) -> str:
        node = f"_:r{rng.randrange(10**6)}"
        place = rng.choice(["rdfs:subClassOf", "owl:equivalentClass"])
        text = f"{_c(rng)} {place} {node}. {node} owl:onProperty {_p(rng)}. "
        qualified = f"{node} owl:onClass {rng.choice([_c(rng), 'owl:Thing'])}." if more else ""
        return f"{text}{node} owl:{predicate} {value(rng)}. {qualified}"

    return draw


def _number(rng: random.Random) -> str:
    return f'"{rng.randrange(2)}"^^xsd:nonNegativeInteger'


def _list(predicate: str, member: Draw, subject: Draw = _c) -> Draw:
    def draw(rng: random.Random) -> str:
        members = " ".join(member(rng) for _ in range(rng.randint(1, 3)))
        return f"{subject(rng)} {predicate} ({members})."

    return draw


def _all(kind: str, predicate: str, member: Draw) -> Draw:
    def draw(rng: random.Random) -> str:
        members = " ".join(member(rng) for _ in range(rng.randint(2, 3)))
        node = f"_:a{rng.randrange(10**6)}"
        return f"{node} rdf:type owl:{kind}. {node} owl:{predicate} ({members})."

    return draw


def _denial(rng: random.Random) -> str:
    node = f"_:n{rng.randrange(10**6)}"
    return (
        f"{node} owl:sourceIndividual {_i(rng)}. {node} owl:assertionProperty {_p(rng)}. "
        f"{node} owl:targetIndividual {_i(rng)}."
    )


# Axioms of RDFS, of OWL 2 RL, those that make terms equal, and those that may be inconsistent.
RDFS: list[Draw] = [
    *3 * [_classes("rdfs:subClassOf"), _properties("rdfs:subPropertyOf")],
    lambda rng: f"{_p(rng)} rdfs:domain {_c(rng)}.",
    lambda rng: f"{_p(rng)} rdfs:range {_c(rng)}.",
]
PLAIN: list[Draw] = [
    *RDFS,
    _classes("owl:equivalentClass"),
    _properties("owl:equivalentProperty"),
    _properties("owl:inverseOf"),
    _kind("Symmetric"),
    _kind("Transitive"),
    _restriction("someValuesFrom", _c),
    _restriction("someValuesFrom", lambda rng: "owl:Thing"),
    _restriction("allValuesFrom", _c),
    _restriction("hasValue", _i),
    _list("owl:intersectionOf", _c),
    _list("owl:unionOf", _c),
    _list("owl:oneOf", _i),
    _list("owl:propertyChainAxiom", _p, _p),
]
EQUATING: list[Draw] = [
    _kind("Functional"),
    _kind("InverseFunctional"),
    _restriction("maxCardinality", _number),
    _restriction("maxQualifiedCardinality", _number, more="onClass"),
    _list("owl:hasKey", _p),
]
REFUTING: list[Draw] = [
    _kind("Irreflexive"),
    _kind("Asymmetric"),
    _classes("owl:disjointWith"),
    _classes("owl:complementOf"),
    _properties("owl:propertyDisjointWith"),
    _all("AllDisjointClasses", "members", _c),
    _all("AllDisjointProperties", "members", _p),
    _all("AllDifferent", "members", _i),
    _all("AllDifferent", "distinctMembers", _i),
    _denial,
    lambda rng: f"{_c(rng)} rdfs:subClassOf owl:Nothing.",
    lambda rng: f"{_p(rng)} rdfs:range xsd:integer.",
]


def axiom(rng: random.Random, kinds: list[Draw]) -> list[Triple]:
    """The triples of one axiom, with list cells of its own."""
    number = rng.randrange(10**9)
    return [(_own(s, number), p, _own(o, number)) for s, p, o in triples(rng.choice(kinds)(rng))]


def _own(word: str, number: int) -> str:
    return f"{word}x{number}" if word.startswith("_:cell") else word


def fact(rng: random.Random, *, literals: bool = False, equal: bool = False) -> Triple:
    """A triple about individuals."""
    draw = rng.random()
    if draw < 0.4:
        return term(_i(rng)), term("rdf:type"), term(_c(rng))
    if equal and draw < 0.5:
        predicate = rng.choice(["owl:sameAs", "owl:sameAs", "owl:differentFrom"])
        return term(_i(rng)), term(predicate), term(_i(rng))
    value = rng.choice(VALUES) if literals and draw < 0.65 else _i(rng)
    return term(_i(rng)), term(_p(rng)), term(value)
