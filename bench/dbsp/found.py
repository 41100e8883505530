"""All rows of a run, and the systems that they compare."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.dbsp import targets
from bench.dbsp.figures import Row
from bench.dbsp.play import PEER, SOUFFLE
from bench.report import Target
from bench.updates.figures import AUTO, BASE

CIRCUIT, PLAIN = "dbsp", "dbsp-no-index"


@dataclass(frozen=True)
class Systems:
    """Names of algorithms; others can replace the circuit."""

    circuit: str = CIRCUIT
    plain: str = PLAIN  # the circuit without the index
    peer: str | None = None  # the version of pydbsp, if it is installed
    souffle: str | None = None  # that of Soufflé

    @property
    def indexed(self) -> tuple[str, ...]:
        ours = (self.circuit, self.plain, BASE)
        return (*ours, SOUFFLE) if self.souffle else ours

    @property
    def updating(self) -> tuple[str, ...]:
        return self.circuit, AUTO, BASE

    @property
    def single(self) -> tuple[str, ...]:
        return (*self.updating, PEER) if self.peer else self.updating

    @property
    def ours(self) -> tuple[str, ...]:
        return self.circuit, self.plain, AUTO, BASE


@dataclass
class Found:
    """The rows of a run, by its parts."""

    systems: Systems = field(default_factory=Systems)
    index: list[Row] = field(default_factory=list)
    updates: list[Row] = field(default_factory=list)
    single: list[Row] = field(default_factory=list)
    rules: list[Row] = field(default_factory=list)

    def parts(self) -> dict[str, list[Row]]:
        return {name: rows for name, rows in vars(self).items() if name != "systems"}

    def every(self) -> list[Row]:
        return [row for rows in self.parts().values() for row in rows]

    def waiting(self) -> float:
        """The steps' wall time as a multiple of their CPU time: more than 1 on a busy machine."""
        runs = {id(run): run for row in self.every() for some in row.runs.values() for run in some}
        steps = [step for run in runs.values() for step in run.steps]
        cpu = sum(step.cpu for step in steps)
        return sum(step.seconds for step in steps) / cpu if cpu else 1.0

    def right(self) -> bool:
        return not any(row.differing() or row.failed() for row in self.every())

    def targets(self) -> list[Target]:
        circuit, plain = self.systems.circuit, self.systems.plain
        checked = [targets.agreement(self.every())]
        if self.index:
            checked.append(targets.of_index(self.index, circuit, plain))
        if self.updates:
            checked += targets.of_updates(self.updates, circuit)
        if self.single:
            checked += targets.of_single(self.single, circuit)
        return checked
