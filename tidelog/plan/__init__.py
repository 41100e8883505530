"""From a program as written to the core form that engines run.

Each pass is one file with one function; what is wrong with a program is collected on the
way, so that as much as possible is found in one go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.plan.aggregate_targets import name_targets
from tidelog.plan.desugar import desugar
from tidelog.plan.draft import Draft
from tidelog.plan.functor_signatures import resolve_functors
from tidelog.plan.inline import choose_inline, unfold
from tidelog.plan.loose_records import solve_loose_records
from tidelog.plan.lower_subsumption import lower_subsumptions, raised
from tidelog.plan.regex_constants import check_patterns
from tidelog.plan.relations import resolve_relations
from tidelog.plan.safety import check_safety
from tidelog.plan.strata import stratify
from tidelog.plan.subtypes import check_subtypes
from tidelog.plan.type_names import resolve_types
from tidelog.plan.types import infer_types
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.garbage import uncollected
from tidelog.program.rules import CheckedProgram
from tidelog.program.syntax import Program

__all__ = ["PASSES", "Analysis", "analyse"]

SHOWN = 100  # findings of one severity that are shown
PASSES: tuple[Callable[[Draft], Draft], ...] = (
    resolve_types,
    resolve_functors,
    lower_subsumptions,
    resolve_relations,
    solve_loose_records,
    name_targets,
    choose_inline,
    check_safety,
    infer_types,
    check_subtypes,
    check_patterns,
    unfold,
    desugar,
    stratify,
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """`typed` and `checked` are None if an error is among the diagnostics."""

    typed: Program | None
    checked: CheckedProgram | None
    diagnostics: tuple[Diagnostic, ...]


def analyse(program: Program, unfold: bool = False, states: bool = True) -> Analysis:
    """Check a program, and bring it to the core form if it has no errors.

    `unfold` puts the rules of inline relations where these are used, wherever that can be done and
    does not expand to too much; without it only those that have no other meaning. Clauses such as
    `p(1 + 1).` state facts, unless `states` is False: they are rules then, as those that are added
    later.

    >>> from tidelog.text import parse
    >>> analysis = analyse(parse("p(x, z) :- e(x, y), e(y, z). e(1, 2). e(2, 3).").program)
    >>> [stratum.relations for stratum in analysis.checked.strata]
    [('e',), ('p',)]
    """
    found = _analyse(program, unfold, states)
    inlines = any("inline" in each.qualifiers for each in program.relations)
    if unfold and inlines and found.checked is None:
        return _analyse(program, False, states)
    return found


def _analyse(program: Program, unfold: bool, states: bool) -> Analysis:
    draft = Draft(program, unfold=unfold, states=states)
    try:
        with uncollected():
            for run in PASSES:
                draft = run(draft)
    except RecursionError:  # the parser lets nothing so deep through, but a caller may build it
        return Analysis(None, None, (Diagnostic("the program nests too deeply"),))
    found = _some_of(sorted(draft.diagnostics, key=_position))
    if draft.faulty:
        return Analysis(None, None, found)
    typed, own = raised(draft.program, draft.own)
    checked = CheckedProgram(
        dict(draft.relations),
        draft.rules,
        draft.strata,
        dict(draft.facts),
        draft.program.directives,
        own,
        draft.numbered,
        draft.computed,
    )
    return Analysis(typed, checked, found)


def _some_of(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """At most `SHOWN` findings of each severity, and how many are left out."""
    if len(found) <= SHOWN:
        return tuple(found)
    counts = Counter[str]()
    shown: list[Diagnostic] = []
    for finding in found:
        counts[finding.severity] += 1
        if counts[finding.severity] <= SHOWN:
            shown.append(finding)
    for severity in ("error", "warning"):
        more = counts[severity] - SHOWN
        if more > 0:
            text = f"1 more {severity} is" if more == 1 else f"{more} more {severity}s are"
            shown.append(Diagnostic(f"{text} not shown", severity=severity))
    return tuple(shown)


def _position(finding: Diagnostic) -> tuple[str, int, int]:
    return (finding.at.file, finding.at.line, finding.at.column) if finding.at else ("", 0, 0)
