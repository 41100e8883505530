"""The loop that applies changes: every update is a transaction, whoever it comes from.

`Database.apply`, the policies of streams, the prompt, pipelines and RDF graphs all use it. They
differ in how they begin a transaction and in what an update is: changes up to a `Commit`, an update
that has arrived, lines since the last `commit.`, a batch of tables, or runs of triples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Protocol

from tidelog.formats.change_files import read_notation
from tidelog.maintain.report import Report
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import Sources
from tidelog.program.rules import Relation
from tidelog.text.change_notation import Relations
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

Update = Callable[[Transaction], object]  # makes its changes, and leaves the commit to the loop
Begin = Callable[[], Transaction]
Given = tuple[Change, Sources | None]  # a change, and the text that messages about it show
MadeChange = tuple[FactChange | RuleChange, Sources | None]  # the same, without the ends of updates


@dataclass(frozen=True, slots=True)
class Applied:
    """An update that has taken effect."""

    delta: Delta
    report: Report
    seconds: float  # of the commit
    made: float  # when its changes were made and the commit began, by `perf_counter`


def apply(updates: Iterable[Update], begin: Begin) -> Iterator[Applied]:
    """Apply updates, each in a transaction of its own.

    An error or Ctrl-C rolls the update back and ends the loop; those before it stay. A Ctrl-C that
    comes when an update has taken effect already is raised after the update has been given.

    >>> from tidelog import Database
    >>> db = Database("p(x) :- q(x). q(1).")
    >>> def update(tx):
    ...     tx.insert("q", [(2,)])
    >>> for done in apply([update], db.transaction):
    ...     print(done.delta.counts)
    {'q': (1, 0), 'p': (1, 0)}
    """
    for update in updates:
        late = False
        with begin() as tx:
            update(tx)
            made = perf_counter()
            try:
                tx.commit()
            except KeyboardInterrupt:
                if not tx.committed:
                    raise
                late = True
        yield Applied(tx.delta, tx.report, tx.seconds, made)
        if late:
            raise KeyboardInterrupt


def make(
    transaction: Transaction,
    changes: Iterable[MadeChange],
    reading: str = "the changes were read",
) -> None:
    """Make changes as they are read; `reading` says what was being done when a limit stops it."""
    with transaction.reading(reading):
        for change, sources in changes:
            transaction.change(change, sources)


class HasSchema(Protocol):
    @property
    def schema(self) -> Mapping[str, Relation]: ...


class Changeable(HasSchema, Protocol):
    """What `apply_changes` asks of a database."""

    def transaction(self) -> Transaction: ...


def apply_changes(changes: str | Iterable[Change], database: Changeable) -> Iterator[Applied]:
    """Apply changes, as text in the notation or as values; each `Commit` ends an update.

    Text is read while it is applied, because a rule may bring a relation that later facts are of.
    """
    current: HasSchema = database

    def begin() -> Transaction:
        nonlocal current
        current = transaction = database.transaction()
        return transaction

    given: Iterable[Given]
    if isinstance(changes, str):
        given = changes_in(changes, "<changes>", lambda: current.schema)
    else:
        given = ((change, None) for change in changes)
    return apply(_updates_of(given), begin)


def changes_in(text: str, file: str, relations: Relations) -> Iterator[Given]:
    """The changes of a text in the notation; messages call it `file`."""
    read = read_notation([text] if text else [], file, relations)
    return (sourced for sourced in read if sourced is not None)


def _updates_of(changes: Iterable[Given]) -> Iterator[Update]:
    rest = iter(changes)
    for first in rest:
        yield partial(make, changes=_up_to_commit(chain([first], rest)))


def _up_to_commit(changes: Iterable[Given]) -> Iterator[MadeChange]:
    for change, sources in changes:
        if isinstance(change, Commit):
            return
        yield change, sources
