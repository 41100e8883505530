"""The change notation: each change once it is complete, whatever pieces the text comes in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import linear, within
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import ProgramError, render
from tidelog.program.rules import Relation
from tidelog.text import change_notation as module
from tidelog.text import parse
from tidelog.text.change_notation import Changes, Excerpt, change_text, read_rule

RELATIONS = {
    relation.name: relation
    for relation in (
        Relation("edge", ("x", "y"), ("number", "number")),
        Relation("weight", ("w", "of"), ("float", "symbol")),
        Relation("size", ("n",), ("unsigned",)),
        Relation("on", (), ()),
        Relation("rule", ("name",), ("symbol",)),
        Relation("%hidden", ("x",), ("number",)),
    )
}


def read(*pieces: str) -> list[Change]:
    """The changes of a text that arrives in these pieces."""
    changes, found = Changes("a.changes", lambda: RELATIONS), []
    for piece in (*pieces, None):
        changes.feed(piece) if piece is not None else changes.end()
        while (change := changes.next()) is not None:
            found.append(change)
    return found


def fault(*pieces: str) -> str:
    with pytest.raises(ProgramError) as caught:
        read(*pieces)
    return str(caught.value)


def test_every_form() -> None:
    text = """
    // arrives
    +edge(1, 2). - edge( -3 , 0x10 ).
    +weight(1, "a.b\\n\\"c\\""). /* a comment,
    over two lines */ -weight(
        -0.0, ""
    ).
    +size(18446744073709551615). +size(3u). +on(). -on().
    +weight(to_float("-inf"), "é").
    +path(x, z) :- edge(x, y),
                   path(y, z).
    -rule("a"). -rule "path.3fa2c1".
    commit .
    """
    path = parse("path(x, z) :- edge(x, y), path(y, z).").program.clauses[0]
    assert read(text) == [
        FactChange("+", "edge", (1, 2)),
        FactChange("-", "edge", (-3, 16)),
        FactChange("+", "weight", (1.0, 'a.b\n"c"')),
        FactChange("-", "weight", (0.0, "")),
        FactChange("+", "size", (2**64 - 1,)),
        FactChange("+", "size", (3,)),
        FactChange("+", "on", ()),
        FactChange("-", "on", ()),
        FactChange("+", "weight", (float("-inf"), "é")),
        RuleChange("+", path),
        FactChange("-", "rule", ("a",)),
        RuleChange("-", "path.3fa2c1"),
        Commit(),
    ]


def test_values_are_of_their_columns_kind() -> None:
    (change,) = read('+weight(2, "a").')
    assert isinstance(change, FactChange)
    assert str(change.row) == "(2.0, 'a')"
    (change,) = read('+weight(-0.0, "a").')
    assert isinstance(change, FactChange)
    assert str(change.row) == "(0.0, 'a')"


@pytest.mark.parametrize("text", ["", "\n", "  // nothing\n", "/* nothing */", "\r\n"])
def test_nothing_is_no_change(text: str) -> None:
    assert read(text) == []


def test_a_change_comes_out_once_it_is_complete() -> None:
    changes = Changes("<stdin>", lambda: RELATIONS)
    changes.feed("+edge(1,\n")
    assert changes.next() is None
    assert changes.open
    changes.feed("2). commit.\n")
    assert changes.next() == FactChange("+", "edge", (1, 2))
    assert changes.next() == Commit()
    assert changes.next() is None
    assert not changes.open
    changes.feed("// a remark\n")
    assert changes.next() is None
    assert not changes.open


def test_relations_are_those_of_the_moment() -> None:
    relations: dict[str, Relation] = {}
    changes = Changes("<stdin>", lambda: relations)
    changes.feed("+p(x) :- q(x). +p(1).\n")
    assert isinstance(changes.next(), RuleChange)
    relations["p"] = Relation("p", ("x",), ("number",))
    assert changes.next() == FactChange("+", "p", (1,))


def test_after_a_fault_the_rest_can_be_dropped() -> None:
    changes = Changes("<stdin>", lambda: RELATIONS)
    changes.feed("+edge(1, 2).\n+egde(1, 2). +edge(3, 4).\n")
    changes.next()
    with pytest.raises(ProgramError):
        changes.next()
    changes.drop()
    changes.feed("+edge(5, x).\n")
    with pytest.raises(ProgramError, match="<stdin>:3:10: error: expected a constant"):
        changes.next()


def test_places_count_from_the_beginning_of_the_text() -> None:
    lines = [f"+edge({i}, {i}).\n" for i in range(50)]
    found = read(*lines, '\n  -weight(1.5,\n"a").\n')
    assert isinstance(found[49], FactChange)
    assert found[49].at == ("a.changes", 50, 2, 4)
    assert isinstance(found[50], FactChange)
    assert found[50].at == ("a.changes", 52, 4, 6)


def _cases() -> list[tuple[str, str, str]]:
    cases = (Path(__file__).parent / "change_errors.txt").read_text(encoding="utf-8")
    found = []
    for case in cases.removeprefix("=== ").split("\n=== "):
        title, rest = case.split("\n", 1)
        text, expected = rest.split("\n---\n", 1)
        found.append((title, text, expected.rstrip("\n")))
    return found


CASES = _cases()


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_message(text: str, expected: str) -> None:
    assert fault(text) == expected


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_message_where_the_text_comes_line_by_line(text: str, expected: str) -> None:
    assert fault("+edge(1, 2).\n", *text.splitlines(keepends=True)) == _moved(expected)


def _moved(message: str) -> str:
    """The message for a text that stands one line lower."""
    place, line, rest = message.split(":", 2)
    message = f"{place}:{int(line) + 1}:{rest}"
    return message.replace(f"\n  {line} | ", f"\n  {int(line) + 1} | ", 1)


def test_what_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STATEMENT", 100)
    assert fault(*["+edge(\n"], *["1,\n"] * 100) == (
        "a.changes:1:1: error: a change of more than 100 characters\n"
        "  1 | +edge(\n"
        "    | ^ is a `.` missing?"
    )


CHANGES = st.lists(
    st.sampled_from(
        [
            "+edge(1, 2).",
            "-edge(-7, 3). // the last\n",
            '+weight(1.5, "a // b /* c").',
            '-weight(2,\n\n  "d.").',
            "/* between\n the lines */",
            "+p(x) :-\n  edge(x, y),\n  x + 1 < y.",
            '-rule "p.00ff".',
            "commit.",
            "+on ( ) .",
        ]
    )
)


@given(CHANGES, st.data())
def test_pieces_do_not_matter(statements: list[str], data: st.DataObject) -> None:
    lines = "\n".join(statements).splitlines(keepends=True)
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=6).map(sorted))
    pieces = [
        "".join(lines[start:end]) for start, end in zip([0, *cuts], [*cuts, None], strict=True)
    ]
    whole = read("".join(lines))
    parts = read(*pieces)
    assert parts == whole
    assert [change.at for change in parts] == [change.at for change in whole]


NUMBERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FACTS = st.one_of(
    st.tuples(st.just("edge"), st.tuples(NUMBERS, NUMBERS)),
    st.tuples(st.just("weight"), st.tuples(st.floats(allow_nan=False), TEXTS)),
    st.tuples(st.just("size"), st.tuples(st.integers(0, 2**64 - 1))),
    st.just(("on", ())),
)


@given(st.lists(st.tuples(st.sampled_from("+-"), FACTS)))
def test_what_is_written_reads_back(signed: list[tuple[str, tuple[str, tuple[object]]]]) -> None:
    written = [FactChange(op, name, row) for op, (name, row) in signed]  # type: ignore[arg-type]
    text = "\n".join(map(change_text, written))
    assert read(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "+path(x, z) :- edge(x, y), path(y, z).",
        "-p(x), q(x) :- r(x), !s(x, _), x < count : { t(_) }.",
        '-rule "path.3fa2c1".',
        "commit.",
    ],
)
def test_rules_and_commits_read_back(text: str) -> None:
    (change,) = read(text)
    assert change_text(change) == text


def test_one_rule_alone() -> None:
    assert read_rule(" p(x) :- q(x). // so\n", "a") == parse("p(x) :- q(x).").program.clauses[0]
    for text, message in [
        ("", "a:1:1: error: expected a rule"),
        ("p(1).", "a:1:1: error: expected a rule"),
        ("p(x).", "a:1:1: error: expected a rule, got a fact"),
        (".decl p(x: number)", "a:1:1: error: expected a rule"),
        ("p(x) :- q(x)", "a:1:12: error: a `.` is missing at the end of this clause"),
        ("p(x) :- q(x). p(x) :- r(x).", "a:1:15: error: a second statement"),
        ("p(x) :- q(x). p(1).", "a:1:15: error: a second statement"),
        ("p(1). p(x) :- q(x).", "a:1:1: error: expected a rule"),
        ('p(x) :- q("x).', "a:1:11: error: a string is not closed"),
    ]:
        with pytest.raises(ProgramError) as caught:
            read_rule(text, "a")
        assert str(caught.value).splitlines()[0] == message


def test_an_excerpt_has_the_lines_of_the_whole() -> None:
    lines = Excerpt(3, ["c", "d"])
    assert (len(lines), lines[2], lines[3], lines[1:4]) == (4, "c", "d", ["", "c", "d"])
    with pytest.raises(IndexError):
        lines[4]


def test_sources_show_the_line_of_a_change() -> None:
    changes = Changes("a.changes", lambda: RELATIONS)
    changes.feed("commit.\n" * 10)
    while changes.next():
        pass
    changes.feed("+p(x) :- q(x).\n")
    change = changes.next()
    assert isinstance(change, RuleChange)
    from tidelog.program.diagnostics import Diagnostic

    shown = render(Diagnostic("so", change.at, "do this"), changes.sources)
    assert shown == "a.changes:11:2: error: so\n  11 | +p(x) :- q(x).\n     |  ^ do this"


def timed(make: Callable[[int], str], size: int) -> list[Change]:
    return linear(lambda size: read(make(size)), size)


def test_a_hundred_thousand_facts() -> None:
    found = timed(lambda n: "".join(f"+edge({i}, {i + 1}).\n" for i in range(n)), 100_000)
    assert len(found) == 100_000


def test_ten_thousand_facts_of_many_lines() -> None:
    found = timed(lambda n: "".join(f'+weight(\n{i}, "\\t{i}"\n).\n' for i in range(n)), 10_000)
    assert len(found) == 10_000


def test_a_long_change_in_many_pieces() -> None:
    """Each piece takes no longer than to read all of them again."""
    text = "+p(x) :- " + ",\n".join(f"edge(x, {i})" for i in range(3_000)) + "."
    pieces = [text[i : i + 2_000] for i in range(0, len(text), 2_000)]
    assert len(within(len(pieces), lambda: read(*pieces), lambda: read(text))) == 1
