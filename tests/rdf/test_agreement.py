"""Other reasoners derive the same triples, except for differences listed in docs/rdf-rules.md."""

from __future__ import annotations

import random
from functools import cache

import pytest

pytest.importorskip("owlrl")
pytest.importorskip("reasonable")

from tests.rdf import cases, generate
from tests.rdf.bases import base
from tests.rdf.notation import Triple, term, triples
from tests.rdf.peers import by_owlrl, by_reasonable
from tests.rdf.routes import about_things
from tidelog.rdf.profiles import iri

SEEDS = range(12)
# Axioms that reasonable supports in full; it lacks some rules about the schema.
SHARED = [
    *generate.RDFS,
    generate._properties("owl:inverseOf"),
    generate._kind("Symmetric"),
    generate._kind("Transitive"),
]
ERRORS = "<http://www.daml.org/2002/03/agents/agent-ont#"  # owlrl's vocabulary for inconsistencies


def drawn(seed: int, kinds: list[generate.Draw], *, equal: bool) -> list[Triple]:
    rng = random.Random(seed)
    ontology = [t for _ in range(rng.randint(2, 8)) for t in generate.axiom(rng, kinds)]
    return [*ontology, *(generate.fact(rng, equal=equal) for _ in range(rng.randint(3, 10)))]


@cache
def always(profile: str) -> set[Triple]:
    """The triples that owlrl derives from an empty graph."""
    return by_owlrl(profile, [])


def informative(triple: Triple) -> bool:
    """Neither trivial, nor with a literal or a blank node where RDF has none."""
    s, p, o = triple
    everything = {iri("owl:Thing"), iri("rdfs:Resource")}
    trivial = s == o or o in everything or s == iri("owl:Nothing")
    return not trivial and not s.startswith('"') and p.startswith("<")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kinds", ["plain", "equating"])
def test_owlrl_derives_the_same_by_owl2rl(seed: int, kinds: str) -> None:
    axioms = generate.PLAIN + (generate.EQUATING if kinds == "equating" else [])
    given = drawn(seed, axioms, equal=kinds == "equating")
    theirs = by_owlrl("owl2rl", given)
    wrong = {s for s, _, o in theirs if o.startswith(ERRORS)}
    theirs = {t for t in theirs - always("owl2rl") if informative(t) and t[0] not in wrong}
    ours = base("owl2rl", given)
    assert {t for t in ours["triple"] if informative(t)} - always("owl2rl") == theirs
    assert bool(wrong) == bool(ours.size("inconsistent"))


@pytest.mark.parametrize("axioms", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_owlrl_derives_the_same_by_rdfs(seed: int, axioms: bool) -> None:
    given = drawn(seed, generate.RDFS, equal=False)
    theirs = by_owlrl("rdfs", given, axioms=axioms)
    ours = base("rdfs", given, trivial=True, axioms=axioms)["triple"]
    assert {t for t in ours if about_ours(t)} == {t for t in theirs if about_ours(t)}


def about_ours(triple: Triple) -> bool:
    """Whether to compare a triple: owlrl stops one round early on the W3C's own terms."""
    return informative(triple) and not triple[0].startswith("<http://www.w3.org/")


@pytest.mark.parametrize("seed", SEEDS)
def test_reasonable_derives_the_same_about_things(seed: int) -> None:
    given = drawn(seed, SHARED, equal=False)
    theirs = {t for t in by_reasonable(given) if informative(t)}
    ours = {t for t in base("owl2rl", given)["triple"] if informative(t)}
    assert about_things(ours) == about_things(theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_reasonable_derives_is_derived(seed: int) -> None:
    given = drawn(seed, generate.PLAIN, equal=False)
    theirs = {t for t in by_reasonable(given) if informative(t)}
    ours = {*base("owl2rl", given)["triple"]}
    assert theirs - ours <= {(term("owl:Thing"), term("rdf:type"), term("owl:Class"))}


# Rules whose case the other reasoner does not derive, in the version of requirements.txt.
REASONABLE_LACKS = {
    *("eq-ref", "prp-ap", "prp-spo2", "prp-key", "cls-maxc2", "cls-maxqc3", "cls-maxqc4", "cls-oo"),
    *("dt-type1", "dt-type2", "dt-eq", "scm-cls", "scm-eqc2", "scm-op", "scm-dp", "scm-spo"),
    *("scm-eqp1", "scm-eqp2", "scm-dom1", "scm-dom2", "scm-rng1", "scm-rng2", "scm-hv"),
    *("scm-svf1", "scm-svf2", "scm-avf1", "scm-avf2", "scm-int", "scm-uni"),
}
OWLRL_LACKS = {"eq-diff2", "eq-diff3", "prp-adp", "dt-type2", "dt-eq", "dt-diff"}
TRIPLES = {name for name, case in cases.OWL2RL.items() if not case.then.startswith("!")}


def test_rules_that_owlrl_has() -> None:
    lacks = set()
    for name, case in cases.OWL2RL.items():
        theirs = by_owlrl("owl2rl", triples(case.given))
        if name in TRIPLES:
            found = triples(case.then)[0] in theirs
        else:
            found = any(o.startswith(ERRORS) for _, _, o in theirs)
        lacks |= set() if found else {name}
    assert lacks == OWLRL_LACKS


def test_rules_that_reasonable_has() -> None:
    """Except rules for inconsistencies, which reasonable does not report."""
    lacks = {
        name
        for name in TRIPLES
        if triples(cases.OWL2RL[name].then)[0]
        not in by_reasonable(triples(cases.OWL2RL[name].given))
    }
    assert lacks == REASONABLE_LACKS


def test_reasonable_equates_all_subjects_of_an_inverse_functional_property() -> None:
    """Though they share no value."""
    given = triples("p rdf:type owl:InverseFunctionalProperty. x p y. z p w.")
    equal = triples("x owl:sameAs z.")[0]
    assert equal in by_reasonable(given)
    assert equal not in base("owl2rl", given)["triple"]
    assert equal not in by_owlrl("owl2rl", given)
