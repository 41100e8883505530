"""Closures as rules come and go, as searches are given up, in profiles and in streams: work must
not follow the number of instances that the rules of a closure have."""

from __future__ import annotations

from random import Random

import pytest

from tests.law import test_fed_closures as fed
from tidelog import Database
from tidelog.maintain import closure_seeds, materialise
from tidelog.maintain.costs import Costs
from tidelog.maintain.driver import auto
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.program.changes import FactChange

BASE = "r(x, y) :- e(x, y)."
TRANSITIVE = "r(x, z) :- r(x, y), r(y, z)."
SYMMETRIC = "r(x, y) :- r(y, x)."
LINEAR = "r(x, z) :- e(x, y), r(y, z)."
CONGRUENT = "r(x, y) :- r(u, v), f(u, x), f(v, y). f(1, 2)."


def edges(nodes: int, count: int, seed: int = 3) -> list[tuple[int, int]]:
    random = Random(seed)
    return [(random.randrange(nodes), random.randrange(nodes)) for _ in range(count)]


@pytest.fixture
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


@pytest.mark.parametrize("algorithm", ["auto", "dredc-mod", "bfc-mod"])
@pytest.mark.parametrize(
    ("others", "rule"),
    [
        (BASE, TRANSITIVE),
        (BASE + SYMMETRIC, TRANSITIVE),
        (BASE + TRANSITIVE, SYMMETRIC),
        (BASE + SYMMETRIC + CONGRUENT, TRANSITIVE),
        (BASE, LINEAR),
    ],
)
def test_a_rule_of_a_closure_goes_and_comes(
    others: str, rule: str, algorithm: str, modules_for_all_closures: None
) -> None:
    """A clique of n nodes has n³ instances; none of these changes may look at so many."""
    facts = {"e": edges(300, 600)}
    db = Database(others + rule, facts=facts)
    without = Database(others, facts=facts, modules=False)
    whole = set(db.relation("r"))
    for change, expected in (("remove_rule", set(without.relation("r"))), ("add_rule", whole)) * 2:
        with db.transaction(algorithm=algorithm) as tx:
            getattr(tx, change)(rule)
        assert set(db.relation("r")) == expected
        (work,) = (work for work in tx.report.works if "r" in work.relations)
        assert work.why == "the modules have changed"
        assert work.instances < 2_000_000
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete("e", facts["e"][:50])
    left = {"e": list(set(facts["e"]) - set(facts["e"][:50]))}
    assert set(db.relation("r")) == set(Database(others + rule, facts=left).relation("r"))


@pytest.mark.parametrize("program", fed.PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_given_up_leaves_no_trace(
    program: str, seed: int, monkeypatch: pytest.MonkeyPatch, modules_for_all_closures: None
) -> None:
    """Whenever modules would have to delete in turns, the time for it is up at once."""
    monkeypatch.setattr(Costs, "patience", lambda self, plans: -1.0)
    monkeypatch.setattr(auto, "max", min, raising=False)
    monkeypatch.setattr(fed, "ALGORITHMS", ("auto",) * 2)
    fed.test_maintaining_equals_recomputing(program, seed)


@pytest.mark.parametrize("rules", [TRANSITIVE, TRANSITIVE + SYMMETRIC, LINEAR])
def test_profiles_count_facts_once(rules: str, modules_for_all_closures: None) -> None:
    db = Database(BASE + rules, facts={"e": edges(500, 1000)}, profile=True)
    assert sum(row.facts for row in db.stats.profile) == db.size("r")
    assert sum(row.instances for row in db.stats.profile) < 5_000_000


@pytest.mark.parametrize("rules", [TRANSITIVE, LINEAR])
def test_groups_above_a_closure_are_not_evaluated_for_every_step(rules: str) -> None:
    program = (
        ".decl e(x: number, y: number) .decl n(x: number) .decl r(x: number, y: number)"
        f"{BASE}{rules} c(x, k) :- n(x), k = count : {{ r(x, _) }}."
    )
    facts = {"e": edges(800, 900), "n": [(x,) for x in range(0, 800, 7)]}
    update = [FactChange("+", "e", edge) for edge in edges(800, 500, seed=5)]
    instances = []
    for policy in ("sequential", "fully-dynamic"):
        db = Database(program, facts=facts)
        (done,) = db.stream([update], policy)
        instances.append(sum(w.instances for w in done.report.works if "c" in w.relations))
    assert instances[1] < 40 * (instances[0] + 1000)


CALLING = """
.decl e(x: symbol, y: symbol)
.decl g(x: symbol)
.decl p(x: symbol, y: symbol) eqrel
p(x, y) :- e(x, y).
p(x, "z") :- g(x).
p(x, y) :- p(x, _), g(y), y = cat(x, "!").
e("b", "c"). g("b"). g("a!").
"""


@pytest.mark.parametrize("algorithm", sorted(BY_STRATUM))
def test_all_at_once_takes_no_more_sets_than_there_are(algorithm: str) -> None:
    """A rule of a closure goes, another brings a relation that has facts, and functions are asked
    on the way: an engine has sixteen sets."""
    goes = 'p(x, "z") :- g(x).'
    db = Database(CALLING, facts={"e": [("a", "b")]})
    with db.transaction(algorithm=algorithm) as tx:
        tx.insert("e", [("c", "d")])
    with db.transaction(algorithm=algorithm) as tx:
        tx.remove_rule(goes)
        tx.delete("e", [("a", "b")])
        tx.add_rule("q(x) :- p(x, _).")
        tx.insert("q", [("w",)])
    fresh = Database(CALLING.replace(goes, "q(x) :- p(x, _)."), facts={"e": [("c", "d")]})
    assert db["p"].rows() == fresh["p"].rows()
    assert db["q"].rows() == [*fresh["q"].rows(), ("w",)]


@pytest.mark.parametrize("rules", [TRANSITIVE, TRANSITIVE + SYMMETRIC])
def test_a_profile_does_not_complete_the_round_in_which_a_closure_becomes_a_module(
    rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialise, "LONG", 20_000)
    db = Database(BASE + rules, facts={"e": edges(200, 800)}, profile=True)
    assert sum(row.facts for row in db.stats.profile) == db.size("r")
    assert sum(row.instances for row in db.stats.profile) < 40_000
    assert db.stats.instances < 40_000
