"""Wrong or hostile input: an error with its position, never a crash or a network request."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from tests.clock import Clock
from tidelog.control.limits import Limits
from tidelog.program.diagnostics import LimitError, TidelogError
from tidelog.rdf.graph import Graph
from tidelog.rdf.readers import Reader

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'  # on every root


def entities(count: int) -> str:
    """Each expands to ten of the previous one."""
    declared = ['<!ENTITY e0 "ten letters">']
    declared += [f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, count)]
    inside = f"<e:C><e:p>&e{count - 1};</e:p></e:C>"
    return f"<!DOCTYPE r [{''.join(declared)}]>\n<rdf:RDF {RDF}>{inside}</rdf:RDF>"


DEEP = 100_000
TEXTS = {
    "an unclosed string": (
        "a.ttl",
        '<a:s> <a:p> "x .',
        "a.ttl:1:13: error: ",
    ),
    "a relative IRI": (
        "a.ttl",
        "<a:s> <a:p> 1 .\n<b> <a:p> 1 .",
        "a.ttl:2:1: error: relative IRI without a base\n"
        "    pass --base, or declare @base in the file",
    ),
    "no triple": ("a.nt", "<a:s> <a:p> <a:o> .\nnonsense\n", "a.nt:2:1: error: "),
    "a literal as subject": ("a.nt", '"s" <a:p> <a:o> .\n', "a.nt:1:1: error: "),
    "a lone surrogate": ("a.nt", '<a:s> <a:p> "\\uD800" .\n', "a.nt:1:14: error: "),
    "a NUL in an IRI": ("a.nt", "<a:\0> <a:p> <a:o> .\n", "a.nt:1:1: error: "),
    "a triple about a triple": (
        "a.nt",
        "<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n",
        "a.nt:1:13: error: triples about triples are not supported",
    ),
    "triples deep inside triples": (
        "a.nt",
        "<a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + "<a:o>" + " )>>" * DEEP + " .\n",
        "a.nt:1:1: error: more than 500 nested triples",
    ),
    "entities inside entities": (
        "a.rdf",
        entities(9),
        "a.rdf:1:", "entity e1 refers to another entity\n    inline its text",
    ),
    "an entity inside itself": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "&a;">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "entity a refers to another entity",
    ),
    "an entity that hides one": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "&#38;b;"><!ENTITY b "x">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "entity a refers to another entity",
    ),
    "a long entity": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "{"x" * 2000}">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "entity a expands to 2,000 characters",
    ),
    "an entity of another file": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "external entity a",
    ),
    "a document type elsewhere": (
        "a.rdf",
        f'<!DOCTYPE r SYSTEM "http://example.org/r.dtd">\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "external document type",
    ),
    "a document type behind the start": (
        "a.rdf",
        f'<rdf:RDF {RDF}>\n<!DOCTYPE r [<!ENTITY a "x">]></rdf:RDF>',
        "a.rdf:2:", "malformed XML: ",
    ),
    "XML that is cut off": (
        "a.rdf",
        f"<rdf:RDF {RDF}>\n<e:C>",
        "a.rdf:2:6: error: malformed XML: no element found",
    ),
    "deep XML": (
        "a.rdf",
        f"<rdf:RDF {RDF}>" + "<e:C><e:p>" * DEEP,
        "a.rdf:1:", "more than 500 nested elements",
    ),
    "no JSON": ("a.jsonld", '{"@id": "a:s",\n "a:p": }', "a.jsonld:2:9: error: invalid JSON"),
    "deep JSON": (
        "a.jsonld",
        '{"a:p":' * DEEP + "1" + "}" * DEEP,
        "a.jsonld:1:3501: error: more than 500 nested values",
    ),
    "JSON that is deeper than allowed": (
        "a.jsonld",
        '{"a:p":' * 600 + "1" + "}" * 600,
        "a.jsonld:1:3501: error: more than 500 nested values",
    ),
    "a context elsewhere": (
        "a.jsonld",
        '{"@context": "http://example.org/context", "a:p": 1}',
        "a.jsonld:1:2: error: remote @context\n    contexts are not fetched; inline it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_hostile_input_is_rejected(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, *parts = TEXTS[what]
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    reader = Reader()
    with pytest.raises(TidelogError) as refused:
        reader.read(name)
    assert str(refused.value).startswith(parts[0])
    assert all(part in str(refused.value) for part in parts)
    assert len(reader.columns()) == 0


def test_a_faulty_file_adds_no_triples(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<a:s> <a:p> <a:good> .\n")
    lines = "".join(f"<a:s{i}> <a:p> <a:o> .\n" for i in range(70_000))
    (tmp_path / "b.nt").write_text(f"{lines}oops\n")
    reader = Reader()
    reader.read(tmp_path / "a.nt")
    with pytest.raises(TidelogError, match=r"b\.nt:70001:1: error: "):
        reader.read(tmp_path / "b.nt")
    assert list(reader.columns()) == [("<a:s>", "<a:p>", "<a:good>")]


def test_brackets_in_literals_do_not_nest() -> None:
    art = '"' + "<<" * 400 + '"'
    text = "".join(f"<a:s{i}> <a:p> {art} .\n" for i in range(5))
    reader = Reader()
    assert reader.text(text, "ntriples") == 5


def test_a_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(b'<a:s> <a:p> "' + b"x" * (17 << 20))
    with pytest.raises(TidelogError, match="a line or term exceeds 16 MB"):
        Reader().read(path)


def test_comments_do_not_hide_nesting() -> None:
    text = "<a:s> <a:p> " + '<<( # "\n <a:s> <a:p> ' * 1000
    with pytest.raises(TidelogError, match="more than 500 nested triples"):
        Reader().text(text, "turtle")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "file {} does not exist"),
        (lambda p: p.write_bytes(b"<a:s> <a:p> <a:o> ."), "file {} is not compressed with gzip"),
        (
            lambda p: p.write_bytes(gzip.compress(b"<a:s> <a:p> <a:o> .\n" * 99)[:-20]),
            "file {} ends in the middle of its gzip data",
        ),
        (
            lambda p: p.write_bytes(gzip.compress(b"#\n" * (33 << 20))),
            "file {} decompresses to more than 200 times its size",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "a.nt.gz"
    make(path)  # type: ignore[operator]
    with pytest.raises(TidelogError) as refused:
        Reader().read(path)
    assert message.format(path) in str(refused.value)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["x.txt"], "cannot infer the format of x.txt from its name"),
        (["none/*.nt"], "no file matches none/*.nt"),
        (["empty"], "no RDF files in the folder empty"),
        (["a\0.nt"], "'a\\x00.nt' cannot be the name of a file"),
    ],
)
def test_names_without_a_source(
    sources: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TidelogError) as refused:
        Reader().read_all(sources)
    assert message in str(refused.value)


def test_invalid_options_are_rejected() -> None:
    with pytest.raises(TidelogError, match="unknown format 'n3'"):
        Reader(format="n3")
    with pytest.raises(
        TidelogError, match="expected 'apart' or 'keep' for blank_nodes, got 'mine'"
    ):
        Reader(blank_nodes="mine")
    with pytest.raises(TidelogError, match="invalid base IRI"):
        Reader(base="no base").text("<a:s> <a:p> <o> .", "turtle")


class Endless(io.BytesIO):
    """The same lines again and again."""

    def __init__(self, text: str, clock: Clock) -> None:
        super().__init__()
        self.text, self.clock = text.encode() * 100, clock

    def read(self, size: int | None = -1, /) -> bytes:
        self.clock.late()
        return self.text


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(max_seconds=0.2), "stopped at more than 0.2 seconds"),
        (Limits(max_memory=1 << 20), "stopped at more than 1 MiB of memory"),
    ],
)
@pytest.mark.parametrize("form", ["ntriples", "turtle", "nquads", "rdfxml", "jsonld"])
def test_sources_without_an_end(clock: Clock, form: str, limits: Limits, message: str) -> None:
    source = Endless("<a:s> <a:p> <a:o> .\n", clock)
    with pytest.raises(LimitError) as stopped:
        Graph("none", data=[source], format=form, limits=limits)
    assert message in str(stopped.value)
    assert str(stopped.value).endswith("<stdin> was read")


def test_a_transaction_without_an_end(clock: Clock) -> None:
    graph = Graph("none", limits=Limits(max_seconds=0.2))
    with pytest.raises(LimitError, match=r"<stdin> was read$"), graph.transaction() as tx:
        tx.load(Endless("<a:s> <a:p> <a:o> .\n", clock), format="ntriples")
    assert len(graph) == 0
