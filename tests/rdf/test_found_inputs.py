"""Regressions in input: values, sources, and messages."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from tidelog.program.diagnostics import TidelogError
from tidelog.rdf import Graph
from tidelog.rdf.rdf_terms import literal, term_of, to_rdflib

HEAD = "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD = "<http://www.w3.org/2001/XMLSchema#"


def e(name: str) -> str:
    return f"<http://e/{name}>"


@pytest.mark.parametrize(
    ("value", "text", "datatype"),
    [
        (date(2024, 2, 29), "2024-02-29", "date"),
        (datetime(2024, 2, 29, 1, 2, 3), "2024-02-29T01:02:03", "dateTime"),
        (datetime(2024, 2, 29, tzinfo=UTC), "2024-02-29T00:00:00+00:00", "dateTime"),
        (time(1, 2), "01:02:00", "time"),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890", "decimal"),
        (Decimal("1E+5"), "100000", "decimal"),
        (True, "true", "boolean"),
        (-(2**70), str(-(2**70)), "integer"),
    ],
)
def test_values_of_the_standard_library(value: object, text: str, datatype: str) -> None:
    assert term_of(value) == f'"{text}"^^{XSD}{datatype}>'
    assert literal(value, datatype="http://e/d") == f'"{text}"^^{e("d")}'


def test_literals_for_rdflib_keep_their_text() -> None:
    terms = [f'"01"^^{XSD}integer>', f'"1.50"^^{XSD}decimal>', f'"x"^^{XSD}integer>']
    assert [term_of(to_rdflib(term)) for term in terms] == terms


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g: literal("a", "en"), "invalid datatype 'en': .*\n.*language=\"en\""),
        (lambda g: literal(Decimal("nan")), "xsd:decimal must be finite"),
        (
            lambda g: g.add((e("a"), e("b"), 10**5000)),
            "an int of 16,610 bits has too many digits for a literal",
        ),
        (lambda g: g.parse(5), "expected text as str or bytes, got int"),
        (
            lambda g: g.parse('<a:b> <a:b>\n "\ud800" .'),
            "<text>:2:3: error: lone surrogate '.ud800'",
        ),
        (lambda g: g.apply('\n+ <a:b> <a:b> "\ud800" .'), "<changes>:2:16: error: lone surrogate"),
        (lambda g: g.apply(b""), "expected changes as str, got bytes"),
        (lambda g: g.load(5), "expected an RDF source, got 5\n    pass the name"),
        (lambda g: Graph(data=b"a.ttl"), "expected an RDF source, got b'a.ttl'"),
        (lambda g: Graph(data=[None]), "expected an RDF source, got None"),
        (lambda g: Graph(data=[("<a:b>", "<a:b>", "<a:b>")]), "expected an RDF source, got "),
        (lambda g: g.parse("", graph="no iri"), "invalid IRI 'no iri'"),
        (
            lambda g: g.parse("", graph="a:b"),
            "<text>: error: turtle does not support named graphs\n.*trig",
        ),
        (lambda g: g.parse("", format=["turtle"]), "unknown format"),
        (
            lambda g: g.parse('{"@id": "a:b",\n "a:p": {"@id": "x"}}', "jsonld"),
            "<text>:2:17: error: relative IRI without a base\n",
        ),
        (
            lambda g: g.parse('{"a:p": 1,\n "@context": "http://e/c"}', "jsonld"),
            "<text>:2:2: error: remote @context",
        ),
        (
            lambda g: g.apply('PA "long" "http://example.org/" .\n+ long:a long:b x .'),
            "<changes>:2:17: error: ",
        ),
        (
            lambda g: g.apply('PA "long" "http://example.org/" .\n+ <a:a> long:b{ <a:b> .'),
            "<changes>:2:9: error: ",
        ),
        (
            lambda g: g.apply("+ <a:b> <a:b> <a:b> .\n+ <a:b> <a:b> <a:b> . <a:b> <a:b> <a:b> ."),
            ":2:",
        ),
        (
            lambda g: g.parse('<a>\n<b\n xmlns:x="a:"/></a>', "rdfxml"),
            "<text>:[123]:1: error: XML namespaces are required",
        ),
        (
            lambda g: g.parse('<a:b> <a:b> "x', "ntriples"),
            "<text>:1:13: error: unexpected end of file",
        ),
        (lambda g: g.apply('\nPA "a" "no iri" .'), "<changes>:2:1: error: invalid IRI 'no iri'"),
    ],
)
def test_wrong_input_raises_a_clear_error(wrong: Callable[[Graph], object], message: str) -> None:
    g = Graph("none")
    with pytest.raises(TidelogError, match=message):
        wrong(g)
    assert len(g) == 0


def test_sources_of_other_kinds() -> None:
    line = "<a:b> <a:b> <a:b> .\n"
    g = Graph("none", data=(io.StringIO(line) for _ in range(2)), format="turtle")
    assert g.parse(b"") == 0
    assert g.parse(b"\xef\xbb\xbf" + line.encode()) == 1
    assert g.load(io.BytesIO(f"\ufeff{line}".encode()), format="ntriples") == 1
    assert g.parse('\ufeff{"@id": "a:b", "a:b": {"@id": "x"}}', "jsonld", base="a:") == 1
    assert not g.apply(f"\ufeffA {line}")[0]
    assert not g.apply('PA "a" "a:" .\nA a:b a:b a:b.')[0]
    assert len(g) == 2


def test_an_ontology_applies_to_any_named_graph(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(HEAD + ":p rdfs:domain :C .")
    (tmp_path / "d.nq").write_text(f"{e('x')} {e('p')} {e('y')} {e('g')} .\n")
    names = str(tmp_path / "o.ttl"), str(tmp_path / "d.nq")
    g = Graph("rdfs", ontology=names[0], data=names[1], graph="http://e/g")
    assert (e("x"), TYPE, e("C")) in g
    assert len(Graph("rdfs", ontology=names[0], data=names[1], graph="http://e/h")) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_user_rules_survive_the_first_triples(compiled: bool) -> None:
    g = Graph("none", compiled=compiled)
    relation = "other" if compiled else "triple"
    with g.database.transaction() as tx:
        tx.add_rule(f"known(x) :- {relation}(x, _, _).")
    for _ in range(2):
        g.parse("<a:s> <a:p> <a:o> .")
        assert g.database.query("known(x)") == [("<a:s>",)]
        g.remove(("<a:s>", "<a:p>", "<a:o>"))
        assert len(g) == 0
