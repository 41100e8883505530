"""A session at a prompt: lines in, deltas and answers out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.cli.pending_update import PendingUpdate
from tidelog.cli.standard_streams import Interrupted, fault, flush_stdout, out, say
from tidelog.formats.term_cells import answer_text
from tidelog.maintain.report import legend
from tidelog.plan.query import is_complete
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import Sources, TidelogError, plural
from tidelog.program.syntax import Value
from tidelog.text.change_notation import Changes, begins_another, change_text, read_rule
from tidelog.text.fact_rows import signature

if TYPE_CHECKING:
    from tidelog.changes.apply import Applied
    from tidelog.session.database import Database
    from tidelog.session.relation_views import Answer

FILE = "<input>"
_COMMAND = re.compile(r"\s*:[a-z]")  # a rule may continue with `:- …` on the next line
EXAMPLE = "write `+edge(1, 2).`, `-edge(1, 2).`, `commit.`, or `?edge(1, x).` to query"
SHOWN = 100  # lines of a delta or an answer at a terminal

COMMANDS = {
    ":relations": "relations with their columns and sizes",
    ":rules": 'rules with their names, for -rule "name".',
    ":pending": "changes since the last commit.",
    ":rollback": "discard the pending changes",
    ":history": "updates so far",
    ":undo": "undo the last update, by an update that reverses it",
    ":stats": "what the last update did in each stratum",
    ":algorithm": "show the maintenance algorithm, or choose one by name",
    ":why": "explain why a fact holds",
    ":why-not": "explain why a fact does not hold, and what would repair it",
    ":help": "show this help",
    ":quit": "leave",
}
NOTATION = """\
+edge(1, 2).                            insert a fact
-edge(2, 3).                            delete a fact
+path(x, z) :- path(x, y), edge(y, z).  add a rule
-path(x, y) :- edge(x, y).              remove a rule; or by name: -rule "NAME".
commit.                                 apply the changes, and show the delta
?path(1, x), x > 2.                     query what is committed"""


@dataclass(frozen=True, slots=True)
class UndoableUpdate:
    """An update that was committed, and the changes that would undo it."""

    number: int
    by: str
    changes: int
    done: Applied
    inverse: list[FactChange | RuleChange]


class Session:
    """Takes a line at a time. Errors are printed, and the session continues."""

    def __init__(self, database: Database, shown: int | None = None) -> None:
        self.pending = PendingUpdate(database)
        self.failed = False
        self._shown = shown
        self._changes = Changes(FILE, self.pending.relations, EXAMPLE)
        self._query: str | None = None
        self._past: list[UndoableUpdate] = []
        self._undoable: list[UndoableUpdate] = []

    @property
    def database(self) -> Database:
        return self.pending.database

    @property
    def open(self) -> bool:
        """Does the last line continue on the next?"""
        return self._asking or self._changes.open

    @property
    def _asking(self) -> bool:
        return self._query is not None

    def take(self, line: str) -> bool:
        """Run a line; False if it ends the session."""
        try:
            if self.open and (_COMMAND.match(line) or begins_another(line, self._begun)):
                self._fail(self._incomplete())
            if self._changes.open or not (self._asking or line.lstrip().startswith((":", "?"))):
                self._change(line)
                return True
            self._changes.feed("\n")  # it counts lines
            if not self._asking and line.lstrip().startswith(":"):
                return self._command(*line.split())
            self._ask(line)
        except TidelogError as error:
            self._fail(error)
        finally:
            flush_stdout()
        return True

    def end(self) -> None:
        """Called at the end of the text: an incomplete change is an error."""
        try:
            if self._query is not None:
                self.database.query(self._query)
            self._changes.end()
            self._changes.next()
        except TidelogError as error:
            self._fail(error)

    @property
    def _begun(self) -> str:
        """The lines so far of what is open."""
        return self._changes.unread if self._query is None else self._query

    def _incomplete(self) -> TidelogError:
        if self._asking:
            return TidelogError("error: the query before this line is not complete")
        advice = "write `commit.`" if self._begun.strip() == "commit" else "end it with `.`"
        return TidelogError(f"error: the change before this line is not complete\n    {advice}")

    def _fail(self, error: TidelogError) -> None:
        self.failed = True
        self.drop()
        say(fault(str(error)))

    def drop(self) -> None:
        """Discard an incomplete change or query; complete changes stay pending."""
        self._changes.drop()
        self._query = None

    # Changes.

    def _change(self, line: str) -> None:
        self._changes.feed(f"{line}\n")
        while (change := self._changes.next()) is not None:
            self._take(change, self._changes.sources)

    def _take(self, change: Change, sources: Sources) -> None:
        if isinstance(change, Commit):
            self._commit("commit")
        else:
            self.pending.change(change, sources)

    def _commit(self, by: str) -> None:
        rules = self.database.rules
        facts = self._facts_back()
        changes = len(self.pending.changes)
        lost = f"{plural(changes, 'change')} rolled back"
        try:
            done = self.pending.commit()
        except KeyboardInterrupt:
            raise Interrupted(lost) from None
        except TidelogError as error:
            raise TidelogError(f"{fault(str(error))}\n    note: {lost}") from None
        inverse = [*facts, *self._rules_back(rules)]
        past = UndoableUpdate(len(self._past) + 1, by, changes, done, inverse)
        self._past.append(past)
        if by == "commit":
            self._undoable.append(past)
        self._show(map(change_text, done.delta), len(done.delta), "more changes")
        out("// {} inserted, {} deleted".format(*(plural(n, "fact") for n in _counted(done))))

    def _facts_back(self) -> list[FactChange | RuleChange]:
        """Changes that undo those of explicit facts in the pending update."""
        last = {(c.relation, c.row): c for c in self.pending.changes if isinstance(c, FactChange)}
        relations, engine = self.pending.relations(), self.database.core.store
        return [
            FactChange("-" if change.op == "+" else "+", change.relation, change.row)
            for change in last.values()
            if engine.is_explicit(relations[change.relation], change.row) != (change.op == "+")
        ]

    def _rules_back(self, before: dict[str, str]) -> list[RuleChange]:
        after = self.database.rules
        removed = [text for name, text in before.items() if name not in after]
        added = [name for name in after if name not in before]
        return [RuleChange("-", name) for name in added] + [
            RuleChange("+", read_rule(text, FILE)) for text in removed
        ]

    # Queries.

    def _ask(self, line: str) -> None:
        text = f"{self._query}\n{line}" if self._asking else line.lstrip().removeprefix("?")
        query = text.rstrip().removesuffix(".")
        if query == text.rstrip() and not is_complete(query):
            self._query = text
            return
        self._query = None
        if not query.strip():
            raise TidelogError("error: the query is empty\n    write it as ?path(1, x), x > 2.")
        show_answer(self.database.query(query), self._shown)

    def _show(self, lines: Iterable[str], count: int, what: str) -> None:
        show(lines, count, what, self._shown)

    # Commands.

    def _command(self, name: str, *words: str) -> bool:
        full = [name] if name in COMMANDS else [c for c in COMMANDS if c.startswith(name)]
        if name == ":" or len(full) != 1:
            raise TidelogError(f"error: unknown command {name}\n    :help lists them")
        if words and full[0] not in (":algorithm", ":why", ":why-not"):
            raise TidelogError(f"error: {full[0]} takes no argument")
        if full[0] == ":quit":
            return False
        actions: dict[str, Callable[..., None]] = {
            ":relations": self._relations,
            ":rules": self._rules,
            ":pending": self._list_pending,
            ":rollback": self._rollback,
            ":history": self._history,
            ":undo": self._undo,
            ":stats": self._stats,
            ":algorithm": self._algorithm,
            ":why": self._why,
            ":why-not": self._why_not,
            ":help": _help,
        }
        actions[full[0]](*words)
        return True

    def _relations(self) -> None:
        schema = self.database.schema
        rows = [(signature(schema[name]), self.database.size(name)) for name in schema]
        self._list(table(("relation", "facts"), rows))

    def _rules(self) -> None:
        self._list(table(("name", "rule"), list(self.database.rules.items())))

    def _list_pending(self) -> None:
        self._list(map(change_text, self.pending.changes))

    def _rollback(self) -> None:
        out(f"// {plural(len(self.pending.changes), 'change')} discarded")
        self.pending.rollback()

    def _history(self) -> None:
        rows = [(past.number, past.by, past.changes, *_counted(past.done)) for past in self._past]
        self._list(table(("update", "by", "changes", "inserted", "deleted"), rows))

    def _undo(self) -> None:
        if self.pending.changes:
            raise TidelogError("error: changes are pending\n    commit. them, or :rollback first")
        if not self._undoable:
            raise TidelogError("error: nothing to undo")
        past = self._undoable.pop()
        try:
            for change in past.inverse:
                self._take(change, {})
            self._commit(f"undo of {past.number}")
        except BaseException:
            self.pending.rollback()
            self._undoable.append(past)
            raise

    def _stats(self) -> None:
        if not self._past:
            raise TidelogError("error: no update has been committed yet")
        report = self._past[-1].done.report
        out(report.table())
        out(legend(+report.numbers))
        for work in report.works:
            if work.why:
                out(f"// {', '.join(work.relations[:3])}: {work.algorithm}, {work.why}")

    def _algorithm(self, name: str | None = None, *more: str) -> None:
        from tidelog.transaction.transaction import check_algorithm

        if name is not None:
            check_algorithm(" ".join((name, *more)))
            self.pending.algorithm = name
        out(self.pending.algorithm or self.database.core.options.algorithm)

    def _why(self, *words: str) -> None:
        self._explain(str(self.database.why(_one_fact(":why", words))))

    def _why_not(self, *words: str) -> None:
        self._explain(str(self.database.why_not(_one_fact(":why-not", words))))

    def _explain(self, text: str) -> None:
        lines = text.splitlines()
        self._show(lines, len(lines), "more lines")

    def _list(self, lines: Iterable[str]) -> None:
        for line in lines:
            out(line)


def _one_fact(command: str, words: Sequence[str]) -> str:
    if not words:
        raise TidelogError(f"error: {command} needs a fact\n    write {command} path(1, 4)")
    return " ".join(words)


def show_answer(answer: Answer, most: int | None = None) -> None:
    """Print the answer to a query."""
    if not answer.columns:
        out("true" if answer else "false")
        return
    show(table(answer.columns, answer), len(answer) + 1, "more rows", most)
    out(f"// {plural(len(answer), 'row')}")


def show(lines: Iterable[str], count: int, what: str, most: int | None) -> None:
    """Print lines, not more than `most` of them."""
    for number, line in enumerate(lines):
        if number == most:
            out(f"// … {count - number:,} {what}")
            return
        out(line)


def _help() -> None:
    out(NOTATION)
    for name, about in COMMANDS.items():
        out(f"{name:<40}{about}")


def _counted(done: Applied) -> tuple[int, int]:
    """How many facts were inserted and deleted."""
    counts = done.delta.counts.values()
    return sum(inserted for inserted, _ in counts), sum(deleted for _, deleted in counts)


def table(columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> Iterable[str]:
    """Lines of a table: numbers to the right, text to the left, and nothing unprintable.

    >>> print("\\n".join(table(("x", "name"), [(1, "a"), (10, "b")])))
     x  name
     1  a
    10  b
    >>> print("\\n".join(table(("x", "way"), [(1, None), (10, ("b", (2, None)))])))
     x  way
     1  nil
    10  [b, [2, nil]]
    """
    cells = [[_cell(value) for value in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [bool(rows) and isinstance(value, int | float) for value in (rows or [columns])[0]]
    for line in cells:
        parts = zip(line, widths, right, strict=True)
        yield "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in parts).rstrip()


def _cell(value: Value) -> str:
    text = answer_text(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode()
