"""The benchmark of the circuit: it plays what it says, sees what differs, and hides no row."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bench import data
from bench.checksum import Checksum
from bench.dbsp import apart, cases, figures, picture, run, souffle, tables, targets
from bench.dbsp.apart import Done, Run, Status
from bench.dbsp.cases import ADD, DELETE, MATERIALISE, REMOVE, RESTORE, Case
from bench.dbsp.figures import Row
from bench.dbsp.found import Found, Systems
from bench.dbsp.page import page
from bench.dbsp.peer import weights, written
from bench.dbsp.play import PEER, SOUFFLE, Ours, Play, TooMuch
from bench.plain import parse_plain

QUICK = cases.cases(quick=True)
CIRCUIT, PLAIN = "dbsp", "dbsp-no-index"


def pairs(facts: data.Facts) -> set[tuple[str, tuple[int, ...]]]:
    return {(name, tuple(row)) for name, rows in facts.items() for row in rows.tolist()}


# Programs and data.


def test_the_graphs_have_the_sizes_of_the_paper() -> None:
    full = cases.cases()
    dense, sparse = full["dense"]().facts["edge"], full["sparse"]().facts["edge"]
    assert len(dense) == round(0.01 * 1000 * 999)
    assert len(sparse) == 10_000
    for edges in (dense, sparse):
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert 0 <= edges.min() <= edges.max() < 1000


def test_few_nodes_of_the_sparse_graph_have_many_edges() -> None:
    full = cases.cases()
    spread = {}
    for name in ("dense", "sparse"):
        degrees = np.bincount(full[name]().facts["edge"][:, 0], minlength=1000)
        spread[name] = np.sort(degrees)[-100:].sum() / degrees.sum()
    assert spread["dense"] < 0.2 < spread["sparse"]


@pytest.mark.parametrize("shares", [data.GTGRAPH, data.SKEWED])
def test_edges_fall_into_quadrants_by_their_shares(
    shares: tuple[float, float, float, float],
) -> None:
    edges = data.rmat(1 << 16, 20_000, 1, shares)
    half = (edges >= 1 << 15).astype(int)
    found = np.bincount(2 * half[:, 0] + half[:, 1], minlength=4) / len(edges)
    assert np.abs(found - shares).max() < 0.02


def test_lubm_is_of_the_size_of_the_reference() -> None:
    """The reference counts what follows; pydbsp's own LUBM-1 has 100,838 facts before that."""
    case = cases.cases()["rdfs"]()
    assert 100_000 < case.given < 103_000


def test_rdfs_has_six_rules_over_one_relation_and_owl_107() -> None:
    rdfs, owl = (parse_plain(QUICK[name]().program) for name in ("rdfs", "owl"))
    assert (len(rdfs.rules), set(rdfs.arities)) == (6, {"triple"})
    assert len(owl.rules) == 107
    closure = parse_plain(QUICK["dense"]().program).rules[1]
    assert [atom.relation for atom in closure.body] == ["edge", "path"]


@pytest.mark.parametrize("name", QUICK)
def test_parts_grow_and_are_complete(name: str) -> None:
    case = QUICK[name]()
    every = pairs(case.parted(100)[0])
    assert len(every) == case.given
    smaller = pairs(case.fixed)
    for percent in (25, 50, 75, 99):
        part, rest = map(pairs, case.parted(percent))
        assert smaller < part
        assert part | rest == every
        assert not part & rest
        assert not rest & pairs(case.fixed)
        wanted = (1 - percent / 100) * (case.given - len(pairs(case.fixed)))
        assert abs(len(rest) - wanted) <= 1
        smaller = part


def test_updates_take_back_what_they_did() -> None:
    case = QUICK["rdfs"]()
    first, add, remove = cases.updating(case, 99)
    assert pairs(dict(add.change.come)) == pairs(dict(remove.change.gone))
    assert pairs(dict(first.change.come)) | pairs(dict(add.change.come)) == pairs(
        case.parted(100)[0]
    )
    single = cases.single(case, 3, 2)
    assert [step.name for step in single[1:]] == [
        *3 * (DELETE, RESTORE),
        *2 * (cases.DELETE_WORD, cases.RESTORE_WORD),
    ]
    words = {pair for step in single[7::2] for pair in pairs(dict(step.change.gone))}
    assert len(words) == 2
    assert words < pairs(case.fixed)


