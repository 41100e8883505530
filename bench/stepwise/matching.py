"""Rule instances over ground facts, found one at a time.

A rule is compiled once for every place where a search can start: a body atom that a fact matches,
the head, or nowhere. From there the search is depth first and queries an index at every step, so
that the first instance costs as little as possible.

Rules are the project's own, in core form, as far as the papers need them: positive atoms, and
comparisons of variables and constants that the atoms bind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from tidelog.oracle.values import holds
from tidelog.plan import analyse
from tidelog.program.rules import Constraint, Literal, Rule
from tidelog.program.syntax import Constant, Value, Variable
from tidelog.text import parse

Columns = tuple[int, ...]
Slots = tuple[int, ...]
Env = list[Value]
Pairs = tuple[tuple[int, int], ...]  # of a column and a slot


class Fact:
    """Each fact is one object, so that sets of facts compare identities."""

    __slots__ = ("relation", "values")
    _all: ClassVar[dict[tuple[str, tuple[Value, ...]], Fact]] = {}

    relation: str
    values: tuple[Value, ...]

    def __new__(cls, relation: str, values: tuple[Value, ...] = ()) -> Fact:
        fact = cls._all.get((relation, values))
        if fact is None:
            fact = cls._all[relation, values] = super().__new__(cls)
            fact.relation, fact.values = relation, values
        return fact

    def __lt__(self, other: Fact) -> bool:
        return (self.relation, self.values) < (other.relation, other.values)

    def __repr__(self) -> str:
        return f"{self.relation}({', '.join(map(str, self.values))})"


class Instance(NamedTuple):
    rule: int
    head: Fact
    body: tuple[Fact, ...]

    def __repr__(self) -> str:
        return f"{self.head} :- {', '.join(map(str, self.body))}."


class Facts:
    """A set of facts in the order of arrival, with an index for each access path in use."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts: dict[Fact, None] = {}
        self._indexes: dict[tuple[str, Columns], dict[tuple[Value, ...], dict[Fact, None]]] = {}
        self._paths: dict[str, list[Columns]] = {}
        for fact in facts:
            self.add(fact)

    def __contains__(self, fact: Fact) -> bool:
        return fact in self._facts

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def add(self, fact: Fact) -> None:
        if fact in self._facts:
            return
        self._facts[fact] = None
        for columns in self._paths.get(fact.relation, ()):
            self._enter(fact, columns)

    def remove(self, fact: Fact) -> None:
        del self._facts[fact]
        for columns in self._paths.get(fact.relation, ()):
            key = tuple([fact.values[i] for i in columns])
            del self._indexes[fact.relation, columns][key][fact]

    def matching(self, relation: str, columns: Columns, key: tuple[Value, ...]) -> tuple[Fact, ...]:
        """A snapshot: later facts are not among them."""
        index = self._indexes.get((relation, columns))
        if index is None:
            index = self._indexes[relation, columns] = {}
            self._paths.setdefault(relation, []).append(columns)
            for fact in self._facts:
                if fact.relation == relation:
                    self._enter(fact, columns)
        return tuple(index.get(key, ()))

    def _enter(self, fact: Fact, columns: Columns) -> None:
        key = tuple([fact.values[i] for i in columns])
        self._indexes[fact.relation, columns].setdefault(key, {})[fact] = None


class _Pattern(NamedTuple):
    """An atom, with a slot of the environment for each of its terms."""

    relation: str
    slots: Slots

    def fact(self, env: Env) -> Fact:
        return Fact(self.relation, tuple([env[slot] for slot in self.slots]))


def _match(fact: Fact, env: Env, free: Pairs, same: Pairs) -> bool:
    """Bind the free (column, slot) pairs; then those in `same` must agree."""
    values = fact.values
    for column, slot in free:
        env[slot] = values[column]
    for column, slot in same:  # noqa: SIM110 (it is the innermost loop)
        if env[slot] != values[column]:
            return False
    return True


class _Test(NamedTuple):
    op: str
    left: int
    right: int


class _Step(NamedTuple):
    """Facts that agree with the slots in `bound`; then `free` is bound, and `same` (variables that
    occur twice in the atom) and `tests` filter."""

    atom: int
    columns: Columns
    bound: Slots
    free: Pairs
    same: Pairs
    tests: tuple[_Test, ...]


class _Search(NamedTuple):
    """A start, which binds `free` and must agree with `same`, and the steps after it."""

    free: Pairs
    same: Pairs
    tests: tuple[_Test, ...]
    steps: tuple[_Step, ...]


