"""A maintained table: a folder per version, and the link `current` to the latest.

    versions/00000007/part-00003-00000005.parquet
    current -> versions/00000007

A hash assigns rows to files. A new version rewrites the files with changed rows and hard-links the
others, so its cost is proportional to the change. After the commit, one atomic rename points
`current` at it.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidelog.formats.atomic_files import sync_folder
from tidelog.pipeline import durable_files
from tidelog.pipeline.batches import (
    TYPES,
    RelationVersion,
    arity_of,
    fold,
    inserted,
    insertions,
    with_names,
)
from tidelog.pipeline.durable_files import Stamp, stamp_of
from tidelog.pipeline.table_files import decode, encode
from tidelog.program.rules import Relation

ROWS = 1 << 15  # target per file
SinkState = dict[str, Any]  # version, number of parts, rows, stamp of the manifest


class TableSink:
    """Maintains a folder with the rows of a relation."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format

    def stage(self, version: RelationVersion, before: SinkState | None) -> SinkState:
        """Write the version's files under names that readers ignore, and return the new state."""
        number, relation, delta = version.number, version.relation, version.delta
        if before is not None and delta is not None:
            if not delta.num_rows:
                return before
            rows = before["rows"] + int(pc.sum(delta.column("sign")).as_py())
            if _fits(rows, before["parts"]):
                return self._update(number, relation, before, delta, rows)
        return self._rewrite(number, relation, version.whole())

    def _rewrite(self, version: int, relation: Relation, table: pa.Table) -> SinkState:
        parts = 1
        while parts * ROWS < table.num_rows:
            parts *= 2
        folder = self._begin(version)
        stamps = {}
        place = _parts_of(table, parts)
        for part in range(parts):
            some = table.filter(pa.array(place == part))
            name, stamp = self._write(folder, version, part, relation, some)
            stamps[name] = stamp
        return self._finish(folder, version, parts, table.num_rows, stamps)

    def _update(
        self, version: int, relation: Relation, before: SinkState, delta: pa.Table, rows: int
    ) -> SinkState:
        parts = before["parts"]
        stamps = self._manifest(before)
        old, folder = self._folder(before["version"]), self._begin(version)
        place = _parts_of(delta, parts)
        touched = {int(part): delta.filter(pa.array(place == part)) for part in np.unique(place)}
        found = {}
        for name, stamp in stamps.items():
            part = int(name.split("-")[1])
            if part not in touched:
                _share(old / name, folder / name)
                found[name] = stamp
                continue
            data = durable_files.read(old / name, stamp, self._advice)
            kept = decode(data, _schema(relation), self.format)
            merged = inserted(fold([insertions(relation, kept), touched[part]]))
            name, stamp = self._write(folder, version, part, relation, merged)
            found[name] = stamp
        return self._finish(folder, version, parts, rows, found)

    def _begin(self, version: int) -> Path:
        folder = durable_files.temporary(self._folder(version))
        durable_files.remove(folder)
        folder.mkdir(parents=True)
        return folder

    def _write(
        self, folder: Path, version: int, part: int, relation: Relation, some: pa.Table
    ) -> tuple[str, Stamp]:
        name = f"part-{part:05d}-{version:08d}.{self.format}"
        data = encode(with_names(relation, some), self.format)
        return name, durable_files.write(folder / name, data)

    def _finish(
        self, folder: Path, version: int, parts: int, rows: int, stamps: dict[str, Stamp]
    ) -> SinkState:
        text = json.dumps(stamps)
        durable_files.write(folder / "_manifest", text.encode())  # readers skip the prefix _
        sync_folder(folder)
        manifest = stamp_of(text.encode())
        return {"version": version, "parts": parts, "rows": rows, "manifest": manifest}

    def publish(self, state: SinkState) -> None:
        """Make the version visible to readers; idempotent."""
        target = self._folder(state["version"])
        hidden = durable_files.temporary(target)
        if hidden.exists():
            os.rename(hidden, target)
            sync_folder(target.parent)
        link, staged = self.path / "current", self.path / ".current.tmp"
        wanted = os.path.join("versions", target.name)
        if not link.is_symlink() or os.readlink(link) != wanted:
            durable_files.remove(staged)
            os.symlink(wanted, staged)
            os.replace(staged, link)
            sync_folder(self.path)

    def missing(self, state: SinkState) -> bool:
        """Whether a user has deleted the table, so that it must be rewritten."""
        target = self._folder(state["version"])
        return not target.exists() and not durable_files.temporary(target).exists()

    def clean(self, state: SinkState, keep: int) -> None:
        """Remove all but the last `keep` versions."""
        listed = sorted((self.path / "versions").glob("[0-9]*"))
        old = [path for path in listed if int(path.name) < state["version"]]
        for path in old[: max(0, len(old) - keep + 1)]:
            durable_files.remove(path)

    def tidy(self, state: SinkState | None) -> None:
        """Remove what a crash left behind, after all committed versions are published."""
        if (self.path / "versions").exists():
            for path in durable_files.leftovers(self.path / "versions"):
                durable_files.remove(path)

    def _manifest(self, state: SinkState) -> dict[str, Stamp]:
        path = self._folder(state["version"]) / "_manifest"
        found: dict[str, Stamp] = json.loads(
            durable_files.read(path, state["manifest"], self._advice)
        )
        return found

    @property
    def _advice(self) -> str:
        return f"remove {self.path}; the next run rewrites it from the state"

    def _folder(self, version: int) -> Path:
        return self.path / "versions" / f"{version:08d}"


def _share(old: Path, new: Path) -> None:
    """Hard-link a file, or copy it if the file system does not support links."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def _schema(relation: Relation) -> pa.Schema:
    pairs = zip(relation.attributes, relation.kinds, strict=True)
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


def _fits(rows: int, parts: int) -> bool:
    """Whether the number of files still suits the number of rows."""
    return rows <= 2 * parts * ROWS and (parts == 1 or 4 * rows >= parts * ROWS)


def _parts_of(table: pa.Table, parts: int) -> NDArray[np.uint64]:
    """The part that each row belongs to."""
    mixed = np.zeros(table.num_rows, np.uint64)
    for i in range(arity_of(table)):
        mixed = (mixed ^ _words(table.column(i))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed % np.uint64(parts)


def _words(column: Any) -> NDArray[np.uint64]:
    """A 64-bit word per value, equal for equal values in every run."""
    if not pa.types.is_string(column.type):
        values: NDArray[Any] = np.ascontiguousarray(column.to_numpy())
        return values.view(np.uint64)
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    words = np.array(
        [zlib.crc32(each.encode()) for each in coded.dictionary.to_pylist()], np.uint64
    )
    codes: NDArray[np.int32] = coded.indices.to_numpy()
    return words[codes]
