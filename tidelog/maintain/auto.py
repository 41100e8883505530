"""Auto: for each stratum and update the algorithm that should be cheapest there.

Small strata may be quickest from scratch. Without recursion one step does it, and where nothing
is lost, insertion. Otherwise it depends on the data: DRed is quick where little follows from
what goes, B/F where what goes has other proofs, and evaluation from scratch where the change
reaches most of the stratum. `costs` knows what was quickest; a search that takes longer than
the others should is given up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from tidelog.maintain import bf, counting, dred, recompute
from tidelog.maintain.seam import FactSet
from tidelog.maintain.steps import kept, losing
from tidelog.maintain.update import Spent, Update
from tidelog.program.rules import Rule, Stratum

SMALL = 4_000  # facts of a stratum that is tried from scratch just to know


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    costs = u.memory.costs(stratum)
    deletes, facts = bool(u.D) or bool(gone), len(u.D) + len(u.A) + len(u.X)
    small = sum(map(u.engine.size, stratum.relations)) <= SMALL
    began = time.thread_time()
    if costs.from_scratch(deletes, facts, small):
        recompute.maintain(u, stratum, gone, come)
        costs.recomputed(time.thread_time() - began)
        u.work.why = "quicker from scratch"
        return
    follow(u, stratum, gone, come)
    costs.followed(deletes, facts, time.thread_time() - began)


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
    N = losing(u, stratum, gone, come)
    u.work.algorithm, u.work.why = "insert", "nothing is lost"
    if N:
        # Facts that are proved at once need no search, whatever the algorithm.
        u.work.algorithm, u.work.why = "bf", "what is lost has other proofs"
        N -= u.E
        if stratum.nonrecursive:
            N -= u.engine.provable(stratum.nonrecursive, N, within=u.I)
    if N:
        delete(u, stratum, N, gone, come)
    else:
        u.memory.keep(stratum)
        dred.insert(u, stratum, come, N, u.engine.none())


def delete(
    u: Update, stratum: Stratum, N: FactSet, gone: Sequence[Rule], come: Sequence[Rule]
) -> None:
    costs, facts = u.memory.costs(stratum), len(N)
    given_up: list[str] = []
    for u.work.algorithm in costs.searches(facts):
        began, budget = time.thread_time(), costs.budget(u.work.algorithm, facts)
        done = search(u, stratum, N, come, budget)
        seconds = time.thread_time() - began
        if done:
            costs.took(u.work.algorithm, facts, seconds)
            u.work.why = said("quickest so far", given_up)
            return
        costs.gave_up(u.work.algorithm, facts, seconds)
        given_up.append(u.work.algorithm)
    N -= N
    began = time.thread_time()
    recompute.maintain(u, stratum, gone, come)
    costs.recomputed(time.thread_time() - began)
    u.work.why = said("searches take longer", given_up)


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


def said(reason: str, given_up: Sequence[str]) -> str:
    return f"{reason}; {' and '.join(given_up)} given up" if given_up else reason
