"""Changes to a program that must not change its answer.

Each takes a program as written, the facts given to it and a source of chance, and gives
a variant. Fuzzers have found many wrong answers in Datalog engines by such pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from random import Random
from typing import Any

from tests.law.adapters import Facts, Row, surface
from tidelog.program.syntax import (
    NOWHERE,
    And,
    Atom,
    Attribute,
    Clause,
    Comparison,
    Constant,
    Fact,
    Formula,
    Not,
    Or,
    Program,
    RelationDecl,
    Truth,
    Variable,
)
from tidelog.text.writer import to_text


@dataclass(frozen=True)
class Variant:
    text: str
    facts: Facts
    names: Mapping[str, str] = field(default_factory=dict)  # new names of relations

    def renamed(self, answer: Mapping[str, set[Row]]) -> dict[str, set[Row]]:
        """An answer to the original, as one to this variant."""
        return {self.names.get(name, name): rows for name, rows in answer.items()}


Transformation = Callable[[Program, Facts, Random], Variant]


def variant(transformation: Transformation, text: str, facts: Facts, random: Random) -> Variant:
    return transformation(surface(text), facts, random)


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, leaves first."""
    if isinstance(node, tuple) and type(node) is tuple:
        return tuple(rewritten(part, change) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {
        f.name: rewritten(getattr(node, f.name), change)
        for f in fields(node)
        if f.name not in ("at", "kind")
    }
    return change(replace(node, **parts))


def duplicate_rule(program: Program, facts: Facts, random: Random) -> Variant:
    clauses = list(program.clauses)
    if clauses:
        clauses.insert(random.randrange(len(clauses) + 1), random.choice(clauses))
    return _variant(program, facts, clauses)


def rename_variables(program: Program, facts: Facts, random: Random) -> Variant:
    def renamed(clause: Clause) -> Clause:
        letters = random.sample("abcdefghijklmnopqrstuvwxyz", 26)
        names: dict[str, str] = {}

        def change(node: Any) -> Any:
            if not isinstance(node, Variable):
                return node
            if node.name not in names:
                names[node.name] = f"{letters[len(names) % 26]}_{len(names)}"
            return Variable(names[node.name])

        return rewritten(clause, change)  # type: ignore[no-any-return]

    return _variant(program, facts, map(renamed, program.clauses))


def permute_bodies(program: Program, facts: Facts, random: Random) -> Variant:
    """The parts of every conjunction and disjunction in another order, in aggregates too."""

    def change(node: Any) -> Any:
        if isinstance(node, And | Or):
            return type(node)(tuple(random.sample(node.parts, len(node.parts))))
        return node

    return _variant(program, facts, (rewritten(clause, change) for clause in program.clauses))


def permute_clauses(program: Program, facts: Facts, random: Random) -> Variant:
    def shuffled(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(random.sample(items, len(items)))

    program = replace(program, relations=shuffled(program.relations), facts=shuffled(program.facts))
    return _variant(program, facts, shuffled(program.clauses))


def add_dead_rules(program: Program, facts: Facts, random: Random) -> Variant:
    """Rules that can never fire: a test that fails, a relation without facts."""
    never = RelationDecl("never", (Attribute("x", "number"),))
    blockers: list[Formula] = [
        Comparison(">", Constant(0), Constant(1)),
        Atom("never", (Constant(0),)),
        Truth(False),
        Not(Truth(True)),
    ]
    clauses = list(program.clauses)
    for clause in random.sample(clauses, min(3, len(clauses))):
        blocked = And((random.choice(blockers), clause.body))
        clauses.insert(random.randrange(len(clauses) + 1), replace(clause, body=blocked))
    return _variant(replace(program, relations=(*program.relations, never)), facts, clauses)


def split_disjunctions(program: Program, facts: Facts, random: Random) -> Variant:
    """A clause per choice of branches, and per head."""

    def branches(formula: Formula) -> list[Formula]:
        match formula:
            case Or(parts):
                return [branch for part in parts for branch in branches(part)]
            case And(parts):
                return [And(choice) for choice in itertools.product(*map(branches, parts))]
            case _:
                return [formula]

    split = [
        Clause((head,), body)
        for clause in program.clauses
        for head in clause.heads
        for body in branches(clause.body)
    ]
    return _variant(program, facts, split)


def rename_relations(program: Program, facts: Facts, random: Random) -> Variant:
    found = {declared.name for declared in program.relations} | {f.relation for f in program.facts}

    def collect(node: Any) -> Any:
        if isinstance(node, Atom):
            found.add(node.relation)
        return node

    rewritten(program.clauses, collect)
    order = random.sample(sorted(found), len(found))
    names = {name: f"relation_{i}" for i, name in enumerate(order)}

    def change(node: Any) -> Any:
        match node:
            case Atom():
                return replace(node, relation=names[node.relation])
            case RelationDecl():
                return replace(node, name=names[node.name])
        return node

    program = replace(
        program,
        relations=rewritten(program.relations, change),
        facts=tuple(fact._replace(relation=names[fact.relation]) for fact in program.facts),
    )
    given = {names[name]: rows for name, rows in facts.items()}
    return replace(
        _variant(program, given, rewritten(program.clauses, change)),
        names=names,
    )


def facts_inline(program: Program, facts: Facts, random: Random) -> Variant:
    given = [Fact(name, row, NOWHERE) for name, rows in facts.items() for row in rows]
    return _variant(replace(program, facts=(*program.facts, *given)), {}, program.clauses)


def facts_given(program: Program, facts: Facts, random: Random) -> Variant:
    """Facts from outside; where nothing was declared they stay, since types come from them."""
    declared = {relation.name for relation in program.relations if not relation.inferred}
    given: dict[str, list[Row]] = {name: list(rows) for name, rows in facts.items()}
    for fact in program.facts:
        if fact.relation in declared:
            given.setdefault(fact.relation, []).append(fact.values)
    kept = tuple(fact for fact in program.facts if fact.relation not in declared)
    return _variant(replace(program, facts=kept), given, program.clauses)


TRANSFORMATIONS: tuple[Transformation, ...] = (
    duplicate_rule,
    rename_variables,
    permute_bodies,
    permute_clauses,
    add_dead_rules,
    split_disjunctions,
    rename_relations,
    facts_inline,
    facts_given,
)


def _variant(program: Program, facts: Facts, clauses: Any) -> Variant:
    return Variant(to_text(replace(program, clauses=tuple(clauses))), facts)
