"""Graphs with both reasoners: materialisation, deltas, and the state after a failed change."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from tests.rdf.terms import TRIPLES
from tidelog import Limits
from tidelog.program.diagnostics import DataError, TidelogError
from tidelog.rdf import OWL, RDF, RDFS, Graph, Namespace, Triple
from tidelog.rdf.vocabulary import is_schema

EX = Namespace("http://example.org/")
ZOO = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Cat rdfs:subClassOf :Animal .
:feeds rdfs:domain :Keeper ; rdfs:range :Animal .
:Ann :feeds :Tom .
:Tom a :Cat .
"""
REASONERS = pytest.mark.parametrize("compiled", [False, True], ids=["triples", "compiled"])


def zoo(compiled: bool, profile: str = "rdfs") -> Graph:
    graph = Graph(profile, compiled=compiled)
    assert graph.parse(ZOO) == 5
    return graph


def data(triples: object) -> set[Triple]:
    return {t for t in triples if not is_schema(t)}  # type: ignore[attr-defined]


@REASONERS
def test_materialisation(compiled: bool) -> None:
    graph = zoo(compiled)
    assert data(graph) == {
        (EX.Ann, EX.feeds, EX.Tom),
        (EX.Ann, RDF.type, EX.Keeper),
        (EX.Tom, RDF.type, EX.Cat),
        (EX.Tom, RDF.type, EX.Animal),
    }
    assert len(graph) == len(list(graph)) == len(data(graph)) + 3
    assert (EX.Tom, RDF.type, EX.Animal) in graph
    assert (EX.Ann, RDF.type, EX.Animal) not in graph
    assert (EX.Cat, RDFS.subClassOf, EX.Animal) in graph


@REASONERS
def test_one_triple_is_no_triples(compiled: bool) -> None:
    graph = Graph("none", compiled=compiled)
    assert graph.parse("@prefix : <http://example.org/> . :a :b :c .") == 1
    assert repr(graph) == "<Graph: none, 1 triple>"
    with graph.transaction() as tx:
        tx.add((EX.d, EX.b, EX.c))
    assert repr(tx.delta) == "<GraphDelta: 1 triple inserted, 0 deleted>"


@REASONERS
def test_patterns(compiled: bool) -> None:
    graph = zoo(compiled)
    everything = list(graph)
    assert graph.triples() == everything
    terms = {term for triple in everything for term in triple}
    for place in range(3):
        for term in terms:
            pattern = tuple(term if i == place else None for i in range(3))
            assert graph.triples(pattern) == [t for t in everything if t[place] == term]
    for s, p, o in everything:
        assert (s, p, o) in graph.triples((s, p, None))
        assert (s, p, o) in graph.triples((None, p, o))
        assert graph.triples((s, p, o)) == [(s, p, o)]


@REASONERS
def test_a_transaction_changes_data_and_ontology_together(compiled: bool) -> None:
    graph = zoo(compiled)
    with graph.transaction() as tx:
        tx.remove((EX.Cat, RDFS.subClassOf, EX.Animal))
        tx.add((EX.Cat, RDFS.subClassOf, EX.Pet), (EX.Tim, RDF.type, EX.Cat))
    assert data(tx.delta.added) == {
        (EX.Tim, RDF.type, EX.Cat),
        (EX.Tim, RDF.type, EX.Pet),
        (EX.Tom, RDF.type, EX.Pet),
    }
    # Tom is still an animal, because Ann feeds him.
    assert data(tx.delta.removed) == set()
    assert (EX.Cat, RDFS.subClassOf, EX.Animal) in tx.delta.removed
    assert str(tx.delta).splitlines()[0] == f"- {EX.Cat} {RDFS.subClassOf} {EX.Animal} ."
    assert (EX.Tom, RDF.type, EX.Animal) in graph


@REASONERS
def test_of_several_changes_of_a_triple_the_last_counts(compiled: bool) -> None:
    graph = zoo(compiled)
    fed, axiom = (EX.Ann, EX.feeds, EX.Tom), (EX.Cat, RDFS.subClassOf, EX.Animal)
    with graph.transaction() as tx:
        tx.remove(fed, axiom)
        tx.add(fed, axiom)
        tx.add((EX.x, EX.y, EX.z))
        tx.remove((EX.x, EX.y, EX.z))
    assert len(tx.delta) == 0


