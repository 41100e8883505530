"""Auto: for each stratum and update the way that should be cheapest there.

Without recursion one step does it, closures have modules, and where nothing is lost, insertion
does it. Otherwise what follows from the change is found by `aged`, or by `dred` while the ages of
facts are not known.
Evaluation from scratch is better where the change reaches most of the stratum: it is chosen
where it took less before, and when overdeletion takes too long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelog.maintain import aged, bf, counting, dred, dredc, modular, recompute
from tidelog.maintain.counters import recount
from tidelog.maintain.seam import FactSet
from tidelog.maintain.steps import losing
from tidelog.maintain.update import Spent, Update
from tidelog.program.rules import Rule, Stratum

SMALL = 4_000  # facts of a stratum that is tried from scratch just to know
BULK = 500  # facts that change: closures may become modules
TINY = 500  # facts that its rules read and derive: plans for following deletions can wait


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    costs = u.memory.costs(stratum)
    deletes = bool(u.D) or bool(gone) or (u.gives(stratum) and u.loses)
    facts = len(u.D) + len(u.A) + len(u.X)
    began = u.clock()
    if is_bulk(u, stratum, facts) or costs.from_scratch(
        deletes, facts, lambda: is_small(u, stratum), lambda: plans(u, stratum)
    ):
        recompute.maintain(u, stratum, gone, come)
        costs.recomputed(u.clock() - began)
        u.work.why = "quicker from scratch"
        return
    follow(u, stratum, gone, come)
    costs.followed(deletes, facts, u.clock() - began)


def is_small(u: Update, stratum: Stratum) -> bool:
    return sum(map(u.engine.size, stratum.relations)) <= SMALL


def is_bulk(u: Update, stratum: Stratum, facts: int) -> bool:
    """Do so many facts come or go that closures could become modules by it?"""
    if facts < BULK or u.memory.had_modules(stratum) or not modular.closures(u, stratum):
        return False
    read = tuple(u.memory.known(stratum).read)
    mine = sum(len(u.engine.collect(changed, read)) for changed in (u.D, u.A, u.X))
    return mine >= BULK and 4 * mine > sum(map(u.engine.size, read))


def plans(u: Update, stratum: Stratum) -> int:
    """Plans that following a deletion may need, where evaluation from scratch takes less."""
    known = u.memory.known(stratum)
    return len(known.rules) if sum(map(u.engine.size, known.read)) <= TINY else 0


def follow(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """Maintain the stratum by what follows from the change, unless that takes too long."""
    if not stratum.recursive:
        if u.memory.has("nonrecursive", stratum):
            counting.maintain(u, stratum, gone, come)
            u.work.why = "no recursion, and derivations are counted"
        else:
            bf.maintain(u, stratum, gone, come)
            u.work.why = "no recursion"
        return
    if u.memory.had_modules(stratum) and (found := modular.closures(u, stratum)):
        modular.by_modules(u, stratum, found, gone, come)
        u.work.why = u.work.why or "closures have their own algorithm"
        return
    if count(u, stratum, gone, come):
        u.work.why = "derivations are counted"
        return
    N = losing(u, stratum, gone, come)
    if not N:
        u.work.algorithm, u.work.why = "insert", "nothing is lost"
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, come, N, N)
        return
    began = u.clock()
    dead = u.engine.none()
    D = overdelete(u, stratum, N, come, dead)
    if D is not None:
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, come, dred.rederive(u, stratum, D, come, dead), D)
        u.memory.costs(stratum).searched(len(u.D) + len(u.X), u.clock() - began)
        return
    given_up = u.work.algorithm
    N -= N
    began = u.clock()
    recompute.maintain(u, stratum, gone, come)
    u.memory.costs(stratum).recomputed(u.clock() - began)
    u.work.why = f"{given_up} takes longer"


def count(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> bool:
    """Maintain the stratum by its derivation counters, where that is worth while. False, and
    nothing is changed, where it is not."""
    costs, facts = u.memory.costs(stratum), len(u.D) + len(u.X)
    deletes = bool(u.D) or (u.gives(stratum) and u.loses)
    if gone or come or not costs.may_count(facts if deletes else 0):
        return False
    if not u.memory.has("recursive", stratum):
        began = u.clock()
        recount(u, stratum, "nonrecursive", stratum.nonrecursive)
        recount(u, stratum, "recursive", stratum.recursive)
        u.memory.keep_ages(stratum, "nonrecursive", "recursive")
        u.lasting += u.clock() - began
    began = u.clock()
    u.deadline = began + costs.counting(plans=len(stratum.rules))
    try:
        dredc.maintain(u, stratum, (), ())
    except Spent:
        costs.counts = False
        u.memory.keep_ages(stratum)
        return False
    finally:
        u.deadline = math.inf
    if deletes:
        costs.counted(facts, u.clock() - began)
    return True


def overdelete(
    u: Update, stratum: Stratum, N: FactSet, come: Sequence[Rule], dead: FactSet
) -> FactSet | None:
    """What to delete; None, and nothing is changed, if that is not found in time."""
    known = u.memory.has("ages", stratum)
    u.work.algorithm = "aged" if known else "dred"
    u.work.why = "what is lost is followed"
    patience = u.memory.costs(stratum).patience(plans=len(stratum.rules))
    u.deadline = u.clock() + patience
    try:
        if known:
            return aged.overdelete(u, stratum, N, come, dead)
        return dred.overdelete(u, stratum, N, come)
    except Spent:
        return None
    finally:
        u.deadline = math.inf
