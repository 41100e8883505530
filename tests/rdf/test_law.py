"""The law, for ontologies: whatever changes, data or axioms, what is kept equals a fresh start."""

from __future__ import annotations

import random

import pytest

import tidelog as tl
from tests.rdf import generate
from tests.rdf.bases import base, facts_of
from tests.rdf.notation import Triple, triples
from tests.rdf.routes import about_things, open_compiled, things
from tidelog.rdf import literals
from tidelog.rdf.compiled import Compiled, Ontology
from tidelog.rdf.profiles import iri
from tidelog.rdf.vocabulary import is_schema

KINDS = generate.PLAIN + generate.EQUATING + generate.REFUTING
ALGORITHMS = ["auto", "recompute", "dred", "bf", "aged", "dredc-mod"]


class History:
    """An ontology and data that change at random, axiom by axiom and triple by triple."""

    def __init__(self, seed: int, *, data_literals: bool = True) -> None:
        self.rng = random.Random(seed)
        self.literals = data_literals
        self.axioms: list[list[Triple]] = []
        self.data: list[Triple] = []

    def triples(self) -> set[Triple]:
        return {*self.data, *(t for axiom in self.axioms for t in axiom)}

    def step(self) -> tuple[set[Triple], set[Triple]]:
        """One update: the triples that come, and those that go."""
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


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(3))
def test_changes_of_triples(seed: int, algorithm: str) -> None:
    history = History(seed)
    db = base("owl2rl", [])
    held: set[Triple] = set()
    for _ in range(8):
        come, go = history.step()
        with db.transaction(algorithm=algorithm) as tx:
            tx.delete("triple", sorted(go))
            for relation, rows in facts_of(sorted(come)).items():
                tx.insert(relation, rows)
        held ^= {row for op, row in triple_changes(tx.delta) if (row in held) == (op == "-")}
        assert held == {*db["triple"]}
        same_state(db, base("owl2rl", history.triples()))


def triple_changes(delta: tl.Delta) -> list[tuple[str, Triple]]:
    return [(change.op, change.row) for change in delta if change.relation == "triple"]


@pytest.mark.parametrize("seed", range(6))
def test_changes_of_compiled_ontologies(seed: int) -> None:
    history = History(seed)
    ontology = Ontology()
    compiled = ontology.change()
    db = open_compiled(compiled, [])
    for _ in range(8):
        come, go = history.step()
        compiled = carry_out(db, ontology, compiled, come, go)
        fresh = base("owl2rl", history.triples())
        assert things(db, compiled) == about_things(fresh["triple"])
        assert {*db["inconsistent"]} == {*fresh["inconsistent"]}


def carry_out(
    db: tl.Database, ontology: Ontology, before: Compiled, come: set[Triple], go: set[Triple]
) -> Compiled:
    """Axioms become rules, other triples facts, in one transaction."""
    equal = any(p == iri("owl:sameAs") or literals.may_equal(literals.facts(o)) for _, p, o in come)
    after = ontology.change(
        [t for t in sorted(come) if is_schema(t)],
        [t for t in sorted(go) if is_schema(t)],
        equality=equal,
    )
    with db.transaction() as tx:
        gone, new = after.since(before)
        for rule in gone:
            tx.remove_rule(rule)
        for rule in new:
            tx.add_rule(rule)
        for triple in sorted(t for t in go if not is_schema(t)):
            # It went where it belonged when it came, which may have been before its axiom did.
            tx.delete("other", [triple])
            relation, row = after.route(triple)
            tx.delete(relation, [row])
        for triple in sorted(come):
            own = [] if is_schema(triple) else [after.route(triple)]
            for relation, row in (*own, *literals.facts(triple[2])):
                tx.insert(relation, [row])
    return after


def test_one_axiom_goes_and_comes_back() -> None:
    """A change of rules at run time: only what follows from the axiom changes."""
    ontology, axiom = Ontology(), triples("Cat rdfs:subClassOf Animal.")
    compiled = ontology.change([*axiom, *triples("Dog rdfs:subClassOf Animal.")])
    db = open_compiled(compiled, triples("tom rdf:type Cat. rex rdf:type Dog."))
    without = carry_out(db, ontology, compiled, set(), {*axiom})
    gone = triples("tom rdf:type Animal.")[0]
    assert gone not in things(db, without)
    again = carry_out(db, ontology, without, {*axiom}, set())
    assert again.rules == compiled.rules
    assert gone in things(db, again)