@REASONERS
def test_classes_that_an_axiom_mentions_later(compiled: bool) -> None:
    """Existing triples get the axiom's consequences, but are not in the delta themselves."""
    graph = zoo(compiled)
    assert len(graph.add((EX.Rex, RDF.type, EX.Dog), (EX.Rex, EX.chases, EX.Tom))) == 2
    delta = graph.add((EX.Dog, RDFS.subClassOf, EX.Animal), (EX.chases, RDFS.range, EX.Prey))
    assert data(delta.added) == {(EX.Rex, RDF.type, EX.Animal), (EX.Tom, RDF.type, EX.Prey)}
    assert data(delta.removed) == set()
    delta = graph.remove((EX.Rex, RDF.type, EX.Dog), (EX.Rex, EX.chases, EX.Tom))
    assert set(delta.removed) == {
        (EX.Rex, RDF.type, EX.Dog),
        (EX.Rex, RDF.type, EX.Animal),
        (EX.Rex, EX.chases, EX.Tom),
        (EX.Tom, RDF.type, EX.Prey),
    }
    assert (EX.Rex, RDF.type, EX.Dog) not in graph


@REASONERS
def test_a_transaction_that_fails_leaves_everything_as_it_was(compiled: bool) -> None:
    graph = zoo(compiled, "owl2rl")
    before = list(graph)
    axiom = (EX.Cat, RDFS.subClassOf, EX.Animal)
    tx = graph.transaction()
    tx.remove(axiom)
    tx.__exit__(RuntimeError, RuntimeError(), None)
    with pytest.raises(DataError), graph.transaction() as tx:
        tx.add((EX.a, EX.b, "no term"))
    tx = graph.transaction(limits=Limits(max_facts=1))
    tx.remove(axiom)
    tx.add((EX.New, RDFS.subClassOf, EX.Cat), (EX.Tim, RDF.type, EX.New))
    tx.add((EX.Tim, EX.age, 5))
    with pytest.raises(TidelogError, match="stopped at more than 1 fact"):
        tx.commit()
    with graph.transaction(dry_run=True) as tx:
        tx.remove(axiom)
        tx.add((EX.Tim, EX.age, 6))
    assert axiom in tx.delta.removed
    assert list(graph) == before
    # The same changes succeed later, including the facts about literals.
    graph.add((EX.New, RDFS.subClassOf, EX.Cat), (EX.Tim, RDF.type, EX.New))
    graph.add((EX.Tim, EX.age, '"x"^^<http://www.w3.org/2001/XMLSchema#integer>'))
    assert (EX.Tim, RDF.type, EX.Animal) in graph
    assert [wrong.rule for wrong in graph.inconsistencies()] == ["dt-not-type"]


def test_one_transaction_at_a_time() -> None:
    graph = zoo(False)
    tx = graph.transaction()
    with pytest.raises(TidelogError, match="a transaction is open"):
        graph.add((EX.a, EX.b, EX.c))
    with pytest.raises(TidelogError, match="not committed"):
        len(tx.delta)
    tx.rollback()
    with pytest.raises(TidelogError, match="has ended"):
        tx.add((EX.a, EX.b, EX.c))
    assert len(graph.add((EX.a, EX.b, EX.c))) == 1
    assert len(graph.delta) == 1


@REASONERS
def test_strict_changes(compiled: bool) -> None:
    graph = zoo(compiled)
    for triple, why in (
        ((EX.Tom, EX.feeds, EX.Ann), "there is no such fact"),
        ((EX.Tom, RDF.type, EX.Animal), "the fact is derived"),
        ((EX.Cat, RDFS.subClassOf, EX.Dog), "no such (fact|axiom)"),
    ):
        with pytest.raises(TidelogError, match=why), graph.transaction(strict=True) as tx:
            tx.remove(triple)


@REASONERS
def test_patches(compiled: bool) -> None:
    graph = zoo(compiled)
    deleted = [(EX.Tom, RDF.type, EX.Cat), (EX.Ann, EX.feeds, EX.Tom)]
    deltas = graph.apply("".join(f"TX .\nD {' '.join(t)} .\nTC .\n" for t in deleted))
    assert [len(delta.removed) for delta in deltas] == [1, 3]
    assert data(graph) == set()


@REASONERS
def test_loading_more_is_a_transaction(compiled: bool, tmp_path: Path) -> None:
    graph = zoo(compiled)
    (tmp_path / "more.nt").write_text(f"{EX.Bob} {EX.feeds} _:x .\n")
    assert graph.load(tmp_path) == 1
    assert set(graph.delta.added) == {
        (EX.Bob, EX.feeds, "_:f2b0"),
        (EX.Bob, RDF.type, EX.Keeper),
        ("_:f2b0", RDF.type, EX.Animal),
    }
    (tmp_path / "bad.nt").write_text("oops\n")
    before = list(graph)
    with pytest.raises(TidelogError, match=r"bad\.nt:1:1: error: "):
        graph.load(tmp_path)
    assert list(graph) == before


