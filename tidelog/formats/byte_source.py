"""The bytes behind a path or a stream, within limits: whole and decompressed, or line by line."""

from __future__ import annotations

import itertools
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from tidelog.program.diagnostics import DataError, Diagnostic, plural, render, too_many_facts
from tidelog.program.syntax import Span
from tidelog.text.change_notation import Excerpt

MAX_BYTES = 16 * 2**30  # of facts in one file, after decompression
MAX_RATIO = 200  # decompressed to compressed; files of facts stay below 50
FREE_BYTES = 64 * 2**20  # bytes of output before the ratio is checked

GZIP_MAGIC = b"\x1f\x8b"  # never valid UTF-8, so no plain file of facts starts so
_PIECE = 2**20  # bytes read at a time, between two checks of the limits
_ARRIVED = 2**16  # bytes taken at a time of what has arrived
MAX_LINE = 2**26  # bytes; a longer line is no fact but a file of another format
_BOM = b"\xef\xbb\xbf"

Source = str | os.PathLike[str] | BinaryIO


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much facts may be: bytes after decompression, and how many times the compressed ones.

    `max_facts` is for sources that need not end; a file has all its facts read and counted later.
    """

    max_bytes: int = MAX_BYTES
    max_ratio: int = MAX_RATIO
    max_facts: int | None = None


class DistinctFacts:
    """Refuses more than `most` distinct facts from a source that need not end.

    They are counted whenever the number of rows has doubled, so that counting stays cheap.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._count_at = most

    def check(self, rows: Sequence[Any]) -> None:
        self.look(len(rows), lambda: _distinct(rows))

    def look(self, size: int, count: Callable[[], int]) -> None:
        """Called with the number of rows; `count` returns how many distinct facts they are."""
        if self._most is None or self._count_at is None or size <= self._count_at:
            return
        if count() > self._most:
            raise too_many_facts(self._most)
        self._count_at = 2 * size


def _distinct(rows: Sequence[Any]) -> int:
    try:
        return len(set(map(tuple, rows)))
    except TypeError:  # not all of them are rows of values, which is reported later
        return len(rows)


class FileFault(DataError):
    """A file that cannot be used at all; `message` and `advice` stand without a place."""

    def __init__(self, message: str, advice: str = "") -> None:
        self.message = message
        self.advice = advice
        super().__init__(render(Diagnostic(message, advice=advice), {}))


