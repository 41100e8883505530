"""The benchmark of updates: it changes what it says, sees what differs, and keeps its word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.checksum import checksum
from bench.data import Facts, Rows
from bench.updates import run, tables
from bench.updates.changes import Change, commits, one_by_one, share
from bench.updates.figures import Row, Sample, Series
from bench.updates.play import Player, play, state
from bench.updates.plot import Line, plot
from bench.updates.scenes import Case, Scene, scenes
from bench.updates.targets import targets
from tests.algorithms import ALGORITHMS
from tidelog import Database

QUICK = scenes(quick=True)
FACTS: Facts = {
    "p": np.arange(20, dtype=np.int64).reshape(10, 2),
    "q": np.arange(100, 105, dtype=np.int64).reshape(5, 1),
}


def scene(name: str) -> Scene:
    return QUICK[name]()[0]


def pairs(facts: Mapping[str, Rows]) -> set[tuple[str, tuple[int, ...]]]:
    return {(name, tuple(row)) for name, rows in facts.items() for row in rows.tolist()}


# Changes.


def test_single_changes_are_of_different_facts() -> None:
    found = [pairs(change.gone) for change in one_by_one(FACTS, 15, seed=1)]
    assert all(len(some) == 1 for some in found)
    assert set.union(*found) == pairs(FACTS)


def test_a_share_is_that_part_of_the_facts() -> None:
    gone = pairs(share(FACTS, 0.4, seed=1).gone)
    assert len(gone) == 6
    assert gone < pairs(FACTS)


def test_of_two_changes_of_a_fact_in_a_commit_the_last_counts() -> None:
    (change,) = commits(["+p(1).", "-p(1).", "-p(2).", "+p(2).", "+p(3).", "commit."])
    assert (pairs(change.gone), pairs(change.come)) == (
        {("p", (1,))},
        {("p", (2,)), ("p", (3,))},
    )


def test_a_stream_with_other_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="and not"):
        commits(["+p(x) :- q(x).", "commit."])


@pytest.mark.parametrize("name", QUICK)
def test_what_a_scene_deletes_is_there(name: str) -> None:
    for each in QUICK[name]():
        if each.shape == "one way":
            continue
        there = pairs(each.facts)
        for change in each.changes:
            assert pairs(change.gone) <= there
            assert change.gone or change.rules_gone
            assert change.back().back() == change


@pytest.mark.slow
def test_a_full_run_has_scenes_of_the_same_kinds() -> None:
    full = {name: build() for name, build in scenes(quick=False).items()}
    assert {scene.case for some in full.values() for scene in some} == {
        scene.case for build in QUICK.values() for scene in build()
    }
    for some in full.values():
        for each in some:
            assert len(each.changes) >= (3 if each.best else 10)


def test_the_components_of_all_sizes_lose_the_same() -> None:
    for size in (1_000, 10_000):
        rows = play(scene(f"components-{size}"), ["recompute", "dred"], limit=10)
        assert {sample.changed for sample in rows[0].series["dred"].samples} == {(0, 26)}


# Playing.


def test_every_algorithm_is_measured_on_the_same_changes() -> None:
    deleted, inserted = play(scene("clique-split"), list(ALGORITHMS), limit=10)
    assert deleted.differing() == inserted.differing() == []
    for name in ALGORITHMS:
        assert deleted.status(name) == inserted.status(name) == "ok"
        places = [sample.place for sample in deleted.series[name].samples]
        # Five times in two turns of two, and the first of each does not count.
        assert places == [1, 3, 2, 0, 3, 1, 0, 2, 1, 3]
    assert deleted.changed() > 1
    assert deleted.series["dred"].number("|D|") > 0
    assert deleted.series["bf"].number("|C|") > 0


def test_a_stream_ends_in_the_same_state_by_all() -> None:
    each = scene("stream-path")
    (row,) = play(each, ["recompute", "dred", "bf"], limit=10)
    last = len(each.changes) - 1
    assert all(list(series.states) == [last] for series in row.series.values())
    assert row.differing() == []
    end = Database(each.program)
    for change in each.changes:
        with end.transaction(algorithm="recompute") as tx:
            change.make(tx)
    assert row.series["bf"].states[last] == state(end)


@pytest.mark.slow
def test_rules_go_and_come_again() -> None:
    each = scene("claros-rule")
    rows = play(replace(each, changes=each.changes[:4]), ["recompute", "dred"], limit=10)
    assert [row.step for row in rows] == ["remove 1 rule", "add it again"]
    assert all(row.differing() == row.failed() == [] for row in rows)
    assert rows[0].fresh is not None


def test_a_database_that_went_astray_is_seen() -> None:
    each = scene("clique-split")
    player = Player(each, "dred", limit=10)
    with player.database.transaction(algorithm="dred") as tx:
        tx.insert("same", [(1, 10_000)])
    player.play([0, 1], first=True)
    player.look_back()
    straight = Player(each, "recompute", limit=10)
    straight.play([0, 1], first=True)
    series = {"recompute": straight.series[0], "dred": player.series[0]}
    assert replace(row_of(), series=series).differing() == ["dred"]
    assert player.series[-1].detail == "the state is not that of the start"


@pytest.mark.parametrize("algorithm", ["recompute", "dred"])
def test_what_takes_too_long_is_stopped_and_leaves_no_trace(algorithm: str) -> None:
    player = Player(scene("clique-split"), algorithm, limit=0)
    player.play([0, 1], first=True)
    player.look_back()
    assert [series.stopped for series in player.series] == [{0}, set()]
    assert not any(series.detail for series in player.series)
    assert state(player.database) == player.start


def test_insertions_are_measured_even_if_deletions_take_too_long() -> None:
    player = Player(scene("clique-split"), "dred", limit=0)
    player.play([0, 1, 2], first=True)
    player.limit = 10
    player.play_back([0, 1, 2])
    player.look_back()
    assert [len(series.samples) for series in player.series] == [0, 2]
    assert not any(series.detail for series in player.series)


def test_a_stream_ends_where_a_commit_is_stopped() -> None:
    player = Player(scene("stream-path"), "dred", limit=10)
    player.play([0, 1], first=True)
    player.limit, player.spent = 0, 0.0
    player.play([2, 3], first=False)
    player.look_back()
    assert player.series[0].stopped == {2}
    assert list(player.series[0].states) == [1]


def test_an_error_is_told() -> None:
    each = replace(
        scene("clique-split"), changes=(Change(gone={"nosuch": np.zeros((1, 1), np.int64)}),)
    )
    (row, _) = play(each, ["recompute"], limit=10)
    assert row.failed() == ["recompute"]
    assert "nosuch" in row.series["recompute"].detail


# Figures and targets.


def row_of(
    *,
    case: Case = "other",
    step: str = "delete 1 fact",
    facts: int = 1000,
    limit: float = 20.0,
    stopped: tuple[str, ...] = (),
    **seconds: float,
) -> Row:
    series = {name: Series(stopped={7}) for name in stopped}
    for name, value in seconds.items():
        times = [factor * value for factor in (0.5, 1.0, 7.0)]
        samples = [Sample(place, time, (0, 26), {}) for place, time in enumerate(times)]
        series[name] = Series(samples=samples)
    return Row("w", "title", step, 10, facts, case, False, limit, series)


def test_the_median_counts_or_the_best() -> None:
    row = row_of(recompute=1.0, bf=0.1)
    assert row.seconds("bf") == 0.1
    assert replace(row, best=True).seconds("bf") == 0.05
    assert row.times_faster("bf") == 10
    assert row.seconds("dred") is None


def test_a_stopped_algorithm_is_slower_than_the_limit() -> None:
    row = row_of(recompute=1.0, bf=0.1, stopped=("dred",))
    assert row.times_faster("bf", "dred") == 200
    assert row.times_faster("dred") is None
    assert row.status("dred") == "stopped"
    assert tables.cell(row, "dred") == "> 20 s"
    assert tables.cell(row, "bf") == "100.0 (10×)"


def test_one_stopped_update_of_many_is_not_the_median() -> None:
    row = row_of(recompute=1.0, bf=0.1)
    row.series["bf"].stopped = {3}
    assert row.seconds("bf") == pytest.approx(0.7)
    row.series["bf"].stopped = {3, 4, 5, 6}
    assert row.status("bf") == "stopped"


def test_ratios_are_of_changes_that_both_made() -> None:
    row = row_of(recompute=1.0, bf=0.1)
    row.series["bf"].samples.pop(0)  # the easiest one
    assert row.times_faster("bf") == pytest.approx(10)
    row.series["bf"].samples.append(Sample(9, 5.0, (0, 0), {}))
    assert row.times_faster("bf") == pytest.approx(10)
    row.series["recompute"].stopped = {9}
    assert row.times_faster("bf") == pytest.approx(10)


def test_auto_is_measured_by_the_best_of_the_others() -> None:
    row = row_of(recompute=1.0, dred=0.5, bf=0.2, auto=0.25)
    assert row.fastest() == "bf"
    assert row.behind() == 1.25


def test_results_that_differ_are_seen_at_the_same_places_only() -> None:
    row = row_of(recompute=1.0, bf=1.0, dred=1.0)
    row.series["dred"].samples.pop(1)
    assert row.differing() == []
    row.series["bf"].samples[1] = Sample(1, 1.0, (0, 27), {})
    assert row.differing() == ["bf"]
    row = row_of(recompute=1.0, bf=1.0)
    for name, size in (("recompute", 3), ("bf", 4)):
        row.series[name].states[5] = {"p": checksum(np.arange(size, dtype=np.int64)[:, None])}
    assert row.differing() == ["bf"]


def reached(rows: list[Row], words: str) -> bool | None:
    (found,) = [target for target in targets(rows) if words in target.text]
    return found.reached


def test_an_error_misses_a_target() -> None:
    row = row_of(recompute=1.0, bf=1.0)
    assert reached([row], "same facts") is True
    row.series["bf"].detail = "KeyError"
    assert reached([row], "same facts") is False
    assert tables.cell(row, "bf") == "failed"


@pytest.mark.parametrize(("factor", "expected"), [(1.4, True), (1.6, False)])
def test_ten_times_the_facts(factor: float, expected: bool) -> None:
    small = row_of(case="same part", facts=1_000, recompute=1.0, auto=0.1)
    large = row_of(case="same part", facts=10_000, recompute=9.0, auto=0.1 * factor)
    assert reached([small, large], "same part affected") is expected
    assert reached([large], "same part affected") is None


@pytest.mark.parametrize(
    ("seconds", "fast", "ratio"), [(0.001, True, True), (0.0019, True, False), (0.01, False, False)]
)
def test_a_small_change_of_a_million(seconds: float, fast: bool, ratio: bool) -> None:
    row = row_of(case="same part", facts=1_000_000, recompute=0.3, auto=seconds)
    assert reached([row], "2 ms") is fast
    assert reached([row], "200 times") is ratio
    assert reached([replace(row, facts=100_000)], "2 ms") is None


@pytest.mark.parametrize(("seconds", "expected"), [(0.09, True), (0.11, False)])
def test_proofs_that_are_left(seconds: float, expected: bool) -> None:
    row = row_of(case="alternative proofs", recompute=1.0, dred=1.0, bf=seconds)
    assert reached([row], "B/F") is expected
    assert reached([replace(row, case="other")], "B/F") is None


@pytest.mark.parametrize(("seconds", "expected"), [(0.25, True), (0.27, False)])
def test_auto_close_to_the_best(seconds: float, expected: bool) -> None:
    good = row_of(recompute=1.0, bf=0.2, auto=0.2)
    assert reached([good, row_of(recompute=1.0, bf=0.2, auto=seconds)], "auto") is expected


def test_a_compilation_misses_a_target() -> None:
    row = row_of(case="rules", recompute=1.0, auto=0.2)
    assert reached([row], "compilation") is True
    assert reached([replace(row, compiled=2)], "compilation") is False


# Pages.


def test_a_plot_puts_points_where_their_logarithms_are() -> None:
    drawn = plot("a < b", "x", "y", [Line("one", [(10, 1), (100, 10), (1000, 100)])])
    root = ElementTree.fromstring(drawn)
    circles = [node for node in root.iter() if node.tag.endswith("circle")]
    (x0, y0), (x1, y1), (x2, y2) = [
        (float(node.attrib["cx"]), float(node.attrib["cy"])) for node in circles
    ]
    assert x2 - x1 == pytest.approx(x1 - x0, abs=0.2)
    assert y2 - y1 == pytest.approx(y1 - y0, abs=0.2)
    assert x0 < x2
    assert y0 > y2  # up is where pixels are small
    assert any(node.text == "1,000" for node in root.iter())


def test_a_run_prints_its_rows_and_leaves_the_page_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = {path: path.exists() and path.read_bytes() for path in (run.PAGE, run.RESULTS)}
    written = tmp_path / "samples.json"
    options = ["--quick", "--only", "clique-split", "--algorithms", "dred,bf"]
    assert run.main([*options, "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    assert "clique-split-fact: delete 1 fact" in printed
    assert re.search(r"recompute [\d.]+ +dred [\d.]+ \(", printed)
    assert "all algorithms give the same facts: reached (2 rows)" in printed
    assert '"place": 1' in written.read_text(encoding="utf-8")
    assert before == {path: path.exists() and path.read_bytes() for path in before}


def test_a_full_page_has_all_its_parts() -> None:
    rows = [
        row_of(case="same part", facts=1_000, recompute=0.3, dred=0.1, auto=0.001),
        row_of(case="same part", facts=10_000, recompute=0.3, dred=0.1, auto=0.001),
        replace(row_of(case="rules", recompute=0.3, auto=0.001), fresh=0.5),
    ]
    assert tables.scale_plot(rows, ["recompute", "auto"]) is not None
    assert tables.rule_plot(rows) is not None
    text = run.page("here", rows, ["recompute", "dred", "auto"], targets(rows), run.PLOTS)
    assert all(name in text for name in run.PLOTS.values())
    assert "| delete 1 fact | 3 | 26 | 1.00 | 7.00 | 500.0 | 500× |" in text


@pytest.mark.parametrize("options", [["--only", "nosuch"], ["--algorithms", "nosuch"]])
def test_a_wrong_name_is_answered_with_the_right_ones(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run.main(options)
    assert "expected one of" in capsys.readouterr().err
