"""Changes from files and streams: the notation, JSON Lines, and tables of one relation."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, get_args

from tidelog.io.jsonl import read_jsonl
from tidelog.io.lines import pieces_of, whole_lines
from tidelog.io.sockets import TCP, address_of
from tidelog.io.source import MAX_BYTES, FileFault, read_bytes
from tidelog.io.tables import read_parquet, read_table
from tidelog.program.changes import Change
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.text.changes import Changes, Relations
from tidelog.text.rows import known_alike

Format = Literal["changes", "jsonl", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
STDIN = "<stdin>"

_ENDINGS: dict[str, Format] = {
    "changes": "changes",
    "dl": "changes",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
}
_NAMED = re.compile(r"([A-Za-z_?][A-Za-z0-9_?.]*)=(.+)", re.DOTALL)

Sourced = tuple[Change, Sources]  # a change, and the lines that messages about it show

_READ: dict[Format, Callable[[bytes, str, Relation], Iterator[Sourced]]] = {
    "csv": read_table,
    "parquet": read_parquet,
}


@dataclass(frozen=True, slots=True)
class Place:
    """A file of changes, `-`, or `tcp://HOST:PORT`; a table is of one relation."""

    path: str
    format: Format
    relation: str  # of a table, else empty

    @property
    def live(self) -> bool:
        return self.path == "-"

    @property
    def is_table(self) -> bool:
        return self.format in ("csv", "parquet")

    @property
    def address(self) -> tuple[str, int] | None:
        """The host and the port of a connection; None for files."""
        return address_of(self.path) if self.path.startswith(TCP) else None

    @property
    def name(self) -> str:
        """What messages call it."""
        return STDIN if self.live else self.path


def place_of(name: str, format: Format | None = None) -> Place:
    """What a name such as `edge.csv`, `edge=changes.parquet` or `-` means.

    >>> place_of("log.jsonl.gz")
    Place(path='log.jsonl.gz', format='jsonl', relation='')
    >>> place_of("edge=new.csv").relation, place_of("data/edge.changes.csv").relation
    ('edge', 'edge')
    """
    named = _NAMED.fullmatch(name)
    relation, path = ("", name) if named is None or os.path.exists(name) else named.groups()
    if os.path.isdir(path):
        raise FileFault(f"{path} is a folder, not a file", "name a file inside it")
    stem, *endings = os.path.basename(path).split(".")
    connected = path.startswith(TCP) and address_of(path) is not None
    if path == "-" or connected:
        format = format or "changes"
    elif format is None:
        last = endings[-2] if endings[-1:] == ["gz"] and len(endings) > 1 else (endings or [""])[-1]
        format = _ENDINGS.get(last.lower())
        if format is None or (format == "parquet" and endings[-1] == "gz"):
            advice = "give it with --format, one of " + ", ".join(FORMATS)
            raise FileFault(f"the name {path} does not tell the format of its changes", advice)
    table = format in ("csv", "parquet")
    if table and not relation and (path == "-" or connected):
        what = "from a connection" if connected else "on the standard input"
        advice = f"write RELATION={path} in place of {path}"
        raise FileFault(f"a table {what} does not tell its relation", advice)
    if relation and not table:
        raise FileFault(f"{path} is no table, so {relation}= has no meaning", "leave it out")
    return Place(path, format, relation or stem if table else "")


def read_changes(
    place: Place, relations: Relations, stdin: BinaryIO | None = None
) -> Iterator[Sourced]:
    """The changes of a file or of the standard input, each as soon as it is complete.

    `relations` tells the relations as they are when a change is read.
    """
    if place.live and stdin is None:
        raise FileFault("the standard input is closed", "give a file of changes")
    source = stdin if place.live and stdin is not None else place.path
    if place.is_table:
        relation = _known(place.relation, relations)
        return _READ[place.format](read_bytes(source), place.name, relation)
    changes = read_pieces(pieces_of(source), place, relations)
    return (each for each in changes if each is not None)


def read_pieces(
    pieces: Iterable[bytes], place: Place, relations: Relations
) -> Iterator[Sourced | None]:
    """The changes in bytes that arrive in the format of a place.

    An empty piece says that nothing more is there for now; so does None among the changes.
    """
    file = place.name
    if place.is_table:
        relation = _known(place.relation, relations)
        data = io.BytesIO()
        for piece in pieces:
            if not piece:
                yield None
            elif data.tell() + len(piece) > MAX_BYTES:
                raise FileFault(f"{file} holds more than {MAX_BYTES:,} bytes", "split it")
            data.write(piece)
        data.seek(0)
        yield from _READ[place.format](read_bytes(data), file, relation)
        return
    lines = whole_lines(pieces, file)
    if place.format == "jsonl":
        yield from read_jsonl(lines, file, relations)
    else:
        yield from read_notation(lines, file, relations)


def read_notation(
    lines: Iterable[str], file: str, relations: Relations
) -> Iterator[Sourced | None]:
    """The changes in text that arrives in blocks of whole lines."""
    changes = Changes(file, relations)
    for block in lines:
        if not block:
            yield None
            continue
        changes.feed(block)
        while (change := changes.next()) is not None:
            yield change, changes.sources
    changes.end()
    while (change := changes.next()) is not None:
        yield change, changes.sources


def _known(name: str, relations: Relations) -> Relation:
    known = relations()
    if name not in known:
        advice = f"{known_alike(name, known)}\n    a table is given as RELATION=FILE"
        raise FileFault(f"unknown relation {name} of a table", advice)
    return known[name]
