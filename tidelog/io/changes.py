"""Changes from files and streams: the notation, JSON Lines, and tables of one relation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, get_args

from tidelog.io.jsonl import read_jsonl
from tidelog.io.lines import pieces_of, whole_lines
from tidelog.io.source import FileFault, read_bytes
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
_NAMED = re.compile(r"([A-Za-z_?][A-Za-z0-9_?]*)=(.+)", re.DOTALL)

Sourced = tuple[Change, Sources]  # a change, and the lines that messages about it show


@dataclass(frozen=True, slots=True)
class Place:
    """A file of changes, or `-`; a table is of one relation."""

    path: str
    format: Format
    relation: str  # of a table, else empty

    @property
    def live(self) -> bool:
        return self.path == "-"

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
    stem, *endings = os.path.basename(path).split(".")
    if path == "-":
        format = format or "changes"
    elif format is None:
        last = endings[-2] if endings[-1:] == ["gz"] and len(endings) > 1 else (endings or [""])[-1]
        format = _ENDINGS.get(last.lower())
        if format is None or (format == "parquet" and endings[-1] == "gz"):
            advice = "give it with --format, one of " + ", ".join(FORMATS)
            raise FileFault(f"the name {path} does not tell the format of its changes", advice)
    table = format in ("csv", "parquet")
    if table and not relation and path == "-":
        advice = "write RELATION=- in place of -"
        raise FileFault("a table on the standard input does not tell its relation", advice)
    if relation and not table:
        raise FileFault(f"{path} is no table, so {relation}= has no meaning", "leave it out")
    return Place(path, format, relation or stem if table else "")


def read_changes(
    place: Place, relations: Relations, stdin: BinaryIO | None = None
) -> Iterator[Sourced]:
    """The changes of a file or of the standard input, each as soon as it is complete.

    `relations` tells the relations as they are when a change is read.
    """
    file = place.name
    if place.live and stdin is None:
        raise FileFault("the standard input is closed", "give a file of changes")
    source = stdin if place.live and stdin is not None else place.path
    if place.format in ("csv", "parquet"):
        relation = _known(place.relation, relations)
        read = read_table if place.format == "csv" else read_parquet
        yield from read(read_bytes(source), file, relation)
        return
    lines = whole_lines(pieces_of(source), file)
    if place.format == "jsonl":
        yield from read_jsonl(lines, file, relations)
    else:
        yield from read_notation(lines, file, relations)


def read_notation(lines: Iterable[str], file: str, relations: Relations) -> Iterator[Sourced]:
    """The changes in text that arrives in blocks of whole lines."""
    changes = Changes(file, relations)
    for block in lines:
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
