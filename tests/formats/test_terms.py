"""Records and branches in text: whatever is written reads back, and what is none is pointed at."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.reading import read_facts
from tidelog.formats.byte_source import Bounds
from tidelog.formats.fact_files import fact_lines
from tidelog.formats.fact_formats import Text
from tidelog.formats.json_changes import jsonl_text, read_jsonl
from tidelog.formats.json_facts import json_pieces, read_json
from tidelog.formats.parameters import Shape
from tidelog.formats.quoted_fields import quoted_lines
from tidelog.formats.term_cells import parse_term, term_text
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.program.terms import MOST_DEEP, RECORD, Branch, Field, TermKind
from tidelog.text.change_notation import Changes, change_text

LIST = TermKind.named("List", True, 16)
SHAPE = TermKind.named("Shape", False, 32)
LIST.constructors[RECORD] = (Field("head", SHAPE), Field("tail", LIST))
SHAPE.constructors.update(
    Dot=(),
    Named=(Field("name", "symbol"), Field("size", "float")),
    Box=(Field("w", "number"), Field("h", "unsigned"), Field("inside", LIST)),
)
RELATION = Relation("r", ("x", "l", "s"), ("symbol", LIST, SHAPE))
SHAPES: tuple[Shape, ...] = ("list", "object")

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
shapes: Any = st.deferred(
    lambda: st.one_of(
        st.just(Branch("Dot")),
        st.builds(
            lambda name, size: Branch("Named", (name, size + 0.0)),
            texts,
            st.floats(allow_nan=False),
        ),
        st.builds(
            lambda w, h, inside: Branch("Box", (w, h, inside)),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 2**64 - 1),
            lists,
        ),
    )
)
lists: Any = st.deferred(lambda: st.none() | st.tuples(shapes, lists))


@settings(max_examples=60, deadline=None)
@given(lists, shapes)
def test_whatever_is_written_reads_back(some: Any, shape: Any) -> None:
    row = ("a", some, shape)
    assert parse_term(LIST, term_text(LIST, some)) == some
    for delimiter in ("\t", ","):
        table = Table.from_rows(RELATION.kinds, [row])
        pieces, _ = fact_lines(RELATION, table, delimiter=delimiter)
        read = read_facts(io.BytesIO(b"".join(pieces)), RELATION, delimiter=delimiter)
        assert read.rows() == [row]
    table = Table.from_rows(RELATION.kinds, [row])
    quoted = b"".join(quoted_lines(RELATION, table, ","))
    if "\r" not in str(row):  # which stands in no line
        (table,) = Text(",", quoted=True).read(io.BytesIO(quoted), RELATION, Bounds())
        assert table.rows() == [row]
    for shape in SHAPES:
        written = b"".join(json_pieces(RELATION, table, RELATION.attributes, shape))
        read = read_json(io.BytesIO(written), RELATION, RELATION.attributes, shape, Bounds())
        assert read.rows() == [row]
    change = FactChange("+", "r", row)
    changes = Changes("<changes>", lambda: {"r": RELATION})
    changes.feed(change_text(change))
    changes.end()
    assert changes.next() == change
    (found,) = read_jsonl([jsonl_text(change)], "<changes>", lambda: {"r": RELATION})
    assert found is not None
    assert found[0] == change


@pytest.mark.parametrize(
    ("cell", "column", "message"),
    [
        ("[$Dot", 10, "List in column l of r has 2 fields, but 1 is given here"),
        ("[$Dot, nil", 15, "expected `]` after the 2 fields of List in column l of r"),
        ("[$Dot, nil, nil]", 15, "expected `]` after the 2 fields of List in column l of r"),
        ("[$Sphere(1), nil]", 6, "Shape in column l of r has no branch Sphere"),
        ("[$Box(1.5, 2, nil), nil]", 11, '"1.5" is not a whole number, but this field of column l'),
        ('[$Named("a, 1), nil]', 13, "a quote is not closed in column l of r"),
        ("nil nil", 9, "unexpected text after the List in column l of r"),
        ("$Dot", 5, '"$Dot" in column l of r is not a List'),
        ("", 5, '"" in column l of r is not a List'),
        ("[$Dot, " * (MOST_DEEP + 1), 2103, f"is nested more than {MOST_DEEP} levels deep"),
    ],
)
def test_what_is_none_is_pointed_at(cell: str, column: int, message: str) -> None:
    data = f"a\tnil\t$Dot\nb: \t{cell}\t$Dot\n".encode()
    with pytest.raises(DataError) as caught:
        read_facts(io.BytesIO(data), RELATION)
    first = str(caught.value).splitlines()[0]
    assert f":2:{column}: error: " in first
    assert message in first


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", [1], {"Dot": []}], "column l is List: List has 2 fields, but 1 is given"),
        (
            ["a", None, None],
            "column s is Shape: expected a Shape, that is $Dot or $Named(name, size) or",
        ),
        (["a", None, {"Dot": [1]}], "column s is Shape: branch Dot has 0 fields, but 1 is given"),
        (["a", None, {"Named": ["x", "y"]}], 'column s (Shape) is float, got "y"'),
    ],
)
def test_json_that_is_none(args: list[Any], message: str) -> None:
    line = json.dumps({"op": "+", "relation": "r", "args": args})
    with pytest.raises(DataError) as caught:
        list(read_jsonl([line], "a.jsonl", lambda: {"r": RELATION}))
    assert str(caught.value).startswith(f"a.jsonl:1:1: error: {message}")
