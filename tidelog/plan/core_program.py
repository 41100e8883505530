"""The core program as desugaring makes it, with the relations that it invents.

Hidden relations are named by their content: equal ones are shared, and a change to one
clause leaves the names that other clauses use as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from tidelog.program.diagnostics import Diagnostic
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Group,
    Literal,
    Range,
    Relation,
    Rule,
    Simple,
)
from tidelog.program.syntax import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Constant,
    Kind,
    Span,
    Term,
    Value,
    Variable,
    Wildcard,
)

Columns = Sequence[Simple]
Body = tuple[BodyLiteral, ...]


class CoreProgram:
    def __init__(self) -> None:
        self.relations: dict[str, Relation] = {}
        self.rules: dict[Rule, Rule] = {}  # in order, and each once
        self.facts: dict[str, list[tuple[Value, ...]]] = {}
        self.computed: list[Rule] = []  # each states one fact, by expressions
        self.borrowed: set[tuple[str, str]] = set()  # (hidden relation, what it reads)
        self.numbered: list[Span] = []  # where `autoinc()` stands
        self.found: list[Diagnostic] = []

    def add(self, rule: Rule) -> Rule:
        """Add a rule unless it is there; returns the one that is there."""
        return self.rules.setdefault(rule, rule)

    def projection(self, atom: Atom, text: str) -> str:
        """The hidden relation of the columns in which a negated atom has no `_`."""
        relation = self.relations[atom.relation]
        kept = [i for i, term in enumerate(atom.terms) if not isinstance(term, Wildcard)]
        name = f"%not:{atom.relation}:{','.join(map(str, kept))}"
        if name not in self.relations:
            kinds = tuple(relation.kinds[i] for i in kept)
            columns = tuple(relation.attributes[i] for i in kept)
            self.relations[name] = Relation(name, columns, kinds, at=atom.at)
            terms: list[Simple] = [Wildcard(atom.at, kind) for kind in relation.kinds]
            for i in kept:
                terms[i] = Variable(f"x{i + 1}", atom.at, relation.kinds[i])
            head = Literal(name, tuple(terms[i] for i in kept), at=atom.at)
            body = Literal(atom.relation, tuple(terms), at=atom.at)
            self.add(Rule(head, (body,), text, atom.at))
        return name

    def assignments(
        self,
        kinds: tuple[Kind, ...],
        rules: Sequence[tuple[Columns, Body]],
        text: str,
        at: Span,
        what: str = "%agg",
    ) -> str:
        """The hidden relation that the rules, given by heads and bodies, define."""
        content = [" ".join(kinds)]
        for head, body in rules:
            names: dict[str, str] = {}
            content.append(" ".join(_spell(part, names) for part in (*head, *body)))
        name = f"{what}:{blake2b(chr(10).join(content).encode(), digest_size=8).hexdigest()}"
        if name not in self.relations:
            columns = tuple(f"column{i + 1}" for i in range(len(kinds)))
            self.relations[name] = Relation(name, columns, kinds, at=at)
            for head, body in rules:
                self.add(Rule(Literal(name, tuple(head), at=at), body, text, at))
        return name


def _spell(node: BodyLiteral | Term | None, names: dict[str, str]) -> str:
    """A key of the node that does not depend on the names of its variables."""

    def each(*nodes: BodyLiteral | Term | None) -> str:
        return f"({' '.join(_spell(part, names) for part in nodes)})"

    match node:
        case Variable(name):
            return names.setdefault(name, f"v{len(names)}")
        case Constant(value, kind=kind):
            return f"{kind} {value!r}"
        case Call(functor, args):
            return f"{functor}{each(*args)}"
        case Cast(term, type_name):
            return f"as {type_name}{each(term)}"
        case Literal(relation, terms, negated):
            return f"{'!' if negated else ''}{relation}{each(*terms)}"
        case Constraint(op, left, right):
            return f"{op}{each(left, right)}"
        case Range(variable, start, stop, step):
            return f"range{each(variable, start, stop, step)}"
        case Group(op, result, value, relation, terms):
            return f"{op} {relation}{each(result, value, *terms)}"
        case Wildcard() | Aggregate() | None:
            return "_"
