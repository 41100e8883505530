"""A proof as JSON: its facts in the notation of programs, each with a number."""

from __future__ import annotations

import json
from typing import Any

from tidelog.explain.derivation import Derivation
from tidelog.explain.views.indented import premise_text
from tidelog.program.proof_steps import (
    Absent,
    Explicit,
    FoldedRows,
    GroundFact,
    Open,
    Path,
    Premise,
    RuleInstance,
    Step,
    Test,
)
from tidelog.text.writer import to_text, value_text


def as_json(proof: Derivation) -> str:
    return json.dumps(as_data(proof), indent=2, ensure_ascii=False)


def as_data(proof: Derivation) -> dict[str, Any]:
    """The proof as values that JSON has. `facts` come after those that they rest on."""
    numbers = {fact: i for i, fact in enumerate(proof.upwards())}
    return {
        "goals": [numbers[goal] for goal in proof.goals],
        "height": proof.height,
        "minimal": proof.minimal,
        "left_out": list(proof.left_out),
        "facts": [
            {
                "id": number,
                "fact": proof.text_of(fact),
                "relation": fact.relation,
                "steps": [_step(step, numbers) for step in proof.steps[fact]],
            }
            for fact, number in numbers.items()
        ],
    }


def _step(step: Step, numbers: dict[GroundFact, int]) -> dict[str, Any]:
    match step:
        case Explicit():
            return {"by": "explicit"}
        case Open(why):
            return {"by": "left out", "why": why}
        case Path(closure, links, swapped):
            path = [{"fact": numbers[link.fact], "swapped": link.swapped} for link in links]
            return {"by": "path", "closure": closure, "swapped": swapped, "path": path}
        case RuleInstance(rule, bindings, premises, at):
            return {
                "by": "rule",
                "rule": rule,
                "at": {"file": at.file, "line": at.line, "column": at.column},
                "bindings": {b.name: value_text(b.value, b.kind) for b in bindings},
                "premises": [_premise(premise, numbers) for premise in premises],
            }


def _premise(premise: Premise, numbers: dict[GroundFact, int]) -> dict[str, Any]:
    match premise:
        case GroundFact():
            return {"fact": numbers[premise]}
        case Absent(atom):
            return {"absent": to_text(atom)}
        case Test(text):
            return {"test": text}
        case FoldedRows(text, _, value, kind, count, rows):
            shown = [[numbers[fact] for fact in row] for row in rows]
            value_of = value_text(value, kind)
            return {"aggregate": text, "value": value_of, "rows": shown, "count": count}
    raise AssertionError(premise_text(premise))
