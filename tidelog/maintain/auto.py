"""Auto: for each stratum and update the way that should be cheapest there.

Without recursion one step does it, by derivation counters where they pay; closures have modules;
and where nothing is lost, insertion does it. Otherwise what follows from the change is found by
`aged`, by `dred` while the ages of facts are not known, or by counters (`dredc`) where that has
turned out to be quicker.
Evaluation from scratch is better where the change reaches most of the stratum: it is chosen
where it took less before, and when overdeletion takes too long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelog.maintain import aged, bf, counting, dred, dredc, modular, recompute
from tidelog.maintain.costs import Costs
from tidelog.maintain.counters import recount, split
from tidelog.maintain.memory import Kept
from tidelog.maintain.seam import FactSet
from tidelog.maintain.steps import kept, losing
from tidelog.maintain.update import Spent, Update
from tidelog.plan.closures import Closure
from tidelog.program.rules import Rule, Stratum

SMALL = 4_000  # facts of a stratum that is tried from scratch just to know
BULK = 500  # facts that change: closures may become modules
COUNT = 0.5  # of what recomputing takes: so long it takes to count all derivations
MUCH = 16  # times what changes, where that is more than all facts
LONGER = 4  # times as long plans can wait where so much changes
QUICK = 0.001  # seconds: they are counted for less at once, where there is no recursion
A_FACT = 1e-7  # seconds that it takes for each fact that rules read, where there is no recursion
TINY = 500  # facts that its rules read and derive: plans for following deletions can wait


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    costs = u.memory.costs(stratum)
    if modular.is_reformed(u, stratum, gone, come):
        recompute.maintain(u, stratum, gone, come)
        u.work.why = modular.OTHERS
        return
    deletes = loses(u, stratum, gone)
    facts = len(u.D) + len(u.A) + len(u.X)
    waits = deletes and costs.waits(facts, lambda: plans(u, stratum, facts))
    counts = deletes and not waits and begins_to_count(u, stratum, costs, facts)
    if counts:
        count(u, stratum, costs, gone, come)
    began = u.clock()
    if (
        waits
        or is_bulk(u, stratum, facts)
        or (not counts and is_better_from_scratch(u, stratum, costs, deletes, facts))
    ):
        recompute.maintain(u, stratum, gone, come)
        costs.recomputed(u.clock() - began, deletes)
        u.work.why = "quicker from scratch"
        return
    follow(u, stratum, gone, come)
    costs.followed(deletes, facts, u.clock() - began)


def is_better_from_scratch(
    u: Update, stratum: Stratum, costs: Costs, deletes: bool, facts: int
) -> bool:
    counted = u.memory.has(counters(stratum), stratum)
    return costs.from_scratch(deletes, facts, counted, lambda: is_small(u, stratum))


def is_small(u: Update, stratum: Stratum) -> bool:
    return sum(map(u.engine.size, stratum.relations)) <= SMALL


def is_bulk(u: Update, stratum: Stratum, facts: int) -> bool:
    """Do so many facts come or go that closures could become modules by it?"""
    if facts < BULK or u.memory.had_modules(stratum) or not modular.closures(u, stratum):
        return False
    read = tuple(u.memory.known(stratum).read)
    mine = sum(len(u.engine.collect(changed, read)) for changed in (u.D, u.A, u.X))
    return mine >= BULK and 4 * mine > sum(map(u.engine.size, read))


def plans(u: Update, stratum: Stratum, facts: int) -> int:
    """Plans that following a deletion may need, where evaluation from scratch takes less."""
    known = u.memory.known(stratum)
    most, times = (SMALL, LONGER) if is_much(u, facts) else (TINY, 1)
    return times * len(known.rules) if sum(map(u.engine.size, known.read)) <= most else 0


def is_much(u: Update, facts: int) -> bool:
    """Does so much change that recomputing may well be best?"""
    return MUCH * facts > len(u.I)


def follow(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """Maintain the stratum by what follows from the change, unless that takes too long."""
    if not stratum.recursive:
        if u.memory.has("nonrecursive", stratum):
            counting.maintain(u, stratum, gone, come)
            u.work.why = "no recursion, and derivations are counted"
        else:
            began = u.clock()
            bf.maintain(u, stratum, gone, come)
            u.work.why = "no recursion"
            if loses(u, stratum, gone):
                u.memory.costs(stratum).searched(u.clock() - began)
        return
    if u.memory.had_modules(stratum) and (found := modular.closures(u, stratum)):
        if not by_modules(u, stratum, found, gone, come):
            from_scratch_after_all(u, stratum, gone, come)
        return
    if keeps_counters(u, stratum) and by_counters(u, stratum, gone, come):
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
        u.memory.costs(stratum).searched(u.clock() - began)
        return
    N -= N
    from_scratch_after_all(u, stratum, gone, come)


def from_scratch_after_all(
    u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]
) -> None:
    """A search was given up."""
    given_up = u.work.algorithm
    began = u.clock()
    recompute.maintain(u, stratum, gone, come)
    u.memory.costs(stratum).recomputed(u.clock() - began, deletes=True)
    u.work.why = f"{given_up} takes longer"


def by_modules(
    u: Update,
    stratum: Stratum,
    found: Sequence[Closure],
    gone: Sequence[Rule],
    come: Sequence[Rule],
) -> bool:
    """Maintain the stratum by its modules. False, and its facts are as they were, where other
    recursive rules lead that far that it takes longer than recomputing did."""
    costs = u.memory.costs(stratum)
    if not modular.is_exact(u, stratum):
        u.deadline = u.clock() + max(costs.recompute, costs.patience(plans=len(stratum.rules)))
    try:
        modular.by_modules(u, stratum, found, gone, come)
    except Spent:
        return False
    finally:
        u.deadline = math.inf
    u.work.why = u.work.why or "closures have their own algorithm"
    return True


def loses(u: Update, stratum: Stratum, gone: Sequence[Rule]) -> bool:
    """May the change take facts from the stratum, even if it negates nothing?"""
    return bool(u.D) or bool(gone) or (u.gives(stratum) and u.loses)


def begins_to_count(u: Update, stratum: Stratum, costs: Costs, facts: int) -> bool:
    """Should derivations be counted from this deletion on? Counters tell at once whether a fact
    has a derivation left, and cost a little with every change. So they are counted when deletions
    have taken as long as that takes; not where so much changes that recomputing may be best."""
    if costs.counts is not None or u.memory.has(counters(stratum), stratum):
        return False
    if is_much(u, facts):
        return False
    if stratum.recursive:
        if u.memory.had_modules(stratum) and modular.closures(u, stratum):
            return False
        counting = COUNT * costs.recompute
        # What such a deletion takes without counters must be known, unless a mistake costs little.
        return costs.due(counting) and (counting < QUICK or costs.knows_deletions(facts))
    counting = A_FACT * sum(map(u.engine.size, u.memory.known(stratum).read))
    return counting < QUICK or costs.due(counting)


def keeps_counters(u: Update, stratum: Stratum) -> bool:
    """Are there counters, and have they not turned out to be slower?"""
    return u.memory.has("recursive", stratum) and u.memory.costs(stratum).counts is not False


def counters(stratum: Stratum) -> Kept:
    """Which of the counters tell that those of a stratum are kept."""
    return "recursive" if stratum.recursive else "nonrecursive"


def count(
    u: Update, stratum: Stratum, costs: Costs, gone: Sequence[Rule], come: Sequence[Rule]
) -> None:
    """Count all derivations, as they were before the update."""
    began = u.clock()
    costs.begin_to_count()
    (gone_nr, gone_r), (come_nr, come_r) = split(stratum, gone), split(stratum, come)
    recount(u, stratum, "nonrecursive", (*kept(stratum.nonrecursive, come_nr), *gone_nr))
    if stratum.recursive:
        recount(u, stratum, "recursive", (*kept(stratum.recursive, come_r), *gone_r))
        u.memory.keep_ages(stratum, "nonrecursive", "recursive")
    else:
        u.memory.keep(stratum, "nonrecursive")
    u.lasting += u.clock() - began


def by_counters(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> bool:
    """Maintain the stratum by its derivation counters. False, and nothing is changed, where that
    takes too long."""
    costs, facts = u.memory.costs(stratum), len(u.D) + len(u.A) + len(u.X)
    began = u.clock()
    u.deadline = began + costs.patience_with_counters(facts, plans=len(stratum.rules))
    try:
        dredc.maintain(u, stratum, gone, come)
    except Spent:
        costs.counts = False
        u.memory.keep_ages(stratum)
        return False
    finally:
        u.deadline = math.inf
    if loses(u, stratum, gone):
        costs.counted(facts, u.clock() - began)
    u.work.why = "derivations are counted"
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
