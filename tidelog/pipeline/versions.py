"""The state of a pipeline: a folder of versions; a crash leaves no partial version.

    lock                    held by the process that uses the folder
    commits/00000007.json   a version exists if its commit does
    data/00000007.….parquet the version's changes of explicit facts
    programs/00000003.dl    the rules, written when they change
    snapshots/00000005/     all explicit facts of a version
    checkpoint/             Spark's progress in the sources

A commit is created atomically, and fails if it exists. It lists the version's files with their
sizes and digests, and the query and last batch of each source.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from tidelog.formats.atomic_files import sync_folder
from tidelog.pipeline import crash_points, durable_files
from tidelog.pipeline.batches import fold, from_bytes, to_bytes
from tidelog.pipeline.durable_files import Lock, Stamp, stamp_of
from tidelog.program.diagnostics import TidelogError

FORMAT = 1  # of the state folder; a higher number is of a newer version
MAX_VERSIONS = 64  # between two snapshots, however small they are
_BACKUP = "restore it from a backup, or remove the state folder and the sinks to start over"


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """A source's progress: the last batch of a query."""

    query: str
    batch: int


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """The record of a version."""

    version: int
    base: str  # digest of the pipeline's program
    program: str  # file with the rules of this version
    sources: Mapping[str, SourceOffset]
    sinks: Mapping[str, Any]  # the state of each sink
    files: Mapping[str, Stamp]
    rows: int  # in `files`
    cause: str = ""  # the source, or another reason
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # inserted, deleted


@dataclass(slots=True)
class VersionDraft:
    """A version before its commit: the files written so far."""

    version: int
    files: dict[str, Stamp] = field(default_factory=dict)
    rows: int = 0


