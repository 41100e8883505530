"""Mat-Mod and DRed^c-Mod: strata by modules (Hu, Motik and Horrocks 2019, Algorithms 2 and 3).

Where all recursive rules of a stratum are one closure, its external facts are those that are
explicit or that nonrecursive rules derive: the closure is brought up to date with them, and
nothing is overdeleted. Otherwise modules take turns as in the paper. Departures: facts that go
and come are counted before overdeletion, as in `dredc`; a stratum whose recursive rules
change is computed anew, because its modules may be others then.

# C_nr, Ds, N as in `dredc`   G facts that are explicit now or gained a nonrecursive derivation
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelog.maintain import bf, bfc, dredc, feeding
from tidelog.maintain.counters import recount, split
from tidelog.maintain.modules import Closed, Closures, Module, Seminaive, build, edges
from tidelog.maintain.seam import Engine, FactSet, Ids
from tidelog.maintain.seminaive import Watch, saturate
from tidelog.maintain.steps import gaining, kept, lost
from tidelog.maintain.update import Memory, Update
from tidelog.plan.closures import Closure, paired
from tidelog.program.rules import Rule, Stratum

OTHERS = "the modules are others now"
OWED, TIMES = 2048, 32  # facts that have come, and times that some have: so much may be owed


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """DRed^c-Mod."""
    found = closures(u, stratum)
    if found:
        by_modules(u, stratum, found, gone, come)
    elif dissolves(u, gone):
        u.work.algorithm = "dredc-mod"
        anew(u, stratum)
    else:
        dredc.maintain(u, stratum, gone, come)


def by_modules(
    u: Update,
    stratum: Stratum,
    found: Sequence[Closure],
    gone: Sequence[Rule],
    come: Sequence[Rule],
) -> None:
    """The same for a stratum that has closures."""
    u.work.algorithm = "dredc-mod"
    if reforms(stratum, found, gone, come):
        anew(u, stratum)
    elif is_exact(u, stratum):
        exact(u, stratum, gone, come)
    else:
        in_turns(u, stratum, gone, come)


def maintain_bf(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """B/F^c-Mod, which the paper leaves open: a fact is proved without chaining if the closure of
    the facts that need no recursion has it."""
    found = closures(u, stratum)
    if not found and dissolves(u, gone):
        anew(u, stratum)
    elif not found or not (is_exact(u, stratum) or reforms(stratum, found, gone, come)):
        with_proofs(u, stratum, gone, come, found)
        return
    else:
        by_modules(u, stratum, found, gone, come)
    u.work.algorithm = "bfc-mod"


def is_reformed(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> bool:
    """Do modules form, change or dissolve by rules that come and go?"""
    if not (gone or come):
        return False
    found = closures(u, stratum)
    return reforms(stratum, found, gone, come) if found else dissolves(u, gone)


def reforms(
    stratum: Stratum, found: Sequence[Closure], gone: Sequence[Rule], come: Sequence[Rule]
) -> bool:
    """May modules be others, or external facts be of other kinds, now that these rules went and
    came?"""
    linear = found[0].base is not None
    return any(rules and (linear or split(stratum, rules)[1]) for rules in (gone, come))


def dissolves(u: Update, gone: Sequence[Rule]) -> bool:
    """Was one of the rules recursive, in a stratum that had modules? Without them, what it derived
    could take long to follow."""
    return any(
        name in u.memory.had_in(rule.head.relation) for rule in gone for name, _ in rule.reads()
    )


def anew(u: Update, stratum: Stratum) -> None:
    """The stratum from scratch, by the modules that there are now."""
    from tidelog.maintain.recompute import maintain as from_scratch  # which knows of modules

    named = u.work.algorithm
    if found := closures(u, stratum):
        taken = u.engine.take(stratum.relations)
        close(u.engine, u.memory, stratum, found, u.E, u.I, u.watch)
        u.note("apply")
        u.net(*u.engine.compare(taken))
    else:
        from_scratch(u, stratum, (), ())
    u.work.algorithm, u.work.why = named, OTHERS


def closures(u: Update, stratum: Stratum) -> tuple[Closure, ...]:
    """The stratum's closures that can be modules, now."""
    return usable(u.engine, u.memory, stratum, u.E, u.gives(stratum))


def usable(
    engine: Engine, memory: Memory, stratum: Stratum, E: FactSet, changes: bool = False
) -> tuple[Closure, ...]:
    """The stratum's closures; linear ones if they are all there is, and no fact is explicit."""
    if not memory.modules or not stratum.recursive:
        return ()
    found = memory.once(paired, stratum).closures
    if any(closure.base is not None for closure in found):
        explicit = changes or not set(stratum.relations).isdisjoint(engine.relations(E))
        whole = len(found) == 1 and found[0].whole and not memory.once(paired, stratum).generic
        return found if whole and not explicit else ()
    return found


def is_exact(u: Update, stratum: Stratum) -> bool:
    return not u.memory.once(paired, stratum).generic


