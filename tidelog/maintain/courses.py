"""How a stratum follows updates that overlap: by DRed, by B/F, by counting, or as a whole.

The sets are those of `flow`. Lower strata are up to date whenever a stratum is worked on, so the
facts of S, R and N that its rules could read are its own.

In all of them a deletion that has not been followed is cancelled by taking the fact out of S, and
an addition that no rule has used by taking it out of N: nobody has heard of either.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.maintain.aged import ROUNDS, UNLIKELY
from tidelog.maintain.algorithms import BY_STRATUM
from tidelog.maintain.auto import begins_to_count, count
from tidelog.maintain.bf import Check
from tidelog.maintain.counters import recount
from tidelog.maintain.flow import MOST, STEP, Course, Flow, News, Waiting
from tidelog.maintain.memory import Memory
from tidelog.maintain.rounds import START, TICK, Rounds
from tidelog.maintain.seam import Engine, FactSet, Saved
from tidelog.maintain.trace import build, note, one_round
from tidelog.maintain.update import Algorithm, Update
from tidelog.program.rules import Stratum

PARTS = 512  # in which a stratum with modules hears of what changed, at most
OWN_PARTS = 64  # and of what is explicit or not: putting facts back costs more there


def course_of(algorithm: str, stratum: Stratum, memory: Memory) -> Course:
    """The course of a stratum under an algorithm's name."""
    if stratum.thinned:
        return Whole(stratum, BY_STRATUM["recompute"])
    if algorithm == "dred":
        return Dred(stratum)
    if algorithm == "bf":
        return BackwardForward(stratum)
    if algorithm == "counting":
        return CountingByRounds(stratum) if stratum.recursive else Counting(stratum)
    if algorithm == "auto":
        return Modular(stratum) if memory.had_modules(stratum) else Auto(stratum, memory)
    return Whole(stratum, BY_STRATUM[algorithm])


class _Chasing:
    """What DRed and B/F share: suspects, candidates, and facts that are to be used."""

    name = ""
    deletes = ""  # what instances of deletion are called

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.relations = stratum.relations

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        return _in_steps(flow, self.stratum, D, A)

    def explicit(self, flow: Flow, came: FactSet, went: FactSet) -> None:
        flow.u.work.algorithm = self.name
        saved = flow.engine.collect(flow.S & came)
        if saved:
            flow.u.work.numbers["cancelled"] += len(saved)
            flow.S -= saved
        del saved
        came -= flow.I
        self.use(flow, came)
        self.suspect(flow, went)

    def hear(self, flow: Flow, news: News) -> None:
        u, engine, I, N = flow.u, flow.engine, flow.I, flow.N
        u.work.algorithm = self.name
        known = u.memory.known(self.stratum)
        d, a = news.d, news.a
        if d or known.complete:
            lost = engine.derive(
                known.rules,
                touching=d,
                touching_negated=a,
                within=news.before(I) - N,
                guard=I - flow.E,
            )
            self.suspect(flow, lost)
            del lost
            u.note(self.deletes)
        if a or known.complete:
            found = engine.derive(
                known.rules, touching=a, touching_negated=d, within=news.after(I) - N, guard=~I
            )
            # A suspect may be among the body facts: whether the head holds is asked later.
            flow.R |= found
            u.note("DR5")

    def suspect(self, flow: Flow, lost: FactSet) -> None:
        """Facts of I have lost something; one that no rule has used goes without a trace."""
        unused = flow.engine.collect(lost & flow.N)
        flow.S |= lost - unused
        if unused:
            flow.u.work.numbers["cancelled"] += len(unused)
            flow.leave(unused)
            flow.N -= unused
            flow.R |= unused

    def use(self, flow: Flow, F: FactSet) -> None:
        """Facts hold, and rules have to hear of it."""
        if F:
            flow.R -= F
            flow.enter(F)
            if self.stratum.recursive:
                flow.N |= F

    def ask(self, flow: Flow, F: FactSet) -> None:
        """Those candidates hold that are explicit or follow from facts that rules have used."""
        rules = flow.u.memory.known(self.stratum).rules
        found = flow.engine.provable(rules, F, within=flow.I - flow.N)
        found |= F & flow.E
        found -= flow.I
        self.use(flow, found)
        flow.u.note("DR4")

    def insert(self, flow: Flow, F: FactSet) -> None:
        """Rules use facts that nobody has used before, together with those in use."""
        I, N = flow.I, flow.N
        found = flow.engine.derive(self.stratum.recursive, touching=F, within=I - N, guard=~I)
        self.use(flow, found)
        flow.u.note("DR5")


