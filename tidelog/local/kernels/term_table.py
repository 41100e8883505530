"""Records and branches as numbers: equal ones are the same one.

A term is a run of 32-bit cells: the number of the way in which it is made, then the ids of
its fields. Number 0 is nil, which has none. A hash table finds a term by its cells, so that
each is there once; nothing is ever taken away.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.local.kernels.hashing import mix
from tidelog.local.kernels.layout import (
    A_BIND,
    A_CHECK,
    A_CONST,
    A_REG,
    E_CAPCELLS,
    E_CAPTERMS,
    E_CELLS,
    E_NTERMS,
    E_STARTS,
    E_THASH,
    E_THSIZE,
)
from tidelog.local.kernels.pointers import i64, u32
from tidelog.local.kernels.words import BIAS


@njit
def term_slot(env, way, count, ids):
    """The slot of a term in the hash table, or the empty one where it would go."""
    slots = u32(env[E_THASH])
    starts = i64(env[E_STARTS])
    cells = u32(env[E_CELLS])
    last = env[E_THSIZE] - 1
    h = mix(np.uint64(way))
    for i in range(count):
        h = mix(h ^ np.uint64(ids[i]))
    slot = np.int64(h & np.uint64(last))
    while slots[slot] != 0:
        number = np.int64(slots[slot])
        at = starts[number]
        if np.int64(cells[at]) == way:
            same = True
            for i in range(count):
                if np.int64(cells[at + 1 + i]) != ids[i]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & last
    return slot


@njit
def make(env, way, count, ids):
    """The number of a term, a new one if need be; -1 where the tables must grow first."""
    slot = term_slot(env, way, count, ids)
    slots = u32(env[E_THASH])
    if slots[slot] == 0:
        number = env[E_NTERMS]
        starts = i64(env[E_STARTS])
        at = starts[number]
        if number >= env[E_CAPTERMS] or at + count + 1 > env[E_CAPCELLS]:
            return np.int64(-1)
        cells = u32(env[E_CELLS])
        cells[at] = np.uint32(way)
        for i in range(count):
            cells[at + 1 + i] = np.uint32(ids[i])
        starts[number + 1] = at + count + 1
        slots[slot] = np.uint32(number)
        env[E_NTERMS] = number + 1
    return np.int64(slots[slot])


@njit
def made_of(env, way, args, at, count, reg, stack):
    """The term whose fields are in registers or fixed; -1 where the tables must grow first."""
    for i in range(count):
        what = args[at + 2 * i + 1]
        stack[i] = reg[what] if args[at + 2 * i] == A_REG else what
    return make(env, way, count, stack)


@njit
def taken_apart(env, id_, way, args, at, count, reg):
    """Bind and compare the fields of a term; False if it is made in another way, or they differ."""
    number = id_ - BIAS
    if number <= 0:  # nil
        return False
    cells = u32(env[E_CELLS])
    first = i64(env[E_STARTS])[number]
    if np.int64(cells[first]) != way:
        return False
    for i in range(count):
        how = args[at + 2 * i]
        what = args[at + 2 * i + 1]
        value = np.int64(cells[first + 1 + i])
        if how == A_BIND:
            reg[what] = value
        elif (how == A_CHECK and reg[what] != value) or (how == A_CONST and what != value):
            return False
    return True


@njit(cache=True)
def make_all(address, way, rows, numbers, first):
    """Numbers of the terms with these fields; returns how far it came before tables were full."""
    env = i64(address)
    ids = np.empty(rows.shape[1], dtype=np.int64)
    for r in range(first, len(rows)):
        for i in range(len(ids)):
            ids[i] = rows[r, i]
        number = make(env, way, len(ids), ids)
        if number < 0:
            return r
        numbers[r] = number
    return len(rows)


@njit(cache=True)
def find_one(address, way, ids):
    """The number of a term that is there, else 0."""
    env = i64(address)
    return np.int64(u32(env[E_THASH])[term_slot(env, way, len(ids), ids)])


@njit(cache=True)
def rehash_terms(cells, starts, count, slots):
    last = np.uint64(len(slots) - 1)
    for number in range(1, count):
        at = starts[number]
        h = mix(np.uint64(cells[at]))
        for i in range(at + 1, starts[number + 1]):
            h = mix(h ^ np.uint64(cells[i]))
        slot = np.int64(h & last)
        while slots[slot] != 0:
            slot = (slot + 1) & np.int64(last)
        slots[slot] = np.uint32(number)
