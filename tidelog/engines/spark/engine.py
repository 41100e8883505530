"""The Spark engine: the seam over frames.

A set of the seam is a `SparkSet`. A rule is a join of frames (`rules`), and all rules of an
evaluation are one job (`packing`). What is found comes to the driver if it is small, and stays
in the executors, with its lineage cut, if it is not.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.engines.local.running import in_rule
from tidelog.engines.local.values import Dictionary, fits
from tidelog.engines.spark import values
from tidelog.engines.spark.packing import Packing, union
from tidelog.engines.spark.placing import Options, Placing
from tidelog.engines.spark.rules import Joined, Reads, Source, group_keys, join, named
from tidelog.engines.spark.sets import Lay, SparkCounter, SparkSet, SparkTaken
from tidelog.engines.spark.values import Row
from tidelog.maintain.seam import Combination, Counter, FactSet, Ids, Split, Taken, View
from tidelog.maintain.seminaive import Watch
from tidelog.program.diagnostics import DataError, EvaluationError
from tidelog.program.rules import Group, Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Kind, Value, Variable
from tidelog.program.table import DTYPES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = 100_000  # facts that the driver takes

Saved = dict[str, Lay]


@dataclass(slots=True)
class Reading:
    """What an evaluation reads: views, as lays and sources of relations once they are asked for."""

    engine: SparkEngine
    within: View
    negative: View | None
    _lays: dict[tuple[int, str], Lay]
    _sources: dict[int, Source]

    def view(self, name: str, complete: bool) -> View:
        view = self.within if not complete or self.negative is None else self.negative
        if isinstance(view, Split):
            return view.inside if name in view.relations else view.outside
        return view

    def lay(self, name: str, complete: bool = False) -> Lay:
        view = self.view(name, complete)
        key = id(view), name
        if key not in self._lays:
            self._lays[key] = self.engine.lay(view, name)
        return self._lays[key]

    def source(self, name: str, lay: Lay) -> Source:
        if id(lay) not in self._sources:
            self._lays[id(lay), ""] = lay  # so that its id is not given to another one
            self._sources[id(lay)] = Source(self.engine.frame(name, lay), lay.most)
        return self._sources[id(lay)]


@dataclass(slots=True)
class Found:
    """Heads that an evaluation is to find, and what went wrong on the way."""

    frames: dict[str, list[DataFrame]]
    faults: list[tuple[Rule, DataFrame]]

    def add(self, rule: Rule, name: str, heads: DataFrame, joined: Joined) -> None:
        self.frames.setdefault(name, []).append(heads)
        self.faults += [(rule, fault) for fault in joined.faults]


class SparkEngine:
    """Relations by name, sets as frames, rules as joins."""

    def __init__(
        self, spark: SparkSession, options: Options | None = None, modules: bool = True
    ) -> None:
        self.spark = spark
        self.kinds: dict[str, Relation] = {}
        self.all, self.explicit = SparkSet(self), SparkSet(self)
        self.nonrecursive, self.recursive = SparkCounter(), SparkCounter()
        self.dictionary = Dictionary()
        self.instances = 0
        self._aside: set[str] = set()
        self._tick: Callable[[Rule | None], None] = lambda rule: None
        self._begun: tuple[dict[str, Lay], dict[str, Lay]] | None = None
        self.placing = Placing(self, options or Options(), modules)

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        self._tick = tick or (lambda rule: None)

    # Relations.

    def declare(self, relation: Relation, aside: bool = False) -> None:
        self.kinds[relation.name] = relation
        if aside:
            self._aside.add(relation.name)

    def undeclare(self, name: str) -> None:
        self.kinds.pop(name, None)

    # Sets.

    def none(self) -> SparkSet:
        return SparkSet(self)

    def relations(self, facts: FactSet) -> list[str]:
        mine = _spark(facts)
        return [name for name in mine.names() if self.count(name, mine.of(name))]

    def size(self, relation: str) -> int:
        return self.count(relation, self.all.of(relation))

    def facts(self) -> int:
        """About how many facts there are."""
        return sum(lay.most for name, lay in self.all.lays.items() if name not in self._aside)

    def count(self, name: str, lay: Lay) -> int:
        if lay.small:
            return len(lay.plus)
        if lay._count is None:
            if lay.done and not lay.plus and not lay.minus:
                lay._count = lay.size
            else:
                lay._count = self.frame(name, lay).count()
        return lay._count

    def frame(self, name: str, lay: Lay) -> DataFrame:
        """The facts of a lay."""
        from pyspark.sql import functions as F

        if lay._made is None:
            relation = self.kinds[name]
            made = lay.base
            if made is not None and (lay.plus or lay.minus):
                over = self._small(relation, lay.over)
                made = made.join(F.broadcast(over), on=values.names(relation), how="left_anti")
            if lay.plus or made is None:
                plus = self._small(relation, lay.plus)
                made = plus if made is None else made.unionAll(plus)
            lay._made = made
        return lay._made

    def _small(self, relation: Relation, rows: Iterable[Row]) -> DataFrame:
        return values.to_frame(self.spark, relation, values.as_arrow(relation, rows))

    def lay(self, view: View, name: str) -> Lay:
        """The facts of one relation in a view; its base may have to be computed."""
        if isinstance(view, SparkSet):
            return view.of(name)
        assert isinstance(view, Combination)
        if view.op == "or":
            return self._either(name, self.lay(view.left, name), self.lay(view.right, name))
        wanted, unwanted = _parts(view)
        if not wanted:
            raise ValueError("this view has no bounds: it cannot be listed")
        found = self.lay(wanted[0], name)
        for other in wanted[1:]:
            found = self._both(name, found, self.lay(other, name))
        for other in unwanted:
            found = self._without(name, found, self.lay(other, name))
        return found

    def _either(self, name: str, left: Lay, right: Lay) -> Lay:
        if left.empty or right.empty:
            return right if left.empty else left
        if not right.small and left.small:
            left, right = right, left
        if right.small:
            made = left.copy()
            made.add(right.plus)
            return made
        mine, theirs = self.frame(name, left), self.frame(name, right)
        more = theirs.join(mine, on=mine.columns, how="left_anti")
        return Lay((), mine.unionAll(more), left.most + right.most, done=False)

    def _both(self, name: str, left: Lay, right: Lay) -> Lay:
        if left.empty or right.empty:
            return Lay()
        if left.small or right.small:
            few, other = (left, right) if left.small else (right, left)
            return Lay(self.members({name: (other, few.plus)})[name])
        mine, theirs = self.frame(name, left), self.frame(name, right)
        made = mine.join(theirs, on=mine.columns, how="left_semi")
        return Lay((), made, min(left.most, right.most), done=False)

    def _without(self, name: str, left: Lay, right: Lay) -> Lay:
        if left.empty or right.empty:
            return left
        if right.small:
            made = left.copy()
            made.remove(right.plus)
            return made
        if left.small:
            return Lay(left.plus - self.members({name: (right, left.plus)})[name])
        mine, theirs = self.frame(name, left), self.frame(name, right)
        rest = mine.join(theirs, on=mine.columns, how="left_anti")
        return Lay((), rest, left.most, done=False)

    def members(self, asked: Mapping[str, tuple[Lay, set[Row]]]) -> dict[str, set[Row]]:
        """Which of these rows each lay has; one job where bases must be looked at."""
        from pyspark.sql import functions as F

        found: dict[str, set[Row]] = {}
        frames: dict[str, list[DataFrame]] = {}
        for name, (lay, rows) in asked.items():
            found[name] = rows & lay.plus
            if lay.base is None or not rows:
                continue
            rest = rows - lay.plus - lay.minus
            known = self._known(name, lay, rest) if rest else set()
            if known is not None:
                found[name] |= known
            else:
                few = self._small(self.kinds[name], rest)
                frames[name] = [lay.base.join(F.broadcast(few), on=few.columns)]
        if frames:
            for name, lay in self._gather(Found(frames, []), large=False).items():
                found[name] |= lay.plus if lay.small else set(self._rows(name, lay))
        return found

    def _known(self, name: str, lay: Lay, rows: set[Row]) -> set[Row] | None:
        """Which of the rows the lay's base has, if the driver knows."""
        for facts in (self.explicit, self.all):
            mine = self._committed(facts).get(name)
            if mine is not None and mine.base is lay.base and not rows & mine.over:
                return self.placing.driver.has(facts, name, rows)
        return None

    def _committed(self, facts: SparkSet) -> dict[str, Lay]:
        """The set as the last update left it."""
        if self._begun is None:
            return facts.lays
        return self._begun[0] if facts is self.all else self._begun[1]

    def table_of(self, name: str, lay: Lay) -> Table:
        """The facts of a lay, as values in the driver."""
        relation = self.kinds[name]
        if lay.small:
            return values.as_table(relation, lay.plus)
        return values.from_arrow(relation, self.frame(name, lay).toArrow())

    def _rows(self, name: str, lay: Lay) -> Iterable[Row]:
        """All facts of a lay, in the driver."""
        if lay.small:
            return lay.plus
        found = self.frame(name, lay).toArrow()
        return values.rows_of(self.kinds[name], found)

    def names(self, view: View) -> list[str]:
        """Relations that the view may have facts of."""
        if isinstance(view, SparkSet):
            return view.names()
        assert isinstance(view, Combination)
        if view.op == "not":
            return []
        if view.op == "or":
            return list(dict.fromkeys((*self.names(view.left), *self.names(view.right))))
        wanted, _ = _parts(view)
        mine = [self.names(part) for part in wanted]
        return [name for name in mine[0] if all(name in other for other in mine[1:])]

    def collect(self, view: View, relations: Sequence[str] | None = None) -> SparkSet:
        made = self.none()
        wanted = None if relations is None else frozenset(relations)
        for name in self.names(view):
            if wanted is None or name in wanted:
                lay = self.lay(view, name)
                if not lay.empty:
                    made.put(name, lay.copy())
        return self._settled(made)

    def _settled(self, facts: SparkSet) -> SparkSet:
        """Compute the bases that are not, in one job."""
        waiting = {name: lay for name, lay in facts.lays.items() if not lay.done}
        if waiting:
            frames = {name: [self.frame(name, lay)] for name, lay in waiting.items()}
            for name, lay in self._gather(Found(frames, []), large=True, distinct=False).items():
                facts.put(name, lay)
            for name in waiting:
                if not facts.of(name).done:
                    facts.put(name, Lay())
        return facts

    def add(self, facts: SparkSet, view: View) -> None:
        for name in self.names(view):
            more = self.lay(view, name)
            if more.empty:
                continue
            if more.small:
                facts.own(name).add(more.plus)
            else:
                facts.put(name, self._either(name, facts.of(name), more).copy())
        self._settled(facts)

    def subtract(self, facts: SparkSet, view: View) -> None:
        if view is facts:
            facts.lays.clear()
            return
        for name in facts.names():
            lay = facts.of(name)
            if isinstance(view, SparkSet):
                less = view.of(name)
                if less.empty:
                    continue
                if less.small:
                    facts.own(name).remove(less.plus)
                    continue
            made = self._without_view(name, lay, view)
            facts.put(name, made.copy() if made is lay else made)
        self._settled(facts)

    def _without_view(self, name: str, lay: Lay, view: View) -> Lay:
        whole = SparkSet(self)
        whole.put(name, lay)
        return self.lay(whole - view, name)

    def some(self, view: View, count: int) -> SparkSet:
        made = self.none()
        left = count
        for name in self.names(view):
            if not left:
                break
            lay = self.lay(view, name)
            if lay.small:
                rows = [row for row, _ in zip(lay.plus, range(left), strict=False)]
            else:
                found = self.frame(name, lay).limit(left).toArrow()
                rows = values.rows_of(self.kinds[name], found)
            made.own(name).add(rows)
            left -= len(rows)
        return made

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> SparkSet:
        mine = _spark(facts)
        chosen = self.none()
        for name in relations:
            chosen.put(name, mine.of(name).copy())
        found = self.some(chosen, count)
        self.subtract(mine, found)
        return found

    def settle(self, facts: FactSet) -> FactSet:
        return self._settled(_spark(facts))

    # The four evaluators.

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        touching_negated: FactSet | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> SparkSet:
        reading = Reading(self, within, negative, {}, {})
        delta, lost = _spark(touching), None
        if touching_negated is not None:
            lost = _spark(touching_negated)
        exact = add_to is not None or take_from is not None
        found = Found({}, [])
        for rule in rules:
            for variant, reads in self._variants(rule, reading, delta, lost, exact):
                self._note(found, variant, reads)
        small = all(lay.small for lay in delta.lays.values())
        return self._evaluated(found, guard, add_to, take_from, large=not small)

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
    ) -> SparkSet:
        reading = Reading(self, within, negative, {}, {})
        found = Found({}, [])
        large = False
        for rule in rules:
            lays = self._lays(rule, reading)
            if lays is not None:
                large = large or any(not lay.small for lay in lays.values())
                self._note(found, rule, Reads(self._sources(rule, reading, lays)))
        return self._evaluated(found, guard, add_to, take_from, large=large)

    def spread(
        self,
        rules: Sequence[Rule],
        N: FactSet,
        into: Sequence[FactSet],
        *,
        within: View,
        guard: View,
        negative: View | None = None,
        add_to: Counter | None = None,
        take_from: Counter | None = None,
        each: Callable[[], bool],
        most: int | None = None,
    ) -> None:
        new = _spark(N)
        while new and each():
            for facts in into:
                self.add(_spark(facts), new)
            found = self.derive(
                rules,
                touching=new,
                within=within,
                guard=guard,
                negative=negative,
                add_to=add_to,
                take_from=take_from,
            )
            new.lays, new.frozen = found.lays, set()

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> SparkSet:
        assert older is None, "facts have no ages here"
        mine = _spark(facts)
        reading = Reading(self, within, negative, {}, {})
        found = Found({}, [])
        for rule in rules:
            lays = None if mine.of(rule.head.relation).empty else self._lays(rule, reading)
            if lays is not None:
                head = reading.source(rule.head.relation, mine.of(rule.head.relation))
                reads = Reads(self._sources(rule, reading, lays), head=head)
                self._note(found, rule, reads)
        large = any(not lay.small for lay in mine.lays.values())
        return self._evaluated(found, None, None, None, large=large)

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        among: Sequence[str] | None = None,
    ) -> SparkSet:
        mine = _spark(facts)
        reading = Reading(self, within, negative, {}, {})
        found = Found({}, [])
        for rule in map(named, rules):
            lays = None if mine.of(rule.head.relation).empty else self._lays(rule, reading)
            if lays is None:
                continue
            head = reading.source(rule.head.relation, mine.of(rule.head.relation))
            joined = join(rule, Reads(self._sources(rule, reading, lays), head=head))
            for part in rule.literals():
                if not part.negated and (among is None or part.relation in among):
                    heads = joined.frame.select(*joined.terms(part.terms))
                    found.add(rule, part.relation, heads, joined)
        large = any(not lay.small for lay in mine.lays.values())
        return self._evaluated(found, None, None, None, large=large)

    def _note(self, found: Found, rule: Rule, reads: Reads) -> None:
        joined = join(rule, reads)
        found.add(
            rule, rule.head.relation, joined.frame.select(*joined.terms(rule.head.terms)), joined
        )

    def _lays(self, rule: Rule, reading: Reading) -> dict[int, Lay] | None:
        """What the body's literals read; None if there are no instances."""
        lays: dict[int, Lay] = {}
        for place, part in enumerate(rule.body):
            if isinstance(part, Literal | Group):
                complete = isinstance(part, Group) or part.negated
                lays[place] = reading.lay(part.relation, complete)
                if not complete and lays[place].empty:
                    return None
        return lays

    def _sources(self, rule: Rule, reading: Reading, lays: Mapping[int, Lay]) -> dict[int, Source]:
        found = {}
        for place, lay in lays.items():
            part = rule.body[place]
            assert isinstance(part, Literal | Group)
            found[place] = reading.source(part.relation, lay)
        return found

    def _variants(
        self,
        rule: Rule,
        reading: Reading,
        delta: SparkSet,
        lost: SparkSet | None,
        exact: bool,
    ) -> Iterator[tuple[Rule, Reads]]:
        """The rule with one part that meets the change; where instances are counted, those
        before it do not."""
        lays = self._lays(rule, reading)
        if lays is None:
            return
        spared: dict[int, Source] = {}
        for place, part in enumerate(rule.body):
            if isinstance(part, Literal) and not part.negated:
                change = delta.of(part.relation)
                if change.empty:
                    continue
                meets = self._meeting(part.relation, change, lays[place])
                reads = self._sources(rule, reading, {**lays, place: meets})
                yield rule, Reads(reads, dict(spared))
                if exact:
                    lays[place] = self._without(part.relation, lays[place], change)
                    if lays[place].empty:
                        return
            elif isinstance(part, Literal) and lost is not None:
                change = lost.of(part.relation)
                if change.empty:
                    continue
                body = (*rule.body[:place], replace(part, negated=False), *rule.body[place + 1 :])
                reads = self._sources(rule, reading, {**lays, place: change})
                yield replace(rule, body=body), Reads(reads, dict(spared))
                if exact:
                    spared[place] = reading.source(part.relation, change)
            elif isinstance(part, Group) and lost is not None:
                change = self._either(
                    part.relation, delta.of(part.relation), lost.of(part.relation)
                )
                if change.empty:
                    continue
                source = reading.source(part.relation, change)
                keys = group_keys(rule, part)
                reads = self._sources(rule, reading, lays)
                reads[len(rule.body)] = _touched(part, keys, source)
                literal = Literal(part.relation, tuple(keys))
                yield replace(rule, body=(*rule.body, literal)), Reads(reads, dict(spared))
                if exact:
                    spared[place] = source

    def _meeting(self, name: str, change: Lay, lay: Lay) -> Lay:
        """Facts of the change that are in the view."""
        if lay is change or (change.plus <= lay.plus and change.small):
            return change
        if change.small and lay.small:
            return Lay(change.plus & lay.plus)
        from pyspark.sql import functions as F

        few, many = self.frame(name, change), self.frame(name, lay)
        few = F.broadcast(few) if change.small else few
        return Lay((), many.join(few, on=many.columns), min(change.most, lay.most), done=False)

    # What evaluations find.

    def _evaluated(
        self,
        found: Found,
        guard: View | None,
        add_to: Counter | None,
        take_from: Counter | None,
        large: bool,
    ) -> SparkSet:
        self._tick(None)
        result = self.none()
        if not found.frames:
            return result
        counter = add_to or take_from
        if counter is None:
            if guard is not None and large:
                self._guard_frames(found, guard)
            for name, lay in self._gather(found, large).items():
                result.put(name, lay)
            if guard is not None and not large:
                self._guard(result, guard)
            return result
        assert isinstance(counter, SparkCounter)
        self._count_into(counter, 1 if add_to is not None else -1, found, large, result)
        if guard is not None:
            self._guard(result, guard)
        return result

    def _guard_frames(self, found: Found, guard: View) -> None:
        wanted, unwanted = _parts(guard)
        for name, frames in found.frames.items():
            lay = Lay((), union(frames).distinct(), SMALL + 1, done=False)
            for view in wanted:
                lay = self._both(name, lay, self.lay(view, name))
            for view in unwanted:
                lay = self._without(name, lay, self.lay(view, name))
            found.frames[name] = [] if lay.empty else [self.frame(name, lay)]

    def _guard(self, facts: SparkSet, guard: View) -> None:
        """Only facts of the guard stay."""
        wanted, unwanted = _parts(guard)
        for views, keep in ((wanted, True), (unwanted, False)):
            for view in views:
                asked = {}
                for name in facts.names():
                    lay, other = facts.of(name), self.lay(view, name)
                    if lay.small:
                        asked[name] = (other, lay.plus)
                    else:
                        pick = self._both if keep else self._without
                        facts.put(name, pick(name, lay, other).copy())
                for name, rows in self.members(asked).items():
                    facts.put(name, Lay(rows if keep else facts.of(name).plus - rows))
        self._settled(facts)

    def _gather(self, found: Found, large: bool, distinct: bool = True) -> dict[str, Lay]:
        """The facts of frames, each once: in the driver, or computed and kept by executors."""
        asked = [name for name, frames in found.frames.items() if frames]
        packing = Packing(tuple(self.kinds[name] for name in asked))
        frames = [
            packing.pack(i, frame) for i, name in enumerate(asked) for frame in found.frames[name]
        ]
        packed = self._with_faults(packing, frames, found)
        if packed is None:
            return {}
        if distinct:
            packed = packed.distinct()
        return {
            asked[i]: lay for i, lay in self._run(packing, packed, large).items() if not lay.empty
        }

    def _with_faults(
        self, packing: Packing, frames: list[DataFrame], found: Found
    ) -> DataFrame | None:
        from pyspark.sql import functions as F

        for rule, messages in found.faults:
            shown = in_rule("\0", rule).split("\0")
            said = F.concat(F.lit(shown[0]), F.col("message"), F.lit(shown[1]))
            frames.append(packing.fault(messages.limit(1).select(said.alias("message"))))
        return union(frames) if frames else None

    def _run(self, packing: Packing, packed: DataFrame, large: bool) -> dict[int, Lay]:
        """One job, if the guess is right whether the facts are few; two otherwise."""
        if not large:
            rows = packed.limit(SMALL + 1).toArrow()
            if rows.num_rows <= SMALL:
                return self._small_lays(packing, rows)
        kept, sizes = self._kept(packing, packed)
        if sum(sizes.values()) <= SMALL:
            return self._small_lays(packing, kept.toArrow())
        return {
            i: Lay((), packing.unpack(kept, i), size)
            for i, size in sizes.items()
            if i >= 0 and size
        }

    def _small_lays(self, packing: Packing, rows: pa.Table) -> dict[int, Lay]:
        tables, wrong = packing.split(rows)
        _refuse(wrong)
        return {i: Lay(values.rows_of(packing.relations[i], table)) for i, table in tables.items()}

    def _kept(self, packing: Packing, packed: DataFrame) -> tuple[DataFrame, dict[int, int]]:
        """The frame, computed, and how many rows of each number it has."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        numbers = [-1, *range(len(packing.relations))]
        sums = [F.sum((F.col("r") == i).cast("bigint")).alias(f"r{i + 1}") for i in numbers]
        wrong = F.max(F.when(F.col("r") == -1, F.col("s0"))).alias("wrong")
        kept = packed.observe(seen, *sums, wrong).localCheckpoint(eager=True)
        told = seen.get
        if told.get("wrong"):
            _refuse([told["wrong"]])
        return kept, {i: told.get(f"r{i + 1}") or 0 for i in numbers}

    # Counters.

    def _count_into(
        self, counter: SparkCounter, sign: int, found: Found, large: bool, result: SparkSet
    ) -> None:
        """Count the heads' instances; the heads, each once, are the result."""
        from pyspark.sql import functions as F

        asked = list(found.frames)
        packing = Packing(tuple(self.kinds[name] for name in asked), counted=True)
        frames = []
        for i, name in enumerate(asked):
            heads = union(found.frames[name])
            many = heads.groupBy(*heads.columns).agg(F.count(F.lit(1)).alias("k"))
            frames.append(packing.pack(i, many))
        packed = self._with_faults(packing, frames, found)
        assert packed is not None
        rows = None if large else packed.limit(SMALL + 1).toArrow()
        if rows is not None and rows.num_rows <= SMALL:
            tables, wrong = packing.split(rows)
            _refuse(wrong)
            for i, table in tables.items():
                found_here = values.rows_of(packing.relations[i], table.drop_columns(["k"]))
                many_of = table.column("k").to_pylist()
                self._count_rows(counter, asked[i], found_here, many_of, sign)
                result.put(asked[i], Lay(found_here))
            return
        kept, sizes = self._kept(packing, packed)
        for i, size in sizes.items():
            if i >= 0 and size:
                many = packing.unpack(kept, i)
                self._count_frame(counter, asked[i], many, sign)
                result.put(asked[i], Lay((), many.drop("k"), size))

    def _count_rows(
        self, counter: SparkCounter, name: str, heads: Sequence[Row], many: Sequence[int], sign: int
    ) -> None:
        self.instances += sum(many)
        over = counter.over.setdefault(name, {})
        for head, k in zip(heads, many, strict=True):
            over[head] = over.get(head, 0) + sign * k

    def _count_frame(self, counter: SparkCounter, name: str, many: DataFrame, sign: int) -> None:
        from pyspark.sql import functions as F

        columns = values.names(self.kinds[name])
        many = many.withColumn("k", F.col("k") * sign)
        if name in counter.bases:
            both = counter.bases[name].unionAll(many)
            many = both.groupBy(*columns).agg(F.sum("k").alias("k"))
        counter.bases[name] = many.localCheckpoint(eager=True)

    def positive(self, counter: Counter, facts: FactSet) -> SparkSet:
        from pyspark.sql import functions as F

        assert isinstance(counter, SparkCounter)
        mine, made = _spark(facts), self.none()
        for name in mine.names():
            lay, base = mine.of(name), counter.bases.get(name)
            over = counter.over.get(name, {})
            if lay.small:
                counts = Tally({row: over.get(row, 0) for row in lay.plus})
                if base is not None and lay.plus:
                    few = F.broadcast(self._small(self.kinds[name], lay.plus))
                    found = base.join(few, on=values.names(self.kinds[name])).toArrow()
                    rows = values.rows_of(self.kinds[name], found.drop_columns(["k"]))
                    for row, k in zip(rows, found.column("k").to_pylist(), strict=True):
                        counts[row] += k
                made.put(name, Lay(row for row, k in counts.items() if k > 0))
            else:
                every = self._all_counts(counter, name)
                if every is not None:
                    columns = values.names(self.kinds[name])
                    held = every.filter(F.col("k") > 0).drop("k")
                    frame = self.frame(name, lay).join(held, on=columns, how="left_semi")
                    made.put(name, Lay((), frame, lay.most, done=False))
        return self._settled(made)

    def _all_counts(self, counter: SparkCounter, name: str) -> DataFrame | None:
        """The counter of a relation as one frame; what was added since joins its base."""
        from pyspark.sql.types import LongType

        over = counter.over.pop(name, None)
        if over:
            relation = self.kinds[name]
            table = values.as_arrow(relation, over)
            table = table.append_column("k", pa.array(list(over.values()), type=pa.int64()))
            wanted = values.schema(relation).add("k", LongType(), nullable=False)
            self._count_frame(counter, name, self.spark.createDataFrame(table, schema=wanted), 1)
        return counter.bases.get(name)

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        assert isinstance(counter, SparkCounter)
        for name in relations:
            counter.forget(name)

    def whole(self, stratum: Stratum, watch: Watch) -> bool:
        return self.placing.evaluate(stratum, watch)

    def date(self, relations: Sequence[str]) -> bool:
        return False

    # Facts as numbers, for closure modules, which work in the driver.

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        if kind == "symbol":
            return np.array([self.dictionary.id(kind, value) for value in values], dtype=np.uint32)
        return self.dictionary.encode(kind, np.asarray(values, dtype=DTYPES[kind]))

    def ids(self, view: View, relation: str) -> Ids:
        lay, known = self.lay(view, relation), self.kinds[relation]
        table = values.as_table(known, self._rows(relation, lay))
        found = np.empty((table.size, known.arity), dtype=np.uint32)
        for c, (kind, column) in enumerate(zip(known.kinds, table.columns, strict=True)):
            found[:, c] = self.dictionary.encode(kind, column)
        return found

    def pick(self, relation: str, ids: Ids) -> SparkSet:
        known, made = self.kinds[relation], self.none()
        decode = self.dictionary.decode
        columns = tuple(
            decode(kind, np.ascontiguousarray(ids[:, c])) for c, kind in enumerate(known.kinds)
        )
        made.put(relation, self.hand_over(known, Table(known.kinds, columns, len(ids))))
        return made

    def hand_over(self, relation: Relation, table: Table) -> Lay:
        """Facts that the driver has, as a lay."""
        found = values.to_arrow(relation, table)
        if found.num_rows <= SMALL:
            return Lay(values.rows_of(relation, found))
        frame = values.to_frame(self.spark, relation, found).distinct()
        return self._gather(Found({relation.name: [frame]}, []), True, False)[relation.name]

    def worked(self, rule: Rule, seconds: float, facts: int) -> None:
        """Told when something else than the engine has derived facts of a rule."""

    # Changes.

    def take(self, relations: Sequence[str]) -> SparkTaken:
        taken = {name: self.all.of(name) for name in relations}
        for name in relations:
            self.all.put(name, self.explicit.of(name).copy())
        return SparkTaken(taken)

    def compare(self, taken: Taken) -> tuple[SparkSet, SparkSet]:
        assert isinstance(taken, SparkTaken)
        gone, came = self.none(), self.none()
        for name, before in taken.lays.items():
            now = self.all.of(name)
            if before is not now:
                gone.put(name, self._without(name, before, now).copy())
                came.put(name, self._without(name, now, before).copy())
        return self._settled(gone), self._settled(came)

    def save(self, facts: FactSet) -> Saved:
        mine = _spark(facts)
        mine.frozen.update(mine.lays)
        return {name: mine.of(name) for name in mine.names()}

    def hold(self, saved: Saved) -> SparkSet:
        made = self.none()
        made.lays = dict(saved)
        made.frozen.update(saved)
        return made

    def begin(self) -> None:
        """From now on, changes of the two sets that stay can be undone."""
        for facts in (self.all, self.explicit):
            facts.frozen.update(facts.lays)
        self._begun = dict(self.all.lays), dict(self.explicit.lays)

    def end(self, undo: bool) -> None:
        if undo and self._begun is not None:
            for facts, lays in zip((self.all, self.explicit), self._begun, strict=True):
                facts.lays = lays
                facts.frozen = set(lays)
        self._begun = None

        if undo:
            self.placing.driver.forget()

    def sizes(self) -> None:
        """Nothing has to be swept: see `sweep`."""

    def sweep(self, before: None) -> None:
        """What left the materialisation is gone."""

    def forget(self, rules: Collection[Rule]) -> None:
        """Nothing is kept of rules."""

    # Facts in and out.

    def load(self, name: str, data: Table | DataFrame, into: Sequence[SparkSet]) -> None:
        """Add facts to these sets."""
        lay = self.taken_in(name, data)
        for facts in into:
            facts.put(name, self._either(name, facts.of(name), lay).copy())
            self._settled(facts)

    def taken_in(self, name: str, data: Table | DataFrame) -> Lay:
        """Facts of a user, as a lay; DataError if there are cells without a value."""
        relation = self.kinds[name]
        if isinstance(data, Table):
            return self.hand_over(relation, data)
        frame = values.inward(relation, data)
        self.describe(f"{name}: read")
        return self._checked(relation, frame)

    def _checked(self, relation: Relation, frame: DataFrame) -> Lay:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        empty = F.lit(False)
        strange = F.lit(False)
        for column, kind in zip(frame.columns, relation.kinds, strict=False):
            empty = empty | F.col(column).isNull()
            if kind == "float":
                strange = strange | F.isnan(column)
        told = (
            F.sum(empty.cast("bigint")).alias("empty"),
            F.sum(strange.cast("bigint")).alias("strange"),
            F.count(F.lit(1)).alias("rows"),
        )
        kept = frame.distinct().observe(seen, *told).localCheckpoint(eager=True)
        found = seen.get
        if found["empty"]:
            raise DataError(
                f"error: {relation.name}: the frame has empty cells (nulls), or values that do "
                "not fit a column's type"
            )
        if found["strange"]:
            raise DataError(f"error: {relation.name}: the frame has a NaN, which equals nothing")
        if found["rows"] <= SMALL:
            return Lay(values.rows_of(relation, kept.toArrow()))
        return Lay((), kept, found["rows"])

    def describe(self, what: str) -> None:
        """What Spark's own pages call the jobs that follow."""
        self.spark.sparkContext.setJobDescription(what)

    def table(self, name: str) -> Table:
        return self.table_of(name, self.all.of(name))

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Is this fact in the materialisation?"""
        return self._has(self.all, relation, row)

    def is_explicit(self, relation: Relation, row: Sequence[Value]) -> bool:
        return self._has(self.explicit, relation, row)

    def _has(self, facts: SparkSet, relation: Relation, row: Sequence[Value]) -> bool:
        if len(row) != relation.arity or not all(map(fits, relation.kinds, row)):
            return False
        inside = tuple(map(values.inner, relation.kinds, row)) or (0,)
        name = relation.name
        return bool(self.members({name: (facts.of(name), {inside})})[name])

    def ask(
        self, strata: Sequence[Stratum], relation: Relation, parts: Sequence[Relation]
    ) -> Table:
        """Evaluate rules over relations of their own, and forget all but the answer."""
        found = self.none()
        known = dict(self.kinds)
        for each in (relation, *parts):
            self.declare(each)
        try:
            for stratum in strata:
                view = self.all | found
                found |= self.apply(stratum.rules, within=view)
            return self.table_of(relation.name, found.of(relation.name))
        finally:
            self.kinds = known


def _touched(part: Group, keys: Sequence[Variable], source: Source) -> Source:
    """Keys of the groups that facts belong to, each once."""
    from pyspark.sql import functions as F

    rule = Rule(Literal("%keys", tuple(keys)), (Literal(part.relation, part.terms),))
    joined = join(rule, Reads({0: source}))
    frame = joined.frame.select(*joined.terms(tuple(keys))).distinct()
    return Source(frame if keys else frame.limit(1).select(F.col("c0")), source.size)


def _parts(view: View) -> tuple[list[View], list[View]]:
    """What an `and` asks for, and what it forbids."""
    if isinstance(view, Combination):
        if view.op == "and":
            left, right = _parts(view.left), _parts(view.right)
            return left[0] + right[0], left[1] + right[1]
        if view.op == "not":
            if isinstance(view.left, Combination) and view.left.op == "not":
                return _parts(view.left.left)
            return [], _forbidden(view.left)
    return [view], []


def _forbidden(view: View) -> list[View]:
    """Views that a fact outside this one is in none of."""
    if isinstance(view, Combination) and view.op == "or":
        return _forbidden(view.left) + _forbidden(view.right)
    if isinstance(view, Combination) and view.op == "not":
        raise ValueError("a view that is negated twice")
    return [view]


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise EvaluationError(wrong[0])


def _spark(facts: FactSet) -> SparkSet:
    assert isinstance(facts, SparkSet)
    return facts
