"""Terms: one canonical text each, from every library and notation."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from tests.rdf.terms import IRIS, TERMS, TEXTS
from tidelog.program.diagnostics import DataError
from tidelog.rdf.rdf_terms import (
    XSD,
    Namespace,
    blank,
    iri,
    kind_of,
    literal,
    term_of,
    to_rdflib,
    triple_of,
)


@given(TERMS)
def test_a_term_survives_pyoxigraph(term: str) -> None:
    (quad,) = ox.parse(f"<a:> <a:> {term} .", ox.RdfFormat.N_TRIPLES)
    assert term_of(quad.object) == term


@given(TERMS)
def test_a_term_survives_rdflib(term: str) -> None:
    assert term_of(to_rdflib(term)) == term


@given(TERMS)
def test_a_canonical_text_is_its_own(term: str) -> None:
    assert term_of(term) == term
    assert kind_of(term) in ("iri", "blank", "literal")


@given(TEXTS)
def test_pyoxigraph_writes_literals_in_the_same_form(text: str) -> None:
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
        ("http://a/b", "error: expected a term in N-Triples notation, got 'http://a/b'"),
        ("<a b>", "error: invalid IRI 'a b': "),
        ("<rel>", "error: invalid IRI 'rel': "),
        ("_:a b", "error: invalid blank node label 'a b'"),
        ('"a" . <a:> <a:> "b"', "error: "),
        ('"a', "error: invalid literal '\"a': "),
        ('"a\nb"', "error: invalid literal '\"a\\nb\"': write a line end as \\n"),
        ("", "error: expected a term in N-Triples notation, got ''"),
        (None, "error: invalid literal None: "),
        (object, "error: "),
    ],
)
def test_invalid_terms_are_rejected(given: object, message: str) -> None:
    with pytest.raises(DataError) as refused:
        term_of(given)
    assert str(refused.value).startswith(message)


def test_a_bare_string_is_rejected_with_advice() -> None:
    with pytest.raises(DataError, match="write <http://…> for an IRI"):
        term_of("Ann")


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (
            ('"a"', "<a:p>", "<a:o>"),
            'expected an IRI or a blank node as the subject of a triple, got "a"',
        ),
        (
            ("<a:s>", "_:p", "<a:o>"),
            "expected an IRI as the predicate of a triple, got _:p",
        ),
        (("<a:s>", "<a:p>"), "expected a triple (subject, predicate, object), got ('<a:s>',"),
        ("<a:s>", "expected a triple (subject, predicate, object), got '<a:s>'"),
    ],
)
def test_invalid_triples_are_rejected(triple: object, message: str) -> None:
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
def test_a_namespace_appends_names(start: str, name: str) -> None:
    assert Namespace(start)[name] == iri(start + name.replace(" ", "%20"))


def test_invalid_prefixes_and_labels_are_rejected() -> None:
    with pytest.raises(DataError, match="expected the start of an IRI"):
        Namespace("no scheme")
    with pytest.raises(DataError, match="invalid blank node label"):
        blank("")
