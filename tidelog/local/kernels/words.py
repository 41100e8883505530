"""Values as 32-bit ids.

Every value is a 64-bit word: a number is its own word, an unsigned and a float are
their bits, a symbol is its place in the symbol table. A word of at most 31 bits is
its own id, shifted to be positive (0 is no id), so that arithmetic on everyday numbers meets no
dictionary; other words are numbered, and their ids have the top bit set. Equal words
have equal ids, whatever their kind: kinds are static and never meet.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.local.kernels.hashing import mix
from tidelog.local.kernels.layout import E_CAPWORDS, E_NWORDS, E_WHASH, E_WHSIZE, E_WORDS
from tidelog.local.kernels.pointers import i64, u32

BIAS = 1 << 30
LARGE = 1 << 31


@njit
def decode(env, id_):
    if id_ < LARGE:
        return id_ - BIAS
    return i64(env[E_WORDS])[id_ - LARGE]


@njit
def find_word(env, word):
    """The slot of a large word, or the empty slot where it would go."""
    slots = u32(env[E_WHASH])
    words = i64(env[E_WORDS])
    size = env[E_WHSIZE]
    slot = np.int64(mix(np.uint64(word)) & np.uint64(size - 1))
    while slots[slot] != 0 and words[np.int64(slots[slot]) - 1] != word:
        slot = (slot + 1) & (size - 1)
    return slot


@njit
def encode(env, word):
    """The id of a word, a new one if need be; -1 where the dictionary must grow first."""
    if -BIAS < word < BIAS:
        return word + BIAS
    slot = find_word(env, word)
    slots = u32(env[E_WHASH])
    if slots[slot] == 0:
        n = env[E_NWORDS]
        if n >= env[E_CAPWORDS]:
            return np.int64(-1)
        i64(env[E_WORDS])[n] = word
        slots[slot] = np.uint32(n + 1)
        env[E_NWORDS] = n + 1
    return LARGE + np.int64(slots[slot]) - 1


@njit(cache=True)
def encode_all(address, words, ids, first):
    """Ids of words[first:]; returns how far it came before the dictionary was full."""
    env = i64(address)
    for i in range(first, len(words)):
        id_ = encode(env, words[i])
        if id_ < 0:
            return i
        ids[i] = np.uint32(id_)
    return len(words)


@njit(cache=True)
def lookup_all(address, words, ids):
    """Ids of words that have one, else the id that no word has."""
    env = i64(address)
    for i in range(len(words)):
        word = words[i]
        if -BIAS < word < BIAS:
            ids[i] = np.uint32(word + BIAS)
        else:
            slot = find_word(env, word)
            number = u32(env[E_WHASH])[slot]
            ids[i] = np.uint32(LARGE + np.int64(number) - 1) if number else np.uint32(0xFFFFFFFF)


@njit(cache=True)
def decode_all(address, ids, words):
    env = i64(address)
    for i in range(len(ids)):
        words[i] = decode(env, np.int64(ids[i]))


@njit(cache=True)
def rehash_words(words, count, slots):
    mask = len(slots) - 1
    for i in range(count):
        slot = np.int64(mix(np.uint64(words[i])) & np.uint64(mask))
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = np.uint32(i + 1)
