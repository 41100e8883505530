"""Writing files of facts: they read back equal, and appear whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.formats.reading import read_facts
from tests.growth import SLACK, within
from tidelog.formats import fact_files
from tidelog.formats.atomic_files import Staged
from tidelog.formats.fact_files import fact_lines
from tidelog.formats.field_values import float_text
from tidelog.program.diagnostics import DataError, Diagnostic, render
from tidelog.program.rules import Relation
from tidelog.program.syntax import KINDS, Kind, Value
from tidelog.program.table import SymbolColumn, Table, sorted_table

VALUES: dict[Kind, st.SearchStrategy[Value]] = {
    "number": st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    "unsigned": st.integers(0, 2**64 - 1) | st.integers(0, 5),
    "float": st.floats(allow_nan=False).map(lambda x: x + 0.0),
    "symbol": st.text(max_size=4) | st.sampled_from(["", "()", "\ufeff", "\r", ":", "a\r", '"']),
}


def write_facts(
    path: str, of: Relation, table: Table, compress: bool | None = None
) -> tuple[Diagnostic, ...]:
    """Write a file of facts, whole or not at all."""
    pieces, warnings = fact_lines(of, table)
    with Staged() as staged:
        gz = path.endswith(".gz") if compress is None else compress
        staged.write(path, pieces, compress=gz)
        staged.commit()
    return warnings


def relation(*kinds: Kind, name: str = "edge") -> Relation:
    return Relation(name, tuple("xyzuvw"[: len(kinds)]), kinds)


def written(of: Relation, rows: list[tuple[Value, ...]], **options: object) -> bytes:
    return with_warnings(of, rows, **options)[0]


def with_warnings(
    of: Relation, rows: list[tuple[Value, ...]], **options: object
) -> tuple[bytes, list[str]]:
    table = Table.from_rows(of.kinds, rows)
    pieces, warnings = fact_lines(of, table, **options)  # type: ignore[arg-type]
    return b"".join(pieces), [render(warning, {}) for warning in warnings]


def refusal(of: Relation, rows: list[tuple[Value, ...]], **options: object) -> str:
    with pytest.raises(DataError) as caught:
        written(of, rows, **options)
    return str(caught.value)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Relation, list[tuple[Value, ...]]]:
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=4))
    rows = draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), unique=True, max_size=20))
    return relation(*kinds), rows


def _as_written(value: Value) -> str:
    return float_text(value) if isinstance(value, float) else str(value)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.sampled_from(["\t", ",", "::", "1", "é"]), st.booleans(), st.booleans())
@example((relation("number", "float"), [(0, 682320.3972366983)]), "1", False, False)  # …9831
def test_what_is_written_reads_back_equal(
    case: tuple[Relation, list[tuple[Value, ...]]], delimiter: str, headers: bool, packed: bool
) -> None:
    of, rows = case
    data, warnings = with_warnings(of, rows, delimiter=delimiter, headers=headers)
    if warnings:
        odd = ["\n", "\r", "\0", "\ufeff", *delimiter]
        assert any(c in _as_written(value) for row in rows for value in row for c in odd)
        return
    source = io.BytesIO(gzip.compress(data) if packed else data)
    back = read_facts(source, of, delimiter=delimiter, headers=headers)
    assert back.rows() == sorted(rows)
    assert [str(v) for row in back.rows() for v in row] == [str(v) for r in sorted(rows) for v in r]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_rows_are_sorted_by_value(case: tuple[Relation, list[tuple[Value, ...]]]) -> None:
    of, rows = case
    assert sorted_table(Table.from_rows(of.kinds, rows * 2)).rows() == sorted(rows * 2)


def test_symbols_sort_by_code_points_even_if_words_repeat() -> None:
    column = SymbolColumn(np.array([3, 0, 1, 2, 4, 3]), ["b", "unused?", "b", "a", "é", "never"])
    other = np.array([1, 2, 3, 1, 5, 0])
    table = sorted_table(Table(("symbol", "number"), (column, other), 6))
    assert table.rows() == [("a", 0), ("a", 1), ("b", 1), ("b", 2), ("unused?", 3), ("é", 5)]
    first = table.columns[0]
    assert isinstance(first, SymbolColumn)
    assert first.words == ["a", "b", "unused?", "é"]


def test_texts() -> None:
    of = relation("number", "unsigned", "float", "symbol")
    rows: list[tuple[Value, ...]] = [
        (10, 2**64 - 1, 0.1, "b"),
        (9, 0, -float("inf"), ""),
        (-1, 1, -0.0, "a b"),
    ]
    assert written(of, rows) == (
        b"-1\t1\t0\ta b\n9\t0\t-inf\t\n10\t18446744073709551615\t0.10000000000000001\tb\n"
    )
    assert written(relation("number", "number"), [(1, 2)], delimiter=",", headers=True) == (
        b"x,y\n1,2\n"
    )
    assert written(relation("number"), []) == b""
    assert written(relation(), [()]) == b"()\n"
    assert written(relation(), []) == b""


# Symbols that the format cannot hold


def test_symbols_that_read_back_as_others_are_written_with_a_warning() -> None:
    two = relation("symbol", "symbol")
    assert with_warnings(two, [("a\tb", "c"), ("x\ty", "\n")]) == (
        b"a\tb\tc\nx\ty\t\n\n",
        [
            'warning: "a\\tb" in column x of edge contains the delimiter "\\t", '
            "so it would read back differently\n"
            "    choose another delimiter for this output"
        ],
    )
    assert with_warnings(two, [("a", "b\nc")]) == (
        b"a\tb\nc\n",
        [
            'warning: "b\\nc" in column y of edge contains a line end, '
            "so it would read back differently\n"
            "    replace it in the program"
        ],
    )
    assert with_warnings(two, [("a", "b\r")])[1] == [
        'warning: "b\\r" in column y of edge contains '
        "a carriage return at the end of a line, so it would read back differently\n"
        "    replace it in the program"
    ]
    assert with_warnings(two, [("a", "\0")])[1] == [
        'warning: "\\u0000" in column y of edge contains a NUL character, '
        "so it would read back differently\n"
        "    replace it in the program"
    ]
    assert with_warnings(two, [("\ufeffa", "b")])[1] == [
        "warning: the first row of edge would lose its byte-order mark\n    write headers"
    ]
    assert with_warnings(two, [("a b", "c,d")])[1] == []
    assert refusal(two, [("\ud800", "b")]) == (
        "error: edge holds '\\ud800', which is not valid Unicode text\n"
        "    it has half of a surrogate pair"
    )
    assert "the delimiter" in with_warnings(two, [("a:", "b")], delimiter="::")[1][0]
    numbers = relation("number", "number")
    assert "the delimiter" in with_warnings(numbers, [(11, 2)], delimiter="1")[1][0]
    assert written(two, [("a\r", "b:")], delimiter="::") == b"a\r::b:\n"


# Files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


EDGE = relation("number", "number")
ONE = Table.from_rows(EDGE.kinds, [(1, 2)])


def test_compressed_by_name_or_on_demand(folder: Path) -> None:
    write_facts("a.csv.gz", EDGE, ONE)
    write_facts("b.csv", EDGE, ONE, compress=True)
    write_facts("c.csv", EDGE, ONE)
    assert gzip.decompress((folder / "a.csv.gz").read_bytes()) == b"1\t2\n"
    assert (folder / "b.csv").read_bytes() == (folder / "a.csv.gz").read_bytes()
    assert (folder / "c.csv").read_bytes() == b"1\t2\n"


def test_a_replaced_file_keeps_its_permissions_and_links(folder: Path) -> None:
    (folder / "edge.csv").write_text("old")
    (folder / "edge.csv").chmod(0o640)
    (folder / "link.csv").symlink_to("edge.csv")
    write_facts("link.csv", EDGE, ONE)
    assert (folder / "link.csv").is_symlink()
    assert (folder / "edge.csv").read_text() == "1\t2\n"
    assert (folder / "edge.csv").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == ["edge.csv", "link.csv"]


def test_files_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failure(path: str) -> str:
        with pytest.raises(DataError) as caught:
            write_facts(path, EDGE, ONE)
        return str(caught.value)

    (folder / "sub").mkdir()
    os.mkfifo("pipe")
    assert failure("sub") == (
        "error: sub is a folder, not a file that can be written\n    choose another name"
    )
    assert failure("pipe") == (
        "error: pipe is a pipe or a device, not a file that can be written\n    choose another name"
    )
    assert failure("none/edge.csv") == "error: folder none does not exist\n    create it first"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert failure("edge.csv") == (
        "error: file edge.csv cannot be written: no space left on device"
    )
    assert sorted(os.listdir()) == ["pipe", "sub"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError, OSError])
def test_a_failure_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    (folder / "edge.csv").write_text("old\n")

    def breaking(*_: object) -> object:
        yield b"1\t2\n"
        raise fault

    monkeypatch.setattr(fact_files, "_pieces", breaking)
    with pytest.raises((fault, DataError)):
        write_facts("edge.csv", EDGE, ONE)
    assert (folder / "edge.csv").read_text() == "old\n"
    assert os.listdir() == ["edge.csv"]


def test_staged_files_appear_together(folder: Path) -> None:
    with Staged() as staged:
        staged.write("a.csv", [b"a\n"], compress=False)
        staged.write("b.csv", [b"b\n"], compress=False)
        assert not (folder / "a.csv").exists()
        staged.commit()
    assert sorted(os.listdir()) == ["a.csv", "b.csv"]
    with Staged() as staged:
        staged.write("a.csv", [b"new\n"], compress=False)
        with pytest.raises(DataError):
            staged.write("none/b.csv", [b"b\n"], compress=False)
    assert (folder / "a.csv").read_text() == "a\n"
    assert sorted(os.listdir()) == ["a.csv", "b.csv"]


WRITER = """
import sys, time
from tidelog.formats import fact_files
from tidelog.formats.atomic_files import Staged
from tidelog.program.rules import Relation
from tidelog.program.table import Table
edge = Relation("edge", ("x", "y"), ("number", "number"))
table = Table.from_rows(edge.kinds, [(i, i) for i in range(200_000)])
pieces = fact_files._pieces
def slow(*arguments):
    for piece in pieces(*arguments):
        yield piece
        print("piece", flush=True)
        time.sleep(3600)
