"""Text to program: statements, directives and includes.

A fault never stops the reading: what is wrong with one statement is noted, and
the next one is tried, at the end of the clause or at the next directive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Literal, cast

from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.syntax import (
    And,
    Atom,
    Attribute,
    Clause,
    Constant,
    Directive,
    Fact,
    Formula,
    Program,
    RelationDecl,
    Span,
    Truth,
    TypeDecl,
)
from tidelog.text import includes
from tidelog.text.expressions import Expressions, Node
from tidelog.text.lexer import DIRECTIVES, WRONG_SIGNS, Fault, Lexer, Source, Token
from tidelog.text.literals import unescape
from tidelog.text.operators import ACTIONS, FUNCTORS, QUALIFIERS, RESERVED, UNRESERVED
from tidelog.text.unsupported import refused

MAX_ERRORS = 50
GIVE_UP = 10_000  # after so many errors the text is not worth reading on

_NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*")


@dataclass(frozen=True)
class Parsed:
    """A program as far as it could be read, what is wrong with it, and its lines by file."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, list[str]]


def parse(
    text: str, file: str = "<program>", *, folder: Path | None = None, allow_paths: bool = False
) -> Parsed:
    """Read a program. Includes are looked for in `folder`; without one there are none.

    >>> parse("path(x, y) :- edge(x, y). edge(1, 2).").program.facts[0].values
    (1, 2)
    """
    parser = _Parser(folder, allow_paths)
    parser.run(text, file)
    return parser.parsed()


def parse_file(path: str | Path, *, allow_paths: bool = False) -> Parsed:
    """Read a program from a file; includes are looked for beside it."""
    file = str(path)
    try:
        # The user named this file, so it may be a pipe such as /dev/stdin.
        text = includes.read(Path(path), file, special=True)
    except includes.Unreadable as problem:
        return Parsed(Program(), (Diagnostic(problem.message, None, problem.advice),), {})
    except includes.BadEncoding as problem:
        return Parsed(Program(), (_bad_encoding(problem),), {file: problem.text.split("\n")})
    parser = _Parser(Path(path).parent, allow_paths)
    parser.run(text, file, Path(path).resolve())
    return parser.parsed()


def parse_atom(text: str) -> Atom:
    """Read one atom, such as a query; raises `ProgramError` where it is none.

    >>> parse_atom("path(1, x)").relation
    'path'
    """
    diagnostics: list[Diagnostic] = []
    source = Source("<query>", text)
    lexer = Lexer(
        source, lambda message, at, advice: diagnostics.append(_error(message, at, advice))
    )
    try:
        reader = Expressions(source, lexer.statement(), 0)
        node = reader.read()
        rest = [t for t in reader.tokens[reader.index :] if t.kind not in (".", "end")]
        if rest or not isinstance(node, Atom) or lexer.statement()[0].kind != "end":
            at = source.span(rest[0].start, len(rest[0].text)) if rest else node.at
            raise Fault("a query is one atom", at, "write it as `path(1, x)`")
        if not diagnostics:
            return node
    except Fault as fault:
        if fault.message:
            diagnostics.append(_error(fault.message, fault.at, fault.advice))
    raise ProgramError(diagnostics, {"<query>": source.lines})


def _error(message: str, at: Span | None, advice: str = "") -> Diagnostic:
    return Diagnostic(message, at, advice)


def _bad_encoding(problem: includes.BadEncoding) -> Diagnostic:
    return _error(str(problem), problem.at, "save the file as UTF-8")


@dataclass
class _Open:
    """A file that is being read: the program itself or one that it includes."""

    lexer: Lexer
    folder: Path | None
    path: Path | None
    waiting: tuple[list[Token], int] = ([], 0)  # what was read ahead when an include began


