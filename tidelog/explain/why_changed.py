"""Why a commit, or one that is only planned, changes a fact.

A cause is a set of the commit's changes without which it would not change the fact, and none of
which can be left out of the set. Causes are found by trying: the commit is made without some
changes, or these are undone after it, in transactions that are rolled back. Where many changes are
suspected, halves and quarters of them are tried first (delta debugging, Zeller 1999).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from tidelog.explain.absence import WhyNot
from tidelog.explain.proof import Proof
from tidelog.explain.trials import Made, makes, tried
from tidelog.explain.why import ProofBounds, why
from tidelog.explain.why_not import why_not
from tidelog.program.changes import Change, Commit, FactChange, Op, RuleChange
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.proof_steps import GroundFact
from tidelog.text.change_notation import Changes, change_text
from tidelog.text.writer import value_text
from tidelog.transaction.core import Core
from tidelog.transaction.delta import Delta, Origin

INVERSE: dict[Op, Op] = {"+": "-", "-": "+"}
SECONDS = 10.0  # for the search for one cause
SHOWN = 3  # changes of each relation whose causes are looked for


@dataclass(frozen=True)
class Cause:
    """Why a fact changed; made by `Delta.why`.

    Without all of `changes` together the fact would not have changed. For an insertion `proof`
    says how it follows; for a deletion `missing` says what every rule lacks now.
    """

    change: FactChange
    changes: tuple[Made, ...]
    proof: Proof | None = field(default=None, repr=False)
    missing: WhyNot | None = field(default=None, repr=False)
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [change_text(self.change), f"  because of {self.text}"]
        detail = str(self.proof or self.missing).splitlines()
        lines += detail[1:] if self.missing else [f"  {line}" for line in detail]
        return "\n".join([*lines, *(f"  left out: {reason}" for reason in self.left_out)])

    @property
    def text(self) -> str:
        """The changes, in the notation."""
        return " ".join(map(change_text, self.changes))


def why_changed(core: Core, origin: Origin, change: FactChange) -> Cause:
    """Why the last commit changed a fact."""
    if core.state.commits != origin.number:
        raise TidelogError(
            "error: the database has changed since this delta\n"
            "    ask about a delta before the next commit"
        )
    made = _changes_of(core, origin)
    opposite = replace(change, op=INVERSE[change.op])

    def needed(some: Sequence[Made]) -> bool:
        """Does undoing these changes undo the change?"""
        undone = [replace(each, op=INVERSE[each.op]) for each in some]
        return bool(makes(core, undone, opposite))

    proof = missing = None
    first: list[Made] = []
    bounds = ProofBounds(seconds=SECONDS)
    relation = core.state.book.relations[change.relation]
    values = map(value_text, change.row, relation.kinds)
    text = f"{change.relation}({', '.join(values)})"
    if change.op == "+":
        proof = why(core, text, 1, bounds)
        leaves = set(proof.explicit)
        first = [c for c in made if isinstance(c, FactChange) and _fact(c) in leaves]
    else:
        missing = why_not(core, text, 0, SECONDS)
    changes, whole = smallest(made, first, needed)
    left_out = () if whole else ("the smallest set of changes was not found in time",)
    return Cause(change, tuple(changes), proof, missing, left_out)


def _fact(change: FactChange) -> GroundFact:
    return GroundFact(change.relation, change.row)


def _changes_of(core: Core, origin: Origin) -> list[Made]:
    """The changes of a commit: of facts, and of rules."""
    store, relations = core.store, core.state.book.relations
    nothing = store.save(store.none())
    found: list[Made] = []
    for name, part in store.delta([(origin.explicit, nothing)], relations).items():
        for row in part.decode("-").rows():
            is_now = store.is_explicit(relations[name], row)
            found.append(FactChange("+" if is_now else "-", name, row))
    found += (RuleChange("+", core.state.book.clauses[name]) for name in origin.added)
    found += (RuleChange("-", clause) for clause in origin.removed)
    return found


def smallest(
    made: Sequence[Made], first: Sequence[Made], needed: Callable[[Sequence[Made]], bool]
) -> tuple[list[Made], bool]:
    """A set of changes that are needed, none of which can be left out; and whether there was time
    enough to make sure. All changes together are needed; `first` are the likeliest."""
    left = list(first) if first and needed(first) else list(made)
    parts, end = 2, math.inf
    while len(left) > 1:
        size = -(-len(left) // parts)
        chunks = [left[i : i + size] for i in range(0, len(left), size)]
        for chunk in chunks:
            if time.monotonic() > end:
                return left, False
            rest = [change for change in left if not any(change is each for each in chunk)]
            enough = needed(rest)
            if end == math.inf:  # the first trial may compile kernels
                end = time.monotonic() + SECONDS
            if enough:
                left, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(left))
    return left, True


@dataclass(frozen=True)
class Impact:
    """What changes would change; made by `Database.impact`. `causes` are those of the first changes
    of each relation."""

    delta: Delta
    causes: tuple[Cause, ...]

    def __str__(self) -> str:
        lines = []
        for name, (inserted, deleted) in self.delta.counts.items():
            counts = f"{plural(inserted, 'fact')} inserted, {deleted:,} deleted"
            lines.append(f"{name}: {counts}")
            for cause in (each for each in self.causes if each.change.relation == name):
                lines.append(f"  {change_text(cause.change)}  because of {cause.text}")
            more = inserted + deleted - SHOWN
            lines += [f"  … {more:,} more"] if more > 0 else []
        return "\n".join(lines) or "nothing would change"


def impact(core: Core, given: str | Iterable[Change]) -> Impact:
    """What changes would change, and why."""
    read = _read(core, given) if isinstance(given, str) else given
    changes = [change for change in read if not isinstance(change, Commit)]
    delta = tried(core, changes)
    causes: list[Cause] = []
    for name in delta.counts:
        for change in islice(delta.changes(name), SHOWN):
            found, whole = smallest(changes, (), partial(_lacks, core, changes, change))
            left_out = () if whole else ("the smallest set of changes was not found in time",)
            causes.append(Cause(change, tuple(found), left_out=left_out))
    return Impact(delta, tuple(causes))


def _read(core: Core, text: str) -> Iterator[Change]:
    changes = Changes("<changes>", lambda: core.state.book.visible)
    changes.feed(f"{text.strip().removesuffix('.')}.\n" if text.strip() else "")
    changes.end()
    while (change := changes.next()) is not None:
        yield change


def _lacks(core: Core, changes: Sequence[Made], change: FactChange, some: Sequence[Made]) -> bool:
    """Without some of the changes, do the others lack a change?"""
    others = [each for each in changes if not any(each is one for one in some)]
    return makes(core, others, change) is False
