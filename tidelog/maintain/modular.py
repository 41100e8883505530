"""DRed^c-Mod: strata by modules (Hu, Motik and Horrocks 2019, Algorithm 3).

Where all recursive rules of a stratum are one closure, its external facts are those that are
explicit or that nonrecursive rules derive: the closure is brought up to date with them, and
nothing is overdeleted. Otherwise modules take turns as in the paper. Departures: derivations lost
and gained are counted before overdeletion, as in `dredc`; a stratum whose recursive rules change
is recomputed, because that may change its modules.

# C_nr, Ds, N as in `dredc`   G facts that became explicit or gained a nonrecursive derivation
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelog.engine import FactSet
from tidelog.maintain import bf, bfc, closure_seeds, dredc, mat_mod, recompute
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.modules import Closed, Closures, Module, Seminaive, build
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gaining, kept, lost
from tidelog.maintain.update import Update
from tidelog.plan.closures import Closure, paired
from tidelog.program.rules import Rule, Stratum

REFORMED = "the modules have changed"
# Lower facts that were inserted, and insertions, whose instances need not be known yet
# (docs/decisions/014-closure-modules.md).
PENDING, TIMES = 2048, 32


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """DRed^c-Mod."""
    found = closures(u, stratum)
    if found:
        by_modules(u, stratum, found, removed, added)
    elif dissolves(u, removed):
        u.work.algorithm = "dredc-mod"
        begin_again(u, stratum)
    else:
        dredc.maintain(u, stratum, removed, added)


def by_modules(
    u: Update,
    stratum: Stratum,
    found: Sequence[Closure],
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """The same for a stratum that has closures."""
    u.work.algorithm = "dredc-mod"
    if reforms(stratum, found, removed, added):
        begin_again(u, stratum)
    elif is_exact(u, stratum):
        exact(u, stratum, removed, added)
    else:
        in_turns(u, stratum, removed, added)


def maintain_bf(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> None:
    """B/F^c-Mod, which the paper leaves open: a fact is proved without chaining if the closure of
    the facts that need no recursion has it."""
    found = closures(u, stratum)
    if not found and dissolves(u, removed):
        begin_again(u, stratum)
    elif not found or not (is_exact(u, stratum) or reforms(stratum, found, removed, added)):
        with_proofs(u, stratum, removed, added, found)
        return
    else:
        by_modules(u, stratum, found, removed, added)
    u.work.algorithm = "bfc-mod"


def is_reformed(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """Do modules form, change or dissolve by the removed and added rules?"""
    if not (removed or added):
        return False
    found = closures(u, stratum)
    return reforms(stratum, found, removed, added) if found else dissolves(u, removed)


def reforms(
    stratum: Stratum, found: Sequence[Closure], removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """May the removed and added rules change the modules, or the kinds of external facts?"""
    linear = found[0].base is not None
    return any(rules and (linear or split(stratum, rules)[1]) for rules in (removed, added))


def dissolves(u: Update, removed: Sequence[Rule]) -> bool:
    """Was a removed rule recursive, in a stratum that had modules? Without them, following what it
    derived could take long."""
    return any(
        name in u.memory.had_in(rule.head.relation) for rule in removed for name, _ in rule.reads()
    )


def begin_again(u: Update, stratum: Stratum) -> None:
    """Recompute the stratum, by the modules that it has now."""
    named = u.work.algorithm
    if found := closures(u, stratum):
        taken = u.engine.take(stratum.relations)
        mat_mod.close(u.engine, u.memory, stratum, found, u.E, u.I, u.watch)
        u.note("apply")
        u.net(*u.engine.compare(taken))
    else:
        recompute.maintain(u, stratum, (), ())
    u.work.algorithm, u.work.why = named, REFORMED


def closures(u: Update, stratum: Stratum) -> tuple[Closure, ...]:
    """The stratum's closures that can be modules now."""
    return mat_mod.usable(u.engine, u.memory, stratum, u.E, u.touches(stratum))


def is_exact(u: Update, stratum: Stratum) -> bool:
    return not u.memory.once(paired, stratum).generic


