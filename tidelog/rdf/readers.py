"""RDF from files, folders, globs and streams, as columns of terms."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from tidelog.control.limits import poll
from tidelog.formats.byte_source import FileFault, Source, is_path, name_of, pieces
from tidelog.program.diagnostics import DataError, TidelogError, during
from tidelog.program.suggestions import suggestion
from tidelog.rdf.formats import ENDINGS, FORMATS
from tidelog.rdf.preflight import (
    check_json,
    check_text,
    check_xml,
    encoded,
    fault,
    place_of,
    strip_byte_order_mark,
)
from tidelog.rdf.rdf_terms import iri, library_message, oxigraph
from tidelog.rdf.triple_columns import Columns, Gathered

BLANK_NODES = ("apart", "keep")
_BATCH = 1 << 16  # triples
_QUADS = [name for name, form in FORMATS.items() if form.graphs]
_RELABELLED = re.compile(r"_:f(\d+)b\d+")
# JSON-LD silently drops relative IRIs without a base; this base makes them visible.
_MISSING_BASE = "relative-to-nothing://"
_RELATIVE_IRI = re.compile(rb"<relative-to-nothing:/*([^<>]*)>")
_CONTEXT = re.compile(rb'"@context"\s*:\s*["[]')


@dataclass
class Reader:
    """Reads sources one after the other into columns with shared terms.

    With `blank_nodes="apart"` each source has blank nodes of its own: the first of the first source
    is `_:f1b0`. With "keep" a label means the same node in every source. `graph` selects one named
    graph; by default all graphs are merged.
    """

    format: str | None = None
    base: str | None = None
    graph: str | None = None
    blank_nodes: str = "apart"
    sources: int = 0  # number of sources read, which labels their blank nodes
    gathered: Gathered = field(default_factory=Gathered)
    prefixes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.blank_nodes not in BLANK_NODES:
            expected = " or ".join(map(repr, BLANK_NODES))
            raise TidelogError(
                f"error: expected {expected} for blank_nodes, got {self.blank_nodes!r}"
            )
        if self.format is not None:
            format_named(self.format)
        if self.graph is not None:
            self.graph = iri(str(self.graph).removeprefix("<").removesuffix(">"))[1:-1]
        if self.base is not None:
            self.base = str(self.base)

    def read_all(self, sources: Iterable[Source], *, whole: bool = False) -> None:
        """Read files, folders, globs and streams in order; files of a folder by name.

        If one graph is selected, formats without graphs raise an error unless `whole` is set, as
        it is for an ontology.
        """
        for source in expand(sources):
            self.read(source, whole=whole)

    def read(self, source: Source, *, whole: bool = False) -> int:
        """Read one file or stream, atomically, and return how many triples it has."""
        check_source(source)
        form, name = format_of(source, self.format), name_of(source)
        if self.graph is not None and form not in _QUADS and not whole:
            advice = f"only {', '.join(_QUADS)} do; omit the graph to read all triples"
            raise fault(name, None, None, f"{form} does not support named graphs", advice)
        self.sources += 1
        before = len(self.gathered.pieces)
        names = _Labels(f"_:f{self.sources}b") if self.blank_nodes == "apart" else None
        place = partial(_position_of_nested, source, form, name)
        count = 0
        try:
            with during(f"{name} was read"):
                for batch in self._batches(source, form, name):
                    poll()
                    count += self._add(batch, names, place)
        except BaseException:
            del self.gathered.pieces[before:]
            raise
        return count

    def text(self, text: str | bytes, form: str = "turtle") -> int:
        """Read a text."""
        if not isinstance(text, str | bytes):
            raise DataError(f"error: expected text as str or bytes, got {type(text).__name__}")
        stream = io.BytesIO(text if isinstance(text, bytes) else encoded(text, "<text>"))
        stream.name = "<text>"
        before, self.format = self.format, form
        try:
            return self.read(stream)
        finally:
            self.format = before

    def reserve_labels(self, terms: Iterable[str]) -> None:
        """Keep later sources from assigning these labels."""
        for term in terms:
            if (found := _RELABELLED.fullmatch(term)) is not None:
                self.sources = max(self.sources, int(found[1]))

    def columns(self) -> Columns:
        """The triples read since the last call."""
        gathered, self.gathered = self.gathered, Gathered()
        return gathered.columns()

    def _add(self, lines: list[str], labels: _Labels | None, place: Callable[[], _Position]) -> int:
        """Add lines of canonical N-Triples, in which only the object may contain spaces."""
        rows = [line.split(" ", 2) for line in lines]
        ids, known = self.gathered.ids, len(self.gathered.ids)
        blanks = labels is not None and any(line[0] == "_" or " _:" in line for line in lines)
        count = self.gathered.add(rows, labels if blanks else None)
        for term in islice(ids, known, None):
            if term.startswith("<<"):
                advice = "describe a statement with triples about a node of its own"
                raise fault(*place(), "triples about triples are not supported", advice)
        return count

    def _batches(self, source: Source, form: str, name: str) -> Iterator[list[str]]:
        ox = oxigraph()
        stream = _open_checked(source, form, name)
        target = ox.RdfFormat.N_TRIPLES
        base = _MISSING_BASE if self.base is None and form == "jsonld" else self.base
        try:
            parser = ox.parse(stream, getattr(ox.RdfFormat, FORMATS[form].parser), base_iri=base)
            triples = self._select_graph(parser) if form in _QUADS else parser
            while data := ox.serialize(islice(triples, _BATCH), format=target):
                if base == _MISSING_BASE and (relative := _RELATIVE_IRI.search(data)):
                    raise _relative(relative[1], stream, name)
                # Literals escape line ends, so this separates triples only.
                yield data[:-3].decode().split(" .\n")
        except SyntaxError as error:
            raise _syntax(error, name, stream, self.base) from None
        except MemoryError:  # the parser's own limit on one line or term
            raise fault(name, None, None, "a line or term exceeds 16 MB", "") from None
        except ValueError as error:
            if self.base is not None and "IRI" in str(error):
                raise TidelogError(f"error: invalid base IRI {self.base!r}: {error}") from None
            raise fault(name, None, None, str(error), "") from None
        self.prefixes.update(parser.prefixes)

    def _select_graph(self, quads: Iterator[Any]) -> Iterator[Any]:
        if self.graph is not None:
            wanted = oxigraph().NamedNode(self.graph)
            quads = (quad for quad in quads if quad.graph_name == wanted)
        return map(attrgetter("triple"), quads)


class _Labels:
    """Relabels the blank nodes of one source, numbered in order of occurrence."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._names: dict[str, str] = {}

    def __call__(self, term: str) -> str:
        if term[0] != "_":
            return term
        return self._names.setdefault(term, f"{self._start}{len(self._names)}")


