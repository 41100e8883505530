"""DRed by age: overdeletion stops at facts that have a derivation from older ones.

Every fact of a recursive stratum has an age: when it was inserted into the materialisation. The
body facts that derived it first are older, so each fact is explicit or has an instance whose body
facts are older than it is; and as long as it has one, it does not depend on itself. So DRed need
not overdelete a fact that has such an instance left. A fact that has only others is overdeleted,
and rederived in DR4 or DR5, younger then than what derives it. Where facts have many derivations,
as in dense graphs, hardly any is overdeleted in vain.

This departs from the papers: DRed (Gupta, Mumick and Subrahmanian 1993) deletes such facts, B/F
(Motik et al. 2015) looks for proofs of them, and counting by rounds (Motik et al. 2019) keeps
for every fact how often it is derived in which round; here one number a fact is enough. It is
the first round of the latter, and the level in Even and Shiloach's tree (1981).

Why it is correct. Facts that are left and lost no instance keep the one from older facts. Those
that lost one and were checked have one. If a fact that it rests on is deleted later, the fact
loses that instance and is checked again. By induction on age, all that is left has a proof. What
is deleted and has a proof is rederived by DR4 and DR5, as in DRed.

# Ds, N, O as in `dred`
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import FactSet, Split
from tidelog.maintain import bf, recompute
from tidelog.maintain.dred import insert, rederive
from tidelog.maintain.steps import expected, kept, losing
from tidelog.maintain.unaffected import unaffected
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum

# Chosen, not measured; docs/figures/updates.md shows their effect.
MANY = 32  # facts: more are checked in every round, fewer in some rounds only
ROUNDS = 8  # rounds without a check, at first
LIKELY = 0.5  # part of the facts checked before that had older support
UNLIKELY = 0.2  # the same: below this, deletion begins without checks
BLINDLY = 4  # times the facts that lose a derivation first are deleted then without a check


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    if not stratum.recursive:
        bf.check(u, stratum, removed, added)
        return
    if not u.memory.has("ages", stratum):
        recompute.plainly(u, stratum)
        u.work.why = "facts get their ages"
        return
    u.work.algorithm = "aged"
    dead = u.engine.none()
    Ds = overdelete(u, stratum, losing(u, stratum, removed, added), added, dead)
    u.memory.keep(stratum, "ages")
    insert(u, stratum, added, rederive(u, stratum, Ds, added, dead), Ds)


def overdelete(
    u: Update, stratum: Stratum, N: FactSet, added: Sequence[Rule], dead: FactSet
) -> FactSet:
    """Ds: N and every fact of the stratum that loses a derivation when N are deleted, but for those
    that a check finds to have one from older facts left. Those without any derivation are added to
    `dead`.

    Checks cost more than overdeletion in vain where a few facts follow from a few. So while there
    are few, only those of some rounds are checked: of the first, and then of fewer and fewer.
    Where checks seldom found support before, they begin when more is deleted than was lost.
    """
    engine, I = u.engine, u.I
    known = u.memory.known(stratum)
    rules, negative = unaffected(u, stratum, kept(stratum.recursive, added))
    every, unseen = unaffected(u, stratum, kept(known.rules, added))
    Ds, costs = engine.none(), u.memory.costs(stratum)
    most = left = ROUNDS  # until the next check
    blindly = BLINDLY * len(N) if costs.support < UNLIKELY else 0

    def each() -> bool:
        nonlocal left
        left -= 1
        u.deletes(len(Ds) + len(N))
        few = len(N) <= MANY or len(Ds) + len(N) <= blindly
        return u.round() and left >= 0 and (left == most - 1 or few)

    # New instances support no fact: overdeletion does not follow them.
    still = Split(known.inside, I - Ds, I - u.A)
    within = Split(known.inside, I - (Ds - N), I - u.A)  # Ds - N is O

    def following(S: FactSet) -> FactSet:
        """What the next round finds by some of N."""
        guard = I - Ds - N
        return engine.derive(rules, touching=S, within=within, negative=negative, guard=guard)

    while N:
        if len(Ds) + len(N) > blindly:
            count = len(N)
            N -= u.E
            asked = N
            if costs.support < LIKELY:
                # Most have no derivation at all left: then rederivation need not check them.
                asked = engine.provable(every, N, within=still, negative=unseen)
                dead |= N - asked
            N -= engine.provable(every, asked, within=still, negative=unseen, older=known.inside)
            del asked
            costs.supported(count - len(N), count)
            u.deletes(len(Ds) + len(N) + expected(u, N, following))
            u.note("checks")
        engine.spread(rules, N, (Ds,), within=within, negative=negative, guard=I - Ds, each=each)
        u.note("DR2")
        most = left = 2 * most
    u.work.numbers["|D|"] += len(Ds)
    return Ds
