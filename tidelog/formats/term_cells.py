"""Records and branches in files of facts, in Soufflé's notation: `[1, a]`, `nil`, `$A(1, nil)`.

A symbol inside stands without quotes and goes to the next comma or closing bracket, of the
sort that closes what it is in; one that could not be read so is written in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tidelog.formats.field_values import BLANKS, PARSERS, CellFault, float_text, shown
from tidelog.program.diagnostics import plural
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Column, SymbolColumn, Table
from tidelog.program.terms import MOST_DEEP, NIL, RECORD, Branch, TermKind, written
from tidelog.text.lexer import ESCAPES

_NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_PLAIN = re.compile(r'[^\s\[\](),"\\\x00-\x1f](?:[^\[\](),"\\\x00-\x1f]*[^\s\[\](),"\\\x00-\x1f])?')
_ESCAPED = str.maketrans({char: f"\\{code}" for code, char in ESCAPES.items() if code != "'"})


class _Stop(Exception):
    """Reading cannot go on at this place."""

    def __init__(self, message: str, advice: str, place: int) -> None:
        super().__init__(message)
        self.fault = CellFault(message, advice, place)


def parser_of(kind: Kind) -> Callable[[str], Value | CellFault]:
    """What reads a field of a column of this kind, which is not of symbols."""
    return partial(parse_term, kind) if isinstance(kind, TermKind) else PARSERS[kind]


def parse_term(kind: TermKind, cell: str) -> Value | CellFault:
    """A record or branch, or the error in its text and its position."""
    try:
        return _Reader(kind, cell).whole()
    except _Stop as stop:
        return stop.fault


class _Open:
    """A value that is being read, with the fields that it has so far."""

    __slots__ = ("closing", "constructor", "fields", "kind", "values")

    def __init__(self, kind: TermKind, constructor: str, closing: str) -> None:
        self.kind, self.constructor, self.closing = kind, constructor, closing
        self.fields = kind.constructors[constructor]
        self.values: list[Value] = []


class _Reader:
    """One cell, from left to right; what is open waits on a stack."""

    def __init__(self, kind: TermKind, text: str) -> None:
        self.kind = kind
        self.text = text
        self.place = 0
        self.open: list[_Open] = []

    def whole(self) -> Value:
        value = self.begin(self.kind)
        while self.open:
            value = self.go_on()
        self.blanks()
        if self.place < len(self.text):
            raise self.stop(f"unexpected text after the {self.kind} in {{column}}", "remove it")
        return value

    def go_on(self) -> Value:
        """Read the next field of what is open, or close it."""
        top = self.open[-1]
        self.blanks()
        if len(top.values) == len(top.fields):
            what = f"the {plural(len(top.fields), 'field')} of {_of(top)} in {{column}}"
            self.expect(top.closing, f"expected `{top.closing}` after {what}")
            self.open.pop()
            return self.done(top.kind.made(top.constructor, tuple(top.values)))
        if top.values:
            message = f"{_of(top)} in {{column}} has {plural(len(top.fields), 'field')}"
            given = "1 is" if len(top.values) == 1 else f"{len(top.values)} are"
            self.expect(",", f"{message}, but {given} given here")
        return self.begin(top.fields[len(top.values)].kind)

    def begin(self, kind: Kind) -> Value:
        """Read a simple value, or open a record or branch."""
        self.blanks()
        if not isinstance(kind, TermKind):
            return self.done(self.leaf(kind))
        if kind.record and self.text.startswith(NIL, self.place):
            self.place += len(NIL)
            return self.done(None)
        constructor = self.constructor(kind)
        if len(self.open) >= MOST_DEEP:
            raise self.stop(f"{{column}} is nested more than {MOST_DEEP} levels deep", "split it")
        closed = self.text[self.place : self.place + 1] == ("[" if kind.record else "(")
        if not closed and not kind.record and not kind.constructors[constructor]:
            return self.done(kind.made(constructor, ()))
        self.expect("[" if kind.record else "(", f"{{cell}} in {{column}} is not a {kind}")
        self.open.append(_Open(kind, constructor, "]" if kind.record else ")"))
        return None

    def constructor(self, kind: TermKind) -> str:
        if kind.record:
            return RECORD
        found = _NAME.match(self.text, self.place + 1)
        if not self.text.startswith("$", self.place) or found is None:
            raise self.stop(f"{{cell}} in {{column}} is not a {kind}", f"write {kind.example()}")
        if found[0] not in kind.constructors:
            message = f"{kind} in {{column}} has no branch {found[0]}"
            raise self.stop(message, f"write {kind.example()}")
        self.place = found.end()
        return found[0]

    def done(self, value: Value) -> Value:
        """The value belongs to what is open around it."""
        if self.open:
            self.open[-1].values.append(value)
        return value

    def leaf(self, kind: Kind) -> Value:
        start = self.place
        if kind == "symbol" and self.text.startswith('"', start):
            quoted = _QUOTED.match(self.text, start)
            if quoted is None:
                raise self.stop("a quote is not closed in {column}", 'close it with `"`')
            self.place = quoted.end()
            return _ESCAPE.sub(self.unescaped, quoted[1])
        ends = (",", self.open[-1].closing)
        self.place = min(
            (at for end in ends if (at := self.text.find(end, start)) >= 0),
            default=len(self.text),
        )
        word = self.text[start : self.place]
        if kind == "symbol":
            return word
        value = PARSERS[kind](word.rstrip(BLANKS))
        if isinstance(value, CellFault):
            message = value.message.replace("{cell}", _shown(word)).replace(
                "{column}", "this field of {column}"
            )
            raise _Stop(message, value.advice, start)
        return value

    def unescaped(self, found: re.Match[str]) -> str:
        return ESCAPES.get(found[1], found[1])

    def expect(self, sign: str, message: str) -> None:
        if not self.text.startswith(sign, self.place):
            raise self.stop(message, f"write {self.kind.example()}")
        self.place += len(sign)

    def blanks(self) -> None:
        while self.text[self.place : self.place + 1] in (" ", "\t"):
            self.place += 1

    def stop(self, message: str, advice: str) -> _Stop:
        return _Stop(message, advice, self.place)


def _of(open_: _Open) -> str:
    return open_.kind if open_.kind.record else f"branch {open_.constructor}"


def _shown(word: str) -> str:
    return shown(word).replace("{", "{{").replace("}", "}}")


def term_text(kind: Kind, value: Value) -> str:
    """A record or branch as in files of facts.

    >>> from tidelog.program.terms import Field
    >>> pair = TermKind.named("Pair", True, 16)
    >>> pair.constructors[RECORD] = (Field("a", "number"), Field("b", "symbol"))
    >>> term_text(pair, (1, "a")), term_text(pair, (1, "a, b")), term_text(pair, None)
    ('[1, a]', '[1, "a, b"]', 'nil')
    """
    return written(kind, value, _leaf_text)


def answer_text(value: Value) -> str:
    """A value of an answer, for people: records and branches as in files, others as they are.

    >>> answer_text(("a", None)), answer_text(Branch("No")), answer_text("a, b"), answer_text(0.5)
    ('[a, nil]', '$No', 'a, b', '0.5')
    """
    if value is None or isinstance(value, tuple | Branch):
        return written(None, value, _leaf_text)
    return str(value)


def _leaf_text(kind: Kind | None, value: Value) -> str:
    if isinstance(value, str):
        plain = not value or _PLAIN.fullmatch(value)
        return value if plain else f'"{value.translate(_ESCAPED)}"'
    return float_text(value) if isinstance(value, float) else str(value)


def in_text(table: Table) -> Table:
    """The table with text for its records and branches: columns as of symbols."""
    if not any(isinstance(kind, TermKind) for kind in table.kinds):
        return table
    columns: list[Column] = []
    for kind, column in zip(table.kinds, table.columns, strict=True):
        if isinstance(kind, TermKind) and isinstance(column, SymbolColumn):
            column = SymbolColumn(column.codes, [term_text(kind, word) for word in column.words])
        columns.append(column)
    return Table(table.kinds, tuple(columns), table.size)


def cells_of(line: str, delimiter: str) -> list[str]:
    """The fields of a line, where a delimiter in brackets or quotes separates nothing.

    >>> cells_of('[1, a],2,$A("x,[", 3)', ",")
    ['[1, a]', '2', '$A("x,[", 3)']
    """
    cells, depth, start, at = [], 0, 0, 0
    while at < len(line):
        sign = line[at]
        if depth == 0 and line.startswith(delimiter, at):
            cells.append(line[start:at])
            at = start = at + len(delimiter)
            continue
        if depth and sign == '"' and (quoted := _QUOTED.match(line, at)):
            at = quoted.end()
            continue
        if sign in "[(":
            depth += 1
        elif sign in "])":
            depth = max(0, depth - 1)
        at += 1
    return [*cells, line[start:]]
