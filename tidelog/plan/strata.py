"""Strata: relations in an order in which negation and aggregation only look down."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tidelog.plan import autoinc, lower_subsumption
from tidelog.plan.draft import Draft, place
from tidelog.plan.strongly_connected import components, shortest_path
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.rules import Group, Literal, Pruning, Rule, Stratum
from tidelog.program.syntax import UNDER


def stratify(draft: Draft) -> Draft:
    """Divide relations and rules into strata; a cycle through a negation is an error."""
    found = [_with_choices(s, draft) for s in strata(list(draft.relations), draft.rules)]
    faults = [fault for stratum in found for fault in _faults(stratum, draft)]
    for stratum in found:
        for each in stratum.pruned:
            inside = frozenset(stratum.relations)
            faults += lower_subsumption.faults(each.relation, each.rules, inside)
    if draft.numbered:
        faults += autoinc.faults(found)
    return replace(draft, strata=tuple(found)).found(faults)


def _with_choices(stratum: Stratum, draft: Draft) -> Stratum:
    """The stratum with what `choice-domain` says of its relations."""
    chosen = [name for name in stratum.relations if draft.relations[name].choices]
    if not chosen:
        return stratum
    known = {each.relation: each for each in stratum.pruned}
    for name in chosen:
        before = known.get(name, Pruning(name))
        known[name] = replace(before, choices=draft.relations[name].choices)
    return replace(stratum, pruned=tuple(known.values()))


def strata(relations: Iterable[str], rules: Sequence[Rule]) -> list[Stratum]:
    """Relations that depend on each other form a stratum, after those they depend on.

    >>> p, q, r = Literal("p", ()), Literal("q", ()), Literal("r", ())
    >>> rules = [Rule(p, (q, r)), Rule(q, (p,)), Rule(q, (r,))]
    >>> for stratum in strata("pqr", rules):
    ...     print(stratum.relations, len(stratum.nonrecursive), len(stratum.recursive))
    ('r',) 0 0
    ('p', 'q') 1 2
    """
    by_head: dict[str, list[Rule]] = {n: [] for n in relations if not n.startswith(UNDER)}
    reads: dict[str, dict[str, None]] = {name: {} for name in by_head}
    pruning: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.head.relation.startswith(UNDER):
            # What says which facts go must be there before the relation is begun.
            name = rule.head.relation.removeprefix(UNDER)
            pruning.setdefault(name, []).append(rule)
            reads[name].update((read, None) for read, _ in rule.reads() if read != name)
            continue
        by_head[rule.head.relation].append(rule)
        reads[rule.head.relation].update((name, None) for name, _ in rule.reads())
    found = []
    for names in components(reads):
        inside = set(names)
        parts: tuple[list[Rule], list[Rule]] = [], []
        for name in names:
            for rule in by_head[name]:
                recursive = any(read in inside for read, _ in rule.reads())
                parts[recursive].append(rule)
        pruned = tuple(Pruning(n, tuple(pruning[n])) for n in names if n in pruning)
        found.append(Stratum(tuple(names), tuple(parts[0]), tuple(parts[1]), pruned))
    return found


def fewest(strata: Iterable[Stratum], apart: Collection[str] = ()) -> tuple[Stratum, ...]:
    """The same relations, also those without rules, in as few strata as possible: in one where no
    rule has negation or aggregates. Subsumption and choice keep strata of their own, and so do the
    relations in `apart`.

    >>> p, q, r = Literal("p", ()), Literal("q", ()), Literal("r", (), negated=True)
    >>> for stratum in fewest(strata("pqr", [Rule(p, (q,)), Rule(q, (r,))])):
    ...     print(stratum.relations, len(stratum.nonrecursive), len(stratum.recursive))
    ('r',) 0 0
    ('q', 'p') 1 1
    """
    level_of: dict[str, int] = {}
    alone: set[str] = set()
    levels: dict[int, list[Stratum]] = {}
    kept: dict[int, list[Stratum]] = {}
    for stratum in strata:
        inside = frozenset(stratum.relations)
        is_apart = bool(stratum.pruned) or not inside.isdisjoint(apart)
        pruning = (rule for each in stratum.pruned for rule in each.rules)
        level = 0
        for rule in (*stratum.rules, *pruning):
            for name, complete in rule.reads():
                if name in level_of:
                    after = complete or is_apart or name in alone
                    level = max(level, level_of[name] + after)
        level_of.update(dict.fromkeys(inside, level))
        if is_apart:
            alone |= inside
        (kept if is_apart else levels).setdefault(level, []).append(stratum)
    found: list[Stratum] = []
    for level in sorted({*levels, *kept}):
        found += kept.get(level, ())
        if level in levels:
            found.append(_merged(levels[level]))
    return tuple(found)


def _merged(strata: Sequence[Stratum]) -> Stratum:
    relations = tuple(name for stratum in strata for name in stratum.relations)
    inside = frozenset(relations)
    parts: tuple[list[Rule], list[Rule]] = [], []
    for stratum in strata:
        for rule in stratum.rules:
            parts[any(name in inside for name, _ in rule.reads())].append(rule)
    return Stratum(relations, tuple(parts[0]), tuple(parts[1]))


def _faults(stratum: Stratum, draft: Draft) -> Iterator[Diagnostic]:
    """The shortest cycle for the first rule that needs a complete relation of its own stratum."""
    inside = frozenset(stratum.relations)
    edges: dict[str, dict[str, Rule]] = {name: {} for name in stratum.relations}
    strict: list[tuple[Rule, str]] = []
    for rule in stratum.recursive:
        for name, complete in rule.reads():
            if name in inside:
                edges[rule.head.relation].setdefault(name, rule)
                if complete:
                    strict.append((rule, name))
    # A rule as written comes before one that desugaring made.
    strict.sort(key=lambda found: found[0].head.relation.startswith("%"))
    for rule, name in strict[:1]:
        cycle = shortest_path(edges, name, rule.head.relation, inside)
        rules = [rule, *(edges[one][other] for one, other in pairwise(cycle))]
        yield _fault(rules, [rule.head.relation, *cycle], draft)


def _fault(rules: list[Rule], names: list[str], draft: Draft) -> Diagnostic:
    """The cycle in words; `rules[i]` derives `names[i]` from the relation after it.

    Hidden relations are passed over: what they read is what the rule before them reads.
    """
    cycle, sign = [names[0]], ""
    notes = []
    for rule, (name, read) in zip(rules, pairwise(names), strict=True):
        if not name.startswith("%"):
            sign = _sign(rule, read)
            notes.append(f"{rule.text or rule.head.relation} ({place(rule.at)})")
        if not read.startswith("%"):
            cycle.append(f"{sign}{read}")
            if (name, read) in draft.borrowed:
                notes.append(
                    f"the aggregate takes the values of its outer variables from {read}: bind them "
                    "by a relation outside the cycle, or use them in comparisons only, such as "
                    "x <= r + 1, where nothing else is on their side"
                )
    first = _part(rules[0], names[1])
    what = "aggregation" if isinstance(first, Group) else "negation"
    advice = f"{names[0]} depends on itself through this {what}"
    message = f"{what} through a cycle: {' -> '.join(_shortened(cycle))}"
    return Diagnostic(message, first.at, advice, notes=tuple(_shortened(notes)))


def _shortened(steps: list[str], room: int = 12) -> list[str]:
    return steps if len(steps) <= room else [*steps[: room - 3], "…", *steps[-2:]]


def _part(rule: Rule, read: str) -> Literal | Group:
    """The part of the body that reads the relation, preferably one that needs it complete."""
    found = [
        part for part in rule.body if isinstance(part, Literal | Group) and part.relation == read
    ]
    return max(found, key=lambda part: isinstance(part, Group) or part.negated)


def _sign(rule: Rule, read: str) -> str:
    part = _part(rule, read)
    if isinstance(part, Group):
        return f"{part.op} of "
    return "!" if part.negated else ""
