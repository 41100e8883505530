"""DRed: overdelete, rederive, insert (Gupta, Mumick and Subrahmanian 1993).

Steps DR1 to DR5 as in Motik et al. (2015), section 3, with their 'inverse seminaïve' set O,
so that overdeletion considers no instance twice; with stratified negation as in Hu, Motik
and Horrocks (2022). Departures: facts are inserted together with rederivation, stratum by
stratum; removed rules seed overdeletion and added rules seed insertion; and DR4 leaves
instances that are new by a lower fact to insertion.

# E, I, X, D, A as in `update`   Ds overdeleted in the stratum   O processed of Ds   N new
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import FactSet, Split
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gaining, kept, losing
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "dred"
    u.memory.keep_ages(stratum)
    Ds = overdelete(u, stratum, losing(u, stratum, removed, added), added)
    insert(u, stratum, added, rederive(u, stratum, Ds, added), Ds)


def overdelete(u: Update, stratum: Stratum, N: FactSet, added: Sequence[Rule]) -> FactSet:
    """Ds: N, and every fact of the stratum that loses a derivation when N are deleted (DR2)."""
    engine, I = u.engine, u.I
    inside = u.memory.known(stratum).inside
    rules, negative = unaffected(u, stratum, kept(stratum.recursive, added))
    Ds = engine.none()
    within = Split(inside, I - (Ds - N), I - u.A)  # Ds - N is O

    def each() -> bool:
        u.deletes(len(Ds) + len(N))
        return u.round()

    engine.spread(rules, N, (Ds,), within=within, negative=negative, guard=I - Ds, each=each)
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds


def rederive(
    u: Update, stratum: Stratum, Ds: FactSet, added: Sequence[Rule], dead: FactSet | None = None
) -> FactSet:
    """Those of Ds that are explicit, or have a derivation in what is left (DR3, DR4); those known
    to be dead have none."""
    if not Ds:
        return u.engine.none()
    u.I -= Ds
    rules, negative = unaffected(u, stratum, kept(u.memory.known(stratum).rules, added))
    asked = u.engine.collect(Ds - dead) if dead else Ds
    N = u.engine.provable(rules, asked, within=u.I - u.A, negative=negative)
    N |= Ds & u.E
    u.note("DR4")
    return N


def insert(u: Update, stratum: Stratum, added: Sequence[Rule], N: FactSet, Ds: FactSet) -> None:
    """Insert N and all that follows from N and from the change below (DR5); Ds were in I before."""
    inserted = u.engine.none()
    N |= gaining(u, stratum, added)
    saturate(u.engine, stratum.recursive, u.I, N, u.watch, inserted=inserted)
    if Ds and inserted:  # otherwise none of Ds is rederived
        inserted -= Ds
        Ds -= u.I
    u.note("DR5")
    u.net(Ds, inserted)
