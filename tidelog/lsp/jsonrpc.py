"""JSON-RPC messages in frames: a header with the length, a blank line, the text."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

MAX_BYTES = 256 * 2**20  # bytes of one message
CHUNK = 2**20  # bytes read at a time, so that a false length allocates no more

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NO_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803


class RpcError(Exception):
    """An error response."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read(source: BinaryIO) -> Any:
    """Read the next message, or None at the end.

    Raises RpcError for an unreadable message, and skips it, so that reading can continue.

    >>> import io
    >>> read(io.BytesIO(b'Content-Length: 13\\r\\n\\r\\n{"id": "one"}'))
    {'id': 'one'}
    """
    length = _length(source)
    if length is None:
        return None
    if length > MAX_BYTES:
        _skip(source, length)
        raise RpcError(PARSE_ERROR, f"message of {length:,} bytes is too long")
    data = source.read(length)
    if len(data) < length:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise RpcError(PARSE_ERROR, f"invalid JSON: {problem}") from None


def _length(source: BinaryIO) -> int | None:
    """The length in the next header; None at the end."""
    found: int | None = None
    while line := source.readline(CHUNK):
        text = line.strip()
        if not text:
            if found is not None:
                return found
            continue  # blank lines between frames
        name, _, value = text.partition(b":")
        if name.lower() == b"content-length":
            if not value.strip().isdigit() or len(value) > 20:
                raise RpcError(PARSE_ERROR, "Content-Length is not a number")
            found = int(value)
        elif not value:
            raise RpcError(PARSE_ERROR, "missing Content-Length")
    return None


def _skip(source: BinaryIO, length: int) -> None:
    while length > 0 and (data := source.read(min(length, CHUNK))):
        length -= len(data)


def write(target: BinaryIO, message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    target.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    target.flush()
