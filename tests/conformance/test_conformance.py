"""One folder per construct: a program, its facts, and the outputs worked out by hand.

A folder holds `program.dl`, `facts/` where there are inputs, `stdin` where that is read,
`arguments` where the command line has more of them, and `expected/` with every file that
the run must write and no other. Rows are compared as sets, because relations are;
`expected/stdout` is compared line by line, sorted.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
from pathlib import Path

import pytest

from tidelog.cli import main
from tidelog.program.qualifiers import QUALIFIERS
from tidelog.text.operator_table import AGGREGATES, FUNCTORS, INFIX, PREFIX, TESTS

HERE = Path(__file__).parent
CASES = sorted(folder.parent for folder in HERE.glob("*/program.dl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outputs_are_those_worked_out_by_hand(
    case: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if (case / "stdin").exists():
        data = io.BytesIO((case / "stdin").read_bytes())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data, encoding="utf-8"))
    facts = case / "facts" if (case / "facts").exists() else tmp_path

    more = case / "arguments"
    # Naive evaluation must come to the same relations, outputs or not.
    arguments = ["run", str(case / "program.dl"), "-F", str(facts), "-D", str(out), "--check"]
    code = main(arguments + (more.read_text().split() if more.exists() else []))

    captured = capsys.readouterr()
    assert code == 0, captured.err
    expected = _files(case / "expected")
    stdout = expected.pop("stdout", "")
    assert {name: _rows(text) for name, text in _files(out).items()} == {
        name: _rows(text) for name, text in expected.items()
    }
    assert sorted(captured.out.splitlines()) == sorted(stdout.splitlines())


def test_every_folder_is_a_case() -> None:
    folders = {path for path in HERE.iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert folders - {HERE / "errors"} == set(CASES)


WORDS = {*INFIX, *PREFIX, *TESTS, *FUNCTORS, *AGGREGATES, *QUALIFIERS}


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_word_of_the_language_is_in_some_program(word: str) -> None:
    edge = r"(?<![\w?])", r"(?![\w?])"
    pattern = re.compile(re.escape(word).join(edge) if word.isidentifier() else re.escape(word))
    assert any(pattern.search((case / "program.dl").read_text(encoding="utf-8")) for case in CASES)


def _files(folder: Path) -> dict[str, str]:
    """Texts by file name; a compressed file counts under the name of what is in it."""
    texts = {}
    for path in folder.iterdir():
        data = path.read_bytes()
        zipped = path.suffix == ".gz"
        texts[path.stem if zipped else path.name] = (
            gzip.decompress(data) if zipped else data
        ).decode()
    return texts


def _rows(text: str) -> list[str]:
    """The lines in any order; a row that is written twice is a fault and stays visible."""
    assert text == "" or text.endswith("\n")
    return sorted(text.split("\n")[:-1])