class _Parser:
    def __init__(self, folder: Path | None, allow_paths: bool) -> None:
        self.root = folder.resolve() if folder is not None else None
        self.allow_paths = allow_paths
        self.diagnostics: list[Diagnostic] = []
        self.errors = 0
        self.sources: dict[str, list[str]] = {}
        self.types: list[TypeDecl] = []
        self.relations: list[RelationDecl] = []
        self.clauses: list[Clause] = []
        self.facts: list[Fact] = []
        self.directives: list[Directive] = []
        self.pragmas: list[tuple[str, str]] = []
        self.open: list[_Open] = []
        self.included = 0
        self.once: set[Path] = set()
        self.tokens: list[Token] = []
        self.index = 0
        self.planned = False  # whether a `.plan` may stand here

    def parsed(self) -> Parsed:
        files = {file: i for i, file in enumerate(self.sources)}
        self.diagnostics.sort(key=lambda d: (files[d.at.file], d.at[1:]) if d.at else (-1, ()))
        if self.errors > MAX_ERRORS:
            more = self.errors - MAX_ERRORS
            least = "at least " if self.errors > GIVE_UP else ""
            one = "error is" if more == 1 else "errors are"
            self.diagnostics.append(Diagnostic(f"{least}{more} more {one} not shown"))
        program = Program(
            tuple(self.types),
            tuple(self.relations),
            tuple(self.clauses),
            tuple(self.facts),
            tuple(self.directives),
            tuple(self.pragmas),
        )
        return Parsed(program, tuple(self.diagnostics), self.sources)

    def report(self, message: str, at: Span | None, advice: str = "") -> None:
        self.errors += 1
        if self.errors <= MAX_ERRORS:
            self.diagnostics.append(_error(message, at, advice))

    # Files.

    def run(self, text: str, file: str, path: Path | None = None) -> None:
        self.enter(text, file, self.root, path)
        while self.open and self.errors <= GIVE_UP:
            try:
                self.statement()
            except Fault as fault:
                if fault.message:
                    self.report(fault.message, fault.at, fault.advice)
                self.recover(fault)

    def enter(self, text: str, file: str, folder: Path | None, path: Path | None) -> None:
        text = text.removeprefix("\ufeff")
        source = Source(file, text)
        self.sources[file] = source.lines
        if "\0" in text:
            at = source.span(text.index("\0"))
            self.report("the program contains a NUL character", at, "is this a text file?")
            source.text = text.replace("\0", " ")
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            at = source.span(problem.start)
            self.report("the program contains half a surrogate pair", at, "save it as UTF-8")
            source.text = source.text.encode("utf-8", "replace").decode()
        self.open.append(_Open(Lexer(source, self.report), folder, path))
        self.tokens, self.index = [Token("end", "", 0)], 0

    @property
    def source(self) -> Source:
        return self.open[-1].lexer.source

    def include(self, name: Token) -> None:
        here = self.open[-1]
        at = self.source.span(name.start, len(name.text))
        if here.folder is None or self.root is None:
            raise Fault(
                "a program without a folder cannot include files",
                at,
                "pass the folder that holds them",
            )
        wanted = unescape(name, self.source)
        try:
            path = includes.find(wanted, here.folder, self.root, self.allow_paths)
            file = str(PurePath(here.lexer.source.file).parent / wanted)
            chain = [item.path for item in self.open]
            if path in chain:
                loop = [item.lexer.source.file for item in self.open[chain.index(path) :]]
                raise Fault(
                    "this file includes itself: " + " -> ".join([*loop, file]),
                    at,
                    "remove one of these includes",
                )
            self.included += 1
            if len(self.open) > includes.MAX_NESTING or self.included > includes.MAX_INCLUDES:
                raise Fault(
                    f"more than {includes.MAX_INCLUDES} includes, or {includes.MAX_NESTING} nested",
                    at,
                    "put `.once` at the top of files that are included often",
                )
            text = includes.read(path, file, special=self.allow_paths)
        except includes.Unreadable as problem:
            raise Fault(problem.message, at, problem.advice) from None
        except includes.BadEncoding as problem:
            self.sources[problem.at.file] = problem.text.split("\n")
            raise Fault(str(problem), problem.at, "save the file as UTF-8") from None
        here.waiting = self.tokens, self.index
        self.enter(text, file, path.parent, path)

    # Statements.

    def statement(self) -> None:
        """Read the next statement, or leave the file at its end."""
        token = self.tokens[self.index]
        if token.kind == "end":
            lexer = self.open[-1].lexer
            found = len(self.facts)
            lexer.facts(self.facts)
            self.planned = self.planned and found == len(self.facts)
            self.tokens, self.index = lexer.statement(), 0
            token = self.tokens[0]
            if token.kind == "end":
                self.leave()
                return
        if token.kind == "directive":
            self.index += 1
            name = ".include" if token.text.startswith("#") else token.text
            try:
                _STATEMENTS[name](self, token)
            except Fault as fault:
                if fault.resume is None:
                    self.skip_directive()
                    fault.resume = self.index
                raise
            finally:
                self.planned = False
        elif token.kind == "." and self.dotted(token):
            raise self.no_directive(token)
        elif token.kind == ".":
            raise Fault("unexpected `.`", self.at(token), "only clauses end with `.`")
        else:
            self.planned = False
            self.clause()

    def leave(self) -> None:
        self.open.pop()
        if self.open:
            self.tokens, self.index = self.open[-1].waiting

    def recover(self, fault: Fault) -> None:
        """Go on after the next `.`, or at the next directive."""
        if fault.resume is not None:
            self.index = fault.resume
            return
        while (token := self.tokens[self.index]).kind != "end":
            self.index += 1
            if token.kind == ".":
                if not self.dotted(token):
                    return
                # The rest of a name such as `a.b` is no statement of its own.
                self.tokens, self.index = self.open[-1].lexer.statement(), 0

    def dotted(self, dot: Token) -> str:
        """The name that directly follows a dot, if one does."""
        found = _NAME.match(self.source.text, dot.start + 1)
        return found[0] if found else ""

    def clause(self) -> None:
        start = self.tokens[self.index]
        reader = Expressions(self.source, self.tokens, self.index)
        head = reader.read()
        if start.kind == "(":
            raise Fault("a head stands without parentheses", self.at(start), "remove them")
        heads = self.heads(head)
        body: Formula = And(())
        self.index = reader.index
        neck = self.tokens[self.index]
        if neck.kind == ":-":
            reader = Expressions(self.source, self.tokens, self.index + 1)
            body = reader.formula()
            self.index = reader.index
            if self.tokens[self.index].kind == ":-":
                raise Fault(
                    "a second `:-` in one clause",
                    self.at(self.tokens[self.index]),
                    "is the `.` of the clause before missing?",
                )
        if self.tokens[self.index].kind != ".":
            last = self.tokens[self.index - 1]
            raise Fault(
                "a `.` is missing at the end of this clause",
                self.source.span(last.start + len(last.text) - 1),
                "end the clause with `.`",
                self.index,
            )
        if neck.kind == "." and len(heads) > 1:
            raise Fault(
                "several facts in one statement", heads[1].at, "end each fact with its own `.`"
            )
        self.index += 1
        if neck.kind == "." and all(
            isinstance(term, Constant) and term.kind != "unsigned" for term in heads[0].terms
        ):
            values = tuple([cast(Constant, term).value for term in heads[0].terms])
            self.facts.append(Fact(heads[0].relation, values, heads[0].at))
            return
        self.clauses.append(Clause(heads, body, heads[0].at))
        self.planned = True

    def heads(self, node: Node) -> tuple[Atom, ...]:
        parts: tuple[Node, ...] = node.parts if isinstance(node, And) else (node,)
        heads: list[Atom] = []
        for part in parts:
            if isinstance(part, Atom):
                heads.append(part)
                continue
            name = getattr(part, "functor", None) or getattr(part, "op", None)
            if name in UNRESERVED and name in FUNCTORS:
                heads.append(Atom(name, part.args, part.at))  # type: ignore[union-attr]
                continue
            raise self.no_head(part, name)
        return tuple(heads)

    def no_head(self, part: Node, name: str | None) -> Fault:
        if name in RESERVED:
            return Fault(
                f"`{name}` is a word of the language and names no relation",
                part.at,
                "choose another name",
            )
        if isinstance(part, Truth):
            return Fault("a head is an atom, not a condition", part.at)
        word = getattr(part, "name", "")
        if word:
            return Fault(f"`{word}` alone is no atom", part.at, f"write `{word}()` or `{word}(…)`")
        return Fault("a head is an atom such as `path(x, y)`", part.at)

    # Directives.

    def declaration(self, keyword: Token) -> None:
        names = [self.relation_name()]
        while self.accept(","):
            names.append(self.relation_name())
        if len(names) == 1 and self.peek().kind == "=":
            raise refused("debug_delta", self.at(self.peek()))
        self.expect("(", f"`(` must follow `{names[-1].text}`", "write `.decl edge(x: number)`")
        attributes: list[Attribute] = []
        while not self.accept(")"):
            if attributes:
                self.expect(",", "`,` or `)` must follow an attribute", "close the list with `)`")
            attributes.append(self.attribute())
        qualifiers, actions = self.qualifiers()
        for name in names:
            at = self.at(name)
            self.relations.append(
                RelationDecl(name.text, tuple(attributes), frozenset(qualifiers), at)
            )
            self.directives += [Directive(action, name.text, (), at) for action in actions]

    def attribute(self) -> Attribute:
        name = self.expect("name", "an attribute's name must stand here", "write `x: number`")
        if not self.accept(":"):
            raise Fault(
                f"attribute {name.text} has no type",
                self.at(name),
                f"write `{name.text}: number` (or unsigned, float, symbol)",
            )
        type_name = self.type_name()
        if self.peek().kind == "wrong" and self.peek().text == "<>":
            raise refused("lattice attribute", self.at(self.peek()))
        return Attribute(name.text, type_name, self.at(name))

    def qualifiers(self) -> tuple[set[str], list[Literal["input", "output", "printsize"]]]:
        found: set[str] = set()
        actions: list[Literal["input", "output", "printsize"]] = []
        while self.peek().kind == "name" and self.peek(1).kind not in ("(", "."):
            token = self.peek()
            if token.text in ACTIONS:
                actions.append(token.text)  # type: ignore[arg-type]
            elif token.text in QUALIFIERS:
                found.add(token.text)
            elif token.text == "choice" and self.peek(1).kind == "-":
                raise refused("choice", self.at(token)._replace(width=len("choice-domain")))
            elif token.text in DIRECTIVES:
                break  # a forgotten dot, reported where statements are read
            else:
                close = get_close_matches(token.text, QUALIFIERS, 1)
                raise Fault(
                    f"unknown qualifier `{token.text}`",
                    self.at(token),
                    f"did you mean `{close[0]}`?" if close else "see the language reference",
                )
            self.index += 1
        return found, actions

    def type_declaration(self, keyword: Token) -> None:
        name = self.expect("name", "a type's name must follow", "write `.type Id <: number`")
        at = self.at(name)
        if keyword.text != ".type":
            old = keyword.text[1:].removesuffix("_type")
            self.types.append(TypeDecl(name.text, "subtype", (old,), at))
        elif self.accept("<:"):
            self.types.append(TypeDecl(name.text, "subtype", (self.type_name(),), at))
        elif self.accept("="):
            of = [self.variant()]
            while self.accept("|"):
                of.append(self.variant())
            form: Literal["union", "alias"] = "union" if len(of) > 1 else "alias"
            self.types.append(TypeDecl(name.text, form, tuple(of), at))
        else:
            self.types.append(TypeDecl(name.text, "subtype", ("symbol",), at))

    def variant(self) -> str:
        if self.peek().kind == "[":
            raise refused("record type", self.at(self.peek()))
        if self.peek(1).kind == "{":
            raise refused("algebraic type", self.at(self.peek()))
        return self.type_name()

    def action(self, keyword: Token) -> None:
        names = [self.relation_name()]
        while self.accept(","):
            names.append(self.relation_name())
        parameters: list[tuple[str, str]] = []
        if self.accept("("):
            while not self.accept(")"):
                if parameters:
                    self.expect(",", "`,` or `)` must follow a parameter")
                parameters.append(self.parameter())
        action = cast(Literal["input", "output", "printsize"], keyword.text[1:])
        for name in names:
            self.directives.append(Directive(action, name.text, tuple(parameters), self.at(name)))

    def parameter(self) -> tuple[str, str]:
        key = self.expect("name", "a parameter's name must stand here", "write `IO=file`")
        self.expect("=", f"`=` must follow the parameter `{key.text}`", f"write `{key.text}=…`")
        value = self.peek()
        if value.kind not in ("name", "string", "integer", "float"):
            raise Fault(
                f"parameter `{key.text}` has no value",
                self.at(value),
                "write a name, a number or a string",
            )
        self.index += 1
        return key.text, unescape(value, self.source) if value.kind == "string" else value.text

    def pragma(self, keyword: Token) -> None:
        key = self.expect(
            "string", "a string must follow `.pragma`", 'write `.pragma "key" "value"`'
        )
        value = self.peek()
        if value.kind == "string":
            self.index += 1
        text = unescape(value, self.source) if value.kind == "string" else ""
        self.pragmas.append((unescape(key, self.source), text))

    def plan(self, keyword: Token) -> None:
        """`.plan 0:(1,2), 1:(2,1)` is read and dropped: join orders are chosen by size."""
        if not self.planned:
            at = self.at(keyword)
            raise Fault("`.plan` follows no rule", at, "place it right after its rule")
        advice = "write `.plan 0:(2,1)`"
        while True:
            self.expect("integer", "a number must stand here", advice)
            self.expect(":", "`:` must follow the number", advice)
            self.expect("(", "`(` must follow `:`", advice)
            if not self.accept(")"):
                self.expect("integer", "a number must stand here", advice)
                while self.accept(","):
                    self.expect("integer", "a number must stand here", advice)
                self.expect(")", "`)` must close the order", advice)
            if not self.accept(","):
                return

    def include_directive(self, keyword: Token) -> None:
        advice = 'write `.include "file.dl"`'
        self.include(self.expect("string", "a file name in quotes must follow the include", advice))

    def once_directive(self, keyword: Token) -> None:
        here = self.open[-1]
        if here.path is not None and here.path in self.once:
            self.leave()
        elif here.path is not None:
            self.once.add(here.path)

    def unsupported(self, keyword: Token) -> None:
        """Refuse a construct; one with a block is skipped with its block."""
        at = self.at(keyword)
        if keyword.text in (".comp", ".lattice"):
            self.skip_block()
            raise refused(keyword.text, at, self.index)
        raise refused(keyword.text, at)

    def skip_directive(self) -> None:
        """Go to what looks like the next clause: an atom at the start of a later line."""
        line = self.source.span(self.tokens[self.index - 1].start).line
        while (token := self.peek()).kind != "end":
            here = self.source.span(token.start).line
            if token.kind == "name" and here > line and self.peek(1).kind == "(":
                return
            line = here
            self.index += 1
            if token.kind == ".":
                if not self.dotted(token):
                    return
                self.tokens, self.index = self.open[-1].lexer.statement(), 0

    def skip_block(self) -> None:
        depth = 0
        while True:
            token = self.peek()
            if token.kind == "end":
                self.tokens, self.index = self.open[-1].lexer.statement(), 0
                if self.tokens[0].kind == "end":
                    return
                continue
            self.index += 1
            depth += {"{": 1, "}": -1}.get(token.kind, 0)
            if token.kind == "}" and depth <= 0:
                return

    def no_directive(self, dot: Token) -> Fault:
        name = self.dotted(dot)
        close = get_close_matches(name.lower(), DIRECTIVES, 1)
        self.tokens, self.index = self.open[-1].lexer.statement(), 1
        self.skip_directive()
        return Fault(
            f"unknown directive `.{name}`",
            self.source.span(dot.start, len(name) + 1),
            f"did you mean `.{close[0]}`?" if close else "",
            self.index,
        )

    # Tokens.

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
        at, before = self.at(token), self.tokens[self.index - 1]
        last = self.source.span(before.start + len(before.text) - 1)
        # What is missing at the end of a line is shown there, not on the next one.
        raise Fault(message, at if at.line == last.line and token.kind != "end" else last, advice)

    def relation_name(self) -> Token:
        name = self.expect("name", "a relation's name must stand here")
        if name.text in RESERVED:
            raise Fault(
                f"`{name.text}` is a word of the language and names no relation",
                self.at(name),
                "choose another name",
            )
        self.refuse_dots()
        return name

    def type_name(self) -> str:
        name = self.expect("name", "a type's name must stand here", "such as number or symbol")
        self.refuse_dots()
        return name.text

    def refuse_dots(self) -> None:
        dot, before = self.peek(), self.tokens[self.index - 1]
        if dot.kind == "." and before.start + len(before.text) == dot.start and self.dotted(dot):
            raise refused("qualified name", self.at(before))

    def at(self, token: Token) -> Span:
        return self.source.span(token.start, len(token.text) or 1)


_STATEMENTS: dict[str, Callable[[_Parser, Token], None]] = {
    ".decl": _Parser.declaration,
    ".type": _Parser.type_declaration,
    ".number_type": _Parser.type_declaration,
    ".symbol_type": _Parser.type_declaration,
    ".input": _Parser.action,
    ".output": _Parser.action,
    ".printsize": _Parser.action,
    ".include": _Parser.include_directive,
    ".once": _Parser.once_directive,
    ".pragma": _Parser.pragma,
    ".plan": _Parser.plan,
    ".limitsize": _Parser.unsupported,
    ".comp": _Parser.unsupported,
    ".init": _Parser.unsupported,
    ".override": _Parser.unsupported,
    ".functor": _Parser.unsupported,
    ".lattice": _Parser.unsupported,
}
