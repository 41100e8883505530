"""Changes of facts and rules, and the marks that end an update."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tidelog.program.syntax import NOWHERE, Clause, Span, Value

Op = Literal["+", "-"]


@dataclass(frozen=True, slots=True)
class FactChange:
    """Insert or delete a fact."""

    op: Op
    relation: str
    row: tuple[Value, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RuleChange:
    """Add or remove a rule, given by its text; one to remove may be given by its name instead."""

    op: Op
    rule: Clause | str
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of an update."""

    at: Span = field(default=NOWHERE, compare=False, repr=False)


Change = FactChange | RuleChange | Commit
