"""Text to tokens, one statement at a time, and the short cut for ground facts.

Regular expressions do the work: one that knows every token, and one that reads a
whole fact such as `edge(1, "a").`, because programs may hold hundreds of thousands
of them. Alternatives inside a repeat never start alike, so no text can make them
backtrack for ever.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from tidelog.program.syntax import Fact, Span, Value
from tidelog.text.lookalikes import foreign_letter, foreign_sign
from tidelog.text.operators import BINARY, PREFIX, RESERVED

# fmt: off
DIRECTIVES = (
    "decl", "type", "number_type", "symbol_type", "input", "output", "printsize", "include",
    "once", "pragma", "plan", "limitsize", "comp", "init", "override", "functor", "lattice",
)
# fmt: on

_BLANK = re.compile(r"(?:[ \t\r\n\f\v]++|//[^\r\n]*+|/\*[\s\S]*?\*/)*")

# Signs of other languages, which no valid program contains, and what to write instead.
WRONG_SIGNS = {
    "==": "`=`",
    "=<": "`<=`",
    "=>": "`>=`",
    "<>": "`!=`",
    "&&": "`,` between conditions or `land` between numbers",
    "||": "`;` between conditions or `lor` between numbers",
    "**": "`^`",
    "<<": "`bshl`",
    ">>": "`bshr`",
    ":=": "`=`, or `:-` after a head",
    "->": "`:-`",
    "&": "`band`",
    "~": "`bnot`",
    "\\+": "`!`",
}

_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_?][A-Za-z0-9_?]*+(?![\w]))"
    + r"|(?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?![\w]))"
    + r"|(?P<float>[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)(?![\w]))"
    + r"|(?P<integer>(?:0x[0-9a-fA-F]+|0b[01]+|[0-9]+)u?(?![\w]))"
    + r'|(?P<string>"(?:[^"\\]++|\\[\s\S])*")'
    + rf"|(?P<directive>\.(?:{'|'.join(DIRECTIVES)})(?![\w?(.:])|#[ \t]*include(?![\w]))"
    + r"|(?P<hash>#[^\n]*+)"
    + r"|(?P<comment>/\*)"
    + rf"|(?P<wrong>{'|'.join(re.escape(sign) for sign in WRONG_SIGNS)})"
    + r"|(?P<sign>:-|<:|<=|>=|!=|[-+*/%^()\[\]{},;.:=<>!|$@])"
    + r"|(?P<end>\Z)"
    + r"|(?P<word>[\w?]++)"
    + r"|(?P<other>[\s\S])"
)

_ARGUMENT = (
    r'[ \t\r\n]*+(?:"[^"\\\n]*+"|-?(?:[0-9]{1,300}\.[0-9]{1,300}|[0-9]{1,18})(?![.\w]))[ \t\r\n]*+'
)
_FACT = re.compile(
    rf"([A-Za-z_?][A-Za-z0-9_?]*+)\((?:[ \t]*+|({_ARGUMENT}(?:,{_ARGUMENT})*))\)"
    r"[ \t\r\n]*+\.(?![\w?])",
    re.ASCII,
)
_VALUE = re.compile(r'"([^"]*)"|([-0-9.]+)')

_LINE_MARKER = re.compile(r"#(?:line)?[ \t]*[0-9]")

ESCAPES = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "0": "\0",
}


class Token(NamedTuple):
    """`kind` is a group of the expression above; for signs and operator words, the text itself."""

    kind: str
    text: str
    start: int


class Fault(Exception):
    """A statement cannot be read on. `resume` is the index of a token to go on from."""

    def __init__(self, message: str, at: Span, advice: str = "", resume: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.advice = advice
        self.resume = resume


class Source:
    """A text with its name; turns offsets into lines and columns."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def span(self, start: int, width: int = 1) -> Span:
        line = bisect_right(self._starts, start, hi=len(self.lines))
        return Span(self.file, line, start - self._starts[line - 1] + 1, width)

    def line_start(self, start: int) -> int:
        return self._starts[self.span(start).line - 1]

    def line_end(self, start: int) -> int:
        return self._starts[self.span(start).line]


