"""Reading files of facts: every error class with its exact message, and both readers agree."""

from __future__ import annotations

import gzip
import io
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.formats.reading import read_facts
from tests.growth import SLACK, linear, within
from tidelog.formats import arrow_csv, fact_files
from tidelog.formats.byte_source import Bounds
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.syntax import KINDS, Kind
from tidelog.program.table import Table


def relation(*kinds: Kind, name: str = "edge") -> Relation:
    return Relation(name, tuple("xyzuvw"[: len(kinds)]), kinds)


EDGE = relation("number", "number")


def rows(data: bytes, of: Relation = EDGE, **options: object) -> list[tuple[object, ...]]:
    return read_facts(io.BytesIO(data), of, **options).rows()  # type: ignore[arg-type]


def message(path: str | Path | io.BytesIO, of: Relation = EDGE, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_facts(path, of, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What is read


def test_all_kinds() -> None:
    of = relation("number", "unsigned", "float", "symbol")
    assert rows(b"-1\t18446744073709551615\t2.5\ta b\n+16\t0b11\t1e3\t\n", of) == [
        (-1, 2**64 - 1, 2.5, "a b"),
        (16, 3, 1000.0, ""),
    ]


def test_symbols_are_as_they_stand() -> None:
    assert rows(b'"a"\n a \n\\n\nNULL\n\xc3\xa9\n', relation("symbol")) == [
        ('"a"',), (" a ",), ("\\n",), ("NULL",), ("é",),
    ]  # fmt: skip


def test_empty_file_and_empty_symbol() -> None:
    assert rows(b"") == []
    assert rows(b"", relation("symbol")) == []
    assert rows(b"\n", relation("symbol")) == [("",)]
    assert rows(b"\t\n", relation("symbol", "symbol")) == [("", "")]


def test_last_line_may_lack_its_end() -> None:
    assert rows(b"1\t2\n3\t4") == [(1, 2), (3, 4)]


def test_windows_line_ends_and_byte_order_mark() -> None:
    assert rows(b"\xef\xbb\xbf1\t2\r\n3\t4\r\n") == [(1, 2), (3, 4)]
    assert rows(b"\xef\xbb\xbfx\ty\r\n3\t4\r\n", headers=True) == [(3, 4)]


def test_a_carriage_return_inside_a_symbol_stays() -> None:
    assert rows(b"a\rb\r\r\n", relation("symbol")) == [("a\rb\r",)]


def test_nullary() -> None:
    flag = relation(name="flag")
    assert rows(b"", flag) == []
    assert rows(b"()\n", flag) == [()]
    assert rows(b"()\n()\n", flag) == [()]
    assert rows(b"\n", flag) == [()]


def test_headers_and_delimiters() -> None:
    assert rows(b"x,y\n1, 2\n", delimiter=",", headers=True) == [(1, 2)]
    assert rows(b"1::2\n", delimiter="::") == [(1, 2)]
    assert rows(b"1 2\n", delimiter=" ") == [(1, 2)]
    assert rows("1→2\n".encode(), delimiter="→") == [(1, 2)]
    assert rows(b"x\ty", headers=True) == []


def test_infinities_stay_and_minus_zero_is_zero() -> None:
    cells = rows(b"inf\n-inf\n+Infinity\n-0.0\n0x1p4\n", relation("float"))
    assert cells == [(math.inf,), (-math.inf,), (math.inf,), (0.0,), (16.0,)]
    assert math.copysign(1.0, cells[3][0]) == 1.0  # type: ignore[arg-type]


def test_gzip_by_content(folder: Path) -> None:
    packed = gzip.compress(b"1\t2\n")
    (folder / "edge.facts.gz").write_bytes(packed + gzip.compress(b"3\t4\n") + b"\0" * 512)
    (folder / "edge.facts").write_bytes(packed)
    assert read_facts("edge.facts.gz", EDGE).rows() == [(1, 2), (3, 4)]
    assert read_facts(folder / "edge.facts", EDGE).rows() == [(1, 2)]
    assert rows(packed) == [(1, 2)]


def test_importing_the_reader_does_not_import_arrow() -> None:
    code = "import sys, tidelog.formats.fact_files; print({'pyarrow', 'pandas'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


# What is refused: cells


@pytest.mark.parametrize(
    ("kind", "cell", "text", "advice"),
    [
        ("number", "abc", '"abc" is not a whole number, but column y of edge is number',
         "write a whole number such as 42"),
        ("number", "{column}", '"{column}" is not a whole number', ""),
        ("number", "1.5", '"1.5" is not a whole number, but column y of edge is number',
         "write a whole number, or declare the column float"),
        ("number", "1_0", '"1_0" is not a whole number, but column y of edge is number', ""),
        ("number", "٣", '"٣" is not a whole number, but column y of edge is number', ""),
        ("number", "", "an empty field, but column y of edge is number",
         "write a value; only symbols may be empty"),
        ("number", "9223372036854775808",
         '"9223372036854775808" in column y of edge does not fit in 64 bits',
         "a number lies between -9223372036854775808 and 9223372036854775807"),
        ("number", "0x1f", '"0x1f" is not decimal, but column y of edge is number',
         "write it in decimal, or declare the column unsigned"),
        ("number", "0b11", '"0b11" is not decimal, but column y of edge is number', ""),
        ("unsigned", "0x10000000000000000",
         '"0x10000000000000000" in column y of edge does not fit in 64 bits', ""),
        ("unsigned", "-0x1", '"-0x1" is not a whole number, but column y of edge is unsigned',
         "write a whole number such as 42 or 0x2a"),
        ("unsigned", "0XFF", '"0XFF" is not a whole number, but column y of edge is unsigned', ""),
        ("number", "9" * 5000, f'"{"9" * 40}…" in column y of edge does not fit in 64 bits', ""),
        ("unsigned", "18446744073709551616",
         '"18446744073709551616" in column y of edge does not fit in 64 bits',
         "an unsigned number lies between 0 and 18446744073709551615"),
        ("unsigned", "-1", '"-1" is negative, but column y of edge is unsigned',
         "an unsigned number lies between 0 and 18446744073709551615"),
        ("unsigned", "x", '"x" is not a whole number, but column y of edge is unsigned', ""),
        ("unsigned", " ", "an empty field, but column y of edge is unsigned", ""),
        ("float", "", "an empty field, but column y of edge is float", ""),
        ("float", "1,5", '"1,5" is not a number, but column y of edge is float',
         "write a number such as 2.5, 1e-3, inf or nan"),
        ("float", "1_0.0", '"1_0.0" is not a number, but column y of edge is float', ""),
        ("float", "1e999", '"1e999" in column y of edge is too large for a float',
         "write inf if you mean it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("large", [False, True])
def test_a_cell_of_the_wrong_type(
    kind: Kind,
    cell: str,
    text: str,
    advice: str,
    large: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both readers come to the same error."""
    if large:
        monkeypatch.setattr(arrow_csv, "LEAST_BYTES", 0)
    (folder / "edge.facts").write_text(f"1\t1\n22\t{cell}\n1\t1\n")
    found = message("edge.facts", relation("number", kind))
    assert found.startswith(f"edge.facts:2:4: error: {text}")
    assert found.endswith(advice)


def test_the_message_shows_the_line() -> None:
    assert message(io.BytesIO(b"1\t2\n3\tabc\n")) == (
        '<stdin>:2:3: error: "abc" is not a whole number, but column y of edge is number\n'
        "  2 | 3 abc\n"
        "    |   ^^^ write a whole number such as 42"
    )


def test_the_first_error_in_the_file_is_reported() -> None:
    of = relation("number", "number", "number")
    assert message(io.BytesIO(b"1\t2\t3\n1\t2\tx\ny\t2\t3\n1\n"), of).startswith("<stdin>:2:5:")
    assert message(io.BytesIO(b"1\t2\t3\n1\t2\ny\t2\t3\n"), of).startswith("<stdin>:2:4:")
    assert message(io.BytesIO(b"a\tb\tc\nx\ty\tz\n"), of, headers=True).startswith("<stdin>:2:1:")


# What is refused: rows


def test_a_ragged_row() -> None:
    assert message(io.BytesIO(b"1\t2\n3\n")) == (
        "<stdin>:2:2: error: 1 field, but edge has 2 columns\n"
        "  2 | 3\n"
        "    |  ^ fields are separated by a tab"
    )
    assert message(io.BytesIO(b"1\t2\t3\n")) == (
        "<stdin>:1:5: error: 3 fields, but edge has 2 columns\n"
        "  1 | 1 2 3\n"
        "    |     ^ fields are separated by a tab"
    )
    assert message(io.BytesIO(b"1,2\n")) == (
        "<stdin>:1:4: error: 1 field, but edge has 2 columns\n"
        "  1 | 1,2\n"
        '    |    ^ fields are separated by a tab; for this file, write delimiter="," '
        "in the .input directive"
    )
    assert message(io.BytesIO(b"1\t2\n\n3\t4\n")) == (
        "<stdin>:2:1: error: an empty line, but edge has 2 columns\n  2 |\n".replace("|\n", "| \n")
        + "    | ^ remove the line"
    )
    assert message(io.BytesIO(b"(1)\n"), relation(name="flag")) == (
        '<stdin>:1:1: error: "(1)", but flag has no columns\n'
        "  1 | (1)\n"
        "    | ^^^ write () for its one fact"
    )


@pytest.mark.parametrize("row", [b"1\n", b"1\t2\t3\n", b"\n", b"1\t\n"])
def test_a_ragged_row_in_a_large_file(row: bytes) -> None:
    data = b"1\t2\n" * 70_000 + row + b"1\t2\n"
    assert len(data) > arrow_csv.LEAST_BYTES
    assert message(io.BytesIO(data)).startswith("<stdin>:70001:")


# What is refused: bytes


def test_bytes_that_are_no_text() -> None:
    assert message(io.BytesIO(b"1\ta\n2\tb\xff\n"), relation("number", "symbol")) == (
        "<stdin>:2:4: error: byte 0xff is not valid UTF-8\n"
        "  2 | 2 b\N{REPLACEMENT CHARACTER}\n"
        "    |    ^ save the file as UTF-8"
    )
    assert message(io.BytesIO(b"\xc3\xa9\xed\xa0\x80"), relation("symbol")).startswith(
        "<stdin>:1:2: error: byte 0xed is not valid UTF-8\n"
    )
    assert message(io.BytesIO(b"a\nb\0c\n"), relation("symbol")) == (
        "<stdin>:2:2: error: a NUL character\n"
        "  2 | b\N{REPLACEMENT CHARACTER}c\n"
        "    |  ^ facts are text; is this the right file?"
    )
    large = b"word\n" * 100_000
    assert message(io.BytesIO(large + b"\0\n"), relation("symbol")).startswith("<stdin>:100001:1:")
    assert message(io.BytesIO(large + b"a\xff"), relation("symbol")).startswith("<stdin>:100001:2:")


def test_a_delimiter_that_cannot_be_one() -> None:
    for delimiter in ("", "\n", "a\r", "\0"):
        text = message(io.BytesIO(b""), delimiter=delimiter)
        assert "cannot be a delimiter\n" in text


def test_a_very_long_line_takes_linear_time() -> None:
    size = 30_000_000
    found = linear(lambda n: message(io.BytesIO(b"1\t" + b"9" * n + b"\n")), size)
    assert found.startswith(f'<stdin>:1:3: error: "{"9" * 40}…" in column y of edge does not fit')
    assert len(found) < 1000
    assert linear(lambda n: rows(b"9" * n, relation("symbol")), size) == [("9" * size,)]
    found = linear(lambda n: message(io.BytesIO(b"\t" * (n - 1))), size)
    assert "30000000 fields, but edge has 2 columns" in found


# What is refused: files


def test_files_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert message("none.facts") == (
        "error: file none.facts does not exist\n    check the name and the folder"
    )
    (folder / "sub").mkdir()
    assert message("sub") == "error: sub is a folder, not a file\n    name a file inside it"
    os.mkfifo("pipe.facts")
    assert message("pipe.facts") == (
        "error: pipe.facts is a pipe, not a regular file\n    use IO=stdin to read from a pipe"
    )
    assert message("/dev/zero") == (
        "error: /dev/zero is a device, not a regular file\n    use IO=stdin to read from a pipe"
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.facts")
        assert message("socket.facts").startswith("error: socket.facts is a socket, not a regular")
    assert message("a\0b") == "error: 'a\\x00b' cannot be the name of a file"
    os.symlink("loop.facts", "loop.facts")
    assert message("loop.facts").startswith("error: file loop.facts cannot be read: too many")
    (folder / "secret.facts").write_text("1\t2\n")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert message("secret.facts") == (
        "error: file secret.facts may not be read\n    check its permissions"
    )


def test_a_file_that_changes_while_it_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "edge.facts"
    path.write_text("1\t2\n")
    status, calls = os.fstat, []

    def growing(descriptor: int) -> os.stat_result:
        if calls:
            with path.open("a") as file:
                file.write("3\t4\n")
        calls.append(descriptor)
        return status(descriptor)

    monkeypatch.setattr(os, "fstat", growing)
    assert message("edge.facts") == (
        "error: file edge.facts changed while it was read\n    run again when it is complete"
    )


def test_gzip_that_is_damaged(folder: Path) -> None:
    packed = gzip.compress(b"".join(b"%d\t%d\n" % (i, i * i) for i in range(10_000)))
    path = folder / "edge.facts.gz"
    for length in (0, 1):
        path.write_bytes(packed[:length])
        assert message("edge.facts.gz") == (
            "error: file edge.facts.gz is not compressed with gzip\n"
            "    compress it, or drop .gz from its name"
        )
    for length in (2, 9, 10, 100, len(packed) - 1):
        path.write_bytes(packed[:length])
        assert message("edge.facts.gz") == (
            "error: file edge.facts.gz ends in the middle of its gzip data\n"
            "    copy it again in full"
        )
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    for wrong in (bytes(damaged), packed + b"rubbish"):
        path.write_bytes(wrong)
        assert message("edge.facts.gz") == (
            "error: file edge.facts.gz holds damaged gzip data\n    copy it again in full"
        )


def test_a_compression_bomb(folder: Path) -> None:
    bomb = gzip.compress(b"1\t2\n" * 2**25)
    (folder / "edge.facts.gz").write_bytes(bomb)
    found = within(SLACK, lambda: message("edge.facts.gz"), lambda: gzip.decompress(bomb))
    assert found == (
        "error: file edge.facts.gz decompresses to more than 200 times its size\n"
        "    if it is not a compression bomb, decompress it first or raise max_ratio"
    )
    assert message("edge.facts.gz", bounds=Bounds(1_000_000, 10_000)) == (
        "error: edge.facts.gz holds more than 1,000,000 bytes of facts\n"
        "    split it, or raise max_bytes"
    )


def test_plain_files_and_streams_have_a_limit_too(folder: Path) -> None:
    (folder / "edge.facts").write_text("1\t2\n" * 100)
    limit = "error: edge.facts holds more than 99 bytes of facts\n    split it, or raise max_bytes"
    assert message("edge.facts", bounds=Bounds(99)) == limit
    assert "holds more than 1 byte of facts" in message("edge.facts", bounds=Bounds(1))
    assert message(io.BytesIO(b"1\t2\n" * 100), bounds=Bounds(99)).startswith(
        "error: <stdin> holds"
    )
    with open("/dev/zero", "rb") as endless:
        assert "holds more than 5,000,000 bytes" in message(endless, bounds=Bounds(5_000_000))  # type: ignore[arg-type]


# The law: the bulk reader is the exact reader, or gives up

CELLS: dict[Kind, st.SearchStrategy[str]] = {
    "number": st.integers(-(2**63), 2**63 - 1).map(str),
    "unsigned": st.integers(0, 2**64 - 1).map(str),
    "float": st.floats(allow_nan=False).map(repr),
    "symbol": st.text(max_size=5),
}
ODD = st.sampled_from(
    ["", " 1", "1 ", "+1", "-0", "0x1f", "0XFF", "-0x1", "0b11", "0xffffffffffffffff", "007", "1.",
     ".5", "1e999", "nan", "-inf", "NULL", '"', '""', "\ufeff", "\ufeffa", "\\", "\r", "a\rb",
     "\u2028", "\x1c", "\t", "\n", "\r\n", "\0", "()", "1_0", "9223372036854775808"]
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> tuple[Relation, bytes, str, bool]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    lines = draw(st.lists(st.tuples(*(st.one_of(CELLS[kind], CELLS[kind], ODD) for kind in kinds))))
    delimiter = draw(st.sampled_from(["\t", "\t", ",", " ", '"', "::", "é"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    data = end.join(map(delimiter.join, lines)) + draw(st.sampled_from(["", end]))
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    junk = draw(st.sampled_from([b"", b"", b"", b"\xff"]))
    encoded = mark + data.encode("utf-8", "surrogatepass") + junk
    return relation(*kinds), encoded, delimiter, draw(st.booleans())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_both_readers_agree(case: tuple[Relation, bytes, str, bool]) -> None:
    of, data, delimiter, headers = case
    fast = arrow_csv.read_bulk(data, of, delimiter, headers)
    if fast is None:
        return
    slow = fact_files.FieldReader("edge.facts", data, of, delimiter).read(headers)
    assert fast.size == slow.size
    assert repr(fast.rows()) == repr(slow.rows())


@pytest.mark.parametrize("kind", KINDS)
def test_the_bulk_reader_does_read(kind: Kind) -> None:
    """Or the law above would say nothing."""
    of = relation(kind, "symbol", "unsigned", "number")
    data = b"1\ta\t7\t-1\r\n2\t0x1\t0x10\t+2\r\n"
    table = arrow_csv.read_bulk(data, of, "\t", False)
    assert isinstance(table, Table)
    exact = fact_files.FieldReader("edge.facts", data, of, "\t").read(False)
    assert repr(table.rows()) == repr(exact.rows())


@pytest.mark.slow
def test_a_million_rows_are_read_in_about_a_second() -> None:
    numbers = b"".join(b"%d\t%d\n" % (i, i * 7 % 1_000_003) for i in range(1_000_000))
    words = b"".join(b"node%d\tother%d\n" % (i % 5000, i) for i in range(1_000_000))
    for data, of in ((numbers, EDGE), (words, relation("symbol", "symbol"))):
        found = within(
            SLACK,
            lambda data=data, of=of: read_facts(io.BytesIO(data), of),  # type: ignore[misc]
            lambda data=data: [line.decode().split("\t") for line in data.splitlines()],
        )
        assert found.size == 1_000_000
