"""RDF from files, folders, globs and streams, as columns of terms."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from tidelog.io.source import FileFault, Source, is_path, name_of, pieces
from tidelog.program.diagnostics import DataError, TidelogError
from tidelog.rdf.columns import Columns, Gathered
from tidelog.rdf.looking import (
    encoded,
    fault,
    look_at_json,
    look_at_text,
    look_at_xml,
    place_of,
    without_mark,
)
from tidelog.rdf.terms import iri, oxigraph, told

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
# JSON-LD leaves out what is relative to nothing, as if it had not been said: so it gets a base.
_NOWHERE = "relative-to-nothing://"
_LEFT_OUT = re.compile(rb"<relative-to-nothing:/*([^<>]*)>")
_CONTEXT = re.compile(rb'"@context"\s*:\s*["[]')


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
        if self.graph is not None:
            self.graph = iri(str(self.graph).removeprefix("<").removesuffix(">"))[1:-1]
        if self.base is not None:
            self.base = str(self.base)

    def read_all(self, given: Iterable[Source], *, whole: bool = False) -> None:
        """Files, folders, globs and streams, in this order; inside a folder, by name.

        Where one graph is asked for, formats without graphs are refused, unless they are to be
        taken `whole`, as an ontology that goes with any graph.
        """
        for source in found(given, self.format):
            self.read(source, whole=whole)

    def read(self, source: Source, *, whole: bool = False) -> int:
        """Read one file or stream; returns how many triples it has. It is taken whole or not."""
        check_source(source)
        form, name = format_of(source, self.format), name_of(source)
        if self.graph is not None and form not in _QUADS and not whole:
            advice = f"only {', '.join(_QUADS)} have; leave the graph out to take all triples"
            raise fault(name, None, None, f"{form} has no named graphs to choose from", advice)
        self.sources += 1
        before = len(self.gathered.pieces)
        names = _Labels(f"_:f{self.sources}b") if self.blank_nodes == "apart" else None
        count = 0
        try:
            for batch in self._batches(source, form, name):
                count += self._take(batch, names, lambda: _place(source, form, name))
        except BaseException:
            del self.gathered.pieces[before:]
            raise
        return count

    def text(self, text: str | bytes, form: str = "turtle") -> int:
        """Read a text."""
        if not isinstance(text, str | bytes):
            raise DataError(f"error: a text is a str or bytes, and not {type(text).__name__}")
        stream = io.BytesIO(text if isinstance(text, bytes) else encoded(text, "<text>"))
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

    def _take(self, lines: list[str], labels: _Labels | None, place: Callable[[], _Place]) -> int:
        """Lines of canonical N-Triples, in which only the object may have blanks."""
        rows = [line.split(" ", 2) for line in lines]
        ids, known = self.gathered.ids, len(self.gathered.ids)
        blanks = labels is not None and any(line[0] == "_" or " _:" in line for line in lines)
        count = self.gathered.add(rows, labels if blanks else None)
        for term in islice(ids, known, None):
            if term.startswith("<<"):
                advice = "write what is said of a triple as triples of their own"
                raise fault(*place(), "triples about triples are not supported", advice)
        return count

    def _batches(self, source: Source, form: str, name: str) -> Iterator[list[str]]:
        ox = oxigraph()
        stream = _looked_at(source, form, name)
        target = ox.RdfFormat.N_TRIPLES
        base = _NOWHERE if self.base is None and form == "jsonld" else self.base
        try:
            parser = ox.parse(stream, getattr(ox.RdfFormat, FORMATS[form]), base_iri=base)
            triples = self._chosen(parser) if form in _QUADS else parser
            while data := ox.serialize(islice(triples, _BATCH), format=target):
                if base == _NOWHERE and (relative := _LEFT_OUT.search(data)):
                    raise _relative(relative[1], stream, name)
                # A line end in a literal is escaped, so this ends triples and nothing else.
                yield data[:-3].decode().split(" .\n")
        except SyntaxError as error:
            raise _syntax(error, name, stream, self.base) from None
        except MemoryError:  # the parser's own limit on one line or term
            raise fault(name, None, None, "a line or a term of more than 16 MB", "") from None
        except ValueError as error:
            if self.base is not None and "IRI" in str(error):
                raise TidelogError(f"error: the base {self.base!r} is no IRI: {error}") from None
            raise fault(name, None, None, str(error), "") from None
        self.prefixes.update(parser.prefixes)

    def _chosen(self, quads: Iterator[Any]) -> Iterator[Any]:
        if self.graph is not None:
            wanted = oxigraph().NamedNode(self.graph)
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


def _syntax(error: SyntaxError, name: str, stream: BinaryIO, base: str | None) -> TidelogError:
    """The library's complaint, at its place, with advice where there is some."""
    message, advice = told(error), ""
    line, column = error.lineno, error.offset
    if line is None and isinstance(stream, _Whole) and stream.form == "rdfxml":
        line = _line(stream.getvalue(), base)
    if "scheme found in an absolute IRI" in message:
        message, advice = _RELATIVE
    elif "LoadDocumentCallback" in message:
        message, advice = "a context elsewhere", "it is never fetched: put it into the file"
        if isinstance(stream, _Whole) and (found := _CONTEXT.search(stream.getvalue())):
            line, column = place_of(stream.getvalue(), found.start())
    return fault(name, line, column, message, advice)


