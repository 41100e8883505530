"""RDF in and out: every format, compressed or not, from files, folders, globs and streams."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph as RdflibGraph
from rdflib.compare import isomorphic

from tests.rdf.terms import TRIPLES
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.formats import ENDINGS, FORMATS
from tidelog.rdf.rdf_terms import Triple
from tidelog.rdf.readers import Reader, expand
from tidelog.rdf.triple_columns import Columns
from tidelog.rdf.writers import pieces, write

TEN = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])


def read(*sources: object, **options: object) -> set[Triple]:
    reader = Reader(**options)  # type: ignore[arg-type]
    reader.read_all(sources)  # type: ignore[arg-type]
    return set(reader.columns())


def read_text(text: str, form: str = "turtle", **options: object) -> list[Triple]:
    reader = Reader(**options)  # type: ignore[arg-type]
    reader.text(text, form)
    return list(reader.columns())


def as_text(triples: set[Triple], form: str) -> str:
    """Serialised by pyoxigraph, like a file of another tool."""
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in sorted(triples))
    quads = ox.parse(lines, ox.RdfFormat.N_TRIPLES)
    return ox.serialize(quads, format=getattr(ox.RdfFormat, FORMATS[form].parser)).decode()


@pytest.mark.parametrize("form", [f for f in FORMATS if f != "rdfxml"])
@given(triples=st.sets(TRIPLES, max_size=8))
@TEN
def test_every_format_gives_the_same_terms(form: str, triples: set[Triple]) -> None:
    kept = read_text(as_text(triples, form), form, blank_nodes="keep")
    assert set(kept) == triples


@given(triples=st.sets(TRIPLES, max_size=8))
@TEN
def test_written_files_read_back(triples: set[Triple]) -> None:
    columns = Columns.of(triples)
    for form in ("ntriples", "turtle"):
        text = b"".join(pieces(columns, form, {"ex": "http://example.org/"})).decode()
        assert set(read_text(text, form, blank_nodes="keep")) == triples
    (parquet,) = pieces(columns, "parquet")
    rows = pq.read_table(io.BytesIO(parquet)).to_pylist()
    assert {(row["subject"], row["predicate"], row["object"]) for row in rows} == triples


@given(triples=st.sets(TRIPLES, max_size=8))
@TEN
def test_relabelled_blank_nodes_give_an_isomorphic_graph(triples: set[Triple]) -> None:
    """Only the labels of blank nodes differ."""
    renamed = read_text(as_text(triples, "ntriples"), "ntriples")
    text = "".join(f"{s} {p} {o} .\n" for s, p, o in renamed)
    ours, theirs = RdflibGraph(), RdflibGraph()
    ours.parse(data=text, format="nt")
    theirs.parse(data=as_text(triples, "ntriples"), format="nt")
    assert isomorphic(ours, theirs)


XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY ex "http://example.org/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://example.org/">
  <ex:Cat rdf:about="&ex;Tom"><ex:says xml:lang="en">miaow</ex:says></ex:Cat>
</rdf:RDF>
"""
CAT = {
    (
        "<http://example.org/Tom>",
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<http://example.org/Cat>",
    ),
    ("<http://example.org/Tom>", "<http://example.org/says>", '"miaow"@en'),
}


def test_rdf_xml_with_the_entities_that_editors_write() -> None:
    assert set(read_text(XML, "rdfxml")) == CAT


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_imply_formats(tmp_path: Path, ending: str) -> None:
    form = ENDINGS[ending]
    text = XML if form == "rdfxml" else as_text(CAT, form)
    (tmp_path / f"a{ending}").write_text(text)
    (tmp_path / f"b{ending}.gz").write_bytes(gzip.compress(text.encode()))
    assert read(tmp_path / f"a{ending}") == CAT
    assert read(str(tmp_path / f"b{ending}.gz")) == CAT
    assert read(io.BytesIO(text.encode()), format=form) == CAT
    assert read(io.BytesIO(gzip.compress(text.encode())), format=form) == CAT


