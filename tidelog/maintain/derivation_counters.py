"""Derivation counters: how many rule instances derive each fact.

C_nr counts instances of nonrecursive rules, C_r those of recursive ones. Algorithms that do
not keep them leave them out of step; one that needs them then counts them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import View
from tidelog.maintain.memory import Kept
from tidelog.maintain.update import Context
from tidelog.program.rules import Rule, Stratum


def split(stratum: Stratum, rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Removed or added rules: the nonrecursive and the recursive ones."""
    inside = set(stratum.relations) if rules else set()
    parts: tuple[list[Rule], list[Rule]] = [], []
    for rule in rules:
        parts[any(name in inside for name, _ in rule.reads())].append(rule)
    return tuple(parts[0]), tuple(parts[1])


def recount(u: Context, stratum: Stratum, which: Kept, rules: Sequence[Rule], old: View) -> None:
    """Count the instances of rules that held before, in the old state, unless that is known."""
    if not u.memory.has(which, stratum):
        counter = u.engine.nonrecursive if which == "nonrecursive" else u.engine.recursive
        u.engine.reset(counter, stratum.relations)
        # All heads are in I: this counts, and collects nothing.
        u.engine.apply(rules, within=old, guard=~u.I, add_to=counter)