def test_labels_in_use_are_not_assigned_again() -> None:
    graph = Graph("none")
    graph.add(("_:f7b0", EX.p, EX.o))
    graph.parse(f"_:x {EX.p} {EX.o} .")
    assert {s for s, _, _ in graph} == {"_:f7b0", "_:f8b0"}


@REASONERS
def test_equal_terms_replace_each_other(compiled: bool) -> None:
    graph = zoo(compiled, "owl2rl")
    delta = graph.add((EX.Tom, OWL.sameAs, EX.Tommy))
    assert (EX.Ann, EX.feeds, EX.Tommy) in delta.added
    assert (EX.Tommy, OWL.sameAs, EX.Tom) in delta.added
    back = graph.remove((EX.Tom, OWL.sameAs, EX.Tommy))
    assert set(back.removed) == set(delta.added)


@REASONERS
def test_in_rdfs_equality_means_nothing(compiled: bool) -> None:
    graph = zoo(compiled, "rdfs")
    assert graph.add((EX.Tom, OWL.sameAs, EX.Tommy)).added == [(EX.Tom, OWL.sameAs, EX.Tommy)]


@REASONERS
def test_contradictions_are_reported(compiled: bool) -> None:
    graph = zoo(compiled, "owl2rl")
    assert graph.inconsistencies() == []
    graph.add((EX.Keeper, OWL.disjointWith, EX.Animal))
    graph.add((EX.Ann, EX.feeds, EX.Ann))
    (wrong,) = graph.inconsistencies()
    assert wrong.rule == "cax-dw"
    assert {EX.Keeper, EX.Animal, EX.Ann} <= {*wrong.terms}
    assert graph.causes(wrong) == [
        (EX.Keeper, OWL.disjointWith, EX.Animal),
        (EX.Ann, RDF.type, EX.Keeper),
        (EX.Ann, RDF.type, EX.Animal),
    ]
    graph.remove((EX.Ann, EX.feeds, EX.Ann))
    assert graph.inconsistencies() == []


def test_conversions_keep_all_triples() -> None:
    graph = zoo(False)
    graph.parse('<http://example.org/Tom> <http://example.org/says> "miaow"@en, 5, [] .')
    store = graph.to_oxigraph()
    assert {(str(q.subject), str(q.predicate), str(q.object)) for q in store} == set(graph)
    asked = store.query("SELECT ?x WHERE { ?x a <http://example.org/Animal> }")
    assert [str(row["x"]) for row in asked] == [EX.Tom]  # type: ignore[union-attr, misc]
    theirs = graph.to_rdflib()
    assert len(theirs) == len(graph)
    ours = rdflib.Graph()
    ours.parse(data="".join(f"{' '.join(t)} .\n" for t in graph), format="nt")
    assert isomorphic(ours, theirs)
    assert graph.to_arrow().num_rows == len(graph)


def test_terms_of_other_libraries_are_accepted() -> None:
    graph = zoo(False)
    cat = rdflib.URIRef("http://example.org/Cat")
    assert (rdflib.URIRef("http://example.org/Tom"), rdflib.RDF.type, cat) in graph
    quad = ox.Quad(ox.NamedNode("a:s"), ox.NamedNode("a:p"), ox.Literal("x"), ox.NamedNode("a:g"))
    assert graph.add(quad).added == [("<a:s>", "<a:p>", '"x"')]


@pytest.mark.parametrize("name", ["out.nt", "out.ttl.gz", "out.parquet"])
def test_a_graph_is_written_whole(tmp_path: Path, name: str) -> None:
    graph = zoo(False)
    path = tmp_path / name
    graph.write(path)
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq

        assert pq.read_table(path).num_rows == len(graph)
        return
    again = Graph("none")
    again.load(path)
    assert list(again) == list(graph)


@REASONERS
@given(st.sets(TRIPLES, max_size=6), st.sets(TRIPLES, max_size=6))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_terms_survive_the_engine(compiled: bool, first: set[Triple], second: set[Triple]) -> None:
    graph = Graph("none", compiled=compiled)
    graph.add(*first)
    with graph.transaction() as tx:
        tx.add(*second)
        tx.remove(*(first - second))
    assert set(graph) == set(graph.explicit()) == second
    assert set(tx.delta.added) == second - first
    assert set(tx.delta.removed) == first - second


def test_invalid_options_are_rejected() -> None:
    with pytest.raises(TidelogError, match="unknown profile 'owl'"):
        Graph("owl")
    with pytest.raises(TidelogError, match="unknown algorithm 'magic'"):
        Graph("rdfs", algorithm="magic")
    with pytest.raises(
        TidelogError, match=r"unknown option 'colour'\n.*format, base, graph, blank_nodes"
    ):
        Graph("rdfs").load("a.nt", colour="red")
