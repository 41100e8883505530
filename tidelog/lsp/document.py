"""One open program: its diagnostics, its names, where they occur and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from tidelog.plan import Analysis, analyse
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import clause_nodes
from tidelog.program.rules import CheckedProgram
from tidelog.program.syntax import Atom, Inside, RelationDecl, Span, Variable
from tidelog.text import Parsed, parse, to_text
from tidelog.text.argument_places import pointed
from tidelog.text.lexer import Lexer, SourceText
from tidelog.text.operator_table import RESERVED

NAME = re.compile(r"[A-Za-z_?][A-Za-z0-9_?]*")
Sort = Literal["relation", "type", "variable"]


class Occurrence(NamedTuple):
    """A name in the text. Variables are local to their clause."""

    sort: Sort
    name: str
    at: Span
    defines: bool = False
    clause: int = -1

    @property
    def key(self) -> tuple[Sort, str, int]:
        return self.sort, self.name, self.clause


class RenameError(Exception):
    """A name that cannot be changed where it occurs, or an invalid new name."""


@dataclass
class Document:
    """A program in the editor, analysed on demand."""

    uri: str
    file: str  # its name in spans
    folder: Path | None
    text: str
    allow_paths: bool = False
    include: tuple[Path, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def parsed(self) -> Parsed:
        return parse(
            self.text,
            self.file,
            folder=self.folder,
            allow_paths=self.allow_paths,
            include=self.include,
            macros=dict(self.macros),
        )

    @cached_property
    def analysis(self) -> Analysis:
        return analyse(self.parsed.program)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        found = pointed(self.analysis.diagnostics, self.parsed.sources)
        return list(dict.fromkeys((*self.parsed.diagnostics, *found)))

    @cached_property
    def occurrences(self) -> list[Occurrence]:
        program = self.parsed.program
        found = [
            Occurrence("relation", decl.name, decl.at, defines=True)
            for decl in program.relations
            if not decl.inferred
        ]
        found += (Occurrence("type", decl.name, decl.at, defines=True) for decl in program.types)
        for i, clause in enumerate(program.clauses):
            heads = {id(head) for head in clause.heads}
            for node in clause_nodes(clause):
                if isinstance(node, Atom):
                    at, defines = node.at, id(node) in heads
                    found.append(Occurrence("relation", node.relation, at, defines))
                elif isinstance(node, Variable):
                    found.append(Occurrence("variable", node.name, node.at, clause=i))
        found += (Occurrence("relation", f.relation, f.at, defines=True) for f in program.facts)
        found += (Occurrence("relation", d.relation, d.at) for d in program.directives)
        found += self._types_used({decl.name for decl in program.types})
        return [each for each in dict.fromkeys(found) if each.at.line]

    def _types_used(self, types: set[str]) -> Iterator[Occurrence]:
        """Names of types in declarations, found by a second pass of the lexer."""
        source = SourceText(self.file, self.text)
        lexer = Lexer(source, lambda message, at, advice: None)
        while True:
            tokens = lexer.statement()
            if tokens[0].kind == "end" and lexer.position >= len(self.text):
                return
            if tokens[0].text not in (".decl", ".type", ".functor"):
                continue
            for before, token in pairwise(tokens):
                if token.text in types and before.kind in (":", "<:", "=", "|"):
                    yield Occurrence("type", token.text, source.span(token.start, len(token.text)))

    def at(self, line: int, column: int) -> Occurrence | None:
        """The name at a position in this file; lines and columns count from 1."""
        for each in self.occurrences:
            at = each.at
            here = at.file == self.file and at.line == line
            if here and at.column <= column <= at.column + at.width:
                return each
        return None

    def same(self, name: Occurrence) -> list[Occurrence]:
        """All occurrences of a name, in the order of the text."""
        found = {each.at: each for each in self.occurrences if each.key == name.key}
        return sorted(found.values(), key=lambda each: each.at)

    def definition(self, name: Occurrence) -> list[Occurrence]:
        """The declaration of a name, or else its first definition."""
        found = self.same(name)
        declared = {decl.at for decl in self.parsed.program.relations if not decl.inferred}
        if name.sort == "variable":
            return found[:1]
        return (
            [each for each in found if each.sort == "type" and each.defines]
            or [each for each in found if each.at in declared]
            or [each for each in found if each.defines][:1]
        )

    def renamed(self, name: Occurrence, new: str) -> list[Span]:
        """The spans to edit for a new name; raises RenameError if that is impossible."""
        if not NAME.fullmatch(new) or new in RESERVED:
            raise RenameError(f"expected a name of letters, digits, _ and ?, got {new!r}")
        places = self.same(name)
        for each in places:
            if isinstance(each.at, Inside) or "." in name.name:
                raise RenameError(f"{name.name} belongs to a component; rename it there by hand")
            if self._text_at(each.at) != name.name:
                raise RenameError(f"{name.name} comes from a macro, or from a file that changed")
        taken = {each.name for each in self.occurrences if each.key == name._replace(name=new).key}
        if taken:
            raise RenameError(f"the {name.sort} {new} already exists")
        return [each.at for each in places]

    def _text_at(self, at: Span) -> str:
        lines = self.lines if at.file == self.file else self.parsed.sources.get(at.file, [])
        line = lines[at.line - 1] if at.line <= len(lines) else ""
        return line[at.column - 1 : at.column - 1 + at.width]

    def explain(self, name: Occurrence) -> str:
        """The type of a name, and the stratum and number of rules of a relation."""
        if name.sort == "variable":
            kind = self._kinds.get(name.at)
            return f"{name.name}: {kind}" if kind else f"{name.name} (a variable)"
        program = self.analysis.typed or self.parsed.program
        if name.sort == "type":
            return "\n".join(to_text(decl) for decl in program.types if decl.name == name.name)
        decl = next((d for d in program.relations if d.name == name.name), None)
        shown = to_text(decl) if decl is not None else f"{name.name} (no declaration)"
        checked = self.analysis.checked
        if checked is None:
            return shown
        return "\n".join([shown, *_stratum_lines(name.name, decl, checked)])

    @cached_property
    def _kinds(self) -> dict[Span, str]:
        typed = self.analysis.typed
        nodes = (node for clause in typed.clauses for node in clause_nodes(clause)) if typed else ()
        return {n.at: n.kind for n in nodes if isinstance(n, Variable) and n.kind}

    def symbols(self) -> Iterator[tuple[str, Sort, Span]]:
        """The declarations in this file."""
        program = self.parsed.program
        for relation in program.relations:
            if relation.at.file == self.file and not relation.inferred:
                yield relation.name, "relation", relation.at
        for each in program.types:
            if each.at.file == self.file:
                yield each.name, "type", each.at


def _stratum_lines(name: str, decl: RelationDecl | None, checked: CheckedProgram) -> Iterator[str]:
    """Lines about a relation's stratum and rules."""
    for number, stratum in enumerate(checked.strata, 1):
        if name in stratum.relations:
            rules = [rule for rule in stratum.rules if rule.head.relation == name]
            others = [n for n in stratum.relations if n != name and not n.startswith("%")]
            kind = "recursive" if stratum.recursive else "derived" if rules else "explicit"
            yield f"// stratum {number} of {len(checked.strata)}, {kind}"
            if others:
                yield f"// together with {', '.join(others[:8])}"
            if rules:
                yield f"// {len(rules)} {'rule' if len(rules) == 1 else 'rules'}"
            return
    if decl is not None and "inline" in decl.qualifiers:
        yield "// inline: its rules replace its uses"