class Dred(_Chasing):
    """Suspects go, with all that follows from them; then what is left is asked for them.

    Overdeletion drains before anything is rederived or inserted (Illich and Glimm, 3.1.2): facts
    only leave I as long as there are suspects, so it ends; and what comes back then cannot rest on
    a fact that has yet to go.
    """

    name, deletes = "dred", "DR2"

    def step(self, flow: Flow) -> bool:
        flow.u.memory.keep_ages(self.stratum)
        if S := flow.take(flow.S, self.relations):
            self.overdelete(flow, S)
        elif R := flow.take(flow.R, self.relations):
            self.ask(flow, R)
        elif N := flow.take(flow.N, self.relations):
            self.insert(flow, N)
        else:
            return False
        return True

    def overdelete(self, flow: Flow, F: FactSet) -> None:
        u, I = flow.u, flow.I
        u.work.numbers["|D|"] += len(F)
        guard = ((I - flow.S) - F) - flow.E
        lost = flow.engine.derive(
            self.stratum.recursive, touching=F, within=I - flow.N, guard=guard
        )
        flow.leave(F)
        flow.R |= F
        self.suspect(flow, lost)
        u.note(self.deletes)


class Aged(Dred):
    """DRed, but a suspect that has an instance from older facts left is none (see `aged`).

    All instances that were applied are followed when a body fact goes, so the fact will be suspect
    again then. What enters I is younger than the facts that it follows from, and a suspect that is
    cancelled has never left.
    """

    name = "aged"

    def overdelete(self, flow: Flow, F: FactSet) -> None:
        u, memory = flow.u, flow.u.memory
        if memory.has("ages", self.stratum) and self._pays(flow):
            known, count = memory.known(self.stratum), len(F)
            within = flow.I - flow.N
            F -= flow.engine.provable(known.rules, F, within=within, older=known.inside)
            memory.costs(self.stratum).supported(count - len(F), count)
            u.note("checks")
        if F:
            super().overdelete(flow, F)

    def _pays(self, flow: Flow) -> bool:
        """Where checks found hardly anything, only now and then."""
        likely = flow.u.memory.costs(self.stratum).support >= UNLIKELY
        return likely or flow.steps % ROUNDS == 0


class BackwardForward(_Chasing):
    """Suspects are checked, and go only if they have no proof.

    Facts are inserted first, from suspects too: what that brings follows from them by instances
    that were applied, so it becomes suspect when they go. Nothing is asked while suspects are left,
    and no proof rests on a fact that no rule has used. What goes has no proof from E and what was
    heard, so insertion cannot bring it back before something else is new, and work ends.

    What a check has found serves all suspects, so all are checked at once. After the time of a step
    it is given up for an update that waits; when that happens again, after twice the time, so that
    it ends.
    """

    name, deletes = "bf", "del prop"

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum)
        self._patience = STEP  # seconds

    def step(self, flow: Flow) -> bool:
        flow.u.memory.keep(self.stratum)
        if N := flow.take(flow.N, self.relations):
            self.insert(flow, N)
        elif S := flow.take(flow.S, self.relations, MOST if self.stratum.recursive else None):
            self.check(flow, S)
        elif R := flow.take(flow.R, self.relations):
            self.ask(flow, R)
        else:
            return False
        return True

    def check(self, flow: Flow, F: FactSet) -> None:
        """Suspects that have no proof go, and so do facts without one that were met on the way."""
        u, I = flow.u, flow.I
        with flow.parked("N"):
            gone = self.disproved(flow, F) if self.stratum.recursive else self.unproved(u, F)
        if not gone:
            return
        guard = (I - gone) - flow.E
        flow.S |= flow.engine.derive(self.stratum.recursive, touching=gone, within=I, guard=guard)
        u.note(self.deletes)
        flow.S -= gone
        flow.leave(gone)

    def proved(self, u: Update, F: FactSet) -> FactSet:
        return u.engine.provable(self.stratum.nonrecursive, F, within=u.I)

    def unproved(self, u: Update, F: FactSet) -> FactSet:
        u.work.numbers["|C|"] += len(F)
        F -= u.E
        F -= self.proved(u, F)
        u.note("saturate")
        return F

    def disproved(self, flow: Flow, F: FactSet) -> FactSet:
        u = flow.u
        check = Check(u, self.stratum, lambda facts: self.proved(u, facts))
        asked = flow.engine.save(F)
        flow.patient_until = time.perf_counter() + self._patience
        try:
            gone = check.decide(F)
        except Waiting:
            self._patience *= 2
            del check, F
            flow.S |= flow.engine.hold(asked)
            raise
        finally:
            flow.patient_until = math.inf
        self._patience = STEP
        u.work.numbers["|C|"] += len(check.C)
        return gone