def states(
    u: Update, stratum: Stratum, rules: Sequence[Rule], complete: bool = True
) -> list[Closed]:
    """What the closures know: of the old state, where they are made anew; `rules` are those that
    gave their external facts in it. Complete, they have all of these."""
    if not u.memory.has("modules", stratum):
        found = [Closed(closure, u.watch) for closure in closures(u, stratum)]
        build(u.engine, found, rules, (u.E - u.X) | (u.X - u.E), u.old)
        u.memory.closed[stratum.relations] = found
    known: list[Closed] = u.memory.closed[stratum.relations]
    for closed in known:
        closed.watch = u.watch
        if complete and closed.owed:
            P = u.engine.none()
            for _, saved in closed.owed:
                P |= u.engine.hold(saved)
            closed.insert(u.engine, u.engine.derive(rules, touching=P, within=u.old))
            closed.owed.clear()
    return known


def may_owe(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> bool:
    """Facts only come: those that a closure has already change nothing in it, and that they are
    external, too, need not be known before something goes. So they are not looked for."""
    if not stratum.nonrecursive or gone or come or u.D or u.marks is not None:
        return False
    if u.memory.known(stratum).complete or (u.gives(stratum) and u.loses):
        return False
    if not u.memory.has("modules", stratum):
        return False
    closed: Closed = u.memory.closed[stratum.relations][0]
    if closed.connects:
        return True
    return len(closed.owed) < TIMES and sum(n for n, _ in closed.owed) + len(u.A) <= OWED


def exact(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """What the external facts lose and gain decides."""
    engine, I = u.engine, u.I
    owes = may_owe(u, stratum, gone, come)
    (closed,) = states(u, stratum, (*kept(stratum.nonrecursive, come), *gone), complete=not owes)
    u.memory.keep(stratum, "modules")
    if closed.connects and not owes:
        u.glance()
        began = u.clock()
        X = feeding.external(engine, u.memory, stratum, u.E, I, u.watch)
        u.lasting += u.clock() - began
        A, D = closed.become(engine, X)
    elif closed.closure.base is not None:
        A, D = closed.insert(engine, u.A), closed.remove(engine, u.D)
    elif not (stratum.nonrecursive or gone or come or u.marks or closed.closure.inverse):
        # Explicit facts are all that is external, and need not be collected.
        A = engine.none() if u.only_takes else closed.insert(engine, u.given)
        D = closed.remove(engine, u.removed) if u.loses else engine.none()
    elif owes:
        closed.owe(engine, engine.collect(u.A, tuple(u.memory.known(stratum).read)))
        G = engine.derive(stratum.nonrecursive, touching=u.A, within=I, guard=~I)
        if u.gives(stratum):
            G |= u.came(stratum)
        A, D = closed.insert(engine, G) if G else G, engine.none()
    else:
        N, G = external(u, stratum, gone, come)
        A = closed.insert(engine, G) if G else engine.none()
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
    """Those of N, facts of the closure and the same in its inverse, that are external no more."""
    engine = u.engine
    N = closed.both(engine, N)
    N -= closed.both(engine, engine.collect(N & u.E)) if closed.closure.inverse else u.E
    if N and stratum.nonrecursive:
        N -= closed.both(engine, engine.provable(stratum.nonrecursive, N, within=u.I))
    return N


def external(
    u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule], count: bool = False
) -> tuple[FactSet, FactSet]:
    """Facts that are explicit no more or lost a nonrecursive derivation, and those that are
    explicit now or gained one, whether they are in I or not."""
    if not (u.D or u.A or gone or come or u.marks):
        return u.went(stratum), u.came(stratum)
    engine, C = u.engine, u.engine.nonrecursive if count else None
    rules = kept(stratum.nonrecursive, come)
    N = lost(u, stratum, rules, gone, C)
    if rules and (u.A or (u.D and u.memory.known(stratum).complete)):
        G = engine.derive(rules, touching=u.A, touching_negated=u.D, within=u.I, add_to=C)
    else:
        G = engine.none()
    if come:
        G |= engine.apply(come, within=u.I, add_to=C)
    if u.gives(stratum):
        N |= u.went(stratum)
        G |= u.came(stratum)
    return N, G


def in_turns(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    """Algorithm 3, for one stratum."""
    engine, I = u.engine, u.I
    rules = u.memory.once(paired, stratum).generic
    before = kept(stratum.nonrecursive, come)
    recount(u, stratum, "nonrecursive", (*before, *gone))
    closed, others = Closures(states(u, stratum, (*before, *gone, *rules))), Seminaive(rules)
    u.memory.keep(stratum, "nonrecursive", "modules")
    N, G = external(u, stratum, gone, come, count=True)
    u.note("counts")
    N |= others.diff(u, stratum, loses=True)
    N -= u.E
    N -= engine.positive(engine.nonrecursive, N)
    Ds = overdelete(u, stratum, (closed, others), N)
    u.deadline = math.inf  # from here on facts change
    I -= Ds
    own = [closed.red(u, stratum, Ds), engine.none()]
    N = others.red(u, stratum, Ds)
    N |= Ds & u.E
    u.note("DR4")
    N |= others.diff(u, stratum, loses=False)
    N |= G
    # Closures must know all certain facts, those too that are there already.
    own[0] |= closed.insert(engine, G)
    del G
    N |= own[0]
    added = engine.collect(N - I)
    I |= N
    insert(engine, (closed, others), own, I, N, u.watch, added)
    u.note("DR5")
    added -= Ds
    Ds -= I
    u.net(Ds, added)


def overdelete(u: Update, stratum: Stratum, parts: Sequence[Module], N: FactSet) -> FactSet:
    """N and what follows from it, by modules in turns (lines 26 to 30)."""
    engine = u.engine
    Ds = engine.none()
    own = [engine.none() for _ in parts]
    while N:
        for i, part in enumerate(parts):
            own[i] = theirs = engine.collect(N - own[i])  # a set less, while the module works
            if theirs:
                own[i] = part.delete(u, stratum, theirs, Ds)
            del theirs
        Ds |= N
        N -= N
        for i in range(len(parts)):
            own[i] -= Ds
            N |= own[i]
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds


def insert(
    engine: Engine,
    parts: Sequence[Module],
    own: list[FactSet],
    I: FactSet,
    N: FactSet,
    watch: Watch,
    added: FactSet | None = None,
) -> None:
    """Close I, which has N, by modules in turns; `own` is what of N each module derived itself
    (Algorithm 2, lines 11 to 15). What comes to I comes to `added` too, if that is asked for."""
    while N:
        for i, part in enumerate(parts):
            own[i] = theirs = engine.collect(N - own[i])
            if theirs:
                own[i] = part.add(engine, I, theirs, watch)
            del theirs
        N -= N
        for i in range(len(parts)):
            N |= own[i]
        if added is not None:
            added |= N


def with_proofs(
    u: Update,
    stratum: Stratum,
    gone: Sequence[Rule],
    come: Sequence[Rule],
    found: Sequence[Closure],
) -> None:
    """B/F^c, where closures of certain facts prove what they have."""
    (gone_nr, gone_r), (come_nr, come_r) = split(stratum, gone), split(stratum, come)
    if not found or gone_r or come_r:
        bfc.maintain(u, stratum, gone, come)
        return
    u.work.algorithm = "bfc-mod"
    engine, C_nr = u.engine, u.engine.nonrecursive
    before = kept(stratum.nonrecursive, come_nr)
    recount(u, stratum, "nonrecursive", (*before, *gone_nr))
    certain = [Closed(closure, u.watch) for closure in found]
    build(engine, certain, stratum.nonrecursive, u.E, u.I)

    def losing() -> FactSet:
        N = external(u, stratum, gone_nr, come_nr, count=True)[0]
        u.note("counts")
        N |= lost(u, stratum, stratum.recursive, ())
        return N

    def proved(F: FactSet) -> FactSet:
        P = engine.positive(C_nr, F)
        for closed in certain:
            pairs = engine.ids(F, closed.relation)
            P |= engine.pick(closed.relation, pairs[closed.known.contains(pairs)])
        return P

    check = bf.Check(u, stratum, proved)
    D = bf.delete(u, stratum, losing(), stratum.recursive, check)
    del check
    u.memory.keep(stratum, "nonrecursive")
    A = gaining(u, stratum, come)
    added = engine.none()
    saturate(engine, stratum.recursive, u.I, A, u.watch, added=added)
    u.note("DR5")
    added -= D
    D -= u.I
    u.net(D, added)


def close(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    found: Sequence[Closure],
    E: FactSet,
    I: FactSet,
    watch: Watch,
) -> None:
    """Mat-Mod for one stratum with closures, of which I has just the explicit facts."""
    rules = memory.once(paired, stratum).generic
    if found[0].base is not None:
        exactly(engine, memory, stratum, found, edges(engine, found[0], I), I, watch)
        return
    if not rules and (X := feeding.connecting(engine, memory, stratum, E, I)) is not None:
        exactly(engine, memory, stratum, found, X, I, watch, connects=True)
        return
    N = feeding.seeds(engine, stratum, E, I)
    if not rules:
        exactly(engine, memory, stratum, found, edges(engine, found[0], N), I, watch)
        return
    I |= N
    own = [engine.none(), engine.none()]
    parts = _begin(engine, memory, stratum, found, watch)
    insert(engine, (Closures(parts), Seminaive(rules)), own, I, N, watch)


def exactly(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    found: Sequence[Closure],
    X: Ids,
    I: FactSet,
    watch: Watch,
    connects: bool = False,
) -> None:
    """The same for one closure that is all the recursion, of which I may have some facts more; X
    is what it is made from, or connects the same."""
    (closed,) = _begin(engine, memory, stratum, found, watch)
    closed.connects = connects
    before = len(I)
    I |= closed.grow(engine, X)
    closed.worked(engine, facts=len(I) - before)


def _begin(
    engine: Engine, memory: Memory, stratum: Stratum, found: Sequence[Closure], watch: Watch
) -> list[Closed]:
    """Modules that know nothing yet; they do not ask for the ages of facts."""
    engine.undate(stratum.relations)
    parts = [Closed(closure, watch) for closure in found]
    memory.closed[stratum.relations] = parts
    memory.keep(stratum, "modules")
    return parts
