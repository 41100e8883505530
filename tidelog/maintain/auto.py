"""Auto: for each stratum and update the way that should be cheapest there.

Without recursion one step does it, closures have modules, and where nothing is lost, insertion
does it. Otherwise what follows from the change is found by `aged`, or by `dred` while the ages of
facts are not known.
Evaluation from scratch is better where the change reaches most of the stratum: it is chosen
where it took less before, and when overdeletion takes too long.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from tidelog.maintain import aged, bf, counting, dred, modular, recompute
from tidelog.maintain.seam import FactSet
from tidelog.maintain.steps import losing
from tidelog.maintain.update import Spent, Update
from tidelog.program.rules import Rule, Stratum

SMALL = 4_000  # facts of a stratum that is tried from scratch just to know
BULK = 500  # facts that change: closures may become modules
TINY = 500  # facts that its rules read and derive: plans for following deletions can wait


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    costs = u.memory.costs(stratum)
    deletes = bool(u.D) or bool(gone) or (u.loses and u.gives(stratum))
    facts = len(u.D) + len(u.A) + len(u.X)
    began = time.thread_time()
    if is_bulk(u, stratum, facts) or costs.from_scratch(
        deletes, facts, lambda: is_small(u, stratum), lambda: plans(u, stratum)
    ):
        recompute.maintain(u, stratum, gone, come)
        costs.recomputed(time.thread_time() - began)
        u.work.why = "quicker from scratch"
        return
    follow(u, stratum, gone, come)
    costs.followed(deletes, facts, time.thread_time() - began)


def is_small(u: Update, stratum: Stratum) -> bool:
    return sum(map(u.engine.size, stratum.relations)) <= SMALL


def is_bulk(u: Update, stratum: Stratum, facts: int) -> bool:
    """Do so many facts come or go that closures could become modules by it?"""
    if facts < BULK or u.memory.had_modules(stratum) or not modular.closures(u, stratum):
        return False
    return 4 * facts > sum(map(u.engine.size, u.memory.known(stratum).read))


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
    if u.memory.had_modules(stratum) and modular.closures(u, stratum):
        modular.maintain(u, stratum, gone, come)
        u.work.why = u.work.why or "closures have their own algorithm"
        return
    N = losing(u, stratum, gone, come)
    if not N:
        u.work.algorithm, u.work.why = "insert", "nothing is lost"
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, come, N, N)
        return
    D = overdelete(u, stratum, N, come)
    if D is not None:
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, come, dred.rederive(u, stratum, D, come), D)
        return
    given_up = u.work.algorithm
    N -= N
    began = time.thread_time()
    recompute.maintain(u, stratum, gone, come)
    u.memory.costs(stratum).recomputed(time.thread_time() - began)
    u.work.why = f"{given_up} takes longer"


def overdelete(u: Update, stratum: Stratum, N: FactSet, come: Sequence[Rule]) -> FactSet | None:
    """What to delete; None, and nothing is changed, if that is not found in time."""
    known = u.memory.has("ages", stratum)
    u.work.algorithm = "aged" if known else "dred"
    search = aged.overdelete if known else dred.overdelete
    u.work.why = "what is lost is followed"
    patience = u.memory.costs(stratum).patience(plans=len(stratum.rules))
    u.deadline = time.thread_time() + patience
    try:
        return search(u, stratum, N, come)
    except Spent:
        return None
    finally:
        u.deadline = math.inf
