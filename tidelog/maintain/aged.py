"""DRed by age: overdeletion stops at facts that have a derivation from older ones.

Every fact of a recursive stratum has an age: when it came to the materialisation. What derived
it first was there before it, so each fact is explicit or has an instance whose body facts are
older than it is; and as long as it has one, no cycle holds it up. So DRed need not delete a
fact that has such an instance left. One that has only others is deleted, and comes back in
DR4 or DR5, younger then than what derives it. Where facts have many derivations, as in dense
graphs, hardly any is deleted in vain.

This departs from the papers: DRed (Gupta, Mumick and Subrahmanian 1993) deletes such facts, B/F
(Motik et al. 2015) looks for proofs of them, and counting by rounds (Motik et al. 2019) keeps
for every fact how often it is derived in which round; here one number a fact is enough. It is
the first round of the latter, and the level in Even and Shiloach's tree (1981).

Why it is right. Facts that are left and lost no instance keep the one from older facts. Those
that lost one and were checked have one. Should a fact that this one relies on be deleted later,
it loses that instance and is checked again. By age, from the oldest on, all that is left has a
proof. What is deleted and has a proof is found by DR4 and DR5, as in DRed.

# Ds, N, O as in `dred`
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain import bf, recompute
from tidelog.maintain.dred import insert, rederive
from tidelog.maintain.groups import unaffected
from tidelog.maintain.seam import FactSet, Split
from tidelog.maintain.steps import kept, losing
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum

MANY = 32  # facts that are worth a check; fewer are checked in some rounds only
ROUNDS = 8  # without a check, at first
LIKELY = 0.5  # part of the facts checked before that had older support
UNLIKELY = 0.2
BLINDLY = 4  # times the facts that lose a derivation first: deleted without a check then


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    if not stratum.recursive:
        bf.maintain(u, stratum, gone, come)
        u.work.algorithm = "aged"
        return
    if not u.memory.has("ages", stratum):
        recompute.plainly(u, stratum)
        u.work.why = "facts get their ages"
        return
    u.work.algorithm = "aged"
    dead = u.engine.none()
    Ds = overdelete(u, stratum, losing(u, stratum, gone, come), come, dead)
    u.memory.keep(stratum, "ages")
    insert(u, stratum, come, rederive(u, stratum, Ds, come, dead), Ds)


def overdelete(
    u: Update, stratum: Stratum, N: FactSet, come: Sequence[Rule], dead: FactSet
) -> FactSet:
    """N and all facts of the stratum that lose a derivation with them, directly or not, but not
    those that are seen to have one from older facts left. Those of them that have no derivation
    at all are `dead`, too.

    Checks cost more than deletion in vain where a few facts follow from a few. So while there
    are few, only those of some rounds are checked: of the first, and then of fewer and fewer.
    Where checks found hardly anything before, they begin when more is deleted than was lost.
    """
    engine, I = u.engine, u.I
    known = u.memory.known(stratum)
    rules, negative = unaffected(u, stratum, kept(stratum.recursive, come))
    every, unseen = unaffected(u, stratum, kept(known.rules, come))
    Ds, costs = engine.none(), u.memory.costs(stratum)
    most = left = ROUNDS  # until the next check
    blindly = BLINDLY * len(N) if costs.support < UNLIKELY else 0

    def each() -> bool:
        nonlocal left
        left -= 1
        few = len(N) <= MANY or len(Ds) + len(N) <= blindly
        return u.round() and left >= 0 and (left == most - 1 or few)

    # Instances that support a fact are those that are followed when a fact goes: no new ones.
    still = Split(known.inside, I - Ds, I - u.A)
    within = Split(known.inside, I - (Ds - N), I - u.A)  # Ds - N is O
    while N:
        if len(Ds) + len(N) > blindly:
            count = len(N)
            N -= u.E
            asked = N
            if costs.support < LIKELY:
                # Most have no derivation left, old or young: whoever knows need not ask again.
                asked = engine.provable(every, N, within=still, negative=unseen)
                dead |= N - asked
            N -= engine.provable(every, asked, within=still, negative=unseen, older=known.inside)
            del asked
            costs.supported(count - len(N), count)
            u.note("checks")
        engine.spread(rules, N, (Ds,), within=within, negative=negative, guard=I - Ds, each=each)
        u.note("DR2")
        most = left = 2 * most
    u.work.numbers["|D|"] += len(Ds)
    return Ds
