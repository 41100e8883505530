"""B/F^c: Backward/Forward with nonrecursive counters (Hu, Motik and Horrocks 2018).

As `bf`, but a fact with a nonrecursive derivation left is known by its counter C_nr.
Departure: as in `dredc`, new nonrecursive instances are counted first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.bf import Check, delete
from tidelog.maintain.counters import recount, split
from tidelog.maintain.seam import FactSet
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    u.work.algorithm = "bfc"
    engine, I, C_nr = u.engine, u.I, u.engine.nonrecursive
    (gone_nr, gone_r), (come_nr, come_r) = split(stratum, gone), split(stratum, come)
    nr, r = kept(stratum.nonrecursive, come_nr), kept(stratum.recursive, come_r)
    recount(u, stratum, "nonrecursive", (*nr, *gone_nr))
    u.memory.keep(stratum, "nonrecursive")
    A = gained(u, stratum, nr, come_nr, C_nr)

    def losing() -> FactSet:
        N = lost(u, stratum, nr, gone_nr, C_nr)
        u.note("counts")
        N |= lost(u, stratum, r, gone_r)
        if u.gives(stratum):
            N |= u.went(stratum)
        return N

    check = Check(u, stratum, lambda F: engine.positive(C_nr, F))
    D = delete(u, stratum, losing(), r, check)
    del check
    if u.gives(stratum):
        A |= u.came(stratum)
        A -= I
    A |= gained(u, stratum, r, come_r)
    added = engine.none()
    saturate(engine, stratum.recursive, I, A, u.watch, added=added)
    u.note("DR5")
    added -= D
    D -= I
    u.net(D, added)
