"""The benchmark of deletions counts as the paper does, and its tables say what was measured."""

from __future__ import annotations

import pytest

from bench.updates import deletions
from bench.updates.deletions import (
    Dataset,
    Found,
    Runs,
    Sample,
    by_strata,
    datasets,
    in_one_stratum,
)
from tests.law.adapters import oracle


@pytest.fixture(scope="module")
def dense() -> Dataset:
    return datasets(quick=True)["clique-dense"]()


@pytest.fixture(scope="module")
def found(dense: Dataset) -> Found:
    return in_one_stratum(dense)


def test_larger_sets_have_the_smaller_ones_within_them(dense: Dataset) -> None:
    before: set[tuple[str, tuple[int, ...]]] = set()
    for count in (1, 10, 50, dense.given):
        facts = {(n, tuple(row)) for n, rows in dense.some(count).items() for row in rows.tolist()}
        assert len(facts) == count
        assert before <= facts
        before = facts


def test_a_clique_that_stays_is_cubic_for_dred(dense: Dataset) -> None:
    """Section 5 of the paper: DRed considers all instances of each clique twice, B/F a few."""
    runs = Runs(dense, dense.opened(one_stratum=True))
    every = runs.db.stats.instances
    scratch, dred, bf = (runs(name, 20) for name in ("recompute", "dred", "bf"))
    assert scratch.deleted == 0
    assert dred.numbers["DR2"] == dred.numbers["DR5"] == scratch.instances == every
    assert bf.numbers["|C|"] <= 2 * 20
    assert bf.instances <= 2 * 20


def test_all_algorithms_delete_as_much(dense: Dataset) -> None:
    runs = Runs(dense, dense.opened(one_stratum=True))
    everything = {runs(name, dense.given).deleted for name in ("recompute", "dred", "bf", "auto")}
    assert everything == {runs.db.stats.facts}
    assert runs("bf", 3).deleted == runs("dred", 3).deleted


def test_a_difference_is_found(dense: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(dense, dense.opened(one_stratum=True))
    runs("dred", 2)
    monkeypatch.setattr(Runs, "run", lambda *_, **__: Sample(0.1, 99))
    with pytest.raises(AssertionError, match="deleted 99 facts"):
        runs("bf", 2)


def test_tables_have_the_papers_columns(found: Found) -> None:
    papers = deletions.papers_table([found]).splitlines()
    for name in ("\\|D\\|", "DR2", "DR4", "DR5", "\\|C\\|", "backward", "saturate", "del prop"):
        assert f"| {name} |" in papers[0]
    assert len(papers) == 2 + len(found.rows)
    (line,) = deletions.points_table([found]).splitlines()[2:]
    assert f"| {found.dataset.given:,} | {found.derived:,} |" in line


def test_what_auto_does_is_said(dense: Dataset) -> None:
    chosen = by_strata(dense, grid=(0.1, 1.0))
    text = deletions.auto_table(chosen)
    assert [line.split(" | ")[1] for line in text.splitlines()[2:]] == ["10.0%", "100.0%"]
    (line,) = deletions.switches(chosen)
    assert line.startswith(f"- {dense.title}: recomputing is quickest from ")


def test_facts_without_the_deleted_ones_evaluate_to_what_is_left(dense: Dataset) -> None:
    """The rows that are deleted are the facts that the database loses."""
    db = dense.opened(one_stratum=True)
    gone = dense.some(60)
    with db.transaction(algorithm="bf") as tx:
        for name, rows in gone.items():
            tx.delete(name, list(map(tuple, rows.tolist())))
    left = {
        name: {*map(tuple, rows.tolist())} - {*map(tuple, gone.get(name, rows[:0]).tolist())}
        for name, rows in dense.facts.items()
    }
    assert {*db["same"]} == oracle(dense.program, left)["same"]


def test_a_quick_run_prints_what_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    assert deletions.main(["--quick", "--only", "clique-dense"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("clique-dense: 2 cliques of 12, explicit facts dense, 134 facts\n")
    for heading in ("The equilibrium", "The paper's columns", "What auto makes of it"):
        assert f"\n### {heading}\n" in out


def test_an_unknown_dataset_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        deletions.main(["--only", "wordnet"])
    assert "unknown dataset wordnet; expected one of lubm, uobm, claros" in capsys.readouterr().err
