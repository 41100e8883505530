"""Rules that users give as text, as clauses, or by name."""

from __future__ import annotations

from tidelog.plan.rulebook import Rulebook
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.syntax import Clause, Span
from tidelog.text import parse


def clause_of(rule: str | Clause, sources: Sources | None) -> tuple[Clause, Sources | None]:
    if isinstance(rule, Clause):
        return rule, sources
    if not isinstance(rule, str):
        raise TidelogError(f"error: expected a rule as text, got {rule!r}")
    text = rule if rule.rstrip().endswith(".") else rule + "."
    parsed = parse(text, "<rule>")
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    program = parsed.program
    if not errors and (len(program.clauses) != 1 or program.facts or program.relations):
        advice = "a rule has a head and a body: path(x, z) :- path(x, y), edge(y, z)."
        errors = [Diagnostic("this is not one rule", None, advice)]
    if errors:
        raise ProgramError(errors, parsed.sources)
    return program.clauses[0], parsed.sources


def find_rule(book: Rulebook, rule: str | Clause, sources: Sources | None, at: Span | None) -> str:
    """The name of a rule that is there, given by its text, its clause, or its name."""
    if not isinstance(rule, str) or (rule not in book.clauses and "(" in rule):
        rule, sources = clause_of(rule, sources)
    return book.find(rule, sources, at)
