"""The benchmark of modules: it changes what it says, sees what differs, and hides no row."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import report
from bench.checksum import Checksum
from bench.measure import Measurement
from bench.modules import paper, picture, play, run, tables
from bench.modules.play import ALGORITHMS, KINDS, Played, Row
from bench.modules.targets import targets
from bench.modules.workloads import cases
from bench.ours import Ours
from bench.systems import system_named
from bench.updates.changes import Change
from bench.updates.figures import Sample, Series
from bench.updates.play import Player, state
from bench.updates.run import PLAIN
from bench.updates.tables import time_of

QUICK = cases(quick=True)


def pairs(change: Change) -> set[tuple[str, tuple[int, ...]]]:
    return {(name, tuple(row)) for name, rows in change.gone.items() for row in rows.tolist()}


# What is done.


@pytest.mark.parametrize("name", QUICK)
def test_few_facts_and_a_quarter_of_them(name: str) -> None:
    case = QUICK[name]()
    total = sum(map(len, case.among.values()))
    small, large = play.scenes(case)
    drawn = [pairs(change) for change in small.changes]
    assert {len(some) for some in drawn} == {play.few(case)}
    assert 0 < play.few(case) <= total / 8
    assert drawn[0] != drawn[1] != drawn[2]
    assert abs(len(pairs(large.changes[0])) - total / 4) <= 1


def test_a_thousand_facts_where_there_are_enough() -> None:
    case = cases()["digraph-1000"]()
    assert play.few(case) == 1000
    assert play.scenes(case)[0].steps == ("delete 1,000 facts", "insert them again")


def test_what_makes_derivations_count_touches_nothing() -> None:
    case = QUICK["cliques"]()
    scene = play.scenes(case)[0]
    assert scene.still is not None
    used = {number for rows in case.facts.values() for number in rows.ravel().tolist()}
    for rows in scene.still.come.values():
        assert used.isdisjoint(rows.ravel().tolist())
    player = Player(scene, "dredc", limit=10)
    assert player.keep_still()
    assert state(player.database) == player.start
    player.limit = 0
    assert not player.keep_still()
    assert state(player.database) == player.start


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dag-r", "cliques"])
def test_all_algorithms_do_the_same(name: str) -> None:
    with play.modules_at_once():
        rows = play.play(QUICK[name](), limit=600)  # kernels may have to be compiled
    assert [row.kind for row in rows] == list(KINDS)
    for row in rows:
        assert {row.status(algorithm) for algorithm in ALGORITHMS} == {"ok"}
        assert row.differing() == row.failed() == []
        assert all(series.states for series in row.series.values())
    deleted = rows[1]
    assert any("dredc-mod" in row.series["auto"].chosen() for row in rows)
    assert set(deleted.series["dredc"].chosen()) == {"dredc"}
    assert deleted.changed() > 0


def test_what_takes_too_long_is_stopped_and_told() -> None:
    case = QUICK["dag-r"]()
    slow = play.play_one(case, "dredc", limit=0)
    assert [sorted(series.stopped) for series in slow.series] == [[0], [0], [], [0], []]
    assert not any(series.detail for series in slow.series)
    fast = play.play_one(case, "dredc-mod", limit=600)
    other = play.play_one(case, "recompute", limit=600)
    played = {"dredc": slow, "dredc-mod": fast, "recompute": other}
    rows = play.rows(case, played, limit=5)  # such a case has twice the time
    assert [time_of(row, "dredc") for row in rows] == [
        "> 10 s",
        "> 10 s",
        "–",
        "> 10 s",
        "–",
    ]
    assert tables.ours(rows[0]).startswith("> ")
    assert tables.ours(rows[2]) == "–"
    assert "| – | " in tables.memory(rows)


def test_a_wrong_state_is_seen() -> None:
    played = {name: Played() for name in ALGORITHMS}
    for name, each in played.items():
        each.series[0].samples = [Sample(0, 1.0, (7, 0), {})]
        each.series[0].states = {0: {"path": Checksum(7, 1, 2)}}
        if name == "auto":
            each.series[0].states = {0: {"path": Checksum(7, 1, 3)}}
    row = play.rows(QUICK["dag-r"](), played, limit=10)[0]
    assert row.differing() == ["auto"]


def test_a_process_that_dies_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying:
        def __init__(self, *_: object, **__: object) -> None: ...
        def __enter__(self) -> Dying:
            return self

        def __exit__(self, *_: object) -> None: ...
        def submit(self, *_: object) -> None:
            raise BrokenProcessPool

    monkeypatch.setattr(play, "ProcessPoolExecutor", Dying)
    rows = play.play_apart("dag-r", quick=True, limit=10)
    assert all(row.failed() == list(ALGORITHMS) for row in rows)


def test_the_other_benchmarks_measure_without_modules() -> None:
    ours, modular = system_named("tidelog"), system_named("tidelog-modules")
    assert isinstance(ours, Ours)
    assert isinstance(modular, Ours)
    assert (ours.modules, modular.modules) == (False, True)
    assert "dredc" in PLAIN
    assert not any("mod" in name for name in PLAIN)


# What is said of it.


def row_of(
    kind: paper.Kind,
    *,
    scene: str = "dag-r",
    limit: float = 60.0,
    stopped: tuple[str, ...] = (),
    **seconds: float,
) -> Row:
    series = {name: Series() for name in ALGORITHMS}
    for name in stopped:
        series[name] = Series(stopped={0})
    for name, value in seconds.items():
        series[name.replace("_", "-")] = Series(samples=[Sample(0, value, (0, 26), {})])
    return Row(
        *(scene, "title", kind, 10, 1000, "other", True, limit, series),
        kind=kind,
        paper="DAG-R",
    )


def found(rows: list[Row], words: str, peers: list[report.Row] | None = None) -> report.Target:
    (target,) = [t for t in targets(rows, peers or []) if words in t.text]
    return target


def test_ratios_stand_beside_those_of_the_paper() -> None:
    row = row_of("materialise", dredc=5.0, dredc_mod=0.1)
    assert (tables.ours(row), tables.theirs(row)) == ("50×", "109×")
    assert tables.theirs(replace(row, paper=None)) == "–"
    assert tables.theirs(replace(row, kind="insert many")) == "–"
    bound = row_of("delete few", stopped=("dredc",), dredc_mod=0.1)
    assert tables.ours(bound) == "> 600×"
    assert "| > 60 s | 100.0 |" in tables.times([bound])


def test_facts_that_change_are_those_of_all_changes() -> None:
    row = row_of("delete few", dredc=5.0, recompute=0.1)
    row.series["recompute"].samples.append(Sample(1, 0.1, (0, 30), {}))
    assert row.changed() == 28
    assert row_of("delete few", dredc=5.0).changed() == 26


@pytest.mark.parametrize(("kind", "factor"), [("materialise", 5), ("delete few", 10)])
def test_every_row_must_be_so_many_times_as_fast(kind: paper.Kind, factor: int) -> None:
    words = f"at least {factor} times"
    good = row_of(kind, dredc=1.01 * factor, dredc_mod=1.0)
    bad = row_of(kind, dredc=0.99 * factor, dredc_mod=1.0)
    open_ = row_of(kind, stopped=("dredc",), limit=0.99 * factor, dredc_mod=1.0)
    slow = row_of(kind, stopped=("dredc-mod",), dredc=1.0)
    assert found([good], words).reached is True
    assert found([good, bad], words).reached is False
    assert found([good, open_], words).reached is None
    assert "more than" in found([good, open_], words).figure
    assert found([good, slow], words).reached is False
    assert "dredc-mod > 60 s" in found([good, slow], words).figure
    assert found([], words).reached is None


@pytest.mark.parametrize(
    ("row", "ratio", "least", "theirs"),
    [
        ("LUBM-LE", 3.9, True, True),
        ("LUBM-LE", 3.6, False, False),
        ("DAG-R", 6.0, True, False),
        (None, 4.9, False, None),
    ],
)
def test_the_paper_has_a_ratio_for_each_row(
    row: str | None, ratio: float, least: bool, theirs: bool | None
) -> None:
    rows = [replace(row_of("materialise", dredc=ratio, dredc_mod=1.0), paper=row)]
    assert found(rows, "materialisation with modules at least 5").reached is least
    assert found(rows, "as much in materialisation").reached is theirs


@pytest.mark.parametrize(
    ("seconds", "recompute", "expected"), [(0.9, 2.0, True), (1.1, 2.0, False), (0.9, 0.8, False)]
)
def test_deleting_is_faster_than_materialising(
    seconds: float, recompute: float, expected: bool
) -> None:
    rows = [
        row_of("materialise", dredc_mod=1.0),
        row_of("delete few", dredc_mod=seconds, recompute=recompute, auto=seconds),
    ]
    assert found(rows, "DAG-R").reached is expected
    slow = row_of("delete few", stopped=("dredc-mod",), recompute=recompute)
    assert found([rows[0], slow], "DAG-R").reached is False
    assert found([replace(row, scene="cliques") for row in rows], "DAG-R").reached is None


def peer_row(**seconds: float) -> report.Row:
    row = report.Row("random-nonlinear", "non-linear", "non-linear", 10)
    for name, value in {"tidelog-modules": 1.0, **seconds}.items():
        row.take(Measurement(name, row.name, evaluate_seconds=value, cpu_seconds=value))
    return row


@pytest.mark.parametrize(("seconds", "expected"), [(10.5, True), (9.5, False)])
def test_ten_times_as_fast_as_every_peer(seconds: float, expected: bool) -> None:
    row = peer_row(nemo=seconds, clingo=20.0, egglog=20.0, **{"duckdb-1": 20.0})
    assert found([], "peer", [row]).reached is expected
    assert "(20×)" in tables.peers([row])
    missing = peer_row(clingo=20.0)
    missing.take(Measurement("nemo", "random-nonlinear", "absent"))
    assert found([], "peer", [missing]).reached is None


def test_the_picture_has_a_point_for_each_ratio() -> None:
    rows = [
        row_of("materialise", dredc=5.0, dredc_mod=0.1),
        row_of("delete few", stopped=("dredc",), dredc_mod=0.1),
        row_of("insert many", dredc=5.0, dredc_mod=0.1),
    ]
    text = picture.drawn(rows)
    assert text is not None
    titles = [node.text for node in ElementTree.fromstring(text).iter() if "title" in node.tag]
    assert "dag-r: materialise: 50×" in titles
    assert "dag-r: delete few: > 600×" in titles
    assert "DAG-R in the paper, delete few: 46×" in titles
    assert not any("insert many" in (title or "") for title in titles)
    assert picture.drawn([row_of("materialise", dredc=5.0)]) is None


def test_the_page_has_the_figures_of_the_paper() -> None:
    text = run.PAGE.read_text(encoding="utf-8")
    for name, steps in paper.FIGURES.items():
        figures = [f"{value:.2f}" for pair in steps.values() for value in pair]
        assert f"| {name} | {' | '.join(figures)} |" in text
    assert {case().paper for case in cases(quick=True).values()} == {*paper.FIGURES, None}


@pytest.mark.slow
def test_a_run_prints_its_rows_and_leaves_the_page_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = {path: path.exists() and path.read_bytes() for path in (run.PAGE, run.RESULTS)}
    written = tmp_path / "samples.json"
    assert run.main(["--quick", "--only", "dag-r", "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    assert "dag-r: delete 125 facts" in printed
    assert "all algorithms give the same facts: reached (5 rows)" in printed
    assert "every peer: not measured (no figures)" in printed
    assert "| DAG-R, 100 nodes, 1,000 edges | insert them again | 1,000 | 5,204 |" in printed
    assert '"maintaining"' in written.read_text(encoding="utf-8")
    assert before == {path: path.exists() and path.read_bytes() for path in before}


def test_a_wrong_name_is_answered_with_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "nosuch"])
    assert "expected one of cliques, claros, lubm" in capsys.readouterr().err
