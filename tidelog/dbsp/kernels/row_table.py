"""Rows in open-addressing tables: a slot holds a number and one, 0 is empty."""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.jit.prefetch import prefetch

SEED = _C1 = np.uint64(0x9E3779B97F4A7C15)
_C2 = np.uint64(0xD6E8FEB86659FD93)
BLOCK = 64  # rows whose places are asked for ahead
HEAVIEST = np.int64(1) << np.int64(62)  # the sum of two weights below it does not wrap around

_31, _32, _33 = np.uint64(31), np.uint64(32), np.uint64(33)


@njit
def mix(h, word):
    return (((h << _31) | (h >> _33)) ^ np.uint64(word)) * _C1


@njit
def place(h, size):
    """A slot for a hash; the size need be no power of two."""
    h = (h ^ (h >> _32)) * _C2
    return np.int64(((h >> _32) * np.uint64(size)) >> _32)


@njit
def hash_row(rows, i, width):
    h = SEED
    for c in range(width):
        h = mix(h, rows[i, c])
    return h


@njit
def hash_key(rows, i, columns):
    h = SEED
    for c in columns:
        h = mix(h, rows[i, c])
    return h


@njit
def same_row(a, i, b, j, width):
    for c in range(width):  # noqa: SIM110 (kernels have no `all`)
        if a[i, c] != b[j, c]:
            return False
    return True


@njit
def same_key(rows, i, j, columns):
    for c in columns:  # noqa: SIM110
        if rows[i, c] != rows[j, c]:
            return False
    return True


@njit
def seek(cells, slots, rows, i, width, homes):
    """Where rows i to i + BLOCK should be, into `homes`. Those places are asked for now, so that
    waiting for one of them is waiting for all."""
    count = min(BLOCK, len(rows) - i)
    for k in range(count):
        homes[k] = place(hash_row(rows, i + k, width), len(slots))
    _ask(cells, slots, homes, count)


@njit
def seek_some(cells, slots, rows, which, width, homes):
    """The same for some rows, BLOCK at most."""
    for k in range(len(which)):
        homes[k] = place(hash_row(rows, which[k], width), len(slots))
    _ask(cells, slots, homes, len(which))


@njit
def seek_keys(cells, slots, i, stop, columns, homes):
    """The same for keys of cells i to i + BLOCK, the last of which is before `stop`."""
    count = min(BLOCK, stop - i)
    for k in range(count):
        homes[k] = place(hash_key(cells, i + k, columns), len(slots))
    _ask(cells, slots, homes, count)


@njit
def _ask(cells, slots, homes, count):
    table, places, line = slots.ctypes.data, cells.ctypes.data, 8 * cells.shape[1]
    for k in range(count):
        prefetch(table + 4 * homes[k])
    for k in range(count):
        first = slots[homes[k]]
        if first != 0:
            prefetch(places + line * (first - 1))


@njit
def ask_next(cells, slots, homes, count):
    """Ask for the second cells of rows whose first ones have been asked for."""
    places, line = cells.ctypes.data, 8 * cells.shape[1]
    link = cells.shape[1] - 1
    for k in range(count):
        first = slots[homes[k]]
        if first != 0 and cells[first - 1, link] != 0:
            prefetch(places + line * (cells[first - 1, link] - 1))


@njit
def find_row(cells, slots, rows, i, width):
    """The slot of a row's first cell, or the empty slot where it would go."""
    return find_from(cells, slots, rows, i, width, place(hash_row(rows, i, width), len(slots)))


@njit
def find_from(cells, slots, rows, i, width, slot):
    """The same, from the slot on where it should be."""
    size = len(slots)
    while slots[slot] != 0 and not same_row(cells, slots[slot] - 1, rows, i, width):
        slot += 1
        if slot == size:
            slot = 0
    return slot
