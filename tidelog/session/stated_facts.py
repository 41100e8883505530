"""Facts that a program states by expressions, such as `power(2 ^ 3).`."""

from __future__ import annotations

from dataclasses import replace

from tidelog.local.engine import LocalEngine
from tidelog.plan.accept import Accepted


def stated(accepted: Accepted) -> Accepted:
    """The program with the values of these facts, so that they are explicit like all others."""
    checked = accepted.checked
    if not checked.computed:
        return accepted
    engine = LocalEngine()
    for relation in checked.relations.values():
        engine.declare(relation)
    facts = {name: list(rows) for name, rows in checked.facts.items()}
    found = engine.apply(checked.computed, within=engine.all)
    for name in engine.relations(found):
        rows = engine.table(name, found.rows(engine.numbers[name])).rows()
        facts.setdefault(name, []).extend(rows)
    return replace(accepted, checked=replace(checked, facts=facts, computed=()))
