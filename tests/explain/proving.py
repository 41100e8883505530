"""Proofs of a database, held against the independent check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tidelog import Database
from tidelog.explain import why_changed
from tidelog.explain.proof import Proof
from tidelog.explain.why import ProofBounds, why
from tidelog.oracle.proof_check import ProofCheck
from tidelog.program.proof_steps import GroundFact
from tidelog.text.writer import value_text


def take_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for ten minutes where no other limit is given."""
    for method in (Database.why, Database.why_not):
        monkeypatch.setitem(method.__kwdefaults__, "seconds", 600.0)
    monkeypatch.setattr(why_changed, "SECONDS", 600.0)


def checker(db: Database, functors: Mapping[str, Callable[..., Any]] | None = None) -> ProofCheck:
    """The check over the rules and explicit facts that a database has now."""
    store, book = db.core.store, db.core.state.book
    given = {name: store.table(name, store.explicit).rows() for name in book.visible}
    typed = replace(book.typed(), facts=())
    known = {f"@{name}": function for name, function in (functors or {}).items()}
    return ProofCheck(typed, given, known)


def facts_of(db: Database) -> list[GroundFact]:
    return [GroundFact(name, row) for name in db.relations for row in db.relation(name)]


def text_of(db: Database, fact: GroundFact) -> str:
    kinds = db.schema[fact.relation].kinds
    return f"{fact.relation}({', '.join(map(value_text, fact.row, kinds))})"


def check_some(
    db: Database, check: ProofCheck, random: Random, most: int, n: int = 1
) -> list[Proof]:
    """Explain some facts, and hold every proof against the check."""
    facts = facts_of(db)
    proofs = []
    for fact in random.sample(facts, min(most, len(facts))):
        proof = why(db.core, text_of(db, fact), n, ProofBounds(nodes=10_000, seconds=600))
        faults = check.faults(proof.goals, proof.steps, proof.minimal)
        assert not faults, faults
        assert proof.complete
        proofs.append(proof)
    return proofs
