"""Cases that someone found who tried to break graphs the compiled way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tidelog import Limits
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf import Graph

HEAD = """@prefix : <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
OWL = "<http://www.w3.org/2002/07/owl#"
RDFS = "<http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def e(name: str) -> str:
    return f"<http://e/{name}>"


def graph(text: str, profile: str = "owl2rl") -> Graph:
    made = Graph(profile, compiled=True)
    made.parse(HEAD + text)
    return made


def as_fresh(one: Graph) -> None:
    """The graph is what its explicit triples give from the start."""
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
def test_two_axioms_of_one_rule(pair: tuple[tuple[str, str, str], ...], first: int) -> None:
    g = graph(":x a :A . :x :p :y .")
    before = list(g)
    g.add(*pair)
    both = set(g)
    gone = g.remove(pair[first])
    assert set(gone.removed) == both - set(g)
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
def test_equal_terms_of_axioms_come_and_go(text: str, same: tuple[str, str]) -> None:
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
def test_a_delta_of_what_leaves_the_others(text: str, axiom: str) -> None:
    g = graph(text)
    (triple,) = g.explicit()
    before = set(g)
    with g.transaction() as tx:
        tx.remove(triple)
        tx.parse(HEAD + axiom)
    assert (before - set(tx.delta.removed)) | set(tx.delta.added) == set(g)
    assert triple in tx.delta.removed


def test_blank_nodes_that_were_kept_are_taken(tmp_path: Path) -> None:
    g = Graph("rdfs")
    for _ in range(2):
        g.parse("_:x <http://e/p> _:y .")
    g.write(str(tmp_path / "k.nt"))
    h = Graph("rdfs", data=str(tmp_path / "k.nt"), blank_nodes="keep")
    nodes = {term for triple in h for term in triple if term.startswith("_:")}
    h.parse("_:n <http://e/q> <http://e/z> .")
    ((node, _, _),) = h.triples((None, e("q"), None))
    assert node not in nodes


@pytest.mark.parametrize("seed", range(12))
def test_changes_that_meet_each_other(seed: int) -> None:
    """Axioms that are one rule, equal terms of axioms, and triples that were there before."""
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
