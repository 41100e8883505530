"""What a history reaches: commits that change rules, and what they do to closures."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from tests.law.adapters import surface
from tests.law.histories import History, State, outcome
from tests.law.replay import goes_wrong
from tidelog.plan import analyse
from tidelog.plan.closures import paired
from tidelog.program.diagnostics import LimitError

REACH = (
    "commits that change rules",
    "commits that remove several rules",
    "commits that add and remove rules",
    "closures with rule changes",
    "closures formed",
    "closures dissolved",
    "closures tied to other relations",
    "closures untied",
)


def reach(told: History) -> Counter[str]:
    state, seen = State.of(told.text, told.given), Counter[str](dict.fromkeys(REACH, 0))
    for step in told.steps:
        after, _ = outcome(state, step)
        try:
            if step.end not in ("commit", "limit") or goes_wrong(after):
                continue
        except LimitError:
            continue
        if after.rules.keys() != state.rules.keys():
            seen.update(_changes(state, after))
        state = after
    return seen


def _changes(before: State, after: State) -> Counter[str]:
    removed = before.rules.keys() - after.rules.keys()
    added = after.rules.keys() - before.rules.keys()
    old, new = closures(before.text), closures(after.text)
    changed = {text for name, text in before.rules.items() if name in removed}
    changed |= {text for name, text in after.rules.items() if name in added}
    heads = {text.partition("(")[0] for text in changed}
    both = old.keys() & new.keys()
    seen = Counter[str]()
    seen["commits that change rules"] = 1
    seen["commits that remove several rules"] = len(removed) > 1
    seen["commits that add and remove rules"] = bool(removed and added)
    seen["closures with rule changes"] = sum(
        not heads.isdisjoint(old.get(name, ()) + new.get(name, ()))
        for name in old.keys() | new.keys()
    )
    seen["closures formed"] = len(new.keys() - old.keys())
    seen["closures dissolved"] = len(old.keys() - new.keys())
    seen["closures tied to other relations"] = sum(set(new[n]) > set(old[n]) for n in both)
    seen["closures untied"] = sum(set(new[n]) < set(old[n]) for n in both)
    return seen


@lru_cache(maxsize=64)
def closures(text: str) -> dict[str, tuple[str, ...]]:
    """Relations that are closures, with all relations of their strata."""
    checked = analyse(surface(text)).checked
    assert checked is not None
    return {
        closure.relation: stratum.relations
        for stratum in checked.strata
        for closure in paired(stratum).own
    }


def told_of(seen: Counter[str]) -> str:
    return "\n".join(f"{seen[name]:>9,} {name}" for name in ("histories", "steps", *REACH))
