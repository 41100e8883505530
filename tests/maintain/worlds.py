"""A program with its facts in an engine, and updates of both by any algorithm."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tests.local.reference import facts_of as local_facts
from tests.local.reference import put as local_put
from tests.local.test_changes import counts as local_counts
from tests.maintain.reference import Fact, Facts, PyEngine, PySet, extent, instances
from tidelog.engine import Counter, FactSet, View
from tidelog.local.engine import LocalEngine
from tidelog.local.row_store import AGE
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.maintain.driver.update_loop import update
from tidelog.maintain.materialise import materialise
from tidelog.maintain.memory import Kept, Memory, ModuleKinds
from tidelog.maintain.report import Report, Work
from tidelog.maintain.update import Update
from tidelog.plan.strata import strata
from tidelog.program.rules import Relation, Rule, Stratum

Set = frozenset[Fact]
Stratify = Callable[[Iterable[str], Sequence[Rule]], Sequence[Stratum]]
KEPT: tuple[Kept, ...] = ("nonrecursive", "recursive", "trace")
NOTHING: Set = frozenset()


class Unwatched:
    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def room(self) -> int:
        return 1 << 60

    def passed(self, count: int) -> None: ...

    def at(self, rule: Rule) -> None: ...

    def pairs(self, count: int) -> None: ...


class OnPython:
    """The way into and out of the reference engine."""

    def __init__(self) -> None:
        self.engine = PyEngine()

    def put(self, facts: Iterable[Fact], *into: FactSet) -> None:
        for one in into:
            assert isinstance(one, PySet)
            one.facts |= set(facts)

    def facts(self, view: View) -> Set:
        return frozenset(extent(view))

    def counts(self, counter: Counter) -> dict[Fact, int]:
        return {f: n for f, n in counter.numbers.items() if n}  # type: ignore[attr-defined]

    def ages(self) -> Callable[[Fact], int]:
        return self.engine.age


class OnLocal:
    """The same for the local engine."""

    def __init__(self) -> None:
        self.engine = LocalEngine()

    def put(self, facts: Iterable[Fact], *into: FactSet) -> None:
        local_put(self.engine, facts, *into)  # type: ignore[arg-type]

    def facts(self, view: View) -> Set:
        return local_facts(self.engine, view)

    def counts(self, counter: Counter) -> dict[Fact, int]:
        return local_counts(self.engine, counter.which)  # type: ignore[attr-defined]

    def ages(self) -> Callable[[Fact], int]:
        known = local_counts(self.engine, AGE)
        return lambda fact: known.get(fact, 0)


ENGINES: dict[str, Callable[[], OnPython | OnLocal]] = {"python": OnPython, "local": OnLocal}


class Staged(Update):
    """An update that remembers, for the reference engine, which instances were of which kind."""

    def note(self, name: str) -> None:
        start = self._noted
        super().note(name)
        self.stages[name].append((start, self._noted))  # type: ignore[attr-defined]


class World:
    """`rules` that hold now out of all; `E` explicit facts; `state` is what the engine has."""

    def __init__(
        self,
        relations: Iterable[Relation],
        rules: Sequence[Rule],
        facts: Iterable[Fact] = (),
        on: str = "python",
        stratify: Stratify = strata,
        modules: ModuleKinds = True,
    ) -> None:
        self.stratify = stratify
        self.way = ENGINES[on]()
        self.engine = self.way.engine
        self.relations = {relation.name: relation for relation in relations}
        for relation in self.relations.values():
            self.engine.declare(relation)
        self.rules = tuple(rules)
        self.E = frozenset(facts)
        self.memory = Memory(modules=modules)
        self.strata = self._strata(self.rules)
        self.way.put(self.E, self.engine.explicit, self.engine.all)
        engine = self.engine
        materialise(engine, self.strata, engine.all, Unwatched(), self.memory, engine.explicit)
        self.report = Report()
        self.stages: dict[str, list[tuple[int, int]]] = {}

    def _strata(self, rules: Sequence[Rule]) -> Sequence[Stratum]:
        return self.stratify(self.relations, rules)

    @property
    def state(self) -> Set:
        """The materialisation, without relations that algorithms keep for themselves."""
        found = self.way.facts(self.engine.all)
        return frozenset(f for f in found if f[0] in self.relations)

    def counts(self) -> tuple[dict[Fact, int], dict[Fact, int]]:
        """All of C_nr and C_r; what is zero is left out."""
        return self.way.counts(self.engine.nonrecursive), self.way.counts(self.engine.recursive)

    def miscounts(self) -> list[str]:
        """Where counters that are said to be in step differ from the instances there are."""
        found = []
        I = Facts.of(PySet(self.state))
        C_nr, C_r = self.counts()
        for s in self.strata:
            has = {kept: self.memory.has(kept, s) for kept in KEPT}
            mine = (f"%trace:{name}" for name in s.relations)
            for kept, rules, counter, names in (
                ("nonrecursive", s.nonrecursive, C_nr, s.relations),
                ("recursive", s.recursive, C_r, s.relations),
                ("trace", s.rules, C_nr, tuple(mine)),
            ):
                if has[kept]:
                    right = (
                        trace_of(s, self.E, I)
                        if kept == "trace"
                        else Tally(i.head for rule in rules for i in instances(rule, I, I))
                    )
                    counted = {f: n for f, n in counter.items() if f[0] in names}
                    if counted != right:
                        found.append(f"{kept} of {s.relations}: {counted}, but {dict(right)}")
        return found + self._misaged(I)

    def _misaged(self, I: Facts) -> list[str]:
        """Facts that are not explicit and have no instance from older facts of their stratum,
        where ages are said to be in step."""
        found, age = [], self.way.ages()
        for s in self.strata:
            if self.memory.has("ages", s):
                proved = {
                    i.head
                    for rule in s.rules
                    for i in instances(rule, I, I)
                    if all(age(f) < age(i.head) for f in i.body if f[0] in s.relations)
                }
                mine = {(name, row) for name in s.relations for row in I.by_relation.get(name, ())}
                found += [f"too young: {fact}" for fact in mine - proved - self.E]
        return found

    def change(
        self,
        algorithm: str,
        *,
        insert: Iterable[Fact] = (),
        delete: Iterable[Fact] = (),
        gone: Sequence[Rule] = (),
        come: Sequence[Rule] = (),
        phases: str = "two",
    ) -> tuple[Set, Set]:
        """The facts that went and that came.

        Rules that go and rules that come make `two` phases, the first under the strata
        as they were (`old`: without the rules that go; `two`: computed again), or `one`.
        """
        arrived = frozenset(insert) - self.E
        left = (frozenset(delete) & self.E) - frozenset(insert)
        self.E = (self.E - left) | arrived
        self.way.put(arrived, self.engine.explicit)
        went = self.engine.none()
        self.way.put(left, went)
        explicit = self.engine.explicit
        explicit -= went
        del went
        stayed = tuple(rule for rule in self.rules if rule not in gone)
        self.rules = (*stayed, *come)
        self.report, self.stages = Report(), defaultdict(list)
        if phases == "one" or not gone or not come:
            self.strata = self._strata(self.rules)
            if phases == "old" and not come:
                self.strata = [_without(s, gone) for s in self._strata((*stayed, *gone))]
            return self._phase(algorithm, arrived | left, self.strata, gone, come)
        before = self._strata(stayed)
        if phases == "old":
            before = [_without(s, gone) for s in self._strata((*stayed, *gone))]
        D1, A1 = self._phase(algorithm, arrived | left, before, gone, ())
        self.strata = self._strata(self.rules)
        D2, A2 = self._phase(algorithm, NOTHING, self.strata, (), come)
        return (D1 - A2) | (D2 - A1), (A1 - D2) | (A2 - D1)

    def _phase(
        self,
        algorithm: str,
        changed: Set,
        strata: Sequence[Stratum],
        gone: Sequence[Rule],
        come: Sequence[Rule],
    ) -> tuple[Set, Set]:
        engine = self.engine
        X, D, A = engine.none(), engine.none(), engine.none()
        self.way.put(changed, X)
        u = Staged(engine, engine.explicit, engine.all, Unwatched(), self.memory, X, D, A)
        u.report = self.report
        u.stages = self.stages  # type: ignore[attr-defined]
        stratum_of = {name: i for i, s in enumerate(strata) for name in s.relations}
        readers: dict[str, set[str]] = defaultdict(set)
        for stratum in strata:
            for rule in stratum.rules:
                for name, _ in rule.reads():
                    readers[name].add(rule.head.relation)
        update(u, strata, stratum_of, readers, gone, come, ALGORITHMS[algorithm])
        return self.way.facts(D), self.way.facts(A)

    def logged(self, *stages: str) -> list[object]:
        """The instances of these kinds, of the last update."""
        log = self.engine.log  # type: ignore[union-attr]
        return [i for name in stages for start, stop in self.stages[name] for i in log[start:stop]]

    def works(self, relation: str) -> Work:
        """What the last update did for the relation's stratum."""
        return next(work for work in self.report.works if relation in work.relations)


