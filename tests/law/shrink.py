"""Smaller histories that break the law in the same way."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from tests.law.histories import Change, Facts, History, Step

Part = tuple[object, ...]


def shrink(told: History, breaks: Callable[[History], bool]) -> History:
    """The history without parts that it can do without: many at a time first, then one by one."""
    kept = parts(told)
    size = len(kept) // 2
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if breaks(only(told, fewer)):
                kept = fewer
            else:
                at += size
        size //= 2
    return only(told, kept)


def parts(told: History) -> list[Part]:
    """Larger ones first: with a step go its changes, with a change go its rows."""
    steps = list(enumerate(told.steps))
    changes = [(s, c, change) for s, step in steps for c, change in enumerate(step.changes)]
    return [
        *(("step", s) for s, _ in steps),
        *(("change", s, c) for s, c, _ in changes),
        *(("line", i) for i in range(len(told.text.splitlines()))),
        *(("given", fact) for fact in sorted(told.given, key=repr)),
        *(("end", s) for s, step in steps if step.end != "commit"),
        *(("row", s, c, r) for s, c, f in changes if isinstance(f, Facts) for r in f.rows),
    ]


def only(told: History, kept: Container[Part]) -> History:
    def change(s: int, c: int, change: Change) -> Change:
        if not isinstance(change, Facts):
            return change
        return replace(change, rows=tuple(r for r in change.rows if ("row", s, c, r) in kept))

    def step(s: int, step: Step) -> Step:
        some = ((c, each) for c, each in enumerate(step.changes) if ("change", s, c) in kept)
        changes = tuple(change(s, c, each) for c, each in some)
        return Step(changes, step.end if ("end", s) in kept else "commit")

    lines = (line for i, line in enumerate(told.text.splitlines()) if ("line", i) in kept)
    return History(
        "".join(line + "\n" for line in lines),
        frozenset(fact for fact in told.given if ("given", fact) in kept),
        tuple(step(s, each) for s, each in enumerate(told.steps) if ("step", s) in kept),
    )
