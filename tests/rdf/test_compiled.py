"""A compiled ontology derives the same triples about individuals as the rule tables."""

from __future__ import annotations

import io
import random

import pytest

import tidelog as tl
from tests.rdf import generate
from tests.rdf.bases import base, may_equal
from tests.rdf.notation import Triple, triples
from tests.rdf.routes import about_things, open_compiled, things
from tidelog.plan import analyse
from tidelog.plan.closures import modules
from tidelog.rdf import Graph
from tidelog.rdf.ontology_rules import Ontology, compile
from tidelog.rdf.profiles import PREFIXES, program, short
from tidelog.rdf.relation_names import Names
from tidelog.rdf.vocabulary import is_schema
from tidelog.text import parse


def drawn(seed: int) -> tuple[list[Triple], list[Triple]]:
    rng = random.Random(seed)
    kinds = [*generate.PLAIN]
    kinds += generate.EQUATING if seed % 2 else []
    kinds += generate.REFUTING if seed % 3 else []
    ontology = [t for _ in range(rng.randint(1, 10)) for t in generate.axiom(rng, kinds)]
    literal, equal = seed % 2 == 1, seed % 4 == 1
    facts = [generate.fact(rng, literals=literal, equal=equal) for _ in range(rng.randint(1, 14))]
    return ontology, facts


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_compiled_equals_triples(seed: int) -> None:
    ontology, data = drawn(seed)
    compiled = compile(ontology, equality=may_equal([*ontology, *data]))
    db = open_compiled(compiled, data, ontology)
    tables = base("owl2rl", [*ontology, *data])
    assert things(db, compiled) == about_things(tables["triple"])
    assert {*db["inconsistent"]} == {*tables["inconsistent"]}


@pytest.mark.parametrize("seed", range(10))
def test_compiled_equals_triples_in_rdfs(seed: int) -> None:
    rng = random.Random(seed)
    ontology = [t for _ in range(8) for t in generate.axiom(rng, generate.RDFS)]
    data = [generate.fact(rng, literals=True) for _ in range(12)]
    compiled = compile(ontology, "rdfs")
    tables = base("rdfs", [*ontology, *data])
    assert things(open_compiled(compiled, data), compiled) == about_things(tables["triple"])


def test_in_rdfs_equality_is_a_property_like_others() -> None:
    ontology = triples("p rdfs:subPropertyOf owl:sameAs. owl:sameAs rdfs:range c.")
    data = triples("x p y. x q z. z owl:sameAs w.")
    compiled = compile(ontology, "rdfs", equality=True)
    tables = base("rdfs", [*ontology, *data])
    assert not compiled.equality
    assert things(open_compiled(compiled, data), compiled) == about_things(tables["triple"])


def test_equality_as_a_property_of_axioms() -> None:
    ontology = triples("p rdfs:subPropertyOf owl:sameAs. owl:sameAs rdfs:subPropertyOf r.")
    data = triples("x p y. x q z. y rdf:type c.")
    compiled = compile(ontology)
    tables = base("owl2rl", [*ontology, *data])
    assert compiled.equality
    assert things(open_compiled(compiled, data), compiled) == about_things(tables["triple"])


def test_equal_classes_and_properties() -> None:
    ontology = triples("c owl:sameAs d. p owl:sameAs r. c rdfs:subClassOf e. p rdfs:domain f.")
    data = triples("x rdf:type d. y r z.")
    compiled = compile(ontology)
    db = open_compiled(compiled, data)
    found = things(db, compiled)
    assert {*triples("x rdf:type c. x rdf:type e. y p z. y rdf:type f.")} <= found


def test_triples_about_individuals_in_the_ontology_are_data() -> None:
    compiled = compile(triples("c rdfs:subClassOf d. x rdf:type c. x p y."))
    assert {*compiled.data} == {*triples("x rdf:type c. x p y.")}


