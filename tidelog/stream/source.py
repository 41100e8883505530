"""`Arrivals`: updates as they arrive, from anything, each of them whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from tidelog.io.changes import Format, Place
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import Commit, FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.stream.inputs import Input, open_input
from tidelog.stream.policy import Arrived
from tidelog.transactions import clause_of, find_rule

PORTION = 512  # changes that are read before others have their turn


class Arrivals:
    """The updates of a source, in order; of several files, one after the other.

    Text is read by the caller's thread, against the relations as they are. After an update
    that changes rules nothing is read until `applied` says that it has taken effect. An error
    is raised in the place of the update that it is in, and ends the source.

    >>> from tidelog import Database
    >>> db = Database("p(x) :- q(x). q(1).")
    >>> arrivals = Arrivals("+q(2). commit. -q(2). commit.", lambda: db._state.book)
    >>> first, second = arrivals.poll(), arrivals.poll()
    >>> second.number, second.changes[0][0]
    (2, FactChange(op='-', relation='q', row=(2,)))
    >>> arrivals.poll() is None, arrivals.ended
    (True, True)
    """

    def __init__(
        self,
        source: Any,
        book: Callable[[], Rulebook],
        stdin: BinaryIO | None = None,
        format: Format | None = None,
    ) -> None:
        self.ended = False
        self.midway = False  # in an update that is there as a whole, perhaps
        self.given = 0  # updates so far
        self.name = ""  # what is read now, as messages call it
        self._book = book
        self._stdin = stdin
        self._format = format
        self._sources: Iterator[Any] = iter(source if _are_files(source) else [source])
        self._input: Input | None = None
        self._changes: list[tuple[FactChange | RuleChange, Sources]] = []
        self._tentative: Rulebook | None = None  # the rules as the update in hand leaves them
        self._known: tuple[Rulebook | None, Mapping[str, Relation]] = (None, {})
        self._barrier = 0  # the number of an update that changes rules and is not applied

    @property
    def waiting(self) -> int:
        """How many updates are there and not read yet, about; those of files are not counted."""
        at = self._input
        return at.feed.waiting(at.given) if at is not None and at.feed is not None else 0

    def poll(self) -> Arrived | None:
        """The next update, if it is there whole and has been read. It never waits, and reads a long
        update in portions."""
        if self.ended or self._barrier:
            return None
        try:
            return self._poll()
        except BaseException:
            self.close()
            raise

    def _poll(self) -> Arrived | None:
        self.midway = False
        room = PORTION
        while (at := self._input or self._open()) is not None:
            for sourced in at.changes:
                if sourced is None:
                    return None
                change, sources = sourced
                if isinstance(change, Commit):
                    return self._whole(at)
                self._add(change, sources)
                room -= 1
                if not room:
                    self.midway = True
                    return None
            self._input = None
            if self._changes:
                return self._whole(at)
        self.ended = True
        return None

    def _open(self) -> Input | None:
        for source in self._sources:
            self._input = open_input(source, self._relations, self._stdin, self._format)
            self.name = self._input.name
            return self._input
        return None

    def _whole(self, at: Input) -> Arrived:
        self.given += 1
        at.given += 1
        arrived = at.feed.at if at.feed is not None else perf_counter()
        rules = self._tentative is not None
        if rules:
            self._barrier = self.given
        update = Arrived(self.given, tuple(self._changes), arrived, rules)
        self._changes, self._tentative = [], None
        return update

    def _add(self, change: FactChange | RuleChange, sources: Sources) -> None:
        if isinstance(change, RuleChange):
            self._tentative = _after(self._tentative or self._book(), change, sources)
        self._changes.append((change, sources))

    def _relations(self) -> Mapping[str, Relation]:
        book = self._tentative or self._book()
        if book is not self._known[0]:
            self._known = (book, book.visible)
        return self._known[1]

    def applied(self, number: int) -> None:
        """The update with this number has taken effect, and its rules with it."""
        if number == self._barrier:
            self._barrier = 0

    def wait(self, timeout: float | None = None) -> None:
        """Until there may be an update, or the end; or so many seconds."""
        at = self._input
        if at is not None and at.feed is not None and not self._barrier:
            at.feed.wait(timeout)

    def close(self) -> None:
        """Read no more."""
        self.ended, self.midway = True, False
        self._changes = []
        if self._input is not None and self._input.feed is not None:
            self._input.feed.close()


def _after(book: Rulebook, change: RuleChange, sources: Sources) -> Rulebook:
    """The rules with one more or one less."""
    if change.op == "+":
        return book.plus(*clause_of(change.rule, sources))[0]
    at = change.at if change.at.line else None
    return book.without([find_rule(book, change.rule, sources, at)])[0]


def _are_files(source: object) -> bool:
    files: Sequence[object] = source if isinstance(source, list | tuple) else ()
    return bool(files) and all(isinstance(each, Path | Place) for each in files)
