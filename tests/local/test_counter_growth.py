"""Derivations are counted while the table of their heads grows."""

from __future__ import annotations

from collections import Counter

from tests.local.reference import number, put
from tests.local.test_changes import counts
from tests.local.test_seam import new_engine
from tidelog.program.rules import Literal, Rule

x, y, z = (number(name) for name in "xyz")


def test_heads_keep_their_numbers_when_a_table_grows() -> None:
    """A head that is derived before and after a growth of its table counts both times."""
    engine = new_engine()
    pairs = {(n, m) for n in range(40) for m in range(40) if (n + m) % 3}
    put(engine, {("b", pair) for pair in pairs}, engine.all)
    rule = Rule(Literal("p", (x, z)), (Literal("b", (x, y)), Literal("b", (y, z))))
    engine.apply([rule], within=engine.all, add_to=engine.nonrecursive)
    expected = Counter(("p", (a, d)) for a, b in pairs for c, d in pairs if b == c)
    assert counts(engine, 0) == expected
