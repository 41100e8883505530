"""The state of a program between two passes, on its way to the core form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tidelog.program.builtin_functors import Signature
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import relations
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Clause, Kind, Program, Span, Value


class Type(NamedTuple):
    """A type by what can be in it: `leaves` are the primitive type and subtypes it holds."""

    kind: Kind
    leaves: frozenset[str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A pass takes one and returns the next.

    A clause that was found faulty leaves the program, so that nobody complains about it
    twice. For the same reason a relation whose declaration is faulty is in `doubtful`, and
    one that a faulty clause mentions is in `unsure`: its type may have been known from there.
    """

    program: Program
    diagnostics: tuple[Diagnostic, ...] = ()
    doubtful: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    types: Mapping[str, Type] = field(default_factory=dict)
    functors: Mapping[str, Signature] = field(default_factory=dict)  # of the program's own
    relations: Mapping[str, Relation] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    own: tuple[tuple[Rule, ...], ...] = ()  # of each clause
    numbered: tuple[Span, ...] = ()  # where `autoinc()` stands
    borrowed: frozenset[tuple[str, str]] = frozenset()  # see desugar: (hidden, relation it reads)
    facts: Mapping[str, list[tuple[Value, ...]]] = field(default_factory=dict)
    computed: tuple[Rule, ...] = ()  # see `CheckedProgram`
    strata: tuple[Stratum, ...] = ()
    states: bool = True  # whether clauses without a body state facts, or are rules
    unfold: bool = False  # whether all inline relations are unfolded that can be
    unfolded: frozenset[str] = frozenset()  # inline relations that are

    def found(self, diagnostics: Iterable[Diagnostic]) -> Draft:
        return replace(self, diagnostics=(*self.diagnostics, *diagnostics))

    def without(self, dropped: Collection[Clause]) -> Draft:
        """The draft without clauses that were found faulty."""
        if not dropped:
            return self
        gone = {id(clause) for clause in dropped}
        clauses = tuple(clause for clause in self.program.clauses if id(clause) not in gone)
        unsure = {name for clause in dropped for name in relations(clause)}
        program = replace(self.program, clauses=clauses)
        return replace(self, program=program, unsure=self.unsure | unsure)

    def is_lost(self, name: str) -> bool:
        """Whether the name may be known from text that could not be read."""
        lost = self.program.lost
        return name in lost or "*" in lost

    @property
    def faulty(self) -> bool:
        return any(finding.severity == "error" for finding in self.diagnostics)


def place(at: Span) -> str:
    return f"{at.file}:{at.line}:{at.column}" if at.line else "no place in a file"
