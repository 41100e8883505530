"""The update loop: it carries an update through the strata that it reaches, and no others."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush

from tidelog.maintain import recompute
from tidelog.maintain.report import Work
from tidelog.maintain.update import UNMAINTAINED, Algorithm, Update, WholeAlgorithm
from tidelog.program.rules import Rule, Stratum


def update(
    u: Update,
    strata: Sequence[Stratum],
    stratum_of: Mapping[str, int],
    readers: Mapping[str, Iterable[str]],
    removed: Sequence[Rule],
    added: Sequence[Rule],
    algorithm: Algorithm | WholeAlgorithm,
) -> None:
    """Bring I up to date with E and the rules; D and A become what that changed.

    `readers` has, for each relation, the heads of rules that read it. Only strata that
    the change reaches are visited.
    """
    if not callable(algorithm):
        at_once(u, strata, removed, added, algorithm)
        return
    u.memory.circuit = None
    lose, gain = _by_stratum(removed, stratum_of), _by_stratum(added, stratum_of)
    asked = {stratum_of[name] for name in u.explicit_relations}
    plain = sorted(at for at in asked if strata[at].given and at not in lose)
    queued = asked.union(lose, gain).difference(plain)
    # No algorithm can tell which facts a deleted one had kept out.
    from_scratch = partial(_from_scratch, UNMAINTAINED)
    todo = list(queued)
    heapify(todo)

    def visit(relations: Iterable[str]) -> None:
        for name in relations:
            for head in readers.get(name, ()):
                at = stratum_of[head]
                if at not in queued:
                    queued.add(at)
                    heappush(todo, at)

    if plain:
        visit(_take_inputs(u, tuple(name for at in plain for name in strata[at].relations)))
    while todo:
        at = heappop(todo)
        by = from_scratch if strata[at].pruned else algorithm
        _maintain(u, strata[at], by, lose.get(at, ()), gain.get(at, ()))
        visit(u.changed)


def at_once(
    u: Update,
    strata: Sequence[Stratum],
    removed: Sequence[Rule],
    added: Sequence[Rule],
    algorithm: WholeAlgorithm,
) -> None:
    """All strata by an algorithm that takes them at once; from scratch, if it refuses them."""
    refusal = algorithm.refusal(strata, removed)
    if not refusal:
        algorithm.maintain(u, strata, removed, added)
        return
    u.memory.circuit = None
    lose = {rule.head.relation for rule in removed}
    for stratum in strata:
        if stratum.given and lose.isdisjoint(stratum.relations):
            _take_inputs(u, stratum.relations)
        else:
            _maintain(u, stratum, partial(_from_scratch, refusal), (), ())


def _maintain(
    u: Update,
    stratum: Stratum,
    algorithm: Algorithm,
    removed: Sequence[Rule],
    added: Sequence[Rule],
) -> None:
    """Bring one stratum up to date, and report what that took."""
    u.watch.stratum(stratum)
    began, instances = time.perf_counter(), u.engine.instances
    u.begin(Work(stratum.relations))
    algorithm(u, stratum, removed, added)
    u.work.seconds = time.perf_counter() - began
    u.work.instances = u.engine.instances - instances
    u.report.works.append(u.work)


def _from_scratch(
    why: str, u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
) -> None:
    recompute.maintain(u, stratum, removed, added)
    u.work.why = why


def _take_inputs(u: Update, relations: tuple[str, ...]) -> list[str]:
    """Relations without rules hold the explicit facts."""
    began = time.perf_counter()
    u.begin(Work(relations, "input"))
    D = u.engine.collect(u.deleted, relations) if u.loses else u.engine.none()
    A = u.engine.collect(u.inserted, relations) if len(D) < len(u.X) else u.engine.none()
    u.I -= D
    u.I |= A
    u.net(D, A)
    u.work.seconds = time.perf_counter() - began
    u.report.works.append(u.work)
    return u.changed


def _by_stratum(rules: Iterable[Rule], stratum_of: Mapping[str, int]) -> dict[int, list[Rule]]:
    found: dict[int, list[Rule]] = {}
    for rule in rules:
        found.setdefault(stratum_of[rule.head.relation], []).append(rule)
    return found
