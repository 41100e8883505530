"""Text to program: the entries, and the files that a program includes.

A fault never stops the reading: what is wrong with one statement is noted, and
the next one is tried, at the end of the clause or at the next directive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.garbage import uncollected
from tidelog.program.suggestions import closest
from tidelog.program.syntax import Atom, Program, Span
from tidelog.text import includes
from tidelog.text.component_expansion import expand
from tidelog.text.cursor import Cursor
from tidelog.text.expressions import Expressions
from tidelog.text.lexer import DIRECTIVES, Fault, Lexer, SourceText, Token
from tidelog.text.literal_values import unescape
from tidelog.text.preprocessor import macros_of, source_of
from tidelog.text.statements import Component, Statements, clause, component, directive

MAX_ERRORS = 50  # reported; more of them would hide the first
GIVE_UP = 10_000  # after so many errors the text is not worth reading on


@dataclass(frozen=True)
class Parsed:
    """A program as far as it could be read, its errors, and its lines by file."""

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, list[str]]


def parse(
    text: str,
    file: str = "<program>",
    *,
    folder: Path | None = None,
    allow_paths: bool = False,
    include: Sequence[str | Path] = (),
    macros: Mapping[str, object] | None = None,
) -> Parsed:
    """Read a program. Includes are looked for in `folder`; without one there are none.

    Further folders for them are in `include`, and `macros` are defined before it is read.

    >>> parse("path(x, y) :- edge(x, y). edge(1, 2).").program.facts[0].values
    (1, 2)
    """
    return _Parser(folder, allow_paths, include, macros or {}).run(text, file, None)


def parse_file(
    path: str | Path,
    *,
    allow_paths: bool = False,
    include: Sequence[str | Path] = (),
    macros: Mapping[str, object] | None = None,
) -> Parsed:
    """Read a program from a file; includes are looked for beside it, then in `include`."""
    file = str(path)
    try:
        # The user named this file, so it may be a pipe such as /dev/stdin.
        text = includes.read(Path(path), file, special=True)
    except includes.Unreadable as problem:
        return Parsed(Program(), (Diagnostic(problem.message, None, problem.advice),), {})
    except includes.BadEncoding as problem:
        found = Diagnostic(str(problem), problem.at, problem.advice)
        return Parsed(Program(), (found,), {file: problem.text.split("\n")})
    parser = _Parser(Path(path).parent, allow_paths, include, macros or {})
    return parser.run(text, file, Path(path).resolve())


def parse_atom(text: str) -> Atom:
    """Read one atom, such as a query; raises `ProgramError` if the text is not one.

    >>> parse_atom("path(1, x)").relation
    'path'
    """
    diagnostics: list[Diagnostic] = []
    source = SourceText("<query>", text)
    lexer = Lexer(
        source, lambda message, at, advice: diagnostics.append(Diagnostic(message, at, advice))
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
            diagnostics.append(Diagnostic(fault.message, fault.at, fault.advice))
    raise ProgramError(diagnostics, {"<query>": source.lines})


class _Parser:
    """Reads a program's files; the one that includes another waits below it on a stack."""

    def __init__(
        self,
        folder: Path | None,
        allow_paths: bool,
        include: Sequence[str | Path],
        macros: Mapping[str, object],
    ) -> None:
        self.root = folder.resolve() if folder is not None else None
        self.allow_paths = allow_paths
        self.include_folders = [Path(each) for each in include]
        self.macros = macros_of(macros)
        self.draft = Statements()
        self.diagnostics: list[Diagnostic] = []
        self.errors = 0
        self.sources: dict[str, list[str]] = {}
        self.open: list[Cursor] = []
        self.included = 0
        self.started = 0  # where the statement that is being read starts
        self.once: set[Path] = set()
        self.inside: list[tuple[Component, Statements]] = []  # open components, and what is around
        self.qualified = False  # names with dots were read
        self.cut = False  # a file was cut off at a macro that stands for too much

    def run(self, text: str, file: str, path: Path | None) -> Parsed:
        with uncollected():
            return self._run(text, file, path)

    def _run(self, text: str, file: str, path: Path | None) -> Parsed:
        self.enter(text, file, self.root, path)
        while self.open and self.errors <= GIVE_UP and self.included <= includes.MAX_INCLUDES:
            cursor = self.open[-1]
            try:
                self.statement(cursor)
            except Fault as fault:
                if fault.message:
                    self.report(fault.message, fault.at, fault.advice)
                cursor.recover(fault.resume)
                self.draft.lost |= cursor.names(self.started)
        for found, outer in reversed(self.inside):
            if not self.cut:
                self.report(f"component {found.name} is not closed", found.at, "close it with `}`")
            self.draft = outer
        return Parsed(self.whole(), self.findings(), self.sources)

    def whole(self) -> Program:
        """The program with all instances of its components."""
        draft = self.draft
        if not (draft.components or draft.instances or self.qualified):
            return draft.program()
        return expand(draft, self.misused).program()

    def report(self, message: str, at: Span, advice: str = "") -> None:
        if self.open and self.open[-1].source.cut:
            self.cut = True
            return  # only what was cut off is missing here
        self.errors += 1
        if self.errors <= MAX_ERRORS:
            self.diagnostics.append(Diagnostic(message, at, advice))

    def findings(self) -> tuple[Diagnostic, ...]:
        files = {file: i for i, file in enumerate(self.sources)}
        found = sorted(
            self.diagnostics, key=lambda d: (files[d.at.file], d.at[1:]) if d.at else (-1, ())
        )
        if self.errors > MAX_ERRORS:
            more = self.errors - MAX_ERRORS
            least = "at least " if self.errors > GIVE_UP else ""
            one = "error is" if more == 1 else "errors are"
            found.append(Diagnostic(f"{least}{more} more {one} not shown"))
        return tuple(found)

    def statement(self, cursor: Cursor) -> None:
        """Read the next statement, or leave the file at its end."""
        facts = len(self.draft.facts)
        if cursor.at_end(self.draft.facts):
            self.qualified = self.qualified or cursor.lexer.qualified
            self.open.pop()
            return
        if len(self.draft.facts) > facts:
            self.draft.after_rule = False
        token = cursor.peek()
        self.started = token.start
        if token.kind == "directive":
            cursor.index += 1
            try:
                self.directive(cursor, token)
            except Fault as fault:
                if fault.resume is None:
                    cursor.skip_directive()
                    fault.resume = cursor.index
                raise
            finally:
                self.draft.after_rule = False
        elif token.kind == ".":
            raise self.no_statement(cursor, token)
        elif token.kind == "}" and self.inside:
            cursor.index += 1
            self.draft = self.inside.pop()[1]
        else:
            self.draft.after_rule = False
            clause(cursor, self.draft)

    def directive(self, cursor: Cursor, keyword: Token) -> None:
        if keyword.text == ".once":
            if cursor.path is not None and cursor.path in self.once:
                self.open.pop()
            elif cursor.path is not None:
                self.once.add(cursor.path)
        elif keyword.text == ".include" or keyword.text.startswith("#"):
            try:
                self.include(cursor, cursor.file_name())
            except Fault:
                self.draft.lost.add("*")
                raise
        elif keyword.text == ".comp":
            found = component(cursor, keyword, self.draft)
            self.inside.append((found, self.draft))
            self.draft = found.draft
        else:
            if keyword.text == ".override" and not self.inside:
                message = "`.override` is allowed only inside a component"
                raise Fault(message, cursor.at(keyword), "remove it")
            directive(cursor, keyword, self.draft)

    def no_statement(self, cursor: Cursor, dot: Token) -> Fault:
        """Why a statement cannot start with this dot."""
        name = cursor.dotted(dot)
        if not name:
            return Fault("unexpected `.`", cursor.at(dot), "only clauses end with `.`")
        close = closest(name, DIRECTIVES)
        advice = f"did you mean `.{close}`?" if close else ""
        cursor.skip_word()
        at = cursor.source.span(dot.start, len(name) + 1)
        return Fault(f"unknown directive `.{name}`", at, advice, cursor.index)

    def enter(self, text: str, file: str, folder: Path | None, path: Path | None) -> None:
        text = text.removeprefix("\ufeff")
        plain = SourceText(file, text)
        self.sources[file] = plain.lines
        if "\0" in text:
            at = plain.span(text.index("\0"))
            self.report("the program contains a NUL character", at, "is this a text file?")
            text = text.replace("\0", " ")
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            at = plain.span(problem.start)
            self.report("the program contains half a surrogate pair", at, "save it as UTF-8")
            text = text.encode("utf-8", "replace").decode()
        source = source_of(file, text, self.macros, self.misused)
        self.open.append(Cursor(source, self.report, folder, path))

    def misused(self, message: str, at: Span, advice: str) -> None:
        """Something is wrong for the preprocessor: what it should have made is not known."""
        self.draft.lost.add("*")
        self.report(message, at, advice)

    def include(self, cursor: Cursor, name: Token) -> None:
        at = cursor.at(name)
        places = self.places(cursor)
        if not places:
            advice = "pass the folder that holds them"
            raise Fault("a program without a folder cannot include files", at, advice)
        wanted = unescape(name, cursor.source)
        try:
            found = includes.find(wanted, places, self.allow_paths)
            self.refuse_loop(found.path, found.file, at)
            text = includes.read(found.path, found.file, special=self.allow_paths)
        except includes.Unreadable as problem:
            raise Fault(problem.message, at, problem.advice) from None
        except includes.BadEncoding as problem:
            self.sources[found.file] = problem.text.split("\n")
            raise Fault(str(problem), problem.at, problem.advice) from None
        self.enter(text, found.file, found.path.parent, found.path)

    def places(self, cursor: Cursor) -> list[includes.SearchFolder]:
        """Where a file that the cursor's file includes may be, in the order of looking."""
        places = []
        if cursor.folder is not None:
            roots = (self.root, *self.include_folders)
            inside = tuple(root.resolve() for root in roots if root is not None)
            shown = str(PurePath(cursor.source.file).parent)
            places.append(includes.SearchFolder(cursor.folder, inside, shown))
        for folder in self.include_folders:
            places.append(includes.SearchFolder(folder, (folder.resolve(),), str(folder)))
        return places

    def refuse_loop(self, path: Path, file: str, at: Span) -> None:
        chain = [cursor.path for cursor in self.open]
        if path in chain:
            loop = [cursor.source.file for cursor in self.open[chain.index(path) :]]
            shown = " -> ".join([*loop, file])
            raise Fault(f"this file includes itself: {shown}", at, "remove one of these includes")
        self.included += 1
        if len(self.open) > includes.MAX_NESTING:
            message = f"includes nested more than {includes.MAX_NESTING} deep"
            raise Fault(message, at, "include the files from one place")
        if self.included > includes.MAX_INCLUDES:
            message = f"more than {includes.MAX_INCLUDES} includes"
            advice = "put `.once` at the top of files that are included often"
            raise Fault(message, at, advice)
