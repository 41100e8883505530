"""The law for ontologies: after any change of data or axioms, maintaining equals recomputing."""

from __future__ import annotations

import random

import pytest

import tidelog as tl
from tests.rdf import generate
from tests.rdf.bases import base, facts_of, may_equal
from tests.rdf.notation import Triple, triples
from tests.rdf.routes import about_things, open_compiled, things
from tidelog.rdf import literals
from tidelog.rdf.ontology_rules import Compiled, Ontology
from tidelog.rdf.vocabulary import is_schema

KINDS = generate.PLAIN + generate.EQUATING + generate.REFUTING
ALGORITHMS = ["auto", "recompute", "dred", "bf", "aged", "dredc-mod"]


class History:
    """An ontology and data under random changes of axioms and triples."""

    def __init__(self, seed: int, *, data_literals: bool = True) -> None:
        self.rng = random.Random(seed)
        self.literals = data_literals
        self.axioms: list[list[Triple]] = []
        self.data: list[Triple] = []

    def triples(self) -> set[Triple]:
        return {*self.data, *(t for axiom in self.axioms for t in axiom)}

    def step(self) -> tuple[set[Triple], set[Triple]]:
        """One update: the triples inserted, and those deleted."""
        before = self.triples()
        for _ in range(self.rng.randint(1, 4)):
            self._change()
        after = self.triples()
        return after - before, before - after

    def _change(self) -> None:
        rng = self.rng
        draw = rng.random()
        if draw < 0.3 or not self.data:
            self.data.append(generate.fact(rng, literals=self.literals, equal=draw < 0.1))
        elif draw < 0.5:
            self.data.remove(rng.choice(self.data))
        elif draw < 0.8 or not self.axioms:
            self.axioms.append(generate.axiom(rng, KINDS))
        else:
            self.axioms.remove(rng.choice(self.axioms))


def same_state(kept: tl.Database, fresh: tl.Database) -> None:
    for relation in ("triple", "inconsistent"):
        assert kept[relation].rows() == fresh[relation].rows(), relation


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(3))
def test_changes_of_triples(seed: int, algorithm: str) -> None:
    history = History(seed)
    db = base("owl2rl", [])
    held: set[Triple] = set()
    for _ in range(8):
        inserted, deleted = history.step()
        with db.transaction(algorithm=algorithm) as tx:
            tx.delete("triple", sorted(deleted))
            for relation, rows in facts_of(sorted(inserted)).items():
                tx.insert(relation, rows)
        held ^= {row for op, row in triple_changes(tx.delta) if (row in held) == (op == "-")}
        assert held == {*db["triple"]}
        same_state(db, base("owl2rl", history.triples()))


def triple_changes(delta: tl.Delta) -> list[tuple[str, Triple]]:
    return [(change.op, change.row) for change in delta if change.relation == "triple"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_changes_of_compiled_ontologies(seed: int) -> None:
    history = History(seed)
    ontology = Ontology()
    compiled = ontology.change()
    db = open_compiled(compiled, [])
    for _ in range(8):
        inserted, deleted = history.step()
        compiled = apply_update(db, ontology, compiled, inserted, deleted)
        fresh = base("owl2rl", history.triples())
        assert things(db, compiled) == about_things(fresh["triple"])
        assert {*db["inconsistent"]} == {*fresh["inconsistent"]}


def apply_update(
    db: tl.Database,
    ontology: Ontology,
    before: Compiled,
    inserted: set[Triple],
    deleted: set[Triple],
) -> Compiled:
    """Axioms become rules, other triples facts, in one transaction."""
    after = ontology.change(
        [t for t in sorted(inserted) if is_schema(t)],
        [t for t in sorted(deleted) if is_schema(t)],
        equality=may_equal(inserted),
    )
    with db.transaction() as tx:
        removed, added = after.rule_changes(before)
        for rule in removed:
            tx.remove_rule(rule)
        for rule in added:
            tx.add_rule(rule)
        for triple in sorted(t for t in deleted if not is_schema(t)):
            # The triple may have been inserted before its axiom, and so be in `other`.
            tx.delete("other", [triple])
            relation, row = after.route(triple)
            tx.delete(relation, [row])
        for triple in sorted(inserted):
            own = [] if is_schema(triple) else [after.route(triple)]
            for relation, row in (*own, *literals.facts(triple[2])):
                tx.insert(relation, [row])
    return after


def test_an_axiom_is_deleted_and_inserted_again() -> None:
    """A change of rules at run time changes only what the axiom derives."""
    ontology, axiom = Ontology(), triples("Cat rdfs:subClassOf Animal.")
    compiled = ontology.change([*axiom, *triples("Dog rdfs:subClassOf Animal.")])
    db = open_compiled(compiled, triples("tom rdf:type Cat. rex rdf:type Dog."))
    without = apply_update(db, ontology, compiled, set(), {*axiom})
    derived = triples("tom rdf:type Animal.")[0]
    assert derived not in things(db, without)
    again = apply_update(db, ontology, without, {*axiom}, set())
    assert again.rules == compiled.rules
    assert derived in things(db, again)
