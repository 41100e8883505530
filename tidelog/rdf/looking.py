"""What is looked at before a parser sees it: input that would end the process, or never end.

The parser is a library in native code, for which too deep a nesting is a fault that no `except`
catches, and entities inside entities are memory without a bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from tidelog.program.diagnostics import DataError, Diagnostic, render
from tidelog.program.syntax import Span

DEEPEST = 500  # elements, values or triples inside one another
LONGEST_ENTITY = 1000  # characters that an entity stands for
_IRI = re.compile(rb'<[^<>"\s]*>')
_COMMENT = re.compile(rb"#[^\n]*")
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
MARK = b"\xef\xbb\xbf"  # of byte order, which UTF-8 does not need


def fault(file: str, line: int | None, column: int | None, message: str, advice: str) -> DataError:
    """An error at a place of a file, or of the file as a whole."""
    if line is None:
        return DataError(f"{file}: {render(Diagnostic(message, None, advice), {})}")
    return DataError(render(Diagnostic(message, Span(file, line, column or 1), advice), {}))


def look_at_xml(data: bytes, file: str) -> None:
    """Refuse XML that is not well-formed, too deep, or has other entities than plain short ones.

    A plain entity stands for text without entities in it, as ontology editors write them.
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
            refuse(f"the entity {name} is outside of the file", "it is never fetched: write it out")
        elif "&" in value:
            refuse(f"the entity {name} has entities in it", "write out what it stands for")
        elif len(value) > LONGEST_ENTITY:
            refuse(f"the entity {name} stands for {len(value):,} characters", "write them out")

    def doctype(name: str, system: str | None, public: str | None, inside: bool) -> None:
        if system is not None or public is not None:
            refuse("the document type is outside of the file", "it is never fetched: leave it out")

    def start(name: str, attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            refuse(f"more than {DEEPEST} elements inside one another", "is this RDF?")

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
        message = f"this is no well-formed XML: {expat.ErrorString(error.code)}"
        raise fault(file, error.lineno, error.offset + 1, message, "is it RDF/XML?") from None


def look_at_json(data: bytes, file: str) -> None:
    """Refuse what is no JSON, and JSON that is nested too deep."""
    advice = "is it JSON-LD?"
    try:
        found = json.loads(data)
    except json.JSONDecodeError as error:
        message = f"this is no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise fault(file, error.lineno, error.colno, message, advice) from None
    except UnicodeDecodeError as error:
        place = place_of(data, error.start)
        raise fault(file, *place, f"byte {error.start + 1} is not UTF-8", advice) from None
    except (RecursionError, ValueError):
        raise _too_deep(data, file) from None
    level = [found]
    for _ in range(DEEPEST):
        if not level:
            return
        level = [inner for value in level for inner in _inside(value)]
    raise _too_deep(data, file)


def _too_deep(data: bytes, file: str) -> DataError:
    message = f"more than {DEEPEST} values inside one another"
    depth, at = 0, 0
    for found in _JSON.finditer(data):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(found[0], 0)
        if depth > DEEPEST:
            at = found.start()
            break
    advice = "give the inner ones names, and write them side by side"
    return fault(file, *place_of(data, at), message, advice)


def encoded(text: str, file: str, first: int = 1) -> bytes:
    """A text as bytes; its first line has this number."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.start].encode(errors="replace")
        message = f"the character {text[error.start]!r} is half of one"
        advice = "surrogates come in pairs; write the character itself"
        line, column = place_of(before, len(before))
        raise fault(file, line + first - 1, column, message, advice) from None


def place_of(data: bytes, at: int) -> tuple[int, int]:
    """The line and the column of a byte.

    >>> place_of(b"one\\ntwo", 5)
    (2, 2)
    """
    start = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, len(data[start:at].decode(errors="replace")) + 1


def _inside(value: Any) -> list[Any]:
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in found if isinstance(each, dict | list)]


def look_at_text(pieces: Iterator[bytes], file: str, first: int = 1) -> Iterator[bytes]:
    """The pieces of a text in Turtle or one of its kin, whose first line has this number; refuse
    triples too deep inside triples."""
    run, line = 0, first
    for piece in pieces:
        if run or piece.count(b"<<") > 8:
            bare = _COMMENT.sub(b"", _IRI.sub(b"", piece))
            # Between two that open there is no literal: a quote ends what could be one nest.
            for number, part in enumerate(bare.split(b'"')):
                opened = part.count(b"<<") - part.count(b">>")
                run = max(0, opened + (0 if number else run))
                if run > DEEPEST:
                    message = f"more than {DEEPEST} triples inside one another"
                    at = line + b'"'.join(bare.split(b'"')[:number]).count(b"\n")
                    raise fault(file, at, 1, message, "triples about triples are not supported")
        line += piece.count(b"\n")
        yield piece


def without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a text, without the mark that some editors put before it."""
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= len(MARK):
            break
    yield first.removeprefix(MARK)
    yield from pieces