def test_a_triple_survives_its_relation() -> None:
    given = triples("c rdfs:subClassOf d. p rdfs:domain c.")
    compiled = compile(given)
    for triple in triples("x rdf:type c. x p y. x q y. x rdf:type e. x owl:sameAs y."):
        assert compiled.triple_of(*compiled.route(triple)) == triple
    assert compiled.route(triples("x rdf:type c.")[0])[0] == compiled.unary[given[0][0]]
    assert compiled.route(triples("x q y.")[0])[0] == "other"
    assert compiled.triple_of("literal", ("a", "b", "c")) is None


def test_names_are_readable_and_differ() -> None:
    names = Names("class")
    terms = ["<http://a/Student>", "<http://b/Student>", "<http://a#Student>", "_:b1", "<urn:x>"]
    given = [names.of(term) for term in terms]
    assert len({*given}) == len(terms)
    assert all(name.startswith("class_") for name in given)
    assert "Student" in given[0]
    assert [names.of(term) for term in reversed(terms)] == given[::-1]
    assert [names.terms[name] for name in given] == terms


def test_a_name_does_not_depend_on_other_terms() -> None:
    first, second = Names("class"), Names("class")
    first.of("<http://a/X>")
    assert first.of("<http://b/X>") == second.of("<http://b/X>")


def test_names_with_the_same_digits() -> None:
    """On a collision the second name gets more digits."""
    names = Names("class")
    taken = names.of("<http://a/X>")
    other = Names("class", {"<http://c>": taken})
    longer = other.of("<http://a/X>")
    assert longer != taken
    assert longer.startswith(taken)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("p rdfs:subPropertyOf rdf:type.", "it has an axiom about rdf:type"),
        ("p rdfs:subPropertyOf rdfs:subClassOf.", "it has an axiom about rdfs:subClassOf"),
        (
            "c rdfs:subClassOf owl:FunctionalProperty.",
            "it describes members of owl:FunctionalProperty",
        ),
        ("p rdfs:range owl:Class.", "it describes members of owl:Class"),
        ("p rdfs:range rdf:List.", "it describes members of rdf:List"),
    ],
)
def test_unsupported_axioms_are_rejected(text: str, why: str) -> None:
    (axiom,) = triples(text)
    with pytest.raises(tl.TidelogError) as error:
        compile([axiom])
    assert str(error.value) == (
        f"error: the ontology cannot be compiled: {why}\n"
        f"    the axiom: {' '.join(map(short, axiom))} .\n"
        "    reason over triples instead"
    )


def test_a_rejection_uses_the_prefixes_of_the_file() -> None:
    text = b"""@prefix ex: <http://example.org/> .
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    ex:parts rdfs:range rdf:List ."""
    with pytest.raises(tl.TidelogError, match=r"the axiom: ex:parts rdfs:range rdf:List \."):
        Graph(data=io.BytesIO(text), compiled=True, format="turtle")


@pytest.mark.parametrize(
    ("text", "axiom"),
    [
        (
            "ex:C owl:equivalentClass [ owl:intersectionOf (ex:A rdf:List) ]",
            "ex:C owl:equivalentClass [owl:intersectionOf (… rdf:List …)]",
        ),
        (
            "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:someValuesFrom rdf:List ]",
            "ex:C rdfs:subClassOf [owl:someValuesFrom rdf:List; …]",
        ),
        (
            "ex:p owl:propertyChainAxiom (rdf:type ex:q)",
            "ex:p owl:propertyChainAxiom (… rdf:type …)",
        ),
        (
            "[] a owl:AllDisjointClasses ; owl:members (ex:A rdf:List)",
            "[] owl:members (… rdf:List …)",
        ),
        ("rdf:List owl:equivalentClass [ owl:oneOf (ex:a) ]", "rdf:List owl:equivalentClass […]"),
    ],
)
def test_a_refusal_names_the_axiom_that_a_blank_node_belongs_to(text: str, axiom: str) -> None:
    prefixes = {**PREFIXES, "ex": "http://example.org/"}
    given = "".join(f"@prefix {prefix}: <{start}> .\n" for prefix, start in prefixes.items())
    source = io.BytesIO(f"{given}{text} .".encode())
    with pytest.raises(tl.TidelogError) as error:
        Graph("owl2rl", data=source, compiled=True, format="turtle")
    assert str(error.value).splitlines()[1] == f"    the axiom: {axiom} ."