class _Compiled:
    """A rule with its variables and constants numbered."""

    def __init__(self, number: int, rule: Rule) -> None:
        self.number = number
        self._slots: dict[Variable | Constant, int] = {}
        atoms: list[_Pattern] = []
        self.tests: list[_Test] = []
        self.template: Env = []
        for part in rule.body:
            match part:
                case Literal(negated=False):
                    atoms.append(self._pattern(part))
                case Constraint(op, Variable() | Constant() as left, Variable() | Constant() as r):
                    self.tests.append(_Test(op, self._slot(left), self._slot(r)))
                case _:
                    raise ValueError(f"only atoms and comparisons, not as in {rule.text}")
        self.atoms = tuple(atoms)
        self.head = self._pattern(rule.head)
        self.constants = {s for term, s in self._slots.items() if isinstance(term, Constant)}
        self.from_atom = tuple(self._search(atom, i) for i, atom in enumerate(self.atoms))
        self.from_head = self._search(self.head, None)
        self.from_nowhere = self._search(None, None)

    def _slot(self, term: object) -> int:
        if not isinstance(term, Variable | Constant):  # a wildcard is a variable of its own
            self.template.append(0)
            return len(self.template) - 1
        if term not in self._slots:
            self._slots[term] = len(self.template)
            self.template.append(term.value if isinstance(term, Constant) else 0)
        return self._slots[term]

    def _pattern(self, literal: Literal) -> _Pattern:
        return _Pattern(literal.relation, tuple(map(self._slot, literal.terms)))

    def _search(self, start: _Pattern | None, taken: int | None) -> _Search:
        known = set(self.constants)
        tested: set[_Test] = set()
        free = self._free(start, known) if start else ()
        same = self._others(start, free) if start else ()
        tests = self._ready(known, tested)
        left = [i for i in range(len(self.atoms)) if i != taken]
        steps: list[_Step] = []
        while left:
            # The atom with the most known columns; ties in the order of the rule.
            atom = max(left, key=lambda i: (self._known(self.atoms[i], known), -i))
            left.remove(atom)
            slots = self.atoms[atom].slots
            columns = tuple(i for i, slot in enumerate(slots) if slot in known)
            bound = tuple(slots[i] for i in columns)
            new = self._free(self.atoms[atom], known)
            twice = self._others(self.atoms[atom], new, columns)
            steps.append(_Step(atom, columns, bound, new, twice, self._ready(known, tested)))
        if len(tested) < len(self.tests):
            raise ValueError("a comparison has a variable that no atom binds")
        return _Search(free, same, tests, tuple(steps))

    @staticmethod
    def _known(atom: _Pattern, known: set[int]) -> int:
        return sum(slot in known for slot in atom.slots)

    @staticmethod
    def _free(atom: _Pattern, known: set[int]) -> Pairs:
        """The columns that bind a slot, which are known from now on."""
        new: dict[int, int] = {}
        for column, slot in enumerate(atom.slots):
            if slot not in known:
                new.setdefault(slot, column)
        known.update(new)
        return tuple((column, slot) for slot, column in new.items())

    @staticmethod
    def _others(atom: _Pattern, free: Pairs, columns: Columns = ()) -> Pairs:
        """Columns that bind no slot and belong to no index key."""
        pairs = enumerate(atom.slots)
        return tuple((c, slot) for c, slot in pairs if c not in columns and (c, slot) not in free)

    def _ready(self, known: set[int], tested: set[_Test]) -> tuple[_Test, ...]:
        ready = [t for t in self.tests if t not in tested and {t.left, t.right} <= known]
        tested.update(ready)
        return tuple(ready)

    def run(
        self, search: _Search, start: tuple[int | None, Fact] | None, within: Facts
    ) -> Iterator[Instance]:
        env = list(self.template)
        body: list[Fact] = [Fact("")] * len(self.atoms)
        if start is not None:
            place, fact = start
            if not _match(fact, env, search.free, search.same):
                return
            if place is not None:
                body[place] = fact
        if not search.tests or _hold(search.tests, env):
            yield from self._extend(search.steps, 0, env, body, within)

    def _extend(
        self, steps: tuple[_Step, ...], depth: int, env: Env, body: list[Fact], within: Facts
    ) -> Iterator[Instance]:
        if depth == len(steps):
            yield Instance(self.number, self.head.fact(env), tuple(body))
            return
        step = steps[depth]
        atom, free, same, tests = self.atoms[step.atom], step.free, step.same, step.tests
        key = tuple([env[slot] for slot in step.bound])
        for fact in within.matching(atom.relation, step.columns, key):
            if _match(fact, env, free, same) and (not tests or _hold(tests, env)):
                body[step.atom] = fact
                yield from self._extend(steps, depth + 1, env, body, within)


def _hold(tests: tuple[_Test, ...], env: Env) -> bool:
    return all(holds(op, env[left], env[right]) for op, left, right in tests)


