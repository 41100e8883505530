"""NaN, infinities and zero: what one format writes, it reads back."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.algorithms import ALGORITHMS
from tidelog import Branch, Database, FactChange
from tidelog.cli import main

(OTHER_NAN,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0123))
(SIGNALLING,) = struct.unpack("<d", struct.pack("<Q", 0x7FF0_0000_0000_0001))
GIVEN = [(1, math.nan), (1, OTHER_NAN), (2, math.inf), (3, -math.inf), (4, -0.0), (4, 0.0)]
FACTS = [(1, math.nan), (2, math.inf), (3, -math.inf), (4, 0.0)]
DECLARED = ".decl v(i: number, x: float)\n"


def rows(db: Database, name: str = "v") -> list[tuple[Any, ...]]:
    return list(db.relation(name))


def shown(found: list[tuple[Any, ...]]) -> str:
    """With the sign of zero, which `==` ignores."""
    return repr(found)


@pytest.mark.parametrize(
    "parameters",
    ["", ', IO=file, delimiter=","', ", rfc4180=true", ", IO=jsonfile", ", IO=sqlite"],
)
def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: str) -> None:
    monkeypatch.chdir(tmp_path)
    name = "v.db" if "sqlite" in parameters else "v.txt"
    where = f'(filename="{name}"{parameters})'
    facts = 'v(1, to_float("nan")). v(2, 1.0 / 0.0). v(3, -1.0 / 0.0). v(4, -0.0).'
    (tmp_path / "w.dl").write_text(f"{DECLARED}{facts}\n.output v{where}\n")
    assert main(["run", "w.dl"]) == 0
    read = Database(f"{DECLARED}.input v{where}\n", facts=tmp_path)
    assert shown(rows(read)) == shown(FACTS)


@pytest.mark.parametrize(
    "frame",
    [
        lambda r: r.to_pandas(),
        lambda r: r.to_polars(),
        lambda r: r.to_arrow(),
        lambda r: list(r),
        lambda r: iter(list(r)),
    ],
)
def test_frames(frame: Any) -> None:
    db = Database(DECLARED, facts={"v": GIVEN})
    assert shown(rows(Database(DECLARED, facts={"v": frame(db.relation("v"))}))) == shown(FACTS)


@pytest.mark.filterwarnings("error::RuntimeWarning")  # a signalling NaN is no invalid value
def test_arrays_parquet_and_series(tmp_path: Path) -> None:
    values = np.array([[OTHER_NAN], [SIGNALLING], [np.nan], [np.inf], [-0.0]])
    wanted = shown([(0.0,), (math.inf,), (math.nan,)])
    program = ".decl w(x: float)\n"
    pq.write_table(pa.table({"x": values[:, 0]}), tmp_path / "w.parquet")
    for data in (
        values,
        pd.Series(values[:, 0]),
        pd.Index(values[:, 0]),
        pl.Series("x", values[:, 0]),
        pq.read_table(tmp_path / "w.parquet"),
        pd.read_parquet(tmp_path / "w.parquet"),
        pl.read_parquet(tmp_path / "w.parquet"),
    ):
        assert shown(rows(Database(program, facts={"w": data}), "w")) == wanted
        assert shown(rows(Database("y(x) :- w(x).", facts={"w": data}), "y")) == wanted


@pytest.mark.parametrize("data", [pd.Series([None, 1.0], dtype="Float64"), pl.Series([None, 1.0])])
def test_a_cell_without_a_value_is_no_nan(data: Any) -> None:
    with pytest.raises(Exception, match=r"^error: w: column x has empty cells \(nulls\)$"):
        Database(".decl w(x: float)\n", facts={"w": data})


@pytest.mark.parametrize("name", ["notation", "jsonl"])
def test_deltas_are_changes(tmp_path: Path, name: str) -> None:
    from tidelog.formats.json_changes import jsonl_text

    db, other = Database(DECLARED), Database(DECLARED)
    with db.transaction() as tx:
        tx.insert("v", GIVEN)
    text = str(tx.delta) if name == "notation" else "\n".join(map(jsonl_text, tx.delta))
    path = tmp_path / ("d.changes" if name == "notation" else "d.jsonl")
    path.write_text(text + "\n")
    list(other.stream(path))
    assert shown(rows(other)) == shown(FACTS)
    with other.transaction() as tx:
        tx.delete("v", [(1, OTHER_NAN)])
        tx.delete("v", [(4, -0.0)])
    assert str(tx.delta) == '-v(1, to_float("nan")).\n-v(4, 0.0).'


def test_records() -> None:
    program = ".type T = A { x: float } | B {}\n.decl t(t: T)\n"
    db = Database(program, facts={"t": [(Branch("A", (OTHER_NAN,)),), (Branch("A", (-0.0,)),)]})
    assert rows(db, "t") == [(Branch("A", (0.0,)),), (Branch("A", (math.nan,)),)]
    assert rows(Database(program, facts={"t": db.relation("t").to_pandas()}), "t") == rows(db, "t")
    (delta,) = db.apply('-t($A(to_float("nan"))).')
    assert list(delta) == [FactChange("-", "t", (Branch("A", (math.nan,)),))]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_aggregates_do_not_depend_on_the_order_of_changes(algorithm: str) -> None:
    program = DECLARED + (
        "most(x) :- x = max y : { v(_, y) }.\n"
        "least(i, x) :- x = min y : { v(i, y) }.\n"
        "sum_of(s) :- s = sum y : { v(_, y) }.\n"
        "up(i, j) :- v(i, x), v(j, y), !(x >= y).\n"
    )
    facts = [(1, 1.0), (2, math.nan), (3, -2.5), (4, math.nan)]
    for order in (facts, facts[::-1]):
        db = Database(program, algorithm=algorithm)
        for fact in order:
            with db.transaction() as tx:
                tx.insert("v", [fact])
        assert rows(db, "most") == [(math.nan,)]
        assert rows(db, "least") == [(3, -2.5)]
        assert rows(db, "sum_of") == [(math.nan,)]
        assert rows(db, "up") == [(1, 2), (1, 4), (3, 1), (3, 2), (3, 4)]
        with db.transaction() as tx:
            tx.delete("v", [(2, math.nan)])
        assert "most" not in tx.delta.counts
        with db.transaction() as tx:
            tx.delete("v", [(4, math.nan)])
        assert tx.delta.removed("most") == [(math.nan,)]
        assert tx.delta.added("most") == [(1.0,)]
        assert rows(db, "sum_of") == [(-1.5,)]
