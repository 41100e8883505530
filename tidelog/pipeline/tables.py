"""A table kept up to date: a folder for every version, and `current`, which leads to the last.

    versions/00000007/part-00003-00000005.parquet
    current -> versions/00000007

Rows are dealt out to files by a hash. A new version writes the files anew in which a row has
changed, and shares the others with the version before (hard links): what it costs follows the
change. `current` turns to it in one step, after the version's commit.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidelog.pipeline import files
from tidelog.pipeline.changes import TYPES, arity_of, came, fold, insertions, names
from tidelog.pipeline.files import Stamp, stamp_of
from tidelog.pipeline.formats import ENDINGS, decode, encode
from tidelog.program.rules import Relation

ROWS = 1 << 15  # of one file, about
Held = dict[str, Any]  # version, number of parts, rows, stamp of the manifest


class TableSink:
    """Keeps a folder equal to a relation."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format

    def stage(
        self,
        version: int,
        relation: Relation,
        before: Held | None,
        delta: pa.Table | None,
        whole: Callable[[], pa.Table],
    ) -> Held:
        """Write what the version needs, where no reader looks; returns what to publish."""
        if before is not None and delta is not None:
            if not delta.num_rows:
                return before
            rows = before["rows"] + int(pc.sum(delta.column("sign")).as_py())
            if _fits(rows, before["parts"]):
                return self._changed(version, relation, before, delta, rows)
        return self._whole(version, relation, whole())

    def _whole(self, version: int, relation: Relation, table: pa.Table) -> Held:
        parts = 1
        while parts * ROWS < table.num_rows:
            parts *= 2
        folder = self._begin(version)
        stamps = {}
        place = _places(table, parts)
        for part in range(parts):
            some = table.filter(pa.array(place == part))
            name, stamp = self._write(folder, version, part, relation, some)
            stamps[name] = stamp
        return self._finish(folder, version, parts, table.num_rows, stamps)

    def _changed(
        self, version: int, relation: Relation, before: Held, delta: pa.Table, rows: int
    ) -> Held:
        parts = before["parts"]
        stamps = self._manifest(before)
        old, folder = self._folder(before["version"]), self._begin(version)
        place = _places(delta, parts)
        touched = {int(part): delta.filter(pa.array(place == part)) for part in np.unique(place)}
        found = {}
        for name, stamp in stamps.items():
            part = int(name.split("-")[1])
            if part not in touched:
                _share(old / name, folder / name)
                found[name] = stamp
                continue
            data = files.read(old / name, stamp, self._advice)
            kept = decode(data, _schema(relation), self.format)
            merged = came(fold([insertions(relation, kept), touched[part]]))
            name, stamp = self._write(folder, version, part, relation, merged)
            found[name] = stamp
        return self._finish(folder, version, parts, rows, found)

    def _begin(self, version: int) -> Path:
        folder = files.temporary(self._folder(version))
        files.remove(folder)
        folder.mkdir(parents=True)
        return folder

    def _write(
        self, folder: Path, version: int, part: int, relation: Relation, some: pa.Table
    ) -> tuple[str, Stamp]:
        name = f"part-{part:05d}-{version:08d}.{ENDINGS[self.format]}"
        shown = some.select(names(relation.arity)).rename_columns(list(relation.attributes))
        return name, files.write(folder / name, encode(shown, self.format))

    def _finish(
        self, folder: Path, version: int, parts: int, rows: int, stamps: dict[str, Stamp]
    ) -> Held:
        text = json.dumps(stamps)
        files.write(folder / "_manifest", text.encode())  # readers skip what starts with _
        files.sync_folder(folder)
        manifest = stamp_of(text.encode())
        return {"version": version, "parts": parts, "rows": rows, "manifest": manifest}

    def publish(self, held: Held) -> None:
        """Let readers see the version; doing it again does no harm."""
        target = self._folder(held["version"])
        hidden = files.temporary(target)
        if hidden.exists():
            os.rename(hidden, target)
            files.sync_folder(target.parent)
        link, turning = self.path / "current", self.path / ".current.tmp"
        wanted = os.path.join("versions", target.name)
        if not link.is_symlink() or os.readlink(link) != wanted:
            files.remove(turning)
            os.symlink(wanted, turning)
            os.replace(turning, link)
            files.sync_folder(self.path)

    def missing(self, held: Held) -> bool:
        """Has someone removed it? Then it is written anew."""
        target = self._folder(held["version"])
        return not target.exists() and not files.temporary(target).exists()

    def clean(self, held: Held, keep: int) -> None:
        """Remove versions before the last `keep`, and those that were never committed."""
        listed = sorted((self.path / "versions").glob("[0-9]*"))
        old = [path for path in listed if int(path.name) < held["version"]]
        for path in old[: max(0, len(old) - keep + 1)]:
            files.remove(path)

    def tidy(self, held: Held | None) -> None:
        """Remove what a crash left behind; what is committed has been published by now."""
        if (self.path / "versions").exists():
            for path in files.leftovers(self.path / "versions"):
                files.remove(path)

    def _manifest(self, held: Held) -> dict[str, Stamp]:
        path = self._folder(held["version"]) / "_manifest"
        found: dict[str, Stamp] = json.loads(files.read(path, held["manifest"], self._advice))
        return found

    @property
    def _advice(self) -> str:
        return f"remove {self.path}: the next run writes it anew from the state"

    def _folder(self, version: int) -> Path:
        return self.path / "versions" / f"{version:08d}"


def _share(old: Path, new: Path) -> None:
    """One file under two names, or two files where the file system has no links."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def _schema(relation: Relation) -> pa.Schema:
    pairs = zip(relation.attributes, relation.kinds, strict=True)
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


def _fits(rows: int, parts: int) -> bool:
    """Is the number of files still about right?"""
    return rows <= 2 * parts * ROWS and (parts == 1 or 4 * rows >= parts * ROWS)


def _places(table: pa.Table, parts: int) -> NDArray[np.uint64]:
    """The file that each row belongs to."""
    mixed = np.zeros(table.num_rows, np.uint64)
    for i in range(arity_of(table)):
        mixed = (mixed ^ _words(table.column(i))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed % np.uint64(parts)


def _words(column: Any) -> NDArray[np.uint64]:
    """A word for every value, the same for the same value whenever it is asked."""
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
