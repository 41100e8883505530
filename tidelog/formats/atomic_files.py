"""Files, and folders of part files, that appear whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Iterable, Iterator

from tidelog.formats.byte_source import FileFault


class Staged:
    """Files written under temporary names beside their targets, renamed together by `commit`.

    Leaving the block without a commit (an error, Ctrl-C) removes what was staged. A
    process that is killed can leave temporary files (`.NAME.….tmp`), never a half target.
    """

    def __init__(self) -> None:
        self._staged: list[tuple[str, str]] = []  # temporary name, target

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, *error: object) -> None:
        for temporary, _ in self._staged:
            _remove(temporary)
        self._staged.clear()

    def write(
        self, path: str, pieces: Iterable[bytes], *, compress: bool, for_folder: bool = False
    ) -> None:
        """Stage a file; nothing is seen under its name before the commit. It may take the place
        of a folder only if that is said."""
        # A link is written through, as opening it would.
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        temporary = _beside(target)
        try:
            mode = None if for_folder and os.path.isdir(target) else _mode_of(target, path)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            # Noted first: an interrupt may come before the next line has run.
            self._staged.append((temporary, target))
            with open(os.open(temporary, flags, 0o666), "wb") as file:
                if mode is not None:
                    os.chmod(temporary, mode)
                if compress:
                    # No name and no time inside: equal facts give equal files.
                    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                        packed.writelines(pieces)
                else:
                    file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(path, folder, error) from None

    def folder(self, path: str) -> str:
        """Stage a folder that the caller creates; returns its temporary name."""
        target = os.path.realpath(path)
        temporary = _beside(target)
        self._staged.append((temporary, target))
        return temporary

    def file(self, path: str) -> tuple[str, bool]:
        """Stage a file that the caller writes: its temporary name, and whether it exists."""
        target = os.path.realpath(path)
        for temporary, known in self._staged:
            if known == target:
                return temporary, True
        temporary = _beside(target)
        try:
            mode = _mode_of(target, path)
            self._staged.append((temporary, target))
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            os.close(os.open(temporary, flags, 0o666 if mode is None else mode))
        except OSError as error:
            raise _unwritable(path, os.path.dirname(target), error) from None
        return temporary, False

    def commit(self) -> None:
        """Rename everything that is staged to its final name."""
        folders = set()
        with _uninterrupted():
            while self._staged:
                temporary, target = self._staged[0]
                try:
                    _put(temporary, target)
                except OSError as error:
                    raise _unwritable(target, os.path.dirname(target), error) from None
                del self._staged[0]
                folders.add(os.path.dirname(target))
        for folder in folders:
            # Not every system can; the files themselves are safe by now.
            with contextlib.suppress(OSError):
                sync_folder(folder)


def _beside(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.tmp")


def _put(temporary: str, target: str) -> None:
    """Rename; replacing a folder, or replacing something by a folder, takes two steps."""
    if not os.path.isdir(target) and not (os.path.isdir(temporary) and os.path.exists(target)):
        os.replace(temporary, target)
        return
    aside = _beside(target)
    os.replace(target, aside)
    os.replace(temporary, target)
    _remove(aside)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def check_folder_target(path: str) -> None:
    """Refuse what could not be written later, where part files of an earlier run may be."""
    if not os.path.isdir(path):
        check_target(path)
    elif "_SUCCESS" not in os.listdir(path):
        raise FileFault(f"{path} is a folder that Spark did not write", "choose another name")


def check_target(path: str) -> None:
    """Reject a file now that could not be written later."""
    if path == "-":
        raise FileFault("this cannot be written to the standard output", "name a file")
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        _mode_of(target, path)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError
    except OSError as error:
        raise _unwritable(path, folder, error) from None


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # it arrives in the main thread only
        return
    waiting = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
    if waiting:
        signal.raise_signal(signal.SIGINT)


def _mode_of(target: str, path: str) -> int | None:
    """The permissions of a file that will be replaced; anything but a file is refused."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise FileFault(f"{path} is {what}, not a file that can be written", "choose another name")
    return stat.S_IMODE(mode)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Sync the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: str, folder: str, error: OSError) -> FileFault:
    if not os.path.isdir(folder):
        folder = os.path.dirname(path) or folder
        return FileFault(f"folder {folder} does not exist", "create it first")
    if isinstance(error, PermissionError):
        return FileFault(f"file {path} may not be written", "check the folder's permissions")
    reason = error.strerror or str(error)
    return FileFault(f"file {path} cannot be written: {reason[:1].lower()}{reason[1:]}")