class Counting:
    """A stratum without recursion: a fact holds while it is explicit or its counter is above zero.

    The counter has the instances that were applied: those over what the stratum has heard of.
    """

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        return _in_steps(flow, self.stratum, D, A)

    def explicit(self, flow: Flow, came: FactSet, went: FactSet) -> None:
        flow.u.work.algorithm = "counting"
        flow.S -= came
        came -= flow.I
        flow.enter(came)
        flow.S |= went

    def hear(self, flow: Flow, news: News) -> None:
        u, engine, I, C = flow.u, flow.engine, flow.I, flow.engine.nonrecursive
        u.work.algorithm = "counting"
        rules = self.stratum.nonrecursive
        self.counted(u, news.D, news.A)
        d, a = news.d, news.a
        changed = engine.derive(
            rules, touching=d, touching_negated=a, within=news.before(I), take_from=C
        )
        changed |= engine.derive(
            rules, touching=a, touching_negated=d, within=news.after(I), add_to=C
        )
        u.note("counts")
        held = engine.positive(C, changed)
        changed -= held
        if news.A or u.memory.known(self.stratum).complete:
            flow.S |= changed & I  # they may still get other derivations
        else:
            changed -= flow.E
            changed -= ~I
            flow.S -= changed
            flow.leave(changed)
        held -= I
        flow.enter(held)

    def step(self, flow: Flow) -> bool:
        S = flow.take(flow.S, self.stratum.relations)
        if not S:
            return False
        nothing = flow.engine.none()
        self.counted(flow.u, nothing, nothing)
        S -= flow.E
        S -= flow.engine.positive(flow.engine.nonrecursive, S)
        flow.leave(S)
        return True

    def counted(self, u: Update, D: FactSet, A: FactSet) -> None:
        """Count instances over what was heard, where these are news, unless that is known."""
        u.D, u.A = D, A
        recount(u, self.stratum, "nonrecursive", self.stratum.nonrecursive)
        u.D = u.A = u.E
        u.memory.keep(self.stratum, "nonrecursive")


def _held(engine: Engine, saved: Saved | None) -> FactSet:
    return engine.none() if saved is None else engine.hold(saved)


class _Remembering:
    """A stratum that remembers which of its facts are explicit now, or no more, until it is
    worked on."""

    def __init__(self, stratum: Stratum) -> None:
        self.stratum = stratum
        self.X: Saved | None = None

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        return len(D) + len(A)

    def explicit(self, flow: Flow, came: FactSet, went: FactSet) -> None:
        engine = flow.engine
        X = _held(engine, self.X)
        came |= went
        back = engine.collect(X & came)
        X |= came
        X -= back
        self.X = engine.save(X) if X else None

    def taken(self, flow: Flow) -> FactSet:
        saved, self.X = self.X, None
        return _held(flow.engine, saved)


