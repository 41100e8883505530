"""Facts that a program states by expressions, such as `power(2 ^ 3).`."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plan.accept import Accepted
from tidelog.session.backends import EngineChoice


def stated(accepted: Accepted) -> Accepted:
    """The program with the values of these facts, so that they are explicit facts."""
    checked = accepted.checked
    if not checked.computed:
        return accepted
    store = EngineChoice().open(accepted, "auto", modules=True).store
    for relation in checked.relations.values():
        store.declare(relation)
    facts = {name: list(rows) for name, rows in checked.facts.items()}
    found = store.apply(checked.computed, within=store.all)
    for name in store.relations(found):
        rows = store.table(name, found).rows()
        facts.setdefault(name, []).extend(rows)
    return replace(accepted, checked=replace(checked, facts=facts, computed=()))
