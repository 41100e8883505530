"""Regressions of graphs."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tidelog import Limits
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf import Graph
from tidelog.rdf.compiled_reasoning import CompiledReasoner
from tidelog.rdf.vocabulary import is_schema

HEAD = """@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
OWL = "<http://www.w3.org/2002/07/owl#"
RDFS = "<http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def e(name: str) -> str:
    return f"<http://e/{name}>"


def graph(text: str, profile: str = "owl2rl") -> Graph:
    g = Graph(profile, compiled=True)
    g.parse(HEAD + text)
    return g


def as_fresh(one: Graph) -> None:
    """The graph equals a new one with the same explicit triples."""
    other = Graph(one.profile, compiled=True)
    lines = "".join(f"{' '.join(triple)} .\n" for triple in one.explicit())
    other.parse(lines, "ntriples")
    assert list(one) == list(other)
    assert one.inconsistencies() == other.inconsistencies()


PAIRS = [
    ((e("A"), f"{RDFS}subClassOf>", e("B")), (e("A"), f"{OWL}equivalentClass>", e("B"))),
    ((e("p"), f"{OWL}inverseOf>", e("q")), (e("q"), f"{OWL}inverseOf>", e("p"))),
    ((e("p"), TYPE, f"{OWL}SymmetricProperty>"), (e("p"), f"{OWL}inverseOf>", e("p"))),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("first", [0, 1])
def test_two_axioms_that_yield_one_rule(pair: tuple[tuple[str, str, str], ...], first: int) -> None:
    g = graph(":x a :A . :x :p :y .")
    before = list(g)
    g.add(*pair)
    both = set(g)
    delta = g.remove(pair[first])
    assert set(delta.removed) == both - set(g)
    as_fresh(g)
    g.remove(pair[1 - first])
    assert list(g) == before


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (":A rdfs:subClassOf :B . :x a :A .", (e("A"), e("D"))),
        (":k a owl:AllDifferent ; owl:members (:x :y) .", (e("x"), e("y"))),
        (":C owl:hasValue :v ; owl:onProperty :p . :a :p :w .", (e("v"), e("w"))),
    ],
)
def test_equal_terms_of_axioms_change(text: str, same: tuple[str, str]) -> None:
    g = graph(text)
    before = list(g)
    triple = (same[0], f"{OWL}sameAs>", same[1])
    g.add(triple)
    assert list(g) != before
    g.remove(triple)
    assert list(g) == before
    assert not g.inconsistencies()


def test_equal_terms_before_their_axiom() -> None:
    g = graph(":p owl:sameAs :q . :q owl:sameAs :r . :x :p :y .")
    g.parse(HEAD + ":r rdfs:domain :C .")
    assert (e("x"), TYPE, e("C")) in g
    as_fresh(g)


def test_a_dry_run_forgets_nothing() -> None:
    g = graph(":A rdfs:subClassOf :B . :x a :A . :A owl:sameAs :D .")
    with g.transaction(dry_run=True) as tx:
        tx.parse(HEAD + ":A owl:sameAs :D . :A rdfs:subClassOf :G .")
    g.parse(HEAD + ":A rdfs:subClassOf :F .")
    assert (e("x"), TYPE, e("D")) in g
    as_fresh(g)


def test_a_first_load_that_fails_leaves_nothing() -> None:
    g = Graph("owl2rl", compiled=True)
    with pytest.raises(TidelogError):
        g.parse(HEAD + ":p rdfs:subPropertyOf rdf:type . :a :b :c .")
    assert (len(g), g.explicit()) == (0, [])
    g = Graph("owl2rl", compiled=True, limits=Limits(max_facts=3000))
    chain = ":t a owl:TransitiveProperty . " + " ".join(f":a{i} :t :a{i + 1} ." for i in range(100))
    with pytest.raises(TidelogError):
        g.parse(HEAD + chain)
    assert len(g) == 0
    g.parse(HEAD + ":t a owl:TransitiveProperty . :a :t :b . :b :t :c .")
    assert (e("a"), e("t"), e("c")) in g


@pytest.mark.parametrize(
    ("text", "axiom"),
    [
        (":x :p :y .", ":p rdfs:subPropertyOf :q ."),
        (":x a :A .", ":A rdfs:subClassOf :B ."),
    ],
)
def test_a_delta_of_triples_that_leave_other(text: str, axiom: str) -> None:
    g = graph(text)
    (triple,) = g.explicit()
    before = set(g)
    with g.transaction() as tx:
        tx.remove(triple)
        tx.parse(HEAD + axiom)
    assert (before - set(tx.delta.removed)) | set(tx.delta.added) == set(g)
    assert triple in tx.delta.removed