def test_folders_and_globs(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for number, name in enumerate(("b.nt", "a.ttl", "deep/c.nt", "notes.txt", ".hidden.nt")):
        (tmp_path / "in" / name).write_text(f"<a:{number}> <a:p> <a:o> .\n")
    folder = str(tmp_path / "in")
    assert [str(each)[len(folder) + 1 :] for each in expand([folder])] == [
        "a.ttl",
        "b.nt",
        "deep/c.nt",
    ]
    assert {s for s, _, _ in read(folder)} == {"<a:0>", "<a:1>", "<a:2>"}
    assert {s for s, _, _ in read(f"{folder}/*.nt")} == {"<a:0>"}
    assert {s for s, _, _ in read(f"{folder}/**/*.nt")} == {"<a:0>", "<a:2>"}


def test_blank_nodes_of_different_files_are_different(tmp_path: Path) -> None:
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_text('_:x <a:p> "1" .\n_:y <a:p> _:x .\n')
    apart = read(tmp_path)
    assert {s for s, _, _ in apart} == {"_:f1b0", "_:f1b1", "_:f2b0", "_:f2b1"}
    assert ("_:f2b1", "<a:p>", "_:f2b0") in apart
    assert {s for s, _, _ in read(tmp_path, blank_nodes="keep")} == {"_:x", "_:y"}


def test_nodes_without_a_label_have_the_same_names_every_time() -> None:
    text = "<a:s> <a:p> [ <a:q> ( 1 2 ) ] ."
    assert read_text(text) == read_text(text)
    assert {s for s, _, _ in read_text(text) if s[0] == "_"} == {"_:f1b0", "_:f1b1", "_:f1b2"}


GRAPHS = """\
<a:s> <a:p> "default" .
<a:s> <a:p> "one" <a:g1> .
<a:s> <a:p> "two" <a:g2> .
<a:s> <a:p> "one" <a:g2> .
"""


def test_graphs_are_merged_unless_one_is_selected() -> None:
    assert {o for _, _, o in read_text(GRAPHS, "nquads")} == {'"default"', '"one"', '"two"'}
    assert [o for _, _, o in read_text(GRAPHS, "nquads", graph="a:g1")] == ['"one"']
    trig = '<a:g1> { <a:s> <a:p> "one" } <a:s> <a:p> "default" .'
    assert [o for _, _, o in read_text(trig, "trig", graph="<a:g1>")] == ['"one"']


def test_relative_iris_take_the_base() -> None:
    assert read_text("<s> <p> <#o> .", base="http://example.org/doc") == [
        ("<http://example.org/s>", "<http://example.org/p>", "<http://example.org/doc#o>")
    ]


def test_ill_typed_literals_and_cyclic_lists_are_triples_like_others() -> None:
    text = """
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    <a:s> <a:p> "five"^^<http://www.w3.org/2001/XMLSchema#integer> .
    _:l rdf:first <a:x> ; rdf:rest _:l .
    """
    triples = read_text(text)
    assert triples[0][2] == '"five"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert triples[2][0] == triples[2][2] == "_:f1b0"


def test_large_files_are_read_in_pieces(tmp_path: Path) -> None:
    """More than one batch of triples, and more than one piece of bytes."""
    count = 140_000
    path = tmp_path / "many.nt"
    path.write_text("".join(f"<a:s{i}> <a:p> _:n{i % 7} .\n" for i in range(count)))
    reader = Reader()
    assert reader.read(path) == count
    columns = reader.columns()
    assert len(columns) == count
    assert len(columns.words) == count + 1 + 7
    assert list(columns)[-1] == (f"<a:s{count - 1}>", "<a:p>", f"_:f1b{(count - 1) % 7}")


@pytest.mark.parametrize("name", ["out.nt", "out.nt.gz", "out.ttl", "out.ttl.gz"])
def test_files_are_written_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"before")

    class Broken(Columns):
        def sorted(self) -> Columns:
            raise RuntimeError

    empty = Columns.of(())
    with pytest.raises(RuntimeError):
        write(str(path), Broken(empty.s, empty.p, empty.o, []))
    assert path.read_bytes() == b"before"
    write(str(path), Columns.of(CAT))
    assert read(path) == CAT
    first = path.read_bytes()
    write(str(path), Columns.of(sorted(CAT, reverse=True)))
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["out", "out.csv", "out.parquet.gz"])
def test_a_name_without_a_known_format_to_write(tmp_path: Path, name: str) -> None:
    with pytest.raises(TidelogError, match="cannot infer the format of"):
        write(str(tmp_path / name), Columns.of(CAT))
    assert list(tmp_path.iterdir()) == []
