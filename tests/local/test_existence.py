"""Parts of a body that bind nothing needed later are tested for existence: one match is enough."""

from __future__ import annotations

import pytest

from tidelog import Database
from tidelog.program.diagnostics import EvaluationError

FACTS = "\n".join(f"b({n}). c({n}). d({n}). e({n}, {n + 1}). e({n}, {n + 2})." for n in range(20))

# The body, and how many instances are considered: one for each head.
BODIES = [
    ("h(x) :- b(x), c(y), d(y).", 20),
    ("h(x) :- b(x), c(y), d(y), e(z, u), d(u), u > 3.", 20),
    ("h(x) :- b(x), y = range(0, 30), c(y), y > 5.", 20),
    ("h(1) :- c(y), d(y).", 1),
    ("h(x) :- b(x), c(y), !d(y).", 0),
]


@pytest.mark.parametrize(("rule", "instances"), BODIES)
def test_one_match_is_enough(rule: str, instances: int) -> None:
    db = Database(f"{FACTS}\n{rule}", profile=True)
    assert sum(row.instances for row in db.stats.profile) == instances
    assert db.size("h") == instances


@pytest.mark.parametrize("division", ["1 / y > 0", "z = 1 / y, z > 0"])
def test_every_match_is_tried_where_one_may_fail(division: str) -> None:
    """Whether an evaluation fails does not depend on the order of facts."""
    with pytest.raises(EvaluationError, match="division by zero"):
        Database(f"b(1). c(1). c(0).\nh(x) :- b(x), c(y), {division}.")


def test_counters_count_every_instance() -> None:
    """An algorithm with derivation counters deletes one derivation of several."""
    text = "b(1). c(1). c(2). d(1). d(2).\nh(x) :- b(x), c(y), d(y)."
    db = Database(text, algorithm="counting")
    first, second = db.apply("-c(1). commit. -c(2). commit.")
    assert first.removed("h") == []
    assert second.removed("h") == [(1,)]