def _syntax(error: SyntaxError, name: str, stream: BinaryIO, base: str | None) -> TidelogError:
    """The parser's error at its position, with advice."""
    message, advice = library_message(error), ""
    line, column = error.lineno, error.offset
    if line is None and isinstance(stream, _Buffer) and stream.form == "rdfxml":
        line = _xml_error_line(stream.getvalue(), base)
    if "scheme found in an absolute IRI" in message:
        message, advice = _NO_BASE
    elif "LoadDocumentCallback" in message:
        message, advice = "remote @context", "contexts are not fetched; inline it"
        if isinstance(stream, _Buffer) and (found := _CONTEXT.search(stream.getvalue())):
            line, column = place_of(stream.getvalue(), found.start())
    return fault(name, line, column, message, advice)


def _xml_error_line(data: bytes, base: str | None) -> int:
    """The line of an XML error without a position: the last line that the parser reads."""
    ox, lines = oxigraph(), _LineCounter(data)
    try:
        for _ in ox.parse(lines, ox.RdfFormat.RDF_XML, base_iri=base):
            pass
    except SyntaxError:
        pass
    return lines.number


class _LineCounter:
    """A stream that counts the lines read."""

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


_NO_BASE = "relative IRI without a base", "pass --base, or declare @base in the file"


