"""B/F^c: Backward/Forward with nonrecursive counters (Hu, Motik and Horrocks 2018).

As `bf`, but a fact with a nonrecursive derivation left is known by its counter C_nr.
Departure: as in `dredc`, new nonrecursive instances are counted first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import FactSet
from tidelog.maintain.bf import Check, delete
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "bfc"
    engine, I, C_nr = u.engine, u.I, u.engine.nonrecursive
    (removed_nr, removed_r), (added_nr, added_r) = split(stratum, removed), split(stratum, added)
    nr, r = kept(stratum.nonrecursive, added_nr), kept(stratum.recursive, added_r)
    recount(u, stratum, "nonrecursive", (*nr, *removed_nr), u.old)
    u.note("build")
    u.memory.keep(stratum, "nonrecursive")
    A = gained(u, stratum, nr, added_nr, C_nr)

    def losing() -> FactSet:
        N = lost(u, stratum, nr, removed_nr, C_nr)
        u.note("counts")
        N |= lost(u, stratum, r, removed_r)
        if u.touches(stratum):
            N |= u.explicit_deleted(stratum)
        return N

    check = Check(u, stratum, lambda F: engine.positive(C_nr, F), C_nr)
    D = delete(u, stratum, losing(), r, check)
    del check
    if u.touches(stratum):
        A |= u.explicit_inserted(stratum)
        A -= I
    A |= gained(u, stratum, r, added_r)
    inserted = engine.none()
    saturate(engine, stratum.recursive, I, A, u.watch, inserted=inserted)
    u.note("DR5")
    inserted -= D
    D -= I
    u.net(D, inserted)
