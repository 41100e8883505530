"""Strata that follow overlapping updates by derivation counters."""

from __future__ import annotations

from tidelog.engine import FactSet, Saved, View
from tidelog.maintain.derivation_counters import recount
from tidelog.maintain.driver.overlap import LowerChange, OverlappingUpdates
from tidelog.maintain.driver.overlap_at_once import WithExplicit, held
from tidelog.maintain.round_rules import START, TICK, RoundRules
from tidelog.maintain.round_trace import build, note, one_round
from tidelog.maintain.update import Context, StratumChange
from tidelog.program.rules import Stratum


class Counting:
    """A stratum without recursion: a fact holds while it is explicit or its counter is above zero.

    The counter has the instances that were applied: those over lower facts followed.
    """

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum

    def portion(self, updates: OverlappingUpdates, D: FactSet, A: FactSet) -> int:
        return updates.share(self.stratum, D, A)

    def explicit(self, updates: OverlappingUpdates, inserted: FactSet, deleted: FactSet) -> None:
        updates.u.work.algorithm = "counting"
        updates.S -= inserted
        inserted -= updates.I
        updates.insert(inserted)
        updates.S |= deleted

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        u, engine, I, C = updates.u, updates.engine, updates.I, updates.engine.nonrecursive
        u.work.algorithm = "counting"
        rules = self.stratum.nonrecursive
        self.counted(u, lower.before(I))
        d, a = lower.d, lower.a
        changed = engine.derive(
            rules, touching=d, touching_negated=a, within=lower.before(I), take_from=C
        )
        changed |= engine.derive(
            rules, touching=a, touching_negated=d, within=lower.after(I), add_to=C
        )
        u.note("counts")
        held = engine.positive(C, changed)
        changed -= held
        if lower.A or u.memory.known(self.stratum).complete:
            updates.S |= changed & I  # they may still get other derivations
        else:
            changed -= updates.E
            changed -= ~I
            updates.S -= changed
            updates.delete(changed)
        held -= I
        updates.insert(held)

    def step(self, updates: OverlappingUpdates) -> bool:
        S = updates.take(updates.S, self.stratum.relations)
        if not S:
            return False
        self.counted(updates.u, updates.I)
        S -= updates.E
        S -= updates.engine.positive(updates.engine.nonrecursive, S)
        updates.delete(S)
        return True

    def counted(self, u: Context, followed: View) -> None:
        """Count instances over the lower facts followed, unless that is known."""
        recount(u, self.stratum, "nonrecursive", self.stratum.nonrecursive, followed)
        u.memory.keep(self.stratum, "nonrecursive")


class CountingByRounds(WithExplicit):
    """A recursive stratum: the trace of rounds, brought up to date one round a step.

    The trace's counters have the instances that were applied. An update that joins may change a
    round that is done: then rounds start again from the first, and only pairs whose count has
    changed since are handled.

    # T, P, F, L as in `round_trace`
    """

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum)
        self.T: Saved | None = None
        self.F: Saved | None = None
        self.L: Saved | None = None
        self.present: Saved | None = None

    def follow(self, updates: OverlappingUpdates, lower: LowerChange) -> None:
        engine, I, C = updates.engine, updates.I, updates.engine.nonrecursive
        rounds = self.built(updates, lower)
        d, a = lower.d, lower.a
        u = updates.u
        T = held(engine, self.T)
        T |= engine.derive(
            rounds.rules, touching=d, touching_negated=a, within=lower.before(I), take_from=C
        )
        T |= engine.derive(
            rounds.rules, touching=a, touching_negated=d, within=lower.after(I), add_to=C
        )
        note(u, T)
        self.T, self.present = engine.save(T), None
        u.note("counts")

    def built(self, updates: OverlappingUpdates, lower: LowerChange | None) -> RoundRules:
        """The rules by rounds, with the trace of the lower facts followed so far."""
        u, engine = updates.u, updates.engine
        u.work.algorithm, u.work.how = "counting", "by rounds"
        rounds = u.memory.once(RoundRules.of, self.stratum, engine.kinds)
        if not u.memory.has("trace", self.stratum):
            X, none = held(engine, self.X), engine.none()
            change = StratumChange(none, none, X) if lower is None else lower.change(X)
            build(u, rounds, rounds.rules, self.stratum, change)
        u.memory.keep(self.stratum, "trace")
        return rounds

    def step(self, updates: OverlappingUpdates) -> bool:
        if self.T is None and self.X is None:
            return False
        rounds = self.built(updates, None)
        engine = updates.engine
        u = updates.u
        X = self.taken(updates)
        if X:
            self.present = None
        P = engine.derive(rounds.at_start, touching=X, within=X)
        T, F, L = (held(engine, saved) for saved in (self.T, self.F, self.L))
        if self.present is None:
            present = engine.apply(START, within=engine.none())
        else:
            present = engine.hold(self.present)
        u.watch.round()
        one_round(u, rounds, rounds.rules, present, T, P, F, L, u.E, u.I)
        present = engine.apply(TICK, within=present)
        u.note("counts")
        more = bool(T)
        self.T, self.present = (engine.save(T), engine.save(present)) if more else (None, None)
        self.F, self.L = engine.save(F), engine.save(L)
        if not more:
            self.settle(updates, rounds)
        return True

    def settle(self, updates: OverlappingUpdates, rounds: RoundRules) -> None:
        """Insert facts that have a first round, and delete those that have none."""
        engine, I = updates.engine, updates.I
        pairs = engine.hold(self.F)
        pairs |= engine.hold(self.L)
        self.F = self.L = None
        changed = engine.derive(rounds.facts, touching=pairs, within=pairs)
        found = engine.provable(rounds.facts, changed, within=I)
        changed -= found
        changed -= ~I
        updates.delete(changed)
        found -= I
        updates.insert(found)
