"""DRed: overdelete, rederive, insert (Gupta, Mumick and Subrahmanian 1993).

Steps DR1 to DR5 as in Motik et al. (2015), section 3, with their 'inverse seminaïve' set O,
so that overdeletion considers no instance twice; with stratified negation as in Hu, Motik
and Horrocks (2022). Departures: facts are inserted together with rederivation, stratum by
stratum; rules that went seed overdeletion and rules that came seed insertion; and DR4 leaves
the instances that a lower fact made new to insertion.

# E, I, X, D, A as in `update`   Ds overdeleted in the stratum   O processed of Ds   N next
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.groups import unaffected
from tidelog.maintain.seam import FactSet, Split
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.steps import gaining, kept, losing
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    u.work.algorithm = "dred"
    u.memory.keep_ages(stratum)
    Ds = overdelete(u, stratum, losing(u, stratum, gone, come), come)
    insert(u, stratum, come, rederive(u, stratum, Ds, come), Ds)


def overdelete(u: Update, stratum: Stratum, N: FactSet, come: Sequence[Rule]) -> FactSet:
    """N and all facts of the stratum that lose a derivation with them, directly or not (DR2)."""
    engine, I = u.engine, u.I
    inside = u.memory.known(stratum).inside
    rules, negative = unaffected(u, stratum, kept(stratum.recursive, come))
    Ds = engine.none()
    within = Split(inside, I - (Ds - N), I - u.A)  # Ds - N is O

    u.applied("deletions", -len(N))
    engine.spread(rules, N, (Ds,), within=within, negative=negative, guard=I - Ds, each=u.round)
    u.applied("deletions", len(Ds))
    u.note("DR2")
    u.work.numbers["|D|"] += len(Ds)
    return Ds


def rederive(
    u: Update, stratum: Stratum, Ds: FactSet, come: Sequence[Rule], dead: FactSet | None = None
) -> FactSet:
    """Those of Ds that are explicit or have a derivation in what is left (DR3, DR4); those that
    are known to be dead have none."""
    if not Ds:
        return u.engine.none()
    u.I -= Ds
    rules, negative = unaffected(u, stratum, kept(u.memory.known(stratum).rules, come))
    asked = u.engine.collect(Ds - dead) if dead else Ds
    N = u.engine.provable(rules, asked, within=u.I - u.A, negative=negative)
    u.applied("rederivations", len(N))
    N |= Ds & u.E
    u.note("DR4")
    return N


def remembered(u: Update, stratum: Stratum) -> FactSet | None:
    """Facts that the last update marked because this one adds again what they follow from."""
    asked = None if u.marks is None else u.marks.marked(u, stratum, positive=True)
    if asked is None:
        return None
    found = u.engine.provable(u.memory.known(stratum).rules, asked, within=u.I)
    u.applied("prevented insertions", len(found))
    return found


def insert(
    u: Update,
    stratum: Stratum,
    come: Sequence[Rule],
    N: FactSet,
    Ds: FactSet,
    proved: FactSet | None = None,
) -> None:
    """Add N and all that follows from it and from what came (DR5); Ds were there before.

    Marks are passed on to what is added, and to what was proved before.
    """
    added = u.engine.none()
    known = remembered(u, stratum)
    if known:
        N |= known
    N |= gaining(u, stratum, come)
    given = len(u.came(stratum)) if u.marks is not None and u.gives(stratum) else 0
    given += len(known or ())
    del known

    glance = None if u.marks is None else u.glance
    saturate(u.engine, stratum.recursive, u.I, N, u.watch, added=added, before=glance)
    u.applied("insertions", len(added) - given)
    if u.marks is not None and (added or proved):
        u.marks.pass_on(u, stratum, added if proved is None else added | proved)
    if Ds and added:  # where nothing comes, none of Ds is back
        added -= Ds
        Ds -= u.I
    if u.marks is not None and Ds:
        u.marks.pass_back(u, stratum, Ds)
    u.note("DR5")
    u.net(Ds, added)