class Rules:
    """A program's rules, ready to be matched.

    >>> rules = Rules.read(".decl e(x: number, y: number) p(x, z) :- e(x, y), e(y, z).")
    >>> facts = Facts([Fact("e", (1, 2)), Fact("e", (2, 3)), Fact("e", (2, 4))])
    >>> list(rules.touching(Fact("e", (1, 2)), facts))
    [p(1, 3) :- e(1, 2), e(2, 3)., p(1, 4) :- e(1, 2), e(2, 4).]
    >>> next(rules.deriving(Fact("p", (1, 4)), facts))
    p(1, 4) :- e(1, 2), e(2, 4).
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(_Compiled(number, rule) for number, rule in enumerate(rules))
        self.implicit = frozenset(rule.head.relation for rule in self._rules)
        self._readers: dict[str, list[tuple[_Compiled, int]]] = {}
        self._makers: dict[str, list[_Compiled]] = {}
        for rule in self._rules:
            self._makers.setdefault(rule.head.relation, []).append(rule)
            for place, atom in enumerate(rule.atoms):
                self._readers.setdefault(atom.relation, []).append((rule, place))

    @staticmethod
    def read(text: str) -> Rules:
        analysis = analyse(parse(text).program)
        if analysis.checked is None:
            raise ValueError("; ".join(finding.message for finding in analysis.diagnostics))
        return Rules(analysis.checked.rules)

    def is_explicit(self, fact: Fact) -> bool:
        """Of a relation that no rule derives, as the papers have it."""
        return fact.relation not in self.implicit

    def reads(self) -> Iterator[tuple[str, str]]:
        """Pairs of a head's relation and one that its body reads."""
        for rule in self._rules:
            for atom in rule.atoms:
                yield rule.head.relation, atom.relation

    def touching(self, fact: Fact, within: Facts) -> Iterator[Instance]:
        """Instances with the fact in their body and the rest within, each once."""
        for rule, place in self._readers.get(fact.relation, ()):
            for instance in rule.run(rule.from_atom[place], (place, fact), within):
                if not place or fact not in instance.body[:place]:
                    yield instance

    def deriving(self, head: Fact, within: Facts) -> Iterator[Instance]:
        """Instances with this head and their body within."""
        for rule in self._makers.get(head.relation, ()):
            yield from rule.run(rule.from_head, (None, head), within)

    def instances(self, within: Facts) -> Iterator[Instance]:
        for rule in self._rules:
            yield from rule.run(rule.from_nowhere, None, within)


class Known(Facts):
    """Facts with the rule instances among them, each found once, when the last of its facts
    arrives, and dropped when the first of its facts is deleted. Looking at an instance therefore
    costs next to nothing, and an algorithm's time is that of the rules it applies."""

    def __init__(self, rules: Rules, facts: Iterable[Fact] = ()) -> None:
        self._rules = rules
        self._uses: dict[Fact, dict[Instance, None]] = {}
        self._proofs: dict[Fact, dict[Instance, None]] = {}
        self._out: dict[Fact, None] = {}
        super().__init__(facts)

    def add(self, fact: Fact) -> None:
        if fact in self:
            return
        super().add(fact)
        if fact in self._out:
            del self._out[fact]
            return
        for r in self._rules.touching(fact, self):
            self._proofs.setdefault(r.head, {})[r] = None
            for f in r.body:
                self._uses.setdefault(f, {})[r] = None

    def remove(self, fact: Fact) -> None:
        super().remove(fact)
        self._forget(fact)

    def take_out(self, fact: Fact) -> None:
        """Delete a fact that may return before any other is deleted: its instances stay until
        `settle`."""
        super().remove(fact)
        self._out[fact] = None

    def settle(self) -> None:
        """Deleted facts that have not returned will not."""
        for fact in self._out:
            self._forget(fact)
        self._out = {}

    def _forget(self, fact: Fact) -> None:
        for r in self._uses.pop(fact, ()):
            del self._proofs[r.head][r]
            for f in r.body:
                if f in self._uses:
                    self._uses[f].pop(r, None)

    def touching(self, fact: Fact) -> tuple[Instance, ...]:
        """Current instances with the fact in their body."""
        return tuple(self._uses.get(fact, ()))

    def deriving(self, fact: Fact) -> tuple[Instance, ...]:
        return tuple(self._proofs.get(fact, ()))


class Frontier:
    """Facts whose instances have not all been looked at.

    An instance that is not accepted is not offered again: what the algorithms ask of one
    (a head that is not in a set which only grows) cannot come true later. Facts that come while
    a search is under way are put in themselves, so nothing is missed.
    """

    def __init__(
        self,
        known: Known,
        facts: Iterable[Fact] = (),
        count: Callable[[int], None] = lambda looked: None,
    ) -> None:
        self._known = known
        self._waiting = deque(facts)
        self._count = count  # called with the number of instances looked at
        self._open: Iterator[Instance] = iter(())

    def put(self, fact: Fact) -> None:
        self._waiting.append(fact)

    def first(self, accept: Callable[[Instance], bool]) -> Instance | None:
        looked = 0
        while True:
            for instance in self._open:
                looked += 1
                if accept(instance):
                    self._count(looked)
                    return instance
            if not self._waiting:
                self._count(looked)
                return None
            self._open = iter(self._known.touching(self._waiting.popleft()))


def closure(rules: Rules, explicit: Iterable[Fact]) -> set[Fact]:
    """mat(P, E), naively: all rules on all facts until nothing new follows."""
    I = Facts(explicit)
    while N := {instance.head for instance in rules.instances(I)} - set(I):
        for fact in N:
            I.add(fact)
    return set(I)
