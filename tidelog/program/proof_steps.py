"""What a proof is made of: each fact with the steps by which it follows, down to explicit facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.program.syntax import NOWHERE, Atom, Kind, Span, Value


class GroundFact(NamedTuple):
    """A fact as a premise or a conclusion."""

    relation: str
    row: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """No fact matches the atom, whose terms are constants and `_`."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison, equation or range that holds of these values."""

    text: str


@dataclass(frozen=True, slots=True)
class FoldedRows:
    """The value of an aggregate, as `text` says. `count` rows were folded; of the first of them,
    `rows` has the facts."""

    text: str
    op: str
    value: Value
    kind: Kind | None
    count: int
    rows: tuple[tuple[GroundFact, ...], ...]


Premise = GroundFact | Absent | Test | FoldedRows


class Binding(NamedTuple):
    """The value of a rule's variable."""

    name: str
    value: Value
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class Explicit:
    """The fact is stated."""


@dataclass(frozen=True, slots=True)
class RuleInstance:
    """A rule instance: its bindings match the rule to the fact and the premises."""

    rule: str
    bindings: tuple[Binding, ...]
    premises: tuple[Premise, ...]
    at: Span = field(default=NOWHERE, compare=False)


class PathLink(NamedTuple):
    """A fact on a path; `swapped` if the path takes it from its second column to its first."""

    fact: GroundFact
    swapped: bool


@dataclass(frozen=True, slots=True)
class Path:
    """A closure has the fact because a path leads from its first column to its second, or the other
    way round if `swapped`: as the facts of an inverse relation do. There is no shorter path."""

    closure: str
    links: tuple[PathLink, ...]
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """The fact holds, and its proof is not part of the answer; `why` says what kept it out."""

    why: str


Step = Explicit | RuleInstance | Path | Open


def premises_of(step: Step) -> tuple[GroundFact, ...]:
    """The facts that a step needs, each once, those of aggregates last."""
    found: dict[GroundFact, None] = {}
    match step:
        case RuleInstance(premises=premises):
            found |= {p: None for p in premises if isinstance(p, GroundFact)}
            folds = (p for p in premises if isinstance(p, FoldedRows))
            found |= {fact: None for fold in folds for row in fold.rows for fact in row}
        case Path(links=links):
            found |= {link.fact: None for link in links}
    return tuple(found)
