"""A proof as a graph for Graphviz: ellipses are facts, boxes are rules."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.explain.derivation import Derivation
from tidelog.explain.views.indented import premise_text
from tidelog.program.diagnostics import plural
from tidelog.program.proof_steps import Explicit, GroundFact, Open, Path, RuleInstance, premises_of


def as_graphviz(proof: Derivation) -> str:
    return "\n".join(["digraph proof {", "  rankdir=BT;", *_lines(proof), "}"])


def _lines(proof: Derivation) -> Iterator[str]:
    numbers = {fact: i for i, fact in enumerate(proof.upwards())}
    for fact, number in numbers.items():
        steps = proof.steps[fact]
        style = ", style=filled" if isinstance(steps[0], Explicit) else ""
        yield f"  f{number} [label={_quoted(proof.text_of(fact))}{style}];"
        for i, step in enumerate(steps):
            if isinstance(step, Explicit):
                continue
            match step:
                case Open(why):
                    lines = [f"not shown: {why}"]
                case Path(closure, links):
                    lines = [f"a path of {plural(len(links), 'fact')}", closure]
                case RuleInstance(rule, _, premises):
                    others = (p for p in premises if not isinstance(p, GroundFact))
                    lines = [rule, *map(premise_text, others)]
            yield f"  s{number}_{i} [shape=box, label={_quoted(*lines)}];"
            yield f"  s{number}_{i} -> f{number};"
            for premise in premises_of(step):
                yield f"  f{numbers[premise]} -> s{number}_{i};"


def _quoted(*lines: str) -> str:
    """Lines as a label: only quotes, backslashes and ends of lines have a meaning there."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(line.replace("\n", " ") for line in escaped) + '"'
