"""A conversation with a database: lines in, deltas and answers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.cli.terminal import Interrupted, fault, flush_stdout, out, say
from tidelog.cli.updates import Done, Updates
from tidelog.io.terms import answer_text
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import Sources, TidelogError
from tidelog.program.syntax import Value
from tidelog.text.changes import Changes, change_text, read_rule
from tidelog.text.rows import signature

if TYPE_CHECKING:
    from tidelog.api import Database
    from tidelog.reading import Answer

FILE = "<input>"
SHOWN = 100  # lines of a delta or an answer at a terminal

COMMANDS = {
    ":relations": "relations, their columns and how many facts they have",
    ":rules": 'rules, by the names that -rule "name". knows',
    ":pending": "changes that wait for commit.",
    ":rollback": "forget them",
    ":history": "updates so far",
    ":undo": "take the last update back, by an update that does the opposite",
    ":stats": "what the last update did, by stratum",
    ":algorithm": "the maintenance algorithm; with a name, choose it",
    ":help": "this",
    ":quit": "leave",
}
NOTATION = """\
+edge(1, 2).                            a fact arrives
-edge(2, 3).                            a fact goes
+path(x, z) :- path(x, y), edge(y, z).  a rule arrives
-path(x, y) :- edge(x, y).              a rule goes; or by its name: -rule "path.3fa2c1".
commit.                                 they take effect, and what follows is shown
?path(1, x), x > 2.                     a question about what is committed"""


@dataclass(frozen=True, slots=True)
class Past:
    """An update that was committed, and what would take it back."""

    done: Done
    what: str
    inverse: list[FactChange | RuleChange]


class Session:
    """Takes a line at a time. Errors are told, and the session goes on."""

    def __init__(self, database: Database, shown: int | None = None) -> None:
        self.updates = Updates(database)
        self.failed = False
        self._shown = shown
        self._changes = Changes(FILE, self.updates.relations)
        self._pending: list[FactChange | RuleChange] = []
        self._question: str | None = None
        self._past: list[Past] = []
        self._undoable: list[Past] = []

    @property
    def database(self) -> Database:
        return self.updates.database

    @property
    def open(self) -> bool:
        """Does the last line go on in the next?"""
        return self._asking or self._changes.open

    @property
    def _asking(self) -> bool:
        return self._question is not None

    def take(self, line: str) -> bool:
        """Do what a line says; False if it says to leave."""
        try:
            if self._changes.open or not (self._asking or line.lstrip().startswith((":", "?"))):
                self._change(line)
                return True
            self._changes.feed("\n")  # it counts lines
            if not self._asking and line.lstrip().startswith(":"):
                return self._command(*line.split())
            self._ask(line)
        except TidelogError as error:
            self.failed = True
            self.drop()
            say(fault(str(error)))
        finally:
            flush_stdout()
        return True

    def drop(self) -> None:
        """Forget what was begun in the last lines; changes that were complete still wait."""
        self._changes.drop()
        self._question = None

    # Changes.

    def _change(self, line: str) -> None:
        self._changes.feed(f"{line}\n")
        while (change := self._changes.next()) is not None:
            self._take(change, self._changes.sources)

    def _take(self, change: Change, sources: Sources) -> None:
        if isinstance(change, Commit):
            self._commit("commit")
        else:
            self.updates.change(change, sources)
            self._pending.append(change)

    def _commit(self, what: str) -> None:
        rules = self.database.rules
        facts = self._facts_back()
        lost = f"{counted(len(self._pending))} rolled back"
        self._pending = []
        try:
            done = self.updates.commit()
        except KeyboardInterrupt:
            raise Interrupted(lost) from None
        except TidelogError as error:
            raise TidelogError(f"{fault(str(error))}\n    note: {lost}") from None
        inverse = [*facts, *self._rules_back(rules)]
        past = Past(done, what, inverse)
        self._past.append(past)
        if what == "commit":
            self._undoable.append(past)
        self._show(map(change_text, done.delta), len(done.delta), "more changes")
        out("// {} came, {} went".format(*map(_facts, _counted(done))))

    def _facts_back(self) -> list[FactChange | RuleChange]:
        """What takes back the facts that the update under way makes explicit, or no more."""
        last = {(c.relation, c.row): c for c in self._pending if isinstance(c, FactChange)}
        relations, engine = self.updates.relations(), self.database._engine
        return [
            FactChange("-" if change.op == "+" else "+", change.relation, change.row)
            for change in last.values()
            if engine.is_explicit(relations[change.relation], change.row) != (change.op == "+")
        ]

    def _rules_back(self, before: dict[str, str]) -> list[RuleChange]:
        after = self.database.rules
        gone = [text for name, text in before.items() if name not in after]
        come = [name for name in after if name not in before]
        return [RuleChange("-", name) for name in come] + [
            RuleChange("+", read_rule(text, FILE)) for text in gone
        ]

    # Questions.

    def _ask(self, line: str) -> None:
        text = f"{self._question}\n{line}" if self._asking else line.lstrip().removeprefix("?")
        if not text.rstrip().endswith("."):
            self._question = text
            return
        self._question = None
        question = text.rstrip().removesuffix(".")
        if not question.strip():
            raise TidelogError("error: the question is empty\n    write it as ?path(1, x), x > 2.")
        show_answer(self.database.query(question), self._shown)

    def _show(self, lines: Iterable[str], count: int, what: str) -> None:
        show(lines, count, what, self._shown)

    # Commands.

    def _command(self, name: str, *words: str) -> bool:
        full = [each for each in COMMANDS if each.startswith(name)]
        if name == ":" or len(full) != 1:
            raise TidelogError(f"error: there is no command {name}\n    :help lists them")
        if words and full[0] != ":algorithm":
            raise TidelogError(f"error: {full[0]} stands alone")
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
        self._list(map(change_text, self._pending))

    def _rollback(self) -> None:
        self.updates.rollback()
        out(f"// {counted(len(self._pending))} forgotten")
        self._pending.clear()

    def _history(self) -> None:
        rows = []
        for past in self._past:
            rows.append((past.done.number, past.what, past.done.changes, *_counted(past.done)))
        self._list(table(("update", "by", "changes", "came", "went"), rows))

    def _undo(self) -> None:
        if self._pending:
            raise TidelogError("error: changes wait\n    commit. them, or :rollback first")
        if not self._undoable:
            raise TidelogError("error: there is no update to take back")
        past = self._undoable.pop()
        try:
            for change in past.inverse:
                self._take(change, {})
            self._commit(f"undo of {past.done.number}")
        except BaseException:
            self.updates.rollback()
            self._pending.clear()
            self._undoable.append(past)
            raise

    def _stats(self) -> None:
        if not self._past:
            raise TidelogError("error: there was no update yet")
        report = self._past[-1].done.report
        out(report.table())
        for work in report.works:
            if work.why:
                out(f"// {', '.join(work.relations[:3])}: {work.algorithm}, {work.why}")

    def _algorithm(self, name: str | None = None, *more: str) -> None:
        from tidelog.transactions import check_algorithm

        if name is not None:
            check_algorithm(" ".join((name, *more)))
            self.updates.algorithm = name
        out(self.updates.algorithm or self.database._algorithm)

    def _list(self, lines: Iterable[str]) -> None:
        for line in lines:
            out(line)


def show_answer(answer: Answer, most: int | None = None) -> None:
    """Print the answer to a question."""
    if not answer.columns:
        out("true" if answer else "false")
        return
    show(table(answer.columns, answer), len(answer) + 1, "more rows", most)
    out(f"// {len(answer):,} {'row' if len(answer) == 1 else 'rows'}")


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


def _counted(done: Done) -> tuple[int, int]:
    """How many facts came and went."""
    counts = done.delta.counts.values()
    return sum(came for came, _ in counts), sum(went for _, went in counts)


def _facts(count: int) -> str:
    return f"{count:,} fact" if count == 1 else f"{count:,} facts"


def counted(count: int) -> str:
    return f"{count:,} change" if count == 1 else f"{count:,} changes"


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
