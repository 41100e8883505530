"""The circuit's host: an engine that evaluates comparisons, arithmetic and aggregates for it.

The circuit knows values only as numbers, which the engine assigns. So the engine evaluates a part
of a rule that depends on values, as a rule over a table of rewrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

import numpy as np

from tidelog.dbsp.grounding import GroupFold, Where
from tidelog.dbsp.trace import Batch, Words
from tidelog.engine import FactSet, Ids
from tidelog.maintain.update import Update
from tidelog.program.rules import Constraint, Literal, Relation, Rule
from tidelog.program.syntax import Constant, Variable

ROW = Variable("%row", kind="number")
MANY = 1024  # facts from which on their origin is worth a check: chosen, not measured


class EngineHost:
    """A host for the circuit of the update `u`; silent while the circuit catches up with I."""

    def __init__(self, u: Update) -> None:
        self.u = u
        self.silent = False
        self.given = 0  # explicit facts inserted by this update
        self.again = False  # a second step, which may undo changes of the first
        self._rules: dict[tuple[Where, str] | GroupFold, tuple[Rule, ...]] = {}

    def leave(self) -> None:
        """The update has ended: let go of its sets."""
        self.__dict__.pop("u", None)

    def identify(self, constant: Constant) -> int:
        assert constant.kind is not None
        return int(self.u.engine.identify(constant.kind, [constant.value])[0])

    def round(self, facts: int) -> None:
        self.u.watch.round()
        self._count(facts)

    def tick(self, facts: int, rule: Rule) -> None:
        self.u.watch.at(rule)
        self._count(facts)

    def _count(self, facts: int) -> None:
        """The engine has rows for explicit facts already."""
        self.u.watch.pairs(0 if self.silent else max(0, facts - self.given))

    def settled(self, changes: Mapping[str, Batch]) -> None:
        if self.silent:
            return
        u, engine = self.u, self.u.engine
        for name, batch in changes.items():
            positive = batch[:, -1] > 0
            D = engine.none() if positive.all() else self._pick(name, batch[~positive])
            A = self._inserted(name, batch if not D else batch[positive])
            u.I -= D
            u.I |= A
            if self.again:
                back, off = engine.collect(u.D & A), engine.collect(u.A & D)
                u.D -= back
                A -= back
                u.A -= off
                D -= off
            u.net(D, A)

    def _pick(self, name: str, batch: Batch) -> FactSet:
        return self.u.engine.pick(name, batch[:, :-2].astype(np.uint32))

    def _inserted(self, name: str, batch: Batch) -> FactSet:
        """Inserted facts. The engine has those that have become explicit, so these need not be
        looked up: all of them, and few others, have time 0."""
        u = self.u
        if len(batch) < MANY:
            return self._pick(name, batch)
        given = u.engine.collect((u.X & u.E) - u.I, (name,))
        later = batch[:, -2] != 0
        if not given or len(batch) - np.count_nonzero(later) != len(given):
            return self._pick(name, batch)
        given |= self._pick(name, batch[later])
        return given

    # Comparisons and arithmetic.

    def where(self, where: Where, rule: Rule, rows: Words) -> tuple[Words, Words | None]:
        part = where.part
        if isinstance(part, Constraint) and part.op in ("=", "!="):
            left, right = (self._side(term, where, rows) for term in (part.left, part.right))
            if left is not None and right is not None:
                return np.flatnonzero((left == right) == (part.op == "=")), None
            known = right if left is None else left
            if known is not None and {*where.results} & {part.left, part.right}:
                return np.arange(len(rows)), known[:, None]
        return self._evaluated(where, rule, rows)

    def _side(self, term: object, where: Where, rows: Words) -> Words | None:
        """A side of an equation, where it is a constant or a variable that is bound."""
        if isinstance(term, Constant):
            return np.full(len(rows), self.identify(term))
        if isinstance(term, Variable) and term in where.inputs:
            return rows[:, where.inputs.index(term)]
        return None

    def _evaluated(self, where: Where, of: Rule, rows: Words) -> tuple[Words, Words | None]:
        """By the engine, as a rule over numbered rows."""
        engine = self.u.engine
        (rule,) = self._rules.get((where, of.text)) or self._where_rule(where, of)
        table = np.empty((len(rows), 1 + rows.shape[1]), dtype=np.uint32)
        table[:, 0] = numbers = engine.identify("number", np.arange(len(rows)))
        table[:, 1:] = rows
        given = engine.pick(next(rule.literals()).relation, table)
        found = engine.ids(engine.apply((rule,), within=given), rule.head.relation)
        order = np.argsort(numbers)
        which = order[np.searchsorted(numbers, found[:, 0], sorter=order)]
        return which, found[:, 1:].astype(np.int64) if where.results else None

    def _where_rule(self, where: Where, of: Rule) -> tuple[Rule, ...]:
        """Named by the rule that it is for: engines identify equal rules, and errors quote the text
        of the first."""
        found = (ROW, *where.results)
        head = self._literal(f"where {crc32(of.text.encode()):08x}", found)
        rows = self._literal("rows", (ROW, *where.inputs))
        rule = Rule(head, (rows, where.part), of.text, of.at)
        self._rules[where, of.text] = (rule,)
        return (rule,)

    # Aggregates.

    def fold(self, fold: GroupFold, keys: Words | None) -> Words:
        engine, I = self.u.engine, self.u.I
        grouping, folding = self._rules.get(fold) or self._fold_rules(fold)
        if keys is None:
            given = engine.apply((grouping,), within=I)
        else:
            given = engine.pick(grouping.head.relation, keys.astype(np.uint32))
        found = engine.apply((folding,), within=given, negative=I)
        ids: Ids = engine.ids(found, folding.head.relation)
        return ids.astype(np.int64)

    def _fold_rules(self, fold: GroupFold) -> tuple[Rule, ...]:
        """From facts to keys of groups, and from keys to values."""
        group = fold.group
        keys = self._literal("keys", fold.keys)
        head = self._literal("fold", (*fold.keys, group.result))
        text = f"{group.op} over {group.relation}"
        grouping = Rule(keys, (Literal(group.relation, group.terms),), text, group.at)
        rules = (grouping, Rule(head, (keys, group), text, group.at))
        self._rules[fold] = rules
        return rules

    def _literal(self, what: str, variables: tuple[Variable, ...]) -> Literal:
        """A literal over a declared relation of the circuit's own. It has facts only while one rule
        is evaluated, so that all rules with the same kinds of columns share it."""
        kinds = tuple(v.kind for v in variables if v.kind is not None)
        name = f"%{what}({','.join(kinds)})"
        relation = Relation(name, tuple(v.name for v in variables), kinds)
        self.u.engine.declare(relation, aside=True)
        return Literal(name, variables)