@pytest.mark.parametrize("name", ["rdfs", "owl"])
def test_the_rule_that_goes_is_one_of_the_program(name: str) -> None:
    case = QUICK[name]()
    assert case.rule in case.program
    steps = cases.ruling(case, 2)
    assert [step.change.rules_gone for step in steps[1:]] == 2 * [(case.rule,), ()]


# What is done.


def play_of(case: Case, system: str = "recompute", **more: object) -> Play:
    small = cases.updating(case.small(), 50)
    asked = Play(system, case.program, cases.updating(case, 50), small, 60.0, 8 << 30)
    return replace(asked, **more)  # type: ignore[arg-type]


def test_a_play_is_measured_in_a_process_of_its_own() -> None:
    case = QUICK["dense"]()
    mine = {name: apart.played(play_of(case, name)) for name in ("recompute", CIRCUIT)}
    rows = figures.rows(case, 50, cases.updating(case, 50), {n: [r] for n, r in mine.items()})
    assert [row.step for row in rows] == [MATERIALISE, ADD, REMOVE]
    for run_ in mine.values():
        assert (run_.status, run_.detail) == ("ok", "")
        assert all(0 < step.seconds < 60 for step in run_.steps)
        assert all(step.peak >= 0.9 * run_.loaded > 2**20 for step in run_.steps)
    assert rows[0].differing() == []
    assert rows[0].facts() == rows[2].facts() < rows[1].facts()


def test_a_step_that_takes_too_long_is_stopped_and_told() -> None:
    case = QUICK["dense"]()
    late = apart.played(play_of(case, limit=0.0))
    assert (late.status, late.at, late.steps) == ("seconds", MATERIALISE, [])
    late.limit = 7.0
    (first, *others) = figures.rows(case, 50, cases.updating(case, 50), {"dbsp": [late]})
    assert tables.time_of(first, "dbsp") == "> 7 s"
    assert [tables.time_of(row, "dbsp") for row in others] == ["–", "–"]


def test_who_does_not_stop_by_itself_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LATE", 0.3)
    monkeypatch.setattr(apart, "ROOT", Path(__file__).parent)  # where nothing of ours is
    stub = 'import time; print(\'{"begin": "materialise"}\', flush=True); time.sleep(60)'
    command = [sys.executable, "-c", stub]
    popen = apart.subprocess.Popen
    monkeypatch.setattr(apart.subprocess, "Popen", lambda _, **more: popen(command, **more))
    late = apart.played(play_of(QUICK["dense"](), limit=0.1))
    assert (late.status, late.at) == ("seconds", MATERIALISE)


def test_a_process_that_dies_is_a_failure() -> None:
    lost = apart.played(play_of(QUICK["dense"](), program="no program"))
    assert lost.status == "failed"
    assert "Error" in lost.detail
    row = row_of(recompute=[1.0])
    row.runs["dbsp"] = [lost]
    assert row.failed() == {"recompute": lost.detail}


def test_what_was_compiled_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done = Done(MATERIALISE, 1.0, 1.0, 1, 9, {})
    answers = [Run("auto", "ok", steps=[done]), *(Run("auto", "ok") for _ in range(3))]
    monkeypatch.setattr(apart, "played", lambda *_: answers.pop(0))
    assert [r.compiled for r in apart.in_turns([play_of(QUICK["dense"]())], 2)["recompute"]] == [
        0,
        0,
    ]
    assert len(answers) == 1


def test_long_and_failed_plays_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = [play_of(QUICK["dense"](), name) for name in ("auto", "bf", "dred")]
    done = Done(MATERIALISE, 11.0, 11.0, 1, 0, {})
    answers = {"auto": Run("auto", "ok", steps=[done]), "bf": Run("bf"), "dred": Run("dred", "ok")}
    monkeypatch.setattr(apart, "played", lambda play, _: answers[play.system])
    found = apart.in_turns(plays, 4)
    assert {name: len(runs) for name, runs in found.items()} == {"auto": 1, "bf": 1, "dred": 4}


