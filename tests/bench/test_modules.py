"""The workloads of closure modules: a seed decides them, and they have the closures they claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from bench.modules import workloads
from bench.modules.workloads import Case, cases
from bench.plain import parse_plain
from bench.updates.changes import share
from tidelog import Database
from tidelog.closure import Reachability
from tidelog.plan import analyse
from tidelog.plan.closures import modules
from tidelog.text import parse

QUICK = cases(quick=True)
SEEDED: dict[str, Callable[[int], Case]] = {
    "cliques": partial(workloads.cliques, (40, 30), 150),
    "claros": partial(workloads.claros, (40, 30), 150, 500, 2),
    "lubm": partial(workloads.lubm, 1),
    "skos-chains": partial(workloads.skos, 600, workloads.chains),
    "skos-flat": partial(workloads.skos, 600, workloads.flat),
    "dag-r": partial(workloads.dag_r, 100),
    "digraph-200": partial(workloads.digraph, 200, 0.02),
}
SKOS = [
    "symmetric-transitive exactMatch",
    "transitive broaderTransitive",
    "transitive narrowerTransitive",
]
INVERSES = (  # transitive relations of Claros with transitive inverses
    *("P106_is_composed_of P106i_forms_part_of", "P10_falls_within P10i_contains"),
    *("P115_finishes P115i_is_finished_by", "P116_starts P116i_is_started_by"),
    *("P117_occurs_during P117i_includes", "P120_occurs_before P120i_occurs_after"),
    *("P127_has_broader_term P127i_has_narrower_term", "P148_has_component P148i_is_component_of"),
    *("P27_moved_from P27i_was_origin_of", "P86_falls_within P86i_contains"),
    *("P88_consists_of P88i_forms_part_of", "P89_falls_within P89i_contains"),
)
CLOSURES = {
    "claros": [
        "symmetric-transitive a1_P114_is_equal_in_time_to",
        "symmetric-transitive a1_relatedPlaces",
        "transitive a1_P67_refers_to",
        "transitive a2_followingEvent",
        "transitive a2_precedingEvent",
        *(f"transitive a1_{name}" for names in INVERSES for name in names.split()),
    ],
    "cliques": [
        "symmetric-transitive related",
        "right-linear region over related with columns swapped",
    ],
    "lubm": [
        "transitive a1_subOrganizationOf",
        "symmetric-transitive a1_connectedCourses",
        "symmetric-transitive a1_colleagues",
    ],
    "skos-chains": SKOS,
    "skos-flat": SKOS,
    "dag-r": ["transitive path"],
    "digraph-200": ["transitive path"],
}


def test_all_are_tested() -> None:
    assert QUICK.keys() == SEEDED.keys() == CLOSURES.keys()
    assert {name.split("-")[0] for name in cases()} == {name.split("-")[0] for name in QUICK}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_decides_everything(name: str) -> None:
    first, again, other = (SEEDED[name](seed) for seed in (1, 1, 2))
    assert first.program == again.program == other.program
    assert all(np.array_equal(rows, again.facts[of]) for of, rows in first.facts.items())
    assert not all(np.array_equal(rows, other.facts[of]) for of, rows in first.facts.items())


@pytest.mark.parametrize("name", QUICK)
def test_facts_are_distinct_and_declared(name: str) -> None:
    case = QUICK[name]()
    arities = parse_plain(case.program).arities
    assert case.name == name
    for of, rows in case.facts.items():
        assert rows.dtype == np.int64
        assert rows.shape == (len(np.unique(rows, axis=0)), arities[of]), of
        assert len(rows)
    assert set(case.among) == set(case.deleted) <= set(case.facts)


@pytest.mark.parametrize("name", QUICK)
def test_closures(name: str) -> None:
    checked = analyse(parse(QUICK[name]().program).program).checked
    assert checked is not None
    found = [str(closure) for stratum in checked.strata for closure in modules(stratum).closures]
    assert sorted(found) == sorted(CLOSURES[name])


@pytest.mark.parametrize("name", QUICK)
def test_a_quarter_goes_and_comes_again(name: str) -> None:
    case = QUICK[name]()
    database = Database(case.program, facts=case.facts)
    closed = [text.split()[1] for text in CLOSURES[name]]
    before = {of: database.size(of) for of in closed}
    assert all(size > len(case.facts.get(of, ())) for of, size in before.items())
    change = share(case.among, 0.25, seed=1)
    with database.transaction() as tx:
        change.make(tx)
    after = {of: database.size(of) for of in closed}
    assert after != before
    assert all(after[of] <= before[of] for of in closed)
    with database.transaction() as tx:
        change.back().make(tx)
    assert {of: database.size(of) for of in closed} == before


def test_components_have_the_sizes_that_were_asked_for() -> None:
    sizes = [40, 7, 2, 2, 3]
    edges = workloads.components(sizes, 0.3, np.random.default_rng(1))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    assert (owner[edges[:, 0]] == owner[edges[:, 1]]).all()
    label = np.arange(len(owner))
    for _ in label:  # each round carries the least label one edge on
        np.minimum.at(label, edges[:, 0], label[edges[:, 1]])
        np.minimum.at(label, edges[:, 1], label[edges[:, 0]])
    assert Counter(label.tolist()) == {0: 40, 40: 7, 47: 2, 49: 2, 51: 3}
    assert len(edges) > sum(sizes) - len(sizes)  # not trees alone
    assert {*np.sign(edges[:, 0] - edges[:, 1]).tolist()} == {-1, 1}


def test_the_rules_of_skos_are_as_many_as_in_the_paper() -> None:
    """Hu et al. (2019), table 1: 15 recursive rules, 2 transitive modules, 1 symmetric one."""
    checked = analyse(parse(workloads.text("skos")).program).checked
    assert checked is not None
    assert sum(len(stratum.recursive) for stratum in checked.strata) == 15
    kinds = Counter(c.kind for stratum in checked.strata for c in modules(stratum).closures)
    assert kinds == {"transitive": 2, "symmetric-transitive": 1}


def test_the_rules_of_claros_are_those_of_the_paper() -> None:
    """Hu et al. (2019), table 1: 1,031 nonrecursive rules, 306 recursive ones, 27 transitive
    modules, 2 symmetric ones."""
    checked = analyse(parse(QUICK["claros"]().program).program).checked
    assert checked is not None
    rules = [(len(stratum.nonrecursive), len(stratum.recursive)) for stratum in checked.strata]
    assert [sum(each) for each in zip(*rules, strict=True)] == [1031, 306]
    kinds = Counter(c.kind for stratum in checked.strata for c in modules(stratum).closures)
    assert kinds == {"transitive": 27, "symmetric-transitive": 2}


def test_chains_have_as_many_instances_as_dbpedia_in_the_paper() -> None:
    """About 121 for each derived fact, of two closures, their copies in a third relation included;
    see `workloads.chains`."""
    case = cases()["skos-chains"]()
    up = np.concatenate([case.facts["broader"], case.facts["narrower"][:, ::-1]])
    pairs = Reachability().insert(up)
    before, after = (np.bincount(pairs[:, c], minlength=up.max() + 1) for c in (1, 0))
    instances = 2 * int(before.astype(np.int64) @ after)
    assert 110 < instances / (4 * len(pairs)) < 135
