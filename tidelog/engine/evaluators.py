"""The evaluators: all that is needed to derive and maintain the consequences of rules.

An instance of a rule is a way to match its body. Its positive literals are read in the view
`within`, its negated literals and aggregates in the view `negative` (the same unless given). Both
lie within sets, as `I - D` does: a complement such as `~D` holds whatever an engine happens to
know. Heads outside the view `guard` are left out of a result; counters change by one for the head
of every instance nevertheless (`add_to`, `take_from`).
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from tidelog.engine.abilities import Rounds
from tidelog.engine.sets import Counter, FactSet, View
from tidelog.program.rules import Rule


class Evaluators(Protocol):
    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> FactSet:
        """Heads of all instances."""

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        touching_negated: FactSet | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> FactSet:
        """Heads of the instances that have a body fact in `touching`; each is considered once.

        With `touching_negated`, which must lie outside `negative`, also the instances that meet
        it in a negated literal (the papers' Δ^n), and those with an aggregate over a group to
        which either set has a fact.
        """

    def spread(
        self,
        rules: Sequence[Rule],
        N: FactSet,
        into: Sequence[FactSet],
        *,
        within: View,
        guard: View,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
        each: Callable[[], bool],
        most: int | None = None,
        alone: Rounds | None = None,
    ) -> None:
        """Round by round, N joins the sets `into`, and what `derive` gives for facts that touch N
        becomes N; until N is empty, or `each`, which is called before every round, says no.

        It may end in the midst of a round, after about `most` instances: N is not empty then.
        Rounds that are reported to `alone` may begin without a call of `each`. The views may be
        made of N and of the sets, and are seen as they are in each round.
        """

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> FactSet:
        """Those of `facts` that are the head of an instance. With `older`, body facts of these
        relations must be older than the head: an engine with `FactAges` knows that."""

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        among: Sequence[str] | None = None,
    ) -> FactSet:
        """Body facts (of the relations `among` only, if given) of instances for these heads."""
