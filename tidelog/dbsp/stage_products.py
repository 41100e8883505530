"""What a stage makes of the rewrites that come to it, and groups of aggregates that it looks up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidelog.dbsp.circuit_state import FactTable, PathNode
from tidelog.dbsp.grounding import HELD, Folded, GroupFold, Where, Without, Word
from tidelog.dbsp.host import Host
from tidelog.dbsp.product_join import default_rows
from tidelog.dbsp.trace import Batch, Match, consolidated, gather, none, weighted
from tidelog.program.rules import Range
from tidelog.program.syntax import Constant, Variable

FLAT = -1  # for `late`: cells of lower layers have no times


@dataclass(frozen=True, slots=True)
class StageProducts:
    """The product, for rewrites that have changed."""

    host: Host
    pause: int  # rounds that a rewrite waits for each stage

    def of(self, node: PathNode, batch: Batch) -> Iterator[Batch]:
        """Rewrites of its parent, one stage further."""
        assert node.stage is not None
        step = node.stage.step
        if isinstance(step, Where):
            found = self._where(step, node, batch)
            if len(found):
                yield found
            return
        assert node.table is not None
        if isinstance(step, Without):
            yield self._passed(batch, node.stage.result, None)
        elif isinstance(step, Folded) and step.fold.has_default:
            passed = self._passed(default_rows(step, batch), node.stage.result, step.default)
            if len(passed):
                yield passed
        late = FLAT if node.table.layer < node.layer else 1
        for match, sign in node.forward:
            yield from match.pairs(batch, node.table.facts, shift=self.pause, late=late, sign=sign)

    def _passed(self, batch: Batch, result: tuple[Word, ...], default: int | None) -> Batch:
        """Rewrites that go on without having met anything."""
        made = np.empty((len(batch), len(result) + 2), dtype=np.int64)
        for c, (source, which) in enumerate(result):
            if source == HELD:
                made[:, c] = batch[:, which]
            elif default is not None:
                made[:, c] = default
        made[:, -2] = batch[:, -2] + self.pause
        made[:, -1] = batch[:, -1]
        return _merged(made, batch, result)

    def _where(self, where: Where, node: PathNode, batch: Batch) -> Batch:
        stage = node.stage
        assert stage is not None
        rows, values = self.host.where(where, next(iter(node.rules)), batch[:, where.columns])
        made = np.empty((len(rows), len(stage.result) + 2), dtype=np.int64)
        for c, (source, which) in enumerate(stage.result):
            if source == HELD:
                made[:, c] = batch[rows, which]
            elif values is not None:
                made[:, c] = values[:, which]
        made[:, -2:] = batch[rows, -2:]
        if isinstance(where.part, Range):
            return consolidated(made)  # of several values that nothing needs
        return _merged(made, batch, stage.result)


def _merged(made: Batch, batch: Batch, result: Sequence[Word]) -> Batch:
    """Rows made of those of a batch; some may be the same if words were left out."""
    held = {which for source, which in result if source == HELD}
    return made if len(held) == batch.shape[1] - 2 else consolidated(made)


def changed_groups(table: FactTable, facts: Batch, host: Host) -> Batch:
    """How a table of groups changes with these facts."""
    assert table.fold is not None
    keys = _group_keys(table.fold, facts, host) if len(facts) else none(0)
    if not len(keys):
        return none(table.width)
    now = weighted(host.fold(table.fold, keys[:, :-2]), 1)
    width = table.width - 1
    words = [(0, c) for c in range(width)]
    match = Match.of(range(width), words, [(1, c) for c in range(table.width)])
    before = list(match.pairs(keys, table.facts, late=0, sign=-1))
    return gather([now, *before])


def _group_keys(fold: GroupFold, batch: Batch, host: Host) -> Batch:
    """The keys of the groups that these facts belong to."""
    places: dict[str, int] = {}
    passes = np.ones(len(batch), dtype=np.bool_)
    for c, term in enumerate(fold.group.terms):
        if isinstance(term, Constant):
            passes &= batch[:, c] == host.identify(term)
        elif isinstance(term, Variable):
            first = places.setdefault(term.name, c)
            passes &= batch[:, c] == batch[:, first]
    columns = [places[key.name] for key in fold.keys]
    keys = consolidated(weighted(batch[passes][:, columns], 1))
    keys[:, -1] = 1
    return keys
