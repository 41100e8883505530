"""Changes of facts and rules, and the marks that end an update."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tidelog.program.syntax import NOWHERE, Clause, Span, Value

Op = Literal["+", "-"]


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact arrives or goes."""

    op: Op
    relation: str
    row: tuple[Value, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule arrives or goes, given by its text; one that goes may be given by its name instead."""

    op: Op
    rule: Clause | str
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """The update ends here."""

    at: Span = field(default=NOWHERE, compare=False, repr=False)


Change = FactChange | RuleChange | Commit