def one_stratum(relations: Iterable[str], rules: Sequence[Rule]) -> list[Stratum]:
    """All derived relations in one stratum, as in papers without negation."""
    derived = {rule.head.relation: None for rule in rules}
    parts: tuple[list[Rule], list[Rule]] = [], []
    for rule in rules:
        parts[any(name in derived for name, _ in rule.reads())].append(rule)
    inputs = [Stratum((name,), (), ()) for name in relations if name not in derived]
    return [*inputs, Stratum(tuple(derived), tuple(parts[0]), tuple(parts[1]))]


def _without(stratum: Stratum, gone: Sequence[Rule]) -> Stratum:
    return replace(
        stratum,
        nonrecursive=tuple(rule for rule in stratum.nonrecursive if rule not in gone),
        recursive=tuple(rule for rule in stratum.recursive if rule not in gone),
    )


def trace_of(stratum: Stratum, E: Set, I: Facts) -> Tally[Fact]:
    """How many instances derive each fact of the stratum in which round, by naive evaluation."""
    every = [i for rule in stratum.rules for i in instances(rule, I, I)]
    first = {fact: 0 for fact in E if fact[0] in stratum.relations}
    while True:
        rounds = Tally[Fact]()
        found = dict.fromkeys((f for f in E if f[0] in stratum.relations), 0)
        for i in every:
            mine = [f for f in i.body if f[0] in stratum.relations]
            if all(f in first for f in mine):
                at = max(first[f] for f in mine) + 1 if mine else 0
                name, row = i.head
                rounds[f"%trace:{name}", (*row, at)] += 1
                found[i.head] = min(at, found.get(i.head, at))
        if found == first:
            return rounds
        first = found


def naive(relations: Iterable[str], rules: Sequence[Rule], E: Iterable[Fact]) -> Set:
    """All that follows: every rule over all facts, until nothing is new."""
    I = PySet(E)
    for stratum in strata(relations, rules):
        while True:
            facts = Facts.of(I)
            N = {i.head for rule in stratum.rules for i in instances(rule, facts, facts)}
            if I.facts >= N:
                break
            I.facts |= N
    return frozenset(I.facts)
