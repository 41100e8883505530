"""The state of a pipeline: versions in a folder, of which a crash leaves only whole ones.

    lock                    held by the process that works on the folder
    commits/00000007.json   a version exists if its commit does
    data/00000007.….parquet the changes of explicit facts that the version brought
    programs/00000003.dl    the rules, written where they change
    snapshots/00000005/     all explicit facts as of a version
    checkpoint/             what Spark knows of the sources

A commit is created by one step that fails if it is there. It names the version's files with
their sizes and digests, and for each source the query and the batch that it has taken.
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

from tidelog.pipeline import crash, files
from tidelog.pipeline.changes import fold, from_bytes, to_bytes
from tidelog.pipeline.files import Lock, Stamp, stamp_of
from tidelog.program.diagnostics import TidelogError

FORMAT = 1
MANY = 64  # versions after which a snapshot is taken, however small they are
_BACKUP = "put it back from a backup, or remove the state folder and the sinks and start anew"


@dataclass(frozen=True, slots=True)
class Taken:
    """What a source has given so far: batches of a query up to this one."""

    query: str
    batch: int


@dataclass(frozen=True, slots=True)
class Commit:
    """All that a version is."""

    version: int
    base: str  # digest of the program that the pipeline names
    program: str  # file that has the rules of this version
    sources: Mapping[str, Taken]
    sinks: Mapping[str, Any]  # what each sink needs to show the version, and to go on from it
    files: Mapping[str, Stamp]
    rows: int  # in `files`
    cause: str = ""  # the source that brought it
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # facts that came and went


@dataclass(slots=True)
class Draft:
    """A version that is being made: files that wait for their commit."""

    version: int
    files: dict[str, Stamp] = field(default_factory=dict)
    rows: int = 0


class Store:
    """The folder, and the last version in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = ""
        self.last: Commit | None = None
        self._since = 0  # rows of changes since the last snapshot
        self._base = 0  # rows of it
        self._snapshot = 0  # its version

    # Opening.

    def open(self) -> Self:
        """Take the lock, clear away what a crash left, and find the last version."""
        _make(self.folder)
        self._lock = Lock(self.folder / "lock")
        try:
            for name in ("commits", "data", "programs", "snapshots"):
                _make(self.folder / name)
            self.id = self._identity()
            self.last = self.latest()
            self._tidy()
            self._measure()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        self._lock.__exit__()

    def _identity(self) -> str:
        """A name of this state that nothing else has, so that sinks know whose they are."""
        path = self.folder / "id"
        if not path.exists():
            files.write(path, f"{FORMAT} {uuid.uuid4()}\n".encode())
        written, _, name = path.read_text().strip().partition(" ")
        if written != str(FORMAT):
            raise TidelogError(
                f"error: {self.folder} is a state of format {written}, and this is {FORMAT}\n"
                "    use the version of Tidelog that wrote it"
            )
        return name

    def latest(self) -> Commit | None:
        """The last version; it may be asked without the lock."""
        versions = self._versions()
        return self.commit_of(versions[-1]) if versions else None

    def _versions(self) -> list[int]:
        return sorted(int(path.stem) for path in (self.folder / "commits").glob("[0-9]*.json"))

    def commit_of(self, version: int) -> Commit:
        path = self.folder / "commits" / f"{version:08d}.json"
        try:
            first, _, text = path.read_text(encoding="utf-8").partition("\n")
            if stamp_of(text.encode()) != first:
                raise ValueError
            found = json.loads(text)
        except (OSError, ValueError):
            raise TidelogError(f"error: {path} is damaged or missing\n    {_BACKUP}") from None
        taken = {name: Taken(**each) for name, each in found.pop("sources").items()}
        counts = {name: tuple(each) for name, each in found.pop("counts").items()}
        return Commit(**found, sources=taken, counts=counts)

    def _tidy(self) -> None:
        """Nobody wants files of versions that have no commit."""
        last = self.last.version if self.last else 0
        for name in ("commits", "data", "programs", "snapshots"):
            for path in files.leftovers(self.folder / name):
                files.remove(path)
        for name in ("data", "programs"):
            for path in (self.folder / name).iterdir():
                if int(path.name.split(".")[0]) > last:
                    files.remove(path)

    def _measure(self) -> None:
        self._snapshot = max(self._snapshots(), default=0)
        chain = list(self._chain())
        if self._snapshot:
            self._base = self._manifest(self._snapshot)["rows"]
            self._since = sum(commit.rows for commit in chain)
        elif chain:
            self._base = chain[0].rows
            self._since = sum(commit.rows for commit in chain[1:])

    def _snapshots(self) -> list[int]:
        return [int(path.name) for path in (self.folder / "snapshots").glob("[0-9]*")]

    def _chain(self) -> Iterator[Commit]:
        """The versions after the last snapshot."""
        last = self.last.version if self.last else 0
        for version in range(self._snapshot + 1, last + 1):
            yield self.commit_of(version)

    # Reading.

    @property
    def program(self) -> str:
        """The rules of the last version, with declarations."""
        assert self.last is not None
        name = self.last.program
        return files.read(self.folder / name, _stamp_in(name), _BACKUP).decode()

    def changes(self) -> dict[str, pa.Table]:
        """The last change of every explicit fact, by relation."""
        parts: dict[str, list[pa.Table]] = {}
        if self._snapshot:
            folder = self.folder / "snapshots" / f"{self._snapshot:08d}"
            for name, stamp in self._manifest(self._snapshot)["files"].items():
                self._part(parts, folder / name, stamp)
        for commit in self._chain():
            for name, stamp in commit.files.items():
                self._part(parts, self.folder / name, stamp)
        return {relation: fold(tables) for relation, tables in parts.items()}

    def _part(self, parts: dict[str, list[pa.Table]], path: Path, stamp: Stamp) -> None:
        table = from_bytes(files.read(path, stamp, _BACKUP))
        parts.setdefault(_relation_in(path.name), []).append(table)

    def _manifest(self, version: int) -> dict[str, Any]:
        path = self.folder / "snapshots" / f"{version:08d}" / "manifest.json"
        try:
            first, _, text = path.read_text(encoding="utf-8").partition("\n")
            if stamp_of(text.encode()) != first:
                raise ValueError
            found: dict[str, Any] = json.loads(text)
            return found
        except (OSError, ValueError):
            raise TidelogError(f"error: {path} is damaged or missing\n    {_BACKUP}") from None

    # Writing.

    def draft(self) -> Draft:
        """The next version, to be filled."""
        return Draft(self.last.version + 1 if self.last else 1)

    def add(self, draft: Draft, relation: str, changes: pa.Table) -> None:
        """Changes of explicit facts."""
        # Numbered, since a file system may take `Edge` and `edge` for the same name.
        name = f"data/{draft.version:08d}.{relation}.{len(draft.files)}.parquet"
        draft.files[name] = files.write(self.folder / name, to_bytes(changes))
        draft.rows += changes.num_rows

    def add_program(self, draft: Draft, text: str) -> str:
        """The rules; returns the file's name, which tells its digest too."""
        stamp = stamp_of(text.encode())
        name = f"programs/{draft.version:08d}.{stamp.replace(' ', '-')}.dl"
        files.write(self.folder / name, text.encode())
        return name

    def commit(self, draft: Draft, commit: Commit) -> Commit:
        """The version exists from here on."""
        commit = replace(commit, version=draft.version, files=draft.files, rows=draft.rows)
        for name in ("data", "programs"):
            files.sync_folder(self.folder / name)
        text = json.dumps(asdict(commit), ensure_ascii=False)
        path = self.folder / "commits" / f"{draft.version:08d}.json"
        crash.point("before-commit")
        try:
            files.create(path, f"{stamp_of(text.encode())}\n{text}".encode())
        except FileExistsError:
            raise TidelogError(
                f"error: version {draft.version} exists: another process has written {path}\n"
                "    only one pipeline may work on a state folder"
            ) from None
        if self.last is None:
            self._base = draft.rows
        else:
            self._since += draft.rows
        self.last = commit
        crash.point("after-commit")
        return commit

    # Snapshots and what they make needless.

    @property
    def wants_snapshot(self) -> bool:
        """Have the changes outgrown what they change?"""
        if self.last is None:
            return False
        versions = self.last.version - max(self._snapshot, 1)
        return versions > 0 and (self._since > max(self._base, 1_000) or versions >= MANY)

    def snapshot(self, keep: Callable[[str, pa.Table], pa.Table]) -> None:
        """Write all explicit facts as of now; `keep` says which of the folded changes."""
        assert self.last is not None
        target = self.folder / "snapshots" / f"{self.last.version:08d}"
        hidden = files.temporary(target)
        files.remove(hidden)
        hidden.mkdir()
        stamps, rows = dict[str, Stamp](), 0
        for relation, changes in self.changes().items():
            kept = keep(relation, changes)
            name = f"{self.last.version:08d}.{relation}.{len(stamps)}.parquet"
            stamps[name] = files.write(hidden / name, to_bytes(kept))
            rows += kept.num_rows
            crash.point("in-snapshot")
        text = json.dumps({"rows": rows, "files": stamps})
        files.write(hidden / "manifest.json", f"{stamp_of(text.encode())}\n{text}".encode())
        files.sync_folder(hidden)
        crash.point("before-rename")
        os.rename(hidden, target)
        files.sync_folder(target.parent)
        self._snapshot, self._base, self._since = self.last.version, rows, 0

    def clean(self, keep: int) -> None:
        """Remove what neither the last versions nor a restart needs."""
        assert self.last is not None
        oldest = min(self.last.version - keep + 1, self._snapshot or 1)
        kept = [version for version in self._versions() if version >= oldest]
        programs = {self.commit_of(version).program for version in kept}
        for path in self._needless(oldest, programs):
            files.remove(path)
            crash.point("in-cleanup")

    def _needless(self, oldest: int, programs: set[str]) -> Iterator[Path]:
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
    >>> _relation_in("00000001.graph.edge.0.parquet")  # of a component, which has a dot
    'graph.edge'
    """
    return name.partition(".")[2].rsplit(".", 2)[0]


def _stamp_in(name: str) -> Stamp:
    """
    >>> _stamp_in("programs/00000001.12-abc.dl")
    '12 abc'
    """
    return name.split(".")[1].replace("-", " ")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: the folder {folder} cannot be made: {reason}") from None
