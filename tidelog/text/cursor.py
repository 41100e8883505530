"""A position in one file: its tokens, statement by statement, and where to resume after a fault."""

from __future__ import annotations

import re
from pathlib import Path

from tidelog.program.syntax import Fact, Span
from tidelog.text.lexer import WRONG_SIGNS, Fault, Lexer, Report, SourceText, Token
from tidelog.text.operator_table import RESERVED

_NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*")


class Cursor:
    """Reads one file. `folder` is where its includes are looked for, `path` the file itself."""

    def __init__(
        self, source: SourceText, report: Report, folder: Path | None, path: Path | None
    ) -> None:
        self.source = source
        self.folder = folder
        self.path = path
        self.lexer = Lexer(source, report)
        self.tokens = [Token("end", "", 0)]
        self.index = 0

    def at_end(self, facts: list[Fact]) -> bool:
        """Whether nothing is left. Reads the plain facts that stand next."""
        while self.peek().kind == "end":
            self.lexer.facts(facts)
            self.next_statement()
            if self.peek().kind == "end" and not self.source.more():
                return True
        return False

    def next_statement(self) -> None:
        self.tokens, self.index = self.lexer.statement(), 0

    # Taking tokens.

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def accept(self, kind: str) -> bool:
        if self.peek().kind != kind:
            return False
        self.index += 1
        return True

    def expect(self, kind: str, message: str, advice: str = "") -> Token:
        token = self.peek()
        if token.kind == kind:
            self.index += 1
            return token
        if token.kind == "bad":
            raise Fault("", self.at(token))
        if token.kind == "wrong":
            advice = f"did you mean {WRONG_SIGNS[token.text]}?"
        at, last = self.at(token), self.last()
        # What is missing at the end of a line is shown there, not on the next one.
        raise Fault(message, at if at.line == last.line and token.kind != "end" else last, advice)

    def relation_name(self) -> Token:
        name = self.expect("name", "expected a relation name")
        if name.text in RESERVED:
            raise no_relation(name.text, self.at(name))
        return name

    def plain_name(self, noun: str, advice: str = "") -> Token:
        """The name that a component or an instance gets, without dots."""
        name = self.expect("name", f"expected the name of {noun}", advice)
        if "." in name.text:
            message = f"`{name.text}` contains a dot, so it cannot be the name of {noun}"
            raise Fault(message, self.at(name), "write a name without dots")
        return name

    def file_name(self) -> Token:
        message = "expected a file name in quotes after the include"
        start = self.peek().start
        word = self.source.text[start : self.source.line_end(start)].split()
        name = word[0].strip("'<>") if word else "file.dl"
        return self.expect("string", message, f'write `.include "{name}"`')

    def type_name(self) -> str:
        name = self.expect("name", "expected a type name", "such as number or symbol")
        return name.text

    def dotted(self, dot: Token) -> str:
        """The name that directly follows a dot, if one does."""
        found = _NAME.match(self.source.text, dot.start + 1)
        return found[0] if found else ""

    def at(self, token: Token) -> Span:
        return self.source.span(token.start, len(token.text) or 1)

    def last(self) -> Span:
        """The last character of the token before."""
        token = self.tokens[self.index - 1]
        return self.source.span(token.start + len(token.text) - 1)

    def names(self, start: int) -> set[str]:
        """All names between a place before and here."""
        token = self.peek()
        end = self.lexer.position if token.kind == "end" else token.start
        return {found[0] for found in _NAME.finditer(self.source.text, start, end)}

    # Resuming after a fault.

    def recover(self, resume: int | None) -> None:
        """Go on at `resume`, or else after the next `.` or at the next directive."""
        if resume is not None:
            self.index = resume
            return
        while (token := self.peek()).kind != "end":
            self.index += 1
            if token.kind == "." and not self._name_goes_on(token):
                return

    def skip_directive(self) -> None:
        """Go to what looks like the next clause: an atom at the start of a later line."""
        line = self.source.span(self.tokens[self.index - 1].start).line
        while (token := self.peek()).kind != "end":
            here = self.source.span(token.start).line
            if token.kind == "name" and here > line and self.peek(1).kind == "(":
                return
            line = here
            self.index += 1
            if token.kind == "." and not self._name_goes_on(token):
                return

    def skip_word(self) -> None:
        """Skip an unknown directive: its dot was a statement, its name starts another."""
        self.next_statement()
        self.index = 1
        self.skip_directive()

    def skip_block(self) -> None:
        """Go behind the `}` that closes the next `{`."""
        depth = 0
        while True:
            token = self.peek()
            if token.kind == "end":
                self.next_statement()
                if self.peek().kind == "end":
                    return
                continue
            self.index += 1
            depth += {"{": 1, "}": -1}.get(token.kind, 0)
            if token.kind == "}" and depth <= 0:
                return

    def _name_goes_on(self, dot: Token) -> bool:
        """Skip the dot of a name such as `a.b`, so that `b` does not start a statement."""
        if not self.dotted(dot):
            return False
        self.next_statement()
        return True


def no_relation(name: str, at: Span) -> Fault:
    return Fault(f"`{name}` is a reserved word, not a relation name", at, "choose another name")
