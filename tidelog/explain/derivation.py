"""What a proof consists of, for all its views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.program.proof_steps import (
    Explicit,
    GroundFact,
    Open,
    RuleInstance,
    Step,
    premises_of,
)
from tidelog.program.rules import Relation
from tidelog.text.writer import value_text


@dataclass(frozen=True)
class Derivation:
    """For each fact, the steps by which it follows from others.

    `steps` has one step for each fact, or several alternatives for a goal, the lowest first.
    `minimal` says that no proof of a goal has fewer levels; it is not known where a closure has
    paths, or where the search was cut. `left_out` says what is not there, and why.
    """

    goals: tuple[GroundFact, ...]
    steps: Mapping[GroundFact, tuple[Step, ...]]
    relations: Mapping[str, Relation] = field(repr=False)
    minimal: bool = True
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        """How many facts the proof has."""
        return len(self.steps)

    @property
    def complete(self) -> bool:
        """Is every fact proved down to explicit facts?"""
        return not any(isinstance(step, Open) for steps in self.steps.values() for step in steps)

    @property
    def height(self) -> int:
        """Levels of rules above explicit facts, of the highest goal; what aggregates and negations
        read does not count."""
        heights: dict[GroundFact, int] = {}
        for fact in self.upwards():
            step = self.steps[fact][0]
            below = [heights[f] for f in _counted(step)]
            leaf = isinstance(step, Explicit | Open)
            heights[fact] = 0 if leaf else 1 + max(below, default=0)
        return max((heights[goal] for goal in self.goals), default=0)

    def upwards(self) -> Iterator[GroundFact]:
        """The facts, each after those of its premises."""
        done: set[GroundFact] = set()
        work = [(goal, False) for goal in reversed(self.goals)]
        while work:
            fact, seen = work.pop()
            if fact in done:
                continue
            if seen:
                done.add(fact)
                yield fact
                continue
            work.append((fact, True))
            below = [p for step in self.steps[fact] for p in premises_of(step)]
            work += [(premise, False) for premise in reversed(below) if premise not in done]

    @property
    def explicit(self) -> tuple[GroundFact, ...]:
        """The explicit facts on which the proof rests."""
        return tuple(f for f in self.upwards() if isinstance(self.steps[f][0], Explicit))

    def text_of(self, fact: GroundFact) -> str:
        """The fact in the notation of programs."""
        return f"{fact.relation}({self.row_text(fact)})"

    def row_text(self, fact: GroundFact) -> str:
        kinds = self.relations[fact.relation].kinds
        return ", ".join(value_text(v, kind) for v, kind in zip(fact.row, kinds, strict=True))


def _counted(step: Step) -> Sequence[GroundFact]:
    if isinstance(step, RuleInstance):
        return [p for p in step.premises if isinstance(p, GroundFact)]
    return premises_of(step)
