"""Aggregates in a recursion that compare with a variable of it, beside plain Python."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import pytest

import tidelog as tl

LEAST = {"number": -(1 << 63), "unsigned": 0}
TESTS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
Row = tuple[int, int]


@pytest.mark.parametrize("kind", ["number", "unsigned"])
@pytest.mark.parametrize("seed", range(12))
def test_several_comparisons(kind: str, seed: int) -> None:
    """Each is with r or -r and a constant; values lie near zero and near both ends."""
    some = random.Random(f"{kind} {seed}")

    def wrapped(value: int) -> int:
        return (value - LEAST[kind]) % (1 << 64) + LEAST[kind]

    def near() -> int:
        return wrapped(some.choice([0, 0, 0, LEAST[kind]]) + some.randrange(-4, 5))

    points = sorted({(near(), near()) for _ in range(some.randrange(7))})
    seeds = sorted({near() for _ in range(20)})
    comparisons: list[tuple[str, Callable[[Row, int], bool]]] = []
    for _ in range(some.randrange(1, 5)):
        column, op, sign, offset = (
            some.randrange(2),
            some.choice([*TESTS]),
            some.choice("+-"),
            near(),
        )
        minus = f"({wrapped(-offset)}{'u' * (kind == 'unsigned')})"
        plus = f"({offset}{'u' * (kind == 'unsigned')})"
        line = some.choice([f"r + {plus}", f"{plus} + r", f"r - {minus}"])
        if sign == "-":
            line = some.choice([f"{plus} - r", f"-r + {plus}", f"-(r - {plus})"])
        if kind == "unsigned" and line.startswith("-"):
            line = f"{plus} - r"
        x = "xy"[column]
        swapped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        text = some.choice([f"{x} {op} {line}", f"{line} {swapped} {x}"])

        def holds(
            row: Row, r: int, column: int = column, op: str = op, sign: str = sign, c: int = offset
        ) -> bool:
            return TESTS[op](row[column], wrapped((r if sign == "+" else -r) + c))

        comparisons.append((text, holds))

    body = ", ".join(["point(x, y)", *(text for text, _ in comparisons)])
    program = f"""
        .decl point(x: {kind}, y: {kind})
        .decl seed(r: {kind})
        .decl counted(r: {kind}, z: number)
        counted(r, -1) :- seed(r).
        counted(r, z) :- counted(r, -1), z = count : {{ {body} }}.
        .decl summed(r: {kind}, z: {kind})
        .decl most(r: {kind}, z: {kind})
        .decl keyed(g: {kind}, r: {kind}, z: number)
        keyed(g, r, -1) :- seed(g), seed(r).
        keyed(g, r, z) :- seed(g), keyed(g, r, -1), z = count : {{ {body}, x != g }}.
        summed(r, 7) :- seed(r).
        summed(r, z) :- summed(r, _), z = sum x : {{ {body} }}.
        most(r, 7) :- seed(r).
        most(r, z) :- most(r, _), z = max y : {{ {body} }}.
    """
    db = tl.Database(program, facts={"point": points, "seed": [(r,) for r in seeds]})
    some.shuffle(points)
    for change in ([], points[:2], points[2:3]):
        with db.transaction() as tx:
            tx.delete("point", change)
        points = [point for point in points if point not in change]
        found = {
            r: [row for row in points if all(holds(row, r) for _, holds in comparisons)]
            for r in seeds
        }
        assert set(db["counted"]) == {(r, -1) for r in seeds} | {
            (r, len(rows)) for r, rows in found.items()
        }, body
        assert set(db["keyed"]) == {(g, r, -1) for g in seeds for r in seeds} | {
            (g, r, sum(x != g for x, _ in rows)) for g in seeds for r, rows in found.items()
        }, body
        assert set(db["summed"]) == {(r, 7) for r in seeds} | {
            (r, wrapped(sum(x for x, _ in rows))) for r, rows in found.items()
        }, body
        assert set(db["most"]) == {(r, 7) for r in seeds} | {
            (r, max(y for _, y in rows)) for r, rows in found.items() if rows
        }, body
