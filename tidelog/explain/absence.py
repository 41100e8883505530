"""Why a fact does not hold, as users get it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.explain.views.indented import binding_list, premise_text
from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import plural
from tidelog.program.proof_steps import Binding, GroundFact, Premise
from tidelog.program.rules import Relation
from tidelog.program.syntax import NOWHERE, Span
from tidelog.text.change_notation import change_text
from tidelog.text.writer import value_text


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far a rule gets: the premises that hold together, and what fails with them.

    `unbound` are conditions that depend on what fails. `more` says how many other ways there are to
    match as much.
    """

    rule: str
    bindings: tuple[Binding, ...]
    matched: tuple[Premise, ...]
    failed: tuple[str, ...]
    unbound: tuple[str, ...]
    more: int
    at: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class WhyNot:
    """Why a fact does not hold; made by `Database.why_not`.

    `attempts` has one for each rule that could derive the fact. Each of the `repairs` is a set of
    changes after which the fact holds, and none of which can be left out; that was tried.
    """

    goal: GroundFact
    attempts: tuple[Attempt, ...]
    repairs: tuple[tuple[FactChange, ...], ...]
    relations: Mapping[str, Relation] = field(repr=False)
    derivable: bool = True  # a rule derives facts of the relation
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self._text(self.goal)} does not hold"
        if not self.derivable:
            yield f"  it is not explicit, and no rule derives {self.goal.relation}"
        elif not self.attempts:
            yield "  no rule has a head of this form"
        for attempt in self.attempts:
            place = f"  {attempt.at.file}:{attempt.at.line}" if attempt.at.line else ""
            yield f"  {attempt.rule}{place}{binding_list(attempt.bindings)}"
            yield from (f"    holds: {self._premise(premise)}" for premise in attempt.matched)
            if attempt.more:
                yield f"    … and {plural(attempt.more, 'other way')} to match as much"
            yield from (f"    fails: {text}" for text in attempt.failed)
            yield from (f"    open:  {text}" for text in attempt.unbound)
        for repair in self.repairs:
            yield f"  repair: {' '.join(map(change_text, repair))}"
        yield from (f"  left out: {reason}" for reason in self.left_out)

    def _premise(self, premise: Premise) -> str:
        return self._text(premise) if isinstance(premise, GroundFact) else premise_text(premise)

    def _text(self, fact: GroundFact) -> str:
        kinds = self.relations[fact.relation].kinds
        return f"{fact.relation}({', '.join(map(value_text, fact.row, kinds))})"

    def to_dict(self) -> dict[str, Any]:
        """The answer as values that JSON has."""
        return {
            "fact": self._text(self.goal),
            "derivable": self.derivable,
            "attempts": [
                {
                    "rule": attempt.rule,
                    "at": {"file": attempt.at.file, "line": attempt.at.line},
                    "bindings": {b.name: value_text(b.value, b.kind) for b in attempt.bindings},
                    "holds": list(map(self._premise, attempt.matched)),
                    "fails": list(attempt.failed),
                    "open": list(attempt.unbound),
                    "more": attempt.more,
                }
                for attempt in self.attempts
            ],
            "repairs": [[change_text(change) for change in repair] for repair in self.repairs],
            "left_out": list(self.left_out),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
