"""Backward/Forward for one fact after the other (Motik et al. 2015, Algorithms 1 to 3).

Chaining back is depth first, over an explicit stack. The instances of a fact are collected some at
a time, and those come first whose facts are known to hold; then explicit ones; then old ones.
Every evaluation is one of the join kernel's with few facts as its delta, which costs less than a
microsecond here and a hundred times as much from Python.

A fact is proved by an instance whose facts are all known to hold. Saturation finds such instances
for facts that were checked in vain; so it waits until there are some.

Sets are bits of the rows' masks, and lists beside them say which rows have these bits. The search
can stop anywhere, for a list to grow or for Python to look at the clock, and go on.

# C checked   K known to hold: proved in C, delayed outside   V proved and saturated with
# S disproved   O processed of S   N in the queue
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.local.kernels.hashing import find_row, key_of, note_fresh
from tidelog.local.kernels.join import run
from tidelog.local.kernels.layout import (
    A_REG,
    DONE,
    E_GUARD,
    E_GUARD_PLAIN,
    E_PLAIN,
    E_VIEWS,
    FOUND,
    P_ARGS,
    P_NKEY,
    P_REL,
    P_WIDTH,
    PAUSE,
    R_AGE,
    R_ARITY,
    R_DHI,
    R_DLIST,
    R_DLO,
    R_MASK,
    R_ODD,
    R_OUT,
    R_OUTN,
    R_ROWS,
    R_WIDTH,
    ROLES,
    T_ENTERING,
    T_STEP,
    T_WHAT,
    T_WIDTH,
)
from tidelog.local.kernels.pointers import i32, i64, u16, u32

GROW_LISTS = 22
NOTHING = 20
PREPARE = 21  # plans for facts of one more relation are needed

# What a search evaluates, each with its plans and views.
BACK = 0
FORWARD = 1
LOSS = 2
DIRECT = 3  # by rules without recursion
READINGS = 4
IDLE = 4

# One row per reading.
Q_STEPS = 0
Q_ARGS = 1
Q_STARTS = 2
Q_COUNTS = 3
Q_REGISTERS = 4
Q_PLACES = 5
Q_ENDS = 6
Q_STACK = 7
Q_VIEWS = 8  # address of what E_VIEWS, E_PLAIN, E_GUARD and E_GUARD_PLAIN are
Q_GROUPS = 9  # address of the first plan and the number of plans, by relation
Q_WIDTH = 10

# The state of a search.
S_PHASE = 0  # the reading under way, or IDLE
S_R = 1  # the relation of the facts that it is for, which are in TOUCHED
S_VAIN = 2  # 1: facts that have instances were checked in vain, and are not settled yet
S_RAN = 3  # 1: what it has found is not taken over yet
S_SEES = 4  # the reading whose views are set
S_WORK = 5  # left before Python looks at the clock
S_ROOT = 6  # facts met and not settled yet begin here
S_LOST = 7  # facts disproved and not propagated yet begin here
S_QUEUE = 8  # facts not checked yet begin here
S_SEEN = 9  # instances, by the search for instances under way
S_NEED = 10  # entries for which a list must have room, or the relation that needs plans
S_COUNTER = 11  # column of `rels` with counters that prove a fact, or 0
S_BODY = 12  # facts of an instance, at most
B_C = 13  # the sets' bits
B_K = 14
B_V = 15
B_S = 16
B_O = 17
B_N = 18
B_NOW = 19  # the facts that are touched
B_FOUND = 20
B_E = 21
S_READY = 22  # address of 1 for each relation whose facts have plans
S_ASKED = 23  # facts of the queue begin here that were not asked for rules without recursion
S_LISTS = 24  # address, capacity and length of each list

# Lists of pairs (relation, row), and two of longer entries.
QUEUE = 0
MET = 1
KNOWN = 2
LOST = 3
PENDING = 4  # proved and not in V yet
STACK = 5
INSTANCES = 6  # of the facts on the stack that have not been tried
TOUCHED = 7  # rows, of 32 bits
LISTS = 8
S_WIDTH = S_LISTS + 3 * LISTS

# An entry of the stack.
F_R = 0
F_ROW = 1
F_SKIP = 2  # instances collected before
F_BASE = 3  # where its instances begin
F_DONE = 4
F_WIDTH = 5
NEW = 0
ASKED = 1  # whether a rule without recursion derives it
THROUGH = 2  # all instances are collected

SOME = 4  # instances that are collected at first (docs/decisions/024-proofs-fact-by-fact.md)
MANY = 32  # instances, after which one that is not older than its fact is tried as well
UNPROVED = 1 << 60  # the rank of a fact that is being checked, or was checked in vain


@njit
def has_room(s, which, more):
    at = S_LISTS + 3 * which
    return s[at + 2] + more <= s[at + 1]


@njit
def push(s, which, r, row):
    at = S_LISTS + 3 * which
    n = s[at + 2]
    entries = i64(s[at])
    entries[2 * n] = r
    entries[2 * n + 1] = row
    s[at + 2] = n + 1


@njit
def plans_for(readings, which, r):
    """The first plan and the number of plans of a reading for facts of a relation."""
    groups = i64(i64(readings + 8 * Q_WIDTH * which)[Q_GROUPS])
    return groups[2 * r], groups[2 * r + 1]


@njit
def touch(rels, s, r, row):
    """One more fact for which the next reading is evaluated; there must be room for it."""
    at = S_LISTS + 3 * TOUCHED
    u32(s[at])[s[at + 2]] = np.uint32(row)
    s[at + 2] += 1
    u16(rels[r * R_WIDTH + R_MASK])[row] |= np.uint16(s[B_NOW])


@njit
def begin(rels, env, readings, s, state, which, r):
    """Evaluate the reading for the facts that are touched, from the next step on."""
    if s[S_SEES] != which:
        views = i64(i64(readings + 8 * Q_WIDTH * which)[Q_VIEWS])
        for i in range(2 * ROLES):
            env[E_VIEWS + i] = views[i]
            env[E_PLAIN + i] = views[2 * ROLES + i]
        env[E_GUARD] = views[4 * ROLES]
        env[E_GUARD_PLAIN] = views[4 * ROLES + 1]
        s[S_SEES] = which
    for i in range(T_WIDTH):
        state[i] = 0
    state[T_STEP] = -1
    state[T_ENTERING] = 1
    of = r * R_WIDTH
    rels[of + R_DLIST] = s[S_LISTS + 3 * TOUCHED]
    rels[of + R_DLO] = 0
    rels[of + R_DHI] = s[S_LISTS + 3 * TOUCHED + 2]
    s[S_PHASE] = which
    s[S_R] = r
    s[S_RAN] = 0
    s[S_SEEN] = 0


@njit
def end(rels, s):
    of = s[S_R] * R_WIDTH
    rels[of + R_DLIST] = 0
    rels[of + R_DHI] = 0
    mask = u16(rels[of + R_MASK])
    at = S_LISTS + 3 * TOUCHED
    touched = u32(s[at])
    add = np.uint16(s[B_O] if s[S_PHASE] == LOSS else 0)
    keep = np.uint16(~s[B_NOW])
    for i in range(s[at + 2]):
        row = np.int64(touched[i])
        mask[row] = (mask[row] & keep) | add
    s[at + 2] = 0
    s[S_PHASE] = IDLE


@njit
def prove(rels, s, r, row):
    """The fact, which is checked, holds."""
    mask = u16(rels[r * R_WIDTH + R_MASK])
    if mask[row] & np.uint16(s[B_K]) == 0:  # else it was delayed
        mask[row] |= np.uint16(s[B_K])
        push(s, KNOWN, r, row)
    push(s, PENDING, r, row)


@njit
def note_odd(rels, r, row, t):
    """The row is in other sets than plain ones are."""
    odd = rels[r * R_WIDTH + R_ODD]
    if odd == 0:
        return
    arity = rels[r * R_WIDTH + R_ARITY]
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    for c in range(arity):
        t[c] = np.int64(rows[row * arity + c])
    note_fresh(odd, key_of(t, arity))


@njit
def enter(rels, s, r, row, t):
    """Check the fact. False if there are no plans for it yet."""
    if i64(s[S_READY])[r] == 0:
        s[S_NEED] = r
        return False
    mask = u16(rels[r * R_WIDTH + R_MASK])
    mask[row] |= np.uint16(s[B_C])
    note_odd(rels, r, row, t)
    push(s, MET, r, row)
    holds = mask[row] & np.uint16(s[B_E] | s[B_K]) != 0
    if not holds and s[S_COUNTER] != 0:
        holds = i32(rels[r * R_WIDTH + s[S_COUNTER]])[row] > 0
    if holds:
        prove(rels, s, r, row)
        return True
    at = S_LISTS + 3 * STACK
    frame = i64(s[at] + 8 * F_WIDTH * s[at + 2])
    frame[F_R] = r
    frame[F_ROW] = row
    frame[F_SKIP] = 0
    frame[F_BASE] = s[S_LISTS + 3 * INSTANCES + 2]
    frame[F_DONE] = NEW if mask[row] & np.uint16(s[B_N]) == 0 else ASKED
    s[at + 2] += 1
    return True


@njit
def leave(s, frame):
    """The fact on top of the stack is proved, or all that could prove it is checked."""
    s[S_LISTS + 3 * INSTANCES + 2] = frame[F_BASE]
    s[S_LISTS + 3 * STACK + 2] -= 1


@njit
def rank(rels, s, r, row):
    """How soon to try a fact: the lower, the sooner."""
    mask = u16(rels[r * R_WIDTH + R_MASK])[row]
    if mask & np.uint16(s[B_K]) != 0:
        return np.int64(0)
    if mask & np.uint16(s[B_C]) != 0:
        return np.int64(UNPROVED)
    if mask & np.uint16(s[B_E]) != 0:
        return np.int64(1)
    if rels[r * R_WIDTH + R_AGE] != 0:
        return 2 + np.int64(i32(rels[r * R_WIDTH + R_AGE])[row])
    return 2 + row  # rows are about as old as their numbers say


@njit
def oldest(rels, s, frame):
    """The highest rank of an instance that may have derived the fact on top of the stack at first;
    with many or all of its instances at hand, of any that has facts not checked in vain."""
    if frame[F_DONE] == THROUGH or frame[F_SKIP] >= MANY:
        return np.int64(UNPROVED - 1)
    r = frame[F_R]
    row = frame[F_ROW]
    if rels[r * R_WIDTH + R_AGE] != 0:
        return 1 + np.int64(i32(rels[r * R_WIDTH + R_AGE])[row])
    return 1 + row


@njit
def hardest(rels, s, instance):
    """The instance's rank, which is the highest of its facts', and which of those that are not
    checked has the highest; -1 if all are checked."""
    highest = np.int64(0)
    unseen = np.int64(-1)
    of_unseen = np.int64(-1)
    for b in range(s[S_BODY]):
        r = instance[2 * b]
        if r < 0:
            break
        row = instance[2 * b + 1]
        mine = rank(rels, s, r, row)
        highest = max(highest, mine)
        if u16(rels[r * R_WIDTH + R_MASK])[row] & np.uint16(s[B_C]) == 0 and mine > of_unseen:
            unseen = np.int64(b)
            of_unseen = mine
    return highest, unseen


@njit
def try_next(rels, s, frame, most, t):
    """Prove the fact by an instance whose facts hold, or check a fact of the best instance that has
    one not checked. NOTHING if all instances collected so far have a fact checked in vain, and
    there may be others, or if there is no instance left."""
    width = 2 * s[S_BODY]
    at = S_LISTS + 3 * INSTANCES
    i = frame[F_BASE]
    best = np.int64(-1)
    which = np.int64(-1)
    lowest = np.int64(UNPROVED + 1)
    while i < s[at + 2]:
        instance = i64(s[at] + 8 * width * i)
        highest, unseen = hardest(rels, s, instance)
        if highest == 0:
            prove(rels, s, frame[F_R], frame[F_ROW])
            return DONE
        if unseen < 0:
            s[at + 2] -= 1
            other = i64(s[at] + 8 * width * s[at + 2])
            for k in range(width):
                instance[k] = other[k]
            continue
        if highest < lowest:
            best, which, lowest = i, unseen, highest
        i += 1
    if best < 0 or lowest > most:
        return NOTHING
    instance = i64(s[at] + 8 * width * best)
    entered = enter(rels, s, instance[2 * which], instance[2 * which + 1], t)
    return DONE if entered else PREPARE


@njit
def saturate(rels, env, readings, s, state):
    """Chain forward from facts of one relation that were proved since."""
    at = S_LISTS + 3 * PENDING
    facts = i64(s[at])
    r = facts[2 * (s[at + 2] - 1)]
    mask = u16(rels[r * R_WIDTH + R_MASK])
    reads = plans_for(readings, FORWARD, r)[1] > 0
    while s[at + 2] > 0 and facts[2 * (s[at + 2] - 1)] == r:
        if reads and not has_room(s, TOUCHED, 1):
            break
        s[at + 2] -= 1
        row = facts[2 * s[at + 2] + 1]
        mask[row] |= np.uint16(s[B_V])
        if reads:
            touch(rels, s, r, row)
    if reads:
        begin(rels, env, readings, s, state, FORWARD, r)


@njit
def chain_back(rels, env, readings, s, state, frame, t):
    """Go on with the fact on top of the stack. DONE, or PREPARE."""
    r = frame[F_R]
    row = frame[F_ROW]
    if u16(rels[r * R_WIDTH + R_MASK])[row] & np.uint16(s[B_K]) != 0:
        leave(s, frame)
        return DONE
    if frame[F_DONE] == NEW:
        frame[F_DONE] = ASKED
        if plans_for(readings, DIRECT, r)[1] > 0:
            touch(rels, s, r, row)
            begin(rels, env, readings, s, state, DIRECT, r)
        return DONE
    tried = try_next(rels, s, frame, oldest(rels, s, frame), t)
    if tried != NOTHING:
        return tried
    if frame[F_DONE] != THROUGH:
        if plans_for(readings, BACK, r)[1] > 0:
            touch(rels, s, r, row)
            begin(rels, env, readings, s, state, BACK, r)
        else:
            frame[F_DONE] = THROUGH
    elif frame[F_SKIP] > 0 and s[S_LISTS + 3 * PENDING + 2] > 0:
        saturate(rels, env, readings, s, state)
    else:
        tried = try_next(rels, s, frame, UNPROVED, t)
        if tried != NOTHING:
            return tried
        if frame[F_SKIP] > 0:
            s[S_VAIN] = 1
        leave(s, frame)
    return DONE


@njit
def settle(rels, env, readings, s, state):
    """The stack is empty: facts that were met and are not proved are disproved. False if none is
    left."""
    at = S_LISTS + 3 * MET
    facts = i64(s[at])
    while s[S_ROOT] < s[at + 2]:
        r = facts[2 * s[S_ROOT]]
        row = facts[2 * s[S_ROOT] + 1]
        mask = u16(rels[r * R_WIDTH + R_MASK])
        if mask[row] & np.uint16(s[B_K]) == 0:
            if s[S_VAIN] != 0 and s[S_LISTS + 3 * PENDING + 2] > 0:
                saturate(rels, env, readings, s, state)
            elif has_room(s, LOST, 1):
                mask[row] |= np.uint16(s[B_S])
                push(s, LOST, r, row)
                s[S_ROOT] += 1
            return True
        s[S_ROOT] += 1
    s[S_VAIN] = 0
    return False


@njit
def propagate(rels, env, readings, s, state):
    """Find what loses an instance by facts of one relation that were disproved since."""
    at = S_LISTS + 3 * LOST
    facts = i64(s[at])
    r = facts[2 * s[S_LOST]]
    reads = plans_for(readings, LOSS, r)[1] > 0
    while s[S_LOST] < s[at + 2] and facts[2 * s[S_LOST]] == r:
        if reads:
            if not has_room(s, TOUCHED, 1):
                break
            touch(rels, s, r, facts[2 * s[S_LOST] + 1])
        s[S_LOST] += 1
    if reads:
        begin(rels, env, readings, s, state, LOSS, r)


@njit
def ask(rels, env, readings, s, state):
    """Ask for facts of one relation in the queue whether a rule without recursion derives them.
    False if there are no plans for that yet."""
    at = S_LISTS + 3 * QUEUE
    facts = i64(s[at])
    r = facts[2 * s[S_ASKED]]
    if i64(s[S_READY])[r] == 0:
        s[S_NEED] = r
        return False
    reads = plans_for(readings, DIRECT, r)[1] > 0
    mask = u16(rels[r * R_WIDTH + R_MASK])
    while s[S_ASKED] < s[at + 2] and facts[2 * s[S_ASKED]] == r and has_room(s, TOUCHED, 1):
        row = facts[2 * s[S_ASKED] + 1]
        if reads and mask[row] & np.uint16(s[B_E] | s[B_K] | s[B_C]) == 0:
            touch(rels, s, r, row)
        s[S_ASKED] += 1
    if s[S_LISTS + 3 * TOUCHED + 2] > 0:
        begin(rels, env, readings, s, state, DIRECT, r)
    return True


@njit
def advance(rels, env, readings, s, state, t):
    """Do what is next. DONE, NOTHING if nothing is left, or PREPARE."""
    at = S_LISTS + 3 * STACK
    if s[at + 2] > 0:
        frame = i64(s[at] + 8 * F_WIDTH * (s[at + 2] - 1))
        return chain_back(rels, env, readings, s, state, frame, t)
    if settle(rels, env, readings, s, state):
        return DONE
    at = S_LISTS + 3 * QUEUE
    if s[S_QUEUE] < s[at + 2]:
        if s[S_ASKED] < s[at + 2]:
            return DONE if ask(rels, env, readings, s, state) else PREPARE
        fact = i64(s[at] + 16 * s[S_QUEUE])
        checked = u16(rels[fact[0] * R_WIDTH + R_MASK])[fact[1]] & np.uint16(s[B_C]) != 0
        if not checked and not enter(rels, s, fact[0], fact[1], t):
            return PREPARE
        s[S_QUEUE] += 1
        return DONE
    if s[S_LOST] < s[S_LISTS + 3 * LOST + 2]:
        propagate(rels, env, readings, s, state)
        return DONE
    return NOTHING


@njit
def note_instance(rels, q, s, state, t):
    """Keep the instance that was found, unless all its facts are checked. True if there are enough
    instances for now."""
    frame_at = S_LISTS + 3 * STACK
    frame = i64(s[frame_at] + 8 * F_WIDTH * (s[frame_at + 2] - 1))
    s[S_SEEN] += 1
    if s[S_SEEN] <= frame[F_SKIP]:
        return False
    at = S_LISTS + 3 * INSTANCES
    instance = i64(s[at] + 16 * s[S_BODY] * s[at + 2])
    args = i64(q[Q_ARGS])
    reg = i64(q[Q_REGISTERS])
    found = state[T_WHAT]
    count = i64(q[Q_STEPS] + 8 * P_WIDTH * found)[P_NKEY]
    for b in range(s[S_BODY]):
        instance[2 * b] = -1
        if b < count:
            step = i64(q[Q_STEPS] + 8 * P_WIDTH * (found + 1 + b))
            r = step[P_REL]
            a = step[P_ARGS]
            for c in range(rels[r * R_WIDTH + R_ARITY]):
                what = args[a + 2 * c + 1]
                t[c] = reg[what] if args[a + 2 * c] == A_REG else what
            instance[2 * b] = r
            instance[2 * b + 1] = find_row(rels, r, t)
    highest, unseen = hardest(rels, s, instance)
    if unseen >= 0 or highest == 0:
        s[at + 2] += 1
    enough = s[S_SEEN] >= frame[F_SKIP] + max(SOME, frame[F_SKIP])
    if enough or highest <= 1:
        frame[F_SKIP] = s[S_SEEN]
        return True
    return False


@njit
def heads(rels, readings, s):
    """How many facts the reading has found."""
    q = i64(readings + 8 * Q_WIDTH * s[S_PHASE])
    first, count = plans_for(readings, s[S_PHASE], s[S_R])
    starts = i64(q[Q_STARTS])
    total = np.int64(0)
    for p in range(first, first + count):
        h = i64(q[Q_STEPS] + 8 * P_WIDTH * (starts[p + 1] - 1))[P_REL]
        total += rels[h * R_WIDTH + R_OUTN]
    return total


@njit
def take_over(rels, readings, s, t):
    """Let facts that the reading has found join the sets and lists, which have room."""
    which = s[S_PHASE]
    q = i64(readings + 8 * Q_WIDTH * which)
    first, count = plans_for(readings, which, s[S_R])
    starts = i64(q[Q_STARTS])
    keep = np.uint16(~s[B_FOUND])
    for p in range(first, first + count):
        h = i64(q[Q_STEPS] + 8 * P_WIDTH * (starts[p + 1] - 1))[P_REL]
        mask = u16(rels[h * R_WIDTH + R_MASK])
        found = u32(rels[h * R_WIDTH + R_OUT])
        for i in range(rels[h * R_WIDTH + R_OUTN]):
            row = np.int64(found[i])
            mask[row] &= keep
            note_odd(rels, h, row, t)
            if which == LOSS:
                mask[row] |= np.uint16(s[B_N])
                push(s, QUEUE, h, row)
            elif mask[row] & np.uint16(s[B_C]) != 0:
                prove(rels, s, h, row)
            else:
                mask[row] |= np.uint16(s[B_K])
                push(s, KNOWN, h, row)
        rels[h * R_WIDTH + R_OUTN] = 0


@njit
def finish(rels, readings, s, t):
    """Take over what the reading has found; False if lists must grow first."""
    which = s[S_PHASE]
    if which != BACK:
        more = heads(rels, readings, s)
        if not (has_room(s, KNOWN, more) and has_room(s, PENDING, more)):
            s[S_NEED] = more
            return False
        if which == LOSS and not has_room(s, QUEUE, more):
            s[S_NEED] = more
            return False
        take_over(rels, readings, s, t)
        s[S_WORK] -= more
    end(rels, s)
    return True


@njit(cache=True)
def search(relations, indexes, environment, readings, table, where, scratch, buffer):
    """Check the facts in the queue and all that a disproved fact puts there.

    Returns DONE, or why it stopped; called again, it goes on.
    """
    rels = i64(relations)
    env = i64(environment)
    s = i64(table)
    state = i64(where)
    t = i64(scratch)
    while True:
        which = s[S_PHASE]
        if which == IDLE:
            s[S_WORK] -= 1
            if s[S_WORK] < 0:
                return PAUSE
            for each in range(LISTS):
                if not has_room(s, each, 1):
                    s[S_NEED] = 1
                    return GROW_LISTS
            did = advance(rels, env, readings, s, state, t)
            if did != DONE:
                return DONE if did == NOTHING else did
            continue
        if s[S_RAN] == 0:
            if which == BACK and not has_room(s, INSTANCES, 1):
                s[S_NEED] = 1
                return GROW_LISTS
            q = i64(readings + 8 * Q_WIDTH * which)
            first, count = plans_for(readings, which, s[S_R])
            status = run(
                relations,
                indexes,
                environment,
                q[Q_STEPS],
                q[Q_ARGS],
                q[Q_STARTS] + 8 * first,
                count,
                q[Q_COUNTS] + 8 * first,
                where,
                q[Q_REGISTERS],
                q[Q_PLACES],
                q[Q_ENDS],
                scratch,
                q[Q_STACK],
                buffer,
            )
            if status == FOUND:
                s[S_WORK] -= 1
                if not note_instance(rels, q, s, state, t):
                    continue
            elif status != DONE:
                return status
            elif which == BACK:
                at = S_LISTS + 3 * STACK
                frame = i64(s[at] + 8 * F_WIDTH * (s[at + 2] - 1))
                frame[F_DONE] = THROUGH
                frame[F_SKIP] = s[S_SEEN]
            s[S_RAN] = 1
        if not finish(rels, readings, s, t):
            return GROW_LISTS


@njit(cache=True)
def clear(relations, table):
    """Take the bits away that only a search needs: V, O, N."""
    rels = i64(relations)
    s = i64(table)
    for which, bit in ((MET, s[B_V]), (LOST, s[B_O]), (QUEUE, s[B_N])):
        at = S_LISTS + 3 * which
        entries = i64(s[at])
        for i in range(s[at + 2]):
            mask = u16(rels[entries[2 * i] * R_WIDTH + R_MASK])
            mask[entries[2 * i + 1]] &= np.uint16(~bit)