def test_how_long_it_may_take_without_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {}

    def in_turns(plays: list[Play], *_: object) -> dict[str, list[Run]]:
        limits.update({play.system: play.limit for play in plays})
        done = Done(MATERIALISE, 5.0, 5.0, 1, 0, STATE)
        return {play.system: [Run(play.system, "ok", steps=[done])] for play in plays}

    monkeypatch.setattr(apart, "in_turns", in_turns)
    bench = run.Bench(True, 60.0, sys.executable)
    systems = Systems().indexed
    (row,) = bench.rows(QUICK["dense"](), 100, cases.materialising, systems, PLAIN)
    assert list(row.runs) == ["dbsp", PLAIN, "recompute"]
    assert limits == {"dbsp": 60.0, "recompute": 60.0, PLAIN: 12 * 5.0}


def test_a_limit_on_memory_is_told_from_one_on_time() -> None:
    case = QUICK["dense"]()
    small = Ours(play_of(case, memory=1), 60.0)
    with pytest.raises(TooMuch, match="memory"):
        small.make(cases.materialising(case)[0].change)


# The peer.


def test_programs_and_facts_as_the_peer_has_them() -> None:
    assert written("p(x, 3) :- q(x, y), p(y, 0).") == [
        (("p", ("?x", 3)), ("q", ("?x", "?y")), ("p", ("?y", 0)))
    ]
    assert weights({"p": np.array([[1, 2], [3, 4]])}, -1) == {("p", (1, 2)): -1, ("p", (3, 4)): -1}


def test_an_interpreter_without_the_peer_is_recognised() -> None:
    assert apart.peer("no-such-interpreter") is None
    told = apart.peer(sys.executable)
    assert told is None or told.startswith("pydbsp ")


def test_the_peer_gives_the_same_facts() -> None:
    if apart.peer(sys.executable) is None:
        pytest.skip("pydbsp is not installed")
    case = QUICK["sparse"]().small()
    steps = cases.updating(case, 50)
    runs = {
        name: [apart.played(Play(name, case.program, steps, [], 60.0, 8 << 30))]
        for name in ("recompute", PEER)
    }
    assert [r.status for some in runs.values() for r in some] == ["ok", "ok"]
    assert figures.rows(case, 50, steps, runs)[0].differing() == []