def test_a_refused_equality_uses_the_prefixes_of_the_file() -> None:
    text = b"""@prefix ex: <http://example.org/> .
    @prefix owl: <http://www.w3.org/2002/07/owl#> .
    ex:c owl:sameAs owl:Class ."""
    with pytest.raises(tl.TidelogError, match="it says that ex:c is the same as owl:Class"):
        Graph("owl2rl", data=io.BytesIO(text), compiled=True, format="turtle")


@pytest.mark.parametrize("end", ["rdf:nil", "_:nowhere"])
@pytest.mark.parametrize("cells", [9, 60])
def test_a_list_that_branches_too_often_is_rejected(cells: int, end: str) -> None:
    text = " ".join(
        f"_:n{i} rdf:first c{i}. _:n{i} rdf:first d{i}. "
        f"_:n{i} rdf:rest {f'_:n{i + 1}' if i < cells - 1 else end}."
        for i in range(cells)
    )
    with pytest.raises(
        tl.TidelogError, match=r"the list _:n0 branches\n    the axiom: <http://example.org/p> owl:"
    ):
        compile(triples(f"p owl:propertyChainAxiom _:n0. {text}"))


def test_a_rejected_change_keeps_the_ontology() -> None:
    ontology = Ontology()
    before = ontology.change(triples("c rdfs:subClassOf d."))
    with pytest.raises(tl.TidelogError):
        ontology.change(triples("p rdfs:subPropertyOf rdf:type."), triples("c rdfs:subClassOf d."))
    assert ontology.change().rules == before.rules


def test_only_the_rules_of_changed_axioms_change() -> None:
    ontology = Ontology()
    before = ontology.change(triples("c rdfs:subClassOf d. d rdfs:subClassOf e. p rdfs:domain c."))
    after = ontology.change(removed=triples("c rdfs:subClassOf d."))
    removed = before.rules.keys() - after.rules.keys()
    assert [before.rules[name].split("_")[1] for name in removed] == ["d"]
    assert after.rules.keys() <= before.rules.keys()
    assert after.unary == before.unary


def test_replacement_rules_exist_only_if_terms_can_be_equal() -> None:
    plain = compile(triples("c rdfs:subClassOf d."))
    assert not plain.equality
    assert not [name for name in plain.rules if name.startswith("eq-rep")]
    equating = compile(triples("p rdf:type owl:FunctionalProperty."))
    assert equating.equality
    assert [name for name in equating.rules if name.startswith("eq-rep")]


def closures(program: str) -> set[str]:
    """The closure modules of a program."""
    strata = analyse(parse(program).program).checked.strata
    return {str(closure) for stratum in strata for closure in modules(stratum).own}


def test_transitive_properties_and_equality_are_closure_modules() -> None:
    compiled = compile(triples("p rdf:type owl:TransitiveProperty."))
    relation = compiled.binary[triples("p p p.")[0][0]]
    expected = {f"transitive {relation}", "symmetric-transitive same"}
    assert closures(compiled.program) == expected
    assert "symmetric-transitive same" in closures(program("owl2rl"))


def test_schema_and_data() -> None:
    schema = "c rdf:type owl:Class. c rdfs:subClassOf d. x owl:members _:l. _:l rdf:first a."
    assert all(map(is_schema, triples(schema)))
    data = "x rdf:type c. x p y. x owl:sameAs y. x owl:differentFrom y. x rdfs:label y."
    assert not any(map(is_schema, triples(data)))
