"""Auto: for each stratum and update, the algorithm that should be cheapest there.

Without recursion it is one step, by derivation counters where they pay; closures have modules;
and where nothing is lost, only insertion remains. Otherwise deletions are followed by `aged`; by
`bf` while the ages of facts are not known (by `dred` on engines that cannot check facts one by
one), or where `aged` took too long; or by counters (`dredc`) where that has proved quicker.
Evaluation from scratch is better where the change reaches most of the stratum: it is
chosen where it took less before, and when overdeletion takes too long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelog.engine import FactSet, Split
from tidelog.maintain import aged, bf, counting, dred, dredc, modular, recompute
from tidelog.maintain.costs import Costs
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.mat_mod import Division
from tidelog.maintain.memory import Kept
from tidelog.maintain.steps import kept, losing
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Spent, Update
from tidelog.program.rules import Rule, Stratum

# Derivations are counted where that has paid (docs/decisions/013-ages.md).
COUNT = 0.5  # counting all derivations takes this part of the seconds that recomputing takes
QUICK = 0.001  # seconds: counting that takes less begins at the first deletion
A_FACT = 1e-7  # seconds that counting takes for each fact read, without recursion
MUCH = 16  # a change of more than one in so many of all facts is large
# One in so many of a stratum's facts may be deleted before recomputing is quicker: in a chain of
# classes one in twelve, less what a search that is given up costs (bench/language/axioms.py).
PART = 16
# Chosen, not measured.
SMALL = 4_000  # facts of a stratum: up to here, recomputing may be tried to learn its cost
BULK = 500  # changed facts from which closures may become modules
LONGER = 4  # times as many plans may be put off where a change is large
LARGE = 4_000  # facts of a stratum: up to here, following a change is always quick
SAMPLE = 256  # facts of a relation that tell how many lose all derivations
CHECKED = 4  # one in so many may lose a derivation and have others
TINY = 500  # facts read and derived: up to here, plans for following deletions are put off


MOST = "many facts lose derivations"


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    costs = u.memory.costs(stratum)
    if modular.is_reformed(u, stratum, removed, added):
        recompute.maintain(u, stratum, removed, added)
        u.work.why = modular.REFORMED
        return
    if loses_most_inputs(u, stratum) or deletes_most(u, stratum, removed, added):
        recompute.maintain(u, stratum, removed, added)
        u.work.why = MOST
        return
    deletes = loses(u, stratum, removed)
    facts = len(u.D) + len(u.A) + len(u.X)
    waits = deletes and costs.waits(facts, lambda: plans(u, stratum, facts))
    counts = deletes and not waits and begins_to_count(u, stratum, costs, facts)
    if counts:
        count(u, stratum, costs, removed, added)
    began = u.clock()
    if (
        waits
        or is_bulk(u, stratum, facts)
        or (not counts and is_better_from_scratch(u, stratum, costs, deletes, facts))
    ):
        recompute.maintain(u, stratum, removed, added)
        costs.recomputed(u.clock() - began, deletes)
        u.work.why = "quicker from scratch"
        return
    follow(u, stratum, removed, added)
    costs.followed(deletes, facts, u.clock() - began)


def loses_most_inputs(u: Update, stratum: Stratum) -> bool:
    """Have the relations that it reads lost more facts than they have left? Then evaluation from
    scratch joins less than a search for what these facts derived."""
    if len(u.D) <= LARGE:
        return False
    read = [name for name in u.memory.known(stratum).read if name not in stratum.relations]
    return len(u.engine.collect(u.D, read)) > sum(map(u.engine.size, read))


def deletes_most(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """Do many facts lose all derivations at once, or one by a removed rule? A sample tells, where
    rules are removed or many lower facts change: to follow that begins with all instances
    lost."""
    if removed and not stratum.nonrecursive and not u.engine.collect(u.E, stratum.relations):
        return True  # no fact is left for the others to rest on
    size = sum(map(u.engine.size, stratum.relations))
    if size <= LARGE or not (removed or PART * (len(u.D) + len(u.A)) > size):
        return False
    known = u.memory.known(stratum)
    rules, negative = unaffected(u, stratum, kept(known.rules, added))
    within = Split(known.inside, u.I, u.I - u.A)
    lost = touched = 0.0
    for name in stratum.relations:
        S = u.engine.sample(u.I, name, SAMPLE)
        facts = u.engine.size(name) / max(1, len(S))  # that each of S stands for
        S -= u.E
        mine = [rule for rule in removed if rule.head.relation == name]
        if mine:
            touched += facts * len(u.engine.provable(mine, S, within=u.old))
        S -= u.engine.provable(rules, S, within=within, negative=negative)
        lost += facts * len(S)
    u.note("checks")
    return PART * lost > size or CHECKED * touched > size


def is_better_from_scratch(
    u: Update, stratum: Stratum, costs: Costs, deletes: bool, facts: int
) -> bool:
    counted = u.memory.has(counters(stratum), stratum)
    return costs.from_scratch(deletes, facts, counted, lambda: is_small(u, stratum))


def is_small(u: Update, stratum: Stratum) -> bool:
    return sum(map(u.engine.size, stratum.relations)) <= SMALL


def is_bulk(u: Update, stratum: Stratum, facts: int) -> bool:
    """Does the update insert or delete enough facts for closures to become modules?"""
    if facts < BULK or u.memory.had_modules(stratum) or not modular.modules(u, stratum):
        return False
    read = tuple(u.memory.known(stratum).read)
    mine = sum(len(u.engine.collect(changed, read)) for changed in (u.D, u.A, u.X))
    return mine >= BULK and 4 * mine > sum(map(u.engine.size, read))


def plans(u: Update, stratum: Stratum, facts: int) -> int:
    """The plans that following a deletion may need, where evaluation from scratch takes less."""
    known = u.memory.known(stratum)
    most, times = (SMALL, LONGER) if is_much(u, facts) else (TINY, 1)
    return times * len(known.rules) if sum(map(u.engine.size, known.read)) <= most else 0


def is_much(u: Update, facts: int) -> bool:
    """Is the change so large that recomputing may well be best?"""
    return MUCH * facts > len(u.I)


def follow(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """Maintain the stratum by following the change, unless that takes too long."""
    size = sum(map(u.engine.size, stratum.relations))
    u.most = size / PART if size > LARGE else math.inf
    try:
        search(u, stratum, removed, added)
    except Spent:
        u.most = math.inf
        from_scratch_after_all(u, stratum, removed, added)
    finally:
        u.most = math.inf


def search(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    if not stratum.recursive:
        if u.memory.has("nonrecursive", stratum):
            counting.maintain(u, stratum, removed, added)
            u.work.why = "no recursion, and derivations are counted"
        else:
            began = u.clock()
            bf.check(u, stratum, removed, added)
            if loses(u, stratum, removed):
                u.memory.costs(stratum).searched(u.clock() - began)
            u.work.why = "no recursion"
        return
    if u.memory.had_modules(stratum) and (found := modular.modules(u, stratum)):
        if not by_modules(u, stratum, found, removed, added):
            from_scratch_after_all(u, stratum, removed, added)
        return
    if keeps_counters(u, stratum) and by_counters(u, stratum, removed, added):
        return
    N = losing(u, stratum, removed, added)
    if not N:
        u.work.algorithm, u.work.why = "insert", "nothing is lost"
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, added, N, N)
        return
    began = u.clock()
    if seeks_proofs(u, stratum):
        if by_proofs(u, stratum, added, N):
            u.memory.costs(stratum).searched(u.clock() - began)
        else:
            N -= N
            from_scratch_after_all(u, stratum, removed, added)
        return
    dead = u.engine.none()
    D = overdelete(u, stratum, N, added, dead)
    if D is not None:
        u.memory.keep_ages(stratum)
        dred.insert(u, stratum, added, dred.rederive(u, stratum, D, added, dead), D)
        u.memory.costs(stratum).searched(u.clock() - began)
        return
    N -= N
    from_scratch_after_all(u, stratum, removed, added)


def from_scratch_after_all(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> None:
    """Recompute, because a search was abandoned."""
    given_up = u.work.algorithm
    began = u.clock()
    recompute.maintain(u, stratum, removed, added)
    u.memory.costs(stratum).recomputed(u.clock() - began, deletes=True)
    u.work.why = f"{given_up} takes longer"


def by_modules(
    u: Update,
    stratum: Stratum,
    found: Division,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> bool:
    """Maintain the stratum by its modules. False, with its facts unchanged, where other recursive
    rules reach so far that it takes longer than recomputing did."""
    costs = u.memory.costs(stratum)
    if found.closure is None:
        u.deadline = u.clock() + max(costs.recompute, costs.patience(plans=len(stratum.rules)))
    try:
        modular.by_modules(u, stratum, found, removed, added)
    except Spent:
        return False
    finally:
        u.deadline = math.inf
    u.work.why = u.work.why or "closures have their own algorithm"
    return True


def loses(u: Update, stratum: Stratum, removed: Sequence[Rule]) -> bool:
    """May the change delete facts of the stratum, even if this negates nothing?"""
    return bool(u.D) or bool(removed) or (u.touches(stratum) and u.loses)


def begins_to_count(u: Update, stratum: Stratum, costs: Costs, facts: int) -> bool:
    """Should derivations be counted from this deletion on? Counters tell at once whether a fact
    has a derivation left, and cost a little with every change. So counting begins when deletions
    have taken as long as it would; not where so much changes that recomputing may be best."""
    if costs.counts is not None or u.memory.has(counters(stratum), stratum):
        return False
    if is_much(u, facts):
        return False
    if stratum.recursive:
        if u.memory.had_modules(stratum) and modular.modules(u, stratum):
            return False
        counting = COUNT * costs.recompute
        # What such a deletion takes without counters must be known, unless a mistake costs little.
        return costs.due(counting) and (counting < QUICK or costs.knows_deletions(facts))
    counting = A_FACT * sum(map(u.engine.size, u.memory.known(stratum).read))
    return counting < QUICK or costs.due(counting)


def keeps_counters(u: Update, stratum: Stratum) -> bool:
    """Are there counters that have not proved slower?"""
    return u.memory.has("recursive", stratum) and u.memory.costs(stratum).counts is not False


def counters(stratum: Stratum) -> Kept:
    """The counters that are in step if the stratum's derivations are counted."""
    return "recursive" if stratum.recursive else "nonrecursive"