class CountingByRounds(_Remembering):
    """A recursive stratum: the trace of rounds, brought up to date one round a step.

    The trace's counters have the instances that were applied. An update that joins may change a
    round that is done: then rounds are gone through again from the first, and only pairs whose
    count has changed since are looked at.

    # T, P, F, L as in `trace`
    """

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum)
        self.T: Saved | None = None
        self.F: Saved | None = None
        self.L: Saved | None = None
        self.present: Saved | None = None

    def hear(self, flow: Flow, news: News) -> None:
        engine, I, C = flow.engine, flow.I, flow.engine.nonrecursive
        rounds = self.built(flow, news)
        d, a = news.d, news.a
        with flow.parked():
            u = flow.u
            T = _held(engine, self.T)
            T |= engine.derive(
                rounds.rules, touching=d, touching_negated=a, within=news.before(I), take_from=C
            )
            T |= engine.derive(
                rounds.rules, touching=a, touching_negated=d, within=news.after(I), add_to=C
            )
            note(u, T)
            self.T, self.present = engine.save(T), None
            u.note("counts")

    def built(self, flow: Flow, news: News | None) -> Rounds:
        """The rules by rounds, and the trace of what was heard so far."""
        u, engine = flow.u, flow.engine
        u.work.algorithm = "counting"
        rounds = u.memory.once(Rounds.of, self.stratum, engine.kinds)
        if not u.memory.has("trace", self.stratum):
            with flow.parked():
                u.X = _held(engine, self.X)
                u.D = engine.none() if news is None else news.D
                u.A = u.D if news is None else news.A
                build(u, rounds, rounds.rules, self.stratum)
                u.X = u.D = u.A = u.E
        u.memory.keep(self.stratum, "trace")
        return rounds

    def step(self, flow: Flow) -> bool:
        if self.T is None and self.X is None:
            return False
        rounds = self.built(flow, None)
        engine = flow.engine
        with flow.parked():
            u = flow.u
            X = self.taken(flow)
            if X:
                self.present = None
            P = engine.derive(rounds.at_start, touching=X, within=X)
            del X
            T, F, L = (_held(engine, saved) for saved in (self.T, self.F, self.L))
            if self.present is None:
                present = engine.apply(START, within=engine.none())
            else:
                present = engine.hold(self.present)
            u.watch.round()
            one_round(u, rounds, rounds.rules, present, T, P, F, L, u.E, u.I)
            present = engine.apply(TICK, within=present)
            u.note("counts")
            del P
            more = bool(T)
            self.T, self.present = (engine.save(T), engine.save(present)) if more else (None, None)
            del T, present
            self.F, self.L = engine.save(F), engine.save(L)
            del F, L
        if not more:
            self.settle(flow, rounds)
        return True

    def settle(self, flow: Flow, rounds: Rounds) -> None:
        """Facts hold that have a first round."""
        engine, I = flow.engine, flow.I
        pairs = engine.hold(self.F)
        pairs |= engine.hold(self.L)
        self.F = self.L = None
        changed = engine.derive(rounds.facts, touching=pairs, within=pairs)
        del pairs
        found = engine.provable(rounds.facts, changed, within=I)
        changed -= found
        changed -= ~I
        flow.leave(changed)
        found -= I
        flow.enter(found)


class Whole(_Remembering):
    """A stratum that is brought up to date in one go, by any algorithm: updates overlap between
    strata, and not within this one."""

    def __init__(self, stratum: Stratum, algorithm: Algorithm) -> None:
        super().__init__(stratum)
        self._maintain = algorithm

    def hear(self, flow: Flow, news: News) -> None:
        self.run(flow, self.taken(flow), news.D, news.A)

    def step(self, flow: Flow) -> bool:
        if self.X is None:
            return False
        self.run(flow, self.taken(flow), flow.engine.none(), flow.engine.none())
        return True

    def run(self, flow: Flow, X: FactSet, D: FactSet, A: FactSet) -> None:
        engine = flow.engine
        with flow.parked():
            now = flow.u
            u = Update(engine, now.E, now.I, X, D, A, now.watch, now.memory)
            u.report = now.report
            u.begin(now.work)
            self._maintain(u, self.stratum, (), ())
            del u, X
            went = engine.save(engine.collect(D, self.stratum.relations))
            came = engine.save(engine.collect(A, self.stratum.relations))
        flow.went(engine.hold(went))
        flow.came(engine.hold(came))


