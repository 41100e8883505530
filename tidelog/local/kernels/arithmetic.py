"""Expressions and comparisons over 64-bit words, by kind."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tidelog.local.kernels.layout import (
    C_EQ,
    C_GE,
    C_GT,
    C_LT,
    C_NE,
    CONVERSION,
    DIVISION,
    DONE,
    E_LABELS,
    E_NLABELS,
    KIND_FLOAT,
    KIND_NUMBER,
    KIND_UNSIGNED,
    POWER,
)
from tidelog.local.kernels.pointers import as_float, as_word, i64
from tidelog.local.kernels.words import decode

# Postfix codes: PUSH_* take one operand from the code, the others work on the stack.
PUSH_REG = 0
PUSH_WORD = 1
ADD = 2
SUB = 3
MUL = 4
DIV = 5
MOD = 6
POW = 7
NEG = 8
BAND = 9
BOR = 10
BXOR = 11
BNOT = 12
BSHL = 13
BSHR = 14
BSHRU = 15
LAND = 16
LOR = 17
LXOR = 18
LNOT = 19
MIN = 20
MAX = 21
TO_FLOAT = 22
TO_NUMBER = 23
TO_UNSIGNED = 24
AS_FLOAT = 26  # 64 bits read as a float
STEP = 25  # of a range without one: 1, or -1 where it falls

LOWEST = np.int64(-0x8000000000000000)


@njit
def is_nan(word):
    value = as_float(word)
    return value != value


@njit
def less(env, kind, a, b):
    if kind == KIND_NUMBER:
        return a < b
    if kind == KIND_UNSIGNED:
        return np.uint64(a) < np.uint64(b)
    if kind == KIND_FLOAT:
        x, y = as_float(a), as_float(b)
        return x < y or (y != y and x == x)  # NaN is greater than all other floats
    # A number cast to a symbol may be that of none: such words come first, in their order.
    count = env[E_NLABELS]
    if not (0 <= a < count and 0 <= b < count):
        return (not 0 <= a < count) and (0 <= b < count or a < b)
    labels = i64(env[E_LABELS])
    return labels[a] < labels[b]


@njit
def compare(env, op, kind, a, b):
    if op == C_EQ:
        return a == b  # floats too: there is one zero and one NaN, as in facts
    if op == C_NE:
        return a != b
    if op == C_LT:
        return less(env, kind, a, b)
    if op == C_GE:
        return not less(env, kind, a, b)
    if op == C_GT:
        return less(env, kind, b, a)
    return not less(env, kind, b, a)


@njit
def float_word(value):
    """The word of a float; one zero and one NaN, so that equal values have equal words."""
    if value == 0.0:
        return np.int64(0)
    if value != value:
        return as_word(math.nan)
    return as_word(value)


@njit
def divide(kind, a, b):
    """Division that truncates towards zero, as in C; b is not 0."""
    if kind == KIND_UNSIGNED:
        return np.int64(np.uint64(a) // np.uint64(b))
    if b == -1:
        return -a  # the lowest number has no positive twin: it wraps to itself
    q = a // b
    if q < 0 and q * b != a:
        q += 1
    return q


@njit
def power(a, b):
    """a to the power of b, which is read as unsigned; wraps."""
    result = np.int64(1)
    left = np.uint64(b)
    while left != np.uint64(0):
        if left & np.uint64(1):
            result *= a
        a *= a
        left >>= np.uint64(1)
    return result


@njit
def fits_integer(kind, value):
    """Does the float, cut to a whole number, fit into 64 bits?"""
    if kind == KIND_UNSIGNED:
        return -1.0 < value < 18446744073709551616.0
    return -9223372036854775808.0 <= value < 9223372036854775808.0


@njit
def to_integer(kind, value):
    """A float cut to a whole number."""
    if kind == KIND_UNSIGNED and value >= 9223372036854775808.0:
        return np.int64(value - 9223372036854775808.0) + LOWEST
    return np.int64(value)


@njit
def binary_float(op, a, b):
    x, y = as_float(a), as_float(b)
    if op == ADD:
        return float_word(x + y)
    if op == SUB:
        return float_word(x - y)
    if op == MUL:
        return float_word(x * y)
    if op == DIV:
        return float_word(np.divide(x, y))
    return float_word(x**y)


@njit
def evaluate(env, code, at, size, reg, stack):
    """Run code[at:at+2*size] (pairs of op and operand); results from stack[0] on."""
    top = -1
    for i in range(at, at + 2 * size, 2):
        op = code[i] & 255
        kind = code[i] >> 8
        if op == PUSH_REG:
            top += 1
            stack[top] = decode(env, reg[code[i + 1]])
        elif op == PUSH_WORD:
            top += 1
            stack[top] = code[i + 1]
        elif op == NEG:
            if kind == KIND_FLOAT:
                stack[top] = float_word(-as_float(stack[top]))
            else:
                stack[top] = -stack[top]
        elif op == BNOT:
            stack[top] = ~stack[top]
        elif op == LNOT:
            stack[top] = np.int64(stack[top] == 0)
        elif op == AS_FLOAT:
            stack[top] = float_word(as_float(stack[top]))
        elif op == TO_FLOAT:
            if kind == KIND_UNSIGNED:
                stack[top] = float_word(np.float64(np.uint64(stack[top])))
            else:
                stack[top] = float_word(np.float64(stack[top]))
        elif op == TO_NUMBER or op == TO_UNSIGNED:
            into = KIND_NUMBER if op == TO_NUMBER else KIND_UNSIGNED
            if not fits_integer(into, as_float(stack[top])):
                return CONVERSION
            stack[top] = to_integer(into, as_float(stack[top]))
        else:
            top -= 1
            a = stack[top]
            b = stack[top + 1]
            if op == STEP:
                sign = -1 if less(env, kind, b, a) else 1
                stack[top] = float_word(np.float64(sign)) if kind == KIND_FLOAT else sign
            elif op == MIN:
                stack[top] = b if less(env, kind, b, a) else a
            elif op == MAX:
                stack[top] = b if less(env, kind, a, b) else a
            elif kind == KIND_FLOAT:
                stack[top] = binary_float(op, a, b)
            elif op == ADD:
                stack[top] = a + b
            elif op == SUB:
                stack[top] = a - b
            elif op == MUL:
                stack[top] = a * b
            elif op == DIV or op == MOD:
                if b == 0:
                    return DIVISION
                q = divide(kind, a, b)
                stack[top] = q if op == DIV else a - q * b
            elif op == POW:
                if b >= 0 or kind == KIND_UNSIGNED:
                    stack[top] = power(a, b)
                elif a == 0:
                    return POWER
                elif a == 1:
                    stack[top] = 1
                elif a == -1:
                    stack[top] = 1 if b & 1 == 0 else -1
                else:
                    stack[top] = 0
            elif op == BAND:
                stack[top] = a & b
            elif op == BOR:
                stack[top] = a | b
            elif op == BXOR:
                stack[top] = a ^ b
            elif op == BSHL:
                stack[top] = a << (b & 63)
            elif op == BSHR and kind == KIND_NUMBER:
                stack[top] = a >> (b & 63)
            elif op == BSHR or op == BSHRU:
                stack[top] = np.int64(np.uint64(a) >> np.uint64(b & 63))
            elif op == LAND:
                stack[top] = np.int64(a != 0 and b != 0)
            elif op == LOR:
                stack[top] = np.int64(a != 0 or b != 0)
            else:
                stack[top] = np.int64((a != 0) != (b != 0))
    return DONE
