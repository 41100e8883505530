"""What an update did: numbers for each stratum, under the papers' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

# Table 2 of Motik et al. (2015) has the first eight, with Bwd, Sat and Del Prop for the last three
# of them.
LEGEND = {
    "|D|": "DRed: facts overdeleted",
    "DR2": "DRed: rule instances of overdeletion",
    "DR4": "DRed: rule instances of rederivation",
    "DR5": "rule instances of insertion",
    "|C|": "B/F: facts checked",
    "backward": "B/F: rule instances of backward chaining",
    "saturate": "B/F: rule instances of forward chaining over proved facts",
    "del prop": "B/F: rule instances of deletion propagation",
    "checks": "rule instances of checks for other derivations in one step",
    "counts": "rule instances by which derivation counters changed",
    "build": "rule instances by which counters and closures were built for the first time",
    "closure": "rule instances that feed a closure",
    "apply": "rule instances of evaluation from scratch",
    "cancelled": "overlapping updates: facts whose change was taken back before rules used it",
    "rounds": "DBSP: rounds of the step",
    "rewrites": "DBSP: rewrites that the circuit keeps",
    "bytes": "DBSP: size of the circuit",
}


@dataclass(slots=True)
class Work:
    """What was done for one stratum, or for all input relations at once."""

    relations: tuple[str, ...]
    algorithm: str = ""  # what ran: `auto` has chosen another one
    how: str = ""  # which form of it, if it has several
    why: str = ""
    seconds: float = 0.0
    instances: int = 0
    deleted: int = 0  # facts, net
    added: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    place: str = ""  # where it was done, if the engine has a choice

    @property
    def named(self) -> str:
        """The algorithm, and which form of it."""
        return f"{self.algorithm} ({self.how})" if self.how else self.algorithm


@dataclass(slots=True)
class Report:
    """The work of an update, in the order in which it was done."""

    works: list[Work] = field(default_factory=list)
    # Of marking: facts marked, and rule applications as the papers count them.
    marks: Counter[str] = field(default_factory=Counter)
    # The engine's own counts, such as jobs.
    engine: dict[str, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(work.seconds for work in self.works)

    @property
    def instances(self) -> int:
        return sum(work.instances for work in self.works)

    @property
    def numbers(self) -> Counter[str]:
        """The sums over all strata."""
        total = Counter[str]()
        for work in self.works:
            total.update(work.numbers)
        return total

    def table(self) -> str:
        """A line for each stratum and one for all, with the columns of Motik et al. (2015),
        Table 2, as far as they have numbers.

        >>> work = Work(("path",), "dred", "", "", 0.5, 12, 2, 0, Counter({"|D|": 3, "DR2": 4}))
        >>> print(Report([work]).table())
        relations  algorithm  time (s)  deleted  added  |D|  DR2
        path       dred         0.5000        2      0    3    4
        all                     0.5000        2      0    3    4
        """
        numbers = self.numbers
        names = [name for name in LEGEND if numbers[name]]
        total = Work(("all",), seconds=self.seconds, numbers=numbers)
        total.deleted = sum(work.deleted for work in self.works)
        total.added = sum(work.added for work in self.works)
        lines = [["relations", "algorithm", "time (s)", "deleted", "added", *names]]
        for work in (*self.works, total):
            figures = (work.deleted, work.added, *(work.numbers[name] for name in names))
            lines.append(
                [_shortened(work.relations), work.named, f"{work.seconds:.4f}"]
                + [f"{figure:,}" for figure in figures]
            )
        return "\n".join(_aligned(lines))


def legend(names: Collection[str]) -> str:
    """A line for each of these numbers, with what it counts.

    >>> print(legend({"DR2", "|D|"}))
    |D|  DRed: facts overdeleted
    DR2  DRed: rule instances of overdeletion
    """
    return "\n".join(_aligned([[name, LEGEND[name]] for name in LEGEND if name in names]))


def _shortened(names: tuple[str, ...]) -> str:
    names = tuple(map(_shown, names))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _shown(name: str) -> str:
    """A relation's name, or a description of a hidden one."""
    if name.startswith("%not:"):
        return f"not {name.split(':')[1]}"
    return "an aggregate" if name.startswith("%") else name


def _aligned(lines: list[list[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
