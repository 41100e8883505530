"""What Motik et al. (2015) prove of Algorithms 1 to 3, of the algorithms as printed."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from bench.stepwise.bf import BackwardForward
from bench.stepwise.checked import GRAPHS, explicit, rules_of
from bench.stepwise.matching import Fact, closure

SMALL = ["tree, nonlinear", "deep dag, nonlinear", "cliques", "digraph, two relations", "grid"]


class Watched(BackwardForward):
    left: set[Fact]  # I'

    def check_all(self, fact: Fact) -> None:
        """Claims 2 and 3 hold whenever a fact of D has been checked."""
        super().check_all(fact)
        C = self.C.keys()
        assert C & self.left == self.P
        assert self.S.isdisjoint(self.left)
        for checked in C - self.P:
            for instance in self.rules.deriving(checked, self.I):
                if self.left.issuperset(instance.body):
                    assert set(instance.body) <= C


@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize("seed", range(3))
def test_theorem_1(graph: str, seed: int) -> None:
    case = GRAPHS[graph](Random(seed))
    rules, (E, gone) = rules_of(case), explicit(case)
    run = Watched(rules, E)
    assert set(run.I) == closure(rules, E)
    M_d = sum(1 for _ in rules.instances(run.I))
    run.left = closure(rules, set(E).difference(gone))
    run.delete(gone)
    assert set(run.I) == run.left
    forward = Counter(instance for line, instance in run.considered if line in (9, 27))
    assert max(forward.values()) == 1
    # The worst case, at the end of section 4.
    assert forward.total() <= M_d
    assert len(run.considered) <= 2 * M_d
