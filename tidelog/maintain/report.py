"""What an update did: numbers for each stratum, under the papers' names.

|D|, DR2, DR4, DR5   DRed: facts overdeleted; instances of overdeletion, rederivation, insertion
|C|, backward, saturate, del prop   B/F: facts checked; instances of backward chaining, of forward
                     chaining over proved facts, and of deletion propagation (insertion is DR5)
counts               instances by which counters changed
build                instances by which counters, and closures, were built for the first time
apply                instances of evaluation from scratch
rounds, rewrites, bytes   DBSP: rounds of the step; what the circuit keeps, and how large it is
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

NUMBERS = (
    *("|D|", "DR2", "DR4", "DR5"),
    *("|C|", "backward", "saturate", "del prop"),
    *("counts", "build", "apply"),
    *("rounds", "rewrites", "bytes"),
)


@dataclass(slots=True)
class Work:
    """What was done for one stratum, or for all input relations at once."""

    relations: tuple[str, ...]
    algorithm: str = ""
    why: str = ""
    seconds: float = 0.0
    instances: int = 0
    deleted: int = 0  # facts, net
    added: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    place: str = ""  # where it was done, if the engine has a choice


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

        >>> work = Work(("path",), "dred", "", 0.5, 12, 2, 0, Counter({"|D|": 3, "DR2": 4}))
        >>> print(Report([work]).table())
        relations  algorithm  time (s)  deleted  added  |D|  DR2
        path       dred         0.5000        2      0    3    4
        all                     0.5000        2      0    3    4
        """
        numbers = self.numbers
        names = [name for name in NUMBERS if numbers[name]]
        total = Work(("all",), "", "", self.seconds, numbers=numbers)
        total.deleted = sum(work.deleted for work in self.works)
        total.added = sum(work.added for work in self.works)
        lines = [["relations", "algorithm", "time (s)", "deleted", "added", *names]]
        for work in (*self.works, total):
            figures = (work.deleted, work.added, *(work.numbers[name] for name in names))
            lines.append(
                [_shortened(work.relations), work.algorithm, f"{work.seconds:.4f}"]
                + [f"{figure:,}" for figure in figures]
            )
        return "\n".join(_aligned(lines))


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
