"""The check of contracts: faithful modules pass, and every broken one gives a small case."""

from __future__ import annotations

import pytest

from tests.modules.examples import (
    Each,
    Finished,
    Line43,
    Line50,
    Printed,
    PrintedSymmetric,
    Repaired,
)
from tidelog import ProgramError, TidelogError
from tidelog.engine import FactSet
from tidelog.modules import (
    BrokenContract,
    Context,
    Levels,
    Module,
    SymmetricTransitive,
    Transitive,
    Update,
    check,
    uncertain,
)
from tidelog.program.rules import Stratum

PAIRS = ".decl r(x: number, y: number)\n"
TRANSITIVE = PAIRS + "r(x, z) :- r(x, y), r(y, z)."
SYMMETRIC = TRANSITIVE + " r(x, y) :- r(y, x)."
LEVELS = ".decl r(who: symbol, level: number)\nr(x, n - 1) :- r(x, n), n > 1."
LOWER = PAIRS + ".decl e(x: number, y: number)\n.decl b(x: number)\n"
LOWER += "r(x, z) :- r(x, y), e(y, z), !b(z)."
COUNTED = PAIRS + ".decl e(x: number, y: number)\n"
COUNTED += "r(x, y) :- r(y, x), n = count : { e(x, _) }, n < 2."


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("module", "program"),
    [
        (Transitive, TRANSITIVE),
        (SymmetricTransitive, SYMMETRIC),
        (Levels, LEVELS),
        (Repaired, TRANSITIVE),
        (PrintedSymmetric, SYMMETRIC),
        *((Each, program) for program in (TRANSITIVE, SYMMETRIC, LEVELS, LOWER, COUNTED)),
        *((Finished, program) for program in (TRANSITIVE, LEVELS, LOWER, COUNTED)),
    ],
)
def test_faithful_modules_pass(module: type[Module], program: str) -> None:
    assert check(module, program, cases=80) > 1000


class ForgetsToAdd(Levels):
    def add(self, c: Context, N: FactSet) -> FactSet:
        super().add(c, N)
        return c.engine.none()


class DeletesNothing(Levels):
    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        super().delete(u, stratum, N, Ds)
        return u.engine.none()


class DeletesEverything(Levels):
    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        super().delete(u, stratum, N, Ds)
        return uncertain(u, u.engine.collect(u.I - Ds, (self.relation,)))


class DeletesCertain(Each):
    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        J = super().delete(u, stratum, N, Ds)
        J |= u.engine.derive(self.rules, touching=N, within=u.I, guard=u.E)
        return J


class ReducesEverything(Levels):
    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        return u.engine.collect(Ds)


class ReducesNothing(Each):
    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        return u.engine.none()


class IgnoresLowerFacts(Each):
    def diff(self, u: Update, stratum: Stratum, loses: bool) -> FactSet:
        return u.engine.none()


class FollowsNewLowerFacts(Each):
    def delete(self, u: Update, stratum: Stratum, N: FactSet, Ds: FactSet) -> FactSet:
        J = super().delete(u, stratum, N, Ds)
        J |= uncertain(u, u.engine.derive(self.rules, touching=N, within=u.I, guard=u.I - Ds))
        return J


class ReducesByNewLowerFacts(Each):
    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        return u.engine.provable(self.rules, Ds, within=u.I)


class IsNotTold(Levels):
    def confirm(self, u: Update, F: FactSet) -> None: ...


class Fails(Each):
    def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
        raise KeyError("r")


@pytest.mark.parametrize(
    ("module", "program", "said"),
    [
        (ForgetsToAdd, LEVELS, "add returns nothing; expected r("),
        (DeletesNothing, LEVELS, "delete lacks r("),
        (DeletesEverything, LEVELS, "delete returns, beyond what follows"),
        (DeletesCertain, TRANSITIVE, "delete returns, though they are certain, r("),
        (ReducesEverything, LEVELS, "reduce returns r("),
        (ReducesNothing, TRANSITIVE, "reduce lacks r("),
        (IgnoresLowerFacts, LOWER, "diff, of what is lost, returns nothing; expected r("),
        (FollowsNewLowerFacts, LOWER, "delete returns, beyond what follows"),
        (ReducesByNewLowerFacts, LOWER, "reduce returns, beyond what is left"),
        (IsNotTold, LEVELS, "reduce returns nothing; expected r("),
        (Fails, LEVELS, "raises KeyError: 'r'"),
    ],
)
def test_what_is_broken_is_found(module: type[Module], program: str, said: str) -> None:
    with pytest.raises(BrokenContract) as found:
        check(module, program)
    assert str(found.value).startswith(f"error: {module.__name__} {said}")
    assert sum(map(len, found.value.steps)) <= 6


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Printed, "add returns "),  # line 43
        (Line43, "reduce returns "),  # what line 52 adds to J stays in X
        (Line50, "reduce returns "),
    ],
)
def test_algorithms_4_to_6_as_printed_are_broken(module: type[Module], said: str) -> None:
    """See the errata in docs/papers.md; `Repaired`, above, has none of these errors."""
    with pytest.raises(BrokenContract) as found:
        check(module, TRANSITIVE)
    assert str(found.value).startswith(f"error: {module.__name__} {said}")
    assert sum(map(len, found.value.steps)) <= 4


def test_the_case_is_as_small_as_can_be() -> None:
    with pytest.raises(BrokenContract) as found:
        check(ForgetsToAdd, LEVELS)
    (((op, (relation, (_, level))),),) = found.value.steps
    assert op in ("state", "derive")
    assert (relation, level) == ("r", 2)


def test_values_may_be_given() -> None:
    program = ".type T = A {x: number} | B {}\n.decl r(x: T, y: T)\nr(x, z) :- r(x, y), r(y, z)."
    with pytest.raises(TidelogError, match="expected values of kind"):
        check(Transitive, program)


@pytest.mark.parametrize(
    ("module", "program", "error"),
    [
        (Transitive, LEVELS, "error: Transitive matches no recursive rules of the program"),
        (Levels, LEVELS.replace("n - 1", "n - 2"), "error: Levels matches no recursive rules"),
    ],
)
def test_a_module_without_rules_is_refused(module: type[Module], program: str, error: str) -> None:
    with pytest.raises(TidelogError, match=error):
        check(module, program)


def test_the_program_must_be_right() -> None:
    with pytest.raises(ProgramError):
        check(Transitive, "r(x) :- s(y).")
