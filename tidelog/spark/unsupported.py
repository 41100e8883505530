"""Programs that Spark does not support, refused before it starts."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.maintain.driver.algorithms import ON_SPARK
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.formula_walk import everything, terms_of
from tidelog.program.functors import calls
from tidelog.program.rules import CheckedProgram, Relation, Rule
from tidelog.program.suggestions import suggestion
from tidelog.program.syntax import Call, Cast, Span, TypeDecl


def check_algorithm(name: str) -> None:
    if name not in ON_SPARK:
        advice = suggestion(name, ON_SPARK)
        raise TidelogError(f"error: the algorithm {name!r} is not available on Spark\n    {advice}")


def check_program(types: Iterable[TypeDecl], checked: CheckedProgram, sources: Sources) -> None:
    """Refuse what only the local engine can do."""
    for declared in types:
        if declared.branches:
            found = Diagnostic(
                f"type {declared.name} has records or branches, which Spark does not support",
                declared.at,
                "use the local engine, or give relations one column per field",
            )
            raise ProgramError([found], sources)
    refuse_numbers(checked.rules)
    refuse_functors(checked.rules)
    refuse_pruning(checked.relations.values())


def refuse_numbers(rules: Iterable[Rule]) -> None:
    """Refuse numbers of symbols: each executor and each run would assign others."""
    for rule in rules:
        for part in rule.body:
            for term in everything(*terms_of(part)):
                if isinstance(term, Cast) or (isinstance(term, Call) and term.functor == "ord"):
                    inside = term.term if isinstance(term, Cast) else term.args[0]
                    if inside.kind != term.kind and "symbol" in (inside.kind, term.kind):
                        raise no_numbers(term)


def refuse_functors(rules: Iterable[Rule]) -> None:
    """Refuse functions whose results must be remembered: executors share no memory."""
    for rule in rules:
        for call in calls(rule):
            raise TidelogError(
                f"{_where(call.at)}error: {call.functor} is not called on Spark\n"
                "    functors in Python and autoinc() need the local engine"
            )


def refuse_pruning(relations: Iterable[Relation]) -> None:
    """Refuse what depends on rounds: each placement has rounds of its own."""
    for relation in relations:
        if relation.pruned:
            where = _where(relation.at)
            raise TidelogError(
                f"{where}error: {relation.name} has a subsumption or a choice-domain\n"
                "    these need the local engine"
            )


def no_numbers(term: Cast | Call) -> TidelogError:
    return TidelogError(
        f"{_where(term.at)}error: symbols have no numbers on Spark\n"
        "    ord and as of symbols need the local engine"
    )


def _where(at: Span) -> str:
    return f"{at.file}:{at.line}:{at.column}: " if at.line else ""
