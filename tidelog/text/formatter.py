"""A program in the standard layout: the same tokens and comments, with standard blanks.

- One blank between things that stand apart, none inside parentheses; bodies that go on in
  the next line are indented by four, and what a component has by two.
- Line breaks after `:-`, `,`, `;` and an opening bracket stay; others go. A clause that is
  too long for a line is broken behind `:-` and between its conditions.
- Statements have lines of their own, but facts may share one.
- Several empty lines become one. Comments behind a statement stay in their column if they
  can. Lines for the preprocessor, and statements that only a macro makes readable, stay as
  they are.
"""

from __future__ import annotations

from itertools import pairwise

from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.text.lexer import Token
from tidelog.text.source_text import Note, Piece, Statement, pieces

WIDTH = 100
BODY = 4  # blanks before a continuation line
BLOCK = 2  # blanks before what a component has

_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")
_TIGHT = (")", "]", ",", ";", ".")
_ENDS = frozenset({"name", "integer", "float", "address", "string", ")", "]", "}", "$"})
_BREAKS = frozenset({":-", ",", ";", *_OPEN})
_NAMED = (".input", ".output", ".printsize", ".limitsize")  # they have `key=value`


def format_text(text: str, file: str = "<program>") -> str:
    """The program in the standard layout; raises ProgramError if it has errors.

    >>> print(format_text("p(x,y):-q(x,-1) ,!r(y) . // why"), end="")
    p(x, y) :- q(x, -1), !r(y).  // why
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = pieces(plain, file)
    written = _Page(plain).write(found)
    if summary(pieces(written, file)) != summary(found):
        message = "formatting would change this program"
        advice = "preprocessor lines may stand inside a statement"
        raise ProgramError([Diagnostic(message, None, advice)])
    return written.replace("\n", ends)


def summary(found: list[Piece]) -> list[tuple[str, ...]]:
    """Tokens and comments without positions, which formatting must not change."""
    told: list[tuple[str, ...]] = []
    for piece in found:
        if isinstance(piece, Note):
            told.append((piece.text.strip(),))
        else:
            told.append(tuple(f"{token.kind} {token.text}" for token in piece.tokens))
            told += [(note.text.strip(),) for note in piece.notes]
    return told


class _Page:
    """Lines, one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = []
        self.indent = 0

    def write(self, found: list[Piece]) -> str:
        before: Piece | None = None
        for piece in found:
            self.place(before, piece)
            before = piece
        return "".join(f"{line}\n" for line in self.lines)

    def place(self, before: Piece | None, piece: Piece) -> None:
        breaks = self.breaks(before, piece)
        if isinstance(piece, Statement):
            if piece.role == "close":
                self.indent = max(0, self.indent - BLOCK)
            text = self.statement(piece)
        elif piece.text.startswith("/"):
            text = " " * self.indent + piece.text
        else:
            text = piece.text.rstrip()
        if isinstance(piece, Note) and before is not None and not breaks:
            self.append(before, piece)
        elif self.joins(before, piece, breaks, text):
            self.lines[-1] += f" {text.lstrip()}"
        elif _is_empty(before, piece):
            self.lines[-1] += "}"
        else:
            if breaks > 1 and self.lines and not _at_edge(before, piece):
                self.lines.append("")
            self.lines += text.split("\n")
        if isinstance(piece, Statement) and piece.role == "open":
            self.indent += BLOCK

    def breaks(self, before: Piece | None, piece: Piece) -> int:
        """How many line breaks stand between two pieces."""
        if before is None:
            return 0
        return self.text.count("\n", before.end, piece.start)

    def append(self, before: Piece, note: Note) -> None:
        """A comment behind a statement, in its column if that is free."""
        start = self.text.rfind("\n", 0, before.start) + 1
        if self.text[start : before.start].strip():  # it was not alone in its line
            self.lines[-1] += " " * max(1, note.start - before.end)
        else:
            self.lines[-1] = _behind(self.text, self.lines[-1], note.start)
        first, *rest = note.text.split("\n")
        self.lines[-1] += first
        self.lines += rest

    def joins(self, before: Piece | None, piece: Piece, breaks: int, text: str) -> bool:
        """May a fact share the line with the one before?"""
        if breaks or not (isinstance(before, Statement) and isinstance(piece, Statement)):
            return False
        room = len(self.lines[-1]) + 1 + len(text.lstrip()) <= WIDTH
        return before.is_fact and piece.is_fact and room and "\n" not in text

    def statement(self, statement: Statement) -> str:
        written = _Line(self.text, statement, self.indent).write() if statement.tokens else None
        if written is None:
            # Where it begins may be in the midst of a line; the rest is as it was.
            return " " * self.indent + self.text[statement.start : statement.end]
        return written


def _behind(text: str, line: str, start: int) -> str:
    """The line with blanks up to where something behind it began, or two."""
    column = start - (text.rfind("\n", 0, start) + 1)
    last = len(line) - (line.rfind("\n") + 1)
    if column > last:
        return line + " " * (column - last)
    return line + ("  " if text[start - 1 : start] in " \t" else " ")


def _at_edge(before: Piece | None, piece: Piece) -> bool:
    """No empty lines behind `{` and before `}`."""
    opened = isinstance(before, Statement) and before.role == "open"
    return opened or (isinstance(piece, Statement) and piece.role == "close")


