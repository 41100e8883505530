"""Changes of triples as text: RDF Patch and signed N-Triples.

    TX .                                        + <http://a> <http://b> "c" .
    A <http://a> <http://b> "c" .               - <http://a> <http://b> "d" .
    D <http://a> <http://b> "d" .               commit.
    TC .

Every line is self-describing, so a text may mix both formats and can be read from a live stream.
Blank nodes are those of the graph: `_:f1b0` in a change is `_:f1b0` in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from tidelog.formats.byte_source import FileFault
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.preflight import check_text, encoded, fault
from tidelog.rdf.rdf_terms import iri, library_message, oxigraph
from tidelog.rdf.triple_columns import Columns, Gathered

Form = Literal["patch", "signed"]
FORMS: tuple[Form, ...] = ("patch", "signed")
ENDINGS: dict[str, Form] = {".rdfp": "patch", ".patch": "patch", ".changes": "signed"}

_SIGNS: dict[str, Op] = {"A": "+", "+": "+", "D": "-", "-": "-"}
_HEAD = re.compile(r"[ \t]*(?:([+-])|(\w+))?")
_PREFIX = re.compile(
    r"""\s*P([AD])\s+"?([\w.-]*):?"?(?:\s+(?:<([^>]*)>|"([^"]*)"))?(?:\s+\S+)?\s*\.?\s*"""
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[^\s"<>]+')
_NAME = re.compile(r"(\^\^)?([\w.-]*):(\S*)")


@dataclass(slots=True)
class PatchUpdate:
    """The changes of one transaction, in order."""

    runs: list[tuple[Op, Columns]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(columns) for _, columns in self.runs)


@dataclass
class PatchReader:
    """Reads blocks of whole lines, and yields an update at each commit."""

    file: str
    form: Form | None = None  # of the first change or commit; deltas are written in it
    _line: int = 0
    _open_line: int = 0  # of the open TX, or 0
    _prefixes: dict[str, str] = field(default_factory=dict)
    _runs: list[tuple[Op, Gathered]] = field(default_factory=list)
    _changed: bool = False  # since the last commit
    _lines: list[str] = field(default_factory=list)  # unparsed changes of one sign
    _sources: list[str] = field(default_factory=list)  # these lines before prefix expansion
    _op: Op = "+"
    _first: int = 0

    def updates(self, blocks: Iterable[str]) -> Iterator[PatchUpdate]:
        """Yield an update per commit, and one for changes after the last commit."""
        for number, block in enumerate(blocks):
            block = block if number else block.removeprefix("\ufeff")
            for line in block.split("\n")[: -1 if block.endswith("\n") else None]:
                self._line += 1
                yield from self._read(line.rstrip("\r"))
            self._flush()
        if self._open_line:
            message, advice = "unfinished transaction", "TC . commits it, TA . aborts it"
            raise self._fault(message, advice, self._open_line)
        if self._changed:
            yield self._end_update()

    def _read(self, line: str) -> Iterator[PatchUpdate]:
        head = _HEAD.match(line)
        assert head is not None
        word = head[1] or head[2] or ""
        if word in _SIGNS:
            self.form = self.form or ("signed" if head[1] else "patch")
            # Spaces replace the sign, so that column numbers stay correct.
            self._change(_SIGNS[word], " " * head.end() + line[head.end() :])
            return
        self._flush()
        if word in ("TC", "commit"):
            self.form = self.form or ("signed" if word == "commit" else "patch")
            self._check_alone(line, word)
            if word == "TC" and not self._open_line:
                raise self._fault("TC without TX", "TX . begins a transaction")
            self._open_line = 0
            yield self._end_update()
        elif word == "TX":
            self.form = self.form or "patch"
            self._begin(line)
        elif word == "TA":
            self._check_alone(line, word)
            if not self._open_line:
                raise self._fault("TA without TX", "TX . begins a transaction")
            self._open_line, self._changed = 0, False
            self._runs = []
        elif word in ("PA", "PD"):
            self._prefix(line)
        elif word != "H" and line.strip() and not line.lstrip().startswith("#"):
            raise self._fault(
                "expected a change",
                "begin a line with A, D, TX, TC, TA, PA, PD, H, + or -, or write commit.",
            )

    def _check_alone(self, line: str, word: str) -> None:
        if line.split("#")[0].replace(" ", "").strip() not in (word, f"{word}."):
            raise self._fault(f"unexpected text after {word}", f"write {word} .")

    def _begin(self, line: str) -> None:
        self._check_alone(line, "TX")
        if self._open_line:
            message = f"the transaction of line {self._open_line} is still open"
            raise self._fault(message, "TC . commits it")
        if self._changed:
            raise self._fault("changes before TX", "move them into the transaction")
        self._open_line = self._line

    def _prefix(self, line: str) -> None:
        found = _PREFIX.fullmatch(line)
        address = (found[3] or found[4]) if found else None
        if found is None or (found[1] == "A" and address is None):
            raise self._fault("invalid prefix declaration", 'write PA "ex" "http://example.org/" .')
        if found[1] == "D":
            self._prefixes.pop(found[2], None)
        elif address is not None:
            try:
                iri(address)
            except DataError as error:
                message = str(error).partition("error: ")[2]
                raise self._fault(message, "a prefix stands for the beginning of an IRI") from None
            self._prefixes[found[2]] = address

    def _change(self, op: Op, line: str) -> None:
        if self._lines and self._op != op:
            self._flush()
        # Other lines, such as comments, end a run, so line numbers count from its first line.
        if not self._lines:
            self._op, self._first = op, self._line
        self._sources.append(line)
        if "<_:" in line or self._prefixes:
            line = _TOKEN.sub(self._expand, line)
        self._lines.append(line)
        self._changed = True

    def _expand(self, found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("<_:"):
            return token[1:-1]
        name = _NAME.fullmatch(token)
        if name is None or token[0] in '"<_' or name[2] not in self._prefixes:
            return token
        local = name[3].removesuffix(".")  # a final dot ends the statement, as in Turtle
        return f"{name[1] or ''}<{self._prefixes[name[2]]}{local}>{name[3][len(local) :]}"

    def _flush(self) -> None:
        """Parse the buffered lines."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        sources, self._sources = self._sources, []
        rows = self._rows(lines, sources, self._first)
        if len(rows) != len(lines):
            one = next(n for n, line in enumerate(lines) if len(self._rows([line], [line], 0)) != 1)
            at = self._first + one
            raise self._fault("expected one triple and a dot", _ADVICE, at)
        for number, row in enumerate(rows):
            if row[2].startswith("<<"):
                column = sources[number].find("<<") + 1
                message = "triples about triples are not supported"
                raise fault(self.file, self._first + number, column, message, _ADVICE)
        if not self._runs or self._runs[-1][0] != self._op:
            self._runs.append((self._op, Gathered()))
        self._runs[-1][1].add(rows)

    def _rows(self, lines: list[str], sources: list[str], start: int) -> list[list[str]]:
        """The terms of lines of N-Quads; `start` is the number of the first line."""
        ox = oxigraph()
        text = encoded("\n".join(lines), self.file, start)
        try:
            (text,) = check_text(iter([text]), self.file, start)
            quads = ox.parse(text, ox.RdfFormat.N_QUADS)
            data = ox.serialize(map(attrgetter("triple"), quads), format=ox.RdfFormat.N_TRIPLES)
        except SyntaxError as error:
            number = min((error.lineno or 1) - 1, len(sources) - 1)
            column = self._column(sources[number], error.offset or 1)
            raise fault(
                self.file, start + number, column, library_message(error), _ADVICE
            ) from None
        return [line.split(" ", 2) for line in data[:-3].decode().split(" .\n")] if data else []

    def _column(self, line: str, column: int) -> int:
        """Map a column of the line with expanded prefixes to the original line."""
        growth = 0  # of the line so far
        for found in _TOKEN.finditer(line):
            expanded = self._expand(found)
            start = found.start() + growth + 1
            if column < start:
                break
            if column < start + len(expanded) and expanded != found[0]:
                return found.start() + 1
            growth += len(expanded) - len(found[0])
        return column - growth

    def _end_update(self) -> PatchUpdate:
        runs, self._runs, self._changed = self._runs, [], False
        return PatchUpdate([(op, gathered.columns()) for op, gathered in runs])

    def _fault(self, message: str, advice: str, line: int | None = None) -> DataError:
        return fault(self.file, line or self._line, 1, message, advice)


_ADVICE = 'write A <subject> <predicate> <object> . or + …; a literal is "…"'


def form_of(path: str) -> Form:
    """The format that a file name implies.

    >>> form_of("today.rdfp"), form_of("today.changes.gz")
    ('patch', 'signed')
    """
    for ending, form in ENDINGS.items():
        if path.removesuffix(".gz").endswith(ending):
            return form
    advice = f"use one of the endings {', '.join(ENDINGS)}"
    raise FileFault(f"cannot infer the format of changes from the name {path}", advice)


def text_of(delta: GraphDelta, form: Form) -> str:
    """A delta as one transaction, in a format that `PatchReader` reads."""
    if form == "signed":
        return "".join(f"{op} {' '.join(triple)} .\n" for op, triple in delta) + "commit.\n"
    lines = [f"D {' '.join(triple)} .\n" for triple in delta.removed]
    lines += [f"A {' '.join(triple)} .\n" for triple in delta.added]
    return "".join(("TX .\n", *lines, "TC .\n"))
