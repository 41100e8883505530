"""A model checker: every interleaving of a small case.

Depth first over all moves, each state once. Three things are checked:
  - no run repeats a state, and so every run ends (the states are finitely many);
  - where nothing but an arrival can happen, I is mat(P, E);
  - so it is at the end of every run, for the E after the last update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.stepwise.dynamic import Case, Dynamic, Move, State
from bench.stepwise.matching import Fact, closure

Version = Callable[[Case], Dynamic]


class Wrong(NamedTuple):
    """A run that ends with a wrong I, or returns to an earlier state."""

    error: str
    fact: Fact | None
    moves: tuple[Move, ...]

    def __str__(self) -> str:
        told = f"{self.error} of {self.fact}" if self.fact else self.error
        return "\n  ".join([told, *map(repr, self.moves)])


@dataclass
class Found:
    states: int = 0
    paths: int = 0  # runs from start to end; those that repeat a state do not count
    wrong: list[Wrong] = field(default_factory=list)
    complete: bool = True

    def errors(self) -> set[str]:
        return {wrong.error for wrong in self.wrong}


def explore(version: Version, case: Case, most: int = 1_000_000, errors: int = 10) -> Found:
    """All runs; stops after this many states, or when this many errors are found."""
    dynamic, found = version(case), Found()
    right = [closure(case.rules, case.explicit(n)) for n in range(len(case.updates) + 1)]
    paths: dict[State, int] = {}
    under_way: dict[State, None] = {}
    run: list[Move] = []
    start = dynamic.start()
    # A frame is a state, its moves, and how many of these have been tried.
    frames: list[tuple[State, list[Move], int]] = []

    def enter(s: State) -> None:
        moves = dynamic.moves(s)
        under_way[s] = None
        paths[s] = 0 if moves else 1
        if all(move.kind == "arrive" for move in moves):
            found.wrong += differences(s, right[s.arrived], run)
        frames.append((s, moves, 0))

    enter(start)
    while frames:
        s, moves, tried = frames.pop()
        if tried:  # the previous move has been followed to its ends
            run.pop()
            paths[s] += paths[moves[tried - 1].after]
        if tried == len(moves):
            del under_way[s]
            continue
        move = moves[tried]
        frames.append((s, moves, tried + 1))
        run.append(move)
        if move.after in under_way:
            found.wrong.append(Wrong("a state again", None, tuple(run)))
            paths[s] -= paths[move.after]  # what the frame will add for it
        elif move.after not in paths:
            if len(paths) >= most or len(found.wrong) >= errors:
                found.complete = False
                break
            enter(move.after)
            continue
    found.states, found.paths = len(paths), paths[start]
    return found


def differences(s: State, right: set[Fact], run: Sequence[Move]) -> list[Wrong]:
    """Which of the paper's four errors it is, by the last operation executed for the fact since the
    last arrival."""
    last = max((i for i, move in enumerate(run) if move.kind == "arrive"), default=-1)
    done = {move.what for move in run[last + 1 :] if move.kind == "execute"}

    def error(fact: Fact, executed: str, invalid: str, omitted: str) -> Wrong:
        told = invalid if f"{executed}({fact})" in done else omitted
        return Wrong(told, fact, tuple(run))

    more = [error(f, "add", "invalid addition", "omitted deletion") for f in sorted(s.I - right)]
    less = [error(f, "del", "invalid deletion", "omitted addition") for f in sorted(right - s.I)]
    return more + less
