"""Every class of fault in a program's text, with its exact message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.program.diagnostics import ProgramError, render
from tidelog.program.syntax import Program
from tidelog.text import parse, parse_atom, parse_file


def _cases() -> list[tuple[str, str, str]]:
    cases = (Path(__file__).parent / "errors.txt").read_text(encoding="utf-8")
    found = []
    for case in cases.removeprefix("=== ").split("\n=== "):
        title, rest = case.split("\n", 1)
        program, expected = rest.split("\n---\n", 1)
        found.append((title, program, expected.rstrip("\n")))
    return found


def messages(text: str) -> str:
    parsed = parse(text, "a.dl")
    return "\n".join(render(diagnostic, parsed.sources) for diagnostic in parsed.diagnostics)


CASES = _cases()


@pytest.mark.parametrize(("program", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_message(program: str, expected: str) -> None:
    assert messages(program) == expected


@pytest.mark.parametrize(
    "text", ["", "\n", "   // nothing\n", "/* nothing */", "\ufeff", "\r\n\r\n"]
)
def test_an_empty_program_is_valid(text: str) -> None:
    parsed = parse(text)
    assert parsed.program == Program()
    assert parsed.diagnostics == ()


def test_byte_order_mark_and_carriage_returns_are_accepted() -> None:
    parsed = parse('\ufeff.decl a(x: symbol)\r\na("x").\r\nb(x) :-\r\n  a(x).\r\n')
    assert parsed.diagnostics == ()
    assert parsed.program.facts[0].values == ("x",)
    assert parsed.program.facts[0].at[1:] == (2, 1, 1)
    assert parsed.program.clauses[0].body.at[1:] == (4, 3, 1)


def test_nul() -> None:
    assert messages("a(1).\nb(\0 2).\nc(") == (
        "a.dl:2:3: error: the program contains a NUL character\n"
        "  2 | b(\N{REPLACEMENT CHARACTER} 2).\n"
        "    |   ^ is this a text file?\n"
        "a.dl:3:2: error: expected a term after `(`, got the end of the file\n"
        "  3 | c(\n"
        "    |  ^"
    )


def test_half_a_surrogate_pair() -> None:
    assert messages('a("\ud800").').startswith(
        "a.dl:1:4: error: the program contains half a surrogate pair"
    )


def test_invalid_utf8(tmp_path: Path) -> None:
    path = tmp_path / "bad.dl"
    path.write_bytes('a("é").\nb("é\xff").\n'.encode("latin-1").replace(b"\xe9", "é".encode()))
    parsed = parse_file(path)
    assert parsed.program == Program()
    (only,) = parsed.diagnostics
    assert render(only, parsed.sources) == (
        f"{path}:2:5: error: byte 0xff is not UTF-8\n"
        '  2 | b("é\N{REPLACEMENT CHARACTER}").\n'
        "    |     ^ save the file as UTF-8"
    )


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    (missing,) = parse_file(tmp_path / "none.dl").diagnostics
    assert render(missing, {}) == (
        f"error: cannot read {tmp_path / 'none.dl'}: no such file or directory"
    )
    (folder,) = parse_file(tmp_path).diagnostics
    assert folder.message == f"cannot read {tmp_path}: is a directory"


DEEP = 100_000


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a(" + "(" * DEEP + "1" + ")" * DEEP + ").", 259),
        ("a(x) :- " + "(" * DEEP + "b(x)" + ")" * DEEP + ".", 265),
        ("a(x) :- " + "!" * DEEP + "b(x).", 265),
        ("a(" + "-" * DEEP + "x).", 258),
        ("a(" + "1+" * DEEP + "1).", 514),
        ("a(" + "strlen(" * DEEP + "x" + ")" * DEEP + ").", 3 + 255 * 7),
        ("a(" + "sum " * DEEP + "x).", 3 + 255 * 4),
        ("a(x) :- " + "x = count : { " * DEEP + ".", 13 + 256 * 14),
        ("a(" * DEEP, 1 + 256 * 2),
    ],
    ids=["terms", "bodies", "negations", "signs", "sums", "functors", "targets", "bodies2", "open"],
)
def test_nesting_a_hundred_thousand_deep(text: str, column: int) -> None:
    parsed = parse(text)
    (only,) = parsed.diagnostics
    assert only.message == "nested more than 256 levels deep"
    assert only.advice == "split it over several clauses"
    assert only.at is not None
    assert only.at.column == column


def test_powers_group_to_the_right_and_may_be_too_deep() -> None:
    (only,) = parse("a(" + "x^" * DEEP + "x).").diagnostics
    assert only.message == "nested more than 256 levels deep"


def test_nesting_up_to_the_limit_is_fine() -> None:
    text = "a(" + "(" * 256 + "1" + ")" * 256 + "). b(" + "-" * 254 + "x)."
    assert parse(text).diagnostics == ()
    assert parse("a(x) :- " + ", ".join(["b(x)"] * 5000) + ".").diagnostics == ()


def test_a_long_list_is_capped() -> None:
    parsed = parse("a(x) :- x == 1.\n" * 53)
    assert len(parsed.diagnostics) == 51
    assert render(parsed.diagnostics[-1], parsed.sources) == "error: 3 more errors are not shown"
    parsed = parse("a(x) :- x == 1.\n" * 51)
    assert parsed.diagnostics[-1].message == "1 more error is not shown"
    assert len(parse("a(x) :- x == 1.\n" * 50).diagnostics) == 50


def test_a_hopeless_text_is_given_up() -> None:
    parsed = parse("a(x) :- x == 1.\n" * 20_000)
    assert parsed.diagnostics[-1].message == "at least 9951 more errors are not shown"


def test_what_is_right_is_kept() -> None:
    parsed = parse("a(1). b(x) :- . c(x) :- d(x). .decl e(x) .decl f(x: number)")
    assert len(parsed.diagnostics) == 2
    assert [fact.relation for fact in parsed.program.facts] == ["a"]
    assert [clause.heads[0].relation for clause in parsed.program.clauses] == ["c"]
    assert [relation.name for relation in parsed.program.relations] == ["f"]


def test_names_of_what_could_not_be_read(tmp_path: Path) -> None:
    assert parse("a(x) :- b(x), x == 1. c(1).").program.lost == {"a", "b", "x"}
    assert parse("a(x) :- b(x). c(1).").program.lost == frozenset()
    assert parse(".comp C { c(x) :- d(x), x == 1. } a(1).").program.lost >= {"c", "d"}
    (tmp_path / "a.dl").write_text('.include "missing.dl"\na(x) :- b(x).')
    assert "*" in parse_file(tmp_path / "a.dl").program.lost


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "expected a statement, got the end of the file"),
        ("path(1, x), edge(1, x)", "a query is one atom"),
        ("path(1, x) :- edge(1, x)", "a query is one atom"),
        ("path(1, x). edge(1, 2).", "a query is one atom"),
        ("x < 1", "a query is one atom"),
        ("path(1, [x)", "a record is not closed before `)`"),
        ("p\N{CYRILLIC SMALL LETTER A}th(1)", "CYRILLIC SMALL LETTER A (U+0430) in a name"),
    ],
)
def test_a_query_that_is_none(query: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_atom(query)
    assert [d.message for d in caught.value.diagnostics] == [message]
