"""Equality: cliques stay cheap, and inconsistencies name their causes."""

from __future__ import annotations

import pytest

from tests.rdf.bases import base
from tests.rdf.notation import Triple, term, triples
from tests.rdf.routes import open_compiled, things
from tidelog.rdf.ontology_rules import compile

SAME = term("owl:sameAs")


def chain(members: int) -> list[Triple]:
    """Each term equals the next one, and has one other triple."""
    links = [(term(f"m{i}"), SAME, term(f"m{i + 1}")) for i in range(members - 1)]
    return links + [(term(f"m{i}"), term("p"), term(f"o{i % 5}")) for i in range(members)]


def expected(members: int) -> int:
    return members * members + 5 * members


def test_a_clique_does_not_cost_cubic_time() -> None:
    """Joining the 40,000 equalities of 200 terms with each other would take 8 million steps."""
    db = base("owl2rl", chain(200))
    assert db.size("triple") == expected(200)
    assert db.stats.instances < 2_000_000


def test_a_clique_splits_and_merges() -> None:
    db = base("owl2rl", chain(60))
    link = chain(60)[20]
    with db.transaction() as tx:
        tx.delete("triple", [link])
    assert db.size("triple") == expected(21) + expected(39)
    assert {*db["triple"]} == {*base("owl2rl", [t for t in chain(60) if t != link])["triple"]}
    with db.transaction() as tx:
        tx.insert("triple", [link])
    assert db.size("triple") == expected(60)


def test_a_compiled_clique() -> None:
    compiled = compile(triples("p rdfs:range c."), equality=True)
    db = open_compiled(compiled, chain(200))
    assert len(things(db, compiled)) == expected(200) + 5
    assert db.stats.instances < 2_000_000


def test_the_reflexive_equalities_are_those_of_members() -> None:
    db = base("owl2rl", triples("x owl:sameAs y. z p w."))
    same = {*triples("x owl:sameAs y. y owl:sameAs x. x owl:sameAs x. y owl:sameAs y.")}
    assert {t for t in db["triple"] if t[1] == SAME} == same


def test_a_term_in_one_place_of_a_list_may_be_equal_to_others() -> None:
    """Equal terms in one place are not two different members."""
    given = "x rdf:type owl:AllDifferent. x owl:members (a b). b owl:sameAs c."
    assert base("owl2rl", triples(given)).size("inconsistent") == 0


def test_a_term_that_stands_twice_among_different_ones() -> None:
    given = "x rdf:type owl:AllDifferent. x owl:members (a b a)."
    found = base("owl2rl", triples(given))["inconsistent"].rows()
    assert found == [("eq-diff2", term("x"), term("a"), term("a"))]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("c owl:disjointWith d. x rdf:type c. x rdf:type d.", ("cax-dw", "c", "d", "x")),
        ("x owl:differentFrom x.", ("eq-diff1", "x", "x")),
        ("x rdf:type c. c rdfs:subClassOf owl:Nothing.", ("cls-nothing2", "x")),
    ],
)
def test_inconsistencies_are_derived_and_deleted(given: str, expected: tuple[str, ...]) -> None:
    rule, *causes = expected
    row = (rule, *map(term, causes), *[""] * (3 - len(causes)))
    db = base("owl2rl", triples(given))
    assert row in db["inconsistent"]
    with db.transaction() as tx:
        tx.delete("triple", triples(given)[-1:])
    assert db.size("inconsistent") == 0


def test_cyclic_lists() -> None:
    """Members of a cyclic list count, but an axiom about all members derives nothing."""
    cycle = "_:a rdf:first c. _:a rdf:rest _:b. _:b rdf:first d. _:b rdf:rest _:a."
    db = base(
        "owl2rl",
        triples(
            f"u owl:unionOf _:a. i owl:intersectionOf _:a. {cycle} x rdf:type c. x rdf:type d."
        ),
    )
    found = {*db["triple"]}
    assert triples("x rdf:type u.")[0] in found
    assert triples("x rdf:type i.")[0] not in found
    compiled = compile(triples(f"u owl:unionOf _:a. i owl:intersectionOf _:a. {cycle}"))
    kept = things(open_compiled(compiled, triples("x rdf:type c. x rdf:type d.")), compiled)
    assert triples("x rdf:type u.")[0] in kept
    assert triples("x rdf:type i.")[0] not in kept
