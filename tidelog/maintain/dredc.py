"""DRed^c: DRed with counters (Hu, Motik and Horrocks 2018, and 2022, Algorithm 3).

Overdeletion stops at facts that are explicit or have a nonrecursive derivation left, and a
fact is rederived if it has a recursive one left: neither needs a search. Departure:
nonrecursive instances that are new are counted before overdeletion, so that it stops at
facts that they derive, too.

# C_nr, C_r derivations by nonrecursive and recursive rules   Ds, N as in `dred`
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import FactSet, Split
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "dredc"
    engine, I, C_nr, C_r = u.engine, u.I, u.engine.nonrecursive, u.engine.recursive
    (removed_nr, removed_r), (added_nr, added_r) = split(stratum, removed), split(stratum, added)
    nr, r = kept(stratum.nonrecursive, added_nr), kept(stratum.recursive, added_r)
    recount(u, stratum, "nonrecursive", (*nr, *removed_nr), u.old)
    recount(u, stratum, "recursive", (*r, *removed_r), u.old)
    u.note("build")
    N = lost(u, stratum, nr, removed_nr, C_nr)
    N |= lost(u, stratum, r, removed_r, C_r)
    A = gained(u, stratum, nr, added_nr, C_nr)
    if u.touches(stratum):
        N |= u.explicit_deleted(stratum)
        A |= u.explicit_inserted(stratum)
        A -= I
    u.memory.keep_ages(stratum, "nonrecursive", "recursive")
    u.note("counts")
    Ds = overdelete(u, stratum, N, r) if N else N
    if Ds:
        I -= Ds
        A |= engine.positive(C_r, Ds)
    A |= gained(u, stratum, r, added_r, C_r)
    inserted = engine.none()
    saturate(engine, stratum.recursive, I, A, u.watch, inserted=inserted, add_to=C_r)
    u.note("DR5")
    if Ds:
        inserted -= Ds
        Ds -= I
    u.net(Ds, inserted)


def overdelete(u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...]) -> FactSet:
    """Ds: of N and all that loses a derivation with them, the facts without a nonrecursive one.
    C_r is kept in step."""
    engine, E, I, C_nr = u.engine, u.E, u.I, u.engine.nonrecursive
    narrowed, negative = unaffected(u, stratum, rules)
    Ds, inside = engine.none(), u.memory.known(stratum).inside
    N -= E
    N -= engine.positive(C_nr, N)
    while N:
        u.round()
        Ds |= N
        if not rules:
            break
        N = engine.derive(
            narrowed,
            touching=N,
            within=Split(inside, I - (Ds - N), I - u.A),
            negative=negative,
            guard=I - Ds - E,
            take_from=engine.recursive,
        )
        N -= engine.positive(C_nr, N)
        N = engine.settle(N)
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds
