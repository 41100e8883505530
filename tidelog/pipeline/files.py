"""Files that a crash leaves whole: synced before they are named, created once, and checked.

What starts with a dot and ends in `.tmp` has not got its name yet. After a crash nobody wants
it, and readers such as Spark do not look at names that start with a dot.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tidelog.pipeline import crash
from tidelog.program.diagnostics import TidelogError

Stamp = str  # bytes and a digest, such as "120 3f1c…"


def stamp_of(data: bytes) -> Stamp:
    """
    >>> stamp_of(b"edge")
    '4 552c62de8a734c6865df8504f6c92241'
    """
    return f"{len(data)} {hashlib.blake2b(data, digest_size=16).hexdigest()}"


def temporary(path: Path) -> Path:
    """
    >>> temporary(Path("state/7.parquet")).name
    '.7.parquet.tmp'
    """
    return path.with_name(f".{path.name}.tmp")


def write(path: Path, data: bytes) -> Stamp:
    """Write a file that is there whole or not at all."""
    hidden = temporary(path)
    _fill(hidden, data)
    crash.point("before-rename")
    os.replace(hidden, path)
    return stamp_of(data)


def create(path: Path, data: bytes) -> None:
    """Write a file in one step that fails (FileExistsError) if it is there already."""
    hidden = temporary(path)
    _fill(hidden, data)
    try:
        os.link(hidden, path)
        sync_folder(path.parent)
    finally:
        hidden.unlink()


def _fill(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        half = len(data) // 2
        file.write(data[:half])
        file.flush()
        crash.point("in-write")
        file.write(data[half:])
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Names in a folder last too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, stamp: Stamp, advice: str) -> bytes:
    """A file that is as it was written; a `TidelogError` with advice if it is not."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: {path} cannot be read: {reason}\n    {advice}") from None
    if stamp_of(data) != stamp:
        size = int(stamp.split()[0])
        what = "is damaged" if len(data) == size else f"has {len(data):,} bytes instead of {size:,}"
        raise TidelogError(f"error: {path} {what}\n    {advice}")
    return data


def remove(path: Path) -> None:
    """Take away a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def leftovers(folder: Path) -> Iterator[Path]:
    """What a crash left under temporary names."""
    yield from folder.glob(".*.tmp")


class Lock:
    """One process at a time works on a folder; the system lets go when the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = os.read(self._descriptor, 20).decode(errors="replace").strip()
            os.close(self._descriptor)
            who = f"process {other}" if other else "another process"
            raise TidelogError(
                f"error: {who} works on the state folder {path.parent}\n"
                "    wait for it, stop it, or give this pipeline a state folder of its own"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)