def is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def name_of(source: Source) -> str:
    """How errors call the source.

    >>> name_of(Path("facts") / "edge.facts")
    'facts/edge.facts'
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stdin>"


def read_bytes(source: Source, *, max_bytes: int = MAX_BYTES, max_ratio: int = MAX_RATIO) -> bytes:
    """All bytes of a regular file or a stream; gzip is known by its first two bytes."""
    name = name_of(source)
    if isinstance(source, str | os.PathLike):
        data = _file_bytes(Path(source), name, max_bytes)
        if name.endswith(".gz") and not data.startswith(GZIP_MAGIC):
            raise _not_packed(name)
    else:
        data = _stream_bytes(source, name, max_bytes)
    if data.startswith(GZIP_MAGIC):
        return b"".join(_decompressed(data, name, max_bytes, max_ratio))
    return data


def pieces(source: Source) -> Iterator[bytes]:
    """The bytes of a regular file or a stream as they come, decompressed; never all at once."""
    name = name_of(source)
    if isinstance(source, str | os.PathLike):
        given = _file_pieces(Path(source), name)
    else:
        given = _stream_pieces(source, name)
    first = next(given, b"")
    packed = first.startswith(GZIP_MAGIC)
    if is_path(source) and name.endswith(".gz") and not packed:
        raise _not_packed(name)
    if packed:
        # Compressed data is small; it is decompressed by the same code as files.
        data = b"".join((first, *given))
        yield from _decompressed(data, name, MAX_BYTES, MAX_RATIO)
        return
    made = 0
    for piece in itertools.chain((first,), given):
        made += len(piece)
        if made > MAX_BYTES:
            raise _too_large(name, MAX_BYTES)
        yield piece


def _file_pieces(path: Path, name: str) -> Iterator[bytes]:
    try:
        with _opened(path, name) as file:
            before = os.fstat(file.fileno())
            while piece := file.read(_PIECE):
                yield piece
            after = os.fstat(file.fileno())
    except OSError as error:
        raise _unreadable(name, error) from None
    except ValueError:  # a NUL in the path
        raise FileFault(f"{name!r} cannot be the name of a file") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise _changed(name)


def _stream_pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        while piece := stream.read(_PIECE):
            yield piece
    except OSError as error:
        raise _unreadable(name, error) from None


def opened(path: Path, name: str) -> BinaryIO:
    """A regular file to read, or the reason why it cannot be read."""
    try:
        return _opened(path, name)
    except OSError as error:
        raise _unreadable(name, error) from None
    except ValueError:  # a NUL in the path
        raise FileFault(f"{name!r} cannot be the name of a file") from None


def _opened(path: Path, name: str) -> BinaryIO:
    """A regular file, looked at before it is opened: opening a FIFO waits, a device may act."""
    _require_regular(os.stat(path), name)
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCKING)
    try:
        _require_regular(os.fstat(descriptor), name)
    except BaseException:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")


def _file_bytes(path: Path, name: str, max_bytes: int) -> bytes:
    try:
        with _opened(path, name) as file:
            before = os.fstat(file.fileno())
            if before.st_size > max_bytes:
                raise _too_large(name, max_bytes)
            data = file.read()
            after = os.fstat(file.fileno())
    except OSError as error:
        raise _unreadable(name, error) from None
    except ValueError:  # a NUL in the path
        raise FileFault(f"{name!r} cannot be the name of a file") from None
    if len(data) != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise _changed(name)
    return data


_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _require_regular(status: os.stat_result, name: str) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise FileFault(f"{name} is a folder, not a file", "name a file inside it")
    what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise FileFault(f"{name} is {what}, not a regular file", "use IO=stdin to read from a pipe")


def _unreadable(name: str, error: OSError) -> FileFault:
    if isinstance(error, FileNotFoundError):
        return FileFault(f"file {name} does not exist", "check the name and the folder")
    if isinstance(error, PermissionError):
        return FileFault(f"file {name} may not be read", "check its permissions")
    return FileFault(f"file {name} cannot be read: {_reason(error)}")


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def _stream_bytes(stream: BinaryIO, name: str, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise _too_large(name, max_bytes)
    except OSError as error:
        raise _unreadable(name, error) from None
    return b"".join(pieces)


def _decompressed(data: bytes, name: str, max_bytes: int, max_ratio: int) -> Iterator[bytes]:
    """The members of a gzip file, piece by piece, so that a bomb is noticed before it is large."""
    made = 0
    start = 0
    while start < len(data):
        if not data.startswith(GZIP_MAGIC, start):
            if data.count(b"\0", start) == len(data) - start:
                return  # padding, as tapes and some copy tools leave it
            raise _corrupt(name)
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            given = member.unconsumed_tail or data[start : start + _PIECE]
            if not member.unconsumed_tail:
                start += len(given)
            if not given:
                raise FileFault(
                    f"file {name} ends in the middle of its gzip data", "copy it again in full"
                )
            try:
                piece = member.decompress(given, 16 * _PIECE)
            except zlib.error:
                raise _corrupt(name) from None
            made += len(piece)
            used = start - len(member.unconsumed_tail)
            if made > max_bytes:
                raise _too_large(name, max_bytes)
            if made > FREE_BYTES and made > max_ratio * used:
                raise FileFault(
                    f"file {name} decompresses to more than {max_ratio} times its size",
                    "if it is not a compression bomb, decompress it first or raise max_ratio",
                )
            yield piece
        start -= len(member.unused_data)


def _changed(name: str) -> FileFault:
    return FileFault(f"file {name} changed while it was read", "run again when it is complete")


def _not_packed(name: str) -> FileFault:
    advice = "compress it, or drop .gz from its name"
    return FileFault(f"file {name} is not compressed with gzip", advice)


def _corrupt(name: str) -> FileFault:
    return FileFault(f"file {name} holds damaged gzip data", "copy it again in full")


def _too_large(name: str, max_bytes: int) -> FileFault:
    return FileFault(
        f"{name} holds more than {plural(max_bytes, 'byte')} of facts",
        "split it, or raise max_bytes",
    )


# Text as it arrives: whole lines of UTF-8, as soon as they are complete.


def pieces_of(source: str | BinaryIO) -> Iterator[bytes]:
    """Bytes as they arrive, from a file, which may be compressed, a pipe or a stream."""
    stream = _file_or_pipe(source) if isinstance(source, str) else source
    try:
        # `read1` gives what is there; `read` would wait for a whole piece.
        while piece := stream.read1(_ARRIVED):  # type: ignore[attr-defined]
            yield piece
    except OSError as error:
        raise FileFault(f"{name_of(source)} cannot be read: {error.strerror}") from None
    finally:
        if isinstance(source, str):
            stream.close()


def _file_or_pipe(path: str) -> BinaryIO:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode):
            return open(path, "rb")
    except (OSError, ValueError):
        mode = 0  # reading it reports what is wrong
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        message = f"{path} is neither a file nor a pipe"
        raise FileFault(message, "write - to read the standard input")
    return BytesIO(read_bytes(path))


def whole_lines(pieces: Iterable[bytes], file: str) -> Iterator[str]:
    """Blocks of whole lines; a byte that is no text is an error after the lines before it.

    An empty piece says that nothing more is there for now, and makes an empty block.
    """
    rest: list[bytes] = []
    line = 1
    for piece in pieces:
        if not piece:
            yield ""
            continue
        end = piece.rfind(b"\n") + 1
        if end:
            block = b"".join((*rest, piece[:end]))
            rest = []
            yield from _decoded(block, file, line)
            line += block.count(b"\n")
        rest.append(piece[end:])
        if sum(map(len, rest)) > MAX_LINE:
            at = Span(file, line, 1)
            message = f"a line of more than {MAX_LINE:,} bytes"
            raise DataError(render(Diagnostic(message, at, "is this a text file?"), {}))
    yield from _decoded(b"".join(rest), file, line)


def _decoded(block: bytes, file: str, line: int) -> Iterator[str]:
    if line == 1:
        block = block.removeprefix(_BOM)
    bad = block.find(b"\0")
    message, advice = "a NUL character", "is this a text file?"
    try:
        text = block.decode() if bad < 0 else block[:bad].decode()
    except UnicodeDecodeError as error:
        bad = error.start
        message, advice = f"byte 0x{block[bad]:02x} is not UTF-8", "save the file as UTF-8"
    if bad < 0:
        if text:
            yield text
        return
    start = block.rfind(b"\n", 0, bad) + 1
    if start:
        yield block[:start].decode()
    line += block.count(b"\n", 0, bad)
    before = block[start:bad].decode()
    rest = block[bad:].split(b"\n", 1)[0].decode(errors="replace")
    at = Span(file, line, len(before) + 1)
    raise DataError(render(Diagnostic(message, at, advice), {file: Excerpt(line, [before + rest])}))
