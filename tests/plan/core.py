"""The core form as a surface program, so that the naive evaluator can run it."""

from __future__ import annotations

from tidelog.program.rules import (
    BodyLiteral,
    CheckedProgram,
    Constraint,
    Group,
    Literal,
    Range,
)
from tidelog.program.syntax import (
    NOWHERE,
    Aggregate,
    And,
    Atom,
    Attribute,
    Call,
    Clause,
    Comparison,
    Fact,
    Formula,
    Not,
    Program,
    RelationDecl,
)


def surface(checked: CheckedProgram) -> Program:
    """Clauses that mean what the rules mean; `eqrel` is in the rules already."""
    return Program(
        relations=tuple(
            RelationDecl(
                relation.name,
                tuple(
                    Attribute(name, kind)
                    for name, kind in zip(relation.attributes, relation.kinds, strict=True)
                ),
            )
            for relation in checked.relations.values()
        ),
        clauses=tuple(
            Clause((_atom(rule.head),), And(tuple(map(_formula, rule.body))))
            for rule in (*checked.rules, *checked.computed)
        ),
        facts=tuple(
            Fact(name, row, NOWHERE) for name, rows in checked.facts.items() for row in rows
        ),
    )


def _atom(literal: Literal) -> Atom:
    return Atom(literal.relation, literal.terms)


def _formula(part: BodyLiteral) -> Formula:
    match part:
        case Literal(negated=True):
            return Not(_atom(part))
        case Literal():
            return _atom(part)
        case Constraint(op, left, right) if op.startswith("!") and op != "!=":
            return Not(Comparison(op[1:], left, right))
        case Constraint(op, left, right):
            return Comparison(op, left, right)
        case Range(variable, start, stop, step):
            args = (start, stop) if step is None else (start, stop, step)
            return Comparison("=", variable, Call("range", args, kind=variable.kind))
        case Group(op, result, value, relation, terms):
            body = Atom(relation, terms)
            return Comparison("=", result, Aggregate(op, value, body, kind=result.kind))