class VersionStore:
    """The state folder, and the last version in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = ""
        self.last: VersionRecord | None = None
        self._snapshot = 0  # version of the last snapshot
        self._base_rows = 0  # in the last snapshot
        self._rows_since = 0  # changes since the last snapshot

    def open(self) -> Self:
        """Take the lock, clean up after a crash, and find the last version."""
        _make_folder(self.folder)
        self._lock = Lock(self.folder / "lock")
        try:
            for name in ("commits", "data", "programs", "snapshots"):
                _make_folder(self.folder / name)
            self.id = self._identity()
            self.last = self.latest()
            self._tidy()
            self._count_rows()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        self._lock.__exit__()

    def _identity(self) -> str:
        """A unique name of this state, with which sinks mark their folders."""
        path = self.folder / "id"
        if not path.exists():
            durable_files.write(path, f"{FORMAT} {uuid.uuid4()}\n".encode())
        written, _, name = path.read_text().strip().partition(" ")
        if written != str(FORMAT):
            raise TidelogError(
                f"error: {self.folder} has state format {written}; this version uses {FORMAT}\n"
                "    use the version of Tidelog that wrote it"
            )
        return name

    def latest(self) -> VersionRecord | None:
        """The last version; needs no lock."""
        versions = self._versions()
        return self.commit_of(versions[-1]) if versions else None

    def _versions(self) -> list[int]:
        return sorted(int(path.stem) for path in (self.folder / "commits").glob("[0-9]*.json"))

    def commit_of(self, version: int) -> VersionRecord:
        found = _stamped(self.folder / "commits" / f"{version:08d}.json")
        offsets = {name: SourceOffset(**each) for name, each in found.pop("sources").items()}
        counts = {name: tuple(each) for name, each in found.pop("counts").items()}
        return VersionRecord(**found, sources=offsets, counts=counts)

    def _tidy(self) -> None:
        """Remove files of versions without a commit."""
        last = self.last.version if self.last else 0
        for name in ("commits", "data", "programs", "snapshots"):
            for path in durable_files.leftovers(self.folder / name):
                durable_files.remove(path)
        for name in ("data", "programs"):
            for path in (self.folder / name).iterdir():
                if int(path.name.split(".")[0]) > last:
                    durable_files.remove(path)

    def _count_rows(self) -> None:
        self._snapshot = max(self._snapshots(), default=0)
        chain = list(self._chain())
        if self._snapshot:
            self._base_rows = self._manifest(self._snapshot)["rows"]
            self._rows_since = sum(commit.rows for commit in chain)
        elif chain:
            self._base_rows = chain[0].rows
            self._rows_since = sum(commit.rows for commit in chain[1:])

    def _snapshots(self) -> list[int]:
        return [int(path.name) for path in (self.folder / "snapshots").glob("[0-9]*")]

    def _chain(self) -> Iterator[VersionRecord]:
        """The versions since the last snapshot."""
        last = self.last.version if self.last else 0
        for version in range(self._snapshot + 1, last + 1):
            yield self.commit_of(version)

    @property
    def program(self) -> str:
        """The rules and declarations of the last version."""
        assert self.last is not None
        name = self.last.program
        return durable_files.read(self.folder / name, _stamp_in(name), _BACKUP).decode()

    def changes(self) -> dict[str, pa.Table]:
        """The last change of every explicit fact, by relation."""
        parts: dict[str, list[pa.Table]] = {}
        if self._snapshot:
            folder = self.folder / "snapshots" / f"{self._snapshot:08d}"
            for name, stamp in self._manifest(self._snapshot)["files"].items():
                self._read_part(parts, folder / name, stamp)
        for commit in self._chain():
            for name, stamp in commit.files.items():
                self._read_part(parts, self.folder / name, stamp)
        return {relation: fold(tables) for relation, tables in parts.items()}

    def _read_part(self, parts: dict[str, list[pa.Table]], path: Path, stamp: Stamp) -> None:
        table = from_bytes(durable_files.read(path, stamp, _BACKUP))
        parts.setdefault(_relation_in(path.name), []).append(table)

    def _manifest(self, version: int) -> dict[str, Any]:
        return _stamped(self.folder / "snapshots" / f"{version:08d}" / "manifest.json")

    def draft(self) -> VersionDraft:
        """Start the next version."""
        return VersionDraft(self.last.version + 1 if self.last else 1)

    def add(self, draft: VersionDraft, relation: str, changes: pa.Table) -> None:
        """Write changes of explicit facts."""
        # The number separates `Edge` and `edge` in case-insensitive file systems.
        name = f"data/{draft.version:08d}.{relation}.{len(draft.files)}.parquet"
        draft.files[name] = durable_files.write(self.folder / name, to_bytes(changes))
        draft.rows += changes.num_rows

    def add_program(self, draft: VersionDraft, text: str) -> str:
        """Write the rules, and return the file's name, which contains its stamp."""
        stamp = stamp_of(text.encode())
        name = f"programs/{draft.version:08d}.{stamp.replace(' ', '-')}.dl"
        durable_files.write(self.folder / name, text.encode())
        return name

    def commit(self, draft: VersionDraft, commit: VersionRecord) -> VersionRecord:
        """Commit a version."""
        commit = replace(commit, version=draft.version, files=draft.files, rows=draft.rows)
        for name in ("data", "programs"):
            sync_folder(self.folder / name)
        text = json.dumps(asdict(commit), ensure_ascii=False)
        path = self.folder / "commits" / f"{draft.version:08d}.json"
        crash_points.point("before-commit")
        try:
            durable_files.create(path, f"{stamp_of(text.encode())}\n{text}".encode())
        except FileExistsError:
            raise TidelogError(
                f"error: version {draft.version} exists: another process has written {path}\n"
                "    only one pipeline may work on a state folder"
            ) from None
        if self.last is None:
            self._base_rows = draft.rows
        else:
            self._rows_since += draft.rows
        self.last = commit
        crash_points.point("after-commit")
        return commit

    @property
    def wants_snapshot(self) -> bool:
        """Whether the changes since the last snapshot outweigh it."""
        if self.last is None:
            return False
        versions = self.last.version - max(self._snapshot, 1)
        return versions > 0 and (
            self._rows_since > max(self._base_rows, 1_000) or versions >= MAX_VERSIONS
        )

    def snapshot(self, keep: Callable[[str, pa.Table], pa.Table]) -> None:
        """Write all explicit facts of the last version; `keep` filters the folded changes."""
        assert self.last is not None
        target = self.folder / "snapshots" / f"{self.last.version:08d}"
        hidden = durable_files.temporary(target)
        durable_files.remove(hidden)
        hidden.mkdir()
        stamps, rows = dict[str, Stamp](), 0
        for relation, changes in self.changes().items():
            kept = keep(relation, changes)
            name = f"{self.last.version:08d}.{relation}.{len(stamps)}.parquet"
            stamps[name] = durable_files.write(hidden / name, to_bytes(kept))
            rows += kept.num_rows
            crash_points.point("in-snapshot")
        text = json.dumps({"rows": rows, "files": stamps})
        durable_files.write(hidden / "manifest.json", f"{stamp_of(text.encode())}\n{text}".encode())
        sync_folder(hidden)
        crash_points.point("before-rename")
        os.rename(hidden, target)
        sync_folder(target.parent)
        self._snapshot, self._base_rows, self._rows_since = self.last.version, rows, 0

    def clean(self, keep: int) -> None:
        """Remove files that neither the last `keep` versions nor a restart needs."""
        assert self.last is not None
        oldest = min(self.last.version - keep + 1, self._snapshot or 1)
        kept = [version for version in self._versions() if version >= oldest]
        programs = {self.commit_of(version).program for version in kept}
        for path in self._obsolete(oldest, programs):
            durable_files.remove(path)
            crash_points.point("in-cleanup")

    def _obsolete(self, oldest: int, programs: set[str]) -> Iterator[Path]:
        for path in (self.folder / "snapshots").glob("[0-9]*"):
            if int(path.name) < self._snapshot:
                yield path
        for path in (self.folder / "data").iterdir():
            if int(path.name.split(".")[0]) <= self._snapshot:
                yield path
        for path in (self.folder / "programs").iterdir():
            if f"programs/{path.name}" not in programs:
                yield path
        for version in self._versions():
            if version < oldest:
                yield self.folder / "commits" / f"{version:08d}.json"


def _relation_in(name: str) -> str:
    """
    >>> _relation_in("00000001.graph.edge.0.parquet")  # names of components contain dots
    'graph.edge'
    """
    return name.partition(".")[2].rsplit(".", 2)[0]


def _stamp_in(name: str) -> Stamp:
    """
    >>> _stamp_in("programs/00000001.12-abc.dl")
    '12 abc'
    """
    return name.split(".")[1].replace("-", " ")


def _stamped(path: Path) -> dict[str, Any]:
    """The JSON of a file whose first line is its stamp."""
    try:
        first, _, text = path.read_text(encoding="utf-8").partition("\n")
        if stamp_of(text.encode()) != first:
            raise ValueError
        found: dict[str, Any] = json.loads(text)
        return found
    except (OSError, ValueError):
        raise TidelogError(f"error: {path} is damaged or missing\n    {_BACKUP}") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: cannot create folder {folder}: {reason}") from None