def count(
    u: Update, stratum: Stratum, costs: Costs, removed: Sequence[Rule], added: Sequence[Rule]
) -> None:
    """Count all derivations, as they were before the update."""
    began = u.clock()
    costs.begin_to_count()
    (removed_nr, removed_r), (added_nr, added_r) = split(stratum, removed), split(stratum, added)
    recount(u, stratum, "nonrecursive", (*kept(stratum.nonrecursive, added_nr), *removed_nr), u.old)
    if stratum.recursive:
        recount(u, stratum, "recursive", (*kept(stratum.recursive, added_r), *removed_r), u.old)
        u.memory.keep_ages(stratum, "nonrecursive", "recursive")
    else:
        u.memory.keep(stratum, "nonrecursive")
    u.lasting += u.clock() - began


def by_counters(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """Maintain the stratum by its derivation counters. False, with nothing changed, where that
    takes too long."""
    costs, facts = u.memory.costs(stratum), len(u.D) + len(u.A) + len(u.X)
    began = u.clock()
    u.deadline = began + costs.patience_with_counters(facts, plans=len(stratum.rules))
    try:
        dredc.maintain(u, stratum, removed, added)
    except Spent:
        costs.counts = False
        u.memory.keep_ages(stratum)
        return False
    finally:
        u.deadline = math.inf
    if loses(u, stratum, removed):
        costs.counted(facts, u.clock() - began)
    u.work.why = "derivations are counted"
    return True


def seeks_proofs(u: Update, stratum: Stratum) -> bool:
    """Is B/F best? It is where DRed would have to do without ages, but for engines without a search
    for single facts (docs/decisions/024-proofs-fact-by-fact.md)."""
    if u.engine.proofs is None:
        return False
    chosen = u.memory.costs(stratum).proofs
    return chosen is True or (chosen is None and not u.memory.has("ages", stratum))


def by_proofs(u: Update, stratum: Stratum, added: Sequence[Rule], N: FactSet) -> bool:
    """Maintain the stratum by B/F. False, with nothing changed, where that takes too long."""
    u.work.algorithm, u.work.why = "bf", "proofs are sought"
    costs = u.memory.costs(stratum)
    u.deadline = u.clock() + max(costs.recompute, costs.patience(plans=len(stratum.rules)))
    try:
        bf.follow(u, stratum, added, N)
    except Spent:
        costs.proofs = False
        return False
    finally:
        u.deadline = math.inf
    return True


def overdelete(
    u: Update, stratum: Stratum, N: FactSet, added: Sequence[Rule], dead: FactSet
) -> FactSet | None:
    """The facts to overdelete; None, with nothing changed, if they are not found in time."""
    known = u.memory.has("ages", stratum)
    u.work.algorithm = "aged" if known else "dred"
    u.work.why = "what is lost is followed"
    patience = u.memory.costs(stratum).patience(plans=len(stratum.rules))
    u.deadline = u.clock() + patience
    try:
        if known:
            return aged.overdelete(u, stratum, N, added, dead)
        return dred.overdelete(u, stratum, N, added)
    except Spent:
        costs = u.memory.costs(stratum)
        if known and costs.proofs is None:
            costs.proofs = True
        return None
    finally:
        u.deadline = math.inf
