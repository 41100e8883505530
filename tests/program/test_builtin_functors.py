"""Each functor of the registry is implemented by everything that computes, and none besides."""

from __future__ import annotations

import pytest

from tidelog.local import plan_steps, string_functors
from tidelog.oracle import values
from tidelog.program.builtin_functors import BUILTINS, CONVERSIONS, PARTIAL, TESTS
from tidelog.program.kind_masks import BITS, SYMBOL
from tidelog.spark import column_expressions
from tidelog.text.operator_table import BINARY, FUNCTORS, PREFIX

# `range` is a step of a plan, `autoinc` counts; both are made into something else before.
GENERATORS = {"range", "autoinc"}
ALL = BUILTINS.keys() - GENERATORS
KINDS = list(BITS)


def test_the_language_has_exactly_these() -> None:
    assert BINARY.keys() | PREFIX.keys() - {"!"} | FUNCTORS.keys() == BUILTINS.keys()


def test_the_local_engine_implements_exactly_these() -> None:
    kernel = {*plan_steps.ARITHMETIC, *plan_steps.UNARY, *plan_steps.SAME_WORD, *CONVERSIONS}
    python = string_functors.FUNCTORS.keys()
    assert python - TESTS.keys() | kernel == ALL
    assert TESTS.keys() <= python
    assert python & kernel - {"to_string"} == string_functors.ALSO_IN_KERNEL


@pytest.mark.parametrize("name", sorted(CONVERSIONS - {"to_string"}))
def test_the_kernel_converts(name: str) -> None:
    for kind, bit in BITS.items():
        if BUILTINS[name].signature.operands[0] & bit & ~SYMBOL:
            plan_steps._conversion(name, kind)  # an assertion fails where it does not


def test_spark_implements_exactly_these() -> None:
    python = string_functors.FUNCTORS.keys() - TESTS.keys()
    columns = {
        *column_expressions.INTEGERS,
        *column_expressions.STRINGS,
        *CONVERSIONS,
        "/",
        "%",
        "^",
        "ord",
    }
    assert columns | python == ALL


def test_the_oracle_implements_exactly_these() -> None:
    named = {"min", "max", *CONVERSIONS, "ord"}
    assert {*values.INTEGER, *values.STRING, *values.MATH} | named == ALL
    assert TESTS.keys() <= values.TESTS.keys()
    assert values.CAN_FAIL == PARTIAL
