"""The four evaluators on Spark: rules as joins, and all rules of an evaluation as one job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidelog.engine import Counter, FactSet, Rounds, Split, View
from tidelog.program.rules import Group, Literal, Rule
from tidelog.program.syntax import Variable
from tidelog.spark.algebra import SMALL, Algebra, Found, parts_of, spark_set
from tidelog.spark.counters import Counts, SparkCounter
from tidelog.spark.packed_frames import union
from tidelog.spark.rule_joins import LiteralFacts, Reads, group_keys, join, named
from tidelog.spark.sets import Extent, SparkSet


@dataclass(slots=True)
class FrameReading:
    """The inputs of an evaluation: views, as extents and sources of relations, built on demand."""

    engine: Algebra
    within: View
    negative: View | None
    _extents: dict[tuple[int, str], Extent]
    _sources: dict[int, LiteralFacts]

    def view(self, name: str, complete: bool) -> View:
        view = self.within if not complete or self.negative is None else self.negative
        if isinstance(view, Split):
            return view.inside if name in view.relations else view.outside
        return view

    def extent(self, name: str, complete: bool = False) -> Extent:
        view = self.view(name, complete)
        key = id(view), name
        if key not in self._extents:
            self._extents[key] = self.engine.extent(view, name)
        return self._extents[key]

    def source(self, name: str, extent: Extent) -> LiteralFacts:
        if id(extent) not in self._sources:
            self._extents[id(extent), ""] = extent  # so that no other rule gets its id
            self._sources[id(extent)] = LiteralFacts(self.engine.frame(name, extent), extent.most)
        return self._sources[id(extent)]


class Evaluators(Algebra):
    """Rules over views."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self.nonrecursive, self.recursive = SparkCounter(), SparkCounter()
        self.counts = Counts(self)
        self.instances = 0
        self.lasting = 0.0  # Spark makes no indexes
        self._round = 0  # of the rules being evaluated

    def describe(self, what: str) -> None:
        """The description of the following jobs on Spark's own pages."""
        self.spark.sparkContext.setJobDescription(what)

    def _describe_rules(self, found: Found) -> None:
        shown = [name for name in found.frames if not name.startswith("%")] or ["parts of rules"]
        names = ", ".join(shown[:3]) + (", …" if len(shown) > 3 else "")
        self.describe(f"{names}: round {self._round}" if self._round else f"{names}: rules")

    def positive(self, counter: Counter, facts: FactSet) -> SparkSet:
        assert isinstance(counter, SparkCounter)
        return self.counts.positive(counter, spark_set(facts))

    def reset(self, counter: Counter, relations: Sequence[str]) -> None:
        assert isinstance(counter, SparkCounter)
        for name in relations:
            counter.forget(name)

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
        reading = FrameReading(self, within, negative, {}, {})
        delta, lost = spark_set(touching), None
        if touching_negated is not None:
            lost = spark_set(touching_negated)
        exact = add_to is not None or take_from is not None
        found = Found({}, [])
        for rule in rules:
            for variant, reads in self._variants(rule, reading, delta, lost, exact):
                self._note(found, variant, reads)
        small = all(extent.small for extent in delta.extents.values())
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
        reading = FrameReading(self, within, negative, {}, {})
        found = Found({}, [])
        large = False
        for rule in rules:
            extents = self._extents(rule, reading)
            if extents is not None:
                large = large or any(not extent.small for extent in extents.values())
                self._note(found, rule, Reads(self._sources(rule, reading, extents)))
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
        alone: Rounds | None = None,
    ) -> None:
        new = spark_set(N)
        self._round = 0
        while new and each():
            self._round += 1
            for facts in into:
                self.add(spark_set(facts), new)
            found = self.derive(
                rules,
                touching=new,
                within=within,
                guard=guard,
                negative=negative,
                add_to=add_to,
                take_from=take_from,
            )
            new.extents, new.frozen = found.extents, set()
        self._round = 0

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
        older: frozenset[str] | None = None,
    ) -> SparkSet:
        assert older is None, "the Spark engine keeps no ages of facts"
        mine = spark_set(facts)
        reading = FrameReading(self, within, negative, {}, {})
        found = Found({}, [])
        for rule in rules:
            extents = None if mine.of(rule.head.relation).empty else self._extents(rule, reading)
            if extents is not None:
                head = reading.source(rule.head.relation, mine.of(rule.head.relation))
                reads = Reads(self._sources(rule, reading, extents), head=head)
                self._note(found, rule, reads)
        large = any(not extent.small for extent in mine.extents.values())
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
        mine = spark_set(facts)
        reading = FrameReading(self, within, negative, {}, {})
        found = Found({}, [])
        for rule in map(named, rules):
            extents = None if mine.of(rule.head.relation).empty else self._extents(rule, reading)
            if extents is None:
                continue
            head = reading.source(rule.head.relation, mine.of(rule.head.relation))
            joined = join(rule, Reads(self._sources(rule, reading, extents), head=head))
            for part in rule.literals():
                if not part.negated and (among is None or part.relation in among):
                    heads = joined.frame.select(*joined.terms(part.terms))
                    found.add(rule, part.relation, heads, joined.faults)
        large = any(not extent.small for extent in mine.extents.values())
        return self._evaluated(found, None, None, None, large=large)

    def _note(self, found: Found, rule: Rule, reads: Reads) -> None:
        joined = join(rule, reads)
        heads = joined.frame.select(*joined.terms(rule.head.terms))
        found.add(rule, rule.head.relation, heads, joined.faults)

    def _extents(self, rule: Rule, reading: FrameReading) -> dict[int, Extent] | None:
        """The sources of the body's literals; None if there are no instances."""
        extents: dict[int, Extent] = {}
        for place, part in enumerate(rule.body):
            if isinstance(part, Literal | Group):
                complete = isinstance(part, Group) or part.negated
                extents[place] = reading.extent(part.relation, complete)
                if not complete and extents[place].empty:
                    return None
        return extents

    def _sources(
        self, rule: Rule, reading: FrameReading, extents: Mapping[int, Extent]
    ) -> dict[int, LiteralFacts]:
        found = {}
        for place, extent in extents.items():
            part = rule.body[place]
            assert isinstance(part, Literal | Group)
            found[place] = reading.source(part.relation, extent)
        return found

    def _variants(
        self,
        rule: Rule,
        reading: FrameReading,
        delta: SparkSet,
        lost: SparkSet | None,
        exact: bool,
    ) -> Iterator[tuple[Rule, Reads]]:
        """The rule with one part that meets the change; if instances are counted, the parts before
        it do not."""
        extents = self._extents(rule, reading)
        if extents is None:
            return
        spared: dict[int, LiteralFacts] = {}
        for place, part in enumerate(rule.body):
            if isinstance(part, Literal) and not part.negated:
                change = delta.of(part.relation)
                if change.empty:
                    continue
                meets = self._meeting(part.relation, change, extents[place])
                reads = self._sources(rule, reading, {**extents, place: meets})
                yield rule, Reads(reads, dict(spared))
                if exact:
                    extents[place] = self.without(part.relation, extents[place], change)
                    if extents[place].empty:
                        return
            elif isinstance(part, Literal) and lost is not None:
                change = lost.of(part.relation)
                if change.empty:
                    continue
                body = (*rule.body[:place], replace(part, negated=False), *rule.body[place + 1 :])
                reads = self._sources(rule, reading, {**extents, place: change})
                yield replace(rule, body=body), Reads(reads, dict(spared))
                if exact:
                    spared[place] = reading.source(part.relation, change)
            elif isinstance(part, Group) and lost is not None:
                change = self.either(part.relation, delta.of(part.relation), lost.of(part.relation))
                if change.empty:
                    continue
                source = reading.source(part.relation, change)
                keys = group_keys(rule, part)
                reads = self._sources(rule, reading, extents)
                reads[len(rule.body)] = _touched(part, keys, source)
                literal = Literal(part.relation, tuple(keys))
                yield replace(rule, body=(*rule.body, literal)), Reads(reads, dict(spared))
                if exact:
                    spared[place] = source

    def _meeting(self, name: str, change: Extent, extent: Extent) -> Extent:
        """Facts of the change that are in the view."""
        if extent is change or (change.plus <= extent.plus and change.small):
            return change
        if change.small and extent.small:
            return Extent(change.plus & extent.plus)
        few, many = self.frame(name, change), self.frame(name, extent)
        few = F.broadcast(few) if change.small else few
        return Extent(
            (), many.join(few, on=many.columns), min(change.most, extent.most), done=False
        )

    # Results of evaluations.

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
        self._describe_rules(found)
        counter = add_to or take_from
        if counter is None:
            if guard is not None and large:
                self._guard_frames(found, guard)
            for name, extent in self.gather(found, large).items():
                result.put(name, extent)
            if guard is not None and not large:
                self._guard(result, guard)
            return result
        assert isinstance(counter, SparkCounter)
        sign = 1 if add_to is not None else -1
        self.instances += self.counts.add(counter, sign, found, large, result)
        if guard is not None:
            self._guard(result, guard)
        return result

    def _guard_frames(self, found: Found, guard: View) -> None:
        wanted, unwanted = parts_of(guard)
        for name, frames in found.frames.items():
            extent = Extent((), union(frames).distinct(), SMALL + 1, done=False)
            for view in wanted:
                extent = self.both(name, extent, self.extent(view, name))
            for view in unwanted:
                extent = self.without(name, extent, self.extent(view, name))
            found.frames[name] = [] if extent.empty else [self.frame(name, extent)]

    def _guard(self, facts: SparkSet, guard: View) -> None:
        """Keep only facts of the guard."""
        wanted, unwanted = parts_of(guard)
        for views, keep in ((wanted, True), (unwanted, False)):
            for view in views:
                asked = {}
                for name in facts.names():
                    extent, other = facts.of(name), self.extent(view, name)
                    if extent.small:
                        asked[name] = (other, extent.plus)
                    else:
                        pick = self.both if keep else self.without
                        facts.put(name, pick(name, extent, other).copy())
                for name, rows in self.members(asked).items():
                    facts.put(name, Extent(rows if keep else facts.of(name).plus - rows))
        self.settled(facts)


def _touched(part: Group, keys: Sequence[Variable], source: LiteralFacts) -> LiteralFacts:
    """The distinct keys of the groups that the facts belong to."""
    rule = Rule(Literal("%keys", tuple(keys)), (Literal(part.relation, part.terms),))
    joined = join(rule, Reads({0: source}))
    frame = joined.frame.select(*joined.terms(tuple(keys))).distinct()
    return LiteralFacts(frame if keys else frame.limit(1).select(F.col("c0")), source.size)
