"""Strata that are materialised together.

A program of many small strata, such as an ontology, would need some jobs for each of them. Strata
separate negation and aggregates from what they read; where neither comes between, all rules can run
at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.program.rules import Rule, Stratum


def fuse(strata: Iterable[Stratum]) -> list[Stratum]:
    """As few strata as possible, in order; relations without rules are in none of them.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "e(1). p(x) :- e(x). q(x) :- p(x). r(x) :- e(x), !q(x)."
    >>> found = fuse(analyse(parse(text).program).checked.strata)
    >>> [(one.relations, len(one.nonrecursive), len(one.recursive)) for one in found]
    [(('p', 'q'), 1, 1), (('r',), 1, 0)]
    """
    groups: list[list[Stratum]] = [[]]
    inside: set[str] = set()
    for stratum in strata:
        if not stratum.rules:
            continue
        if any(complete and n in inside for rule in stratum.rules for n, complete in rule.reads()):
            groups.append([])
            inside = set()
        groups[-1].append(stratum)
        inside.update(stratum.relations)
    return [_fused(group) for group in groups if group]


def _fused(group: Sequence[Stratum]) -> Stratum:
    if len(group) == 1:
        return group[0]
    relations = tuple(name for stratum in group for name in stratum.relations)
    inside = frozenset(relations)

    def reads_inside(rule: Rule) -> bool:
        return any(name in inside for name, _ in rule.reads())

    rules = [rule for stratum in group for rule in stratum.rules]
    return Stratum(
        relations,
        tuple(rule for rule in rules if not reads_inside(rule)),
        tuple(rule for rule in rules if reads_inside(rule)),
    )
