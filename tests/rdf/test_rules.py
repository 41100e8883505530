"""Each rule of the W3C's tables fires exactly when its premises hold."""

from __future__ import annotations

import pytest

import tidelog as tl
from tests.rdf import cases
from tests.rdf.bases import base
from tests.rdf.cases import Case
from tests.rdf.notation import Triple, term, triples
from tidelog.rdf import profiles

# The tables of OWL 2 Profiles, section 4.3, and the patterns of RDF 1.1 Semantics.
TABLES = {
    "eq": "ref sym trans rep-s rep-p rep-o diff1 diff2 diff3",
    "prp": "ap dom rng fp ifp irp symp asyp trp spo1 spo2 eqp1 eqp2 pdw adp "
    "inv1 inv2 key npa1 npa2",
    "cls": "thing nothing1 nothing2 int1 int2 uni com svf1 svf2 avf hv1 hv2 maxc1 maxc2 "
    "maxqc1 maxqc2 maxqc3 maxqc4 oo",
    "cax": "sco eqc1 eqc2 dw adc",
    "dt": "type1 type2 eq diff not-type",
    "scm": "cls sco eqc1 eqc2 op dp spo eqp1 eqp2 dom1 dom2 rng1 rng2 hv "
    "svf1 svf2 avf1 avf2 int uni",
}
OWL2RL = {f"{table}-{name}" for table, names in TABLES.items() for name in names.split()}
RDFS = {
    *("rdfD1", "rdfD2", "rdfs1", "rdfs2", "rdfs3", "rdfs4a", "rdfs4b", "rdfs5", "rdfs6", "rdfs7"),
    *("rdfs8", "rdfs9", "rdfs10", "rdfs11", "rdfs12", "rdfs13"),
}
ALL = [
    pytest.param(profile, name, case, id=name)
    for profile, table in (("owl2rl", cases.OWL2RL), ("rdfs", cases.RDFS))
    for name, case in table.items()
]


def test_the_texts_have_every_rule_of_the_tables() -> None:
    assert len(OWL2RL) == 78
    assert profiles.named("owl2rl").keys() == OWL2RL == cases.OWL2RL.keys()
    assert profiles.named("rdfs").keys() == RDFS == cases.RDFS.keys()


def has(db: tl.Database, name: str, then: str) -> bool:
    if then.startswith("!"):
        words = [term(word) for word in then[1:].split()]
        return (name, *words, *[""] * (3 - len(words))) in db["inconsistent"]
    return triples(then)[0] in db["triple"]


def axiomatic(case: Case) -> bool:
    return not case.given


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("profile", "name", "case"), ALL)
def test_a_rule_fires(profile: str, name: str, case: Case) -> None:
    """With all rules, trivial ones and axioms included."""
    db = base(profile, triples(case.given), trivial=True, axioms=True)
    assert has(db, name, case.then)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("profile", "name", "case"), ALL)
def test_a_rule_needs_its_premises(profile: str, name: str, case: Case) -> None:
    """Each premise is deleted and inserted again; trivial rules run only to test themselves."""
    if axiomatic(case):
        assert not has(base(profile, []), name, case.then)
        return
    given, spare = triples(case.given), {*triples(case.spare)}
    assert spare <= {*given}
    db = base(profile, given, trivial=is_trivial(profile, name))
    for premise in given:
        change(db, "delete", premise)
        assert has(db, name, case.then) == (premise in spare), premise
        change(db, "insert", premise)
        assert has(db, name, case.then)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("profile", "name", "case"), ALL)
def test_a_rule_does_not_fire(profile: str, name: str, case: Case) -> None:
    """On similar triples, with all other rules."""
    every = not axiomatic(case)
    db = base(profile, triples(case.but), trivial=every, axioms=every)
    assert not has(db, name, case.then)


def is_trivial(profile: str, name: str) -> bool:
    plain = profiles.program(profile)
    clauses = profiles.named(profile)[name]
    return not all(profiles.expand(clause) in plain for clause in clauses)


def change(db: tl.Database, method: str, triple: Triple) -> None:
    with db.transaction() as tx:
        getattr(tx, method)("triple", [triple])
