"""Rule instances as a reader sees them: values for ids, and no hidden relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidelog.explain.clauses import Clauses
from tidelog.explain.probes import IdFact, IdRow, Probes, RuleMatch
from tidelog.explain.views.indented import premise_text
from tidelog.program.formula_walk import all_names, names_of, rebuilt, terms_of, variables
from tidelog.program.proof_steps import (
    Absent,
    Binding,
    FoldedRows,
    GroundFact,
    Premise,
    RuleInstance,
    Test,
)
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
    Comparison,
    Constant,
    Not,
    Variable,
    Wildcard,
)
from tidelog.text.writer import to_text

ROWS = 3  # of an aggregate that are shown


class Premises:
    """Turns nodes of a search into steps of a proof."""

    def __init__(
        self,
        probes: Probes,
        clauses: Clauses,
        relations: Mapping[str, Relation],
    ) -> None:
        self._probes = probes
        self._clauses = clauses
        self._relations = relations

    def fact(self, found: IdFact) -> GroundFact:
        name, row = found
        kinds = self._relations[name].kinds
        values = (self._probes.value(k, number) for k, number in zip(kinds, row, strict=True))
        return GroundFact(name, tuple(values))

    def step(self, match: RuleMatch) -> tuple[RuleInstance, list[IdFact]]:
        """The instance, and the facts that its aggregates show."""
        origin, rule, env, _ = match
        known = self.constants(match)
        read = self._clauses.premises(origin, rule)
        premises: list[Premise] = []
        shown: list[IdFact] = []
        for part in rule.body:
            match part:
                case Literal(negated=True):
                    premises += self.absent(origin, part, known)
                case Literal() if part in read:
                    found = part.relation, self._probes.ids_of(part, env)
                    premises.append(self.fact(found))
                case Constraint() | Range():
                    text = self.text(origin, part, known)
                    if not _says_nothing(part, known):
                        premises.append(Test(text))
                case Group():
                    folded, rows = self._folded(origin, part, env, known)
                    premises.append(folded)
                    shown += rows
        if any("%step" in p.relation for p in rule.literals()):
            premises += self._compared(origin, known)
        bindings = tuple(
            Binding(name, constant.value, constant.kind)
            for name, constant in known.items()
            if not name.startswith("%")
        )
        return RuleInstance(self._clauses.text(origin), bindings, tuple(premises), rule.at), shown

    def constants(self, match: RuleMatch) -> dict[str, Constant]:
        """The values of an instance's variables, in the order of the head and the body."""
        found: dict[str, Constant] = {}
        for part in (match.rule.head, *match.rule.body):
            for v in variables(*terms_of(part)):
                if v.name in match.env and v.name not in found:
                    value = self._probes.value(v.kind, match.env[v.name])
                    found[v.name] = Constant(value, v.kind)
        return found

    def text(self, rule: Rule, part: BodyLiteral, known: Mapping[str, Constant]) -> str:
        """A part of a rule, with values for variables; of an aggregate, without its result."""
        match part:
            case Literal(negated=True):
                return ", ".join(map(premise_text, self.absent(rule, part, known)))
            case Literal(relation, terms):
                return to_text(Atom(relation, tuple(_put(term, known) for term in terms)))
            case Constraint(op, left, right):
                return to_text(Constraint(op, _put(left, known), _put(right, known)))
            case Range(variable, start, stop, step):
                ends = [start, stop] if step is None else [start, stop, step]
                call = Call("range", tuple(_put(end, known) for end in ends))
                return to_text(Comparison("=", _put(variable, known), call))
            case Group():
                written = self._clauses.at(rule, part.at, Aggregate)
                if written is None:
                    written = Aggregate(part.op, part.value, Atom(part.relation, part.terms))
                keys = names_of(part) - {part.result.name}
                around = {name: value for name, value in known.items() if name in keys}
                return to_text(_put(written, around))

    # Negation.

    def absent(self, rule: Rule, part: Literal, known: Mapping[str, Constant]) -> list[Premise]:
        """What is absent; nothing where an aggregate looks values up."""
        terms: tuple[Simple, ...] = tuple(_put(term, known) for term in part.terms)
        if not part.relation.startswith("%"):
            return [Absent(Atom(part.relation, terms))]
        written = self._clauses.at(rule, part.at, Atom)
        if written is None:
            return []
        body = self._clauses.rules(part.relation)[0].body
        if len(body) > 1:  # `_` in a record
            return [Test(to_text(Not(_put(written, known))))]
        given = iter(terms)
        gaps = (t if isinstance(t, Wildcard) else next(given) for t in written.terms)
        return [Absent(Atom(written.relation, tuple(gaps)))]

    # Aggregates.

    def _folded(
        self, rule: Rule, group: Group, env: Mapping[str, int], known: Mapping[str, Constant]
    ) -> tuple[FoldedRows, list[IdFact]]:
        result = known[group.result.name]
        count, rows = self._rows(group, env)
        facts = [self._facts(group.relation, row) for row in rows]
        folded = FoldedRows(
            self.text(rule, group, known),
            group.op,
            result.value,
            result.kind,
            count,
            tuple(tuple(map(self.fact, row)) for row in facts),
        )
        return folded, [fact for row in facts for fact in row]

    def _rows(self, group: Group, env: Mapping[str, int]) -> tuple[int, list[IdRow]]:
        """How many facts are folded, and the first of them: of `min` and `max`, those that have the
        value."""
        terms = tuple(
            Variable(f"%row:{i}", t.at, t.kind) if isinstance(t, Wildcard) else t
            for i, t in enumerate(group.terms)
        )
        literal = Literal(group.relation, terms)
        rule = Rule(literal, (literal,))
        keys = [t for t in terms if isinstance(t, Variable) and t.name in env]
        key = {v.name: env[v.name] for v in keys}
        found = self._asked(rule, key, keys)
        count = self._probes.found
        if group.op in ("min", "max") and group.value is not None and count > ROWS:
            key[group.value.name] = env[group.result.name]
            found = self._asked(rule, key, [*keys, group.value])
        return count, [self._probes.ids_of(literal, match.env) for match in found]

    def _asked(
        self, rule: Rule, key: Mapping[str, int], keys: Sequence[Variable]
    ) -> list[RuleMatch]:
        names = ",".join(v.name for v in keys)
        goal = Literal(f"%key:{rule.head.relation}:{names}", tuple(keys))
        row = tuple(key[v.name] for v in keys)
        return self._probes.matches([(rule, goal)], {goal.relation: [row]}, most=ROWS)

    def _facts(self, relation: str, row: IdRow) -> list[IdFact]:
        """The facts that a row of an aggregate stands for."""
        if not relation.startswith("%"):
            return [(relation, row)]
        goals = {f"%goal:{relation}": [row]}
        asked = [
            (r, Literal(f"%goal:{relation}", r.head.terms)) for r in self._clauses.rules(relation)
        ]
        for match in self._probes.matches(asked, goals, most=1):
            read = self._clauses.premises(match.origin, match.rule)
            facts = [(p.relation, self._probes.ids_of(p, match.env)) for p in read]
            return list(dict.fromkeys(facts))
        return []

    def _compared(self, rule: Rule, known: Mapping[str, Constant]) -> Iterator[Test]:
        """The aggregates of a rule that looks their values up."""
        for node in self._clauses.nodes(rule):
            if isinstance(node, Comparison) and isinstance(node.right, Aggregate):
                yield Test(to_text(_put(node, known)))


def _says_nothing(part: Constraint | Range, known: Mapping[str, Constant]) -> bool:
    """Is it part of a look-up, or does it only say that a value is itself?"""
    if any("%step" in name for name in names_of(part)):
        return True
    if not isinstance(part, Constraint) or part.op != "=":
        return False
    return to_text(_put(part.left, known)) == to_text(_put(part.right, known))


def _put(node: Any, known: Mapping[str, Any]) -> Any:
    """The node with values for variables."""
    if isinstance(node, Variable):
        return known.get(node.name, node)
    if isinstance(node, Aggregate) and node.target is not None:  # whose variables are its own
        local = all_names(node.target)
        known = {name: value for name, value in known.items() if name not in local}
    return rebuilt(node, lambda part: _put(part, known))
