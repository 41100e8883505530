"""What every engine does, by the engine interface alone.

`Contract` is run on each engine by a class of its own, which says what engine that is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import pytest

from tidelog.engine import FactSet, Split, Store, View
from tidelog.program.changes import Op
from tidelog.program.rules import Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Value, Variable
from tidelog.program.table import Table

Row = tuple[Value, ...]
X, Y, Z = (Variable(name, kind="number") for name in "xyz")
STEP = Rule(Literal("path", (X, Z)), (Literal("path", (X, Y)), Literal("edge", (Y, Z))))
BASE = Rule(Literal("path", (X, Y)), (Literal("edge", (X, Y)),))
ALONE = Rule(
    Literal("node", (X,)), (Literal("edge", (X, Y)), Literal("path", (Y, X), negated=True))
)
EDGES = [(1, 2), (2, 3), (3, 4)]
PATHS = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
KINDS = {"edge": ("number", "number"), "path": ("number", "number"), "node": ("number",)}


def closed(rules: tuple[Rule, ...] = (BASE, STEP)) -> Stratum:
    return Stratum(("path",), rules, (STEP,))


class Contract(ABC):
    @abstractmethod
    def new(self) -> Store:
        """An engine that knows no relations."""

    @pytest.fixture
    def store(self) -> Store:
        store = self.new()
        for name, kinds in KINDS.items():
            attributes = tuple(f"c{i}" for i in range(len(kinds)))
            store.declare(Relation(name, attributes, kinds))
        return store

    def hold(self, store: Store, name: str, rows: Iterable[Row]) -> FactSet:
        made = store.none()
        store.load(name, Table.from_rows(KINDS[name], list(rows)), (made,))
        return made

    def rows(self, store: Store, name: str, view: View | None = None) -> list[Row]:
        return sorted(store.table(name, view).rows())

    def change(self, store: Store, op: Op, rows: Iterable[Row], X: FactSet) -> bool:
        return store.change_explicit(op, "edge", Table.from_rows(KINDS["edge"], list(rows)), X)

    # Sets and views.

    def test_views(self, store: Store) -> None:
        I, D = self.hold(store, "edge", EDGES), self.hold(store, "edge", EDGES[:1])
        A = self.hold(store, "edge", [(7, 8)])
        assert self.rows(store, "edge", (I - D) | A) == [*EDGES[1:], (7, 8)]
        assert self.rows(store, "edge", store.collect(I & D)) == EDGES[:1]
        assert self.rows(store, "edge", A & ~I) == [(7, 8)]
        assert store.collect(I, ["path"]) is not None
        assert not store.collect(I, ["path"])
        assert len(store.some(I, 2)) == 2
        assert list(store.relations(I)) == ["edge"]
        I |= A
        I -= D
        assert self.rows(store, "edge", I) == [*EDGES[1:], (7, 8)]
        assert len(I) == 3
        I -= I
        assert not I

    def test_sets_are_saved(self, store: Store) -> None:
        I = self.hold(store, "edge", EDGES)
        saved = store.save(I)
        I -= I
        assert self.rows(store, "edge", store.hold(saved)) == EDGES

    def test_facts_leave_a_set(self, store: Store) -> None:
        I = self.hold(store, "edge", EDGES)
        found = store.cut(I, 2, ["edge"])
        assert (len(found), len(I)) == (2, 1)
        assert self.rows(store, "edge", found | I) == EDGES

    def test_many_sets_at_once(self, store: Store) -> None:
        sets = [self.hold(store, "edge", [(n, n + 1)]) for n in range(40)]
        every: View = sets[0]
        for each in sets[1:]:
            every = every | each
        assert self.rows(store, "edge", every) == [(n, n + 1) for n in range(40)]
        assert self.rows(store, "edge", sets[3]) == [(3, 4)]

    # Evaluators.

    def test_apply(self, store: Store) -> None:
        I = self.hold(store, "edge", EDGES)
        found = store.apply([BASE], within=I)
        assert self.rows(store, "path", found) == EDGES
        guard = self.hold(store, "path", EDGES[1:])
        assert self.rows(store, "path", store.apply([BASE], within=I, guard=~guard)) == EDGES[:1]

    def test_samples(self, store: Store) -> None:
        N = self.hold(store, "path", [(0, i) for i in range(40)])
        I = self.hold(store, "edge", [(i, 100 + i) for i in range(40)])
        assert len(store.sample(N, "path", 40)) == 40
        S = store.sample(N, "path", 5)
        rows = self.rows(store, "path", S)
        assert 0 < len(rows) <= 5
        assert set(rows) < set(self.rows(store, "path", N))
        found = store.derive([STEP], touching=S, within=I | S)
        assert self.rows(store, "path", found) == [(0, 100 + i) for _, i in rows]

    def test_derive(self, store: Store) -> None:
        I, N = self.hold(store, "edge", EDGES), self.hold(store, "path", [(1, 2), (9, 3)])
        found = store.derive([STEP], touching=N, within=I | N)
        assert self.rows(store, "path", found) == [(1, 3), (9, 4)]

    def test_negation_is_read_in_a_view_of_its_own(self, store: Store) -> None:
        I, P = self.hold(store, "edge", EDGES), self.hold(store, "path", [(2, 1)])
        assert self.rows(store, "node", store.apply([ALONE], within=I)) == [(1,), (2,), (3,)]
        assert self.rows(store, "node", store.apply([ALONE], within=I, negative=I | P)) == [
            (2,),
            (3,),
        ]
        lost = store.derive([ALONE], touching=store.none(), within=I, touching_negated=P)
        assert self.rows(store, "node", lost) == [(1,)]

    def test_split_views(self, store: Store) -> None:
        I, J = self.hold(store, "edge", EDGES), self.hold(store, "path", [(1, 2)])
        within = Split(frozenset(["path"]), I | J, I)
        assert self.rows(store, "path", store.apply([STEP], within=within, negative=I)) == [(1, 3)]

    def test_spread(self, store: Store) -> None:
        I, N = self.hold(store, "edge", EDGES), self.hold(store, "path", EDGES)
        rounds = []

        def each() -> bool:
            rounds.append(1)
            return True

        store.spread([STEP], N, (I,), within=I, guard=~I, each=each)
        assert self.rows(store, "path", I) == PATHS
        assert not N
        assert len(rounds) == 3

    def test_provable_and_support(self, store: Store) -> None:
        I = self.hold(store, "edge", EDGES)
        F = self.hold(store, "path", [(1, 2), (1, 3)])
        assert self.rows(store, "path", store.provable([BASE], F, within=I)) == [(1, 2)]
        assert self.rows(store, "edge", store.support([BASE], F, within=I)) == [(1, 2)]

    def test_counters(self, store: Store) -> None:
        I = self.hold(store, "edge", EDGES)
        found = store.apply([BASE], within=I, add_to=store.nonrecursive)
        assert len(store.positive(store.nonrecursive, found)) == 3
        store.apply([BASE], within=store.some(I, 1), take_from=store.nonrecursive)
        assert len(store.positive(store.nonrecursive, found)) == 2
        store.reset(store.nonrecursive, ["path"])
        assert not store.positive(store.nonrecursive, found)

    # Facts as numbers.

    def test_facts_as_numbers(self, store: Store) -> None:
        I = self.hold(store, "edge", [(5, 6), (1, 2)])
        ids = store.ids(I, "edge")
        assert self.rows(store, "edge", store.pick("edge", ids)) == [(1, 2), (5, 6)]
        column = store.values("number", store.identify("number", [5, 1, 5]))
        assert column.tolist() == [5, 1, 5]

    # Changes.

    def test_facts_are_set_aside(self, store: Store) -> None:
        for facts in (store.all, store.explicit):
            store.load("path", Table.from_rows(KINDS["path"], [(1, 2)]), (facts,))
        store.load("path", Table.from_rows(KINDS["path"], [(8, 8), (9, 9)]), (store.all,))
        taken = store.take(["path"])
        assert self.rows(store, "path") == [(1, 2)]
        store.load("path", Table.from_rows(KINDS["path"], [(5, 5), (9, 9)]), (store.all,))
        gone, came = store.compare(taken)
        assert self.rows(store, "path", gone) == [(8, 8)]
        assert self.rows(store, "path", came) == [(5, 5)]

    def test_transactions(self, store: Store) -> None:
        both = store.explicit, store.all
        store.load("edge", Table.from_rows(KINDS["edge"], EDGES), both)
        for undo in (True, False):
            store.begin()
            X = store.none()
            assert self.change(store, "+", [(1, 2), (4, 5)], X)
            assert not self.change(store, "+", [(4, 5)], X)
            assert self.change(store, "-", [(3, 4), (6, 6)], X)
            assert self.change(store, "-", [(4, 5)], X)  # it is as it was
            assert self.rows(store, "edge", X) == [(3, 4)]
            assert self.change(store, "+", [(4, 5)], X)
            I, A, D = (
                store.all,
                store.collect(X & store.explicit),
                store.collect(X - store.explicit),
            )
            I |= A
            I -= D
            changes = [(store.save(D), store.save(A)), (store.save(A), store.save(D))]
            one, none = store.delta(changes[:1], store.kinds), store.delta(changes, store.kinds)
            assert {op: one["edge"].sizes[op] for op in "+-"} == {"+": 1, "-": 1}
            assert one["edge"].decode("+").rows() == [(4, 5)]
            assert one["edge"].decode("-").rows() == [(3, 4)]
            assert not any(any(each.sizes.values()) for each in none.values())
            del X, A, D
            store.rollback() if undo else store.commit()
            expected = EDGES if undo else [*EDGES[:2], (4, 5)]
            assert self.rows(store, "edge") == expected
            assert self.rows(store, "edge", store.explicit) == expected
            assert store.size("edge") == 3

    def test_checks_before_changes(self, store: Store) -> None:
        store.begin()
        seen: list[Row] = []

        def check(row: Row) -> None:
            seen.append(row)
            if row == (2, 2):
                raise LookupError

        X, table = store.none(), Table.from_rows(KINDS["edge"], [(1, 1), (2, 2)])
        with pytest.raises(LookupError):
            store.change_explicit("+", "edge", table, X, check)
        assert (2, 2) in seen
        assert not X
        assert not store.explicit
        store.rollback()

    def test_single_facts(self, store: Store) -> None:
        edge = store.kinds["edge"]
        store.load("edge", Table.from_rows(KINDS["edge"], EDGES), (store.all,))
        assert store.holds(edge, (1, 2))
        assert not store.holds(edge, (2, 1))
        assert not store.holds(edge, ("a", "b"))
        assert not store.is_explicit(edge, (1, 2))
        found = store.find("edge", Table.from_rows(KINDS["edge"], [(1, 2), (2, 1)]))
        assert self.rows(store, "edge", found & store.all) == [(1, 2)]

    def test_questions(self, store: Store) -> None:
        store.load("edge", Table.from_rows(KINDS["edge"], EDGES), (store.all,))
        answer = Relation("%answer", ("c0",), ("number",))
        rule = Rule(Literal("%answer", (X,)), (Literal("edge", (X, Y)),))
        found = store.ask([Stratum(("%answer",), (rule,), ())], answer, ())
        assert sorted(found.rows()) == [(1,), (2,), (3,)]
        assert "%answer" not in store.kinds
