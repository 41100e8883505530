"""The change notation: signed facts and rules, and `commit.` where an update ends.

    +edge(1, 2).
    -path(x, z) :- edge(x, y), edge(y, z).
    -rule "path.3fa2c1".
    commit.

Text is fed as it arrives, in whole lines, and a change comes out once its `.` is there. A
string ends on the line where it starts: one that is left open is found then and there, and
not when a pipe ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import overload

from tidelog.program.changes import Change, Commit, FactChange, Op, RuleChange
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError
from tidelog.program.rules import Relation
from tidelog.program.syntax import And, Atom, Clause, Fact, Span
from tidelog.text.cursor import Cursor
from tidelog.text.expressions import Expressions
from tidelog.text.fact_rows import fitting, row_of, unknown_relation
from tidelog.text.lexer import Fault, Lexer, SourceText, Token
from tidelog.text.literal_values import unescape
from tidelog.text.operator_table import AGGREGATES, FUNCTORS
from tidelog.text.statements import Statements, clause
from tidelog.text.writer import to_text, value_text

MAX_STATEMENT = 2**24  # characters
RULE_NAME = re.compile(r"(?:[A-Za-z_?][A-Za-z0-9_?]*\.)+[0-9a-f]+")

_SIGN = re.compile(r"[ \t\r\n]*+([+-])[ \t]*+(?=[A-Za-z_?])")
_ANOTHER = re.compile(
    r"\s*(?:commit\s*(?:\.|/[/*]|\Z)"
    r"|\?(?:[\s!(]|\Z|[\w?.]+\s*\()"
    r"|(?P<variable>\?)"
    r"|[+-]\s*(?:rule\s*\"|(?P<name>[A-Za-z_?][\w?.]*)\s*\())"
)
_OPERANDS = frozenset({"name", "integer", "float", "address", "string", ")", "]"})
_DIRECTIVE = re.compile(r"\.[a-z_]+|#[ \t]*include")
_EXAMPLE = "write `+edge(1, 2).`, `-edge(1, 2).` or `commit.`"

Relations = Callable[[], Mapping[str, Relation]]


class Changes:
    """Changes from text that arrives piece by piece; a syntax error is a ProgramError.

    `relations` returns the current relations: a rule may add one. `example` is shown where
    something else stands than a change.

    >>> edge = Relation("edge", ("x", "y"), ("number", "number"))
    >>> changes = Changes("<stdin>", lambda: {"edge": edge})
    >>> changes.feed("+edge(1, 2). -edge(2,\\n")
    >>> changes.next()
    FactChange(op='+', relation='edge', row=(1, 2))
    >>> changes.next() is None
    True
    >>> changes.feed("3).\\n")
    >>> changes.next()
    FactChange(op='-', relation='edge', row=(2, 3))
    """

    def __init__(self, file: str, relations: Relations, example: str = _EXAMPLE) -> None:
        self.file = file
        self._example = example
        self._relations = relations
        self._ended = False
        self._show("", 1, 0)

    def _show(self, text: str, first: int, position: int) -> None:
        """Make this text the one that is read, from its line `first` on."""
        self._found: list[Diagnostic] = []
        source = SourceText(self.file, text, first)
        self._cursor = Cursor(source, self._report, None, None)
        self._lexer = self._cursor.lexer
        self._lexer.position = position
        self.sources: Sources = {self.file: Excerpt(first, source.lines)}

    def _report(self, message: str, at: Span, advice: str) -> None:
        self._found.append(Diagnostic(message, at, advice))

    def feed(self, text: str) -> None:
        """Whole lines that follow those before, or the rest of the text."""
        source, position = self._cursor.source, self._lexer.position
        start = source.line_start(position)
        kept = source.text[start:]
        if len(kept) > MAX_STATEMENT:
            message = f"a change of more than {MAX_STATEMENT:,} characters"
            raise self._error(Fault(message, source.span(position), "is a `.` missing?"))
        self._show(kept + text, source.span(position).line, position - start)

    def end(self) -> None:
        """The text ends: an incomplete change is an error."""
        self._ended = True

    def drop(self) -> None:
        """Forget what was fed and not yet read."""
        source = self._cursor.source
        self._show("", source.span(len(source.text)).line, 0)

    @property
    def open(self) -> bool:
        """Does the beginning of a change, or of a comment, wait for its end?"""
        return bool(self.unread.strip())

    @property
    def unread(self) -> str:
        """What was fed and not yet read."""
        return self._cursor.source.text[self._lexer.position :]

    def next(self) -> Change | None:
        """The next change, or None if no complete one is left."""
        change = self._plain_fact()
        if change is not None:
            return change
        before = self._lexer.position
        tokens = self._lexer.statement()
        if len(tokens) == 1 and not self._found:
            return None
        try:
            if not self._is_whole(tokens):
                self._lexer.position = before
                self._found.clear()
                return None
            return self._change(tokens)
        except Fault as fault:
            raise self._error(self._missing_dot(tokens) or fault) from None

    def _error(self, fault: Fault) -> ProgramError:
        found = Diagnostic(fault.message, fault.at, fault.advice)
        return ProgramError(self._found[:1] or [found], self.sources)

    def _plain_fact(self) -> FactChange | None:
        """The short cut for nearly all changes."""
        lexer = self._lexer
        signed = _SIGN.match(lexer.source.text, lexer.position)
        if signed is None:
            return None
        before, lexer.position = lexer.position, signed.end()
        fact = lexer.fact()
        if fact is not None:
            name, values, at = fact
            relation = self._relations().get(name)
            row = fitting(values, relation.kinds) if relation is not None else None
            if row is not None:
                return FactChange(_op(signed[1]), name, row, at)
        lexer.position = before
        return None

    def _is_whole(self, tokens: list[Token]) -> bool:
        """Whether a statement is complete; a Fault if no continuation can make it one."""
        first, last, at = tokens[0], tokens[max(-2, -len(tokens))], self._cursor.at
        comment = last.kind == "bad" and last.text == "/*"
        if self._found and not (comment and len(self._found) == 1 and not self._ended):
            raise Fault("", at(first))
        for token in tokens:
            if token.kind == "string" and "\n" in token.text:
                at_quote = at(token)._replace(width=1)
                raise Fault("a string is not closed", at_quote, 'close it with `"`')
        if first.kind == "directive":
            raise _directive(first.text, at(first))
        signed = _DIRECTIVE.match(self._cursor.source.text, tokens[-1].start)
        if len(tokens) == 2 and signed is not None:
            raise _directive(signed[0], self._cursor.source.span(signed.start(), len(signed[0])))
        if first.kind not in ("+", "-", "bad") and first.text != "commit":
            advice = "did you mean `commit.`?" if first.text.lower() == "commit" else self._example
            raise Fault("a change starts with `+` or `-`", at(first), advice)
        if last.kind == "." or comment:
            return not comment
        cut_by_directive = tokens[-1].start < len(self._cursor.source.text)
        if self._ended or cut_by_directive:
            after = self._cursor.source.span(last.start + len(last.text) - 1)
            advice = "end it with `.`" if cut_by_directive else "end it with `.`; was it cut off?"
            raise Fault("the change is not complete", after, advice)
        return False

    def _change(self, tokens: list[Token]) -> Change:
        cursor = self._cursor
        cursor.tokens, cursor.index = tokens, 1
        first = tokens[0]
        if first.text == "commit":
            cursor.expect(".", "expected `.` after `commit`", "write `commit.`")
            return Commit(cursor.at(first))
        op = _op(first.kind)
        if tokens[1].text == "rule" and tokens[2].kind != "(":
            return self._named_rule(op)
        draft = Statements()
        clause(cursor, draft)
        if draft.clauses and draft.clauses[0].body != And(()):
            return RuleChange(op, draft.clauses[0], draft.clauses[0].at)
        atom = draft.clauses[0].heads[0] if draft.clauses else self._atom(tokens)
        relations = self._relations()
        relation = relations.get(atom.relation)
        if relation is None:
            raise unknown_relation(atom.relation, relations, atom.at)
        return FactChange(op, relation.name, row_of(atom, relation), atom.at)

    def _atom(self, tokens: list[Token]) -> Atom:
        """The head again, with the places of its arguments, which a fact does not keep."""
        reader = Expressions(self._cursor.source, tokens, 1)
        atom = reader.formula()
        assert isinstance(atom, Atom)
        return atom

    def _named_rule(self, op: Op) -> RuleChange:
        """`-rule "path.3fa2c1".`"""
        cursor = self._cursor
        word = cursor.expect("name", "expected `rule`")
        if op == "+":
            raise Fault("a rule is added by its text", cursor.at(word), "write `+head :- body.`")
        advice = 'write `-rule "path.3fa2c1".`'
        name = cursor.expect("string", "expected a rule name in quotes after `rule`", advice)
        cursor.expect(".", "expected `.` after the rule name", advice)
        text = unescape(name, cursor.source)
        if not RULE_NAME.fullmatch(text):
            message = "a rule's name is its relation, a dot and a number in hexadecimal"
            raise Fault(message, cursor.at(name), advice)
        return RuleChange(op, text, cursor.at(name))

    def _missing_dot(self, tokens: list[Token]) -> Fault | None:
        """What a change that cannot be read lacks if another one starts inside it."""
        source = self._cursor.source
        for i in range(2, len(tokens) - 2):
            sign, name, bracket = tokens[i : i + 3]
            if sign.kind in ("+", "-") and name.kind == "name" and bracket.kind == "(":
                last = tokens[i - 1].start + len(tokens[i - 1].text) - 1
                if "\n" in source.text[last : sign.start] and not self._found:
                    message = "a `.` is missing at the end of this change"
                    return Fault(message, source.span(last), "end it with `.`")
        return None


class Excerpt(Sequence[str]):
    """Lines of a longer text, numbered as there, from the line `first` on."""

    def __init__(self, first: int, lines: Sequence[str]) -> None:
        self._before = first - 1
        self._lines = lines

    def __len__(self) -> int:
        return self._before + len(self._lines)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return "" if index < self._before else self._lines[index - self._before]


def _op(sign: str) -> Op:
    return "+" if sign == "+" else "-"


def _directive(text: str, at: Span) -> Fault:
    advice = "write it into the program"
    if text == ".decl":
        advice = "declare it in the program; `+p(x) :- q(x).` declares its own relation"
    return Fault(f"expected a fact or a rule, got `{text}`", at, advice)


def begins_another(line: str, before: str) -> bool:
    """Does a line begin a change or a question, so that it cannot go on with the lines before?

    >>> begins_another("+q(3).", "+p(x) :- x > 1"), begins_another("-strlen(s).", "+p(x) :- x > 1")
    (True, False)
    >>> begins_another("?x > 1.", "+p(?x) :- q(?x)"), begins_another("?x > 1.", "+p(?x) :- q(?x),")
    (True, False)
    """
    found = _ANOTHER.match(line)
    if found is None or found["name"] in (*FUNCTORS, *AGGREGATES, "as"):
        return False
    tokens = Lexer(SourceText("", before), lambda *_: None).statement()[:-1]
    if any(token.kind == "bad" and token.text == "/*" for token in tokens):
        return False
    return not found["variable"] or (bool(tokens) and tokens[-1].kind in _OPERANDS)


def parsed_change(text: object, relations: Mapping[str, Relation]) -> FactChange:
    """The one change of a fact in a text, such as `+edge(1, 2)`; its `.` may be left out.

    >>> parsed_change("-edge(1, 2)", {"edge": Relation("edge", ("x", "y"), ("number", "number"))})
    FactChange(op='-', relation='edge', row=(1, 2))
    """
    if not isinstance(text, str):
        raise TidelogError(f"error: expected a change as text, such as +edge(1, 2), got {text!r}")
    changes = Changes("<change>", lambda: relations)
    changes.feed(f"{text.strip().removesuffix('.')}.\n")
    changes.end()
    found, more = changes.next(), changes.next()
    if not isinstance(found, FactChange) or more is not None:
        raise TidelogError("error: expected the change of one fact\n    write it as +edge(1, 2)")
    return found


def read_rule(text: str, file: str) -> Clause:
    """The one rule in a text; raises ProgramError if it is not exactly one."""
    source = SourceText(file, text)
    return rule_of(source, {file: source.lines})


def rule_of(source: SourceText, sources: Sources) -> Clause:
    """The same of a source; `sources` has the lines that messages show."""
    found: list[Diagnostic] = []
    cursor = Cursor(source, lambda *fault: found.append(Diagnostic(*fault)), None, None)
    draft = Statements()
    facts: list[Fact] = []  # the reader collects plain facts
    try:
        if cursor.at_end(facts) or facts or cursor.peek().kind == "directive":
            raise Fault("expected a rule", source.span(0), "such as `p(x) :- q(x).`")
        clause(cursor, draft)
        if not draft.clauses or draft.clauses[0].body == And(()):
            raise Fault("expected a rule, got a fact", source.span(0), "change it as a fact")
        if not cursor.at_end(facts) or facts:
            second = facts[0].at if facts else cursor.at(cursor.peek())
            raise Fault("a second statement", second, "one change, one rule")
    except Fault as fault:
        found = found or [Diagnostic(fault.message, fault.at, fault.advice)]
    if found:
        raise ProgramError(found[:1], sources)
    return draft.clauses[0]


def change_text(change: Change) -> str:
    """A change as it is written.

    >>> change_text(FactChange("+", "edge", (1, "a")))
    '+edge(1, "a").'
    >>> change_text(Commit())
    'commit.'
    """
    match change:
        case FactChange():
            values = ", ".join(map(value_text, change.row))
            return f"{change.op}{change.relation}({values})."
        case RuleChange(rule=str(text)) if ":-" in text:
            return f"{change.op}{text.strip().removesuffix('.')}."
        case RuleChange(rule=str(name)):
            return f'{change.op}rule "{name}".'
        case RuleChange(rule=Clause() as rule):
            return f"{change.op}{to_text(rule)}"
    return "commit."