def _in_steps(flow: Flow, stratum: Stratum, D: FactSet, A: FactSet) -> int:
    """How many facts to hear in a step. A group is evaluated as a whole, however few of its facts
    have changed: where there are groups, half of the facts that are left, so that none is
    evaluated often."""
    grouped = flow.u.memory.known(stratum).grouped
    return max(flow.size, (len(D) + len(A)) // 2) if grouped else flow.size


def _is_quick(flow: Flow, stratum: Stratum, deletes: bool, facts: int) -> bool:
    """Does such a change usually take less than a step?"""
    usual = flow.u.memory.costs(stratum).usual(deletes, facts)
    return usual is not None and usual < 2 * STEP


class Modular(Whole):
    """A stratum with closure modules: in one go where that usually takes less than a step, else a
    part of what changed at a time.

    What it has not heard of is put back for as long as it works on a part: everything below it is
    then as if the rest had not happened yet. That costs a little for every fact of the rest, so
    there are at most `PARTS`.
    """

    def __init__(self, stratum: Stratum) -> None:
        super().__init__(stratum, BY_STRATUM["auto"])

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        facts = len(D) + len(A)
        return facts if _is_quick(flow, self.stratum, bool(D), facts) else facts // PARTS

    def hear(self, flow: Flow, news: News) -> None:
        engine = flow.engine
        if news.d is not news.D:
            news.D -= news.d
            news.A -= news.a
            with engine.as_before(news.D, news.A), self.held_back(flow):
                self.run(flow, engine.none(), news.d, news.a)
        else:
            with self.held_back(flow):
                self.run(flow, engine.none(), news.D, news.A)

    def step(self, flow: Flow) -> bool:
        engine = flow.engine
        if self.X is None:
            return False
        X = self.taken(flow)
        facts = len(X)
        if not _is_quick(flow, self.stratum, bool(engine.some(X - flow.E, 1)), facts):
            some = flow.take(X, self.stratum.relations, max(flow.size, facts // OWN_PARTS))
            self.X = engine.save(X) if X else None
            X = some
        with self.held_back(flow):
            self.run(flow, X, engine.none(), engine.none())
        return True

    @contextmanager
    def held_back(self, flow: Flow) -> Iterator[None]:
        """In the block, facts that the stratum remembers are explicit, or not, as before."""
        if self.X is None:
            yield
            return
        engine, E = flow.engine, flow.E
        X = engine.hold(self.X)
        came, went = engine.save(engine.collect(X & E)), engine.save(engine.collect(X - E))
        del X
        E -= engine.hold(came)
        E |= engine.hold(went)
        try:
            yield
        finally:
            E |= engine.hold(came)
            E -= engine.hold(went)


class Auto:
    """As a whole where that usually takes less than a step, else in steps: by ages; or where there
    is no recursion by counters, if they are kept or pay from now on (see `auto`), and by checks."""

    def __init__(self, stratum: Stratum, memory: Memory) -> None:
        self.stratum = stratum
        self._whole = Whole(stratum, BY_STRATUM["auto"])
        self._chasing: Course
        if stratum.recursive:
            self._chasing = Aged(stratum)
        elif memory.has("nonrecursive", stratum):
            self._chasing = Counting(stratum)
        else:
            self._chasing = BackwardForward(stratum)
        self._heard = (0, 0)  # facts that went and that came
        self._seconds = 0.0  # of steps for them

    def portion(self, flow: Flow, D: FactSet, A: FactSet) -> int:
        if self.at_once(flow, D, A):
            return len(D) + len(A)
        return _in_steps(flow, self.stratum, D, A)

    def at_once(self, flow: Flow, D: FactSet, A: FactSet) -> bool:
        if any(self.has_some(flow, F) for F in (flow.S, flow.R, flow.N)):
            return False  # it is under way in steps
        return _is_quick(flow, self.stratum, bool(D), len(D) + len(A))

    def has_some(self, flow: Flow, F: FactSet) -> bool:
        return any(name in self.stratum.relations for name in flow.engine.relations(F))

    def explicit(self, flow: Flow, came: FactSet, went: FactSet) -> None:
        self._chasing.explicit(flow, came, went)

    def hear(self, flow: Flow, news: News) -> None:
        if news.d is news.D and self.at_once(flow, news.D, news.A):
            self._whole.hear(flow, news)
            return
        self.choose(flow, news.D, news.A)
        self._heard = self._heard[0] + len(news.d), self._heard[1] + len(news.a)
        with self.timed(flow):
            self._chasing.hear(flow, news)

    def step(self, flow: Flow) -> bool:
        nothing = flow.engine.none()
        self.choose(flow, nothing, nothing)
        with self.timed(flow):
            more = self._chasing.step(flow)
        if not more and any(self._heard):
            went, came = self._heard
            costs = flow.u.memory.costs(self.stratum)
            costs.followed(went > 0, went + came, self._seconds)
            self._heard, self._seconds = (0, 0), 0.0
        return more

    def choose(self, flow: Flow, D: FactSet, A: FactSet) -> None:
        """Go on by counters instead of checks, if they are kept, or if they pay from now on: these
        facts went and came, and are not heard of yet. Candidates would not be asked about."""
        if isinstance(self._chasing, BackwardForward) and not self.has_some(flow, flow.R):
            u, stratum = flow.u, self.stratum
            if u.memory.has("nonrecursive", stratum) or self.begins_to_count(u, D, A):
                self._chasing = Counting(stratum)
                self._heard, self._seconds = (0, 0), 0.0

    def begins_to_count(self, u: Update, D: FactSet, A: FactSet) -> bool:
        went, came = self._heard[0] + len(D), self._heard[1] + len(A)
        costs = u.memory.costs(self.stratum)
        if not went or not begins_to_count(u, self.stratum, costs, went + came):
            return False
        u.D, u.A = D, A
        count(u, self.stratum, costs, (), ())
        u.D = u.A = u.E
        return True

    @contextmanager
    def timed(self, flow: Flow) -> Iterator[None]:
        """What is done in the block is part of following what was heard."""
        began = flow.u.clock()
        yield
        seconds = flow.u.clock() - began
        self._seconds += seconds
        if self._heard[0] and isinstance(self._chasing, BackwardForward):
            flow.u.memory.costs(self.stratum).searched(seconds)
