"""Text as it arrives: whole lines of UTF-8, as soon as they are complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import BinaryIO

from tidelog.formats.byte_source import FileFault, name_of, read_bytes
from tidelog.program.diagnostics import DataError, Diagnostic, render
from tidelog.program.syntax import Span
from tidelog.text.change_notation import Excerpt

MAX_LINE = 2**26  # bytes; a longer line is no fact but a file of another format
_PIECE = 2**16  # bytes read at a time
_BOM = b"\xef\xbb\xbf"


def pieces_of(source: str | BinaryIO) -> Iterator[bytes]:
    """Bytes as they come: of a file, which may be compressed, of a pipe, or of a stream."""
    stream = _open(source) if isinstance(source, str) else source
    try:
        # `read1` gives what is there; `read` would wait for a whole piece.
        while piece := stream.read1(_PIECE):  # type: ignore[attr-defined]
            yield piece
    except OSError as error:
        raise FileFault(f"{name_of(source)} cannot be read: {error.strerror}") from None
    finally:
        if isinstance(source, str):
            stream.close()


def _open(path: str) -> BinaryIO:
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
