"""Heads, bodies and terms: one operator-precedence parser with an explicit stack.

Formulas and terms share one table of ranks, because `(` may open either and only
what follows tells which. What an operand is gets checked when it is used. Nothing
here calls itself, so depth costs memory and never a stack overflow.
"""

from __future__ import annotations

from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Comparison,
    Formula,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.program.terms import NIL, RECORD
from tidelog.text.advice import FORMULAS, LITERALS, MAX_DEPTH, Advice, Node, OpenOperator
from tidelog.text.cursor import no_relation
from tidelog.text.lexer import Fault, SourceText, Token
from tidelog.text.literal_values import number, string
from tidelog.text.operator_table import (
    AGGREGATES,
    AND,
    COMPARE,
    FUNCTORS,
    INFIX,
    NOT,
    OR,
    POWER,
    PREFIX,
    RESERVED,
    TESTS,
    UNRESERVED,
)
from tidelog.text.souffle_only import refused
from tidelog.text.subsumption_clauses import Subsumption

_REFUSED = {
    "__FILE__": "__FILE__",
    "__LINE__": "__LINE__",
    "__INCL__": "__INCL__",
    "__ITERATION__": "__ITERATION__",
}
_WORDS = RESERVED | UNRESERVED | _REFUSED.keys()


class Expressions(Advice):
    """Reads from `tokens[index]` to a token that ends a head or a body, and stops there."""

    def __init__(self, source: SourceText, tokens: list[Token], index: int) -> None:
        super().__init__(source, tokens, index)
        self._operands: list[tuple[Node, int]] = []

    def read(self) -> Node:
        """The head or body that stands here; `index` is then at `:-`, `.` or the end."""
        while True:
            self._operand()
            if self._operator():
                return self._operands.pop()[0]

    def formula(self) -> Formula:
        return self._as_formula(self.read())

    # Where an operand must come: prefixes and opening brackets first, then the operand.

    def _operand(self) -> None:
        tokens, pending = self.tokens, self._pending
        while True:
            token = tokens[self.index]
            kind, text = token.kind, token.text
            after = tokens[self.index + 1].kind if self.index + 1 < len(tokens) else "end"
            if kind == "name":
                if text in AGGREGATES:
                    self._open_aggregate(token, after)
                elif after == "(":
                    if text not in _WORDS and self._plain_atom(token):
                        return self._end_body_atom()
                    self._refuse_name(token)
                    self._push(0, "call", token, deeper=1)
                    self.index += 2
                    if tokens[self.index].kind == ")":
                        return self._close_call()
                else:
                    return self._put(self._name(token, after))
            elif kind in LITERALS:
                return self._put(number(token, self.source))
            elif kind == "string":
                return self._put(string(token, self.source))
            elif kind == "-" and after in LITERALS and not self._power_at(self.index + 2):
                self.index += 1
                return self._put(number(tokens[self.index], self.source, minus=token))
            elif kind in PREFIX:
                if kind == "!" and pending and pending[-1].rank > NOT:
                    raise Fault(
                        "`!` negates a condition, not a term",
                        self._at(token),
                        "use `lnot` for numbers",
                    )
                self._push(PREFIX[kind], "prefix", token, deeper=1)
                self.index += 1
            elif kind == "(":
                self._push(0, "(", token, wider=1)
                self.index += 1
            elif kind == "@" and after == "name" and self._at_call(self.index + 2):
                name = tokens[self.index + 1].text
                self._push(0, "call", Token("name", f"@{name}", token.start), deeper=1)
                self.index += 3
                if tokens[self.index].kind == ")":
                    return self._close_call()
            elif kind == "[":
                self._push(0, "[", token, deeper=1)
                self.index += 1
                if tokens[self.index].kind == "]":
                    return self._close_record(tokens[self.index])
            elif kind == "$" and after == "name":
                if self._branch(token, tokens[self.index + 1]):
                    return None
            elif kind == ":" and pending and pending[-1].kind == "target":
                self._close_target()
            else:
                raise self._no_operand(token)

    def _branch(self, sign: Token, name: Token) -> bool:
        """`$A` is complete, and True; `$A(` opens a list of fields as a call does."""
        whole = Token("name", f"${name.text}", sign.start)
        follows = self.tokens[self.index + 2] if self.index + 2 < len(self.tokens) else name
        if follows.kind != "(":
            self.index += 1
            self._put(Call(whole.text, (), self._at(whole)))
            return True
        self._push(0, "call", whole, deeper=1)
        self.index += 3
        if self.tokens[self.index].kind == ")":
            self._close_call()
            return True
        return False

    def _plain_atom(self, name: Token) -> bool:
        """Read an atom of variables and literals in one go, as most atoms are."""
        tokens, source, index = self.tokens, self.source, self.index + 2
        terms: list[Term] = []
        while True:
            token = tokens[index]
            kind, text, start = token
            if kind == "name":
                if text == "_":
                    terms.append(Wildcard(source.span(start)))
                elif text in _WORDS or "." in text:
                    return False
                else:
                    terms.append(Variable(text, source.span(start, len(text))))
            elif kind == "string":
                terms.append(string(token, source))
            elif kind in LITERALS:
                terms.append(number(token, source))
            else:
                return False
            after = tokens[index + 1].kind
            index += 2
            if after == ")":
                self.index = index
                self._build(Atom(name.text, tuple(terms), self._at(name)), 1)
                return True
            if after != ",":
                return False

    def _put(self, node: Node) -> None:
        self._operands.append((node, 1))
        self.index += 1

    def _power_at(self, index: int) -> bool:
        """`-2 ^ 2` is -(2 ^ 2), as in mathematics, so this minus is no part of the literal."""
        return index < len(self.tokens) and self.tokens[index].kind == "^"

    def _at_call(self, index: int) -> bool:
        return index < len(self.tokens) and self.tokens[index].kind == "("

    def _name(self, token: Token, after: str) -> Node:
        at, text = self._at(token), token.text
        if text == "_":
            return Wildcard(at)
        if text in ("true", "false"):
            return Truth(text == "true", at)
        if text == NIL:
            return Call(NIL, (), at)
        self._refuse_name(token)
        if after == "name" and text.lower() == "not":
            raise self._no_negation(token)
        if text in RESERVED:
            raise Fault(f"`{text}` is a functor and needs arguments", at, f"write `{text}(...)`")
        if "." in text and not self._names_type():
            message = f"`{text}` is a name in a component instance, not a variable"
            raise Fault(message, at, f"write `{text}(…)` if it is a relation")
        return Variable(text, at)

    def _names_type(self) -> bool:
        """Whether a type may stand here, as in `as(x, a.T)`."""
        return bool(self._pending) and self._pending[-1].token.text == "as"

    def _refuse_name(self, token: Token) -> None:
        construct = _REFUSED.get(token.text)
        if construct:
            raise refused(construct, self._at(token))

    def _open_aggregate(self, token: Token, after: str) -> None:
        self._push(0, "target", token, deeper=1)
        self.index += 1
        if after == "(":
            self._push(0, "list", self.tokens[self.index], wider=1)
            self.index += 1

    # Where an operator must come: closing brackets until one does.

    def _operator(self) -> bool:
        """Take operators and closing brackets; True at the end of the head or body."""
        while True:
            token = self.tokens[self.index]
            kind = token.kind
            rank = INFIX.get(kind)
            if rank is not None:
                self._reduce(rank + 1 if rank == POWER else rank)
                if rank == COMPARE:
                    self._refuse_left(token)
                self._push(rank, kind, token)
            elif kind == ",":
                self._reduce(NOT)
                if not self._argument_ends(token):
                    self._push(AND, kind, token)
            elif kind == ";":
                self._reduce(AND)
                self._push(OR, kind, token)
            elif kind == ":":
                self._close_target()
                return False
            elif kind == ")":
                self._close_parenthesis(token)
                continue
            elif kind == "}":
                self._close_brace(token)
                continue
            elif kind == "]":
                self._close_record(token)
                continue
            elif kind in (":-", ".", "end"):
                self._reduce(OR)
                if not self._pending:
                    return True
                raise self._unclosed(token)
            else:
                raise self._no_operator(token)
            self.index += 1
            return False

    def _push(self, rank: int, kind: str, token: Token, deeper: int = 0, wider: int = 0) -> None:
        """Let an operator or bracket wait; `deeper` in the tree, or `wider` by a parenthesis."""
        pending = self._pending
        if pending:
            _, _, _, _, depth, parentheses = pending[-1]
            deeper += depth
            wider += parentheses
            if deeper > MAX_DEPTH or wider > MAX_DEPTH:
                raise self._too_deep(self._at(token))
        pending.append(OpenOperator(rank, kind, token, len(self._operands), deeper, wider))

    def _argument_ends(self, token: Token) -> bool:
        if not self._pending:
            return False
        top = self._pending[-1]
        if top.kind == "target":
            raise self._unclosed(token)
        return top.kind in ("call", "list", "[")

    def _close_target(self) -> None:
        """`:` after an aggregate's target, or right after its name; then its body opens."""
        self._reduce(OR)
        token = self.tokens[self.index]
        if not self._pending or self._pending[-1].kind != "target":
            dash = self.tokens[self.index + 1].kind == "-"
            advice = "did you mean `:-`?" if dash or not self._pending else ""
            if self._pending and self._pending[-1].kind == "list":
                op = self._pending[-2].token.text
                advice = f"write `{op} x : {{ p(x) }}` without these parentheses"
            raise Fault("unexpected `:`", self._at(token), advice)
        opened = self._pending.pop()
        op, given = opened.token.text, len(self._operands) > opened.base
        if given and op == "count":
            raise Fault(
                "`count` takes no expression", self._at(opened.token), "write `count : { p(x) }`"
            )
        if not given and op != "count":
            raise Fault(
                f"`{op}` needs an expression",
                self._at(opened.token),
                f"write `{op} x : {{ p(x) }}`",
            )
        self.index += 1
        follows = self.tokens[self.index]
        if follows.kind == "{":
            self._pending.append(opened._replace(kind="{"))
            self.index += 1
        elif follows.kind == "name" and self.tokens[self.index + 1].kind == "(":
            if follows.text in RESERVED:
                raise no_relation(follows.text, self._at(follows))
            self._pending.append(opened._replace(kind="atom"))
        else:
            raise Fault(
                f"expected the body of `{op}` after `:`",
                self._at(follows),
                "write one atom, or conditions in `{` and `}`",
            )

    def _close_brace(self, token: Token) -> None:
        self._reduce(OR)
        if not self._pending:
            raise Fault("unexpected `}`", self._at(token), "no `{` is open")
        if self._pending[-1].kind != "{":
            raise self._unclosed(token)
        self.index += 1
        self._finish_aggregate(self._pending.pop())

    def _finish_aggregate(self, opened: OpenOperator) -> None:
        body, depth = self._operands.pop()
        target: Term | None = None
        if len(self._operands) > opened.base:
            node, below = self._operands.pop()
            target, depth = self._as_term(node), max(depth, below)
        formula = self._as_formula(body)
        at = self._at(opened.token)
        self._build(Aggregate(opened.token.text, target, formula, at), depth)

    def _close_parenthesis(self, token: Token) -> None:
        self._reduce(OR)
        if not self._pending:
            raise Fault("unexpected `)`", self._at(token), "no `(` is open")
        kind = self._pending[-1].kind
        if kind == "(":
            self._pending.pop()
            self.index += 1
        elif kind == "call":
            self._close_call()
        elif kind == "list":
            self._close_list()
        else:
            raise self._unclosed(token)

    def _close_record(self, token: Token) -> None:
        self._reduce(OR)
        if not self._pending:
            raise Fault("unexpected `]`", self._at(token), "no `[` is open")
        if self._pending[-1].kind != "[":
            raise self._unclosed(token)
        opened = self._pending.pop()
        self.index += 1
        inside = self._operands[opened.base :]
        del self._operands[opened.base :]
        terms = tuple([self._as_term(node) for node, _ in inside])
        depth = max((below for _, below in inside), default=0)
        self._build(Call(RECORD, terms, self._at(opened.token)), depth)

    def _close_list(self) -> None:
        """`min (…)`: a functor if it has several arguments, else the target of an aggregate."""
        opened = self._pending.pop()
        self.index += 1
        if len(self._operands) - opened.base == 1:
            return
        target = self._pending.pop()
        name = target.token.text
        if name not in FUNCTORS:
            raise Fault(
                f"`{name}` aggregates one expression over a body",
                self._at(target.token),
                f"write `{name} x : {{ p(x) }}`",
            )
        self._call(name, target.token, opened.base)

    def _close_call(self) -> None:
        opened = self._pending.pop()
        self.index += 1
        self._call(opened.token.text, opened.token, opened.base)
        self._end_body_atom()

    def _end_body_atom(self) -> None:
        """If the atom that was just read is an aggregate's body, the aggregate is complete."""
        if self._pending and self._pending[-1].kind == "atom":
            self._finish_aggregate(self._pending.pop())

    def _call(self, name: str, token: Token, base: int) -> None:
        inside = self._operands[base:]
        del self._operands[base:]
        depth = max((below for _, below in inside), default=0)
        if name.lower() == "not" and any(isinstance(node, FORMULAS) for node, _ in inside):
            raise self._no_negation(token)
        terms = tuple([self._as_term(node) for node, _ in inside])
        at = self._at(token)
        if name[0] in "@$":
            self._build(Call(name, terms, at), depth)
        elif name == "as":
            if len(terms) != 2 or not isinstance(terms[1], Variable):
                raise Fault("`as` takes a term and a type", at, "write `as(x, number)`")
            self._build(Cast(terms[0], terms[1].name, at), depth)
        elif name in TESTS:
            if len(terms) != 2:
                raise Fault(f"`{name}` takes 2 arguments, not {len(terms)}", at)
            self._build(Comparison(name, terms[0], terms[1], at), depth)
        elif name in FUNCTORS:
            signature = FUNCTORS[name]
            if signature.takes(len(terms)):
                self._build(Call(name, terms, at), depth)
            elif name in UNRESERVED:
                self._build(Atom(name, terms, at), depth)
            else:
                raise Fault(f"`{name}` takes {signature.arguments}, not {len(terms)}", at)
        elif name in RESERVED:
            raise no_relation(token.text, self._at(token))
        else:
            self._build(Atom(name, terms, at), depth)

    # Putting nodes together.

    def _reduce(self, rank: int) -> None:
        """Build every pending operator that binds at least as tightly as `rank`."""
        pending = self._pending
        while pending and pending[-1].rank >= rank:
            top = pending.pop()
            if top.kind == "prefix":
                self._build_prefix(top)
            elif top.rank <= AND:
                count = 2
                while pending and pending[-1].rank == top.rank:
                    pending.pop()
                    count += 1
                self._build_list(top, count)
            else:
                self._build_infix(top)

    def _build_prefix(self, op: OpenOperator) -> None:
        node, depth = self._operands.pop()
        at = self._at(op.token)
        if op.token.kind == "!":
            self._build(Not(self._as_formula(node), at), depth)
        else:
            self._build(Call(op.token.kind, (self._as_term(node),), at), depth)

    def _build_list(self, op: OpenOperator, count: int) -> None:
        inside = self._operands[-count:]
        del self._operands[-count:]
        parts = tuple([self._as_formula(node) for node, _ in inside])
        depth = max(below for _, below in inside)
        self._build((And if op.rank == AND else Or)(parts, parts[0].at), depth)

    def _build_infix(self, op: OpenOperator) -> None:
        (left, left_depth), (right, right_depth) = self._operands[-2:]
        del self._operands[-2:]
        at, depth = self._at(op.token), max(left_depth, right_depth)
        if op.rank == COMPARE:
            if op.kind == "<=" and isinstance(left, Atom) and isinstance(right, Atom):
                self._build(Subsumption(left, right, at), depth)
                return
            self._build(Comparison(op.kind, self._as_term(left), self._as_term(right), at), depth)
        else:
            self._build(Call(op.kind, (self._as_term(left), self._as_term(right)), at), depth)

    def _refuse_left(self, token: Token) -> None:
        """Refuse what cannot be left of a comparison, where something else is meant."""
        left, at = self._operands[-1][0], self._at(token)
        if isinstance(left, Comparison) and left.op not in TESTS:
            raise Fault("comparisons do not chain", at, "write `x < y, y < z`")
        following = self.source.text[token.start + 1 : token.start + 2]
        if isinstance(left, Atom) and token.kind == "<" and following == "-":
            raise Fault("`<-` is not an operator", at._replace(width=2), "did you mean `:-`?")

    def _build(self, node: Node, depth_below: int) -> None:
        if depth_below >= MAX_DEPTH:
            raise self._too_deep(node.at)
        self._operands.append((node, depth_below + 1))