@pytest.mark.slow
def test_souffle_gives_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in that takes the options and files of Soufflé and evaluates with Tidelog: what is
    tested is how programs and facts get there and back."""
    stand_in = tmp_path / "souffle"
    stand_in.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "Version: 0.0"; exit; fi\n'
        f'exec {sys.executable} -m tidelog run "$3" "$1" "$2"\n',
        encoding="utf-8",
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert souffle.version() == "Version: 0.0"
    for name in ("rdfs", "sparse"):
        case = QUICK[name]().small()
        steps = cases.updating(case, 50)
        runs = {
            system: [apart.played(Play(system, case.program, steps, [], 60.0, 8 << 30))]
            for system in ("recompute", SOUFFLE)
        }
        assert [r.status for some in runs.values() for r in some] == ["ok", "ok"]
        (row, *_) = figures.rows(case, 50, steps, runs)
        assert row.differing() == []
        assert row.seconds(SOUFFLE)


def test_souffle_takes_part_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Systems(souffle="Version: 0.0").indexed == (*Systems().indexed, SOUFFLE)
    monkeypatch.setenv("PATH", "")
    assert souffle.version() is None


# What is said of it.

STATE = {"p": Checksum(7, 1, 2)}


def row_of(
    *,
    step: str = MATERIALISE,
    case: str = "rdfs",
    percent: int = 100,
    stopped: dict[str, Status] | None = None,
    peak: int = 300,
    **times: list[float],
) -> Row:
    """Times in seconds by systems, peaks in MiB."""
    runs = {
        name.replace("_", "-"): [
            Run(
                name.replace("_", "-"),
                "ok",
                loaded=150 << 20,
                steps=[
                    Done(step, seconds, seconds, peak << 20, 0, STATE, seconds / 2)
                    for seconds in some
                ],
            )
        ]
        for name, some in times.items()
    }
    for name, status in (stopped or {}).items():
        runs[name] = [Run(name, status, at=step, limit=60.0)]
    return Row(case, f"the {case}", percent, step, 100, runs)


def play_rows(case: str, percent: int, seconds: tuple[float, float, float]) -> list[Row]:
    """The three rows of one play by the circuit."""
    steps = [
        Done(name, value, value, 300 << 20, 0, STATE)
        for name, value in zip((MATERIALISE, ADD, REMOVE), seconds, strict=True)
    ]
    runs = {CIRCUIT: [Run(CIRCUIT, "ok", loaded=150 << 20, steps=steps)]}
    return [Row(case, f"the {case}", percent, step.name, 100, runs, ((2, 0),)) for step in steps]


@pytest.mark.parametrize(("without", "expected"), [(9.9, False), (10.0, True)])
def test_the_index_must_give_ten_on_all_data(without: float, expected: bool) -> None:
    rows = [
        row_of(dbsp=[1.0], dbsp_no_index=[without]),
        row_of(case="owl", dbsp=[1.0], dbsp_no_index=[100.0]),
        row_of(percent=25, dbsp=[1.0], dbsp_no_index=[2.0]),
    ]
    target = targets.of_index(rows, CIRCUIT, PLAIN)
    assert target.reached is expected
    whole = f"(whole transactions {without:.1f})"
    assert target.figure == (
        f"rdfs {without:.1f} times {whole}; owl 100.0 times (whole transactions 100.0)"
    )


def test_a_limit_decides_about_the_index_if_it_can() -> None:
    enough = row_of(dbsp=[12.0], stopped={PLAIN: "seconds"})
    assert targets.of_index([enough], CIRCUIT, PLAIN).reached is True
    assert "more than 10.0 times" in targets.of_index([enough], CIRCUIT, PLAIN).figure
    unknown = row_of(dbsp=[13.0], stopped={PLAIN: "seconds"})
    assert targets.of_index([enough, unknown], CIRCUIT, PLAIN).reached is None
    missing = row_of(dbsp_no_index=[7.0], stopped={CIRCUIT: "seconds"})
    assert targets.of_index([unknown, missing], CIRCUIT, PLAIN).reached is False
    failed = row_of(dbsp=[1.0], stopped={PLAIN: "memory"})
    assert targets.of_index([failed], CIRCUIT, PLAIN).reached is False
    assert targets.of_index([], CIRCUIT, PLAIN).reached is None


@pytest.mark.parametrize(("update", "expected"), [(0.1, True), (0.11, False)])
def test_one_percent_of_lubm_takes_a_tenth(update: float, expected: bool) -> None:
    rows = [
        *play_rows("rdfs", 99, (1.0, 0.05, update)),
        *play_rows("owl", 99, (2.0, 0.1, 0.1)),
        *play_rows("rdfs", 50, (1.0, 1.0, 1.0)),
        *play_rows("dense", 99, (1.0, 0.5, 0.6)),
    ]
    small, dense = targets.of_updates(rows, CIRCUIT)
    assert small.reached is expected
    assert f"rdfs, {REMOVE} {update:.3f}" in small.figure
    assert f"{ADD} 0.500, {REMOVE} 0.600; the paper's circuit: 1.0" in dense.text
    assert targets.of_updates([], CIRCUIT)[0].reached is None


@pytest.mark.parametrize(
    ("step", "seconds", "expected"),
    [
        (MATERIALISE, 1.0, True),
        (MATERIALISE, 1.1, False),
        (DELETE, 0.025, True),
        (DELETE, 0.026, False),
        (RESTORE, 0.052, True),
        (RESTORE, 0.053, False),
    ],
)
def test_times_beside_the_reference(step: str, seconds: float, expected: bool) -> None:
    times = [0.5 * seconds, seconds, 9 * seconds]
    target = targets.of_single([row_of(step=step, dbsp=times)], CIRCUIT)[0]
    assert target.reached is expected
    assert "at worst" in target.figure
    slow = row_of(step=step, stopped={CIRCUIT: "seconds"})
    assert targets.of_single([slow], CIRCUIT)[0].reached is False


@pytest.mark.parametrize(("peak", "expected"), [(324, True), (325, False)])
def test_memory_beside_the_reference(peak: int, expected: bool) -> None:
    """1.7 GB are 1,621 MiB, and a fifth of that is 324."""
    target = targets.of_single([row_of(dbsp=[1.0], peak=peak)], CIRCUIT)[1]
    assert target.reached is expected
    assert "150 MiB before there were any facts" in target.figure


def test_the_peer_stands_beside_its_reference() -> None:
    row = row_of(dbsp=[0.5], pydbsp=[20.0], peak=900)
    (target,) = [t for t in targets.of_single([row], CIRCUIT) if PEER in t.text]
    assert (target.reached, "40 times" in target.text) == (None, True)
    assert "900 MiB" in target.text


def test_other_facts_are_seen() -> None:
    row = row_of(recompute=[1.0], dbsp=[1.0], auto=[1.0])
    assert row.differing() == []
    (step,) = row.runs["dbsp"][0].steps
    row.runs["dbsp"][0].steps[0] = replace(step, state={"p": Checksum(7, 1, 3)})
    assert row.differing() == ["dbsp"]
    assert targets.agreement([row]).reached is False
    assert not Found(index=[row]).right()


def test_facts_that_do_not_return_are_seen() -> None:
    rows = play_rows("dense", 99, (1.0, 1.0, 1.0))
    assert rows[0].differing() == []
    steps = rows[0].runs[CIRCUIT][0].steps
    steps[2] = replace(steps[2], state={})
    assert rows[0].differing() == [CIRCUIT]


def test_a_failure_of_ours_fails_the_run_and_one_of_the_peer_does_not() -> None:
    row = row_of(recompute=[1.0], stopped={PEER: "failed"})
    assert Found(single=[row]).right()
    assert tables.time_of(row, PEER) == "failed"
    assert not Found(single=[row_of(recompute=[1.0], stopped={"auto": "failed"})]).right()


def test_tables_tell_the_best_of_runs_ratios_and_limits() -> None:
    found = row_of(dbsp=[0.1, 0.3, 0.2], recompute=[0.05], stopped={PLAIN: "seconds"})
    text = tables.index([found], (CIRCUIT, PLAIN, "recompute"), CIRCUIT, PLAIN)
    assert "| the rdfs | 100 % | 100 | 7 | 200.0 | > 60 s | 50.0 | > 300× |" in text
    assert "| 200.0 (300.0) | 50.0 |" in tables.changes([found], (CIRCUIT, "recompute"))
    found.runs[CIRCUIT] += row_of(dbsp=[0.15, 0.16, 9.0]).runs[CIRCUIT]
    assert "| 160.0 (9,000) | 50.0 |" in tables.changes([found], (CIRCUIT, "recompute"))
    updates = tables.updates(play_rows("owl", 99, (1.0, 0.05, 0.1)), (CIRCUIT, "auto"))
    assert f"| the owl | 99 % | {REMOVE} | 7 | 100.0 | – | 0.100 | – |" in updates


def test_memory_is_told_with_what_was_loaded() -> None:
    later = play_rows("rdfs", 99, (1.0, 1.0, 1.0))
    later[0].runs["auto"] = [replace(later[0].runs[CIRCUIT][0], system="auto")]
    rows = [row_of(dbsp=[1.0], stopped={PLAIN: "memory"}), *later]
    text = tables.memory(rows, (CIRCUIT, PLAIN, "auto"))
    assert "| program and data | system | loaded | 100 % | beyond loaded | 99 % |" in text
    assert "| the rdfs | dbsp | 150 | 300 | 150 | 300 | 150 |" in text
    assert "| the rdfs | auto | 150 | – | – | 300 | 150 |" in text
    assert PLAIN not in text


def titles(drawn: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(drawn).iter() if "title" in node.tag]


def test_pictures_have_a_point_for_each_figure() -> None:
    rows = [
        row_of(percent=percent, dbsp=[1.0], recompute=[0.1], stopped={PLAIN: "seconds"})
        for percent in (25, 50, 75, 100)
    ]
    systems = (CIRCUIT, PLAIN, "recompute")
    drawn = picture.materialisations(rows, systems)
    assert drawn is not None
    told = titles(drawn)[1:]
    assert len(told) == 12
    assert f"{PLAIN}, rdfs 25 %: materialise: more than 60 s" in told
    assert picture.materialisations([], systems) is None
    both = [*play_rows("owl", 99, (1.0, 0.1, 0.2)), *play_rows("owl", 50, (1.0, 1.0, 1.0))]
    steps = picture.steps(both, (CIRCUIT,))
    assert steps is not None
    assert len(titles(steps)) == 1 + 6
    assert steps.count("stroke-dasharray") == 1
    memory = picture.memory(rows, systems)
    assert memory is not None
    assert "dbsp, rdfs: 150 MiB" in titles(memory)
    assert picture.memory([], systems) is None


def test_a_full_page_has_all_its_parts() -> None:
    everything = Found(
        Systems(peer=None),
        index=[row_of(dbsp=[1.0], recompute=[0.1], dbsp_no_index=[12.0])],
        updates=play_rows("rdfs", 99, (1.0, 0.05, 0.1)),
        single=[row_of(dbsp=[1.0]), row_of(step=DELETE, dbsp=[0.002])],
        rules=[row_of(step=cases.DROP, dbsp=[0.01])],
    )
    text = page("here", everything, 60.0, run.PICTURES)
    assert all(name in text for name in run.PICTURES.values())
    assert "could not be imported" in text
    assert re.findall(r"^### (.*)$", text, re.M) == [
        *("What the index does", "Updates", "Memory", "Single facts", "Rules")
    ]
    assert "took 1.00 times the CPU time" in text
    everything.systems = Systems(peer="pydbsp 2.1.0")
    assert "pydbsp 2.1.0 ran on the same facts" in page("here", everything, 60.0, {})
    reached = {target.text: target.reached for target in everything.targets()}
    assert sum(value is True for value in reached.values()) == 6


@pytest.mark.slow
def test_the_run_that_is_quick(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It prints its rows, agrees with recomputing, and leaves the page alone."""
    before = {path: path.exists() and path.read_bytes() for path in (run.PAGE, run.RESULTS)}
    written_ = tmp_path / "samples.json"
    parts = ["--only", "single", "--only", "rules"]
    assert run.main(["--quick", *parts, "--json", str(written_)]) == 0
    printed = capsys.readouterr().out
    assert "rdfs 100 %: delete one fact of the ontology" in printed
    assert "all systems give the same facts: reached (11 rows)" in printed
    assert "### Memory" not in printed
    saved = json.loads(written_.read_text())
    assert [row["step"] for row in saved["single"]][:3] == [MATERIALISE, DELETE, RESTORE]
    samples = saved["single"][1]["systems"]["dbsp"]["samples"]
    assert [sample["seconds"] > 0 for sample in samples] == [True] * 3
    assert before == {path: path.exists() and path.read_bytes() for path in before}


@pytest.mark.slow
def test_the_other_parts_of_the_quick_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(run.PERCENTS, True, (50,))
    monkeypatch.setattr(run, "FIRST", (99,))
    two = {name: QUICK[name] for name in ("dense", "sparse")}
    monkeypatch.setattr(cases, "cases", lambda quick: two)
    assert run.main(["--quick", "--only", "index", "--only", "updates"]) == 0
    printed = capsys.readouterr().out
    assert "all systems give the same facts: reached (8 rows)" in printed
    assert "### Memory" in printed


def test_a_wrong_name_is_answered_with_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--only", "nosuch"], ["--circuit", "nosuch"]):
        with pytest.raises(SystemExit):
            run.main(wrong)
    told = capsys.readouterr().err
    assert "index" in told
    assert "expected one of auto" in told