def _line(data: bytes, base: str | None) -> int:
    """The line in which XML is at fault, of which the library does not tell the place: the last
    one that it asks for."""
    ox, lines = oxigraph(), _Lines(data)
    try:
        for _ in ox.parse(lines, ox.RdfFormat.RDF_XML, base_iri=base):
            pass
    except SyntaxError:
        pass
    return lines.number


class _Lines:
    """Bytes, read line by line."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self._before = b"\n"
        self.number = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._data.readline(size)
        if piece:
            self.number += self._before.endswith(b"\n")
            self._before = piece
        return piece


_RELATIVE = "a relative IRI, and no base", "--base gives one, or @base in the file"


def _relative(found: bytes, stream: BinaryIO, name: str) -> DataError:
    """At the place where the relative IRI stands in the text, if it stands there as it is."""
    text = stream.getvalue() if isinstance(stream, _Whole) else b""
    at = re.search(rb'"[./]*' + re.escape(found) + rb'"', text)
    line, column = place_of(text, at.start()) if at else (None, None)
    return fault(name, line, column, *_RELATIVE)


_Place = tuple[str, int | None, int | None]
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"|<[^<>"\s]*>|#[^\n]*|(<<)')


def _place(source: Source, form: str, name: str) -> _Place:
    """Where the first triple about a triple is, if lines can be told apart without a parser."""
    if form not in ("ntriples", "nquads") or not is_path(source):
        return name, None, None
    number = 0
    rest = b""
    for piece in pieces(source):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            if b"<<" in line and (column := _nested(line)):
                return name, number, column
    return name, number + 1, _nested(rest)


def _nested(line: bytes) -> int | None:
    for found in _QUOTED.finditer(line):
        if found[1]:
            return place_of(line, found.start())[1]
    return None


def check_source(source: object) -> None:
    if not is_path(source) and not callable(getattr(source, "read", None)):
        raise DataError(
            f"error: {source!r} is no source of RDF\n"
            "    give a file, a folder or a glob by its name, or a stream that can be read"
        )


def _looked_at(source: Source, form: str, name: str) -> BinaryIO:
    """The bytes of a source, as far as they had to be looked at before."""
    readable = source if isinstance(source, str | os.PathLike) else _Bytes(source, name)
    given = without_mark(pieces(readable))  # type: ignore[arg-type]
    if form in ("rdfxml", "jsonld"):
        data = b"".join(given)
        (look_at_xml if form == "rdfxml" else look_at_json)(data, name)
        whole = _Whole(data)
        whole.form = form
        return whole
    return io.BufferedReader(_Stream(look_at_text(given, name)), 1 << 20)


@dataclass(frozen=True)
class _Bytes:
    """A stream of bytes or of text, read as bytes."""

    stream: Any
    name: str

    def read(self, size: int) -> bytes:
        piece = self.stream.read(size)
        return encoded(piece, self.name) if isinstance(piece, str) else bytes(piece or b"")


class _Whole(io.BytesIO):
    """All bytes of a source, with their format."""

    form = ""


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
    if not isinstance(name, str) or name not in FORMATS:
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
        check_source(each)
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
