"""Formatting changes blanks and line breaks, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.program.diagnostics import ProgramError
from tidelog.text import parse, to_text
from tidelog.text.formatter import format_text
from tidelog.text.source_text import Statement, pieces

ROOT = Path(__file__).parent.parent.parent
CASES = {
    name: text.split("\n---\n")
    for name, text in re.findall(
        r"^=== (.*)\n((?:(?!=== ).*\n)*)", (Path(__file__).parent / "layout.txt").read_text(), re.M
    )
}
PROGRAMS = sorted(
    path
    for folder in ("examples", "bench", "tests")
    for path in (ROOT / folder).rglob("*.dl")
    if "errors" not in path.parts
)


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_a_program_is_written_anew(before: str, after: str) -> None:
    assert format_text(before) == after
    assert format_text(after) == after
    assert format_text(f"{before}\n".replace("\n", "\r\n")) == after.replace("\n", "\r\n")


def test_all_programs_of_the_repository_stay_what_they_are() -> None:
    assert len(PROGRAMS) > 200
    for path in PROGRAMS:
        text = path.read_bytes().decode().removeprefix("\ufeff")
        new = format_text(text, str(path))
        assert format_text(new) == new, path
        assert to_text(parse(new).program) == to_text(parse(text).program), path
        assert re.findall(r"//.*|/\*[\s\S]*?\*/", new) == re.findall(r"//.*|/\*[\s\S]*?\*/", text)


def test_our_own_programs_are_formatted() -> None:
    for path in sorted((ROOT / "examples").rglob("*.dl")):
        text = path.read_text(encoding="utf-8")
        assert format_text(text) == text, path


TEXTS = [
    path.read_text(encoding="utf-8").removeprefix("\ufeff")
    for path in PROGRAMS
    if path.stat().st_size < 1500
]
BLANKS = st.sampled_from(["", " ", "\n", "  \n\n", " /* c */ ", " // c\n", "\t"])


@given(st.data())
def test_any_blanks_between_the_same_tokens(data: st.DataObject) -> None:
    """Comments where nobody would write them, too."""
    tokens = [
        token.text
        for piece in pieces(data.draw(st.sampled_from(TEXTS)))
        if isinstance(piece, Statement)
        for token in piece.tokens
    ]
    start = data.draw(st.integers(0, max(0, len(tokens) - 30)))
    chosen = tokens[start : start + 30]
    gaps = data.draw(st.lists(BLANKS, min_size=len(chosen), max_size=len(chosen)))
    text = "".join(f"{gap}{token}" for gap, token in zip(gaps, chosen, strict=True))
    try:
        new = format_text(text)
    except ProgramError:
        assert parse(text).diagnostics
        return
    assert format_text(new) == new
    assert to_text(parse(new).program) == to_text(parse(text).program)
