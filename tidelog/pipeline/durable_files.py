"""Crash-safe files: synced before they get their name, created once, and checksummed.

A name that starts with a dot and ends in `.tmp` is temporary. Readers such as Spark ignore it, and
after a crash it is garbage.
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

from tidelog.formats.atomic_files import sync_folder
from tidelog.pipeline import crash_points
from tidelog.program.diagnostics import TidelogError

Stamp = str  # size and digest, such as "120 3f1c…"


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
    """Write a file atomically."""
    hidden = temporary(path)
    _fill(hidden, data)
    crash_points.point("before-rename")
    os.replace(hidden, path)
    return stamp_of(data)


def create(path: Path, data: bytes) -> None:
    """Create a file atomically; raises FileExistsError if it exists."""
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
        crash_points.point("in-write")
        file.write(data[half:])
        file.flush()
        os.fsync(file.fileno())


def read(path: Path, stamp: Stamp, advice: str) -> bytes:
    """Read a file and verify its stamp; errors end with the advice."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TidelogError(f"error: cannot read {path}: {reason}\n    {advice}") from None
    if stamp_of(data) != stamp:
        size = int(stamp.split()[0])
        what = "is damaged" if len(data) == size else f"has {len(data):,} bytes instead of {size:,}"
        raise TidelogError(f"error: {path} {what}\n    {advice}")
    return data


def remove(path: Path) -> None:
    """Remove a file or folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def leftovers(folder: Path) -> Iterator[Path]:
    """Temporary files that a crash left behind."""
    yield from folder.glob(".*.tmp")


class Lock:
    """Lets one process at a time use a folder; the system releases it when the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = os.read(self._descriptor, 20).decode(errors="replace").strip()
            os.close(self._descriptor)
            who = f"process {other}" if other else "another process"
            raise TidelogError(
                f"error: {who} is using the state folder {path.parent}\n"
                "    wait for it, stop it, or use another state folder"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)