Report = Callable[[str, Span, str], None]

_WORD_OPERATORS = {word: word for word in (*BINARY, *PREFIX) if word.isalpha()}


class Lexer:
    """Reads one source from front to back. What it cannot read becomes a `bad` token."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.position = 0
        self._names: dict[str, str] = {}
        self._unclosed = False

    def facts(self, into: list[Fact]) -> None:
        """Take all plain facts that stand next, up to the first statement of another form."""
        text, span = self.source.text, self.source.span
        blank, match, names = _BLANK.match, _FACT.match, self._names
        while found := match(text, blank(text, self.position).end()):  # type: ignore[union-attr]
            name, inside = found.groups()
            if name in RESERVED:
                return
            values: tuple[Value, ...]
            if inside is None:
                values = ()
            elif '"' in inside or "." in inside:
                values = tuple(
                    (float(digits) if "." in digits else int(digits)) if digits else letters
                    for letters, digits in _VALUE.findall(inside)
                )
            else:
                values = tuple(map(int, inside.split(",")))
            name = names.setdefault(name, name)
            into.append(Fact(name, values, span(found.start(1), len(name))))
            self.position = found.end()

    def statement(self) -> list[Token]:
        """The next tokens up to and with a `.`, or up to the next directive; then an `end`."""
        tokens: list[Token] = []
        text, blank, match = self.source.text, _BLANK.match, _TOKEN.match
        while True:
            start = blank(text, self.position).end()  # type: ignore[union-attr]
            found = match(text, start)
            assert found is not None  # the last alternatives match anything
            assert found.lastgroup is not None
            kind, word = found.lastgroup, found[0]
            if kind == "sign":
                kind = word
            elif kind == "name":
                kind = _WORD_OPERATORS.get(word, "name")
            elif kind == "end" or (kind == "directive" and tokens):
                tokens.append(Token("end", "", start))
                return tokens
            elif kind in ("hash", "comment", "word", "other"):
                self.position = self._unreadable(kind, word, start)
                if kind != "hash":
                    tokens.append(Token("bad", word, start))
                continue
            self.position = found.end()
            tokens.append(Token(kind, word, start))
            if kind == ".":
                tokens.append(Token("end", "", self.position))
                return tokens

    def _unreadable(self, kind: str, word: str, start: int) -> int:
        """Say what is wrong with the characters at `start`; where to go on."""
        text, span = self.source.text, self.source.span
        if kind == "hash":
            before = text[self.source.line_start(start) : start]
            if before.strip():
                self.report("unexpected `#`", span(start), "a comment starts with `//`")
            elif not _LINE_MARKER.match(word):
                name = "#" + "".join(word[1:].split()[:1])
                self.report(
                    f"the preprocessor's `{name}` is not supported",
                    span(start, len(name)),
                    'only `#include "file"` is; write the program out without macros',
                )
            return start + len(word)
        if kind == "comment":
            self.report("a comment is not closed", span(start, 2), "close it with `*/`")
            return len(text)
        if word == '"':
            self.report("a string is not closed", span(start), 'close it with `"`')
            # The rest may still be read, but only once: each try scans to the end.
            again, self._unclosed = self._unclosed, True
            return len(text) if again else self.source.line_end(start)
        if kind == "word":
            if word[0].isdigit() and word.isascii():
                self.report(
                    f"`{word}` is neither a number nor a name",
                    span(start, len(word)),
                    "a name starts with a letter; a number is written 12, 12u, 0x1f, 0b11 or 1.5",
                )
            else:
                where, message, advice = foreign_letter(word)
                self.report(message, span(start + where), advice)
        else:
            message, advice = foreign_sign(word)
            self.report(message, span(start), advice)
        return start + len(word)
