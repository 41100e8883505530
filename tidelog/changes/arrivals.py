"""`Arrivals`: whole updates as they arrive from a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from tidelog.changes.policies.policy import Arrived
from tidelog.changes.reader_thread import END
from tidelog.changes.sources import OpenSource, open_input
from tidelog.control.limits import Limits, LimitWatch, guarded, naming
from tidelog.formats.byte_source import DistinctFacts
from tidelog.formats.change_files import Format, Place
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import Commit, FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.transaction.rule_text import clause_of, find_rule
from tidelog.transaction.state import State

PORTION = 512  # changes read by one `poll`, so that long updates do not block other work


class Arrivals:
    """The updates of a source, in order; several files are read one after the other.

    Text is parsed in the caller's thread, against the current relations. After an update that
    changes rules, nothing is read until `applied` reports that it has taken effect. An error is
    raised in place of the update that contains it, and ends the source.

    >>> from tidelog import Database
    >>> db = Database("p(x) :- q(x). q(1).")
    >>> arrivals = Arrivals("+q(2). commit. -q(2). commit.", db.core.state)
    >>> first, second = arrivals.poll(), arrivals.poll()
    >>> second.number, second.changes[0][0]
    (2, FactChange(op='-', relation='q', row=(2,)))
    >>> arrivals.poll() is None, arrivals.ended
    (True, True)
    """

    def __init__(
        self,
        source: Any,
        state: State,
        stdin: BinaryIO | None = None,
        format: Format | None = None,
    ) -> None:
        self.ended = False
        self.midway = False  # `poll` stopped within a long update
        self.given = 0  # updates read so far
        self.name = ""  # of the current source, for messages
        self._state = state  # of the database, for its rules
        self._stdin = stdin
        self._format = format
        self._sources: Iterator[Any] = iter(source if _are_files(source) else [source])
        self._input: OpenSource | None = None
        self._changes: list[tuple[FactChange | RuleChange, Sources]] = []
        self._tentative: Rulebook | None = None  # the rules with the changes of the current update
        self._known: tuple[Rulebook | None, Mapping[str, Relation]] = (None, {})
        self._barrier = 0  # the number of an update of rules that is not applied yet
        self._seconds = 0.0  # that the update in hand has taken, without waiting
        self.limit(Limits())

    def limit(self, limits: Limits) -> None:
        """Stop in an update that is larger or takes longer to read."""
        self._limits = limits
        self._watch = LimitWatch(limits, lambda: 0)
        self._inserted = DistinctFacts(limits.max_facts)

    @property
    def waiting(self) -> int:
        """About how many updates have arrived and are not read yet; files are not counted."""
        at = self._input
        return at.feed.waiting(at.given) if at is not None and at.feed is not None else 0

    def poll(self) -> Arrived | None:
        """The next update, or None if it has not arrived as a whole. Never waits, and reads a long
        update in portions."""
        if self.ended or self._barrier:
            return None
        try:
            self._watch.began = perf_counter() - self._seconds
            update = self._poll()
            self._seconds = 0.0 if update is not None else perf_counter() - self._watch.began
            return update
        except BaseException:
            self.close()
            raise

    def _poll(self) -> Arrived | None:
        self.midway = False
        room = PORTION
        while (at := self._input or self._open()) is not None:
            while (sourced := self._next(at)) is not END:
                if sourced is None:
                    if self._changes:  # a slow source never fills a portion
                        self._look()
                    return None
                change, sources = sourced
                if isinstance(change, Commit):
                    return self._whole(at)
                self._add(change, sources)
                room -= 1
                if not room:
                    self.midway = True
                    self._look()
                    return None
            self._input = None
            if self._changes:
                return self._whole(at)
        self.ended = True
        return None

    def _open(self) -> OpenSource | None:
        for source in self._sources:
            if isinstance(source, Path | Place):
                self.name = str(source) if isinstance(source, Path) else source.name
            with naming(self._doing), guarded(self._watch.look):  # tables are read as a whole
                self._input = open_input(source, self._relations, self._stdin, self._format)
            self.name = self._input.name
            return self._input
        return None

    def _next(self, at: OpenSource) -> Any:
        """The next change, None if it has not arrived yet, or END."""
        if not at.at_once:
            return next(at.changes, END)
        # What is read at once does not come back here until it is done.
        with naming(self._doing), guarded(self._watch.look):
            found = next(at.changes, END)
        at.at_once = found is None
        return found

    def _look(self) -> None:
        """Look at the limits, in the midst of an update."""
        with naming(self._doing):
            self._inserted.look(len(self._changes), self._insertions)
            self._watch.look()

    @property
    def _doing(self) -> str:
        return Arrived(self.given + 1, (), 0.0, name=self.name).text

    def _insertions(self) -> int:
        last = {}
        for change, _ in self._changes:
            if isinstance(change, FactChange):
                last[change.relation, change.row] = change.op
        return list(last.values()).count("+")

    def _whole(self, at: OpenSource) -> Arrived:
        self.given += 1
        at.given += 1
        now = perf_counter()
        arrived = at.feed.at if at.feed is not None else now
        rules = self._tentative is not None
        if rules:
            self._barrier = self.given
        changes, seconds = tuple(self._changes), now - self._watch.began
        update = Arrived(self.given, changes, arrived, rules, self.name, seconds)
        self._changes, self._tentative = [], None
        self._inserted = DistinctFacts(self._limits.max_facts)
        return update

    def _add(self, change: FactChange | RuleChange, sources: Sources) -> None:
        if isinstance(change, RuleChange):
            self._tentative = _after(self._tentative or self._state.book, change, sources)
        self._changes.append((change, sources))

    def _relations(self) -> Mapping[str, Relation]:
        book = self._tentative or self._state.book
        if book is not self._known[0]:
            self._known = (book, book.visible)
        return self._known[1]

    def applied(self, number: int) -> None:
        """Note that the update with this number has taken effect."""
        if number == self._barrier:
            self._barrier = 0

    def wait(self, timeout: float | None = None) -> None:
        """Wait for input or the end of the source, at most `timeout` seconds."""
        at = self._input
        if at is not None and at.feed is not None and not self._barrier:
            at.feed.wait(timeout)

    def close(self) -> None:
        """Stop reading."""
        self.ended, self.midway = True, False
        self._changes = []
        if self._input is not None and self._input.feed is not None:
            self._input.feed.close()


def _after(book: Rulebook, change: RuleChange, sources: Sources) -> Rulebook:
    """The rules after one is added or removed."""
    if change.op == "+":
        return book.plus(*clause_of(change.rule, sources))[0]
    at = change.at if change.at.line else None
    return book.without([find_rule(book, change.rule, sources, at)])[0]


def _are_files(source: object) -> bool:
    files: Sequence[object] = source if isinstance(source, list | tuple) else ()
    return bool(files) and all(isinstance(each, Path | Place) for each in files)
