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
from tidelog.text.operator_table import BINARY, INFIX, PREFIX, RESERVED

# fmt: off
DIRECTIVES = (
    "decl", "type", "number_type", "symbol_type", "input", "output", "printsize", "include",
    "once", "pragma", "plan", "limitsize", "comp", "init", "override", "functor", "lattice",
)
# fmt: on

_BLANKS = r"[ \t\r\n\f\v]*+(?:/(?:/[^\r\n]*+|\*[\s\S]*?\*/)[ \t\r\n\f\v]*+)*"
_BLANK = re.compile(_BLANKS)

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
    "&": "`,` between conditions or `band` between numbers",
    "~": "`!` before a condition or `bnot` before a number",
    "\\+": "`!`",
}

# Something always matches after the blanks, so these are never given back.
_TOKEN = re.compile(
    _BLANKS
    + r"(?:(?P<name>[A-Za-z_?][A-Za-z0-9_?]*+(?![\w])(?:\.[A-Za-z_?][A-Za-z0-9_?]*+(?![\w]))*+)"
    + r"|(?P<common>[(),])"
    + r"|(?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?![\w]))"
    + r"|(?P<float>[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)(?![\w]))"
    + r"|(?P<half>[0-9]+\.(?=[ \t]*[,)])|\.[0-9]++(?![.\w]))"
    + r"|(?P<integer>(?:0x[0-9a-fA-F]+|0b[01]+|[0-9]+)u?(?![\w]))"
    + r'|(?P<string>"(?:[^"\\]++|\\[\s\S])*")'
    + rf"|(?P<directive>\.(?:{'|'.join(DIRECTIVES)})(?![\w?(.:])|#[ \t]*include(?![\w]))"
    + r"|(?P<hash>#[^\n]*+)"
    + r"|(?P<comment>/\*)"
    + rf"|(?P<wrong>{'|'.join(re.escape(sign) for sign in WRONG_SIGNS)})"
    + r"|(?P<sign>:-|<:|<=|>=|!=|[-+*/%^()\[\]{},;.:=<>!|$@])"
    + r"|(?P<end>\Z)"
    + r"|(?P<word>[\w?]++)"
    + r"|(?P<quoted>'[^'\n]*'|\u201c[^\u201d\n]*\u201d)"
    + r"|(?P<other>[\s\S]))"
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

_MACRO = re.compile(r"#[ \t]+(define|undef|if|ifn?def|elif|else|endif|pragma|error)\b")
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


_make = tuple.__new__  # makes a named tuple in half the time of calling its class


class Token(NamedTuple):
    """`kind` is a group of the expression above; for signs and operator words, the text itself."""

    kind: str
    text: str
    start: int


class Fault(Exception):
    """A syntax error in a statement. `resume` is the index of the token to resume from."""

    def __init__(self, message: str, at: Span, advice: str = "", resume: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.advice = advice
        self.resume = resume


class SourceText:
    """A text with its name; turns offsets into lines and columns.

    It may be a part of a longer one, from the line that is `first` there.
    """

    def __init__(self, file: str, text: str, first: int = 1) -> None:
        self.file = file
        self.text = text
        self.first = first
        self.cut = False  # is the rest left out, because a limit was reached?
        self.lines = [line.removesuffix("\r") for line in text.split("\n")]
        self._count = len(self.lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def span(self, start: int, width: int = 1) -> Span:
        line = bisect_right(self._starts, start, 0, self._count)
        column = start - self._starts[line - 1] + 1
        return _make(Span, (self.file, self.first - 1 + line, column, width))

    def line_start(self, start: int) -> int:
        return self.text.rfind("\n", 0, start) + 1

    def line_end(self, start: int) -> int:
        """Where the next line starts."""
        return self.text.find("\n", start) + 1 or len(self.text) + 1

    def more(self) -> bool:
        """Whether there is more of the text now than before, which comes piece by piece."""
        return False


Report = Callable[[str, Span, str], None]

_UNREADABLE = frozenset({"half", "hash", "comment", "word", "quoted", "other"})
_IN_TERMS = frozenset({*INFIX, *PREFIX} - {"!"})
_WORD_OPERATORS = {word: word for word in (*BINARY, *PREFIX) if word.isalpha()}


class Lexer:
    """Reads one source from start to end. Invalid characters become a `bad` token."""

    def __init__(self, source: SourceText, report: Report) -> None:
        self.source = source
        self.report = report
        self.position = 0
        self._names: dict[str, str] = {}
        self._unclosed = False
        self.qualified = False  # names with dots were read

    def facts(self, into: list[Fact]) -> None:
        """Take all plain facts that stand next, up to the first statement of another form."""
        add, fact = into.append, self.fact
        while found := fact():
            add(found)

    def fact(self) -> Fact | None:
        """Take the plain fact that stands next, if one does."""
        text = self.source.text
        found = _FACT.match(text, _BLANK.match(text, self.position).end())  # type: ignore[union-attr]
        if found is None:
            return None
        name, inside = found.groups()
        if name in RESERVED:
            return None
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
        name = self._names.setdefault(name, name)
        self.position = found.end()
        return _make(Fact, (name, values, self.source.span(found.start(1), len(name))))

    def statement(self) -> list[Token]:
        """The next tokens up to and with a `.`, or up to the next directive; then an `end`."""
        tokens: list[Token] = []
        while not self._read(tokens):
            pass  # something unreadable was reported and skipped
        return tokens

    def _read(self, tokens: list[Token]) -> bool:
        add = tokens.append
        for found in _TOKEN.finditer(self.source.text, self.position):
            kind = found.lastgroup
            assert kind is not None
            word, start = found[kind], found.start(kind)
            if kind == "name":
                kind = _WORD_OPERATORS.get(word, "name")
                if "." in word and not self._qualified(word, tokens):
                    word = word[: word.index(".")]
                    add(Token(_WORD_OPERATORS.get(word, "name"), word, start))
                    self.position = start + len(word)
                    return False
            elif kind == "common":
                kind = word
            elif kind == "sign":
                kind = word
                if word == ".":
                    self.position = found.end()
                    tokens += (Token(kind, word, start), Token("end", "", self.position))
                    return True
            elif kind == "end" or (kind == "directive" and tokens):
                self.position = start
                tokens.append(Token("end", "", start))
                return True
            elif kind in _UNREADABLE or (kind == "string" and self._overruns(found)):
                self.position = self._unreadable(kind, word, start)
                if kind != "hash" or self.position == start + 1:
                    tokens.append(Token("bad", word, start))
                return False
            add(_make(Token, (kind, word, start)))
        raise AssertionError("the end of the text is a token")

    def _qualified(self, word: str, before: list[Token]) -> bool:
        """Whether `a.b` is the name of something in an instance; else the dot ends a clause.

        A clause may end with a term, and the next one follow without a blank: `x = y.b(1).`
        """
        first = word[: word.index(".")]
        if first in RESERVED or (first == "commit" and not before):
            return False
        # A sign at the beginning is that of a change.
        term = len(before) > 1 and before[-1].kind in _IN_TERMS
        if term and before[0].kind == "directive":
            # In `.type T = a.T`, or behind `.init a = C<T>`, these signs are no operators.
            term = any(token.kind in (":-", "(") for token in before)
        self.qualified = self.qualified or not term
        return not term

    def _overruns(self, string: re.Match[str]) -> bool:
        """Whether a string of several lines was meant to end on its first.

        Then its closing quote is the opening one of another, with a word after it.
        """
        if "\n" not in string["string"]:
            return False
        follows = _TOKEN.match(self.source.text, string.end())
        return follows is not None and (
            follows.lastgroup == "string"
            or follows["other"] == '"'
            or (follows["name"] or "") not in _WORD_OPERATORS.keys() | {""}
        )

    def _unreadable(self, kind: str, word: str, start: int) -> int:
        """Say what is wrong with the characters at `start`; where to go on."""
        text, span = self.source.text, self.source.span
        if kind == "hash":
            return self._preprocessor(word, start)
        if kind == "comment":
            self.report("a comment is not closed", span(start, 2), "close it with `*/`")
            return len(text)
        if kind == "string" or word == '"':
            self.report("a string is not closed", span(start), 'close it with `"`')
            # The rest may still be read, but only once: each try scans to the end.
            again, self._unclosed = self._unclosed, self._unclosed or kind != "string"
            return len(text) if again else self.source.line_end(start)
        if kind == "half":
            whole = f"{word}0" if word.endswith(".") else f"0{word}"
            message = f"`{word}` is not a number: write digits on both sides of the point"
            self.report(message, span(start, len(word)), f"write {whole}")
        elif kind == "quoted":
            advice = f'write "{word[1:-1]}"'
            self.report("strings are written in double quotes", span(start, len(word)), advice)
        elif kind == "other":
            message, advice = foreign_sign(word)
            self.report(message, span(start), advice)
        elif word.isascii():
            self.report(
                f"`{word}` is neither a number nor a name",
                span(start, len(word)),
                "a name starts with a letter; a number is written 12, 12u, 0x1f, 0b11 or 1.5",
            )
        else:
            where, message, advice = foreign_letter(word)
            self.report(message, span(start + where), advice)
        return start + len(word)

    def _preprocessor(self, line: str, start: int) -> int:
        if self.source.text[self.source.line_start(start) : start].strip():
            self.report("unexpected `#`", self.source.span(start), "a comment starts with `//`")
            return start + 1
        if line[1:2] in (" ", "\t") and not (_MACRO.match(line) or _LINE_MARKER.match(line)):
            self.report("unexpected `#`", self.source.span(start), "a comment starts with `//`")
        elif not _LINE_MARKER.match(line):
            name = "#" + "".join(line[1:].split()[:1])
            self.report(
                f"the preprocessor directive `{name}` is not supported",
                self.source.span(start, len(name)),
                "supported are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, "
                "#else, #endif and #error",
            )
        return start + len(line)
