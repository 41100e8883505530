"""Versions are atomic, and damaged files are detected."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tidelog.pipeline import durable_files
from tidelog.pipeline.batches import Ledger, inserted, insertions, rows_of, signed
from tidelog.pipeline.versions import SourceOffset, VersionRecord, VersionStore
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation

P = Relation("p", ("x",), ("number",))


def changes(rows: list[int], sign: int = 1) -> pa.Table:
    return signed(P, [pa.array(rows, pa.int64())], pa.array([sign] * len(rows), pa.int8()))


def commit(store: VersionStore, *tables: pa.Table) -> None:
    draft = store.draft()
    for table in tables:
        store.add(draft, "p", table)
    last = store.last
    program = last.program if last else store.add_program(draft, ".decl p(x: number)\n")
    store.commit(
        draft, VersionRecord(0, "b", program, {"s": SourceOffset("q", draft.version)}, {}, {}, 0)
    )


def facts(folder: Path) -> set[int]:
    store = VersionStore(folder).open()
    try:
        return {row[0] for row in rows_of(inserted(store.changes()["p"]))}
    finally:
        store.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    store = VersionStore(tmp_path).open()
    commit(store, insertions(P, pa.table({"x": [1, 2, 3]})))
    commit(store, changes([2], -1))
    store.snapshot(Ledger().to_snapshot)
    commit(store, changes([4]))
    store.close()
    return tmp_path


def test_committed_changes_persist(state: Path) -> None:
    assert facts(state) == {1, 3, 4}
    last = VersionStore(state).latest()
    assert last is not None
    assert (last.version, last.sources) == (3, {"s": SourceOffset("q", 3)})


def test_uncommitted_files_are_removed(state: Path) -> None:
    store = VersionStore(state).open()
    draft = store.draft()
    store.add(draft, "p", changes([9]))
    store.add_program(draft, "q(1).")
    store.close()
    (state / "data" / ".00000004.p.1.parquet.tmp").write_bytes(b"half")
    (state / "snapshots" / ".00000003.tmp").mkdir()
    assert facts(state) == {1, 3, 4}
    left = {path.name for path in state.rglob("*")}
    assert not {name for name in left if name.startswith("00000004") or name.endswith(".tmp")}


def test_a_version_is_created_once(state: Path) -> None:
    store = VersionStore(state).open()
    (state / "commits" / "00000004.json").write_text("of someone else")
    with pytest.raises(TidelogError, match="version 4 exists: another process has written"):
        commit(store, changes([5]))
    store.close()


def test_two_processes(state: Path) -> None:
    store = VersionStore(state).open()
    with pytest.raises(TidelogError) as refusal:
        VersionStore(state).open()
    import os

    first = f"error: process {os.getpid()} is using the state folder {state}\n"
    advice = "    wait for it, stop it, or use another state folder"
    assert str(refusal.value) == first + advice
    store.close()
    VersionStore(state).open().close()


def needed(state: Path) -> list[Path]:
    """The files of the last version."""
    kept = ["commits/00000003.json", "data/00000003.p.0.parquet"]
    programs = list((state / "programs").iterdir())
    return [*(state / name for name in kept), *programs, *(state / "snapshots").rglob("*.*")]


def restored(state: Path) -> None:
    store = VersionStore(state).open()
    try:
        store.changes()
        assert store.program
    finally:
        store.close()


def test_damage_is_detected(state: Path) -> None:
    rng = random.Random(0)
    listed = needed(state)
    assert len(listed) == 5
    for path in listed:
        whole = path.read_bytes()
        for _ in range(20):
            at = rng.randrange(len(whole))
            flipped = bytearray(whole)
            flipped[at] ^= 1 << rng.randrange(8)
            path.write_bytes(flipped)
            with pytest.raises(TidelogError, match=r"damaged|bytes instead of"):
                restored(state)
        for size in (0, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(TidelogError, match=r"damaged|bytes instead of"):
                restored(state)
        path.unlink()
        if path.name != "00000003.json":  # a version without a commit does not exist
            with pytest.raises(TidelogError, match=r"cannot read|damaged or missing"):
                restored(state)
        path.write_bytes(whole)
    restored(state)


def test_the_error_names_the_file_and_advises(state: Path) -> None:
    path = state / "data" / "00000003.p.0.parquet"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(TidelogError) as refusal:
        restored(state)
    assert str(refusal.value) == (
        f"error: {path} has {size - 3:,} bytes instead of {size:,}\n"
        "    restore it from a backup, or remove the state folder and the sinks to start over"
    )


def test_another_format(state: Path) -> None:
    (state / "id").write_text("9 abc\n")
    with pytest.raises(TidelogError, match="has state format 9; this version uses 1"):
        VersionStore(state).open()


def test_a_snapshot_is_due_when_changes_outgrow_the_last(tmp_path: Path) -> None:
    store = VersionStore(tmp_path).open()
    commit(store, insertions(P, pa.table({"x": list(range(2_000))})))
    assert not store.wants_snapshot
    snapshots = 0
    for round_ in range(30):
        commit(store, changes(list(range(round_ * 100, round_ * 100 + 300)), 1 - 2 * (round_ % 2)))
        if store.wants_snapshot:
            snapshots += 1
            store.snapshot(Ledger().to_snapshot)
        store.clean(3)
    assert 3 <= snapshots <= 5
    held = facts_of(store)
    store.close()
    assert facts(tmp_path) == held
    assert len(list((tmp_path / "snapshots").iterdir())) == 1
    assert len(list((tmp_path / "data").iterdir())) < 12
    assert len(list((tmp_path / "commits").iterdir())) >= 3


def test_a_snapshot_is_due_after_many_small_versions(tmp_path: Path) -> None:
    store = VersionStore(tmp_path).open()
    for number in range(70):
        commit(store, changes([number]))
        if store.wants_snapshot:
            store.snapshot(Ledger().to_snapshot)
            store.clean(5)
    store.close()
    assert facts(tmp_path) == set(range(70))
    assert len(list((tmp_path / "data").iterdir())) == 5


def facts_of(store: VersionStore) -> set[int]:
    return {row[0] for row in rows_of(inserted(store.changes()["p"]))}


def test_a_file_is_created_once(tmp_path: Path) -> None:
    durable_files.create(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError):
        durable_files.create(tmp_path / "a", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]
