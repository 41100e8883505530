"""Changes from files and streams: the notation, JSON Lines, and tables of one relation."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple, get_args

from tidelog.formats.byte_source import MAX_BYTES, FileFault, pieces_of, read_bytes, whole_lines
from tidelog.formats.change_rows import ChangeRows, parquet_rows, text_rows
from tidelog.formats.change_tables import read_parquet, read_table
from tidelog.formats.json_changes import jsonl_text, read_jsonl
from tidelog.formats.sockets import TCP, address_of
from tidelog.program.changes import Change
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.text.change_notation import Changes, Relations, change_text
from tidelog.text.fact_rows import known_alike

Format = Literal["changes", "jsonl", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
STDIN = "<stdin>"

_NAMED = re.compile(r"([A-Za-z_?][A-Za-z0-9_?.]*)=(.+)", re.DOTALL)

Sourced = tuple[Change, Sources]  # a change, and the lines that messages about it show


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
        return isinstance(CHANGE_FORMATS[self.format], TableFormat)

    @property
    def address(self) -> tuple[str, int] | None:
        """The host and the port of a connection; None for files."""
        return address_of(self.path) if self.path.startswith(TCP) else None

    @property
    def name(self) -> str:
        """Its name in messages."""
        return STDIN if self.live else self.path


def place_of(name: str, format: Format | None = None) -> Place:
    """The file that a name such as `edge.csv`, `edge=changes.parquet` or `-` means.

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
        if format is None or (not CHANGE_FORMATS[format].compressed and endings[-1] == "gz"):
            advice = "give it with --format, one of " + ", ".join(FORMATS)
            raise FileFault(f"cannot tell the format of the changes from the name {path}", advice)
    table = isinstance(CHANGE_FORMATS[format], TableFormat)
    if table and not relation and (path == "-" or connected):
        what = "from a connection" if connected else "on the standard input"
        advice = f"write RELATION={path} in place of {path}"
        raise FileFault(f"a table {what} needs the name of its relation", advice)
    if relation and not table:
        raise FileFault(f"{path} is not a table, so {relation}= has no meaning", "leave it out")
    return Place(path, format, relation or stem if table else "")


def read_changes(
    place: Place, relations: Relations, stdin: BinaryIO | None = None
) -> Iterator[Sourced]:
    """The changes of a file or of the standard input, each as soon as it is complete.

    `relations` returns the relations at the time a change is read.
    """
    if place.live and stdin is None:
        raise FileFault("the standard input is closed", "give a file of changes")
    source = stdin if place.live and stdin is not None else place.path
    table = CHANGE_FORMATS[place.format]
    if isinstance(table, TableFormat):
        relation = _known(place.relation, relations)
        return table.read(read_bytes(source), place.name, relation)
    changes = read_pieces(pieces_of(source), place, relations)
    return (each for each in changes if each is not None)


def read_pieces(
    pieces: Iterable[bytes], place: Place, relations: Relations
) -> Iterator[Sourced | None]:
    """The changes in bytes that arrive in the format of a place.

    An empty piece says that nothing more is there for now; so does None among the changes.
    """
    file = place.name
    format = CHANGE_FORMATS[place.format]
    if isinstance(format, TableFormat):
        relation = _known(place.relation, relations)
        data = io.BytesIO()
        for piece in pieces:
            if not piece:
                yield None
            elif data.tell() + len(piece) > MAX_BYTES:
                raise FileFault(f"{file} holds more than {MAX_BYTES:,} bytes", "split it")
            data.write(piece)
        data.seek(0)
        yield from format.read(read_bytes(data), file, relation)
        return
    yield from format.read(whole_lines(pieces, file), file, relations)


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


class TextFormat(NamedTuple):
    """Changes line by line, as they arrive; `text` writes one."""

    endings: tuple[str, ...]
    read: Callable[[Iterable[str], str, Relations], Iterator[Sourced | None]]
    text: Callable[[Change], str]
    compressed: bool = True


class TableFormat(NamedTuple):
    """Changes of one relation as a table, which is read as a whole."""

    endings: tuple[str, ...]
    read: Callable[[bytes, str, Relation], Iterator[Sourced]]
    write: Callable[[ChangeRows], Iterator[bytes]]
    compressed: bool = True  # whether a name may end in .gz


CHANGE_FORMATS: dict[Format, TextFormat | TableFormat] = {
    "changes": TextFormat(("changes", "dl"), read_notation, change_text),
    "jsonl": TextFormat(("jsonl", "ndjson"), read_jsonl, jsonl_text),
    "csv": TableFormat(("csv", "tsv"), read_table, text_rows),
    "parquet": TableFormat(("parquet",), read_parquet, parquet_rows, compressed=False),
}
_ENDINGS = {ending: name for name, each in CHANGE_FORMATS.items() for ending in each.endings}


def _known(name: str, relations: Relations) -> Relation:
    known = relations()
    if name not in known:
        advice = f"{known_alike(name, known)}\n    write a table as RELATION=FILE"
        raise FileFault(f"unknown relation {name} of a table", advice)
    return known[name]
