"""Counting for recursive strata, by rounds (Motik, Nenov, Piro and Horrocks 2019, as described
by Illich and Glimm).

The trace is a multiset: how many instances derive a fact in which round of seminaive
evaluation. An instance counts for the round after the first rounds of its body facts, so no
fact keeps its own counter above zero. A change is followed by rising rounds: a fact whose first
round loses its last instance moves to its next round, or is deleted. Departure: the trace lives
in hidden relations of I, and the rules of `round_rules` maintain it.

# T pairs of fact and round to handle: their count changed, or the fact needs a next round
# P those of the present round   F first rounds that facts gained   L those that they lost
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.engine import FactSet, View
from tidelog.maintain.round_rules import ROUND, START, TICK, RoundRules, timed
from tidelog.maintain.steps import kept
from tidelog.maintain.update import Context, StratumChange, Update
from tidelog.program.rules import Relation, Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm, u.work.how = "counting", "by rounds"
    engine, I, C, old = u.engine, u.I, u.engine.nonrecursive, u.old
    rounds = u.memory.once(RoundRules.of, stratum, engine.kinds)

    def with_rounds(rules: Iterable[Rule]) -> tuple[Rule, ...]:
        return tuple(timed(rule, rounds.inside) for rule in rules)

    rules = with_rounds(kept(stratum.rules, added)) if added else rounds.rules
    removed, added = with_rounds(removed), with_rounds(added)
    if not u.memory.has("trace", stratum):
        build(u, rounds, (*rules, *removed), stratum, u.change)
    u.memory.keep(stratum, "trace")
    T = engine.derive(rules, touching=u.D, touching_negated=u.A, within=old, take_from=C)
    T |= engine.apply(removed, within=old, take_from=C)
    T |= engine.derive(rules, touching=u.A, touching_negated=u.D, within=I, add_to=C)
    T |= engine.apply(added, within=I, add_to=C)
    X = engine.collect(u.X, stratum.relations)
    D, A = follow(u, rounds, rounds.rules, T, X, u.E, I)
    D -= A
    A -= I
    I -= D
    I |= A
    u.note("counts")
    u.net(D, A)


def build(
    u: Context, rounds: RoundRules, rules: Sequence[Rule], stratum: Stratum, change: StratumChange
) -> None:
    """The trace of the state before the change."""
    engine, I, C = u.engine, u.I, u.engine.nonrecursive
    engine.declare(Relation(ROUND, ("round",), ("number",)))
    for relation in rounds.relations:
        engine.declare(relation)
    hidden = [relation.name for relation in rounds.relations]
    I -= engine.collect(I, hidden)
    engine.reset(C, hidden)
    explicit, old = change.explicit_before(u.E), change.before(I)
    T = engine.apply(rules, within=old, add_to=C)
    X = engine.collect(explicit, stratum.relations)
    follow(u, rounds, rules, T, X, explicit, old)


def follow(
    u: Context,
    rounds: RoundRules,
    rules: Sequence[Rule],
    T: FactSet,
    X: FactSet,
    explicit: View,
    within: View,
) -> tuple[FactSet, FactSet]:
    """Bring the trace up to date, round by round, where the pairs T have changed counts and the
    facts X may have become explicit or ceased to be. Returns the facts that lost a first round,
    and those that gained one."""
    engine = u.engine
    F, L = engine.none(), engine.none()
    present = engine.apply(START, within=F)
    P = engine.derive(rounds.at_start, touching=X, within=X)
    note(u, T)
    while T or P:
        u.watch.round()
        one_round(u, rounds, rules, present, T, P, F, L, explicit, within)
        present = engine.apply(TICK, within=present)
    D = engine.derive(rounds.facts, touching=L, within=L)
    return D, engine.derive(rounds.facts, touching=F, within=F)


def one_round(
    u: Context,
    rounds: RoundRules,
    rules: Sequence[Rule],
    present: FactSet,
    T: FactSet,
    P: FactSet,
    F: FactSet,
    L: FactSet,
    explicit: View,
    within: View,
) -> None:
    """Handle the present round of T and P, which empties P."""
    engine, I, C = u.engine, u.I, u.engine.nonrecursive
    P |= engine.derive(rounds.present, touching=T, within=T | present)
    T -= P
    held = engine.positive(C, P)
    held |= engine.derive(rounds.explicit, touching=P, within=P | explicit)
    P -= held
    # A first round without an instance left: the fact may have another.
    lost = engine.derive(rounds.same, touching=P, within=P | I)
    T |= engine.derive(rounds.after, touching=lost, within=I)
    held -= engine.derive(rounds.known, touching=held, within=held | I)
    lost |= engine.derive(rounds.later, touching=held, within=held | I)
    P -= P
    P |= engine.derive(rules, touching=lost, within=within, take_from=C)
    I -= lost
    L |= lost
    del lost
    first = engine.derive(rounds.begin, touching=held, within=held)
    del held
    I |= first
    F |= first
    P |= engine.derive(rules, touching=first, within=within, add_to=C)
    del first
    note(u, P)
    T |= P
    P -= P


def note(u: Context, T: FactSet) -> None:
    """Move pairs into I or out of it: those with a count above zero are in it."""
    u.I -= T
    u.I |= u.engine.positive(u.engine.nonrecursive, T)
