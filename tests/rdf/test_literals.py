"""Literals: valid texts, their values, and the rules that use them."""

from __future__ import annotations

import pytest

import tidelog as tl
from tests.rdf.bases import base
from tests.rdf.notation import term, triples
from tidelog.rdf import literals, profiles


def value(text: str, datatype: str) -> str | None:
    """The value of a literal as a term, None if the text is invalid."""
    known = dict(literals.facts(term(f'"{text}"^^{datatype}')))
    return known["literal"][2] if "literal" in known else None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("05", "xsd:integer"), ("5", "xsd:byte")),
        (("-0", "xsd:integer"), ("+0.00", "xsd:decimal")),
        (("1.50", "xsd:decimal"), ("01.5", "xsd:decimal")),
        (("-.5", "xsd:decimal"), ("-0.50", "xsd:decimal")),
        (("1", "xsd:boolean"), ("true", "xsd:boolean")),
        (("1e2", "xsd:double"), ("100", "xsd:double")),
        (("0.1", "xsd:float"), ("0.10000000149011612", "xsd:float")),
        (("INF", "xsd:double"), ("1e999", "xsd:double")),
        (("0a", "xsd:hexBinary"), ("0A", "xsd:hexBinary")),
        (("Y Q = =", "xsd:base64Binary"), ("YQ==", "xsd:base64Binary")),
        (("a b", "xsd:token"), ("a b", "xsd:string")),
        (("2024-02-29T24:00:00Z", "xsd:dateTime"), ("2024-03-01T00:00:00+00:00", "xsd:dateTime")),
        (
            ("2024-02-29T01:00:00.50Z", "xsd:dateTime"),
            ("2024-02-29T01:00:00.5Z", "xsd:dateTimeStamp"),
        ),
        (("-0001-12-31T24:00:00", "xsd:dateTime"), ("0000-01-01T00:00:00", "xsd:dateTime")),
    ],
)
def test_two_texts_of_one_value(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert value(*one) == value(*other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("1", "xsd:integer"), ("1", "xsd:double")),
        (("1", "xsd:float"), ("1", "xsd:double")),
        (("0", "xsd:integer"), ("false", "xsd:boolean")),
        (("a", "xsd:string"), ("a", "xsd:anyURI")),
        (("61", "xsd:hexBinary"), ("YQ==", "xsd:base64Binary")),
        (("2024-01-01T00:00:00Z", "xsd:dateTime"), ("2024-01-01T01:00:00+01:00", "xsd:dateTime")),
        (("-0.0", "xsd:double"), ("0.0", "xsd:double")),
    ],
)
def test_texts_of_different_values(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert value(*one)
    assert value(*other)
    assert value(*one) != value(*other)


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("five", "xsd:integer"),
        (" 5", "xsd:integer"),
        ("5.0", "xsd:integer"),
        ("128", "xsd:byte"),
        ("-1", "xsd:nonNegativeInteger"),
        ("0", "xsd:positiveInteger"),
        ("18446744073709551616", "xsd:unsignedLong"),
        ("", "xsd:decimal"),
        (".", "xsd:decimal"),
        ("1e3", "xsd:decimal"),
        ("inf", "xsd:double"),
        ("1e", "xsd:float"),
        ("TRUE", "xsd:boolean"),
        ("0", "xsd:hexBinary"),
        ("YQ=", "xsd:base64Binary"),
        ("a  b", "xsd:token"),
        ("a:b", "xsd:NCName"),
        ("1a", "xsd:Name"),
        ("toolonglanguage", "xsd:language"),
        ("2023-02-29T00:00:00Z", "xsd:dateTime"),
        ("2024-01-01T24:00:01Z", "xsd:dateTime"),
        ("2024-01-01T00:00:60Z", "xsd:dateTime"),
        ("2024-01-01T00:00:00+14:01", "xsd:dateTime"),
        ("2024-01-01T00:00:00", "xsd:dateTimeStamp"),
        ("24-01-01T00:00:00", "xsd:dateTime"),
        ("no tag", "rdf:PlainLiteral"),
        ("<a>", "rdf:XMLLiteral"),
        ("</x><x>", "rdf:XMLLiteral"),
        ("&bomb;", "rdf:XMLLiteral"),
    ],
)
def test_texts_that_are_not_legal(text: str, datatype: str) -> None:
    written = term(f'"{text}"^^{datatype}')
    assert literals.facts(written) == [("ill_typed", (written, term(datatype)))]


def test_an_integer_of_any_length() -> None:
    digits = "9" * 10_000
    assert value(f"000{digits}", "xsd:integer") == term(f'"{digits}"^^xsd:integer')
    assert value(digits, "xsd:long") is None
    assert value(f"-{digits}", "xsd:nonNegativeInteger") is None


