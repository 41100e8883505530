"""Errors where a head, a body or a term cannot continue, and what to write instead."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.program.suggestions import closest
from tidelog.program.syntax import (
    And,
    Atom,
    Call,
    Comparison,
    Formula,
    Not,
    Or,
    Span,
    Term,
    Truth,
    Variable,
)
from tidelog.text.cursor import no_relation
from tidelog.text.lexer import DIRECTIVES, WRONG_SIGNS, Fault, SourceText, Token
from tidelog.text.operator_table import AGGREGATES, COMPARISONS, FUNCTORS, NOT, RESERVED, UNRESERVED
from tidelog.text.souffle_only import refused
from tidelog.text.subsumption_clauses import ADVICE as SUBSUMPTION
from tidelog.text.subsumption_clauses import Subsumption

MAX_DEPTH = 256  # levels of brackets and operators: later passes recurse over them

Node = Term | Formula | Subsumption

FORMULAS = (Atom, Comparison, Truth, Not, And, Or)
LITERALS = ("integer", "float", "address")

_TEXTBOOK = {  # words of other languages, in the place of an operator or before a condition
    "and": "`,`",
    "or": "`;`",
    "is": "`=`",
    "mod": "`%`",
    "div": "`/`",
    "if": "`:-`",
    "xor": "`lxor`",
    "in": "`=`, with `;` between the values",
}
_FOREIGN = frozenset({"if", "when", "where", "forall", "exists", "select", "let", "for"})


class OpenOperator(NamedTuple):
    """An operator or bracket that waits for what follows it.

    rank 0 marks brackets: `(`, `call`, a record's `[`, an aggregate's `target`, the list
    after `min (`, an aggregate's `{`, and `atom` under the call that is its body.
    """

    rank: int
    kind: str
    token: Token
    base: int = 0  # how many operands lie below
    depth: int = 0
    parentheses: int = 0


class Advice:
    """The position of the parser, and the faults that it can report there."""

    def __init__(self, source: SourceText, tokens: list[Token], index: int) -> None:
        self.source = source
        self.tokens = tokens
        self.index = self._first = index
        self._pending: list[OpenOperator] = []

    # An operand or an operator is missing.

    def _no_operand(self, token: Token) -> Fault:
        at, kind = self._at(token), token.kind
        before = self.tokens[self.index - 1] if self.index else None
        if self.index == self._first and before is not None and before.kind != ":-":
            before = None  # it belongs to a statement before
        if kind == "bad":
            return Fault("", at)
        if kind == "$":
            return refused("counter", at)
        if kind == "@":
            if self.tokens[self.index + 1].kind == "@":
                return refused("user aggregate", at)
            return Fault("expected a functor name and its arguments after `@`", at, "write `@f(x)`")
        if kind == "wrong":
            return self._wrong(token)
        if kind == "=" and before is not None and before.kind in COMPARISONS:
            return Fault("an operand is missing between two comparisons", at)
        if before is None:
            return self._no_statement(token)
        what = "a term" if self._inside_term() else "a condition"
        if before.kind == ":-" and kind == "{":
            return Fault("a body takes no braces", at, "remove `{` and `}`")
        if before.kind == ":-":
            return Fault(
                f"the body is empty: {self._shown(token)} follows `:-`",
                at,
                "write a condition after `:-`, or end the fact with `.` alone",
            )
        if before.text in AGGREGATES:
            target = "" if before.text == "count" else " x"
            advice = f"write `{before.text}{target} : {{ p(x) }}`"
        elif before.kind in (",", ";"):
            advice = f"remove the `{before.text}` or write {what} after it"
        else:
            advice = ""
        if kind == "end":
            at = self._at(before)
        return Fault(f"expected {what} after `{before.text}`, got {self._shown(token)}", at, advice)

    def _no_statement(self, token: Token) -> Fault:
        advice = {
            ":-": "write a head before it, as in `path(x, y) :- edge(x, y).`",
            ";": "a directive takes no sign at its end",
        }.get(token.kind, "")
        resume = self.index + 1 if token.kind == ";" else None
        if token.kind == "%":
            return self._comment(token)
        message = f"expected a statement, got {self._shown(token)}"
        return Fault(message, self._at(token), advice, resume)

    def _comment(self, token: Token, width: int = 1) -> Fault:
        """A comment in another language's spelling: go on after its line."""
        end = self.source.line_end(token.start)
        resume = next(
            i for i, t in enumerate(self.tokens) if t.start >= end or t is self.tokens[-1]
        )
        at = self.source.span(token.start, width)
        return Fault(f"unexpected `{token.text * width}`", at, "a comment starts with `//`", resume)

    def _no_operator(self, token: Token) -> Fault:
        at, text = self._at(token), token.text
        first = self.tokens[self._first]
        if first.kind == "-" and self.tokens[self._first + 1].kind == "-":
            return self._comment(first, 2)
        if token.kind == "bad":
            return Fault("", at)
        if token.kind == "wrong":
            return self._wrong(token)
        before = self.tokens[self.index - 1]
        if token.kind == "name" and before.text in DIRECTIVES and self.index == self._first + 1:
            word = before.text
            return Fault(
                f"`{word}` needs a dot before it", self._at(before), f"did you mean `.{word}`?"
            )
        if token.kind == "name" and text.lower() in _TEXTBOOK:
            return Fault(
                f"`{text}` is not an operator here", at, f"did you mean {_TEXTBOOK[text.lower()]}?"
            )
        if token.kind == "name" and before.kind == "name" and before.text.lower() in _FOREIGN:
            advice = "a rule is a head, `:-`, and conditions with `,` between them"
            return Fault(f"unexpected `{before.text}`", self._at(before), advice)
        end = before.start + len(before.text)
        opened = next((p for p in reversed(self._pending) if p.rank == 0), None)
        fresh = self.source.span(token.start).line > self.source.span(end - 1).line
        if opened is None and token.kind == "name" and fresh:
            return Fault(
                "a `.` is missing at the end of this clause",
                self.source.span(end - 1),
                "end the clause with `.`, or go on with `,`",
                self.index,
            )
        closing = {"call": ")", "list": ")", "(": ")", "{": "}", "[": "]"}.get(
            opened.kind if opened else "", "."
        )
        if token.kind == "name" and before.kind == "name" and not self._inside_term():
            advice = f"did you mean `{before.text}({text})`?"
            return Fault(f"`{before.text}` is followed by `{text}`", at, advice)
        starts = token.kind in ("name", "!", "(", "[", "$", "-", "string", *LITERALS)
        return Fault(
            f"expected `,` or `{closing}` after `{before.text}`, got {self._shown(token)}",
            at,
            "is a `,` missing before it?" if starts else "",
        )

    def _inside_term(self) -> bool:
        if not self._pending:
            return False
        top = self._pending[-1]
        return top.rank > NOT or top.kind in ("call", "target", "list", "[")

    # A bracket is open, a word means something else, a tree is too deep.

    def _unclosed(self, token: Token) -> Fault:
        """`token` comes too early for the innermost bracket."""
        opened = self._pending[-1]
        at, name = self._at(opened.token), opened.token.text
        if opened.token is self.tokens[self._first] and token.kind == ":-" and name in RESERVED:
            return no_relation(name, at)
        if opened.kind == "target":
            if name in FUNCTORS:
                return Fault(
                    f"`{name}` has one argument and no body",
                    at,
                    f"write `{name}(x, y)`, or the aggregate `{name} x : {{ p(x) }}`",
                )
            shown = name if name == "count" else f"{name} x"
            return Fault(f"`{name}` has no body", at, f"write `{shown} : {{ p(x) }}`")
        if opened.kind == "{":
            return Fault(
                f"the body of `{name}` is not closed before {self._shown(token)}",
                at,
                "close it with `}`",
            )
        if opened.kind == "[":
            message = f"a record is not closed before {self._shown(token)}"
            return Fault(message, at, "close it with `]`")
        shown = f"the `(` of `{name}`" if opened.kind == "call" else "a `(`"
        return Fault(f"{shown} is not closed before {self._shown(token)}", at, "close it with `)`")

    def _wrong(self, token: Token) -> Fault:
        return Fault(
            f"`{token.text}` is not an operator here",
            self._at(token),
            f"did you mean {WRONG_SIGNS[token.text]}?",
        )

    def _no_negation(self, token: Token) -> Fault:
        return Fault(f"`{token.text}` is not negation", self._at(token), "did you mean `!`?")

    def _too_deep(self, at: Span) -> Fault:
        return Fault(
            f"nested more than {MAX_DEPTH} levels deep", at, "split it over several clauses"
        )

    # A term in the place of a condition, or a condition in the place of a term.

    def _as_term(self, node: Node) -> Term:
        if isinstance(node, Subsumption):
            raise self._no_subsumption(node)
        if not isinstance(node, FORMULAS):
            return node
        if isinstance(node, Atom):
            close = closest(node.relation, FUNCTORS)
            raise Fault(
                f"unknown functor `{node.relation}`",
                node.at,
                f"did you mean `{close}`?"
                if close
                else "bind a variable by the relation in the body, and use the variable here",
            )
        if isinstance(node, Truth):
            word = "true" if node.value else "false"
            raise Fault(f"`{word}` is a condition, not a term", node.at, "use 1 and 0, or strings")
        raise Fault("expected a term, got a condition", node.at)

    def _no_subsumption(self, node: Subsumption) -> Fault:
        message = "`<=` between atoms must be the whole head"
        return Fault(message, node.at, SUBSUMPTION)

    def _as_formula(self, node: Node) -> Formula:
        if isinstance(node, FORMULAS):
            return node
        if isinstance(node, Subsumption):
            raise self._no_subsumption(node)
        if isinstance(node, Call) and node.functor in UNRESERVED:
            return Atom(node.functor, node.args, node.at)
        if isinstance(node, Variable):
            raise Fault(
                f"expected a condition, got the variable `{node.name}`",
                node.at,
                f"compare it, as in `{node.name} = 1`, or write the atom `{node.name}()`",
            )
        raise Fault("expected a condition, got a term", node.at, "compare it, as in `x + 1 = y`")

    def _at(self, token: Token) -> Span:
        return self.source.span(token.start, len(token.text) or 1)

    def _shown(self, token: Token) -> str:
        if token.kind != "end":
            return f"`{token.text}`"
        rest = self.source.text[token.start : token.start + 20].split()
        return f"`{rest[0]}`" if rest and rest[0][0] in ".#" else "the end of the file"
