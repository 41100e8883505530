"""A table equals its relation in every version, whatever its format and however it is cut."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidelog.pipeline import tables
from tidelog.pipeline.changes import insertions, signed
from tidelog.pipeline.formats import decode
from tidelog.pipeline.tables import TableSink
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation

MIXED = Relation("mixed", ("n", "u", "f", "s"), ("number", "unsigned", "float", "symbol"))
TEXTS = ("", "a", 'say "hi"', "two\nlines", "tab\t, comma", "é", "NULL", "null", "1", " ", "\\N")
Row = tuple[Any, ...]


def row(rng: random.Random) -> Row:
    return (
        rng.choice([0, -1, 2**63 - 1, -(2**63), rng.randrange(50)]),
        rng.choice([0, 2**64 - 1, 7]),
        rng.choice([0.0, 0.1, 1e300, 5e-324, float("inf"), -1.5]),
        rng.choice(TEXTS),
    )


def changes(came: set[Row], went: set[Row]) -> pa.Table:
    rows = [*went, *came]
    types = (pa.int64(), pa.uint64(), pa.float64(), pa.string())
    columns = [pa.array([r[i] for r in rows], type_) for i, type_ in enumerate(types)]
    signs = pa.array([-1] * len(went) + [1] * len(came), pa.int8())
    return signed(MIXED, columns, signs)


def shown(path: Path, format: str) -> set[Row]:
    found: list[Row] = []
    for part in sorted(path.glob("part-*")):
        table = decode(part.read_bytes(), tables._schema(MIXED), format)
        found += zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_every_version_equals_the_relation(
    tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROWS", 8)
    rng = random.Random(format)
    sink, held, now = TableSink(tmp_path, format), None, set[Row]()
    versions: dict[int, set[Row]] = {}
    parts = set()
    for version in range(1, 40):
        wide = 40 if version < 20 else 4
        came = {row(rng) for _ in range(rng.randrange(wide))} - now
        went = set(rng.sample(sorted(now), min(len(now), rng.randrange(wide + version))))
        now = (now - went) | came
        held = sink.stage(
            version, MIXED, held, changes(came, went), lambda now=now: changes(now, set())
        )
        if version > 1:
            assert shown(tmp_path / "current", format) == versions[version - 1]  # not yet
        sink.publish(held)
        sink.publish(held)
        sink.clean(held, keep=3)
        versions[version] = now
        parts.add(held["parts"])
        assert held["rows"] == len(now)
        assert shown(tmp_path / "current", format) == now
    assert len(parts) > 2  # it grew, and shrank
    kept = sorted((tmp_path / "versions").iterdir())
    assert len(kept) == 3
    assert [shown(path, format) for path in kept] == [versions[int(p.name)] for p in kept]


def staged(tmp_path: Path, sink: TableSink, rows: int) -> Any:
    pair = Relation("pair", ("x", "y"), ("number", "number"))
    whole = insertions(pair, pa.table({"x": range(rows), "y": range(rows)}))
    held = sink.stage(1, pair, None, None, lambda: whole)
    sink.publish(held)
    return pair, held


def test_the_cost_follows_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS", 100)
    sink = TableSink(tmp_path, "parquet")
    pair, held = staged(tmp_path, sink, 6_000)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))

    def never() -> pa.Table:
        raise AssertionError("the whole relation was asked for")

    held = sink.stage(2, pair, held, one, never)
    sink.publish(held)
    written = list((tmp_path / "current").glob("part-*-00000002.parquet"))
    assert held["parts"] == 64
    assert len(written) == 1
    assert len(list((tmp_path / "current").glob("part-*"))) == 64
    same = sink.stage(3, pair, held, one.slice(0, 0), never)
    assert same == held


def test_nothing_is_shared_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROWS", 100)

    def refuse(*names: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    sink = TableSink(tmp_path, "parquet")
    pair, held = staged(tmp_path, sink, 1_000)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))
    sink.publish(sink.stage(2, pair, held, one, lambda: one))
    parts = list((tmp_path / "current").glob("part-*"))
    assert len(parts) == 16
    assert all(part.stat().st_nlink == 1 for part in parts)


def test_damage_is_not_passed_on(tmp_path: Path) -> None:
    sink = TableSink(tmp_path, "parquet")
    pair, held = staged(tmp_path, sink, 10)
    part = next((tmp_path / "current").glob("part-*"))
    data = bytearray(part.read_bytes())
    data[20] ^= 1
    part.write_bytes(data)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))
    with pytest.raises(TidelogError) as refusal:
        sink.stage(2, pair, held, one, lambda: one)
    name = tmp_path / "versions" / "00000001" / part.name
    advice = f"remove {tmp_path}: the next run writes it anew from the state"
    assert str(refusal.value) == f"error: {name} is damaged\n    {advice}"
