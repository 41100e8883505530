"""Auto: for each stratum and update the algorithm that should be cheapest there.

Without recursion one step does it, and where nothing is lost, insertion. Otherwise it depends
on the data: DRed is quick where little follows from what goes, B/F where what goes has other
proofs, and evaluation from scratch where the change reaches most of the stratum. What each
took before, per fact that loses a derivation, says what it should take now. The search of
DRed and of B/F changes nothing before it ends: one that takes longer than the
others should is given up for the next. What is not chosen fades, and so is tried again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from tidelog.maintain import bf, counting, dred, recompute
from tidelog.maintain.memory import Costs
from tidelog.maintain.seam import FactSet
from tidelog.maintain.steps import kept, losing
from tidelog.maintain.update import Spent, Update
from tidelog.program.rules import Rule, Stratum

TRIAL = 0.01  # seconds for a search where nothing is known to compare it with
PATIENCE = 0.3  # the part of what the others should take that a search may take


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    if not stratum.recursive:
        if u.memory.has("nonrecursive", stratum):
            counting.maintain(u, stratum, gone, come)
            u.work.why = "no recursion, and derivations are counted"
        else:
            bf.maintain(u, stratum, gone, come)
            u.work.why = "no recursion"
        return
    N = losing(u, stratum, gone, come)
    if N:
        delete(u, stratum, N, gone, come)
    else:
        u.memory.keep(stratum)
        u.work.algorithm, u.work.why = "insert", "nothing is lost"
        dred.insert(u, stratum, come, N, u.engine.none())


def delete(
    u: Update, stratum: Stratum, N: FactSet, gone: Sequence[Rule], come: Sequence[Rule]
) -> None:
    costs, facts = u.memory.costs(stratum), len(N)
    left = expected(costs, facts)
    u.work.why = said(left)
    while True:
        algorithm = min(left, key=lambda name: left[name])
        budget = allowed(left, algorithm)
        del left[algorithm]
        began = time.thread_time()
        if algorithm == "recompute":
            N -= N
            recompute.maintain(u, stratum, gone, come)
            costs.recomputed(time.thread_time() - began)
            return
        u.work.algorithm = algorithm
        if search(u, stratum, N, come, budget):
            costs.maintained(algorithm, facts, time.thread_time() - began)
            for other in left:
                costs.fade(other)
            return
        costs.gave_up(algorithm, facts, time.thread_time() - began)
        u.work.why += f"; {algorithm} given up"


def expected(costs: Costs, facts: int) -> dict[str, float]:
    """Seconds that each should take: nothing where it is to be tried first, and no end where
    recomputing is the last resort."""
    recompute = math.inf if costs.recompute is None else costs.recompute
    searches = {name: facts * costs.per_fact.get(name, 0.0) for name in ("dred", "bf")}
    return {**searches, "recompute": recompute}


def allowed(left: dict[str, float], algorithm: str) -> float:
    """How long a search may take before the next is tried."""
    mine = left[algorithm]
    others = min(
        (time for name, time in left.items() if name != algorithm and time > 0), default=math.inf
    )
    if others == math.inf:
        return max(TRIAL, 4 * mine)
    return max(PATIENCE * others, 1.5 * mine)


def search(u: Update, stratum: Stratum, N: FactSet, come: Sequence[Rule], seconds: float) -> bool:
    """Maintain the stratum by the work's algorithm; False, and nothing is changed, if it has not
    found what to delete in time."""
    try:
        if u.work.algorithm == "dred":
            # The other half is for rederivation.
            u.deadline = time.thread_time() + seconds / 2
            D = dred.overdelete(u, stratum, N, come)
        else:
            u.deadline = time.thread_time() + seconds
            D = bf.delete(
                u,
                stratum,
                u.engine.collect(N),
                kept(stratum.recursive, come),
                lambda F: u.engine.provable(stratum.nonrecursive, F, within=u.I),
            )
    except Spent:
        return False
    finally:
        u.deadline = math.inf
    u.memory.keep(stratum)
    again = dred.rederive(u, stratum, D, come) if u.work.algorithm == "dred" else u.engine.none()
    dred.insert(u, stratum, come, again, D)
    return True


def said(expected: dict[str, float]) -> str:
    known = {name: time for name, time in expected.items() if 0 < time < math.inf}
    if not known:
        return "nothing is known of the stratum"
    return "expected: " + ", ".join(f"{name} {1000 * time:.1f} ms" for name, time in known.items())
