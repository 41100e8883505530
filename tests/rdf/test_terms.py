"""Terms: one canonical text for each, whatever library or notation it comes from."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from tests.rdf.terms import IRIS, TERMS, TEXTS
from tidelog.program.diagnostics import DataError
from tidelog.rdf.terms import (
    XSD,
    Namespace,
    blank,
    iri,
    kind_of,
    literal,
    term_of,
    to_oxigraph,
    to_rdflib,
    triple_of,
)


@given(TERMS)
def test_a_term_survives_pyoxigraph(term: str) -> None:
    assert term_of(to_oxigraph(term)) == term


@given(TERMS)
def test_a_term_survives_rdflib(term: str) -> None:
    assert term_of(to_rdflib(term)) == term


@given(TERMS)
def test_a_canonical_text_is_its_own(term: str) -> None:
    assert term_of(term) == term
    assert kind_of(term) in ("iri", "blank", "literal")


@given(TEXTS)
def test_the_library_writes_literals_as_we_hold_them(text: str) -> None:
    assert literal(text) == str(ox.Literal(text))
    assert term_of(rdflib.Literal(text)) == literal(text)


def test_equal_literals_are_one_symbol() -> None:
    assert term_of(f'"a"^^{XSD.string}') == term_of('"a"') == '"a"'
    assert term_of('"a"@EN-gb') == literal("a", language="en-GB") == '"a"@en-gb'
    assert term_of('"\\u00e9"') == '"é"'


@pytest.mark.parametrize(
    ("value", "term"),
    [
        (5, f'"5"^^{XSD.integer}'),
        (True, f'"true"^^{XSD.boolean}'),
        (1.5, f'"1.5"^^{XSD.double}'),
    ],
)
def test_values_have_their_datatype(value: object, term: str) -> None:
    assert term_of(value) == term


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("http://a/b", "error: 'http://a/b' is no term in the notation of N-Triples"),
        ("<a b>", "error: 'a b' is no IRI: "),
        ("<rel>", "error: 'rel' is no IRI: "),
        ("_:a b", "error: 'a b' is no label of a blank node"),
        ('"a" . <a:> <a:> "b"', "error: "),
        ('"a', "error: '\"a' is no literal: "),
        ('"a\nb"', "error: '\"a\\nb\"' is no literal: a line end is written \\n"),
        ("", "error: '' is no term in the notation of N-Triples"),
        (None, "error: None is no literal: "),
        (object, "error: "),
    ],
)
def test_what_is_no_term(given: object, message: str) -> None:
    with pytest.raises(DataError) as refused:
        term_of(given)
    assert str(refused.value).startswith(message)


def test_a_string_without_marks_gets_advice() -> None:
    with pytest.raises(DataError, match="write <http://…> for an IRI"):
        term_of("Ann")


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (('"a"', "<a:p>", "<a:o>"), 'the subject of a triple is an IRI or a blank node; "a" is'),
        (("<a:s>", "_:p", "<a:o>"), "the predicate of a triple is an IRI; _:p is none"),
        (("<a:s>", "<a:p>"), "a triple has a subject, a predicate and an object"),
        ("<a:s>", "a triple has a subject, a predicate and an object"),
    ],
)
def test_what_is_no_triple(triple: object, message: str) -> None:
    with pytest.raises(DataError) as refused:
        triple_of(triple)
    assert message in str(refused.value)


def test_triples_of_a_library() -> None:
    triple = ox.Triple(ox.NamedNode("a:s"), ox.NamedNode("a:p"), ox.Literal("x"))
    assert triple_of(triple) == ("<a:s>", "<a:p>", '"x"')
    assert triple_of(ox.Quad(*triple, ox.NamedNode("a:g"))) == ("<a:s>", "<a:p>", '"x"')
    with pytest.raises(DataError, match="triples about triples are not supported"):
        term_of(triple)


@given(IRIS, st.sampled_from(["name", "a b", "é"]))
def test_a_namespace_makes_the_iris_that_its_parts_make(start: str, name: str) -> None:
    assert Namespace(start)[name] == iri(start + name.replace(" ", "%20"))


def test_what_begins_no_iri() -> None:
    with pytest.raises(DataError, match="is no beginning of an IRI"):
        Namespace("no scheme")
    with pytest.raises(DataError, match="is no label of a blank node"):
        blank("")
