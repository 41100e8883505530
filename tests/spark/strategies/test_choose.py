"""Which strategy a stratum gets, and what is said of one that does not fit."""

from __future__ import annotations

import pytest

from tests.spark.strategies.programs import checked
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Stratum
from tidelog.spark.strategies import Strategy, choose
from tidelog.spark.strategies.choose import apart, whole

EDGE = ".decl edge(x: number, y: number) "


def last(text: str) -> tuple[Stratum, Strategy]:
    program = checked(text)
    stratum = program.strata[-1]
    return stratum, choose(stratum, program.relations)


@pytest.mark.parametrize(
    ("rules", "name", "pivots"),
    [
        ("p(x, y) :- edge(x, y). p(x, z) :- p(x, y), edge(y, z).", "pivot", {"p": 0}),
        ("p(x, y) :- edge(x, y). p(x, z) :- edge(x, y), p(y, z).", "pivot", {"p": 1}),
        ("p(x, y) :- edge(x, y). p(x, z) :- p(x, y), p(y, z).", "pivot", {"p": 0}),
        ("p(x, y) :- edge(x, y). p(y, x) :- p(x, y).", "shuffle", {}),
        (
            "p(x, y) :- edge(x, y). p(x, y) :- p(y, x). p(x, z) :- p(x, y), p(y, z).",
            "components",
            {},
        ),
        (
            "odd(x, y) :- edge(x, y). even(z, x) :- odd(x, y), edge(y, z). "
            "odd(x, z) :- even(y, x), edge(y, z).",
            "pivot",
            {"even": 1, "odd": 0},
        ),
        ("p(x, y) :- edge(x, y). p(x, 1) :- p(x, y), p(x, z), y < z.", "pivot", {"p": 0}),
        ("p(1, y) :- edge(1, y). p(1, z) :- p(1, y), edge(y, z).", "shuffle", {}),
        (
            "p(x, y) :- edge(x, y). p(x, z) :- p(x, y), edge(y, z). p(y, x) :- p(x, y).",
            "shuffle",
            {},
        ),
        ("p() :- edge(_, _). p() :- p(), edge(1, _).", "shuffle", {}),
    ],
)
def test_choice(rules: str, name: str, pivots: dict[str, int]) -> None:
    _, found = last(EDGE + rules)
    assert (found.name, dict(found.pivots)) == (name, pivots)
    assert found.why


def test_lower_relations_with_the_pivot_are_divided_like_it() -> None:
    stratum, found = last(
        EDGE + ".decl owner(x: number, y: number) .decl shut(x: number) "
        "p(x, y) :- owner(x, y), !shut(x). p(x, z) :- p(x, y), edge(y, z), !owner(x, z)."
    )
    assert apart(stratum, found) == {"owner": 0, "shut": 0}
    assert whole(stratum, found) == ["edge"]


def test_too_much_to_broadcast() -> None:
    program = checked(EDGE + "p(x, y) :- edge(x, y). p(x, z) :- p(x, y), edge(y, z).")
    found = choose(program.strata[-1], program.relations, sizes={"edge": 10**9})
    assert found.name == "shuffle"
    assert found.why == "every part would need 1,000,000,000 facts to keep a pivot"


def test_forced() -> None:
    program = checked(EDGE + "p(x, y) :- edge(x, y). p(x, z) :- p(x, y), edge(y, z).")
    stratum = program.strata[-1]
    assert choose(stratum, program.relations, "shuffle").name == "shuffle"
    with pytest.raises(TidelogError) as caught:
        choose(stratum, program.relations, "components")
    assert str(caught.value) == (
        "error: the strategy components does not fit p: its recursive rules are not a "
        "symmetric-transitive closure\n"
        "    use shuffle, which fits all rules, or leave the choice to Tidelog"
    )
    with pytest.raises(TidelogError, match=r"unknown strategy 'star'\n    expected one of pivot"):
        choose(stratum, program.relations, "star")
