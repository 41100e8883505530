"""Input that is wrong, or meant to hurt: an error with its place, never a fault or a fetch."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.reading import Reader

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'  # on every root


def entities(count: int) -> str:
    """Each stands for ten of the one before."""
    made = ['<!ENTITY e0 "ten letters">']
    made += [f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, count)]
    inside = f"<e:C><e:p>&e{count - 1};</e:p></e:C>"
    return f"<!DOCTYPE r [{''.join(made)}]>\n<rdf:RDF {RDF}>{inside}</rdf:RDF>"


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
        "a.ttl:2:1: error: a relative IRI, and no base\n"
        "    --base gives one, or @base in the file",
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
        "a.nt:1:1: error: more than 500 triples inside one another",
    ),
    "entities inside entities": (
        "a.rdf",
        entities(9),
        "a.rdf:1:", "the entity e1 has entities in it\n    write out what it stands for",
    ),
    "an entity inside itself": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "&a;">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "the entity a has entities in it",
    ),
    "an entity that hides one": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "&#38;b;"><!ENTITY b "x">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "the entity a has entities in it",
    ),
    "a long entity": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a "{"x" * 2000}">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "the entity a stands for 2,000 characters",
    ),
    "an entity of another file": (
        "a.rdf",
        f'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "the entity a is outside of the file",
    ),
    "a document type elsewhere": (
        "a.rdf",
        f'<!DOCTYPE r SYSTEM "http://example.org/r.dtd">\n<rdf:RDF {RDF}/>',
        "a.rdf:1:", "the document type is outside of the file",
    ),
    "a document type behind the start": (
        "a.rdf",
        f'<rdf:RDF {RDF}>\n<!DOCTYPE r [<!ENTITY a "x">]></rdf:RDF>',
        "a.rdf:2:", "this is no well-formed XML: ",
    ),
    "XML that is cut off": (
        "a.rdf",
        f"<rdf:RDF {RDF}>\n<e:C>",
        "a.rdf:2:6: error: this is no well-formed XML: no element found",
    ),
    "deep XML": (
        "a.rdf",
        f"<rdf:RDF {RDF}>" + "<e:C><e:p>" * DEEP,
        "a.rdf:1:", "more than 500 elements inside one another",
    ),
    "no JSON": ("a.jsonld", '{"@id": "a:s",\n "a:p": }', "a.jsonld:2:9: error: this is no JSON"),
    "deep JSON": (
        "a.jsonld",
        '{"a:p":' * DEEP + "1" + "}" * DEEP,
        "a.jsonld:1:3501: error: more than 500 values inside one another",
    ),
    "JSON that is deeper than allowed": (
        "a.jsonld",
        '{"a:p":' * 600 + "1" + "}" * 600,
        "a.jsonld:1:3501: error: more than 500 values inside one another",
    ),
    "a context elsewhere": (
        "a.jsonld",
        '{"@context": "http://example.org/context", "a:p": 1}',
        "a.jsonld:1:2: error: a context elsewhere\n    it is never fetched: put it into the file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_what_is_refused(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, text, *parts = TEXTS[what]
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    reader = Reader()
    with pytest.raises(TidelogError) as refused:
        reader.read(name)
    assert str(refused.value).startswith(parts[0])
    assert all(part in str(refused.value) for part in parts)
    assert len(reader.columns()) == 0


def test_a_file_that_fails_leaves_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<a:s> <a:p> <a:good> .\n")
    lines = "".join(f"<a:s{i}> <a:p> <a:o> .\n" for i in range(70_000))
    (tmp_path / "b.nt").write_text(f"{lines}oops\n")
    reader = Reader()
    reader.read(tmp_path / "a.nt")
    with pytest.raises(TidelogError, match=r"b\.nt:70001:1: error: "):
        reader.read(tmp_path / "b.nt")
    assert list(reader.columns()) == [("<a:s>", "<a:p>", "<a:good>")]


def test_brackets_in_literals_are_no_nesting() -> None:
    art = '"' + "<<" * 400 + '"'
    text = "".join(f"<a:s{i}> <a:p> {art} .\n" for i in range(5))
    reader = Reader()
    assert reader.text(text, "ntriples") == 5


def test_a_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_bytes(b'<a:s> <a:p> "' + b"x" * (17 << 20))
    with pytest.raises(TidelogError, match="a line or a term of more than 16 MB"):
        Reader().read(path)


def test_comments_do_not_hide_nesting() -> None:
    text = "<a:s> <a:p> " + '<<( # "\n <a:s> <a:p> ' * 1000
    with pytest.raises(TidelogError, match="more than 500 triples inside one another"):
        Reader().text(text, "turtle")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "there is no file {}"),
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
        (["x.txt"], "the name of x.txt does not tell its format"),
        (["none/*.nt"], "no file matches none/*.nt"),
        (["empty"], "the folder empty has no RDF in it"),
        (["a\0.nt"], "'a\\x00.nt' cannot be the name of a file"),
    ],
)
def test_names_that_lead_nowhere(
    sources: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TidelogError) as refused:
        Reader().read_all(sources)
    assert message in str(refused.value)


def test_settings_that_are_none() -> None:
    with pytest.raises(TidelogError, match="there is no format 'n3'"):
        Reader(format="n3")
    with pytest.raises(TidelogError, match="blank nodes are apart or keep"):
        Reader(blank_nodes="mine")
    with pytest.raises(TidelogError, match="is no IRI"):
        Reader(base="no base").text("<a:s> <a:p> <o> .", "turtle")
