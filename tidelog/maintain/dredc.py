"""DRed^c: DRed with counters (Hu, Motik and Horrocks 2018, and 2022, Algorithm 3).

Overdeletion stops at facts that are explicit or have a nonrecursive derivation left, and a
fact is rederived if it has a recursive one left: neither needs a search. Departure:
nonrecursive instances that are new are counted before overdeletion, so that it stops at
facts that they derive, too.

# C_nr, C_r derivations by nonrecursive and recursive rules   Ds, N as in `dred`
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.counters import recount, split
from tidelog.maintain.groups import unaffected
from tidelog.maintain.seam import FactSet, Split
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    u.work.algorithm = "dredc"
    engine, I, C_nr, C_r = u.engine, u.I, u.engine.nonrecursive, u.engine.recursive
    (gone_nr, gone_r), (come_nr, come_r) = split(stratum, gone), split(stratum, come)
    nr, r = kept(stratum.nonrecursive, come_nr), kept(stratum.recursive, come_r)
    recount(u, stratum, "nonrecursive", (*nr, *gone_nr))
    recount(u, stratum, "recursive", (*r, *gone_r))
    N = lost(u, stratum, nr, gone_nr, C_nr)
    N |= lost(u, stratum, r, gone_r, C_r)
    A = gained(u, stratum, nr, come_nr, C_nr)
    if u.gives(stratum):
        N |= u.went(stratum)
        A |= u.came(stratum)
        A -= I
    u.memory.keep_ages(stratum, "nonrecursive", "recursive")
    u.note("counts")
    Ds = overdelete(u, stratum, N, r) if N else N
    if Ds:
        I -= Ds
        A |= engine.positive(C_r, Ds)
    A |= gained(u, stratum, r, come_r, C_r)
    added = engine.none()
    saturate(engine, stratum.recursive, I, A, u.watch, added=added, add_to=C_r)
    u.note("DR5")
    if Ds:
        added -= Ds
        Ds -= I
    u.net(Ds, added)


def overdelete(u: Update, stratum: Stratum, N: FactSet, rules: tuple[Rule, ...]) -> FactSet:
    """Facts that lose a derivation and have no nonrecursive one, from N on; C_r follows."""
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
