"""`autoinc()`: a number for every instance of a rule, which no other instance has.

In the core form it is a functor of the variables that make the instance, and of a number for
the place where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tidelog.plan.core_program import CoreProgram
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import aggregates, everything, rebuilt
from tidelog.program.rules import BodyLiteral, Constraint, Expression, Literal, Range, Rule, Stratum
from tidelog.program.syntax import Call, Clause, Constant, Variable

NAME = "autoinc"
Filled = Callable[[Expression], Expression]


def refuse_inside(core: CoreProgram, clause: Clause) -> None:
    """Refuse `autoinc()` in an aggregate, which has no instances to number."""
    for aggregate in aggregates(*clause.heads, clause.body):
        for node in everything(aggregate):
            if isinstance(node, Call) and node.functor == NAME:
                advice = "number the facts of a relation, and aggregate over that"
                message = "autoinc() inside an aggregate"
                core.found.append(Diagnostic(message, node.at, advice))


def faults(strata: Iterable[Stratum]) -> Iterator[Diagnostic]:
    """Refuse it in a recursion: new numbers would derive new facts for ever."""
    for stratum in strata:
        rules = [*stratum.recursive, *(rule for each in stratum.pruned for rule in each.rules)]
        for rule in rules:
            for part in rule.body:
                ends = (part.left, part.right) if isinstance(part, Constraint) else ()
                for node in everything(*ends):
                    if isinstance(node, Call) and node.functor == NAME:
                        name = rule.head.relation
                        message = "autoinc() in a rule that depends on its own head"
                        advice = f"number the facts in another relation, once {name} is complete"
                        yield Diagnostic(message, node.at, advice)


def numbered(core: CoreProgram, rule: Rule) -> Rule:
    """The rule with arguments for every `autoinc()` in it."""
    before = len(core.numbered)
    given: dict[str, Variable] = {}
    for part in rule.body:
        if isinstance(part, Literal) and not part.negated:
            given |= {term.name: term for term in part.terms if isinstance(term, Variable)}
        elif isinstance(part, Range):
            given[part.variable.name] = part.variable

    def filled(term: Expression) -> Expression:
        if not isinstance(term, Call) or term.functor != NAME:
            return rebuilt(term, filled)
        core.numbered.append(term.at)
        place = Constant(len(core.numbered), "number", term.at)
        return replace(term, args=(place, *(given[name] for name in sorted(given))))

    body = tuple(_changed(part, filled) for part in rule.body)
    return rule if len(core.numbered) == before else replace(rule, body=body)


def _changed(part: BodyLiteral, filled: Filled) -> BodyLiteral:
    if isinstance(part, Constraint):
        return replace(part, left=filled(part.left), right=filled(part.right))
    if isinstance(part, Range):
        step = None if part.step is None else filled(part.step)
        return replace(part, start=filled(part.start), stop=filled(part.stop), step=step)
    return part
