"""Checks of input that the native parser might not survive.

Deep nesting overflows the parser's stack and kills the process; nested entities expand without
bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from tidelog.program.diagnostics import DataError, Diagnostic, render
from tidelog.program.syntax import Span

MAX_DEPTH = 500  # nested elements, values or triples
MAX_ENTITY_LENGTH = 1000  # characters
_IRI = re.compile(rb'<[^<>"\s]*>')
_COMMENT = re.compile(rb"#[^\n]*")
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def fault(file: str, line: int | None, column: int | None, message: str, advice: str) -> DataError:
    """An error at a position in a file, or for the file as a whole."""
    if line is None:
        return DataError(f"{file}: {render(Diagnostic(message, None, advice), {})}")
    return DataError(render(Diagnostic(message, Span(file, line, column or 1), advice), {}))


def check_xml(data: bytes, file: str) -> None:
    """Reject XML that is malformed, too deep, or has entities other than short plain ones.

    A plain entity expands to text without entities, as ontology editors write them.
    """
    parser = expat.ParserCreate()
    depth = 0

    def refuse(message: str, advice: str) -> None:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        raise fault(file, line, column, message, advice)

    def entity(
        name: str, parameter: bool, value: str | None, base: Any, system: Any, *rest: Any
    ) -> None:
        if parameter or value is None or system is not None:
            refuse(f"external entity {name}", "external entities are not fetched; inline its text")
        elif "&" in value:
            refuse(f"entity {name} refers to another entity", "inline its text")
        elif len(value) > MAX_ENTITY_LENGTH:
            refuse(f"entity {name} expands to {len(value):,} characters", "inline its text")

    def doctype(name: str, system: str | None, public: str | None, inside: bool) -> None:
        if system is not None or public is not None:
            refuse("external document type", "document types are not fetched; remove the reference")

    def start(name: str, attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            refuse(f"more than {MAX_DEPTH} nested elements", "is this RDF?")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.EntityDeclHandler = entity
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = f"malformed XML: {expat.ErrorString(error.code)}"
        raise fault(file, error.lineno, error.offset + 1, message, "is it RDF/XML?") from None


def check_json(data: bytes, file: str) -> None:
    """Reject invalid JSON, and JSON that is nested too deep."""
    advice = "is it JSON-LD?"
    try:
        found = json.loads(data)
    except json.JSONDecodeError as error:
        message = f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise fault(file, error.lineno, error.colno, message, advice) from None
    except UnicodeDecodeError as error:
        place = place_of(data, error.start)
        raise fault(file, *place, f"byte {error.start + 1} is not UTF-8", advice) from None
    except (RecursionError, ValueError):
        raise _too_deep(data, file) from None
    level = [found]
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [inner for value in level for inner in _children(value)]
    raise _too_deep(data, file)


def _too_deep(data: bytes, file: str) -> DataError:
    message = f"more than {MAX_DEPTH} nested values"
    depth, at = 0, 0
    for found in _JSON.finditer(data):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(found[0], 0)
        if depth > MAX_DEPTH:
            at = found.start()
            break
    advice = "give inner nodes an @id and write them side by side"
    return fault(file, *place_of(data, at), message, advice)


def encoded(text: str, file: str, first: int = 1) -> bytes:
    """A text as bytes; `first` is the number of its first line."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.start].encode(errors="replace")
        message = f"lone surrogate {text[error.start]!r}"
        advice = "write the character itself"
        line, column = place_of(before, len(before))
        raise fault(file, line + first - 1, column, message, advice) from None


def place_of(data: bytes, at: int) -> tuple[int, int]:
    """The line and column of a byte.

    >>> place_of(b"one\\ntwo", 5)
    (2, 2)
    """
    start = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, len(data[start:at].decode(errors="replace")) + 1


def _children(value: Any) -> list[Any]:
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in found if isinstance(each, dict | list)]


def check_text(pieces: Iterator[bytes], file: str, first: int = 1) -> Iterator[bytes]:
    """Pass on the pieces of a text in a format of the Turtle family; reject deeply nested triples.

    `first` is the number of the text's first line.
    """
    run, line = 0, first
    for piece in pieces:
        if run or piece.count(b"<<") > 8:
            bare = _COMMENT.sub(b"", _IRI.sub(b"", piece))
            # No literal stands between two opening brackets, so a quote ends a nest.
            for number, part in enumerate(bare.split(b'"')):
                opened = part.count(b"<<") - part.count(b">>")
                run = max(0, opened + (0 if number else run))
                if run > MAX_DEPTH:
                    message = f"more than {MAX_DEPTH} nested triples"
                    at = line + b'"'.join(bare.split(b'"')[:number]).count(b"\n")
                    raise fault(file, at, 1, message, "triples about triples are not supported")
        line += piece.count(b"\n")
        yield piece


def strip_byte_order_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a text without a leading byte order mark, which some editors write."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= len(_BYTE_ORDER_MARK):
            break
    yield first.removeprefix(_BYTE_ORDER_MARK)
    yield from pieces
