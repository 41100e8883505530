"""Ids and their numbers: nodes are numbered in the order in which they come.

The table is open-addressing; a slot holds a node's number plus one, 0 is empty. Ids never
leave it: a node without edges keeps its number until everything is built anew.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.pointers import bare

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


@njit(cache=True)
def number_ids(ids, table, count, wanted, first, numbers):
    """The numbers of wanted[first:], new ones for ids that have none.

    Returns how far it came, less than all where there is no room, and the count of nodes.
    """
    known, slots = bare(ids), bare(table)
    for i in range(first, len(wanted)):
        slot = find(known, slots, len(table), wanted[i])
        if table[slot] == 0:
            if count == len(ids):
                return i, count
            ids[count] = wanted[i]
            count += 1
            table[slot] = count
        numbers[i] = table[slot] - 1
    return len(wanted), count


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


@njit(cache=True)
def pack_known(ids, table, wanted, ways):
    """The pairs of ids that both have a number; returns how many there are."""
    known, slots, size = bare(ids), bare(table), len(table)
    kept = 0
    for i in range(len(wanted) // 2):
        a = np.int64(slots[find(known, slots, size, wanted[2 * i])])
        b = np.int64(slots[find(known, slots, size, wanted[2 * i + 1])])
        if a != 0 and b != 0:
            ways[kept] = pack(a - 1, b - 1)
            kept += 1
    return kept
