"""The harness: checksums, the plain notation, and how measurements become figures."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from bench import all as benchmarks
from bench.checksum import checksum
from bench.data import STREAMS, random_digraph
from bench.measure import Measurement, measure
from bench.plain import able_to_fire, parse_plain, strata
from bench.report import Row, measured, targets, write_part
from bench.workloads import Workload, text

NUMBERS = st.integers(-(2**63), 2**63 - 1)
SETS = st.sets(st.tuples(NUMBERS, NUMBERS), max_size=20)


def as_rows(pairs: list[tuple[int, int]]) -> np.typing.NDArray[np.int64]:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


@given(SETS, st.randoms())
def test_a_checksum_ignores_order(pairs: set[tuple[int, int]], random: Random) -> None:
    ordered = sorted(pairs)
    shuffled = list(ordered)
    random.shuffle(shuffled)
    assert checksum(as_rows(ordered)) == checksum(as_rows(shuffled))


@given(SETS, SETS)
def test_different_sets_have_different_checksums(
    one: set[tuple[int, int]], other: set[tuple[int, int]]
) -> None:
    assert (checksum(as_rows(sorted(one))) == checksum(as_rows(sorted(other)))) == (one == other)


def test_the_recorded_programs_are_read_whole() -> None:
    rules = {
        name: parse_plain((STREAMS / name / f"{name}.dl").read_text(encoding="utf-8")).rules
        for name in ("lubm", "claros")
    }
    assert {name: len(found) for name, found in rules.items()} == {"lubm": 107, "claros": 1337}


def test_strata_put_what_is_needed_first() -> None:
    lubm = (STREAMS / "lubm" / "lubm.dl").read_text(encoding="utf-8")
    rules = parse_plain(lubm).rules
    place = {name: i for i, group in enumerate(strata(rules)) for name in group}
    for rule in rules:
        for atom in rule.body:
            assert place.get(atom.relation, -1) <= place[rule.head.relation]


def test_rules_over_empty_relations_do_not_fire() -> None:
    rules = parse_plain("p(x) :- q(x).\nr(x) :- p(x), s(x).\nt(x) :- p(x).").rules
    assert [rule.head.relation for rule in able_to_fire(rules, {"q"})] == ["p", "t"]


def test_a_measurement_agrees_with_the_database(tmp_path: Path) -> None:
    edges = random_digraph(40, 0.05, 1)
    workload = Workload("small", "small", "linear", text("closure_linear"), {"edge": edges})
    workload.save(tmp_path / "small")
    found = measure("tidelog", tmp_path / "small")
    assert found.status == "ok", found.detail
    rows = tidelog.Database(workload.program, facts=workload.facts).relation("path").rows()
    assert found.outputs == {"path": checksum(np.array(rows, dtype=np.int64))}
    assert found.peak_bytes > 0


def test_instances_are_counted_truly() -> None:
    # Rates are instances per second, so their count is checked against plain arithmetic.
    edges = random_digraph(60, 0.04, 2)
    for name, second in (("closure_linear", "edge"), ("closure_nonlinear", "path")):
        database = tidelog.Database(text(name), facts={"edge": edges}, modules=False)
        path = np.array(database.relation("path").rows(), dtype=np.int64)
        after = edges if second == "edge" else path
        ends, starts = np.bincount(path[:, 1], minlength=60), np.bincount(after[:, 0], minlength=60)
        assert database.stats.instances == len(edges) + int(ends @ starts)


def result(system: str, seconds: float, size: int = 5, status: str = "ok") -> Measurement:
    found = Measurement(system, "w", evaluate_seconds=seconds, cpu_seconds=1.1 * seconds)
    found.status = status  # type: ignore[assignment]
    if status == "ok":
        found.outputs = {"path": checksum(np.arange(2 * size, dtype=np.int64).reshape(-1, 2))}
    return found


def row_of(*found: Measurement) -> Row:
    row = Row("w", "w", "linear", 10)
    for measurement in found:
        row.take(measurement)
    return row


def test_the_better_run_counts_and_limits_are_lower_bounds() -> None:
    row = row_of(
        result("tidelog", 2.0),
        result("tidelog", 1.0),
        result("duckdb-1", 4.0),
        result("duckdb-2", 3.0),
        result("nemo", 60.0, status="timeout"),
    )
    # Two threads count with the CPU time of both; the time that passes is kept apart.
    assert row.ratio("duckdb") == (pytest.approx(3.3), False)
    assert row.two_cores == 3.0
    assert row.ratio("nemo") == (60.0, True)
    assert row.ratio("clingo") is None


def test_an_answer_that_differs_is_seen_even_from_a_slow_run() -> None:
    assert row_of(result("tidelog", 1.0), result("nemo", 2.0)).equal()
    assert not row_of(result("tidelog", 1.0), result("nemo", 2.0), result("nemo", 3.0, 6)).equal()


def test_a_missing_peer_leaves_a_target_open_and_a_slow_row_misses_it() -> None:
    def found(*peers: Measurement) -> bool | None:
        rows = [row_of(result("tidelog", 1.0), *peers)]
        return targets(rows, None, None)[2].reached

    three = ("nemo", "clingo", "egglog")
    assert found(*(result(name, 11.0) for name in three)) is True
    assert found(*(result(name, 9.0) for name in three)) is False
    assert found(result("nemo", 11.0), result("clingo", 11.0)) is None
    assert found(result("nemo", 9.0)) is False


def test_the_page_keeps_what_stands_around_its_part(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    write_part(page, "first")
    page.write_text(page.read_text(encoding="utf-8") + "\nlast words\n", encoding="utf-8")
    write_part(page, "second \\1")
    written = page.read_text(encoding="utf-8")
    assert written.startswith("# Title\n")
    assert written.endswith("last words\n")
    assert "second \\1" in written
    assert "first" not in written


def test_a_page_names_the_version_that_it_was_measured_with(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nMeasured with Tidelog 0.1.0.\n", encoding="utf-8")
    write_part(page, "2 cores, tidelog 0.2.0, numba 1.")
    assert measured(page) == "0.2.0"
    write_part(page, "2 cores, tidelog 0.3.0.", "another")
    assert measured(page) == "0.2.0"


def test_make_figures_knows_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    pages = {page for found in benchmarks.BENCHMARKS.values() for page in found}
    assert pages == {path.stem for path in benchmarks.FIGURES.glob("*.md")} - {"README"}
    assert all(measured(benchmarks.FIGURES / f"{page}.md") for page in pages)
    assert benchmarks.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(benchmarks.BENCHMARKS)
