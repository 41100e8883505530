"""What explanations are asked for: facts of a database, in the notation of programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from tidelog.control.limits import Interrupts, Limits, LimitWatch
from tidelog.explain.probes import Probes
from tidelog.plan.query import compile_question, parse_query
from tidelog.program.diagnostics import Diagnostic, ProgramError, TidelogError, plural
from tidelog.program.formula_walk import all_names, everything
from tidelog.program.proof_steps import GroundFact
from tidelog.program.syntax import And, Atom, Comparison, Formula, Term, Variable, Wildcard
from tidelog.program.table import sorted_table
from tidelog.text.fact_rows import row_of, unknown_relation
from tidelog.text.lexer import Fault
from tidelog.text.writer import to_text
from tidelog.transaction.core import Core


class Asked(NamedTuple):
    facts: tuple[GroundFact, ...]
    left_out: tuple[str, ...] = ()


@contextmanager
def asking(core: Core, seconds: float) -> Iterator[tuple[Probes, LimitWatch]]:
    """Ask the engine of a database, which nobody else does in the block; nothing may be open."""
    store = core.store
    scratch = store.scratch
    if scratch is None:
        raise TidelogError(
            f"error: explanations are not available on {core.backend.name}\n"
            "    open the program with the local engine"
        )
    state = core.state
    with state.lock, core.backend.errors(), Interrupts() as interrupts:
        if state.open:
            raise TidelogError(
                "error: a transaction is open\n    commit it or roll it back before you ask"
            )
        watch = LimitWatch(Limits(max_seconds=seconds), store.facts, None, interrupts)
        store.watch(watch.tick)
        try:
            with Probes.of(store, scratch) as probes:
                yield probes, watch
        finally:
            store.watch(None)


def fact_of(core: Core, text: object) -> GroundFact:
    """The one fact that a text names, whether it holds or not."""
    stripped, formula = _read(text)
    if not isinstance(formula, Atom):
        found = Diagnostic("expected one fact, such as path(1, 4)", None, "ask for one at a time")
        raise ProgramError([found])
    return _ground(core, formula, stripped)


def goals_of(core: Core, text: object, most: int) -> Asked:
    """The facts that a text asks for: one fact, or those of a query's answers."""
    stripped, formula = _read(text)
    if isinstance(formula, Atom) and _is_ground(formula):
        fact = _ground(core, formula, stripped)
        if not core.store.holds(core.state.book.relations[fact.relation], fact.row):
            raise _refuse(f"{stripped} does not hold")
        return Asked((fact,))
    book = core.state.book
    compile_question(stripped, book.program)  # so that errors show the text as it is
    parts = formula.parts if isinstance(formula, And) else (formula,)
    fresh = (Variable(f"_{i}_") for i in count() if f"_{i}_" not in all_names(formula))
    named = [_named(part, fresh) for part in parts]
    atoms = [part for part in named if isinstance(part[0], Atom)]
    if not atoms:
        raise TidelogError("error: the query reads no facts that could be explained")
    whole = And(tuple(part for each in named for part in each))
    asked = compile_question(to_text(whole), book.program)
    core.state.functors.use(rule for stratum in asked.strata for rule in stratum.rules)
    answer = sorted_table(core.store.ask(asked.strata, asked.relation, asked.parts)).rows()
    if not answer:
        raise _refuse(f"{stripped} has no answer")
    facts: dict[GroundFact, None] = {}
    for row in answer:
        values = dict(zip(asked.columns, row, strict=True))
        for atom, *_ in atoms:
            if len(facts) < most:
                found = tuple(values[term.name] for term in atom.terms)  # type: ignore[union-attr]
                facts.setdefault(GroundFact(atom.relation, found))  # type: ignore[union-attr]
    seen = f"answers beyond {plural(most, 'fact')}: set by nodes="
    return Asked(tuple(facts), (seen,) if len(facts) == most else ())


def _read(text: object) -> tuple[str, Formula]:
    if not isinstance(text, str):
        raise TidelogError(f"error: expected a fact as text, such as path(1, 4), got {text!r}")
    stripped = text.strip().removesuffix(".")
    return stripped, parse_query(stripped)


def _is_ground(atom: Atom) -> bool:
    return not any(isinstance(node, Variable | Wildcard) for node in everything(atom))


def _named(part: Formula, fresh: Iterator[Variable]) -> list[Formula]:
    """A positive atom with a variable for each column, and equations for these."""
    if not isinstance(part, Atom):
        return [part]
    terms, equal = list[Term](), list[Formula]()
    for term in part.terms:
        terms.append(term if isinstance(term, Variable) else next(fresh))
        if not isinstance(term, Variable | Wildcard):
            equal.append(Comparison("=", terms[-1], term))
    return [Atom(part.relation, tuple(terms)), *equal]


def _ground(core: Core, atom: Atom, text: str) -> GroundFact:
    book = core.state.book
    relation = book.relations.get(atom.relation)
    try:
        if atom.relation in {clause.heads[0].relation for clause in book.program.inlined}:
            advice = f"ask for a fact of a relation that uses {atom.relation}"
            raise Fault(f"{atom.relation} is inline, and has no facts of its own", atom.at, advice)
        if relation is None or relation.hidden:
            raise unknown_relation(atom.relation, book.visible, atom.at)
        return GroundFact(relation.name, row_of(atom, relation))
    except Fault as fault:
        at = fault.at._replace(line=fault.at.line - 1)  # a query is read behind a line of ours
        found = Diagnostic(fault.message, at, fault.advice)
        raise ProgramError([found], {at.file: text.splitlines()}) from None


def _refuse(what: str) -> TidelogError:
    return TidelogError(f"error: {what}\n    ask why not: the answer says what is missing")
