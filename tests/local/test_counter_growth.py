"""Derivations are counted while the table of their heads grows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.local.reference import facts_of, number, put
from tests.local.test_changes import counts
from tests.local.test_seam import new_engine
from tidelog.local import arrays, row_store
from tidelog.local.kernels import layout as at
from tidelog.program.diagnostics import LimitError
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


def test_a_table_that_cannot_grow_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is memory for larger rows, but not for the ages beside them."""
    engine = new_engine()
    engine.ages.date(["b"])
    r, facts = engine.numbers["b"], {("b", (n, n + 1)) for n in range(60)}
    put(engine, facts, engine.all)

    def zeros(size: int, kind: type[np.generic]) -> NDArray[Any]:
        if kind is np.int32:
            raise LimitError("error: no memory")
        return arrays.zeros(size, kind)

    with monkeypatch.context() as patch:
        patch.setattr(row_store, "zeros", zeros)
        with pytest.raises(LimitError):
            engine.store.grow(r)
    line, mine = engine.store.tables.rels[r], engine.store._rows[r]
    known = line[[at.R_ROWS, at.R_MASK, at.R_HKEYS, at.R_HROWS]].tolist()
    kept = (mine.rows, mine.mask, mine.keys, mine.slots)
    assert known == [array.ctypes.data for array in kept]
    more = {("b", (n, n)) for n in range(60)}
    put(engine, more, engine.all)
    assert facts_of(engine, engine.all) == facts | more
