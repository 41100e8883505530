"""Transactions on Spark: as in one process, with frames for facts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tidelog.deltas import Delta, Part
from tidelog.engines.spark import errors
from tidelog.engines.spark.engine import Saved, SparkEngine
from tidelog.engines.spark.expressions import refuse_functors, refuse_numbers
from tidelog.engines.spark.jobs import Jobs
from tidelog.engines.spark.placing import Everything
from tidelog.engines.spark.sets import Lay, SparkSet
from tidelog.io.frames import is_spark
from tidelog.limits import Interrupts
from tidelog.maintain.algorithms import BY_STRATUM
from tidelog.maintain.update import Algorithm, Update, WholeAlgorithm
from tidelog.program.changes import FactChange, Op
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.transactions import State, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidelog.engines.local.engine import LocalEngine

# Those that need no ages of facts.
ALGORITHMS = tuple(name for name in BY_STRATUM if name != "aged")


def check_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        raise TidelogError(
            f"error: on Spark there is no algorithm {name!r}\n    there are {', '.join(ALGORITHMS)}"
        )


class SparkTransaction(Transaction):
    """Changes of facts and rules that take effect together; rows may be Spark's frames."""

    def __init__(self, engine: SparkEngine, state: State, **options: Any) -> None:
        check_algorithm(options["algorithm"])
        self._spark = engine
        # What a transaction asks of an engine, this one has.
        super().__init__(cast("LocalEngine", engine), state, **options)

    def commit(self) -> Delta:
        self._spark.describe("update")
        with errors.told(), Jobs(self._spark.spark) as ran:
            delta = super().commit()
        self.report.engine = ran.record()
        return delta

    def _change_table(self, op: Op, name: str, rows: Any) -> None:
        if not is_spark(rows):
            super()._change_table(op, name, rows)
            return
        self._check_open()
        self._relation(name)
        with self._state.lock, Interrupts(whole=True), errors.told():
            self._flush()
            lay = self._spark.taken_in(name, rows)
            if self._strict:
                for row in self._spark.table_of(name, lay).rows():
                    self._be_strict(FactChange(op, name, row))
            self._set_facts(op, name, lay)

    def _set(self, op: Op, name: str, table: Table) -> None:
        self._set_facts(op, name, self._spark.hand_over(self._spark.kinds[name], table))

    def _set_facts(self, op: Op, name: str, lay: Lay) -> None:
        engine = self._spark
        given = engine.none()
        given.put(name, lay)
        changed = engine.collect(given - engine.explicit if op == "+" else given & engine.explicit)
        if not changed:
            return
        self._note_sign(op)
        explicit, X = engine.explicit, cast("SparkSet", self._explicit)
        if op == "+":
            explicit |= changed
        else:
            explicit -= changed
        again = engine.collect(changed & X)
        changed -= again
        X -= again
        X |= changed

    def _undo_explicit(self) -> None:
        """The end of the update restores them."""

    def _changes(self, interrupts: Interrupts) -> None:
        for name in self._come:
            refuse_numbers(self._book.rules[name])
            refuse_functors(self._book.rules[name])
        with interrupts.explaining():
            super()._changes(interrupts)

    def _way(self) -> Algorithm | WholeAlgorithm:
        placing = self._spark.placing
        if self._algorithm == "auto":
            return Everything(placing)
        return placing.placed(BY_STRATUM[self._algorithm])

    def _finished(self, u: Update) -> None:
        self._spark.placing.driver.follow(u)

    def _summed(self, phases: Sequence[tuple[Any, Any]]) -> Delta:
        engine = self._spark
        went, came = engine.none(), engine.none()
        for gone, new in phases:
            D, A = engine.hold(gone), engine.hold(new)
            back, off = engine.collect(D & came), engine.collect(A & went)
            came -= back
            went -= off
            went |= D - back
            came |= A - off
        return self._delta_of(engine.save(went), engine.save(came))

    def _delta_of(self, went: Saved, came: Saved) -> Delta:
        engine, visible = self._spark, self._visible()
        parts: dict[str, Part] = {}
        names = (went.keys() | came.keys()) & visible.keys()
        for name in sorted(names, key=self._book.place_of):
            lays: dict[Op, Lay] = {"+": came.get(name, Lay()), "-": went.get(name, Lay())}
            sizes = {op: engine.count(name, lay) for op, lay in lays.items()}
            relation = visible[name]
            parts[name] = Part(
                relation,
                sizes,
                partial(_decode, engine, relation, lays),
                partial(_frame, engine, relation, lays),
            )
        return Delta(parts, visible)


def _decode(engine: SparkEngine, relation: Relation, lays: dict[Op, Lay], op: Op) -> Table:
    return engine.table_of(relation.name, lays[op], relation)


def _frame(engine: SparkEngine, relation: Relation, lays: dict[Op, Lay], op: Op) -> DataFrame:
    return engine.frame(relation.name, lays[op], relation)
