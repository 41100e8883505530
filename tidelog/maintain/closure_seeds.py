"""The facts that a closure begins with: those of its relation that need no recursion.

Rules that feed a symmetric-transitive closure are often joins that connect the same things many
times over: all courses of a student, two by two. Where their bodies are chains of facts, what they
connect is computed without the join, and determines the closure. Which facts the rules derive
themselves matters only when something is deleted, and is computed then.

# X external facts of a closure: explicit ones, and those that other rules derive
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine import Engine, FactSet, Ids
from tidelog.maintain.closure_modules import edges
from tidelog.maintain.memory import Memory
from tidelog.maintain.seminaive import Watch
from tidelog.plan.closures import Closure, Feed, feed
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:
    from tidelog.closure import Step

# Chosen, not measured.
SAMPLE = 1024  # edges that an estimate reads
FEW, MANY = 1 << 12, 1 << 24  # facts of chains: fewer are joined quickly, more are not copied


def seeds(engine: Engine, stratum: Stratum, E: FactSet, I: FactSet) -> FactSet:
    """The facts that recursive rules begin with; I has only the explicit facts of the stratum."""
    N = engine.apply(stratum.nonrecursive, within=I, guard=~I)
    N |= engine.collect(E, stratum.relations)
    return N


def meeting(X: Ids) -> int:
    """How many pairs of edges meet, from a sample: what the first round of a join would take.

    >>> meeting(np.array([(1, 2), (2, 3), (2, 4)]))
    2
    """
    step = max(1, len(X) // SAMPLE)
    some = X[::step]
    ends, into = np.unique(some[:, 1], return_counts=True)
    starts, out = np.unique(some[:, 0], return_counts=True)
    _, i, j = np.intersect1d(ends, starts, assume_unique=True, return_indices=True)
    return int(into[i] @ out[j]) * step * step


def connecting(
    engine: Engine, memory: Memory, stratum: Stratum, E: FactSet, I: FactSet
) -> Ids | None:
    """Pairs that connect what X connects: each node and the first one of its component. None if X
    itself is needed."""
    fed: Feed | None = memory.once(feed, stratum)
    if fed is None or not FEW <= _facts(engine, fed) <= MANY:
        return None
    # Loading the kernels takes a while: programs without closures do without.
    from tidelog.closure import Step, spanning

    given = _others(engine, fed, E, I)
    began = time.perf_counter()
    found = spanning([*_chains(engine, fed, I), [Step(given)]])
    engine.worked(fed.closure.rules[0], time.perf_counter() - began, 0)
    return found


def external(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    closure: Closure,
    E: FactSet,
    I: FactSet,
    watch: Watch,
) -> Ids:
    """X itself, of a stratum that is one closure."""
    from tidelog.closure import joined

    fed: Feed | None = memory.once(feed, stratum)
    if fed is not None and _facts(engine, fed) <= MANY:
        pairs = joined(_chains(engine, fed, I), lambda: watch.pairs(0))
        if pairs is not None:
            return np.concatenate([pairs, _others(engine, fed, E, I)])
    return _derived(engine, closure, stratum.nonrecursive, E, I)


def _facts(engine: Engine, fed: Feed) -> int:
    """The number of facts in chains."""
    return sum(engine.size(name) for chain in fed.chains for name, _ in chain)


def _chains(engine: Engine, fed: Feed, I: FactSet) -> list[list[Step]]:
    """The chains of facts in I."""
    from tidelog.closure import Step

    read = {name: engine.ids(I, name) for chain in fed.chains for name, _ in chain}
    return [[Step(read[name], swapped) for name, swapped in chain] for chain in fed.chains]


def _others(engine: Engine, fed: Feed, E: FactSet, I: FactSet) -> Ids:
    """The external facts that chains do not give."""
    return _derived(engine, fed.closure, fed.others, E, I)


def _derived(
    engine: Engine, closure: Closure, rules: Sequence[Rule], E: FactSet, I: FactSet
) -> Ids:
    """Explicit facts of a closure, and what the rules derive."""
    N = engine.apply(rules, within=I)
    N |= engine.collect(E, closure.relations)
    return edges(engine, closure, N)


def triples(stars: Ids) -> int:
    """How many instances a transitive rule has in the components of such pairs.

    >>> triples(np.array([(1, 1), (2, 1), (3, 3)]))
    9
    """
    _, nodes = np.unique(stars[:, 1], return_counts=True)
    return int((nodes.astype(np.float64) ** 3).sum())
