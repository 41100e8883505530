"""The benchmark of Spark: it measures what it says, and its targets hide no row."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bench import data
from bench.checksum import checksum
from bench.report import Target
from bench.spark import (
    apart,
    batches,
    closure,
    components,
    deletion,
    memory,
    model,
    page,
    picture,
    rules,
    run,
    scale,
    stars,
    tables,
    targets,
)
from bench.spark.figures import Row, Sample, Status, differing, faster
from bench.spark.measure import Late, of_frame, patience, repeated, timed
from bench.workloads import text
from tests.spark import conftest as shared
from tidelog import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

spark = shared.spark


# On a session.


def test_a_sum_is_the_same_wherever_the_rows_are(spark: SparkSession) -> None:
    edges = data.random_dag(50, 200, seed=1)
    assert of_frame(components.frame(spark, edges)) == checksum(edges)


def test_pivot_is_one_job_and_equals_one_process(spark: SparkSession) -> None:
    graph = closure.random("tiny", 30)
    pivot = {"strategy": "pivot", "driver_facts": 0}
    rows = [
        closure.ours(spark, graph, closure.PIVOT, pivot, 1, 60.0),
        closure.ours(spark, graph, closure.LOCAL, None, 2, None),
    ]
    assert [len(row.samples) for row in rows] == [1, 2]
    assert (rows[0].jobs, rows[1].jobs) == (1, 0)
    assert rows[0].facts == rows[1].facts == len(graph.edges) + 900
    assert differing(rows) == []
    rows[1].sums["path"][1] += 1
    assert differing(rows) == [f"tiny, closure: {closure.LOCAL}"]


@pytest.mark.slow
def test_stars_find_the_components(spark: SparkSession) -> None:
    edges = components.clusters(4, 6, 2, seed=3)
    found, rounds = stars.labels(components.frame(spark, edges))
    database = Database(components.PROGRAM, facts={"edge": edges})
    pairs = {(row.u, row.w) for row in stars.pairs(found).collect()}
    assert pairs == set(database.relation("same"))
    assert rounds > 1
    assert components.counted(found, "u", "v") == {"nodes": [24], "components": [4]}
    labelled = components.labelled(spark, edges)()
    assert components.counted(labelled, "c0", "c1") == {"nodes": [24], "components": [4]}


def test_what_takes_too_long_is_stopped(spark: SparkSession) -> None:
    def slow() -> Any:
        def wait(batches: Any) -> Any:
            for batch in batches:
                time.sleep(20)
                yield batch

        return spark.range(1).mapInArrow(wait, "id bigint").count()

    with pytest.raises(Late), patience(spark, 0.3):
        timed(spark, slow)
    row = Row("a", "b", "c")
    assert repeated(row, spark, lambda: 1 // 0, 2, 5.0) is None
    assert (row.status, row.detail[:17]) == ("failed", "ZeroDivisionError")


# Data.


def test_components_are_as_many_as_is_said() -> None:
    for edges, count, nodes in (
        (components.clusters(5, 8, 3, seed=1), 5, 8),
        (components.chains(5, 7, seed=1), 5, 8),
    ):
        database = Database(components.PROGRAM, facts={"edge": edges})
        assert database.size("same") == count * nodes**2


def test_copies_of_a_university_are_as_large_as_is_asked_for() -> None:
    (one,) = rules.university(1, 1).values()
    (three,) = rules.university(3 * len(one), 1).values()
    assert 2.5 < len(three) / len(one) <= 3
    program = text("rdfs_triples")
    sizes = [Database(program, facts={"triple": rows}).size("triple") for rows in (one, three)]
    assert sizes[1] / sizes[0] == pytest.approx(len(three) / len(one), rel=0.1)


def test_worlds_of_claros_share_no_constants() -> None:
    rows = rules.collections(3 * 526 * 20)
    assert len(rows) == 526
    assert {int(world) for some in rows.values() for world in some[:, 0] // 5_000} == {0, 1, 2}


def test_batches_change_ten_edges_each_and_tell_what_is_left() -> None:
    edges = np.column_stack([np.arange(100), np.arange(1, 101)])
    gone: set[int] = set()
    there = {tuple(edge) for edge in edges.tolist()}
    for lines in batches.batches(edges, 12, gone):
        assert len(lines) == batches.CHANGES
        for line in lines:
            sign, x, y = line.strip().split(",")
            edge = (int(x), int(y))
            assert (edge in there) == (sign == "-"), "each of them changes something"
            (there.remove if sign == "-" else there.add)(edge)
    assert there == {tuple(edge) for edge in np.delete(edges, sorted(gone), axis=0).tolist()}


# The model.


def test_the_model_finds_the_costs_that_made_the_runs() -> None:
    costs = {"start": 0.2, "job": 0.15, "byte": 1e-8, "fact, a": 1e-7, "fact, b": 4e-6}
    made = model.Model(costs, ("a", "b"))
    runs = []
    for system, facts, jobs, cores in (
        *(("a", f, 1, c) for f in (1e5, 1e6, 1e7) for c in (1, 2)),
        *(("b", f, j, c) for f, j in ((1e4, 8), (1e5, 11), (1e6, 14)) for c in (1, 2)),
    ):
        at = model.Point(system, facts, jobs, (system == "b") * facts * jobs, cores)
        runs.append(model.Point(*list(vars(at).values())[:5], seconds=made.seconds(at)))
    found = model.fitted(runs)
    assert found.costs == pytest.approx(costs, rel=1e-4)
    assert found.fit(runs) == pytest.approx(1.0)
    assert max(abs(found.error(at)) for at in runs) < 1e-6


def test_no_cost_is_negative() -> None:
    """More jobs took less time here: then jobs cost nothing that could be seen."""
    runs = [model.Point("a", f, 20 - s, 0, 1, float(s)) for s, f in ((1, 1e5), (4, 4e5), (9, 9e5))]
    found = model.fitted(runs)
    assert min(found.costs.values()) >= 0
    assert found.knows("a", shuffled=0)
    assert not found.knows("b", shuffled=0)
    by_bytes = model.Model({model.BYTE: 1e-9}, ("b",))
    assert by_bytes.knows("b", shuffled=1e6)
    assert not by_bytes.knows("b", shuffled=0)


# What is said of it.


def row_of(
    case: str,
    step: str,
    system: str,
    *seconds: float,
    jobs: int = 1,
    status: Status = "ok",
    given: int = 100,
    **more: float,
) -> Row:
    samples = [Sample(each, jobs, 1, 2, 1 << 20) for each in seconds]
    limit = 300.0 if status == "seconds" else 0.0
    sums = {"p": [1, 2, 3]} if seconds else {}
    return Row(case, step, system, given, 1000, samples, status, limit, "", sums, more)


def reached(some: list[Target]) -> list[bool | None]:
    return [target.reached for target in some]


CASES = (closure.RANDOM, closure.DAG, closure.FOREST)


def closures(frames: float, large: float) -> list[Row]:
    return [
        *(row_of(case, closure.STEP, closure.PIVOT, 1.0) for case in CASES),
        *(row_of(case, closure.STEP, closure.FRAMES, frames, jobs=20) for case in CASES),
        row_of(closure.RANDOM, closure.STEP, closure.SQL, status="failed"),
        row_of(closure.DAG, closure.STEP, closure.SQL, status="seconds"),
        row_of(closure.FOREST, closure.STEP, closure.SQL, 9.0),
        row_of(closure.LARGE, closure.STEP, closure.PIVOT, large),
        row_of(closure.LARGE, closure.STEP, closure.LOCAL, 1.0, jobs=0),
    ]


def test_closures_must_be_eight_times_as_fast() -> None:
    assert reached(targets.of_closures(closures(8.0, 2.0))) == [True] * 4
    found = targets.of_closures(closures(7.9, 2.1))
    assert reached(found) == [True, False, True, False]
    assert "random digraph: it cannot" in found[2].figure
    assert "DAG: more than 300.0 times" in found[2].figure
    assert targets.of_closures([]) == []
    many = [row_of(closure.DAG, closure.STEP, closure.PIVOT, 1.0, jobs=2)]
    assert reached(targets.of_closures(many))[0] is False


def test_a_ratio_that_is_missing_leaves_a_target_open() -> None:
    assert targets.verdict([(9.0, False), None], 8) is None
    assert targets.verdict([(9.0, False), (7.0, True)], 8) is None
    assert targets.verdict([None, (7.0, False)], 8) is False
    assert targets.verdict([], 8) is None
    failed = row_of("x", "s", "c", status="failed")
    assert faster(row_of("x", "s", "a", 1.0), failed) is None


@pytest.mark.parametrize(("other", "jobs", "expected"), [(10.0, 2, True), (9.0, 3, False)])
def test_components_and_deletions(other: float, jobs: int, expected: bool) -> None:
    some = [
        row_of(case, step, system, *times, jobs=jobs)
        for case in (components.CLUSTERS, components.CHAINS)
        for step in (components.LABELS, components.PAIRS)
        for system, times in ((components.OURS, (1.0,)), (components.STARS, (other,)))
    ]
    assert reached(targets.of_components(some)) == [expected] * 2
    some = [
        row_of(closure.DAG, deletion.DELETE, system, *times, jobs=2 * jobs)
        for system, times in (
            (deletion.DRIVER, (1.0,)),
            (deletion.SLICES, (1.0,)),
            (deletion.FRAMES, (other,)),
        )
    ]
    assert reached(targets.of_deletion(some)) == [expected] * 4


def test_commits_growth_and_memory() -> None:
    quick = row_of("x", batches.COMMIT, batches.SPARK, 1.0, 1.2, 9.0, batches=3)
    slow = row_of("x", batches.COMMIT, batches.LOCAL, 1.0, 1.6, 9.0, batches=3)
    assert reached(targets.of_batches([quick, slow])) == [True, False]

    def grown(last: float) -> list[Row]:
        return [
            row_of(f"{rules.RDFS}, {n}", rules.MATERIALISE, rules.SPARK, s, given=n)
            for n, s in ((1, 10.0), (2, 20.0), (5, last))
        ]

    assert reached(targets.of_rules(grown(55.0))) == [True]
    assert reached(targets.of_rules(grown(56.0))) == [False]
    for size, paths, expected in ((1 << 30, 6, True), (1 << 30, 5, False), (1 << 29, 6, False)):
        more = {"bytes of facts": float(size), memory.EXPECTED: 6.0}
        row = row_of("8 nodes", memory.STEP, "pivot", 1.0, **more)
        row.sums = {"path": [paths, 1, 2]}
        assert reached(targets.of_memory([row])) == [expected]


def test_paths_are_counted_without_the_engine() -> None:
    edges = apart.graph(70)
    assert memory.paths(edges) == Database(text("closure_linear"), facts={"edge": edges}).size(
        "path"
    )


def test_copies_of_a_graph_share_no_nodes() -> None:
    one, three = apart.graph(70), apart.graph(70, 3)
    assert len(np.unique(three, axis=0)) == 3 * len(one)
    assert memory.paths(three) == 3 * memory.paths(one)


def test_what_travels_is_told_by_runs_on_most_cores() -> None:
    """One part sends nothing; of two, each keeps half."""
    runs = [
        model.Point(scale.SHUFFLE, 100.0, 5, 0, cores=1, seconds=1.0),
        model.Point(scale.SHUFFLE, 100.0, 5, 450, cores=2, seconds=1.0),
        model.Point(scale.SHUFFLE, 300.0, 5, 0, cores=1, seconds=2.0),
        model.Point(scale.SHUFFLE, 300.0, 5, 1050, cores=2, seconds=2.0),
    ]
    assert scale.bytes_a_fact(runs) == 3.0
    assert scale.share_sent(1) == 0.0
    assert scale.share_sent(2) == 0.5


def everything() -> dict[str, list[Row]]:
    sizes = ((1e6, 1, 2.0), (4e6, 2, 4.1), (9e6, 1, 17.5), (1e6, 2, 1.2))
    runs = []
    for facts, cores, seconds in sizes:
        row = row_of("n", "closure", scale.PIVOT, seconds, cores=cores)
        row.facts = int(facts)
        runs.append(row)
    return {
        "scale": runs,
        "memory": [row_of("8", memory.STEP, "pivot", 1.0, **{"bytes of facts": 1e9})],
        "closure": closures(9.0, 1.0),
        "components": [row_of(components.CHAINS, components.LABELS, components.OURS, 1.0)],
        "deletion": [row_of(closure.DAG, deletion.DELETE, deletion.SLICES, 1.0)],
        "batches": [
            row_of("x", batches.COMMIT, batches.SPARK, 1.0, batches=3, **{"jobs a batch": 2.0})
        ],
        "rules": [row_of(f"{rules.RDFS}, 1", rules.MATERIALISE, rules.SPARK, 1.0)],
    }


def test_a_full_run_writes_both_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, file in (("PAGE", "figures.md"), ("SCALE", "scale.md"), ("RESULTS", "spark.json")):
        monkeypatch.setattr(run, name, tmp_path / file)
    found = everything()
    run.write("here", found)
    shown = (tmp_path / "figures.md").read_text()
    headings = [line[4:] for line in shown.splitlines() if line.startswith("### ")]
    assert headings == [
        *("Closures", "Components", "Ten edges", "Micro-batches"),
        *("Rules over millions of facts", "Memory"),
    ]
    assert (
        "| random digraph | closure | frames | 100 | 1,000 | 9.00 | 20 | 1.0 MiB | 9.00× |" in shown
    )
    assert "| DAG | closure | Spark SQL | 100 | 1,000 | > 300 | – | – | > 300× |" in shown
    assert "| closures by pivot in one job | at most 1 | yes |" in shown
    scales = (tmp_path / "scale.md").read_text()
    assert "200 × 8 cores | pivot | 1 |" in scales
    assert re.search(r"R² is (0\.99\d|1\.000) over 4 runs", scales)
    assert all((tmp_path / name).exists() for name in run.PICTURES.values())
    assert run.kept(tmp_path / "spark.json") == found
    assert len(json.loads((tmp_path / "spark.json").read_text())["targets"]) == len(
        page.checked(found)
    )


def test_pictures_have_a_point_for_each_figure() -> None:
    drawn = picture.systems(closures(8.0, 2.0))
    assert drawn is not None
    told = [node.text for node in ElementTree.fromstring(drawn).iter() if "title" in node.tag]
    assert "DAG, Spark SQL: more than 300 s" in told
    assert len(told) == 1 + 4 + 10  # the picture's, a legend of four systems, and the rows
    assert picture.systems([]) is None


def test_a_bar_does_not_end_a_cell() -> None:
    assert tables.plain("a | b") == "a \\| b"


def test_only_what_is_ours_fails_the_run() -> None:
    found = everything()
    assert run.right(found)
    found["rules"].append(row_of("x", rules.DELETE, rules.SPARK, status="failed"))
    assert not run.right(found)


def test_the_run_that_is_quick(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It prints its rows, agrees with a batch run, and leaves the pages alone."""
    monkeypatch.setitem(batches.FACTS, True, 540)
    monkeypatch.setitem(batches.BATCHES, True, 3)
    before = {path: path.exists() and path.read_bytes() for path in (run.PAGE, run.RESULTS)}
    written = tmp_path / "samples.json"
    arguments = ["--quick", "--only", "batches", "--json", str(written)]
    assert run.main(arguments, spark) == 0
    printed = capsys.readouterr().out
    assert "| all systems give the same facts | 4 rows | yes |" in printed
    assert "### Closures" not in printed
    rows = json.loads(written.read_text())["parts"]["batches"]
    assert [row["system"] for row in rows[::2]] == [batches.LOCAL, batches.SPARK]
    assert all(row["samples"][0]["seconds"] > 0 for row in rows)
    assert before == {path: path.exists() and path.read_bytes() for path in before}
