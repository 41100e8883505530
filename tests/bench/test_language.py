"""The benchmark of constructs of the language: forms that say the same, and what is shown."""

from __future__ import annotations

from bench.language import axioms, goal, points_to
from bench.language.cases import Figures, best_of
from bench.language.run import page
from bench.report import Target
from tidelog import Database


def test_records_and_columns_say_the_same() -> None:
    given = points_to.facts(30)
    with_records = points_to._answer(Database(points_to.RECORDS, given), "a.")
    plain = points_to._answer(Database(points_to.PLAIN, given), "")
    assert with_records == plain
    assert all(plain.values())


def test_what_is_shown() -> None:
    target = Target("half as fast", False, "2.50 times")
    found = Figures("case", 1_000, 20_000, ("records", "plain"), (2.5, 1.0), target)
    shown = page("a machine", [found]).splitlines()
    assert shown[2] == "- target: half as fast: not reached (2.50 times)"
    assert shown[-1] == "| case | 1,000 | 20,000 | records | 2.500 | plain: 1.000 s |"
    times = iter([3.0, 5.0, 2.0, 6.0])
    assert best_of(2, lambda: next(times), lambda: next(times)) == [2.0, 5.0]


def test_a_goal_is_measured_beside_the_whole_closure() -> None:
    for case in goal.CASES:
        found = case.measure(True)
        assert found.derived > 100_000
        assert 0 < found.seconds[0] < found.seconds[1], found.case


def test_axioms_change_what_a_graph_opened_anew_has() -> None:
    found = {change.name: axioms.measure(change, True) for change in axioms.CHANGES}
    # 400 instances and a chain of 19 classes, whose pairs only rules that are not compiled derive.
    assert found["axiom-last"].derived == found["axiom-owl"].derived == 400 + 19 * 18 // 2
    assert found["axiom-compiled"].derived == 400 + 18
    assert all(
        "times a graph opened with what is left" in each.target.figure for each in found.values()
    )