def states(
    u: Update, stratum: Stratum, rules: Sequence[Rule], complete: bool = True
) -> list[Closed]:
    """The stratum's closures, built from the old state if they are not kept; `rules` are those that
    derived external facts in it. `complete` ones have all of these."""
    if not u.memory.has("modules", stratum):
        found = [Closed(closure, u.watch) for closure in closures(u, stratum)]
        build(u.engine, found, rules, u.change.explicit_before(u.E), u.old)
        u.memory.closed[stratum.relations] = found
    known: list[Closed] = u.memory.closed[stratum.relations]
    for closed in known:
        closed.watch = u.watch
        if complete and closed.pending:
            P = u.engine.none()
            for _, saved in closed.pending:
                P |= u.engine.hold(saved)
            closed.insert(u.engine, u.engine.derive(rules, touching=P, within=u.old))
            closed.pending.clear()
    return known


def of_certain(
    u: Update, stratum: Stratum, found: Sequence[Closure], rules: Sequence[Rule]
) -> Closures:
    """The stratum's closures of certain facts, built from the old state if they are not kept."""
    if not u.memory.has("certain", stratum):
        each = [Closed(closure, u.watch) for closure in found]
        build(u.engine, each, rules, u.change.explicit_before(u.E), u.old)
        u.memory.certain[stratum.relations] = each
    known: list[Closed] = u.memory.certain[stratum.relations]
    for closed in known:
        closed.watch = u.watch
    return Closures(known)


