"""Seminaive evaluation: every rule instance is considered once.

The method is that of Abiteboul, Hull and Vianu, *Foundations of Databases*, chapter 13: first
the instances over what the lower strata and the explicit facts give, then those that need a
fact of the previous round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tidelog.engine import Counter, Engine, FactSet, Rounds
from tidelog.program.rules import Rule, Stratum


class Watch(Rounds, Protocol):
    """Follows the progress of an evaluation, and may raise to end it."""

    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def at(self, rule: Rule) -> None:
        """Where all strata are evaluated together: this rule is evaluated now."""

    def pairs(self, count: int) -> None:
        """Called while a closure has this many pairs that are not yet facts of the engine."""


def saturate(
    engine: Engine,
    rules: Sequence[Rule],
    I: FactSet,
    N: FactSet,
    watch: Watch,
    *,
    inserted: FactSet | None = None,
    add_to: Counter | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Close I | N under rules for which only instances that touch N are missing.

    Facts inserted into I are also collected in `inserted`, and instances are counted in `add_to`,
    if given; `before` is called before every round.
    """

    def each() -> bool:
        watch.round()
        if before is not None:
            before()
        return True

    into = (I,) if inserted is None else (I, inserted)
    alone = watch if before is None else None
    engine.spread(rules, N, into, within=I, guard=~I, add_to=add_to, each=each, alone=alone)
