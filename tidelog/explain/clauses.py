"""The clauses that rules come from, as they were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from tidelog.plan.rulebook import Rulebook
from tidelog.program.formula_walk import Node, clause_nodes, everything
from tidelog.program.rules import Literal, Rule
from tidelog.program.syntax import Aggregate, Atom, Clause, Span, Variable
from tidelog.text.writer import to_text

N = TypeVar("N", bound=Node)


class Clauses:
    """Rules by their heads, each with its clause.

    Of a clause that is written twice, with other variables, there are two rules and one clause in
    the book: the rule with other variables than the clause's is left out.
    """

    def __init__(self, book: Rulebook, rules: Mapping[str, Sequence[Rule]]) -> None:
        self._book = book
        self._rules = rules
        self._kept: dict[str, list[Rule]] = {}
        self._clauses: dict[int, Clause] = {}  # by the identity of rules, which the book keeps
        self._texts: dict[int, str] = {}
        self._inside: dict[int, frozenset[Span]] = {}

    def rules(self, relation: str) -> list[Rule]:
        """The rules that derive a relation."""
        if relation not in self._kept:
            self._kept[relation] = [r for r in self._rules.get(relation, ()) if self._is_kept(r)]
        return self._kept[relation]

    def text(self, rule: Rule) -> str:
        """The clause of a rule, or the rule that a declaration stands for."""
        clause = self._clauses.get(id(rule))
        if clause is None:
            return rule.text
        if id(rule) not in self._texts:
            self._texts[id(rule)] = to_text(clause)
        return self._texts[id(rule)]

    def nodes(self, rule: Rule) -> list[Node]:
        """What the clause of a rule consists of; nothing if a declaration stands for the rule."""
        clause = self._clauses.get(id(rule))
        return [] if clause is None else clause_nodes(clause)

    def at(self, rule: Rule, at: Span, kind: type[N]) -> N | None:
        """The part of the clause that stands there."""
        found = (node for node in self.nodes(rule) if isinstance(node, kind) and node.at == at)
        return next(found, None)

    def premises(self, rule: Rule, named: Rule) -> list[Literal]:
        """The literals of a rule that are premises, with names for wildcards: positive ones of
        relations that a user knows, and not those of an aggregate for its witnesses."""
        positive = [p for p in named.literals() if not p.negated and p.relation[:1] != "%"]
        inside = self._in_aggregates(rule)
        if rule.head.relation.startswith("%"):  # it may borrow others from the rule around it
            return [p for p in positive if p.at in inside] or positive
        return [p for p in positive if p.at not in inside]

    def _in_aggregates(self, rule: Rule) -> frozenset[Span]:
        if id(rule) not in self._inside:
            aggregates = (node for node in self.nodes(rule) if isinstance(node, Aggregate))
            self._inside[id(rule)] = frozenset(
                node.at for each in aggregates for node in everything(each) if type(node) is Atom
            )
        return self._inside[id(rule)]

    @cached_property
    def _by_head(self) -> dict[str, dict[str, None]]:
        """The names of clauses by the relations that their rules derive."""
        found: dict[str, dict[str, None]] = {}
        for name, rules in self._book.rules.items():
            for rule in rules:
                found.setdefault(rule.head.relation, {})[name] = None
        return found

    def _is_kept(self, rule: Rule) -> bool:
        of_head = self._by_head.get(rule.head.relation, ())
        owners = [name for name in of_head if rule in self._book.rules[name]]
        for name in owners:
            clause = self._book.clauses[name]
            hidden = rule.head.relation.startswith("%")
            if hidden or rule.text == to_text(clause) or _is_spelled(rule, clause):
                self._clauses[id(rule)] = clause
                return True
        return not owners


def _is_spelled(rule: Rule, clause: Clause) -> bool:
    """Does the clause call the rule's variables by these names?"""
    atoms = {node for node in clause_nodes(clause) if type(node) is Atom}
    positive = [p for p in rule.literals() if not p.negated and not p.relation.startswith("%")]
    plain = (p for p in (rule.head, *positive) if not any(map(_is_invented, p.terms)))
    return all(Atom(p.relation, p.terms) in atoms for p in plain)


def _is_invented(term: object) -> bool:
    return isinstance(term, Variable) and "%" in term.name
