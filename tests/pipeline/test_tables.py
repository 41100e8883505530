"""A table equals its relation in every version, in every format and partitioning."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidelog.pipeline import published_tables
from tidelog.pipeline.batches import RelationVersion, insertions, signed
from tidelog.pipeline.published_tables import TableSink
from tidelog.pipeline.table_files import decode
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


def changes(inserted: set[Row], deleted: set[Row]) -> pa.Table:
    rows = [*deleted, *inserted]
    types = (pa.int64(), pa.uint64(), pa.float64(), pa.string())
    columns = [pa.array([r[i] for r in rows], type_) for i, type_ in enumerate(types)]
    signs = pa.array([-1] * len(deleted) + [1] * len(inserted), pa.int8())
    return signed(MIXED, columns, signs)


def shown(path: Path, format: str) -> set[Row]:
    found: list[Row] = []
    for part in sorted(path.glob("part-*")):
        table = decode(part.read_bytes(), published_tables._schema(MIXED), format)
        found += zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_every_version_equals_the_relation(
    tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_tables, "ROWS", 8)
    rng = random.Random(format)
    sink, state, now = TableSink(tmp_path, format), None, set[Row]()
    versions: dict[int, set[Row]] = {}
    parts = set()
    for version in range(1, 40):
        wide = 40 if version < 20 else 4
        inserted = {row(rng) for _ in range(rng.randrange(wide))} - now
        deleted = set(rng.sample(sorted(now), min(len(now), rng.randrange(wide + version))))
        now = (now - deleted) | inserted
        delta = changes(inserted, deleted)
        state = sink.stage(
            RelationVersion(version, MIXED, delta, partial(changes, now, set())), state
        )
        if version > 1:
            assert shown(tmp_path / "current", format) == versions[version - 1]  # not published yet
        sink.publish(state)
        sink.publish(state)
        sink.clean(state, keep=3)
        versions[version] = now
        parts.add(state["parts"])
        assert state["rows"] == len(now)
        assert shown(tmp_path / "current", format) == now
    assert len(parts) > 2  # the table grew and shrank
    kept = sorted((tmp_path / "versions").iterdir())
    assert len(kept) == 3
    assert [shown(path, format) for path in kept] == [versions[int(p.name)] for p in kept]


def staged(tmp_path: Path, sink: TableSink, rows: int) -> Any:
    pair = Relation("pair", ("x", "y"), ("number", "number"))
    whole = insertions(pair, pa.table({"x": range(rows), "y": range(rows)}))
    state = sink.stage(RelationVersion(1, pair, None, lambda: whole), None)
    sink.publish(state)
    return pair, state


def test_the_cost_is_proportional_to_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_tables, "ROWS", 100)
    sink = TableSink(tmp_path, "parquet")
    pair, state = staged(tmp_path, sink, 6_000)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))

    def never() -> pa.Table:
        raise AssertionError("the whole relation was requested")

    state = sink.stage(RelationVersion(2, pair, one, never), state)
    sink.publish(state)
    written = list((tmp_path / "current").glob("part-*-00000002.parquet"))
    assert state["parts"] == 64
    assert len(written) == 1
    assert len(list((tmp_path / "current").glob("part-*"))) == 64
    same = sink.stage(RelationVersion(3, pair, one.slice(0, 0), never), state)
    assert same == state


def test_files_are_copied_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_tables, "ROWS", 100)

    def refuse(*names: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    sink = TableSink(tmp_path, "parquet")
    pair, state = staged(tmp_path, sink, 1_000)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))
    sink.publish(sink.stage(RelationVersion(2, pair, one, lambda: one), state))
    parts = list((tmp_path / "current").glob("part-*"))
    assert len(parts) == 16
    assert all(part.stat().st_nlink == 1 for part in parts)


def test_damage_is_detected(tmp_path: Path) -> None:
    sink = TableSink(tmp_path, "parquet")
    pair, state = staged(tmp_path, sink, 10)
    part = next((tmp_path / "current").glob("part-*"))
    data = bytearray(part.read_bytes())
    data[20] ^= 1
    part.write_bytes(data)
    one = signed(pair, [pa.array([1]), pa.array([-1])], pa.array([1], pa.int8()))
    with pytest.raises(TidelogError) as refusal:
        sink.stage(RelationVersion(2, pair, one, lambda: one), state)
    name = tmp_path / "versions" / "00000001" / part.name
    advice = f"remove {tmp_path}; the next run rewrites it from the state"
    assert str(refusal.value) == f"error: {name} is damaged\n    {advice}"
