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
from tidelog.maintain.closure_modules import Closed, closed
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.mat_mod import Division
from tidelog.maintain.module import Module, uncertain
from tidelog.maintain.steps import kept, lost
from tidelog.maintain.update import Update
from tidelog.plan.closures import Closure
from tidelog.program.rules import Rule, Stratum

REFORMED = "the modules have changed"
# Insertions whose instances may stay unknown until the next deletion, which then searches for all
# of them (docs/decisions/014-closure-modules.md).
PENDING_FACTS = 2048  # lower facts
PENDING_UPDATES = 32


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    """DRed^c-Mod."""
    found = modules(u, stratum)
    if found:
        by_modules(u, stratum, found, removed, added)
    elif dissolves(u, removed):
        begin_again(u, stratum)
    else:
        dredc.maintain(u, stratum, removed, added)


def by_modules(
    u: Update,
    stratum: Stratum,
    found: Division,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """The same for a stratum that has modules."""
    u.work.algorithm = "dredc-mod"
    if reforms(stratum, found, removed, added):
        begin_again(u, stratum)
    elif found.closure is not None:
        exact(u, stratum, found.closure, removed, added)
    else:
        in_turns(u, stratum, found, removed, added)


def maintain_bf(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> None:
    """B/F^c-Mod, which the paper leaves open: a fact is proved without chaining if the closure of
    the facts that need no recursion has it, and facts are inserted through modules."""
    found = modules(u, stratum)
    if not found and not dissolves(u, removed):
        bfc.maintain(u, stratum, removed, added)
        return
    u.work.algorithm = "bfc-mod"
    if not found:
        begin_again(u, stratum)
    elif found.closure is not None or reforms(stratum, found, removed, added):
        by_modules(u, stratum, found, removed, added)
    else:
        with_proofs(u, stratum, found, removed, added)
    if u.work.algorithm != "recompute":
        u.work.algorithm = "bfc-mod"


def is_reformed(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """Do modules form, change or dissolve by the removed and added rules?"""
    if not (removed or added):
        return False
    found = modules(u, stratum)
    return reforms(stratum, found, removed, added) if found else dissolves(u, removed)


def reforms(
    stratum: Stratum, found: Division, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """May the removed and added rules change the modules, or the kinds of external facts?"""
    linear = found.closure is not None and found.closure.base is not None
    return any(rules and (linear or split(stratum, rules)[1]) for rules in (removed, added))


def dissolves(u: Update, removed: Sequence[Rule]) -> bool:
    """Was a removed rule recursive, in a stratum that had modules? Without them, following what it
    derived could take long."""
    return any(
        name in u.memory.had_in(rule.head.relation) for rule in removed for name, _ in rule.reads()
    )


def begin_again(u: Update, stratum: Stratum) -> None:
    """Recompute the stratum, by the modules that it has now."""
    if found := modules(u, stratum):
        with u.anew(stratum):
            mat_mod.close(u.engine, u.memory, stratum, found, u.E, u.I, u.watch)
        u.work.algorithm, u.work.how = "recompute", "by modules"
    else:
        recompute.maintain(u, stratum, (), ())
    u.work.why = REFORMED


def modules(u: Update, stratum: Stratum) -> Division | None:
    """The modules that the stratum can have now."""
    return mat_mod.usable(u.engine, u.memory, stratum, u.E, u.touches(stratum))


def the_closure(
    u: Update, stratum: Stratum, closure: Closure, rules: Sequence[Rule], complete: bool
) -> Closed:
    """The stratum's closure, built from the old state if it is not kept; `rules` are those that
    derived external facts in it. A `complete` one has all of these."""
    if not u.memory.has("modules", stratum):
        made = closed(closure, u.watch)
        made.restore(u, stratum, rules)
        u.memory.closed[stratum.relations] = [made]
    (known,) = u.memory.closed[stratum.relations]
    found: Closed = known
    found.watch = u.watch
    if complete and found.pending:
        P = u.engine.none()
        for _, saved in found.pending:
            P |= u.engine.hold(saved)
        found.insert(u.engine, u.engine.derive(rules, touching=P, within=u.old))
        found.pending.clear()
    return found


def states(
    u: Update, stratum: Stratum, found: Division, before: Sequence[Rule]
) -> list[Module] | None:
    """The stratum's modules, with their states before the update; `before` are the nonrecursive
    rules of that time. None if a state is lost."""
    if not u.memory.has("modules", stratum):
        made = found.modules(u.watch)
        rules = (*before, *stratum.recursive)
        if not all(module.restore(u, stratum, rules) for module in made):
            return None
        u.memory.closed[stratum.relations] = made
    known: list[Module] = u.memory.closed[stratum.relations]
    for module in known:
        module.watch = u.watch
    return known


def of_certain(
    u: Update, stratum: Stratum, found: Division, before: Sequence[Rule]
) -> list[Closed]:
    """The closures of certain facts, built from the old state if they are not kept."""
    if not u.memory.has("certain", stratum):
        made = [module for module in found.modules(u.watch) if isinstance(module, Closed)]
        for each in made:
            each.restore(u, stratum, before)
        u.memory.certain[stratum.relations] = made
    known: list[Closed] = u.memory.certain[stratum.relations]
    for each in known:
        each.watch = u.watch
    return known


def may_postpone(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> bool:
    """May the search for some external facts wait? If nothing is deleted, external facts that the
    closure has already change nothing in it: they need not be known before the next deletion."""
    if not stratum.nonrecursive or removed or added or u.D:
        return False
    if u.memory.known(stratum).complete or (u.touches(stratum) and u.loses):
        return False
    if not u.memory.has("modules", stratum):
        return False
    known: Closed = u.memory.closed[stratum.relations][0]
    if known.connects:
        return True
    facts = sum(n for n, _ in known.pending) + len(u.A)
    return len(known.pending) < PENDING_UPDATES and facts <= PENDING_FACTS


def exact(
    u: Update,
    stratum: Stratum,
    closure: Closure,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """Follow what the external facts lose and gain."""
    u.work.how = "the closure alone"
    engine, I = u.engine, u.I
    postpones = may_postpone(u, stratum, removed, added)
    before = (*kept(stratum.nonrecursive, added), *removed)
    mine = the_closure(u, stratum, closure, before, complete=not postpones)
    u.memory.keep(stratum, "modules")
    u.note("build")
    if mine.connects and not postpones:
        began = u.clock()
        X = closure_seeds.external(engine, u.memory, stratum, closure, u.E, I, u.watch)
        u.lasting += u.clock() - began
        A, D = mine.become(engine, X)
    elif closure.base is not None:
        A, D = mine.insert(engine, u.A), mine.remove(engine, u.D)
    elif not (stratum.nonrecursive or removed or added or closure.inverse):
        # Only explicit facts are external, and they need not be collected.
        A = engine.none() if u.only_deletes else mine.insert(engine, u.inserted)
        D = mine.remove(engine, u.deleted) if u.loses else engine.none()
    elif postpones:
        mine.postpone(engine, engine.collect(u.A, tuple(u.memory.known(stratum).read)))
        G = engine.derive(stratum.nonrecursive, touching=u.A, within=I, guard=~I)
        if u.touches(stratum):
            G |= u.explicit_inserted(stratum)
        A, D = mine.insert(engine, G) if G else G, engine.none()
    else:
        N, G = external(u, stratum, removed, added)
        A = mine.insert(engine, G) if G else engine.none()
        N -= mine.both(engine, G)
        D = mine.remove(engine, unsupported(u, stratum, mine, N)) if N else engine.none()
    u.note("closure")
    if D and A:
        both = engine.collect(D & A)
        D -= both
        A -= both
    I -= D
    I |= A
    u.net(D, A)


def unsupported(u: Update, stratum: Stratum, mine: Closed, N: FactSet) -> FactSet:
    """Those of N, facts of the closure and its inverse, that have ceased to be external."""
    engine = u.engine
    N = mine.both(engine, N)
    N -= mine.both(engine, engine.collect(N & u.E)) if mine.closure.inverse else u.E
    if N and stratum.nonrecursive:
        N -= mine.both(engine, engine.provable(stratum.nonrecursive, N, within=u.I))
    return N


def external(
    u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule], count: bool = False
) -> tuple[FactSet, FactSet]:
    """Facts that ceased to be explicit or lost a nonrecursive derivation, and those that became
    explicit or gained one, whether they are in I or not."""
    if not (u.D or u.A or removed or added):
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


def in_turns(
    u: Update,
    stratum: Stratum,
    found: Division,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """Algorithm 3, for one stratum."""
    u.work.how = "modules in turns"
    engine, I = u.engine, u.I
    before = (*kept(stratum.nonrecursive, added), *removed)
    each = states(u, stratum, found, before)
    if each is None:
        begin_again(u, stratum)
        return
    recount(u, stratum, "nonrecursive", before, u.old)
    parts = found.parts(each, u.memory.known(stratum).inside)
    u.memory.keep(stratum, "nonrecursive", "modules")
    u.note("build")
    N, G = external(u, stratum, removed, added, count=True)
    confirm(u, parts, G)
    u.note("counts")
    for part in parts:
        N |= part.diff(u, stratum, loses=True)
    N -= u.E
    N -= engine.positive(engine.nonrecursive, N)
    Ds = overdelete(u, stratum, parts, N)
    u.deadline = u.most = math.inf  # facts change from here on
    I -= Ds
    N = engine.collect(Ds & u.E)
    own = []
    for part in parts:
        own.append(part.reduce(u, stratum, Ds))
        if not part.stateful:
            N |= own.pop()
    u.note("DR4")
    insert(u, stratum, parts, G, N, own, Ds)


def confirm(u: Update, parts: Sequence[Module], G: FactSet) -> None:
    """States must know all facts that are certain, including those in I already."""
    if known := u.engine.collect(G & u.I):
        for part in parts:
            part.confirm(u, known)


def overdelete(u: Update, stratum: Stratum, parts: Sequence[Module], N: FactSet) -> FactSet:
    """Ds: N and what follows from it, by modules in turns (lines 26 to 30)."""
    Ds = u.engine.collect(N)
    waiting = [u.engine.collect(N) for _ in parts[1:]]
    mat_mod.take_turns(
        *(u.engine, parts, [*waiting, N], (Ds,)),
        lambda part, N: part.delete(u, stratum, N, Ds),
    )
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds


def insert(
    u: Update,
    stratum: Stratum,
    parts: Sequence[Module],
    G: FactSet,
    N: FactSet,
    own: Sequence[FactSet],
    D: FactSet,
) -> None:
    """Insert N, G and what recursive rules gain by lower facts, and close I by modules (lines 32 to
    40). Stateful modules, which come first, have rederived `own`. D was deleted before."""
    engine, I = u.engine, u.I
    N |= G
    for part in parts[len(own) :]:
        N |= part.diff(u, stratum, loses=False)
    for mine in own:
        N |= mine
    N -= I
    I |= N
    for part in parts[: len(own)]:  # these do not see again what they have rederived
        N |= part.diff(u, stratum, loses=False)
    I |= N
    waiting = [engine.collect(N - mine) for mine in own]
    del own
    inserted = engine.collect(N)
    waiting += [engine.collect(N) for _ in parts[len(waiting) + 1 :]]
    if len(waiting) < len(parts):
        waiting.append(N)
    mat_mod.insert(u, parts, waiting, inserted)
    u.note("DR5")
    inserted -= D
    D -= I
    u.net(D, inserted)


def with_proofs(
    u: Update,
    stratum: Stratum,
    found: Division,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """B/F^c, where closures of certain facts prove what they have, and modules insert."""
    engine, C_nr = u.engine, u.engine.nonrecursive
    before = (*kept(stratum.nonrecursive, added), *removed)
    each = states(u, stratum, found, before)
    if each is None:
        begin_again(u, stratum)
        return
    recount(u, stratum, "nonrecursive", before, u.old)
    certain = of_certain(u, stratum, found, before)
    parts = found.parts(each, u.memory.known(stratum).inside)
    u.memory.keep(stratum, "nonrecursive", "modules", "certain")
    u.note("build")
    N, G = external(u, stratum, removed, added, count=True)
    for closure in certain:
        closure.remove(engine, uncertain(u, N))
        closure.insert(engine, G)
    confirm(u, parts, G)
    u.note("counts")
    for part in parts:
        N |= part.diff(u, stratum, loses=True)

    def proved(F: FactSet) -> FactSet:
        P = engine.positive(C_nr, F)
        for closure in certain:
            P |= closure.among(engine, F)
        return P

    D = bf.delete(u, stratum, N, stratum.recursive, bf.Check(u, stratum, proved))
    for part in parts:
        part.settle(u, stratum, D)
    insert(u, stratum, parts, G, engine.none(), [engine.none() for p in parts if p.stateful], D)