def test_kept_labels_of_blank_nodes_are_reserved(tmp_path: Path) -> None:
    g = Graph("rdfs")
    for _ in range(2):
        g.parse("_:x <http://e/p> _:y .")
    g.write(str(tmp_path / "k.nt"))
    h = Graph("rdfs", data=str(tmp_path / "k.nt"), blank_nodes="keep")
    nodes = {term for triple in h for term in triple if term.startswith("_:")}
    h.parse("_:n <http://e/q> <http://e/z> .")
    ((node, _, _),) = h.triples((None, e("q"), None))
    assert node not in nodes


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_interacting_changes(seed: int) -> None:
    """Axioms that yield the same rule, equal terms of axioms, and triples that precede them."""
    rng = random.Random(seed)
    pool = [
        *(t for pair in PAIRS for t in pair),
        (e("A"), f"{OWL}sameAs>", e("D")),
        (e("D"), f"{OWL}sameAs>", e("G")),
        (e("G"), f"{RDFS}subClassOf>", e("H")),
        (e("r"), f"{RDFS}domain>", e("H")),
        (e("x"), TYPE, e("A")),
        (e("x"), e("p"), e("y")),
        (e("y"), e("r"), e("z")),
        (e("z"), TYPE, e("G")),
    ]
    g = graph(":u a :U .")
    for _ in range(12):
        before = set(g)
        with g.transaction() as tx:
            for triple in rng.sample(pool, 4):
                (tx.add if rng.random() < 0.6 else tx.remove)(triple)
        assert (before - set(tx.delta.removed)) | set(tx.delta.added) == set(g)
        as_fresh(g)


def both(text: str, profile: str = "owl2rl") -> tuple[Graph, Graph]:
    """The same graph with both reasoners."""
    graphs = Graph(profile), Graph(profile, compiled=True)
    for g in graphs:
        g.parse(HEAD + text)
    return graphs


def alike(one: Graph, other: Graph) -> None:
    """Both have the same data, explicit triples and contradictions."""
    assert {t for t in one if not is_schema(t)} == {t for t in other if not is_schema(t)}
    assert one.inconsistencies() == other.inconsistencies()
    assert one.explicit() == other.explicit()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "text",
    [
        ":p owl:sameAs :q . :x :p :y .",
        ":A owl:sameAs :B . :x a :A . :x :p :A .",
        ":p owl:sameAs :q . :q owl:sameAs :r . :x :p :y . :r rdfs:domain :C .",
        ":f a owl:FunctionalProperty . :k :f :p, :q . :x :p :y . :q rdfs:domain :C .",
        ":eq owl:sameAs owl:sameAs . :x :eq :y . :x :p :z .",
        ":un owl:sameAs owl:differentFrom . :x :un :y . :x owl:sameAs :y .",
        ":R owl:someValuesFrom owl:Thing . :S owl:onProperty :p . :R owl:sameAs :S . :x :p :y .",
        ':p a owl:FunctionalProperty . :x :p 1, 1.0 ; :q "01"^^xsd:int .',
        ':x :p 1, "a" . :C owl:maxCardinality "01"^^xsd:integer ; owl:onProperty :p . :x a :C .',
        ":x :p 1 . :C owl:hasValue 1.0 ; owl:onProperty :p .",
        ":n owl:sourceIndividual :x ; owl:assertionProperty :p ; owl:targetIndividual :y ."
        " :x owl:sameAs :z . :z :p :w . :w owl:sameAs :y . :n owl:sameAs :m .",
        ":k a owl:AllDifferent ; owl:members (:x :y) . :k owl:sameAs :l . :y owl:sameAs :x .",
        ":k owl:members (:p :q) . :l a owl:AllDisjointProperties ; owl:sameAs :k ."
        " :x :p :y ; :q :y .",
        ":x owl:sameAs 5 . :x a xsd:string .",
        ':p rdfs:range rdf:langString . :x :p "a", "a"@en .',
    ],
)
def test_equal_terms_of_all_kinds(text: str) -> None:
    alike(*both(text))


def test_rules_that_differ_in_their_variables_are_one() -> None:
    """A domain and a restriction, a transitive property and a chain."""
    one, other = both(":p rdfs:domain :C . :x :p :y . :y :p :z .")
    some = [
        (e("C"), f"{OWL}someValuesFrom>", f"{OWL}Thing>"),
        (e("C"), f"{OWL}onProperty>", e("p")),
        (e("p"), TYPE, f"{OWL}TransitiveProperty>"),
    ]
    chain = HEAD + ":p owl:propertyChainAxiom _:l . _:l rdf:first :p ; rdf:rest ( :p ) ."
    for g in (one, other):
        g.add(*some)
        g.parse(chain)
        g.remove((e("p"), f"{RDFS}domain>", e("C")), some[2])
    assert (e("x"), TYPE, e("C")) in other
    assert (e("x"), e("p"), e("z")) in other
    alike(one, other)


