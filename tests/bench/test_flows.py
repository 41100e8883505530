"""The benchmark of streams: it plays what it says, and its targets hide no row."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.flows import bursts, effects, endless, marks, picture, run, tables, targets
from bench.flows.updates import burst, chains, recorded, small, undone
from bench.report import Target
from bench.stepwise import streams
from bench.updates.play import state
from bench.workloads import text
from tidelog import Database
from tidelog.changes.policies.look_ahead import TRIALS

EDGES = chains(1_000)


# Updates.


def test_chains_are_of_the_size_that_is_asked_for() -> None:
    database = Database(text("closure_linear"), facts={"edge": chains(10_800)})
    assert sum(map(database.size, database.relations)) == 10_800


def test_every_second_update_of_a_burst_undoes_the_one_before() -> None:
    some = burst({"edge": EDGES}, 10, 5, seed=1)
    assert [len(update) for update in some] == [5] * 10
    for gone, come in zip(some[::2], some[1::2], strict=True):
        assert come == undone(gone)
        assert {change.op for change in gone} == {"-"}
    assert all(one != other for one, other in pairwise(some[::2]))
    assert some != burst({"edge": EDGES}, 10, 5, seed=2)


@pytest.mark.parametrize("count", [10, 41, 500])
def test_half_of_the_small_updates_undo_earlier_ones(count: int) -> None:
    there = {tuple(edge) for edge in EDGES.tolist()}
    before, made = set(there), Counter[bool]()
    for (change,) in small(EDGES, count, seed=1):
        assert (change.row in there) == (change.op == "-"), "each of them changes something"
        (there.remove if change.op == "-" else there.add)(change.row)
        made[(change.row in there) == (change.row in before)] += 1
    assert there == before or count % 2
    assert len(there ^ before) <= 1
    assert abs(made[True] - made[False]) <= 1


def test_recorded_streams_are_those_of_the_stepwise_algorithms() -> None:
    stream = streams.recorded(10, 0)
    some = recorded(stream)
    assert len(some) == len(stream) == 20
    assert Counter(change.op for change in some[1]) == {"-": 5, "+": 5}


# What is done.


@pytest.mark.parametrize("algorithm", marks.ALGORITHMS)
def test_marks_prevent_as_many_applications_as_there_are(algorithm: str) -> None:
    row = marks.row("sequence", 80, [recorded(streams.recorded(80, 0))], algorithm, 1)
    ((old, new),) = row.each
    assert row.equal
    assert old["deletions"] - new["deletions"] == new["implicit"] == new["prevented"] > 0
    assert old["prevented"] == old.get("implicit", 0) == 0
    assert targets.prevented([row]).reached is True
    assert row.fewer() > 0


def test_what_auto_decides_is_told() -> None:
    found = marks.choice("sequence", 10, [recorded(streams.recorded(10, 0))])
    assert found.equal
    assert found.marked + found.plain == 19
    assert found.marked >= TRIALS
    assert "mark" in found.why


@pytest.mark.parametrize("algorithm", bursts.ALGORITHMS)
def test_bursts_leave_the_same_facts(algorithm: str) -> None:
    scene = bursts.scenes(quick=True)["sparse"]()
    rows = bursts.rows(scene, algorithm, count=10, bursts=1)
    assert [row.arriving for row in rows] == [bursts.AT_ONCE, bursts.STEADILY, bursts.STAYING]
    assert [row.updates for row in rows] == [10, 10, 5]
    assert all(row.equal for row in rows)
    assert rows[0].sides["fully-dynamic"].together == 10
    assert rows[0].sides["sequential"].together == 1


def test_a_different_state_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "state", lambda database: id(database))
    with pytest.raises(AssertionError, match="states differ"):
        bursts.rows(bursts.scenes(quick=True)["sparse"](), "auto", count=10, bursts=1)


@pytest.mark.parametrize("policy", effects.POLICIES)
def test_small_updates_meet_the_large_one_and_all_is_undone(policy: str) -> None:
    edges = chains(54_000)
    database = Database(text("closure_linear"), facts={"edge": edges})
    before = state(database)
    large = [change for update in burst({"edge": edges}, 2, 1000, seed=1) for change in update]
    large = [change for change in large if change.op == "-"]
    row = effects.row(database, 54_000, policy, large, wanted=4)
    assert row.size == 1000
    assert len(row.effects) >= 4
    assert 0 < row.percentile(50) <= row.percentile(100)
    assert state(database) == before


@pytest.mark.parametrize("policy", endless.POLICIES)
def test_a_long_stream_ends_where_it_began(policy: str) -> None:
    row = endless.row(policy, 5_400, 200)
    assert row.equal
    assert (row.facts, row.updates) == (5_400, 200)
    assert row.per_second > 0
    assert row.early > 0


# What is said of it.


def marked(program: str, label: int, *, old: int, new: int, implicit: int, cpu: float) -> marks.Row:
    counts = ({"deletions": old}, {"deletions": new, "implicit": implicit, "prevented": implicit})
    sides = [marks.Side(1.0, dict(counts[0])), marks.Side(cpu, dict(counts[1]))]
    return marks.Row(program, label, "bf", 1, *sides, 1.0, True, (counts,))


def found(some: list[Target], words: str) -> Target:
    (target,) = [target for target in some if words in target.text]
    return target


def test_every_row_must_have_fewer_deletions() -> None:
    good = marked("path", 10, old=10, new=4, implicit=6, cpu=2.0)
    bad = marked("path", 20, old=10, new=10, implicit=0, cpu=2.0)
    assert found(targets.of_marks([good], []), "fewer deletion").reached is True
    assert found(targets.of_marks([good, bad], []), "fewer deletion").reached is False
    assert "2.00 times" in found(targets.of_marks([good], []), "what marking costs").text


def test_marks_must_equal_what_they_prevent() -> None:
    good = marked("sequence", 10, old=10, new=4, implicit=6, cpu=2.0)
    bad = marked("sequence", 10, old=10, new=4, implicit=7, cpu=2.0)
    assert targets.prevented([good]).reached is True
    assert targets.prevented([good, bad]).reached is False
    assert targets.prevented([]).reached is None


@pytest.mark.parametrize(
    ("small_", "large", "expected"), [(0.8, 0.9, True), (0.9, 0.8, False), (1.2, 1.3, False)]
)
def test_the_gain_must_be_larger_for_small_updates(
    small_: float, large: float, expected: bool
) -> None:
    rows = [
        marked("path", 10, old=10, new=4, implicit=6, cpu=small_),
        marked("path", 80, old=10, new=4, implicit=6, cpu=large),
    ]
    assert targets.sooner("path", rows).reached is expected


def undoing(algorithm: str, arriving: str, factor: float) -> bursts.Row:
    sides = {
        "sequential": bursts.Side(factor, 1.0, 1),
        "fully-dynamic": bursts.Side(1.0, 0.5, 100),
    }
    return bursts.Row("dag", "a DAG", 1000, algorithm, arriving, 100, sides, True)


def test_the_least_factor_of_auto_counts() -> None:
    rows = [undoing("auto", "at once", 2.5), undoing("dred", "at once", 1.5)]
    target = found(targets.of_bursts(rows), "long: auto, at once")
    assert target.reached is True
    assert "at least 2.50 times: dag, auto" in target.figure
    assert "at least 1.50 times: dag, dred" in target.figure
    assert found(targets.of_bursts(rows), "auto, steadily").reached is None
    rows.append(undoing("auto", bursts.STAYING, 1.1))
    assert found(targets.of_bursts(rows), "long: auto, at once").reached is True
    assert "1.10" in found(targets.of_bursts(rows), "nothing is undone").text
    rows.append(replace(rows[0], scene="lubm", sides=undoing("auto", "", 1.9).sides))
    assert found(targets.of_bursts(rows), "long: auto, at once").reached is False


def effect(policy: str, size: int, median: float) -> effects.Row:
    return effects.Row(size, policy, 1000, 1.0, 0.1, [0.5 * median, median, 9 * median])


@pytest.mark.parametrize(("last", "expected"), [(0.019, True), (0.021, False)])
def test_first_effects_may_not_grow(last: float, expected: bool) -> None:
    plain = [effect("sequential", 100, 0.01), effect("sequential", 50_000, 1.0)]
    rows = [*plain, effect("fully-dynamic", 100, 0.01), effect("fully-dynamic", 50_000, last)]
    (target,) = targets.of_effects(rows)
    assert target.reached is expected
    assert "100.00 times" in target.figure
    assert targets.of_effects(plain)[0].reached is None


@pytest.mark.parametrize(("early", "late", "expected"), [(100, 109, True), (100, 111, False)])
def test_memory_may_not_grow(early: int, late: int, expected: bool) -> None:
    times = {"p50": 0.001, "p95": 0.002, "p99": 0.003, "max": 0.004}
    row = endless.Row(
        *("sequential", 1000, 10_000, 800.0, times, times, times, 0),
        early * tables.MEBI,
        late * tables.MEBI,
        True,
    )
    assert found(targets.of_long_streams([row]), "memory").reached is expected
    larger = replace(row, early=10 * row.early, late=10 * row.early + 40 * tables.MEBI)
    assert found(targets.of_long_streams([larger]), "memory").reached is True
    assert "| sequential | 1,000 | 10,000 | 800 |" in tables.long_streams([row])


def test_pictures_have_a_point_for_each_figure() -> None:
    rows = [
        effect(policy, size, 0.01) for policy in effects.POLICIES for size in (100, 1000, 50_000)
    ]
    drawn = picture.first_effects(rows)
    assert drawn is not None
    assert drawn.count("<circle") == 12
    assert picture.first_effects(rows[:1]) is None
    factors = picture.factors([undoing("auto", "at once", 2.5), undoing("bf", "steadily", 12.0)])
    assert factors is not None
    titles = [node.text for node in ElementTree.fromstring(factors).iter() if "title" in node.tag]
    assert "dag, auto, at once: 2.50×" in titles
    assert "dag, bf, steadily: 12×" in titles
    assert picture.factors([]) is None


@pytest.mark.slow
def test_a_run_prints_its_rows_and_leaves_the_page_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = {path: path.exists() and path.read_bytes() for path in (run.PAGE, run.RESULTS)}
    written = tmp_path / "samples.json"
    parts = ["--only", "stepwise", "--only", "effects"]
    assert run.main(["--quick", *parts, "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    assert "effects   fully-dynamic, 1,000 facts in flight" in printed
    assert "### Table 2, seq: recorded streams" in printed
    assert "### First effects" in printed
    assert "### Many small updates" not in printed
    assert [row["policy"] for row in json.loads(written.read_text())["effects"]] == [
        *("sequential", "sequential", "fully-dynamic", "fully-dynamic")
    ]
    assert before == {path: path.exists() and path.read_bytes() for path in before}


def test_a_full_page_has_all_its_parts() -> None:
    everything = run.Found(
        marks=[marked("path", 10, old=10, new=4, implicit=6, cpu=2.0)],
        choices=[marks.Choice("path", 10, 3, 16, "no marks: they cost", 1.5, 1.0, True)],
        bursts=[undoing("auto", "at once", 2.5)],
        effects=[effect("sequential", 100, 0.01)],
    )
    text = run.page("here", everything, run.PICTURES)
    assert all(name in text for name in run.PICTURES.values())
    assert "| path 10 | 3 | 16 | 1,500 | 1,000 | 1.50 | no marks: they cost |" in text
    assert everything.right()
    everything.bursts.append(replace(everything.bursts[0], equal=False))
    assert not everything.right()


def test_a_wrong_name_is_answered_with_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "nosuch"])
    assert "marks" in capsys.readouterr().err