def _relative(found: bytes, stream: BinaryIO, name: str) -> DataError:
    """The error for a relative IRI, with its position if the text contains it literally."""
    text = stream.getvalue() if isinstance(stream, _Buffer) else b""
    at = re.search(rb'"[./]*' + re.escape(found) + rb'"', text)
    line, column = place_of(text, at.start()) if at else (None, None)
    return fault(name, line, column, *_NO_BASE)


_Position = tuple[str, int | None, int | None]
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"|<[^<>"\s]*>|#[^\n]*|(<<)')


def _position_of_nested(source: Source, form: str, name: str) -> _Position:
    """The position of the first triple about a triple, in formats with one triple per line."""
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
            f"error: expected an RDF source, got {source!r}\n"
            "    pass the name of a file, folder or glob, or a readable stream"
        )


def _open_checked(source: Source, form: str, name: str) -> BinaryIO:
    """Open a source whose bytes pass the checks of `preflight`."""
    readable = source if isinstance(source, str | os.PathLike) else _Bytes(source, name)
    data = strip_byte_order_mark(pieces(readable))  # type: ignore[arg-type]
    if form in ("rdfxml", "jsonld"):
        buffer = _Buffer(b"".join(data))
        (check_xml if form == "rdfxml" else check_json)(buffer.getvalue(), name)
        buffer.form = form
        return buffer
    return io.BufferedReader(_Stream(check_text(data, name)), 1 << 20)


@dataclass(frozen=True)
class _Bytes:
    """A stream of bytes or text, read as bytes."""

    stream: Any
    name: str

    def read(self, size: int) -> bytes:
        piece = self.stream.read(size)
        return encoded(piece, self.name) if isinstance(piece, str) else bytes(piece or b"")


class _Buffer(io.BytesIO):
    """All bytes of a source, and their format."""

    form = ""


class _Stream(io.RawIOBase):
    """A file over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def format_named(name: str) -> str:
    if not isinstance(name, str) or name not in FORMATS:
        advice = suggestion(str(name), FORMATS)
        raise TidelogError(f"error: unknown format {name!r}\n    {advice}")
    return name


def format_of(source: Source, form: str | None = None) -> str:
    """The explicit format, or the one that the file name implies.

    >>> format_of("data/people.ttl.gz")
    'turtle'
    """
    if form is not None:
        return format_named(form)
    name = name_of(source)
    known = _ending(name)
    if known is None:
        advice = f"pass --format {'|'.join(FORMATS)}, or use an ending: {', '.join(ENDINGS)}"
        raise FileFault(f"cannot infer the format of {name} from its name", advice)
    return known


def _ending(name: str) -> str | None:
    return ENDINGS.get(Path(name.removesuffix(".gz")).suffix.lower())


def expand(sources: Iterable[Source]) -> Iterator[Source]:
    """The files behind names of files, folders and globs; streams unchanged."""
    for each in sources:
        check_source(each)
        if not is_path(each):
            yield each
            continue
        name = os.fspath(each)  # type: ignore[arg-type]
        if os.path.isdir(name):
            yield from _in_folder(name)
        elif not os.path.lexists(name) and glob.has_magic(name):
            yield from _matching(name)
        else:
            yield name


def _in_folder(folder: str) -> Sequence[str]:
    files = sorted(
        os.path.join(at, name)
        for at, _, names in os.walk(folder)
        for name in names
        if not name.startswith(".") and _ending(name) is not None
    )
    if not files:
        advice = f"expected files ending in {', '.join(ENDINGS)}"
        raise FileFault(f"no RDF files in the folder {folder}", advice)
    return files


def _matching(pattern: str) -> Iterator[str]:
    names = sorted(glob.glob(pattern, recursive=True))
    if not names:
        raise FileFault(f"no file matches {pattern}", "check the name and the folder")
    for name in names:
        if not os.path.isdir(name):
            yield name
