"""A program's text in pieces, for the formatter: statements with their tokens, comments,
and lines of the preprocessor, each with its place.

Nothing is preprocessed. A macro mostly stands where a name or an atom could, and is read as
such; where it does not, and the file has lines for the preprocessor, the statement is kept as
it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.syntax import Span
from tidelog.text.cursor import Cursor
from tidelog.text.lexer import Fault, SourceText, Token
from tidelog.text.macros import COMMENT, STRING
from tidelog.text.preprocessor import LINE
from tidelog.text.statements import Statements, clause, component, directive

_SCAN = re.compile(rf"(?P<line>{LINE})|(?P<comment>{COMMENT})|{STRING}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """A comment, or a line of the preprocessor."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class Statement:
    """Tokens up to the end of a statement; without any, it could not be read.

    The head of a component ends with its `{`, and its `}` is a separate statement.
    """

    start: int
    end: int
    tokens: list[Token]
    notes: list[Note] = field(default_factory=list)  # that stand inside it

    @property
    def keyword(self) -> str:
        """The directive that it is, or nothing for a clause."""
        return self.tokens[0].text if self.tokens and self.tokens[0].kind == "directive" else ""

    @property
    def role(self) -> Literal["open", "close", ""]:
        if not self.tokens:
            return ""
        if self.keyword == ".comp":
            return "open"
        return "close" if self.tokens[0].kind == "}" else ""

    @property
    def is_fact(self) -> bool:
        kinds = {token.kind for token in self.tokens}
        return bool(kinds) and not self.keyword and not self.role and ":-" not in kinds


Piece = Statement | Note


def pieces(text: str, file: str = "<program>") -> list[Piece]:
    """All pieces of a program's text in order; raises ProgramError if it has errors."""
    notes = [
        Note(found.start(), found.end(), found[0])
        for found in _SCAN.finditer(text)
        if found["line"] is not None or found["comment"] is not None
    ]
    lines = [note for note in notes if not note.text.startswith("/")]
    hidden = list(text)
    for note in lines:
        hidden[note.start : note.end] = [c if c in "\r\n" else " " for c in note.text]
    found = list(_Reading(file, text, "".join(hidden), bool(lines)).statements())
    return _merged(found, notes)


def _merged(statements: list[Statement], notes: list[Note]) -> list[Piece]:
    """Both in order; what stands inside a statement is a part of it."""
    merged: list[Piece] = []
    todo = iter([*notes, None])
    note = next(todo)
    for statement in statements:
        while note is not None and note.start < statement.end:
            if note.start < statement.start:
                merged.append(note)
            else:
                statement.notes.append(note)
            note = next(todo)
        merged.append(statement)
    while note is not None:
        merged.append(note)
        note = next(todo)
    return merged


class _Reading:
    """Reads one statement after the other, as the parser does, to know where each ends."""

    def __init__(self, file: str, text: str, hidden: str, macros: bool) -> None:
        self.lines = text.split("\n")
        self.file = file
        self.macros = macros
        self.found: list[Diagnostic] = []
        self.cursor = Cursor(SourceText(file, hidden), self.report, None, None)
        self.depth = 0

    def report(self, message: str, at: Span, advice: str = "") -> None:
        self.found.append(Diagnostic(message, at, advice))

    def statements(self) -> Iterator[Statement]:
        cursor = self.cursor
        while self.more():
            first, begin, before = cursor.tokens, cursor.index, len(self.found)
            start = cursor.peek().start
            try:
                self.read()
            except Fault as fault:
                if fault.message:
                    self.report(fault.message, fault.at, fault.advice)
                cursor.recover(fault.resume)
            kept = self.macros and len(self.found) > before
            if kept:
                del self.found[before:]
            if kept or cursor.tokens is not first:
                yield Statement(start, self.reached(), [])
            else:
                tokens = first[begin : cursor.index]
                yield Statement(start, tokens[-1].start + len(tokens[-1].text), tokens)
        if self.depth and not self.macros:
            at = Span(self.file, len(self.lines), 1)
            self.report("a component is not closed", at, "close it with `}`")
        if self.found:
            raise ProgramError(self.found, {self.file: self.lines})

    def more(self) -> bool:
        cursor = self.cursor
        if cursor.peek().kind == "end":
            cursor.next_statement()
        return cursor.peek().kind != "end"

    def reached(self) -> int:
        """Where the token before the next one ends."""
        cursor = self.cursor
        if cursor.peek().kind == "end":
            return len(cursor.source.text[: cursor.lexer.position].rstrip())
        token = cursor.tokens[cursor.index - 1]
        return token.start + len(token.text)

    def read(self) -> None:
        cursor, token = self.cursor, self.cursor.peek()
        if token.kind == "directive":
            cursor.index += 1
            if token.text == ".include" or token.text.startswith("#"):
                cursor.file_name()
            elif token.text == ".comp":
                component(cursor, token, Statements())
                self.depth += 1
            elif token.text == ".plan":
                directive(cursor, token, Statements(after_rule=True))
            elif token.text != ".once":
                directive(cursor, token, Statements())
        elif token.kind == "}" and self.depth:
            cursor.index += 1
            self.depth -= 1
        elif token.kind == ".":
            raise Fault("unexpected `.`", cursor.at(token), "only clauses end with `.`")
        else:
            clause(cursor, Statements())
