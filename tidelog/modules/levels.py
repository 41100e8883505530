"""A module for levels: who has one has all below it, down to a floor.

    cleared(who, n - 1) :- cleared(who, n), n > 0.

Joins take a round for each level. The module keeps the levels that other rules give to each key,
and adds and deletes whole ranges.

# X levels from elsewhere, by key   N, Ds, J as in `Module`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tidelog.engine import Engine, FactSet, Ids, View
from tidelog.maintain.module import Module, uncertain
from tidelog.maintain.update import Context, Update
from tidelog.program.rules import Constraint, Literal, Rule, Stratum
from tidelog.program.syntax import Call, Constant, Variable

Key = tuple[int, ...]  # ids of all columns but the last
ONE = Constant(1, "number")


class Levels(Module):
    """`r(…, n - 1) :- r(…, n), n > floor.`"""

    stateful = True

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        super().__init__(rules)
        self.relation = rules[0].head.relation
        self.floor = min(floor for rule in rules if (floor := floor_of(rule)) is not None)
        self.X: dict[Key, set[int]] = {}

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        mine = [rule for rule in rules if floor_of(rule) is not None]
        names = dict.fromkeys(rule.head.relation for rule in mine)
        return [[rule for rule in mine if rule.head.relation == name] for name in names]

    def add(self, c: Context, N: FactSet) -> FactSet:
        c.watch.round()
        found = []
        for key, levels in self._by_key(c.engine, N):
            X = self.X.setdefault(key, set())
            start = max(self.floor, max(X, default=self.floor))
            X |= levels
            found.append((key, range(start, max(levels))))
        J = self._facts(c.engine, found)
        J -= c.I
        return J

    def confirm(self, u: Update, F: FactSet) -> None:
        for key, levels in self._by_key(u.engine, F):
            self.X.setdefault(key, set()).update(levels)

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        """From each deleted level down to the next certain one."""
        u.round()
        gone = dict(self._by_key(u.engine, N))
        F = self._facts(
            u.engine, [(key, range(self.floor, max(levels))) for key, levels in gone.items()]
        )
        F -= ~u.I
        F -= Ds
        below = uncertain(u, F)
        F -= below
        certain = dict(self._by_key(u.engine, F))
        J = []
        for key, levels in self._by_key(u.engine, below):
            last = max(certain.get(key, ()), default=self.floor - 1)
            J.append((key, [level for level in levels if level > last]))
        for key, leave in (*gone.items(), *J):
            if key in self.X:
                self.X[key].difference_update(leave)
        return self._facts(u.engine, J)

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        found = []
        for key, levels in self._by_key(u.engine, Ds):
            top = max(self.X.get(key, ()), default=self.floor)
            found.append((key, [level for level in levels if self.floor <= level < top]))
        return self._facts(u.engine, found)

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """Nothing: its rules read no lower facts."""
        return u.engine.none()

    def _by_key(self, engine: Engine, facts: View) -> Iterator[tuple[Key, set[int]]]:
        """The levels of the facts."""
        ids = engine.ids(facts, self.relation)
        found: dict[Key, set[int]] = {}
        levels = np.asarray(engine.values("number", ids[:, -1])).tolist()
        for key, level in zip(ids[:, :-1].tolist(), levels, strict=True):
            found.setdefault(tuple(key), set()).add(level)
        yield from found.items()

    def _facts(self, engine: Engine, levels: Iterable[tuple[Key, Sequence[int]]]) -> FactSet:
        """The facts with these levels."""
        rows: list[Ids] = [np.empty((0, engine.kinds[self.relation].arity), np.uint32)]
        for key, numbers in levels:
            keys = np.tile(np.array(key, np.uint32), (len(numbers), 1))
            ids = engine.identify("number", np.asarray(numbers, np.int64))
            rows.append(np.column_stack([keys, ids]).astype(np.uint32))
        return engine.pick(self.relation, np.concatenate(rows))


def floor_of(rule: Rule) -> int | None:
    """The lowest level that the rule derives, if it is one for levels.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "r(1, 9). r(x, n - 1) :- r(x, n), n > 3. r(x, m) :- r(x, n), m = n - 2, n > 3."
    >>> [floor_of(rule) for rule in analyse(parse(text).program).checked.rules]
    [3, None]
    """
    literals = [part for part in rule.body if isinstance(part, Literal)]
    constraints = [part for part in rule.body if isinstance(part, Constraint)]
    if len(rule.body) != 3 or len(literals) != 1 or len(constraints) != 2:
        return None
    (body,) = literals
    *keys, level = rule.head.terms
    *same, above = body.terms
    variables = [term.name for term in (*same, above) if isinstance(term, Variable)]
    if body.negated or body.relation != rule.head.relation or keys != same:
        return None
    if len(set(variables)) != len(body.terms) or not isinstance(level, Variable):
        return None
    less = Call("-", (above, ONE), kind="number")
    steps = [part for part in constraints if part in (_equal(level, less), _equal(less, level))]
    floors = [floor for part in constraints if (floor := _floor(part, above)) is not None]
    return floors[0] if len(steps) == len(floors) == 1 else None


def _equal(one: Variable | Call, other: Variable | Call) -> Constraint:
    return Constraint("=", one, other)


def _floor(part: Constraint, level: object) -> int | None:
    """c of `level > c`."""
    if part.op == ">" and part.left == level and isinstance(part.right, Constant):
        return int(str(part.right.value))
    return None