def may_postpone(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """May the search for some external facts wait? If nothing is deleted, external facts that the
    closure has already change nothing in it: they need not be known before the next deletion."""
    if not stratum.nonrecursive or removed or added or u.D or u.marks is not None:
        return False
    if u.memory.known(stratum).complete or (u.touches(stratum) and u.loses):
        return False
    if not u.memory.has("modules", stratum):
        return False
    closed: Closed = u.memory.closed[stratum.relations][0]
    if closed.connects:
        return True
    return len(closed.pending) < TIMES and sum(n for n, _ in closed.pending) + len(u.A) <= PENDING


def exact(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """Follow what the external facts lose and gain."""
    engine, I = u.engine, u.I
    postpones = may_postpone(u, stratum, removed, added)
    (closed,) = states(
        u, stratum, (*kept(stratum.nonrecursive, added), *removed), complete=not postpones
    )
    u.memory.keep(stratum, "modules")
    u.note("build")
    if closed.connects and not postpones:
        u.glance()
        began = u.clock()
        X = closure_seeds.external(engine, u.memory, stratum, u.E, I, u.watch)
        u.lasting += u.clock() - began
        A, D = closed.become(engine, X)
    elif closed.closure.base is not None:
        A, D = closed.insert(engine, u.A), closed.remove(engine, u.D)
    elif not (stratum.nonrecursive or removed or added or u.marks or closed.closure.inverse):
        # Only explicit facts are external, and they need not be collected.
        A = engine.none() if u.only_deletes else closed.insert(engine, u.inserted)
        D = closed.remove(engine, u.deleted) if u.loses else engine.none()
    elif postpones:
        closed.postpone(engine, engine.collect(u.A, tuple(u.memory.known(stratum).read)))
        G = engine.derive(stratum.nonrecursive, touching=u.A, within=I, guard=~I)
        if u.touches(stratum):
            G |= u.explicit_inserted(stratum)
        A, D = closed.insert(engine, G) if G else G, engine.none()
    else:
        N, G = external(u, stratum, removed, added)
        A = closed.insert(engine, G) if G else engine.none()
        N -= closed.both(engine, G)
        D = closed.remove(engine, unsupported(u, stratum, closed, N)) if N else engine.none()
    u.note("closure")
    if D and A:
        both = engine.collect(D & A)
        D -= both
        A -= both
    I -= D
    I |= A
    u.net(D, A)


def unsupported(u: Update, stratum: Stratum, closed: Closed, N: FactSet) -> FactSet:
    """Those of N, facts of the closure and its inverse, that have ceased to be external."""
    engine = u.engine
    N = closed.both(engine, N)
    N -= closed.both(engine, engine.collect(N & u.E)) if closed.closure.inverse else u.E
    if N and stratum.nonrecursive:
        N -= closed.both(engine, engine.provable(stratum.nonrecursive, N, within=u.I))
    return N


def external(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule], count: bool = False
) -> tuple[FactSet, FactSet]:
    """Facts that ceased to be explicit or lost a nonrecursive derivation, and those that became
    explicit or gained one, whether they are in I or not."""
    if not (u.D or u.A or removed or added or u.marks):
        return u.explicit_deleted(stratum), u.explicit_inserted(stratum)
    engine, C = u.engine, u.engine.nonrecursive if count else None
    rules = kept(stratum.nonrecursive, added)
    N = lost(u, stratum, rules, removed, C)
    if rules and (u.A or (u.D and u.memory.known(stratum).complete)):
        G = engine.derive(rules, touching=u.A, touching_negated=u.D, within=u.I, add_to=C)
    else:
        G = engine.none()
    if added:
        G |= engine.apply(added, within=u.I, add_to=C)
    if u.touches(stratum):
        N |= u.explicit_deleted(stratum)
        G |= u.explicit_inserted(stratum)
    return N, G


def in_turns(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """Algorithm 3, for one stratum."""
    engine, I = u.engine, u.I
    rules = u.memory.once(paired, stratum).generic
    before = kept(stratum.nonrecursive, added)
    recount(u, stratum, "nonrecursive", (*before, *removed), u.old)
    closed, others = Closures(states(u, stratum, (*before, *removed, *rules))), Seminaive(rules)
    u.memory.keep(stratum, "nonrecursive", "modules")
    u.note("build")
    N, G = external(u, stratum, removed, added, count=True)
    u.note("counts")
    N |= others.diff(u, stratum, loses=True)
    N -= u.E
    N -= engine.positive(engine.nonrecursive, N)
    Ds = overdelete(u, stratum, (closed, others), N)
    u.deadline = math.inf  # facts change from here on
    I -= Ds
    own = closed.red(u, stratum, Ds)
    N = others.red(u, stratum, Ds)
    N |= Ds & u.E
    u.note("DR4")
    insert(u, stratum, (closed, others), G, N, own, Ds)


def insert(
    u: Update,
    stratum: Stratum,
    parts: tuple[Closures, Seminaive],
    G: FactSet,
    N: FactSet,
    own: FactSet,
    D: FactSet,
) -> None:
    """Insert N, G, `own` by the closures, and what recursive rules gain by lower facts, and close I
    by modules (lines 32 to 40). D was deleted before."""
    engine, I, (closed, others) = u.engine, u.I, parts
    N |= G
    N |= others.diff(u, stratum, loses=False)
    # Closures must know all certain facts, including those in I already.
    own |= closed.insert(engine, G)
    N |= own
    N -= I
    I |= N
    inserted = engine.collect(N)
    mat_mod.insert(engine, parts, [engine.collect(N - own), N], I, u.watch, inserted)
    u.note("DR5")
    inserted -= D
    D -= I
    u.net(D, inserted)


def overdelete(u: Update, stratum: Stratum, parts: Sequence[Module], N: FactSet) -> FactSet:
    """Ds: N and what follows from it, by modules in turns (lines 26 to 30)."""
    engine = u.engine
    Ds = engine.collect(N)

    mat_mod.take_turns(
        *(engine, parts, [engine.collect(N), N], (Ds,)),
        lambda part, N: part.delete(u, stratum, N, Ds),
    )
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds


def with_proofs(
    u: Update,
    stratum: Stratum,
    removed: Sequence[Rule],
    added: Sequence[Rule],
    found: Sequence[Closure],
) -> None:
    """B/F^c, where closures of certain facts prove what they have."""
    (removed_nr, removed_r), (added_nr, added_r) = split(stratum, removed), split(stratum, added)
    if not found or removed_r or added_r:
        bfc.maintain(u, stratum, removed, added)
        return
    u.work.algorithm = "bfc-mod"
    engine, I, C_nr = u.engine, u.I, u.engine.nonrecursive
    rules = u.memory.once(paired, stratum).generic
    before = kept(stratum.nonrecursive, added_nr)
    recount(u, stratum, "nonrecursive", (*before, *removed_nr), u.old)
    each, others = states(u, stratum, (*before, *removed_nr, *rules)), Seminaive(rules)
    closed, certain = Closures(each), of_certain(u, stratum, found, (*before, *removed_nr))
    u.memory.keep(stratum, "nonrecursive", "modules", "certain")
    u.note("build")
    N, G = external(u, stratum, removed_nr, added_nr, count=True)
    certain.follow(engine, G, N - u.E - engine.positive(C_nr, N))
    u.note("counts")
    N |= others.diff(u, stratum, loses=True)

    def proved(F: FactSet) -> FactSet:
        P = engine.positive(C_nr, F)
        P |= certain.among(engine, F)
        return P

    D = bf.delete(u, stratum, N, stratum.recursive, bf.Check(u, stratum, proved))
    closed.lose(engine, D)
    insert(u, stratum, (closed, others), G, engine.none(), engine.none(), D)
