"""RDF from files, folders, globs and streams, as columns of terms."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from tidelog.io.source import FileFault, Source, is_path, name_of, pieces
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.columns import Columns, Gathered
from tidelog.rdf.looking import fault, look_at_json, look_at_text, look_at_xml
from tidelog.rdf.terms import oxigraph

FORMATS = {
    "ntriples": "N_TRIPLES",
    "turtle": "TURTLE",
    "nquads": "N_QUADS",
    "trig": "TRIG",
    "rdfxml": "RDF_XML",
    "jsonld": "JSON_LD",
}
ENDINGS = {
    ".nt": "ntriples",
    ".ttl": "turtle",
    ".nq": "nquads",
    ".trig": "trig",
    ".rdf": "rdfxml",
    ".owl": "rdfxml",
    ".xml": "rdfxml",
    ".jsonld": "jsonld",
    ".json": "jsonld",
}
BLANK_NODES = ("apart", "keep")
_BATCH = 1 << 16  # triples between two looks at what came
_QUADS = ("nquads", "trig", "jsonld")
_OURS = re.compile(r"_:f(\d+)b\d+")


@dataclass
class Reader:
    """Reads sources one after the other into columns that share their terms.

    `blank_nodes` is "apart" if those of different sources are different nodes (the first of the
    first source is `_:f1b0`, and so on), or "keep" if a label means the same node everywhere.
    `graph` takes only the triples of that named graph; otherwise graphs are merged into one.
    """

    format: str | None = None
    base: str | None = None
    graph: str | None = None
    blank_nodes: str = "apart"
    sources: int = 0  # read so far, which tells their blank nodes apart
    gathered: Gathered = field(default_factory=Gathered)
    prefixes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.blank_nodes not in BLANK_NODES:
            raise TidelogError(f"error: blank nodes are {' or '.join(BLANK_NODES)}")
        if self.format is not None:
            format_named(self.format)

    def read_all(self, given: Iterable[Source]) -> None:
        """Files, folders, globs and streams, in this order; inside a folder, by name."""
        for source in found(given, self.format):
            self.read(source)

    def read(self, source: Source) -> int:
        """Read one file or stream; returns how many triples it has. It is taken whole or not."""
        form, name = format_of(source, self.format), name_of(source)
        self.sources += 1
        before = len(self.gathered.pieces)
        names = _Labels(f"_:f{self.sources}b") if self.blank_nodes == "apart" else None
        count = 0
        try:
            for batch in self._batches(source, form, name):
                count += self._take(batch, names, name)
        except BaseException:
            del self.gathered.pieces[before:]
            raise
        return count

    def text(self, text: str, form: str = "turtle") -> int:
        """Read a text."""
        stream = io.BytesIO(text.encode())
        stream.name = "<text>"
        before, self.format = self.format, form
        try:
            return self.read(stream)
        finally:
            self.format = before

    def noted(self, terms: Iterable[str]) -> None:
        """Labels that look like ours are taken: no source to come may give them out."""
        for term in terms:
            if (mine := _OURS.fullmatch(term)) is not None:
                self.sources = max(self.sources, int(mine[1]))

    def columns(self) -> Columns:
        """What was read since the last call."""
        gathered, self.gathered = self.gathered, Gathered()
        return gathered.columns()

    def _take(self, lines: list[str], labels: _Labels | None, name: str) -> int:
        """Lines of canonical N-Triples, in which only the object may have blanks."""
        rows = [line.split(" ", 2) for line in lines]
        ids, known = self.gathered.ids, len(self.gathered.ids)
        blanks = labels is not None and any(line[0] == "_" or " _:" in line for line in lines)
        count = self.gathered.add(rows, labels if blanks else None)
        for term in islice(ids, known, None):
            if term.startswith("<<"):
                advice = "write what is said of a triple as triples of their own"
                raise fault(name, None, None, "triples about triples are not supported", advice)
        return count

    def _batches(self, source: Source, form: str, name: str) -> Iterator[list[str]]:
        ox = oxigraph()
        stream = _looked_at(source, form, name)
        target = ox.RdfFormat.N_TRIPLES
        try:
            parser = ox.parse(stream, getattr(ox.RdfFormat, FORMATS[form]), base_iri=self.base)
            triples = self._chosen(parser) if form in _QUADS else parser
            while data := ox.serialize(islice(triples, _BATCH), format=target):
                # A line end in a literal is escaped, so this ends triples and nothing else.
                yield data[:-3].decode().split(" .\n")
        except SyntaxError as error:
            raise _syntax(error, name) from None
        except MemoryError:  # the parser's own limit on one line or term
            raise fault(name, None, None, "a line or a term of more than 16 MB", "") from None
        except ValueError as error:
            if self.base is not None and "IRI" in str(error):
                raise TidelogError(f"error: the base {self.base!r} is no IRI: {error}") from None
            raise fault(name, None, None, str(error), "") from None
        self.prefixes.update(parser.prefixes)

    def _chosen(self, quads: Iterator[Any]) -> Iterator[Any]:
        if self.graph is not None:
            wanted = oxigraph().NamedNode(self.graph.removeprefix("<").removesuffix(">"))
            quads = (quad for quad in quads if quad.graph_name == wanted)
        return map(attrgetter("triple"), quads)


class _Labels:
    """Blank nodes of one source under names of their own, in the order in which they come."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._names: dict[str, str] = {}

    def __call__(self, term: str) -> str:
        if term[0] != "_":
            return term
        return self._names.setdefault(term, f"{self._start}{len(self._names)}")


