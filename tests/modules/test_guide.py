"""The examples of docs/modules.md run, and show what the page says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.house.test_documents import read
from tidelog import Database
from tidelog.engine import FactSet
from tidelog.modules import BrokenContract, Levels, Update, check
from tidelog.program.rules import Stratum

PAGE = "docs/modules.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", read(PAGE), re.DOTALL | re.MULTILINE)[:1]:
        exec(code, found)
    return found


def test_roads_lead_both_ways(names: dict[str, Any]) -> None:
    db: Database = names["db"]
    assert sorted(db.relation("road")) == [("a", "b"), ("b", "a")]
    with db.transaction() as t:
        t.delete("road", [("a", "b")])
    assert list(db.relation("road")) == []


def test_what_is_broken_is_told_as_on_the_page(names: dict[str, Any]) -> None:
    class Mirror(names["Mirror"]):  # type: ignore[misc]
        def reduce(self, u: Update, stratum: Stratum, Ds: FactSet) -> FactSet:
            return u.engine.collect(Ds)

    with pytest.raises(BrokenContract) as found:
        check(Mirror, ".decl r(x: number, y: number)\nr(y, x) :- r(x, y).")
    assert f"```text\n{found.value}\n```" in read(PAGE)


def test_levels_are_cleared() -> None:
    _, code = re.findall(r"^```python\n(.*?)^```$", read(PAGE), re.DOTALL | re.MULTILINE)
    found: dict[str, Any] = {"Database": Database, "STANDARD": ()}
    exec(code, found)
    db = found["db"]
    assert db.query('cleared("Bob", n)') == [(0,), (1,), (2,), (3,)]
    assert found["Levels"] is Levels
