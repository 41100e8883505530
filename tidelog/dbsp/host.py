"""What the interpreter asks of whoever runs it: values, and whether to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tidelog.dbsp.grounding import GroupFold, Where
from tidelog.dbsp.trace import Batch, Words
from tidelog.program.rules import Rule
from tidelog.program.syntax import Constant


class Host(Protocol):
    """What the circuit asks of whoever runs it; rows are words, as identified here."""

    def identify(self, constant: Constant) -> int:
        """The word of a constant."""

    def where(self, where: Where, rule: Rule, rows: Words) -> tuple[Words, Words | None]:
        """Which rows pass, by number and several times if a range says so; and the values of what
        is bound, a column for each variable. The part is one of this rule's."""

    def fold(self, fold: GroupFold, keys: Words | None) -> Words:
        """Keys and values of these groups, or of all, as facts are now."""

    def settled(self, changes: Mapping[str, Batch]) -> None:
        """Facts of a layer have changed."""

    def round(self, facts: int) -> None:
        """A round begins, with so many facts that have come; may raise."""

    def tick(self, facts: int, rule: Rule) -> None:
        """Work on a rule goes on; may raise."""
