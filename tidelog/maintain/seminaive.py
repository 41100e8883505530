"""Seminaive evaluation: every rule instance is considered once.

The method is that of Abiteboul, Hull and Vianu, *Foundations of Databases*, chapter 13: first
the instances over what the lower strata and the explicit facts give, then those that need a
fact of the round before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tidelog.maintain.seam import Counter, Engine, FactSet
from tidelog.program.rules import Rule, Stratum


class Watch(Protocol):
    """Told where the evaluation is; may raise to end it."""

    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def at(self, rule: Rule) -> None:
        """Where strata are worked on together: this rule is, now."""

    def pairs(self, count: int) -> None:
        """A closure has so many pairs, which are not facts of the engine yet."""


def saturate(
    engine: Engine,
    rules: Sequence[Rule],
    I: FactSet,
    N: FactSet,
    watch: Watch,
    *,
    added: FactSet | None = None,
    add_to: Counter | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Close I | N under rules for which only instances that touch N are missing.

    What comes to I comes to `added` too, and the instances are counted, if that is asked for;
    `before` is called before every round.
    """

    def each() -> bool:
        watch.round()
        if before is not None:
            before()
        return True

    into = (I,) if added is None else (I, added)
    engine.spread(rules, N, into, within=I, guard=~I, add_to=add_to, each=each)