def _syntax(error: SyntaxError, name: str) -> TidelogError:
    """The library's complaint, at its place, with advice where there is some."""
    message = str(error.msg)
    if message.startswith("Parser error at "):
        message = message.partition(": ")[2]
    advice = ""
    if "No scheme found" in message:
        message, advice = "a relative IRI, and no base", "--base gives one, or @base in the file"
    elif "LoadDocumentCallback" in message:
        message, advice = "a context elsewhere", "it is never fetched: put it into the file"
    return fault(name, error.lineno, error.offset, message[:1].lower() + message[1:], advice)


def _looked_at(source: Source, form: str, name: str) -> BinaryIO:
    """The bytes of a source, as far as they had to be looked at before."""
    if form in ("rdfxml", "jsonld"):
        data = b"".join(pieces(source))
        (look_at_xml if form == "rdfxml" else look_at_json)(data, name)
        return io.BytesIO(data)
    return io.BufferedReader(_Stream(look_at_text(pieces(source), name)), 1 << 20)


class _Stream(io.RawIOBase):
    """Pieces of bytes, to be read like a file."""

    def __init__(self, given: Iterator[bytes]) -> None:
        self._given = given
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._given, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


# Which files, and in which format.


def format_named(name: str) -> str:
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise TidelogError(f"error: there is no format {name!r}\n    there are {known}")
    return name


def format_of(source: Source, given: str | None = None) -> str:
    """The format that was given, or that the name tells.

    >>> format_of("data/people.ttl.gz")
    'turtle'
    """
    if given is not None:
        return format_named(given)
    name = name_of(source)
    known = _ending(name)
    if known is None:
        advice = f"--format tells it: {', '.join(FORMATS)}; or rename it: {', '.join(ENDINGS)}"
        raise FileFault(f"the name of {name} does not tell its format", advice)
    return known


def _ending(name: str) -> str | None:
    return ENDINGS.get(Path(name.removesuffix(".gz")).suffix.lower())


def found(given: Iterable[Source], form: str | None = None) -> Iterator[Source]:
    """The files that names of files, folders and globs stand for, and streams as they are."""
    for each in given:
        if not is_path(each):
            yield each
            continue
        name = os.fspath(each)  # type: ignore[arg-type]
        if os.path.isdir(name):
            yield from _inside(name, form)
        elif not os.path.lexists(name) and glob.has_magic(name):
            yield from _matching(name, form)
        else:
            yield name


def _inside(folder: str, form: str | None) -> Sequence[str]:
    files = sorted(
        os.path.join(at, name)
        for at, _, names in os.walk(folder)
        for name in names
        if not name.startswith(".") and _ending(name) is not None
    )
    if not files:
        raise FileFault(f"the folder {folder} has no RDF in it", f"it has {', '.join(ENDINGS)}")
    return files


def _matching(pattern: str, form: str | None) -> Iterator[str]:
    names = sorted(glob.glob(pattern, recursive=True))
    if not names:
        raise FileFault(f"no file matches {pattern}", "check the name and the folder")
    for name in names:
        if not os.path.isdir(name):
            yield name
