"""The interpreter: Datalog evaluation as an incremental circuit, where rules are data; in kernels.

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024), Figures 2 and 3. Their circuit, made of DBSP operators, is `dyre`:
the specification, and the oracle of the tests. This does the same work, faster and for more
programs. It is not made of those operators: it holds the same Z-sets in parts, a `FactTable` for
each relation and a `PathNode` for each path of a rule, and changes them in rounds:

  gatekeep   rewrites go on along the directions of rules: from a node to its children
  product    rewrites meet facts that unify, by the index
  ground     complete rewrites become facts, by the signals of rules
  distinct   a fact that is explicit, or derived more than once, counts once
  index      facts are kept by the columns that join orders name

An update is one step of the outer clock, rounds of the fixpoint are the inner one. State is in
traces (see `trace`), a pair of a join happens at the later of both times, and only what an update
changes is worked on.

Departures. Directions are distinct: a rule that shares a path with others does not touch it.
Rewrites of several stages are found in the same round (`pause` 0); in the paper they take a round
for each stage (`pause` 1). Complete rewrites are not kept: when a signal is added or removed,
the last product is evaluated again. Negation and aggregates, which the paper leaves open, read
relations of lower layers; a layer is a fixpoint of its own, and what it changed reaches the next
one at once, without times. A positive program has one layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from tidelog.dbsp.circuit_state import FactTable, Journal, PathNode, TraceSizes
from tidelog.dbsp.grounding import (
    HELD,
    GroundingKit,
    GroupFold,
    Product,
    Signal,
    Stage,
    Where,
    Without,
    grounding_kit,
)
from tidelog.dbsp.host import Host
from tidelog.dbsp.kernels.cells import NEVER
from tidelog.dbsp.product_join import matches
from tidelog.dbsp.stage_products import StageProducts, changed_groups
from tidelog.dbsp.strata_layers import Layers
from tidelog.dbsp.trace import (
    Batch,
    Trace,
    Words,
    by_time,
    gather,
    kept,
    none,
    weighted,
)
from tidelog.program.diagnostics import LimitError
from tidelog.program.rules import Rule

FACTS, HEADS = 0, 1 << 30  # in a round facts go first, then nodes by depth, and heads last

Target = PathNode | FactTable


class Interpreter:
    """Rules and facts, and their consequences.

    `step` takes changes and gives changes. `indexed` False is the circuit of Figure 2, without
    join orders: every rewrite is held against all facts of the relation.
    """

    def __init__(self, host: Host, *, indexed: bool = True, pause: int = 0) -> None:
        self._host = host
        self._indexed = indexed
        self._pause = pause
        self._products = StageProducts(host, pause)
        self.layers = Layers()
        self.tables: dict[str, FactTable] = {}
        self._folds: dict[GroupFold, FactTable] = {}
        self._roots: dict[int, PathNode] = {}
        self._grounding_kits: dict[Rule, GroundingKit] = {}
        self._queues: dict[int, list[tuple[int, int, int, Target]]] = {}  # by layer
        self._waiting: dict[tuple[int, int], list[Batch]] = {}
        self._touched: dict[FactTable, None] = {}  # tables with changes of this step
        self._ledger = TraceSizes()
        self._journal = Journal(self._ledger)
        self._new_nodes: list[PathNode] = []
        self._restructured = False
        self._new = 0  # facts inserted in this step
        self.pairs = 0  # of joins, summed up where they are the same
        self.rounds = 0

    # Sizes.

    def fits(self, added: Collection[Rule], removed: Collection[Rule] = ()) -> bool:
        """Can these rules be added in one step, so that no existing relation is raised?"""
        return self.tables.keys().isdisjoint(self.layers.raised(added, removed))

    @property
    def rules(self) -> Iterable[Rule]:
        return self._grounding_kits.keys()

    def facts(self) -> int:
        return sum(len(table.facts) for table in self.tables.values())

    def rewrites(self) -> int:
        """Rewrites that are kept, in all rounds."""
        return self._ledger.rewrites

    def memory(self) -> int:
        """Bytes of the circuit's state."""
        return self._ledger.bytes

    # The step.

    def step(
        self,
        facts: Mapping[str, Batch],
        added: Iterable[Rule] = (),
        removed: Iterable[Rule] = (),
    ) -> dict[str, Batch]:
        """One update; inserted explicit facts have weight 1, deleted ones -1, at time 0.

        Added rules must fit: see `fits`. If this raises an error, or the update is to be undone,
        `undo` restores the circuit.
        """
        try:
            return self._step(facts, tuple(added), tuple(removed))
        except OverflowError:
            raise LimitError(
                "error: the circuit would count too many derivations of one fact\n"
                "    another algorithm than dbsp does not count them"
            ) from None

    def _step(
        self, facts: Mapping[str, Batch], added: Sequence[Rule], removed: Sequence[Rule]
    ) -> dict[str, Batch]:
        self._new_nodes.clear()
        self.rounds = self._new = 0
        for rule in removed:
            self.layers.remove(rule)
        self.layers.add(added)
        for rule in added:
            self._plant(rule)
        for node in self._new_nodes:
            assert node.parent is not None
            if not node.parent.fresh:
                for found in self._contents(node, kept=False):
                    self._put(node, 1 + node.depth, found)
        for rule in removed:
            self._uproot(rule)
        for name, batch in facts.items():
            if len(batch):
                self._put(self._table(name, batch.shape[1] - 2), HEADS, batch)
        changes: dict[str, Batch] = {}
        for layer in range(self.layers.count):
            self._import(layer)
            self._run(layer)
            changes.update(self._settle(layer))
        for node in self._new_nodes:
            node.fresh = False
        self._forget_changes()
        self._forget_tables(removed)
        return changes

    def _forget_tables(self, removed: Iterable[Rule]) -> None:
        """Drop relations that only these rules used and that are empty."""
        for rule in removed:
            for name in (rule.head.relation, *(name for name, _ in rule.reads())):
                table = self.tables.get(name)
                if table is not None and not (table.signals or table.readers or len(table.inputs)):
                    del self.tables[name]
                    self._ledger.drop(table.facts)
                    self._ledger.drop(table.inputs)

    def undo(self) -> bool:
        """Restore the circuit as it was at the last `finish`; False if rules have changed since, so
        that it must be built again."""
        if self._restructured:
            return False
        self._journal.undo()
        self._forget_changes()
        self._queues.clear()
        self._waiting.clear()
        return True

    def _forget_changes(self) -> None:
        for table in self._touched:
            table.changes.clear()
            table.again.clear()
        self._touched.clear()

    def finish(self) -> None:
        """Keep the changes: forget how to undo them."""
        self._journal.clear()
        self._restructured = False

    # Rounds.

    def _put(self, target: Target, order: int, batch: Batch) -> None:
        """Queue the batch for the target, each row at its time."""
        for time, rows in by_time(batch):
            self._put_at(time, order, target, rows)

    def _put_at(self, time: int, order: int, target: Target, batch: Batch) -> None:
        kind = 2 * id(target) + (order == FACTS)
        waiting = self._waiting.get((time, kind))
        if waiting is None:
            waiting = self._waiting[time, kind] = []
            heappush(self._queues.setdefault(target.layer, []), (time, order, kind, target))
        waiting.append(batch)

    def _run(self, layer: int) -> None:
        """The fixpoint of a layer: what is due, in the order of rounds and stages."""
        queue = self._queues.setdefault(layer, [])
        last = -1
        while queue:
            time, order, kind, target = heappop(queue)
            if time != last:
                last = time
                self.rounds += 1
                self._host.round(self._new)
            batches = self._waiting.pop((time, kind))
            if isinstance(target, PathNode):
                batch = gather(batches)
                if len(batch):
                    self._gatekeep(target, batch)
            elif order == FACTS:
                self._spread(target, layer, gather(batches), 1)
            else:
                self._distinct(target, time, batches)

    def _spread(self, table: FactTable, layer: int, batch: Batch, shift: int) -> None:
        """The product of changed facts with existing rewrites. Facts of the layer itself are seen a
        round later."""
        for node in table.readers.get(layer, ()):
            assert node.parent is not None
            trace = node.parent.trace
            assert trace is not None
            if not len(trace):
                continue
            for match, sign in node.backward:
                for found in match.pairs(batch, trace, shift=shift, late=self._pause, sign=sign):
                    self._found(node, found)

    def _gatekeep(self, node: PathNode, batch: Batch) -> None:
        """Pass changed rewrites on to the children; complete ones become facts."""
        if node.trace is not None:
            self._journal.add(node.trace, batch, rewrites=True)
        for child in node.children.values():
            for found in self._products.of(child, batch):
                self._found(child, found)
        for signal in node.signals:
            self._ground(signal, batch)

    def _found(self, node: PathNode, batch: Batch) -> None:
        self.pairs += len(batch)
        self._host.tick(self._new, next(iter(node.rules)))
        if node.children:
            self._put(node, 1 + node.depth, batch)
            return
        for signal in node.signals:
            self._ground(signal, batch)

    def _ground(self, signal: Signal, batch: Batch, sign: int = 1) -> None:
        """Complete rewrites become facts."""
        if sign == 1 and signal.is_rewrite(batch.shape[1] - 2):
            self._put(self._table(signal.relation, len(signal.words)), HEADS, batch)
            return
        made = np.empty((len(batch), len(signal.words) + 2), dtype=np.int64)
        for c, (source, which) in enumerate(signal.words):
            made[:, c] = batch[:, which] if source == HELD else which
        made[:, -2] = batch[:, -2]
        made[:, -1] = batch[:, -1] * sign
        self._put(self._table(signal.relation, len(signal.words)), HEADS, made)

    def _distinct(self, table: FactTable, time: int, batches: Sequence[Batch]) -> None:
        """Facts count once, from the first round on in which they are derived: what is derived in a
        round is derived in all later ones."""
        self._touched[table] = None
        again = table.again.pop(time, None)
        count = 0
        if again is None:
            rows = gather(batches)
        else:
            looked = np.concatenate(again)
            looked[:, -2:] = time, 0
            looked = kept(looked)
            rows, count = kept(np.concatenate((looked, *batches))), len(looked)
        facts = table.facts
        changes, later = table.inputs.distinct(facts, rows, time, rising=True, again=count)
        self._journal.note(table.inputs, rows)
        self._look_again(table, rows, later)
        changed = rows
        if not (changes == rows[:, -1]).all() or again is not None:
            which = changes != 0
            changed = rows[which]
            changed[:, -2] = time
            changed[:, -1] = changes[which]
        if not len(changed):
            return
        self._journal.add(facts, changed)
        self._new += int(changed[:, -1].sum())
        table.changes.append(changed)
        if table.layer in table.readers:
            self._put_at(time + 1, FACTS, table, changed)

    def _look_again(self, table: FactTable, rows: Batch, later: Words) -> None:
        """A row may have to change in each round in which it has anything."""
        which = later != NEVER
        if not which.any():
            return
        rows = rows[which]
        rows[:, -2] = later[which]
        for time, some in by_time(rows):
            table.again.setdefault(time, []).append(some)
            self._put_at(time, HEADS, table, none(table.width))

    # Layers.

    def _import(self, layer: int) -> None:
        """Add the changes of lower layers before the first round."""
        for table in list(self._folds.values()):
            if layer in table.readers:
                self._refold(table)
        for table in self._touched:
            if table.layer < layer and layer in table.readers:
                batch = table.net()
                if len(batch):
                    batch = batch.copy()
                    batch[:, -2] = 0
                    self._spread(table, layer, batch, 0)

    def _settle(self, layer: int) -> dict[str, Batch]:
        tables = [table for table in self._touched if table.layer == layer and not table.fold]
        changes = {table.name: net for table in tables if len(net := table.net())}
        if changes:
            self._host.settled(changes)
        return changes

    def _refold(self, table: FactTable) -> None:
        """Groups that changed facts belong to."""
        assert table.fold is not None
        if table.changes:
            return  # done for a lower layer
        base = self.tables.get(table.fold.group.relation)
        change = (
            none(table.width) if base is None else changed_groups(table, base.net(), self._host)
        )
        if len(change):
            self._touched[table] = None
            self._journal.add(table.facts, change)
            table.changes.append(change)

    # Rules.

    def _plant(self, rule: Rule) -> None:
        """Add the directions and the signal of a rule."""
        self._restructured = True
        made = self._grounding_kits[rule] = grounding_kit(rule, self._host.identify)
        node = self._root(self.layers.of(rule.head.relation))
        for stage in made.directions:
            child = node.children.get(stage)
            if child is None:
                child = self._extend(node, stage)
            child.rules[rule] = None
            node = child
        first = made.signal not in node.signals
        node.signals[made.signal] = node.signals.get(made.signal, 0) + 1
        self._table(made.signal.relation, len(made.signal.words)).signals += 1
        if first and not node.fresh:
            for found in self._contents(node):
                self._ground(made.signal, found)

    def _uproot(self, rule: Rule) -> None:
        """Remove the directions and the signal of a rule."""
        self._restructured = True
        made = self._grounding_kits.pop(rule)
        node = self._root(self.layers.of(rule.head.relation))
        for stage in made.directions:
            node = node.children[stage]
        node.signals[made.signal] -= 1
        self.tables[made.signal.relation].signals -= 1
        if not node.signals[made.signal]:
            del node.signals[made.signal]
            for found in self._contents(node):
                self._ground(made.signal, found, -1)
        while node.parent is not None:
            del node.rules[rule]
            if not node.rules:
                self._remove(node)
            node = node.parent

    def _root(self, layer: int) -> PathNode:
        """The empty rewrite, from which all paths of a layer start."""
        root = self._roots.get(layer)
        if root is None:
            root = self._roots[layer] = PathNode(
                None, None, layer, 0, 0, trace=Trace(0), fresh=False
            )
            assert root.trace is not None
            root.trace.add(np.array([[-self._pause, 1]], dtype=np.int64))
            self._ledger.note(root.trace, rewrites=True)
        return root

    def _extend(self, parent: PathNode, stage: Stage) -> PathNode:
        """A path that no rule has taken so far."""
        node = PathNode(stage, parent, parent.layer, parent.depth + 1, len(stage.result))
        if parent.trace is None:
            parent.trace = Trace(parent.width)
            if not parent.fresh:
                for found in self._contents(parent, kept=False):
                    parent.trace.add(found)
        self._ledger.note(parent.trace, rewrites=True)
        parent.children[stage] = node
        node.table = self._read(stage)
        if node.table is not None:
            node.forward, node.backward = matches(stage, self._indexed)
            for match, _ in node.forward:
                node.table.facts.index(match.columns)
            for match, _ in node.backward:
                parent.trace.index(match.columns)
            self._ledger.note(node.table.facts)
            node.table.readers.setdefault(node.layer, []).append(node)
        self._new_nodes.append(node)
        return node

    def _remove(self, node: PathNode) -> None:
        parent, stage = node.parent, node.stage
        assert parent is not None
        assert stage is not None
        assert parent.trace is not None
        del parent.children[stage]
        if node.table is not None:
            for match, _ in node.forward:
                node.table.facts.unindex(match.columns)
            for match, _ in node.backward:
                parent.trace.unindex(match.columns)
            self._ledger.note(parent.trace, rewrites=True)
            self._ledger.note(node.table.facts)
            readers = node.table.readers[node.layer]
            readers.remove(node)
            if not readers:
                del node.table.readers[node.layer]
            if node.table.fold is not None and not node.table.readers:
                del self._folds[node.table.fold]
                self._ledger.drop(node.table.facts)
        if not parent.children and parent.parent is not None:
            self._ledger.drop(parent.trace)
            parent.trace = None

    def _contents(self, node: PathNode, kept: bool = True) -> Iterator[Batch]:
        """All rewrites of a node, as they were before the step."""
        if node.trace is not None and kept:
            yield node.trace.batch()
            return
        if node.parent is None:
            return
        assert node.parent.trace is not None
        batch = node.parent.trace.batch()
        if len(batch):
            for found in self._products.of(node, batch):
                self._host.tick(self._new, next(iter(node.rules)))
                yield found

    def _table(self, name: str, width: int) -> FactTable:
        table = self.tables.get(name)
        if table is None:
            layer = self.layers.of(name)
            table = self.tables[name] = FactTable(name, width, layer, Trace(width), Trace(width))
            self._ledger.note(table.facts)
            self._ledger.note(table.inputs)
        return table

    def _read(self, stage: Stage) -> FactTable | None:
        """What the stage looks facts up in."""
        step = stage.step
        if isinstance(step, Product | Without):
            return self._table(step.relation, len(step.pattern))
        if isinstance(step, Where):
            return None
        table = self._folds.get(step.fold)
        if table is None:
            width = len(step.fold.keys) + 1
            table = FactTable("", width, -1, Trace(width), Trace(0), fold=step.fold)
            self._folds[step.fold] = table
            table.facts.index(tuple(range(width - 1)))
            table.facts.add(weighted(self._host.fold(step.fold, None), 1))
            self._ledger.note(table.facts)
        return table
