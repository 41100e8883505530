"""Subsumption and choice: strata with relations that leave derived facts out.

# E explicit facts   I materialisation   N candidates of a round, then those that were admitted

`r(x, a) <= r(x, b) :- body.` (Soufflé's subsumption): of two facts for which the body holds, the
first is dominated, and deleted. If each dominates the other, the first one in the order of values
is kept. `choice-domain x` keeps one fact for every x: the one found in the earliest round, and of
one round the first in the order of values.

A dominated fact may have been used in derivations before, whose conclusions stay. So the result
depends on the order of derivation, unless dominated facts have dominated consequences, as in
shortest paths. Rounds are those of seminaive evaluation, with explicit facts first: the same facts
and rules give the same result, whatever their history.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Engine, FactSet, Ids
from tidelog.maintain.seminaive import Watch
from tidelog.program.rules import Pruning, Stratum
from tidelog.program.syntax import UNDER

# Chosen, not measured.
FEW = 256  # candidates compared at a time, where most pairs of them are comparable
CROWDED = 8  # pairs for each candidate: from here on, that is so


def evaluate(engine: Engine, stratum: Stratum, I: FactSet, watch: Watch, E: FactSet) -> None:
    """Add to I, which has only the explicit facts of the stratum, what it derives and keeps, and
    delete what it leaves out."""
    admission = _Admission(engine, stratum, I)
    X = engine.collect(E, stratum.relations)
    I -= X
    admission.admit(X)
    N = admission.admit(engine.apply(stratum.rules, within=I, guard=~I))
    while N:
        watch.round()
        found = engine.derive(stratum.recursive, touching=N, within=I, guard=~I)
        N = admission.admit(found)


class _Admission:
    """Decides which candidates are inserted into I, and which facts they replace."""

    def __init__(self, engine: Engine, stratum: Stratum, I: FactSet) -> None:
        self.engine, self.I = engine, I
        self.relations = stratum.relations
        self.choosers = [_Chooser(engine, each) for each in stratum.pruned if each.choices]
        self.orders = [each for each in stratum.pruned if each.rules]

    def admit(self, N: FactSet) -> FactSet:
        """Insert into I those of N that are chosen and not dominated, and return them."""
        for chooser in self.choosers:
            chooser.choose(N)
        if not self.orders:
            self.I |= N
            return N
        admitted, size = self.engine.none(), FEW
        while N:
            F = self.engine.cut(N, size, self.relations)
            self.I |= F
            admitted |= F
            compared = 0
            for each in self.orders:
                D, pairs = dominated(self.engine, each, F, self.I)
                compared += pairs
                self.I -= D
                admitted -= D
                F -= D
            size = FEW if compared > CROWDED * size else 2 * size
        return admitted


class _Chooser:
    """Keeps one of the facts that agree in the columns of a domain."""

    def __init__(self, engine: Engine, pruning: Pruning) -> None:
        self.engine = engine
        self.relation = pruning.relation
        self.domains = pruning.choices
        self.taken: list[set[tuple[int, ...]]] = [set() for _ in pruning.choices]

    def choose(self, N: FactSet) -> None:
        """Delete candidates from N whose place is taken."""
        ids = self.engine.ids(N, self.relation)
        refused = []
        for i in self.engine.ordered(self.relation, ids).tolist():
            row = ids[i].tolist()
            keys = [tuple(row[c] for c in domain) for domain in self.domains]
            if any(key in taken for key, taken in zip(keys, self.taken, strict=True)):
                refused.append(i)
            else:
                for key, taken in zip(keys, self.taken, strict=True):
                    taken.add(key)
        if refused:
            N -= self.engine.pick(self.relation, ids[refused])


def dominated(engine: Engine, pruning: Pruning, F: FactSet, I: FactSet) -> tuple[FactSet, int]:
    """Facts of I that a fact of F dominates, and facts of F that one of I dominates; and the number
    of pairs compared."""
    relation, pairs_of = pruning.relation, f"{UNDER}{pruning.relation}"
    found = engine.derive(pruning.rules, touching=F, within=I)
    pairs = engine.ids(found, pairs_of).copy()
    del found
    engine.take((pairs_of,))  # not needed any more
    width = pairs.shape[1] // 2
    first, second, facts = _numbered(pairs[:, :width], pairs[:, width:])
    apart = first != second
    first, second = first[apart], second[apart]
    if not len(first):
        return engine.none(), len(pairs)
    many = np.int64(len(facts))
    mutual = np.isin(second * many + first, first * many + second)
    if mutual.any():
        rank = np.empty(len(facts), dtype=np.int64)
        rank[engine.ordered(relation, facts)] = np.arange(len(facts))
        deleted = ~mutual | (rank[second] < rank[first])
        first = first[deleted]
    return engine.pick(relation, facts[np.unique(first)]), len(pairs)


def _numbered(first: Ids, second: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64], Ids]:
    """Numbers for the facts of both sides, equal for equal ones, and the facts by number."""
    both = np.concatenate((first, second))
    codes = np.zeros(len(both), dtype=np.int64)
    for column in both.T:
        pairs = (codes << np.int64(32)) | column.astype(np.int64)
        codes = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    where, numbers = np.unique(codes, return_index=True, return_inverse=True)[1:]
    numbers = numbers.reshape(-1).astype(np.int64)
    return numbers[: len(first)], numbers[len(first) :], both[where]
