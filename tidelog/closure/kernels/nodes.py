"""Ids and their numbers: nodes are numbered in the order in which they come.

The table is open-addressing; a slot holds a node's number plus one, 0 is empty. Ids never
leave it: a node without edges keeps its number until everything is built anew.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare

_C1 = np.uint64(0x9E3779B97F4A7C15)
_C2 = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


@njit
def pack(a, b):
    return (np.uint64(a) << _32) | np.uint64(b)


@njit
def upper(way):
    return np.int64(way >> _32)


@njit
def lower(way):
    return np.int64(way & LOW)


@njit
def find(ids, table, size, name):
    """The slot of an id, or the empty slot where it would go."""
    h = np.uint64(name) * _C1
    h = (h ^ (h >> _32)) * _C2
    slot = np.int64(((h >> _32) * np.uint64(size)) >> _32)
    while table[slot] != 0 and ids[table[slot] - 1] != name:
        slot += 1
        if slot == size:
            slot = 0
    return slot


@njit
def entered(ids, table, size, room, count, name):
    """The number of an id, a new one if it has none, or -1 if there is no room; and the count of
    nodes."""
    slot = find(ids, table, size, name)
    if table[slot] == 0:
        if count == room:
            return np.int64(-1), count
        ids[count] = name
        count += 1
        table[slot] = count
    return np.int64(table[slot]) - 1, count


@njit(cache=True)
def number_of(ids, table, name):
    """The number of an id, or -1."""
    return np.int64(table[find(bare(ids), bare(table), len(table), name)]) - 1


@njit(cache=True)
def rehash(ids, count, table):
    """Enter all nodes into an empty table."""
    known, slots = bare(ids), bare(table)
    for x in range(count):
        slots[find(known, slots, len(table), known[x])] = x + 1
