"""The benchmark of ontologies: it measures what it says, and its targets can be missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.rdf.apart import Run
from bench.rdf.child import changed
from bench.rdf.generate import cliques, lubm, ontology
from bench.rdf.page import page
from bench.rdf.run import too_slow, write_lines
from bench.rdf.systems import AXIOM, COMPILED, TRIPLES, Ours
from bench.rdf.targets import targets


def run(system: str, load: float, reason: float, universities: int = 1, **steps: float) -> Run:
    """A run with these seconds; other steps are named with blanks."""
    made = Run(system, universities, 1000, "ok", limit=60.0)
    times = {"load": load, "reason": reason}
    times |= {name.replace("_", " "): seconds for name, seconds in steps.items()}
    made.steps = [{"step": name, "seconds": seconds} for name, seconds in times.items()]
    made.steps[1] |= {"triples": 1500, "bytes": 150_000}
    return made


def verdicts(*runs: Run) -> dict[str, bool | None]:
    return {target.text: target.reached for target in targets(runs)}


def test_targets_are_met_and_missed() -> None:
    fast, slow = run(TRIPLES, 0.5, 0.5), run(COMPILED, 5.0, 5.0)
    peers = run("owlrl", 10.0, 20.0), run("reasonable", 1.0, 2.0)
    found = verdicts(fast, slow, *peers)
    assert found["LUBM-1, tidelog: at least 20 times as fast as owlrl"] is True
    assert found["LUBM-1, tidelog, compiled: at least 20 times as fast as owlrl"] is False
    assert found["LUBM-1, tidelog: no slower than reasonable"] is True
    assert found["LUBM-1, tidelog, compiled: no slower than reasonable"] is False


def test_a_limit_is_a_lower_bound() -> None:
    """Who was stopped took at least so long: enough for a target, or nothing is known."""
    stopped = run("owlrl", 1.0, 0.0)
    stopped.status, stopped.steps = "seconds", stopped.steps[:1]
    text = "LUBM-1, tidelog: at least 20 times as fast as owlrl"
    assert verdicts(run(TRIPLES, 0.5, 0.5), stopped)[text] is True
    assert verdicts(run(TRIPLES, 5.0, 5.0), stopped)[text] is None
    assert "more than 60" in page("here", [run(TRIPLES, 0.5, 0.5), stopped])


def test_changes_have_targets() -> None:
    good = run(TRIPLES, 1, 1, remove_1_triple=0.002, add_1_triple=0.003, remove_1_axiom=0.1)
    bad = run(COMPILED, 1, 1, remove_1_triple=0.2, add_1_triple=0.003, remove_1_axiom=2.0)
    found = verdicts(good, bad)
    single = "{}: a single triple changes in at most 10 ms, whatever the size"
    axiom = "{}: an axiom's removal costs what it changes: less than a fresh start"
    assert (found[single.format(TRIPLES)], found[single.format(COMPILED)]) == (True, False)
    assert (found[axiom.format(TRIPLES)], found[axiom.format(COMPILED)]) == (True, False)


def test_what_was_not_measured_is_not_met() -> None:
    assert set(verdicts().values()) == {None}


def test_the_page_has_every_run() -> None:
    absent = Run("owlrl", 1, 1000, "absent")
    text = page("here", [run(TRIPLES, 0.5, 0.5), run(TRIPLES, 5, 5, universities=10), absent])
    assert "| LUBM-1 | tidelog | 1,000 | 0.50 | 0.50 | 1,500 | 1,000 | 100 |" in text
    assert "| LUBM-10 | tidelog |" in text
    assert "| LUBM-1 | owlrl | 1,000 |  | absent |" in text


def test_peers_that_took_too_long_are_not_asked_for_more() -> None:
    assert not too_slow([run("owlrl", 1.0, 2.0)], "owlrl")
    assert too_slow([run("owlrl", 1.0, 400.0)], "owlrl")
    assert not too_slow([run(TRIPLES, 1.0, 400.0)], TRIPLES)
    assert not too_slow([], "owlrl")


@pytest.mark.parametrize("compiled", [False, True])
def test_ours_changes_what_it_says(tmp_path: Path, compiled: bool) -> None:
    (tmp_path / "o.ttl").write_text(ontology("univ-bench"))
    triples = [t for _, t in zip(range(1500), lubm(1), strict=False)]
    assert write_lines(tmp_path / "d.ttl", triples) == 1500
    system = Ours(compiled)
    system.load(tmp_path / "o.ttl", tmp_path / "d.ttl")
    assert system.reason() > 1500
    made = list(system.changes(quick=True))
    assert [name for name, _ in made][-2:] == ["1 axiom", "1 axiom"]
    assert made[-1][1] == [AXIOM]
    for name, some in made:
        went = changed(system, "-", some)
        assert set(some) & set(went.removed), name
        assert set(changed(system, "+", some).added) == set(went.removed)


def test_lines_are_counted(tmp_path: Path) -> None:
    count = write_lines(tmp_path / "c.ttl", cliques(size=4))
    assert len((tmp_path / "c.ttl").read_text().splitlines()) == count == 15
