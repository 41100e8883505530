"""Checks a class of modules against the paper's definitions, on random facts and updates.

    check(Levels, "r(x, n - 1) :- r(x, n), n > 0.")

A case is a sequence of updates. Each goes the way of Algorithm 3, with the module and some facts
that other modules derive or overdelete, and each call is compared with its definition, which is
computed by evaluating the module's rules. The smallest failing case found is raised.

# X external facts: stated ones, which are certain, and others, which another module may take back
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal as Choice

import numpy as np

from tidelog.engine import FactSet, Split, View
from tidelog.local.engine import LocalEngine
from tidelog.maintain.memory import Memory
from tidelog.maintain.module import Claim, Module, claims, uncertain
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Update
from tidelog.plan.accept import accept
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import CheckedProgram, Rule, Stratum
from tidelog.program.syntax import Constant, Kind, Value
from tidelog.text import parse
from tidelog.text.writer import value_text

Fact = tuple[str, tuple[Value, ...]]
# A lower fact is stated or deleted. A fact of the stratum is stated, derived by another module,
# deleted (neither of both any more), or overdeleted by another module on the way.
Op = Choice["state", "derive", "delete", "overdelete"]
Step = tuple[tuple[Op, Fact], ...]
OPS: tuple[Op, ...] = ("state", "derive", "delete", "overdelete")
VALUES: Mapping[Kind, Sequence[Value]] = {
    "number": range(5),
    "unsigned": range(5),
    "float": (0.0, 0.5, 1.0, 1.5),
    "symbol": ("a", "b", "c", "d"),
}
CASES = 400  # generated histories: chosen, not measured


class BrokenContract(TidelogError):
    """A module does not return what a definition asks for; `steps` are the updates that show it."""

    def __init__(self, message: str, steps: Sequence[Step] = ()) -> None:
        super().__init__(message)
        self.steps = steps


def check(
    kind: type[Module],
    program: str,
    *,
    cases: int = CASES,
    values: Mapping[Kind, Sequence[Value]] | None = None,
) -> int:
    """Check a class of modules on a program with rules that it claims; returns how many calls of
    its functions were compared. Raises `BrokenContract` with the smallest failing case found.

    `values` gives the values of a kind that facts are made of; a few, or facts hardly ever meet.

    >>> from tidelog.modules import SymmetricTransitive
    >>> rules = "r(x, z) :- r(x, y), r(y, z). r(x, y) :- r(y, x)."
    >>> check(SymmetricTransitive, ".decl r(x: number, y: number) " + rules, cases=10) > 50
    True
    """
    checked = accept(parse(program)).checked
    calls = 0
    for stratum, claim in _claimed(kind, checked):
        trial = _Trial(checked, stratum, claim)
        for number in range(cases):
            steps = _random_steps(trial, {**VALUES, **(values or {})}, number)
            if trial.failure(steps) is not None:
                steps = _smallest(steps, trial)
                raise BrokenContract(_told(kind, trial.failure(steps) or "", steps), steps)
        calls += trial.calls
    return calls


def _claimed(kind: type[Module], checked: CheckedProgram) -> list[tuple[Stratum, Claim]]:
    found = [
        (stratum, claim)
        for stratum in checked.strata
        for claim in claims(stratum.recursive, (kind,))[0]
    ]
    if not found:
        raise TidelogError(f"error: {kind.__name__} matches no recursive rules of the program")
    return found


def _random_steps(trial: _Trial, values: Mapping[Kind, Sequence[Value]], number: int) -> list[Step]:
    """A few updates, and more of them as the number grows. Facts of every second case are those of
    rule instances, which meet."""
    random = Random(number)
    if number % 2:
        values = {k: random.sample(some, min(3, len(some))) for k, some in values.items()}
    names = [*trial.inside, *trial.inside, *trial.lower]

    def fact(
        name: str, terms: Sequence[object] = (), known: dict[object, Value] | None = None
    ) -> Fact:
        kinds = trial.checked.relations[name].kinds
        if unknown := [kind for kind in kinds if kind not in values]:
            raise TidelogError(f"error: expected values of kind {unknown[0]}; give `values` some")
        found = [random.choice(values[kind]) for kind in kinds]
        if known is not None:
            found = [known.setdefault(t, v) for t, v in zip(terms, found, strict=True)]
        return name, tuple(found)

    def instance() -> list[Fact]:
        """Facts of one instance of a rule, but for what its comparisons ask."""
        rule = random.choice(trial.claim.rules)
        literals = [part for part in rule.literals() if not part.negated]
        terms = [term for part in (*literals, rule.head) for term in part.terms]
        known: dict[object, Value] = {t: t.value for t in terms if isinstance(t, Constant)}
        return [fact(part.relation, part.terms, known) for part in (*literals, rule.head)]

    def stated(name: str) -> Op:
        return "state" if name in trial.lower or random.random() < 0.5 else "derive"

    def changed(name: str) -> Op:
        if name in trial.lower:
            return "delete" if random.random() < 0.5 else "state"
        return OPS[random.randrange(len(OPS))]

    first = [fact(random.choice(names)) for _ in range(random.randint(2, 8))]
    if number % 2:
        first = [*instance(), *instance(), *first[:2]]
    steps: list[Step] = [tuple((stated(name), (name, row)) for name, row in first)]
    for _ in range(1 + number % 6):
        some = instance() if number % 2 else [fact(name) for name in names]
        chosen = random.choices([*first, *some], k=random.randint(1, 5))
        steps.append(tuple((changed(name), (name, row)) for name, row in chosen))
    return steps


def _smallest(steps: list[Step], trial: _Trial) -> list[Step]:
    """The fewest steps that still show the failure."""
    again = True
    while again:
        again = False
        for i, step in enumerate(steps):
            for shorter in ((), *(step[:k] + step[k + 1 :] for k in range(len(step)))):
                smaller = [*steps[:i], *([shorter] if shorter else []), *steps[i + 1 :]]
                if step and trial.failure(smaller) is not None:
                    steps, again = smaller, True
                    break
            if again:
                break
    return steps


def _told(kind: type[Module], failure: str, steps: Sequence[Step]) -> str:
    lines = [f"error: {kind.__name__} {failure}", "after these updates:"]
    for number, step in enumerate(steps, 1):
        lines += [f"    {number}. {op} {fact_text(fact)}" for op, fact in step]
    return "\n".join(lines)


def fact_text(fact: Fact) -> str:
    return f"{fact[0]}({', '.join(map(value_text, fact[1]))})"


class _Broken(Exception):
    """What a module did wrong."""


class _Watch:
    """Nobody watches."""

    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def room(self) -> int:
        return 1 << 60

    def passed(self, count: int) -> None: ...

    def at(self, rule: Rule) -> None: ...

    def pairs(self, count: int) -> None: ...


class _Trial:
    """The rules that a module has claimed, and the checks to make of it."""

    def __init__(self, checked: CheckedProgram, stratum: Stratum, claim: Claim) -> None:
        self.checked, self.stratum, self.claim = checked, stratum, claim
        names = [name for rule in claim.rules for name, _ in rule.reads()]
        names += [rule.head.relation for rule in claim.rules]
        self.inside = sorted({*names}.intersection(stratum.relations))
        self.lower = sorted({*names}.difference(stratum.relations))
        self.calls = 0

    def failure(self, steps: Sequence[Step]) -> str | None:
        """What the module does wrong in these updates."""
        case = _Case(self)
        try:
            for step in steps:
                case.update(step)
        except _Broken as broken:
            return str(broken)
        except Exception as error:
            return f"raises {type(error).__name__}: {error}"
        finally:
            self.calls += case.calls
        return None


class _Case:
    """A module at work."""

    def __init__(self, trial: _Trial) -> None:
        self.trial, self.stratum, self.rules = trial, trial.stratum, trial.claim.rules
        self.engine = LocalEngine()
        for relation in trial.checked.relations.values():
            self.engine.declare(relation)
        self.module = trial.claim.kind(self.rules)
        self.module.watch = _Watch()
        self.stateful = self.module.stateful
        self.X, self.given, self.followed = (self.engine.none() for _ in range(3))
        self.calls = 0

    def set(self, facts: Sequence[Fact]) -> FactSet:
        """A set of these facts."""
        found = self.engine.none()
        for name, row in facts:
            kinds = self.engine.kinds[name].kinds
            cells = [self.engine.identify(kind, [v]) for kind, v in zip(kinds, row, strict=True)]
            found |= self.engine.pick(name, np.column_stack(cells))
        return found

    def update(self, step: Step) -> None:
        """One update by Algorithm 3."""
        engine, I, E = self.engine, self.engine.all, self.engine.explicit
        by: dict[Op, FactSet] = {op: self.set([f for o, f in step if o == op]) for op in OPS}
        lower = self.trial.lower
        A = engine.collect(by["state"] - I, lower)
        D = engine.collect((by["delete"] & I) - by["state"], lower)
        I |= A
        I -= D
        inside = self.stratum.relations
        stated, derived = engine.collect(by["state"], inside), engine.collect(by["derive"], inside)
        gone = engine.collect((by["delete"] & self.X) - stated - derived, inside)
        fresh = engine.collect(stated - E)
        E -= gone
        E |= stated
        self.X -= gone
        self.X |= stated | derived
        none = engine.none
        u = Update(engine, E, I, _Watch(), Memory(), none(), D, A)
        self.u = u
        known = engine.collect(fresh & I)
        self.module.confirm(u, known)
        self.given |= known
        self.followed = engine.none()
        self.inside, old = frozenset(inside), engine.collect(self.X)
        N = engine.collect((gone | self.lost()) & I)
        N -= E
        Ds = engine.none()
        for some in (N, by["overdelete"]):
            N = engine.collect((some & I) - Ds, inside)
            N -= E
            if N:
                Ds |= N
                Ds |= self.overdeleted(N, Ds)
        I -= Ds
        self.given -= Ds
        own = self.reduced(Ds)
        N = engine.collect((own | (old & Ds) | derived) - I)
        if not self.stateful:
            N |= self.gained()
        N |= stated - I
        I |= N
        if self.stateful:
            N |= self.gained()
            I |= N
            N -= own
        self.given |= N
        if N:
            I |= self.added(N)
        self.same("leaves, in the end,", engine.collect(I, inside), self.closed(self.X))

    # What the functions return, compared with their definitions.

    def lost(self) -> FactSet:
        u = self.u
        found = self.module.diff(u, self.stratum, loses=True)
        expected = self.engine.derive(
            self.rules, touching=u.D, touching_negated=u.A, within=u.old, guard=u.I
        )
        return self.same("diff, of what is lost, returns", found, expected)

    def gained(self) -> FactSet:
        u = self.u
        found = self.module.diff(u, self.stratum, loses=False)
        expected = self.engine.derive(
            self.rules, touching=u.A, touching_negated=u.D, within=u.I, guard=~u.I
        )
        return self.same("diff, of what is gained, returns", found, expected)

    def overdeleted(self, N: FactSet, Ds: FactSet) -> FactSet:
        """Definition 6. What follows from certain facts alone need not be overdeleted, nor what
        follows from a fact that the module has not been given, but derived itself."""
        u, engine = self.u, self.engine
        known = engine.collect(Ds)
        certain = self.closed(engine.collect((u.E & u.I) - known, tuple(self.inside)))
        rules, negative = unaffected(u, self.stratum, self.rules)

        def heads(new: FactSet, within: View, guard: View) -> FactSet:
            lower = Split(self.inside, within, u.I - u.A)
            return engine.derive(rules, touching=new, within=lower, negative=negative, guard=guard)

        least, new = engine.none(), engine.collect(N & self.given) if self.stateful else N
        while new := engine.collect(new - certain):
            self.followed |= new
            new = uncertain(u, heads(new, u.I - (self.followed - new), u.I - self.followed))
            least |= new
        most, new = engine.none(), known
        while new:
            new = heads(new, u.I, u.I - known - most)
            most |= new
        found = self.module.delete(u, self.stratum, engine.collect(N), Ds)
        self.none("delete returns, beyond what follows from the deleted facts,", found - most)
        self.none("delete returns, though they are certain,", found & u.E)
        self.none("delete lacks", least - certain - known - found)
        return found

    def reduced(self, Ds: FactSet) -> FactSet:
        """Definition 7. A module without a state may leave all but one step to `add`."""
        u, engine = self.u, self.engine
        rules, negative = unaffected(u, self.stratum, self.rules)
        J = engine.none()
        within = Split(self.inside, u.I | J, u.I - u.A)
        steps = []
        while more := engine.provable(
            rules, engine.collect(Ds - J), within=within, negative=negative
        ):
            steps.append(engine.collect(more))
            J |= more
        found = self.module.reduce(u, self.stratum, Ds)
        if self.stateful:
            return self.same("reduce returns", found, J)
        self.none("reduce returns, beyond what is left,", found - J)
        self.none("reduce lacks", (steps[0] if steps else J) - found)
        return found

    def added(self, N: FactSet) -> FactSet:
        """Definition 3."""
        engine, I = self.engine, self.u.I
        J, new = engine.none(), engine.collect(N)
        while new:
            new = engine.derive(self.rules, touching=new, within=I | J, guard=~(I | J))
            J |= new
        return self.same("add returns", self.module.add(self.u, N), J)

    def closed(self, F: FactSet) -> FactSet:
        """What the rules derive from these facts and lower ones, and the facts."""
        engine, I = self.engine, self.u.I
        J, new = engine.collect(F), engine.collect(F)
        while new:
            within = Split(self.inside, J, I)
            new = engine.derive(self.rules, touching=new, within=within, negative=I, guard=~J)
            J |= new
        return J

    def same(self, what: str, found: FactSet, expected: FactSet) -> FactSet:
        self.calls += 1
        if self.texts(found - expected) or self.texts(expected - found):
            raise _Broken(f"{what} {self.listed(found)}; expected {self.listed(expected)}")
        return found

    def none(self, what: str, facts: View) -> None:
        self.calls += 1
        if self.texts(facts):
            raise _Broken(f"{what} {self.listed(facts)}")

    def listed(self, facts: View) -> str:
        return ", ".join(self.texts(facts)) or "nothing"

    def texts(self, facts: View) -> list[str]:
        """The facts as text, in order."""
        found = self.engine.collect(facts)
        return sorted(
            fact_text((name, row))
            for name in self.engine.relations(found)
            for row in self.engine.table(name, found).rows()
        )