def test_synonyms_of_the_vocabulary_are_rejected() -> None:
    for text in (":isa owl:sameAs rdf:type .", ":Fn owl:sameAs owl:FunctionalProperty ."):
        g = graph(":x :p :y .")
        with pytest.raises(TidelogError, match=r"cannot be compiled: it says that .* the same as"):
            g.parse(HEAD + text)
        assert list(g) == [(e("x"), e("p"), e("y"))]


def test_strict_about_triples_before_their_axiom() -> None:
    triple = (e("x"), TYPE, e("A"))
    for g in both(":x a :A . :x :p :y .", "rdfs"):
        g.parse(HEAD + ":A rdfs:subClassOf :B . :p rdfs:domain :A .")
        assert g.explicit().count(triple) == 1
        with (
            pytest.raises(TidelogError, match="the fact already exists"),
            g.transaction(strict=True) as tx,
        ):
            tx.add(triple)
        with g.transaction(strict=True) as tx:
            tx.remove(triple)
        assert len(tx.delta) == 0
        assert triple in g
        with (
            pytest.raises(TidelogError, match="the fact is derived, not explicit"),
            g.transaction(strict=True) as tx,
        ):
            tx.remove(triple)
        assert triple not in g.explicit()


def test_an_equality_costs_what_it_changes() -> None:
    """Only the equalities that concern axioms are relevant to the ontology."""
    links = " ".join(f":i{n} owl:sameAs :i{n + 1} ." for n in range(0, 400, 2))
    g = graph(f":A rdfs:subClassOf :B . {links}")
    reasoner = g.reasoner
    assert isinstance(reasoner, CompiledReasoner)
    compiled, equal = reasoner.compiled, reasoner.equal
    g.add((e("i1"), f"{OWL}sameAs>", e("i2")))
    g.remove((e("i4"), f"{OWL}sameAs>", e("i5")))
    assert reasoner.compiled is compiled
    assert reasoner.equal is equal
    assert not equal.relevant
    g.add((e("A"), f"{OWL}sameAs>", e("i8")))
    assert len(equal.relevant) == 2
    with pytest.raises(TidelogError):
        g.parse(HEAD + ":i8 owl:sameAs rdf:type . :A owl:sameAs :i10 .")
    assert len(equal.relevant) == 2
    as_fresh(g)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(4))
def test_both_reasoners_agree_under_changes(seed: int) -> None:
    rng = random.Random(seed)
    literals = ["1", "1.0", '"01"^^xsd:int', '"a"']
    pool = [
        *(f":{a} owl:sameAs :{b} ." for a, b in ("pq", "AB", "xy", "BD", "qr")),
        *(f":x :{p} {value} ." for p in "pq" for value in literals),
        *(":x a :A .", ":y a :D .", ":y :r :z .", ":z :p :x .", ":r rdfs:domain :E ."),
        *(":p a owl:FunctionalProperty .", ":B owl:disjointWith :E .", ":p rdfs:range :D ."),
        ":C owl:onProperty :q ; owl:hasValue 1 .",
        ":C owl:maxCardinality 1 .",
    ]
    one, other = both("")
    changes = {text: Graph("none") for text in pool}
    for text, g in changes.items():
        g.parse(HEAD + text)
    for _ in range(6):
        chosen = rng.sample(pool, 4)
        added = [rng.random() < 0.6 for _ in chosen]
        for g in (one, other):
            before = set(g)
            with g.transaction() as tx:
                for text, add in zip(chosen, added, strict=True):
                    (tx.add if add else tx.remove)(*changes[text])
            assert (before - set(tx.delta.removed)) | set(tx.delta.added) == set(g)
        alike(one, other)


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
def test_an_axiom_that_most_rests_on_is_removed_without_following_it_far(profile: str) -> None:
    """A sample tells that recomputing considers fewer instances than following what is lost."""
    names = [e(f"C{i}") for i in range(20)]
    axioms = [(below, f"{RDFS}subClassOf>", above) for above, below in itertools.pairwise(names)]
    data = [(e(f"i{i}"), TYPE, names[-1]) for i in range(6000)]
    g = Graph(profile)
    g.parse("".join(f"{' '.join(triple)} .\n" for triple in (*axioms, *data)))
    with g.transaction() as tx:
        tx.remove(axioms[-1])
    assert len(tx.delta.removed) == 19 + 19 * 6000
    assert tx.report is not None
    assert tx.report.instances < 60_000
    assert len(g) == len(Graph(profile)) + 6000 + 19 * 18 // 2
