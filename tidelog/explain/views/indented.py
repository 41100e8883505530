"""A proof as indented text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.explain.derivation import Derivation
from tidelog.program.diagnostics import plural
from tidelog.program.proof_steps import (
    Absent,
    Binding,
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


def as_text(proof: Derivation) -> str:
    lines: list[str] = []
    shown: set[GroundFact] = set()
    for goal in proof.goals:
        lines += _lines(proof, goal, shown)
    lines += [f"left out: {reason}" for reason in proof.left_out]
    return "\n".join(lines)


def _lines(proof: Derivation, goal: GroundFact, shown: set[GroundFact]) -> list[str]:
    """The goal with all below it, each fact once. Proofs may be deeper than Python recurses."""
    lines: list[str] = []
    work: list[tuple[GroundFact | str, int]] = [(goal, 0)]
    while work:
        what, indent = work.pop()
        if isinstance(what, str):
            lines.append("  " * indent + what)
            continue
        steps = proof.steps[what]
        text = proof.text_of(what)
        if len(steps) == 1 and isinstance(steps[0], Explicit):
            lines.append("  " * indent + f"{text}  explicit")
        elif len(steps) == 1 and isinstance(steps[0], Open):
            lines.append("  " * indent + f"{text}  not shown: {steps[0].why}")
        elif what in shown:
            lines.append("  " * indent + f"{text}  see above")
        else:
            shown.add(what)
            lines.append("  " * indent + text)
            below = [each for i, step in enumerate(steps) for each in _below(step, i > 0)]
            work += [(each, indent + 1 + deeper) for each, deeper in reversed(below)]
    return lines


def _below(step: Step, another: bool) -> Iterator[tuple[GroundFact | str, int]]:
    """What stands below a fact, and how much deeper than the rule."""
    also = "or " if another else ""
    match step:
        case Explicit():
            yield f"{also}explicit", 0
        case Open(why):
            yield f"{also}not shown: {why}", 0
        case Path(closure, links, swapped):
            way = "from the second column to the first" if swapped else ""
            yield f"{also}by a path of {plural(len(links), 'fact')}: {closure} {way}".rstrip(), 0
            yield from ((link.fact, 0) for link in links)
        case RuleInstance():
            yield f"{also}by {step.rule}{_place(step)}{binding_list(step.bindings)}", 0
            for premise in step.premises:
                if isinstance(premise, GroundFact):
                    yield premise, 0
                else:
                    yield from _other(premise)


def _other(premise: Premise) -> Iterator[tuple[GroundFact | str, int]]:
    yield premise_text(premise), 0
    if isinstance(premise, FoldedRows):
        for row in premise.rows:
            yield from ((fact, 1) for fact in row)
        if premise.count > len(premise.rows):
            yield f"… {premise.count - len(premise.rows):,} more", 1


def premise_text(premise: Premise) -> str:
    """A premise that is not a fact."""
    match premise:
        case Absent(atom):
            return f"!{to_text(atom)}  absent"
        case FoldedRows(text, _, value, kind, count):
            return f"{text} = {value_text(value, kind)}  from {plural(count, 'row')}"
        case Test(text):
            return text
    raise AssertionError("facts have steps of their own")


def binding_list(bindings: Iterable[Binding]) -> str:
    """The values of a rule's variables, behind the rule."""
    text = ", ".join(f"{b.name} = {value_text(b.value, b.kind)}" for b in bindings)
    return f"  {text}" if text else ""


def _place(step: RuleInstance) -> str:
    return f"  {step.at.file}:{step.at.line}" if step.at.line else ""