fact_files._pieces = slow
with Staged() as staged:
    staged.write("edge.csv", fact_files.fact_lines(edge, table)[0], compress=False)
    staged.commit()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("old", [None, "1\t2\n"])
def test_a_killed_process_leaves_no_half_file(
    folder: Path, how: signal.Signals, old: str | None
) -> None:
    if old is not None:
        (folder / "edge.csv").write_text(old)
    project = Path(fact_files.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", WRITER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(project)},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"piece\n"
        writer.send_signal(how)
        assert writer.wait(30) != 0
    target = folder / "edge.csv"
    assert (target.read_text() if target.exists() else None) == old
    others = [name for name in os.listdir() if name != "edge.csv"]
    if how == signal.SIGINT:
        assert others == []
    else:
        assert all(name.startswith(".edge.csv.") and name.endswith(".tmp") for name in others)


@pytest.mark.slow
def test_a_million_rows_are_written_in_about_a_second(folder: Path) -> None:
    values = np.random.default_rng(7).integers(0, 10**6, (2, 10**6))
    table = Table(EDGE.kinds, (values[0], values[1]), 10**6)
    within(
        SLACK,
        lambda: write_facts("edge.csv", EDGE, table),
        lambda: "".join(f"{x}\t{y}\n" for x, y in zip(*values.tolist(), strict=True)).encode(),
    )
