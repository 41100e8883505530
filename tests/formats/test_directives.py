"""Directives: what is read and written, where, and what is refused."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tidelog.formats.directives import inputs, outputs, read_inputs, write_outputs
from tidelog.program.diagnostics import DataError, ProgramError, render
from tidelog.program.rules import CheckedProgram, Relation
from tidelog.program.syntax import Directive, Span, Value
from tidelog.program.table import Table

RELATIONS = {
    "edge": Relation("edge", ("x", "y"), ("number", "number")),
    "path": Relation("path", ("from", "to"), ("number", "number")),
    "word": Relation("word", ("w",), ("symbol",)),
    "flag": Relation("flag", (), ()),
}
ROWS: dict[str, list[tuple[Value, ...]]] = {
    "edge": [(2, 3), (1, 2)],
    "path": [(1, 3)],
    "word": [("b",), ("a",)],
    "flag": [()],
}
TABLES = {name: Table.from_rows(RELATIONS[name].kinds, rows) for name, rows in ROWS.items()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(*lines: str) -> tuple[CheckedProgram, Mapping[str, list[str]]]:
    """Directives such as `.input edge headers=true`, one a line, and their text."""
    directives = []
    for number, line in enumerate(lines, 1):
        action, relation, *parameters = line.split(" ")
        pairs = tuple((key, value) for key, _, value in (p.partition("=") for p in parameters))
        at = Span("reach.dl", number, len(action) + 2, len(relation))
        directives.append(Directive(action[1:], relation, pairs, at))  # type: ignore[arg-type]
    return CheckedProgram(RELATIONS, (), (), {}, tuple(directives)), {"reach.dl": list(lines)}


def read(*lines: str, stdin: bytes = b"", **options: object) -> list[tuple[str, list[object]]]:
    checked, sources = program(*lines)
    wanted = inputs(checked, sources=sources, **options)  # type: ignore[arg-type]
    found = read_inputs(wanted, io.BytesIO(stdin), sources=sources)
    return [(name, table.rows()) for name, table in found]  # type: ignore[misc]


def write(*lines: str, to: str = ".", **options: object) -> str:
    checked, sources = program(*lines)
    stdout = io.BytesIO()
    wanted = outputs(checked, to, sources=sources, **options)  # type: ignore[arg-type]
    write_outputs(wanted, TABLES, stdout, sources=sources)
    return stdout.getvalue().decode()


def wrong(*lines: str) -> str:
    """What is said of directives that cannot be."""
    with pytest.raises(ProgramError) as caught:
        (write if "output" in lines[0] or "printsize" in lines[0] else read)(*lines)
    return str(caught.value)


# Inputs


def test_defaults_and_parameters(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "edge.facts").write_text("1\t2\n")
    (folder / "sub" / "e.csv").write_text("x,y\n3,4\n")
    (folder / "other.facts").write_bytes(gzip.compress(b"5\t6\n"))
    assert read(
        ".input edge",
        ".input edge filename=sub/e.csv delimiter=, headers=true",
        ".input edge name=other compress=true rfc4180=false",
        ".input path IO=stdin",
        stdin=b"7\t8\n",
    ) == [
        ("edge", [(1, 2)]),
        ("edge", [(3, 4)]),
        ("edge", [(5, 6)]),
        ("path", [(7, 8)]),
    ]


def test_the_facts_folder(folder: Path) -> None:
    (folder / "facts").mkdir()
    (folder / "facts" / "edge.facts").write_text("1\t2\n")
    checked, _ = program(".input edge", ".output path")
    (only,) = inputs(checked, "facts")
    assert only.path == Path("facts/edge.facts")


def test_a_missing_file_names_file_relation_and_place() -> None:
    with pytest.raises(DataError) as caught:
        read(".input path", folder="facts")
    assert str(caught.value) == (
        "reach.dl:1:8: error: no facts for `path`: file facts/path.facts does not exist\n"
        "  1 | .input path\n"
        "    |        ^^^^ check the name and the folder"
    )


def test_a_fault_inside_a_file_is_placed_there(folder: Path) -> None:
    (folder / "edge.facts").write_text("1\tx\n")
    with pytest.raises(DataError, match=r"^edge\.facts:1:3: error: "):
        read(".input edge")


def test_the_standard_input_is_read_once() -> None:
    assert wrong(".input edge IO=stdin", ".input path IO=stdin") == (
        "reach.dl:2:8: error: the standard input can be read only once\n"
        "  2 | .input path IO=stdin\n"
        "    |        ^^^^ read one of the two from a file\n"
        "    note: it is read for `edge` at reach.dl:1:8"
    )


# Outputs


def test_files_are_written_sorted(folder: Path) -> None:
    assert (
        write(
            ".output edge",
            ".output edge filename=e.txt delimiter=, headers=true",
            ".output path compress=true",
            ".output path filename=p.csv.gz",
            ".output word name=words",
            ".output flag",
        )
        == ""
    )
    texts = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert gzip.decompress(texts.pop("path.csv.gz")) == b"1\t3\n"
    assert gzip.decompress(texts.pop("p.csv.gz")) == b"1\t3\n"
    assert texts == {
        "edge.csv": b"1\t2\n2\t3\n",
        "e.txt": b"x,y\n1,2\n2,3\n",
        "words.csv": b"a\nb\n",
        "flag.csv": b"()\n",
    }


def test_what_is_printed_is_what_souffle_prints(folder: Path) -> None:
    assert write(
        ".output edge IO=stdout",
        ".output path IO=stdout headers=true delimiter=,",
        ".output flag IO=stdout",
        ".printsize edge",
        ".output path IO=stdoutprintsize",
    ) == (
        "---------------\nedge\n===============\n1\t2\n2\t3\n===============\n"
        "---------------\npath\nfrom,to\n===============\n1,3\n===============\n"
        "---------------\nflag\n===============\n()\n===============\n"
        "edge\t2\n"
        "path\t1\n"
    )
    assert os.listdir() == []


def test_the_standard_input_has_no_header(folder: Path) -> None:
    checked, _ = program(".input edge IO=stdin headers=true")
    ((_, table),) = read_inputs(inputs(checked), io.BytesIO(b"1\t2\n3\t4\n"))
    assert table.rows() == [(1, 2), (3, 4)]


def test_the_output_folder_dash_prints_with_headers(folder: Path) -> None:
    assert write(".output path filename=p.csv", ".printsize path", to="-") == (
        "---------------\npath\nfrom\tto\n===============\n1\t3\n===============\npath\t1\n"
    )
    assert os.listdir() == []


def test_a_tab_in_a_symbol_is_written_with_a_warning(folder: Path) -> None:
    checked, sources = program(".output word IO=stdout")
    tables = {"word": Table.from_rows(("symbol",), [("a\tb",), ("c\td",)])}
    stdout = io.BytesIO()
    assert write_outputs(outputs(checked), tables, stdout) == ()
    assert b"\na\tb\n" in stdout.getvalue()
    checked, sources = program(".output word")
    (only,) = write_outputs(outputs(checked), tables, stdout, sources=sources)
    assert (folder / "word.csv").read_text() == "a\tb\nc\td\n"
    assert render(only, sources) == (
        'reach.dl:1:9: warning: "a\\tb" in column w of word '
        'contains the delimiter "\\t", so it would read back differently\n'
        "  1 | .output word\n"
        "    |         ^^^^ choose another delimiter for this output"
    )


def test_all_or_nothing(folder: Path) -> None:
    (folder / "edge.csv").write_text("old\n")
    with pytest.raises(DataError) as caught:
        write(".output edge", ".printsize edge", ".output path filename=none/p.csv")
    assert str(caught.value) == (
        "reach.dl:3:9: error: `path` cannot be written: folder none does not exist\n"
        "  3 | .output path filename=none/p.csv\n"
        "    |         ^^^^ create it first"
    )
    assert os.listdir() == ["edge.csv"]
    assert (folder / "edge.csv").read_text() == "old\n"


def test_two_outputs_to_one_file(folder: Path) -> None:
    assert wrong(".output edge filename=x.csv", ".output path filename=./x.csv") == (
        "reach.dl:2:9: error: two outputs go to the file x.csv\n"
        "  2 | .output path filename=./x.csv\n"
        "    |         ^^^^ give one of them another filename\n"
        "    note: the first is that of `edge` at reach.dl:1:9"
    )
    assert "two outputs go to the file" in wrong(".output edge", ".output edge headers=true")
    assert write(".output edge", ".output edge") == ""
    assert os.listdir() == ["edge.csv"]
    assert "two outputs go to the file e.db" in wrong(
        ".output edge IO=sqlite filename=e.db", ".output path filename=e.db"
    )
    assert "another name" in wrong(
        ".output edge IO=sqlite filename=e.db", ".output path IO=sqlite filename=e.db name=EDGE"
    )


# What is refused


@pytest.mark.parametrize(
    ("line", "message", "advice"),
    [
        (".input edge IO=sqlite dbname=x filename=y", "`filename` and `dbname` name the same",
         "keep one of them"),
        (".input edge IO=sqlite headers=true", "parameter `headers` does not apply to `IO=sqlite`",
         "remove it"),
        (".output edge IO=sqlite name=", '"" cannot be the name of a table', "name a table"),
        (".output edge IO=json format=tree", 'parameter `format` cannot be "tree"',
         "write list or object"),
        (".output edge IO=jsonfile params=[]", "parameter `params` does not name the 2 columns",
         'write params="{\\"relation\\": {\\"params\\": [\\"x\\", \\"y\\"]}}"'),
        (".input edge IO=stdout", "`.input` cannot use `IO=stdout`", "use IO=file or IO=stdin"),
        (".output edge IO=stdin", "`.output` cannot use `IO=stdin`", "use IO=file or IO=stdout"),
        (".printsize edge IO=file", "`.printsize` cannot use `IO=file`", "use IO=stdoutprintsize"),
        (".input edge IO=tape", "unknown format `IO=tape`", "use IO=file or IO=stdin"),
        (".input edge rfc4180=true delimiter=::", '"::" cannot be a delimiter with rfc4180',
         'choose one character other than a quote, such as ","'),
        (".input edge columns=1", '"1" names 1 column, not 2',
         'name 2 of them, the first is 0: columns="0:1"'),
        (".input edge columns=1:-2", '"1:-2" is not a list of columns', "name 2 of them"),
        (".input edge columns=1:1", '"1:1" names a column twice', "name 2 of them"),
        (".output edge columns=1:0", "`.output` has no parameter `columns`",
         "write a rule that has the columns in the order that you want"),
        (".output edge headers=true attributeNames=a\rb", '"a\\rb" is more than one line',
         "name the columns in one line"),
        (".input edge file=x", "`.input` has no parameter `file`", "did you mean filename?"),
        (".input edge io=file", "`.input` has no parameter `io`", "did you mean IO?"),
        (".input edge red=1", "`.input` has no parameter `red`",
         "expected one of IO, filename, name, delimiter, headers, compress, rfc4180, columns"),
        (".input edge headers=yes", 'parameter `headers` cannot be "yes"', "write true or false"),
        (".output edge compress=1", 'parameter `compress` cannot be "1"', "write true or false"),
        (".input edge filename=a filename=b", "parameter `filename` is given twice",
         "keep one of them"),
        (".input edge delimiter=", '"" cannot be a delimiter',
         'choose one or more characters of one line, such as "\\t" or ","'),
        (".input edge filename=", '"" cannot be the name of a file', "name a file"),
        (".input edge filename=a\0b", '"a\\u0000b" cannot be the name of a file', "name a file"),
        (".input edge filename=/etc/passwd", 'the file "/etc/passwd" lies outside the folder .',
         "name a file inside it, or run with --allow-paths"),
        (".output edge filename=a/../../b", 'the file "a/../../b" lies outside the folder .',
         "name a file inside it, or run with --allow-paths"),
        (".output edge name=../b", 'the file "../b.csv" lies outside the folder .',
         "name a file inside it, or run with --allow-paths"),
    ],
)  # fmt: skip
def test_refusals(line: str, message: str, advice: str) -> None:
    column = line.index(" ") + 2
    text = wrong(line).splitlines()
    assert text[0] == f"reach.dl:1:{column}: error: {message}"
    assert text[-1].lstrip(" |").startswith(f"^^^^ {advice}")
    assert os.listdir() == []


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = wrong(".input edge IO=tape", ".input path", ".input word filename=../x")
    assert [line for line in text.splitlines() if "error" in line] == [
        "reach.dl:1:8: error: unknown format `IO=tape`",
        'reach.dl:3:8: error: the file "../x" lies outside the folder .',
    ]


def test_links_out_of_the_folder(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "out.facts").write_text("1\t2\n")
    (folder / "in" / "edge.facts").symlink_to("../out.facts")
    (folder / "in" / "up").symlink_to("..")
    checked, sources = program(".input edge", ".input edge filename=up/out.facts")
    with pytest.raises(ProgramError) as caught:
        inputs(checked, "in", sources=sources)
    assert [line for line in str(caught.value).splitlines() if "error" in line] == [
        'reach.dl:1:8: error: the file "edge.facts" is a link out of the folder in',
        'reach.dl:2:8: error: the file "up/out.facts" is a link out of the folder in',
    ]
    allowed = inputs(checked, "in", allow_paths=True)
    assert [table.rows() for _, table in read_inputs(allowed)] == [[(1, 2)], [(1, 2)]]
    # A folder that is itself a link is what was asked for.
    (folder / "alias").symlink_to("in")
    (folder / "in" / "path.facts").write_text("3\t4\n")
    checked, _ = program(".input path")
    assert [table.rows() for _, table in read_inputs(inputs(checked, "alias"))] == [[(3, 4)]]


def test_paths_that_are_allowed(folder: Path) -> None:
    target = folder / "else" / "p.csv"
    target.parent.mkdir()
    write(f".output path filename={target}", allow_paths=True)
    assert target.read_text() == "1\t3\n"
    assert read(f".input path filename={target}", allow_paths=True) == [("path", [(1, 3)])]
