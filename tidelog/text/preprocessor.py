"""The C preprocessor, as Soufflé's programs use it: macros and conditions.

A file is preprocessed piece by piece: one ends behind an include, because the file that is
included may define what the rest uses. Includes themselves are the parser's business. Every
place in the new text knows where it stood in the old one, so that errors point there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from tidelog.program.syntax import Span
from tidelog.text.conditions import holds
from tidelog.text.lexer import Report, SourceText
from tidelog.text.macros import (
    COMMENT,
    NAME,
    STRING,
    Expansion,
    Macro,
    MacroTooLong,
    Misused,
    defined,
)

LINE = (
    r"^[ \t]*+\#(?:[^\\\n/\"]++|\\\r?\n|\\|//[^\n]*+|/\*[\s\S]*?\*/|/"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"|\")*+"
)
_ITEM = re.compile(
    rf"(?P<line>{LINE})|{COMMENT}|(?P<open>/\*)|(?P<string>{STRING})|[0-9][\w.]*+|(?P<name>{NAME})",
    re.MULTILINE,
)
_KNOWN = re.compile(
    r"[ \t]*+#[ \t]*+(?P<word>define|undef|ifdef|ifndef|if|elif|else|endif|error|warning|pragma"
    r"|include)\b[ \t]*+"
)
_ANY = re.compile(r"^[ \t]*+#[ \t]*+[a-z]", re.MULTILINE)
_NAME = re.compile(NAME)
_OPENING = ("if", "ifdef", "ifndef")


class _Branch:
    """An open `#if`: whether its current lines count, and whether an earlier branch did."""

    def __init__(self, word: str, at: Span, counts: bool, outer: bool) -> None:
        self.word = word
        self.at = at
        self.counts = counts
        self.outer = outer
        self.done = counts or not outer
        self.last = False


def source_of(file: str, text: str, macros: dict[str, Macro], report: Report) -> SourceText:
    """The text to read: as it is, where nothing in it is for the preprocessor."""
    # What is included may define macros.
    if macros or _ANY.search(text) or ".include" in text:
        return Preprocessed(file, text, macros, report)
    return SourceText(file, text)


def macros_of(given: Mapping[str, object]) -> dict[str, Macro]:
    """Macros that come from outside, by their names.

    >>> macros_of({"LIMIT": 10})["LIMIT"].body
    '10'
    """
    return {name: Macro(name, None, str(value)) for name, value in given.items()}


class Preprocessed(SourceText):
    """A source whose `text` is what the preprocessor made of it so far."""

    def __init__(self, file: str, text: str, macros: dict[str, Macro], report: Report) -> None:
        super().__init__(file, text)
        self._raw = text
        self._macros = macros
        self._report = report
        self._read = 0
        self._branches: list[_Branch] = []
        self._new: list[int] = []  # where pieces begin, in the new text
        self._old: list[tuple[int, int]] = []  # and in the old one; of a macro, how wide it was
        self._parts: list[str] = []
        self._made = 0
        self.text = ""

    def span(self, start: int, width: int = 1) -> Span:
        piece = bisect_right(self._new, start) - 1
        if piece < 0:
            return super().span(start, width)
        old, whole = self._old[piece]
        if whole:
            return super().span(old, whole)
        return super().span(old + start - self._new[piece], width)

    def more(self) -> bool:
        """Preprocess up to the next include, or to the end; False if nothing is left."""
        if self._read >= len(self._raw):
            return False
        self._parts = []
        self._piece()
        self.text += "".join(self._parts)
        if self._read >= len(self._raw):
            for branch in self._branches:
                self._report(f"`#{branch.word}` is not closed", branch.at, "close it with `#endif`")
        return True

    def _piece(self) -> None:
        included = False
        while found := _ITEM.search(self._raw, self._read):
            start, end = found.span()
            self._copy(self._read, start)
            if found["line"] is not None:
                if self._directive(start, end):
                    return
            elif found["open"]:
                break
            elif found["name"] is not None:
                included = found["name"] == "include" and self._raw[start - 1 : start] == "."
                end = self._name(found["name"], start, end)
            else:
                self._copy(start, end)
            self._read = end
            if included and found["string"] and self._counts:
                return
        self._copy(self._read, len(self._raw))
        self._read = len(self._raw)

    @property
    def _counts(self) -> bool:
        return not self._branches or self._branches[-1].counts

    def _copy(self, start: int, end: int) -> None:
        if start < end and self._counts:
            self._put(self._raw[start:end], start, 0)

    def _put(self, text: str, old: int, whole: int) -> None:
        self._new.append(self._made)
        self._old.append((old, whole))
        self._parts.append(text)
        self._made += len(text)

    def _name(self, name: str, start: int, end: int) -> int:
        """Replace a macro, or keep a name; where to go on."""
        macro = self._macros.get(name)
        if macro is None or not self._counts:
            self._copy(start, end)
            return end
        try:
            used = Expansion(self._macros).use(macro, self._raw, end)
        except Misused as problem:
            self._report(problem.message, super().span(start, end - start), problem.advice)
            self.cut = isinstance(problem, MacroTooLong)
            used = (name, len(self._raw) if self.cut else end)
        if used is None:
            self._copy(start, end)
            return end
        self._put(used[0], start, end - start)
        # The expansion must not merge with the text after it.
        self._put(" ", used[1], 0)
        return used[1]

    # Lines that begin with `#`.

    def _directive(self, start: int, end: int) -> bool:
        """Take a line; True if it is an include, which ends the piece."""
        line = self._raw[start:end]
        known = _KNOWN.match(line)
        self._read = end
        if known is None:
            self._copy(start, end)  # the lexer says what is wrong with it
            return False
        word, rest = known["word"], line[known.end() :]
        if word == "include":
            self._copy(start, end)
            return self._counts
        at = super().span(start + line.index("#"), len(line[: known.end("word")].lstrip()))
        try:
            if word in (*_OPENING, "elif", "else", "endif"):
                self._condition(word, rest, at)
            elif self._counts:
                self._define(word, rest)
        except Misused as problem:
            self._report(problem.message, at, problem.advice)
        return False

    def _define(self, word: str, rest: str) -> None:
        if word == "define":
            macro = defined(rest)
            self._macros[macro.name] = macro
        elif word == "undef":
            self._macros.pop(_named(word, rest), None)
        elif word == "error":
            raise Misused(f"#error: {rest.strip()}" if rest.strip() else "#error")

    def _condition(self, word: str, rest: str, at: Span) -> None:
        if word in _OPENING:
            outer = self._counts
            # If the condition is invalid, its lines are read nevertheless: they may be right.
            branch = _Branch(word, at, outer, outer)
            self._branches.append(branch)
            if outer:
                branch.counts = branch.done = self._test(word, rest)
            return
        if not self._branches:
            raise Misused(f"`#{word}` without `#if`", "remove it, or open one before")
        branch = self._branches[-1]
        if word == "endif":
            self._branches.pop()
            return
        if branch.last:
            raise Misused(f"`#{word}` after `#else`", "put it before")
        branch.last = word == "else"
        branch.counts = False
        if branch.outer and not branch.done:
            branch.counts = branch.done = word == "else" or holds(rest, self._macros)

    def _test(self, word: str, rest: str) -> bool:
        if word == "if":
            return holds(rest, self._macros)
        return (_named(word, rest) in self._macros) == (word == "ifdef")


def _named(word: str, rest: str) -> str:
    found = _NAME.match(rest)
    if found is None:
        raise Misused(f"`#{word}` needs the name of a macro", f"write `#{word} LIMIT`")
    return found[0]
