"""Modules: parts of a recursive stratum that have algorithms of their own.

The framework of Hu, Motik and Horrocks (2019), section 4: the recursive rules of a stratum are
split into modules, and each implements four functions over the materialisation I:

- `add`: close I under the module's rules, where the facts N are new (Definition 3).
- `diff`: what the module's rules lose, or gain, by a change of lower facts (Definition 5).
- `delete`: facts to overdelete because N are (Definition 6). At least those that DRed^c would
  overdelete, at most those that DRed would.
- `reduce`: those overdeleted facts that follow from what is left (Definition 7, Red).

Instances that a lower change meets are for `diff` alone: `delete` and `reduce` read lower facts in
I - A, and negated ones in I | D.

A class of modules `matches` rules, and a database uses the classes that it is given. `Module`
itself evaluates any rules, seminaively: a subclass overrides the functions for which it has an
algorithm of its own.

Departures: `reduce` may find only what follows in one step, where `add` finds the rest. What
follows from certain facts alone, those that are explicit or that nonrecursive rules derive, need
not be overdeleted; nor what rests on a fact that the module has derived itself from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tidelog.engine import FactSet, Split
from tidelog.maintain.memory import ModuleKinds
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.steps import expected, gained, lost
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Context, Update
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Rule, Stratum


class Module:
    """Rules of a stratum, and how they are followed."""

    # Is it used from the first fact on? Otherwise when joins have taken long.
    at_once = True
    # Does it keep a state between calls? Then `reduce` finds all that follows, and `add` is not
    # given that again.
    stateful = False

    watch: Watch  # to be told of progress; set before every use

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    @classmethod
    def matches(cls, rules: Sequence[Rule]) -> Iterable[Sequence[Rule]]:
        """Of the recursive rules of a stratum, those of each module of this class."""
        return ()

    def add(self, c: Context, N: FactSet) -> FactSet:
        """What follows by the module's rules from the facts N of I and is not in I. Other facts
        of I are from earlier calls."""

        def each() -> bool:
            c.watch.round()
            return True

        engine, I = c.engine, c.I
        J = engine.none()
        new = engine.derive(self.rules, touching=N, within=I, guard=~I)
        # The next round needs this one's facts in I, where they will be anyway.
        engine.spread(self.rules, new, (I, J), within=I, guard=~I, each=each, alone=c.watch)
        return J

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        """Heads of instances that a lower change takes from the old state, or adds to the new."""
        return (lost if loses else gained)(u, stratum, self.rules, ())

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        """Facts of I that the module's rules derive from the overdeleted facts N of Ds. Not those
        that are certain or in Ds. Other facts of Ds are from earlier calls."""
        engine, I = u.engine, u.I
        rules, negative = unaffected(u, stratum, self.rules)
        inside = u.memory.known(stratum).inside
        J, new = engine.none(), engine.collect(N)
        guard = I - Ds - u.E

        def following(S: FactSet) -> FactSet:
            # Ds - new is from earlier: an instance that has a fact of it was considered then.
            within = Split(inside, I - (Ds - new), I - u.A)
            F = engine.derive(rules, touching=S, within=within, negative=negative, guard=guard)
            F -= engine.positive(engine.nonrecursive, F)
            return F

        while new:
            u.round()
            u.deletes(len(Ds) + expected(u, new, following))
            new = following(new)
            Ds |= new
            J |= new
        return J

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        """Those of Ds, which are deleted from I, that the module derives from what is left."""
        rules, negative = unaffected(u, stratum, self.rules)
        return u.engine.provable(rules, Ds, within=u.I - u.A, negative=negative)

    # What only modules with a state need.

    def confirm(self, u: Update, F: FactSet) -> None:
        """Facts of I have become certain, which the module may have derived itself."""

    def restore(self, u: Update, stratum: Stratum, rules: Sequence[Rule]) -> bool:
        """Build the state from the facts before the update, when only nonrecursive and generic
        `rules` of that time are known. False if the stratum must be recomputed for that."""
        return not self.stateful

    def settle(self, u: Update, stratum: Stratum, D: FactSet) -> None:
        """Exactly the facts D were deleted from I: bring the state up to date."""
        if not self.stateful:
            return
        engine, I = u.engine, u.I
        I |= D  # as when facts are overdeleted
        Ds = engine.collect(D)
        Ds |= self.delete(u, stratum, D, Ds)
        I -= Ds
        again = engine.collect(Ds - D)
        again -= self.reduce(u, stratum, Ds)
        I |= Ds - D
        self.add(u, again)


def uncertain(u: Update, facts: FactSet) -> FactSet:
    """Those of the facts that are neither explicit nor derived by nonrecursive rules."""
    F = u.engine.collect(facts - u.E)
    F -= u.engine.positive(u.engine.nonrecursive, F)
    return F


def chosen(modules: bool | Sequence[type[Module]]) -> ModuleKinds:
    """The classes that a user lists, checked."""
    if isinstance(modules, bool):
        return modules
    for kind in modules:
        if not isinstance(kind, type) or not issubclass(kind, Module):
            raise TidelogError(
                f"error: expected classes of modules, got {kind!r}\n"
                "    derive them from tidelog.modules.Module"
            )
    return tuple(modules)


@dataclass(frozen=True, slots=True)
class Claim:
    """Rules that a class of modules takes over."""

    kind: type[Module]
    rules: tuple[Rule, ...]


def claims(
    rules: Sequence[Rule], kinds: Sequence[type[Module]]
) -> tuple[list[Claim], tuple[Rule, ...]]:
    """What the classes claim of recursive rules, the first one first, and the rules left."""
    found: list[Claim] = []
    for kind in kinds:
        found += (Claim(kind, tuple(mine)) for mine in kind.matches(rules) if mine)
        # By identity: hashing every rule of a large stratum takes longer than all the rest.
        taken = {id(rule) for claim in found for rule in claim.rules}
        rules = [rule for rule in rules if id(rule) not in taken]
    return found, tuple(rules)


def apart(modules: Iterable[Module], inside: frozenset[str]) -> list[list[Module]]:
    """The modules in groups in which none reads or derives a relation of another: one set can
    hold what all of a group have derived themselves."""
    groups: list[tuple[set[str], list[Module]]] = []
    for module in modules:
        names = {name for rule in module.rules for name, _ in rule.reads()} & inside
        names.update(rule.head.relation for rule in module.rules)
        for taken, group in groups:
            if taken.isdisjoint(names):
                taken |= names
                group.append(module)
                break
        else:
            groups.append((names, [module]))
    return [group for _, group in groups]


class ModuleGroup(Module):
    """Modules with no relation in common, as one."""

    def __init__(self, each: Sequence[Module]) -> None:
        super().__init__(tuple(rule for module in each for rule in module.rules))
        self.each = each
        self.stateful = each[0].stateful

    def add(self, c: Context, N: FactSet) -> FactSet:
        return self._all(c, lambda module: module.add(c, N))

    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return self._all(u, lambda module: module.diff(u, stratum, loses))

    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        return self._all(u, lambda module: module.delete(u, stratum, N, Ds))

    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        return self._all(u, lambda module: module.reduce(u, stratum, Ds))

    def settle(self, u: Update, stratum: Stratum, D: FactSet) -> None:
        for module in self.each:
            module.settle(u, stratum, D)

    def confirm(self, u: Update, F: FactSet) -> None:
        for module in self.each:
            module.confirm(u, F)

    def _all(self, c: Context, does: Callable[[Module], FactSet]) -> FactSet:
        if len(self.each) == 1:
            return does(self.each[0])
        J = c.engine.none()
        for module in self.each:
            J |= does(module)
        return J


def parts(
    modules: Sequence[Module], generic: tuple[Rule, ...], inside: frozenset[str]
) -> list[Module]:
    """The modules of a stratum in as few groups as can be, and the other rules as one module."""
    found: list[Module] = []
    for stateful in (True, False):
        mine = [module for module in modules if module.stateful == stateful]
        found += map(ModuleGroup, apart(mine, inside))
    return [*found, Module(generic)] if generic else found
