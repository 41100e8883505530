"""Changes of triples as text: RDF Patch and signed N-Triples, in and out.

    TX .                                        + <http://a> <http://b> "c" .
    A <http://a> <http://b> "c" .               - <http://a> <http://b> "d" .
    D <http://a> <http://b> "d" .               commit.
    TC .

Both are lines, and a line says itself what it is, so a text may have either, and is read as it
arrives. Blank nodes are those of the graph: `_:f1b0` in a change is `_:f1b0` in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from tidelog.io.source import FileFault
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.rdf.changing import GraphDelta
from tidelog.rdf.columns import Columns, Gathered
from tidelog.rdf.looking import encoded, fault, look_at_text
from tidelog.rdf.terms import iri, oxigraph, told

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
class Update:
    """Changes that take effect together, in the order in which they were given."""

    runs: list[tuple[Op, Columns]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(columns) for _, columns in self.runs)


@dataclass
class PatchReader:
    """Reads blocks of whole lines, and gives an update when its commit has been read."""

    file: str
    form: Form | None = None  # of the first change or commit, for deltas to be in the same
    _line: int = 0
    _inside: int = 0  # the line of the TX that is open
    _prefixes: dict[str, str] = field(default_factory=dict)
    _runs: list[tuple[Op, Gathered]] = field(default_factory=list)
    _some: bool = False  # a change was read since the last commit
    _waiting: list[str] = field(default_factory=list)  # lines of changes of one sign
    _given: list[str] = field(default_factory=list)  # the same as they were given
    _op: Op = "+"
    _from: int = 0

    def updates(self, blocks: Iterable[str]) -> Iterator[Update]:
        """Updates as their commits are read; what follows the last commit is one, too."""
        for number, block in enumerate(blocks):
            block = block if number else block.removeprefix("\ufeff")
            for line in block.split("\n")[: -1 if block.endswith("\n") else None]:
                self._line += 1
                yield from self._read(line.rstrip("\r"))
            self._settle()
        if self._inside:
            message, advice = "the transaction has no end", "TC . commits it, TA . takes it back"
            raise self._wrong(message, advice, self._inside)
        if self._some:
            yield self._ended()

    def _read(self, line: str) -> Iterator[Update]:
        head = _HEAD.match(line)
        assert head is not None
        word = head[1] or head[2] or ""
        if word in _SIGNS:
            self.form = self.form or ("signed" if head[1] else "patch")
            # Blanks take the sign's place, so that columns stay what they are.
            self._change(_SIGNS[word], " " * head.end() + line[head.end() :])
            return
        self._settle()
        if word in ("TC", "commit"):
            self.form = self.form or ("signed" if word == "commit" else "patch")
            self._bare(line, word)
            if word == "TC" and not self._inside:
                raise self._wrong("TC without TX", "TX . begins a transaction")
            self._inside = 0
            yield self._ended()
        elif word == "TX":
            self.form = self.form or "patch"
            self._begin(line)
        elif word == "TA":
            self._bare(line, word)
            if not self._inside:
                raise self._wrong("TA without TX", "TX . begins a transaction")
            self._inside, self._some = 0, False
            self._runs = []
        elif word in ("PA", "PD"):
            self._prefix(line)
        elif word != "H" and line.strip() and not line.lstrip().startswith("#"):
            raise self._wrong(
                "this is no change",
                "a line begins with A, D, TX, TC, TA, PA, PD or H, or with + or -, or is commit.",
            )

    def _bare(self, line: str, word: str) -> None:
        if line.split("#")[0].replace(" ", "").strip() not in (word, f"{word}."):
            raise self._wrong(f"{word} stands alone", f"write {word} .")

    def _begin(self, line: str) -> None:
        self._bare(line, "TX")
        if self._inside:
            raise self._wrong(f"a transaction is open since line {self._inside}", "TC . ends it")
        if self._some:
            raise self._wrong("changes before TX belong to no transaction", "put them behind it")
        self._inside = self._line

    def _prefix(self, line: str) -> None:
        found = _PREFIX.fullmatch(line)
        address = (found[3] or found[4]) if found else None
        if found is None or (found[1] == "A" and address is None):
            raise self._wrong("this is no prefix", 'write PA "ex" "http://example.org/" .')
        if found[1] == "D":
            self._prefixes.pop(found[2], None)
        elif address is not None:
            try:
                iri(address)
            except DataError as error:
                message = str(error).partition("error: ")[2]
                raise self._wrong(message, "a prefix stands for the beginning of an IRI") from None
            self._prefixes[found[2]] = address

    def _change(self, op: Op, line: str) -> None:
        if self._waiting and self._op != op:
            self._settle()
        # Lines in between, such as comments, end a run: so line numbers count from its first.
        if not self._waiting:
            self._op, self._from = op, self._line
        self._given.append(line)
        if "<_:" in line or self._prefixes:
            line = _TOKEN.sub(self._written_out, line)
        self._waiting.append(line)
        self._some = True

    def _written_out(self, found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("<_:"):
            return token[1:-1]
        name = _NAME.fullmatch(token)
        if name is None or token[0] in '"<_' or name[2] not in self._prefixes:
            return token
        local = name[3].removesuffix(".")  # the dot ends the line, as in Turtle
        return f"{name[1] or ''}<{self._prefixes[name[2]]}{local}>{name[3][len(local) :]}"

    def _settle(self) -> None:
        """Read the lines that wait."""
        if not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        given, self._given = self._given, []
        rows = self._rows(lines, given, self._from)
        if len(rows) != len(lines):
            one = next(n for n, line in enumerate(lines) if len(self._rows([line], [line], 0)) != 1)
            at = self._from + one
            raise self._wrong("a line has one triple, and its dot", _ADVICE, at)
        for number, row in enumerate(rows):
            if row[2].startswith("<<"):
                column = given[number].find("<<") + 1
                message = "triples about triples are not supported"
                raise fault(self.file, self._from + number, column, message, _ADVICE)
        if not self._runs or self._runs[-1][0] != self._op:
            self._runs.append((self._op, Gathered()))
        self._runs[-1][1].add(rows)

    def _rows(self, lines: list[str], given: list[str], start: int) -> list[list[str]]:
        """The terms of lines of N-Quads, of which the first has this number."""
        ox = oxigraph()
        text = encoded("\n".join(lines), self.file, start)
        try:
            (text,) = look_at_text(iter([text]), self.file, start)
            quads = ox.parse(text, ox.RdfFormat.N_QUADS)
            data = ox.serialize(map(attrgetter("triple"), quads), format=ox.RdfFormat.N_TRIPLES)
        except SyntaxError as error:
            number = min((error.lineno or 1) - 1, len(given) - 1)
            column = self._column(given[number], error.offset or 1)
            raise fault(self.file, start + number, column, told(error), _ADVICE) from None
        return [line.split(" ", 2) for line in data[:-3].decode().split(" .\n")] if data else []

    def _column(self, line: str, column: int) -> int:
        """What a column of a line with its prefixes written out is in the line as it was given."""
        longer = 0  # that the line is up to here, written out
        for found in _TOKEN.finditer(line):
            written = self._written_out(found)
            start = found.start() + longer + 1
            if column < start:
                break
            if column < start + len(written) and written != found[0]:
                return found.start() + 1
            longer += len(written) - len(found[0])
        return column - longer

    def _ended(self) -> Update:
        runs, self._runs, self._some = self._runs, [], False
        return Update([(op, gathered.columns()) for op, gathered in runs])

    def _wrong(self, message: str, advice: str, line: int | None = None) -> DataError:
        return fault(self.file, line or self._line, 1, message, advice)


_ADVICE = 'write A <subject> <predicate> <object> . or + …; a literal is "…"'


def form_of(path: str) -> Form:
    """The form that a file's name asks for.

    >>> form_of("today.rdfp"), form_of("today.changes.gz")
    ('patch', 'signed')
    """
    for ending, form in ENDINGS.items():
        if path.removesuffix(".gz").endswith(ending):
            return form
    advice = f"it ends in {', '.join(ENDINGS)}"
    raise FileFault(f"the name of {path} does not tell the form of its changes", advice)


def text_of(delta: GraphDelta, form: Form) -> str:
    """A delta as a text that can be given as changes: one transaction."""
    if form == "signed":
        return "".join(f"{op} {' '.join(triple)} .\n" for op, triple in delta) + "commit.\n"
    lines = [f"D {' '.join(triple)} .\n" for triple in delta.removed]
    lines += [f"A {' '.join(triple)} .\n" for triple in delta.added]
    return "".join(("TX .\n", *lines, "TC .\n"))