def _is_empty(before: Piece | None, piece: Piece) -> bool:
    """Is this the `}` of an empty component?"""
    opened = isinstance(before, Statement) and before.role == "open"
    return opened and isinstance(piece, Statement) and piece.role == "close"


class _Line:
    """One statement, in one line or several."""

    def __init__(self, text: str, statement: Statement, indent: int) -> None:
        self.text = text
        self.tokens = statement.tokens
        self.keyword = statement.keyword
        self.indent = indent
        self.notes = statement.notes
        self.done = ""
        self.depth = 0

    def write(self) -> str | None:
        """The text, or None if a comment stands where it must stay as it is."""
        todo = list(self.notes)
        self.done = " " * self.indent
        forced = self._is_long() and not self.keyword
        for i, token in enumerate(self.tokens):
            before = self.tokens[i - 1] if i else None
            if token.kind in _CLOSE and self.depth:
                self.depth -= 1
            between = [note for note in todo if note.start < token.start]
            todo = todo[len(between) :]
            if before is not None and not self._go_on(i, before, token, between, forced):
                return None
            self.done += token.text
            if token.kind in _OPEN:
                self.depth += 1
        return None if todo else self.done

    def _is_long(self) -> bool:
        """Is it too long for one line, if no line break of it stays?"""
        for before, token in pairwise(self.tokens):
            end = before.start + len(before.text)
            if before.kind in _BREAKS and "\n" in self.text[end : token.start]:
                return False
        gaps = sum(
            len(self._gap(i + 1, before, token))
            for i, (before, token) in enumerate(pairwise(self.tokens))
        )
        return self.indent + gaps + sum(len(token.text) for token in self.tokens) > WIDTH

    def _go_on(
        self, i: int, before: Token, token: Token, between: list[Note], forced: bool
    ) -> bool:
        """Write the blank or line break between two tokens."""
        end = before.start + len(before.text)
        broken = "\n" in self.text[end : token.start]
        closes = token.kind in _CLOSE and before.kind != ","
        breakable = before.kind in _BREAKS or (closes and bool(self.keyword))
        if between and not (breakable and broken):
            return self._inside(i, before, token, between)
        for note in between:
            if not note.text.startswith("/") or "\n" in note.text:
                return False
            if "\n" in self.text[end : note.start]:
                self._break(token)
                self.done += note.text
            else:
                self.done = _behind(self.text, self.done, note.start) + note.text
            end = note.end
        if (breakable and broken) or (forced and self._must_break(i, before)):
            self.done = self.done.rstrip(" ")
            self._break(token)
        else:
            self.done += self._gap(i, before, token)
        return True

    def _inside(self, i: int, before: Token, token: Token, between: list[Note]) -> bool:
        """Comments in the midst of a line."""
        if any(not note.text.startswith("/*") or "\n" in note.text for note in between):
            return False
        if "\n" in self.text[before.start + len(before.text) : token.start]:
            return False
        texts = " ".join(note.text for note in between)
        self.done += ("" if before.kind in _OPEN[:2] else " ") + texts
        self.done += "" if token.kind in _TIGHT else " "
        return True

    def _break(self, token: Token) -> None:
        steps = self.depth
        if not self.keyword or (not steps and token.kind not in _CLOSE):
            steps += 1
        self.done += "\n" + " " * (self.indent + BODY * steps)

    def _must_break(self, i: int, before: Token) -> bool:
        """Behind `:-`, and where the next condition would not fit any more."""
        if self.depth or before.kind not in (":-", ",", ";"):
            return False
        if before.kind == ":-":
            return True
        if not any(token.kind == ":-" for token in self.tokens[:i]):
            return False
        line = len(self.done) - (self.done.rfind("\n") + 1)
        return line + self._condition(i) > WIDTH

    def _condition(self, i: int) -> int:
        """The length of the condition from this token on, with its separator."""
        depth, length = 0, 0
        for j in range(i, len(self.tokens)):
            token = self.tokens[j]
            length += len(self._gap(j, self.tokens[j - 1], token)) + len(token.text)
            depth += (token.kind in _OPEN) - (token.kind in _CLOSE)
            if not depth and token.kind in (",", ";", "."):
                break
        return length

    def _gap(self, i: int, before: Token, token: Token) -> str:
        """What stands between two tokens of a line."""
        if before.kind in _OPEN[:2] or token.kind in _TIGHT or self._is_prefix(i - 1, token):
            return ""
        if token.kind == "(":
            called = before.kind == "name" and before.text != "domain"
            called = called or self.keyword == ".plan"
            return "" if called else " "
        return self._in_directive(before, token) if self.keyword else " "

    def _is_prefix(self, i: int, after: Token) -> bool:
        token = self.tokens[i]
        if token.kind in ("!", "@"):
            return True
        if token.kind == "$":
            return after.kind == "name"
        return token.kind == "-" and (i == 0 or self.tokens[i - 1].kind not in _ENDS)

    def _in_directive(self, before: Token, token: Token) -> str:
        kinds = (before.kind, token.kind)
        tight: tuple[str, ...] = ("-",)
        if self.keyword in (".comp", ".init"):
            return "" if before.kind == "<" or token.kind in "<>" else " "
        if ":" in kinds:
            return " " if before.kind == ":" and self.keyword != ".plan" else ""
        if self.keyword in _NAMED:
            tight = ("-", "=")
        elif self.keyword == ".type" and (before.kind == "{" or token.kind == "}"):
            return ""
        return "" if any(kind in tight for kind in kinds) else " "
