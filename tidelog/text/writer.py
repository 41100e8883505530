"""Programs, rules and values as text in Soufflé's notation, so that they parse back.

A node is taken apart into pieces, text and smaller nodes, on a stack: depth costs
memory and never a stack overflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

from tidelog.program import rules
from tidelog.program.syntax import (
    UNDER,
    Aggregate,
    And,
    Atom,
    Attribute,
    BranchDecl,
    Call,
    Cast,
    Clause,
    Comparison,
    Constant,
    Directive,
    Fact,
    Formula,
    FunctorDecl,
    Kind,
    Not,
    Or,
    Program,
    RelationDecl,
    Term,
    Truth,
    TypeDecl,
    Value,
    Variable,
    Wildcard,
)
from tidelog.program.terms import NIL, RECORD, Branch, constructor_of, written
from tidelog.text.lexer import ESCAPES
from tidelog.text.operator_table import AND, BINARY, COMPARE, NOT, OR, POWER, RESERVED, TESTS, UNARY

Node = (
    Term
    | Formula
    | Clause
    | Fact
    | Attribute
    | RelationDecl
    | TypeDecl
    | Directive
    | FunctorDecl
    | Program
    | rules.BodyLiteral
    | rules.Rule
    | rules.Relation
    | rules.Stratum
    | rules.CheckedProgram
)

_Piece = str | tuple[Node, int]  # a node with the rank that its surroundings ask for

_ESCAPED = str.maketrans({char: f"\\{code}" for code, char in ESCAPES.items() if code != "'"})


def to_text(node: Node) -> str:
    """Any node of `program.syntax` or `program.rules` as it would be written.

    >>> to_text(Call("*", (Call("+", (Variable("x"), Constant(1))), Constant(2))))
    '(x + 1) * 2'
    """
    if type(node) is Clause and (plain := _plain(node)):
        return plain
    text: list[str] = []
    pieces: list[_Piece] = [(node, 0)]
    while pieces:
        piece = pieces.pop()
        if isinstance(piece, str):
            text.append(piece)
        else:
            pieces += reversed(_pieces(*piece))
    return "".join(text)


def value_text(value: Value, kind: Kind | None = None) -> str:
    """A value as a literal of its kind.

    >>> value_text(3, "unsigned"), value_text(0.5, "float"), value_text('say "hi"', "symbol")
    ('3u', '0.5', '"say \\\\"hi\\\\""')
    """
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPED)}"'
    if value is None or isinstance(value, tuple | Branch):
        return written(kind, value, lambda of, part: value_text(part, of))
    if isinstance(value, float) or kind == "float":
        return _float_text(float(value))
    return f"{value}u" if kind == "unsigned" else str(value)


def _float_text(value: float) -> str:
    """Digits around a point, since Soufflé reads no exponent. NaN and infinity have no literal."""
    if not math.isfinite(value):
        return f'to_float("{value}")'
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def _pieces(node: Node, rank: int) -> list[_Piece]:
    """The parts of a node, in order."""
    match node:
        case Variable():
            return [node.name]
        case Wildcard():
            return ["_"]
        case Constant():
            text = value_text(node.value, node.kind)
            # `-1 ^ x` would be read as -(1 ^ x).
            return [f"({text})" if text.startswith("-") and rank > POWER else text]
        case Call():
            return _call(node, rank)
        case Cast():
            return ["as(", (node.term, 0), f", {node.type_name})"]
        case Aggregate():
            target: list[_Piece] = [" ", (node.target, 0)] if node.target is not None else []
            return [node.op, *target, " : { ", (node.body, 0), " }"]
        case Atom() | rules.Literal():
            negated = "!" if isinstance(node, rules.Literal) and node.negated else ""
            if _SIMPLE.issuperset(map(type, node.terms)):
                return [f"{negated}{node.relation}({', '.join(map(_simple, node.terms))})"]
            return [f"{negated}{node.relation}(", *_list(node.terms), ")"]
        case Comparison() | rules.Constraint():
            if node.op.removeprefix("!") in TESTS:
                return [f"{node.op}(", (node.left, 0), ", ", (node.right, 0), ")"]
            return [(node.left, COMPARE), f" {node.op} ", (node.right, COMPARE)]
        case Truth():
            return ["true" if node.value else "false"]
        case Not():
            return ["!", (node.part, NOT)]
        case And() | Or():
            return _connected(node, rank)
        case Clause() if node.heads[0].relation.startswith(UNDER):
            return _subsumption(node)
        case Clause():
            return [*_list(node.heads), *_body(node), "."]
        case Fact():
            values = ", ".join([value_text(value) for value in node.values])
            return [f"{node.relation}({values})."]
        case rules.Range():
            step: list[_Piece] = [", ", (node.step, 0)] if node.step is not None else []
            ends: list[_Piece] = [(node.start, 0), ", ", (node.stop, 0)]
            return [(node.variable, 0), " = range(", *ends, *step, ")"]
        case rules.Group():
            value: list[_Piece] = [" ", (node.value, 0)] if node.value is not None else []
            inside: list[_Piece] = [f"{node.relation}(", *_list(node.terms), ")"]
            return [(node.result, 0), f" = {node.op}", *value, " : { ", *inside, " }"]
        case rules.Rule():
            body: list[_Piece] = [" :- ", *_list(node.body)] if node.body else []
            return [(node.head, 0), *body, "."]
        case rules.Stratum():
            return [*_list(node.rules, "\n")]
        case rules.CheckedProgram():
            return _checked(node)
        case Program():
            return _program(node)
        case _:
            return [_declaration(node)]


_SIMPLE = frozenset({Variable, Wildcard, Constant})


def _simple(term: Term) -> str:
    """The text of a variable or literal, as most terms are."""
    if type(term) is Variable:
        return term.name
    return value_text(term.value, term.kind) if type(term) is Constant else "_"


def _plain(clause: Clause) -> str:
    """The text of a clause of atoms with simple terms, as most clauses are; nothing for others."""
    body = clause.body
    if type(body) is not And or len(clause.heads) > 1 or clause.heads[0].relation.startswith(UNDER):
        return ""
    atoms = []
    for part in (clause.heads[0], *body.parts):
        if type(part) is not Atom or not _SIMPLE.issuperset(map(type, part.terms)):
            return ""
        atoms.append(f"{part.relation}({', '.join(map(_simple, part.terms))})")
    head, *rest = atoms
    return f"{head} :- {', '.join(rest)}." if rest else f"{head}."


def _call(node: Call, rank: int) -> list[_Piece]:
    if node.functor.startswith(RECORD):
        return ["[", *_list(node.args), "]"]
    if node.functor[0] == "$":
        fields: list[_Piece] = ["(", *_list(node.args), ")"] if node.args else []
        return [f"${constructor_of(node.functor)}", *fields]
    if node.functor == NIL:
        return [NIL]
    if len(node.args) == 1 and node.functor in ("-", "bnot", "lnot"):
        (operand,) = node.args
        space = "" if node.functor == "-" else " "
        # `-(1)` is a minus before a literal, `-1` a literal.
        literal = node.functor == "-" and isinstance(operand, Constant)
        inside: list[_Piece] = ["(", (operand, 0), ")"] if literal else [(operand, UNARY)]
        return _parenthesised([node.functor + space, *inside], rank > UNARY)
    own = BINARY.get(node.functor)
    if own is None or len(node.args) != 2:
        return [f"{node.functor}(", *_list(node.args), ")"]
    left, right = (own + 1, own) if own == POWER else (own, own + 1)
    pieces: list[_Piece] = [(node.args[0], left), f" {node.functor} ", (node.args[1], right)]
    return _parenthesised(pieces, own < rank)


def _connected(node: And | Or, rank: int) -> list[_Piece]:
    own, sign = (AND, ", ") if isinstance(node, And) else (OR, "; ")
    if not node.parts:
        return ["true" if isinstance(node, And) else "false"]
    if len(node.parts) == 1:
        return [(node.parts[0], rank)]
    # A part of the same sort keeps its parentheses, so that the same tree is read back.
    return _parenthesised(_list(node.parts, sign, own + 1), own < rank)


def _parenthesised(pieces: list[_Piece], needed: bool) -> list[_Piece]:
    return ["(", *pieces, ")"] if needed else pieces


def _list(nodes: Iterable[Node], sign: str = ", ", rank: int = 0) -> list[_Piece]:
    pieces: list[_Piece] = []
    for node in nodes:
        if pieces:
            pieces.append(sign)
        pieces.append((node, rank))
    return pieces


def _body(clause: Clause) -> list[_Piece]:
    if clause.body == And(()) and len(clause.heads) == 1:
        return []
    return [" :- ", (clause.body, 0)]


def _subsumption(clause: Clause) -> list[_Piece]:
    assert isinstance(clause.body, And)
    first, second, *rest = clause.body.parts
    return [(first, 0), " <= ", (second, 0), " :- ", *_list(rest, rank=AND + 1), "."]


def _declaration(
    node: Attribute | RelationDecl | TypeDecl | Directive | FunctorDecl | rules.Relation,
) -> str:
    match node:
        case Attribute():
            return f"{node.name}: {node.type_name}"
        case RelationDecl():
            columns = [f"{a.name}: {a.type_name}" for a in node.attributes]
        case TypeDecl(form="record", branches=(branch,)):
            return f".type {node.name} = [{_fields(branch)}]"
        case TypeDecl(form="algebraic"):
            shown = " | ".join(f"{b.name} {{{_fields(b)}}}" for b in node.branches)
            return f".type {node.name} = {shown}"
        case TypeDecl():
            sign = "<:" if node.form == "subtype" else "="
            return f".type {node.name} {sign} {' | '.join(node.of)}"
        case FunctorDecl():
            takes = ", ".join(f"x{i}: {name}" for i, name in enumerate(node.parameters))
            stateful = " stateful" if node.stateful else ""
            return f".functor {node.name}({takes}): {node.result}{stateful}"
        case Directive():
            pairs = [f"{key}={_parameter_text(value)}" for key, value in node.parameters]
            return f".{node.action} {node.relation}" + (f"({', '.join(pairs)})" if pairs else "")
        case rules.Relation():
            columns = [f"{a}: {k}" for a, k in zip(node.attributes, node.kinds, strict=True)]
    words = "".join(f" {word}" for word in sorted(node.qualifiers))
    if isinstance(node, RelationDecl) and node.choices:
        domains = (n[0] if len(n) == 1 else f"({', '.join(n)})" for n in node.choices)
        words += f" choice-domain {', '.join(domains)}"
    return f".decl {node.name}({', '.join(columns)}){words}"


def _fields(branch: BranchDecl) -> str:
    return ", ".join(f"{field.name}: {field.type_name}" for field in branch.fields)


def _parameter_text(value: str) -> str:
    plain = value.isidentifier() and value.isascii() and value not in RESERVED - {"true", "false"}
    return value if plain else value_text(value)


def _program(node: Program) -> list[_Piece]:
    pragmas = [f".pragma {value_text(key)} {value_text(value)}" for key, value in node.pragmas]
    head = "".join(f"{line}\n" for line in pragmas)
    pieces: list[_Piece] = [head]
    parts = (
        *(node.types, node.functors, node.relations, node.directives),
        *(node.facts, node.clauses, node.subsumptions),
    )
    for part in parts:
        for line in part:
            pieces += [(line, 0), "\n"]
    return pieces


def _checked(node: rules.CheckedProgram) -> list[_Piece]:
    lines: list[_Piece] = []
    for relation in node.relations.values():
        lines += [(relation, 0), "\n"]
    for directive in node.directives:
        lines += [(directive, 0), "\n"]
    for name, rows in node.facts.items():
        kinds = node.relations[name].kinds if name in node.relations else ()
        for row in rows:
            values = [
                value_text(value, kinds[i] if i < len(kinds) else None)
                for i, value in enumerate(row)
            ]
            lines.append(f"{name}({', '.join(values)}).\n")
    for rule in node.rules:
        lines += [(rule, 0), "\n"]
    return lines
