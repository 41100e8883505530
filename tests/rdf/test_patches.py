"""RDF Patch and signed N-Triples: meaning, faults, and deltas in the same format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rdf.terms import TRIPLES
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.change_text import FORMS, Form, PatchReader, form_of, text_of
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.rdf_terms import Triple
from tidelog.rdf.triple_columns import Columns

Signed = list[tuple[str, Triple]]


def read(*blocks: str) -> list[Signed]:
    found = PatchReader("p").updates(blocks)
    return [[(op, t) for op, columns in update.runs for t in columns] for update in found]


A, B = ("<a:s>", "<a:p>", "<a:a>"), ("<a:s>", "<a:p>", '"b c ."@en')


def test_a_patch() -> None:
    text = """\
H id <urn:uuid:1> .
# two transactions
TX .
A <a:s> <a:p> <a:a> .
D <a:s> <a:p> "b c ."@en .
TC .

TX .
A <a:s> <a:p> <a:a> <a:graph> .
TC .
"""
    assert read(text) == [[("+", A), ("-", B)], [("+", A)]]


def test_signed_triples() -> None:
    text = '+ <a:s> <a:p> <a:a> .\n-<a:s> <a:p> "b c ."@EN .\ncommit.\n+ <a:s> <a:p> <a:a> .\n'
    assert read(text) == [[("+", A), ("-", B)], [("+", A)]]


def test_prefixes_are_added_and_removed() -> None:
    text = """\
PA "x" "a:" .
PA xsd: <http://www.w3.org/2001/XMLSchema#> .
A x:s x:p "5"^^xsd:byte .
A <a:s> x:p "x:s" .
"""
    assert read(text) == [
        [
            ("+", ("<a:s>", "<a:p>", '"5"^^<http://www.w3.org/2001/XMLSchema#byte>')),
            ("+", ("<a:s>", "<a:p>", '"x:s"')),
        ]
    ]
    with pytest.raises(TidelogError, match=r"^p:6:"):
        read(f'{text}PD "x" .\nA x:s <a:p> <a:o> .\n')


def test_blank_nodes_in_both_notations() -> None:
    text = "A _:f1b0 <a:p> <_:f1b1> .\n"
    assert read(text) == [[("+", ("_:f1b0", "<a:p>", "_:f1b1"))]]


def test_an_aborted_transaction_has_no_effect() -> None:
    text = "TX .\nA <a:s> <a:p> <a:a> .\nTA .\nTX .\nTC .\n"
    assert read(text) == [[]]


def test_nothing_is_no_update() -> None:
    assert read("") == read("# only a comment\n\n") == []


@given(st.lists(st.tuples(st.sampled_from("AD+-"), TRIPLES), max_size=12), st.data())
def test_lines_may_arrive_in_any_pieces(changes: list[tuple[str, Triple]], data: object) -> None:
    lines = [f"{sign} {' '.join(triple)} .\n" for sign, triple in changes]
    cuts = data.draw(st.sets(st.integers(0, len(lines))))  # type: ignore[attr-defined]
    ends = [*sorted(cuts), len(lines)]
    blocks = ["".join(lines[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    signs = {"A": "+", "D": "-", "+": "+", "-": "-"}
    assert read(*blocks) == ([[(signs[s], t) for s, t in changes]] if changes else [])


def test_an_update_is_yielded_at_its_commit() -> None:
    """From a live pipe, before the next update begins."""
    sent = iter(["+ <a:s> <a:p> <a:a> .\n", "commit.\n", "never read"])
    updates = PatchReader("p").updates(sent)
    assert len(next(updates)) == 1
    assert next(sent) == "never read"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A <a:s> <a:p> <a:o> .\nA <a:s> <a:p> .\n", "p:2:"),
        ("\n\nA <a:s> <a:p> <rel> .\n", "p:3:15: error: no scheme found in an absolute IRI"),
        ("A <a:s> <a:p> <a:o>\n", "p:1:"),
        ("A <a:s> <a:p> <a:o> . A <a:s> <a:p> <a:o> .\n", "p:1:"),
        ('A "s" <a:p> <a:o> .\n', "p:1:3: error: the subject of a triple must be an IRI"),
        ("R\n", "p:1:1: error: expected a change\n    begin a line with A, D, TX, TC"),
        ("TX .\nTX .\n", "p:2:1: error: the transaction of line 1 is still open"),
        ("TC .\n", "p:1:1: error: TC without TX"),
        ("TA .\n", "p:1:1: error: TA without TX"),
        ("TX now .\n", "p:1:1: error: unexpected text after TX"),
        ("TX .\nA <a:s> <a:p> <a:o> .\n", "p:1:1: error: unfinished transaction"),
        ("A <a:s> <a:p> <a:o> .\nTX .\n", "p:2:1: error: changes before TX"),
        ("PA x .\n", "p:1:1: error: invalid prefix declaration"),
        ('PA "x" "no iri" .\n', "p:1:1: error: invalid IRI 'no iri'"),
        ("A y:s <a:p> <a:o> .\n", "p:1:"),
        ("A <a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n", "p:1:15: error: triples about triples"),
        (
            "A <a:s> <a:p> " + "<<( <a:s> <a:p> " * 50_000,
            "p:1:1: error: more than 500 nested triples",
        ),
    ],
)
def test_faults_are_reported_with_their_position(text: str, message: str) -> None:
    with pytest.raises(TidelogError) as refused:
        read(text)
    assert str(refused.value).startswith(message)


def test_updates_before_a_fault_are_yielded() -> None:
    updates = PatchReader("p").updates(
        ["TX .\nA <a:s> <a:p> <a:a> .\nTC .\nTX .\nA oops .\nTC .\n"]
    )
    assert len(next(updates)) == 1
    with pytest.raises(TidelogError, match=r"^p:5:"):
        next(updates)


@pytest.mark.parametrize("form", FORMS)
@given(st.sets(TRIPLES, max_size=6), st.sets(TRIPLES, max_size=6))
def test_a_delta_reads_back(form: Form, inserted: set[Triple], deleted: set[Triple]) -> None:
    deleted -= inserted
    delta = GraphDelta(lambda: Columns.of(inserted), lambda: Columns.of(deleted))
    (update,) = read(text_of(delta, form))
    assert {t for op, t in update if op == "+"} == inserted
    assert {t for op, t in update if op == "-"} == deleted
    assert len(update) == len(delta)


def test_a_reader_knows_the_form() -> None:
    for text, form in (("+ <a:s> <a:p> <a:o> .\n", "signed"), ("TX .\nTC .\n", "patch")):
        reader = PatchReader("p")
        assert len(list(reader.updates([text]))) == 1
        assert reader.form == form


def test_a_name_without_a_known_ending() -> None:
    assert form_of("a.rdfp.gz") == "patch"
    with pytest.raises(TidelogError, match="cannot infer the format of changes"):
        form_of("a.txt")