def test_plain_literals_with_a_language() -> None:
    assert value("chat@FR", "rdf:PlainLiteral") == '"chat"@fr'
    assert value("a@b@", "rdf:PlainLiteral") == '"a@b"'


def test_no_facts_where_the_text_tells_all() -> None:
    assert [literals.facts(t) for t in ("<http://x>", "_:b", '"a"', '"a"@en')] == [[], [], [], []]


def test_a_datatype_that_is_not_known() -> None:
    written = '"7"^^<http://example.org/sevens>'
    assert literals.facts(written) == [("value_space", (written, "unknown"))]


def test_escapes_are_read() -> None:
    assert value(r"a\"b\\c", "xsd:string") == r'"a\"b\\c"'
    assert value(r"\u0035", "xsd:integer") == term('"5"^^xsd:integer')


def test_every_datatype_of_owl2rl_is_supported() -> None:
    declared = {clause.split('"')[1] for clause in profiles.named("owl2rl")["dt-type1"]}
    known = {f"<{datatype}>" for datatype in literals.SUPPORTED}
    assert known == {profiles.iri(name) for name in declared} - {term("rdfs:Literal")}


@pytest.mark.parametrize(
    ("text", "datatypes", "others"),
    [
        ('"5"^^xsd:long', "xsd:byte xsd:unsignedByte xsd:decimal rdfs:Literal", "xsd:double"),
        ('"-129"^^xsd:integer', "xsd:short xsd:negativeInteger", "xsd:byte xsd:unsignedInt"),
        ('"0"^^xsd:integer', "xsd:nonPositiveInteger xsd:unsignedByte", "xsd:positiveInteger"),
        ('"1.5"^^xsd:decimal', "xsd:decimal", "xsd:integer"),
        ('"a"^^xsd:token', "xsd:string rdf:PlainLiteral", "xsd:anyURI"),
        ('"2024-01-01T00:00:00Z"^^xsd:dateTime', "xsd:dateTimeStamp xsd:dateTime", "xsd:string"),
        ('"2024-01-01T00:00:00"^^xsd:dateTime', "xsd:dateTime", "xsd:dateTimeStamp"),
        ('"9223372036854775808"^^xsd:integer', "xsd:unsignedLong xsd:integer", "xsd:long"),
    ],
)
def test_datatypes_of_a_value(text: str, datatypes: str, others: str) -> None:
    space = dict(literals.facts(term(text)))["value_space"][1]
    has = {datatype for name, datatype in literals.spaces() if name == space}
    assert {*map(term, datatypes.split())} <= has
    assert not {*map(term, others.split())} & has


def refuted(text: str) -> list[tuple[object, ...]]:
    return base("owl2rl", triples(text))["inconsistent"].rows()


@pytest.mark.parametrize("value", ['"a"', '"a"@en', '"1.5"^^xsd:decimal', '"true"^^xsd:boolean'])
def test_a_literal_outside_the_range_of_its_property(value: str) -> None:
    row = ("dt-not-type", term(value), term("xsd:integer"), "")
    assert refuted(f"p rdfs:range xsd:integer. x p {value}.") == [row]


@pytest.mark.parametrize(
    ("value", "datatype"),
    [
        ('"5"^^xsd:integer', "xsd:byte"),
        ('"a"', "xsd:string"),
        ('"a"@en', "rdf:PlainLiteral"),
        ('"a"@en', "rdfs:Literal"),
        ('"5"^^xsd:int', "xsd:decimal"),
        ("y", "xsd:integer"),
    ],
)
def test_a_literal_inside_the_range_of_its_property(value: str, datatype: str) -> None:
    assert refuted(f"p rdfs:range {datatype}. x p {value}.") == []


def test_an_unknown_datatype_proves_nothing() -> None:
    given = "p rdf:type owl:FunctionalProperty. p rdfs:range xsd:integer. x p {}. x p {}."
    odd = ['"1"^^sevens', '"2"^^sevens']
    text = given.format(*odd)
    found = refuted(text)
    assert found == []


def test_strings_that_a_functional_property_equates() -> None:
    rows = refuted('p rdf:type owl:FunctionalProperty. x p "a". x p "b".')
    assert ("dt-diff", '"a"', '"b"', "") in rows


def test_facts_about_literals_that_are_gone_keep_nothing_alive() -> None:
    given = triples('x p "5"^^xsd:integer. y p "05"^^xsd:integer.')
    db: tl.Database = base("owl2rl", given)
    equal = triples('"5"^^xsd:integer owl:sameAs "05"^^xsd:integer.')[0]
    assert equal in db["triple"]
    with db.transaction() as tx:
        tx.delete("triple", given[1:])
    assert {*db["triple"]} == {given[0]}
