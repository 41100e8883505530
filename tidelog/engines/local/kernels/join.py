"""The interpreter of join plans: nested loops over contiguous matches, steps as data.

A plan is a run of steps. Generators (scan, lookup, range) bind registers once per
match; filters (member, compare, compute, group) let a binding pass or not; the last
step emits. A generator keeps its place in `cur` and `end`, so a run can stop anywhere
(to let a table grow, to look at the clock) and go on where it was: nothing that is
under way is lost. Indexes do not change during a run; rows and their hash table do,
and what a run adds is invisible to its own body literals.

The innermost lookup and the emission are one loop, because that is where nearly all
time goes; heads of two columns wait in a buffer until their cache lines have come.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.engines.local.kernels.arithmetic import compare, evaluate, float_word, less
from tidelog.engines.local.kernels.hashing import (
    EMPTY,
    append_row,
    find_row,
    find_slot,
    home,
    key_of,
    pack,
)
from tidelog.engines.local.kernels.index import find_key, index_key, spread
from tidelog.engines.local.kernels.layout import (
    A_BIND,
    A_CHECK,
    A_CONST,
    A_REG,
    BUFFER,
    C_EQ,
    DONE,
    E_GUARD,
    E_GUARD_NEW,
    E_OUTBIT,
    E_TICKS,
    E_VIEWS,
    FLAG_FIRST,
    FLAG_NEGATED,
    FUSE_NONE,
    FUSE_VALUE_FIRST,
    FUSE_VALUE_SECOND,
    G_COUNT,
    G_MAX,
    G_MEAN,
    G_MIN,
    G_SUM,
    GROW_OUT,
    GROW_ROWS,
    GROW_WORDS,
    KIND_FLOAT,
    KIND_UNSIGNED,
    OP_COMPARE,
    OP_COMPUTE,
    OP_EMIT,
    OP_GROUP,
    OP_LOOKUP,
    OP_MEMBER,
    OP_PROVE,
    OP_RANGE,
    OP_SCAN,
    OP_SUPPORT,
    OP_UNIT,
    P_A,
    P_ARGS,
    P_B,
    P_BACK,
    P_FLAG,
    P_FUSE,
    P_IDX,
    P_NCOL,
    P_NKEY,
    P_OP,
    P_PRE,
    P_PRE_A,
    P_PRE_A_HOW,
    P_PRE_B,
    P_PRE_B_HOW,
    P_PRE_ID,
    P_PRE_N,
    P_REL,
    P_ROLE,
    P_TESTED,
    P_WIDTH,
    PAUSE,
    PRE_COLUMN,
    PRE_INDEX,
    PRE_NONE,
    PRE_REG,
    R_ARITY,
    R_CAP,
    R_DHI,
    R_DLIST,
    R_DLO,
    R_FAST,
    R_FULL,
    R_HKEYS,
    R_HROWS,
    R_HSIZE,
    R_MASK,
    R_MULT,
    R_N,
    R_OLD,
    R_OUT,
    R_OUTCAP,
    R_OUTN,
    R_ROWS,
    R_START,
    R_WIDTH,
    ROLE_DELTA,
    ROLE_HEADS,
    ROLE_OLD,
    S_EPOCH,
    S_LEN,
    S_OFF,
    S_OLD,
    SLOT,
    T_BUFFERED,
    T_DRAIN,
    T_ENTERING,
    T_PLAN,
    T_STEP,
    T_WHAT,
    UNFILLED,
    X_ARENA,
    X_COLS,
    X_EPOCH,
    X_SIZE,
    X_SLOTS,
    X_STRIDE,
    X_WIDTH,
)
from tidelog.engines.local.kernels.memory import as_float, i64, prefetch, u8, u16, u32, u64
from tidelog.engines.local.kernels.words import decode, encode

DUPLICATE = 0
ADDED = 1
NO_ROOM = -1
NO_OUT_ROOM = -2

FAR = 1 << 14  # slots of a table that no longer fits into the nearest cache
AHEAD = 8  # rows between asking for a cache line and using it
ALL_BOUND = -2  # an aggregate over one fact: no index, a member test


@njit
def in_view(rels, env, r, row, role):
    table = u8(env[E_VIEWS + role])
    return table[u16(rels[r * R_WIDTH + R_MASK])[row]] != 0


@njit
def reaches(rels, env, r, row, role):
    """Is this existing row in the role's view?"""
    if rels[r * R_WIDTH + R_FULL + role] != 0:
        return row < (
            rels[r * R_WIDTH + R_OLD] if role == ROLE_OLD else rels[r * R_WIDTH + R_START]
        )
    return in_view(rels, env, r, row, role)


@njit
def passes(rels, env, step, args, reg, t):
    """A member step: is the fact there, or not there if it is negated?"""
    r = step[P_REL]
    a = step[P_ARGS]
    for c in range(rels[r * R_WIDTH + R_ARITY]):
        what = args[a + 2 * c + 1]
        t[c] = reg[what] if args[a + 2 * c] == A_REG else what
    row = find_row(rels, r, t)
    # A row without a number yet is fresh: not visible to this run.
    good = row >= 0 and row != UNFILLED and reaches(rels, env, r, row, step[P_ROLE])
    return good != ((step[P_FLAG] & FLAG_NEGATED) != 0)


@njit
def vector(idxs, x, key, old):
    """Address and length (in rows) of the key's vector; of its old part if asked."""
    at = find_key(idxs, x, key)
    slots = u32(idxs[x * X_WIDTH + X_SLOTS])
    length = np.int64(slots[at + S_LEN])
    if length == 0:
        return np.int64(0), np.int64(0)
    shown = length
    if old and np.int64(slots[at + S_EPOCH]) == idxs[x * X_WIDTH + X_EPOCH]:
        shown = np.int64(slots[at + S_OLD])
    if length == 1 and idxs[x * X_WIDTH + X_STRIDE] == 1:
        return idxs[x * X_WIDTH + X_SLOTS] + 4 * (at + S_OFF), shown
    return idxs[x * X_WIDTH + X_ARENA] + 4 * np.int64(slots[at + S_OFF]), shown


@njit
def mark(rels, env, r, row):
    """Put an existing row into the result."""
    mask = u16(rels[r * R_WIDTH + R_MASK])
    bit = np.uint16(env[E_OUTBIT])
    if mask[row] & bit:
        return DUPLICATE
    n = rels[r * R_WIDTH + R_OUTN]
    if n >= rels[r * R_WIDTH + R_OUTCAP]:
        return NO_OUT_ROOM
    mask[row] |= bit
    u32(rels[r * R_WIDTH + R_OUT])[n] = np.uint32(row)
    rels[r * R_WIDTH + R_OUTN] = n + 1
    return ADDED


@njit
def emit(rels, env, r, t):
    """Put fact t into the result if the guard lets it."""
    key = key_of(t, rels[r * R_WIDTH + R_ARITY])
    if rels[r * R_WIDTH + R_HSIZE] == 0:
        return NO_ROOM if env[E_GUARD_NEW] != 0 else DUPLICATE
    slot = find_slot(rels, r, key, t)
    if u64(rels[r * R_WIDTH + R_HKEYS])[slot] == EMPTY:
        if env[E_GUARD_NEW] == 0:
            return DUPLICATE
        if rels[r * R_WIDTH + R_N] >= rels[r * R_WIDTH + R_CAP]:
            return NO_ROOM
        append_row(rels, r, slot, key, t, env[E_OUTBIT])
        return ADDED
    if rels[r * R_WIDTH + R_FAST] != 0:
        return DUPLICATE
    row = np.int64(u32(rels[r * R_WIDTH + R_HROWS])[slot])
    if row == UNFILLED:  # fresh, so in the result already
        return DUPLICATE
    if u8(env[E_GUARD])[u16(rels[r * R_WIDTH + R_MASK])[row]] == 0:
        return DUPLICATE
    return mark(rels, env, r, row)


@njit
def drain(rels, r, outbit, buffer, count):
    """Add the heads that wait in the buffer; there must be room for them.

    Only for relations where a row that exists is never new. Their places in the table
    were asked for when they were put there, so that cache misses overlap.
    """
    keys = u64(rels[r * R_WIDTH + R_HKEYS])
    rows = u32(rels[r * R_WIDTH + R_ROWS])
    mask = u16(rels[r * R_WIDTH + R_MASK])
    size = rels[r * R_WIDTH + R_HSIZE]
    multiplier = np.uint64(rels[r * R_WIDTH + R_MULT])
    n = rels[r * R_WIDTH + R_N]
    arity = rels[r * R_WIDTH + R_ARITY]
    if arity > 2:
        numbers = u32(rels[r * R_WIDTH + R_HROWS])
        if size > FAR:  # ask for the rows that will be compared
            for i in range(count):
                key = buffer[i * (arity + 1)]
                slot = home(key, multiplier, size)
                if keys[slot] == key:
                    prefetch(rels[r * R_WIDTH + R_ROWS] + 4 * arity * np.int64(numbers[slot]))
        for i in range(count):
            at = i * (arity + 1)
            key = buffer[at]
            slot = home(key, multiplier, size)
            while True:
                k = keys[slot]
                if k == EMPTY:
                    keys[slot] = key
                    numbers[slot] = np.uint32(n)
                    for c in range(arity):
                        rows[n * arity + c] = np.uint32(buffer[at + 1 + c])
                    mask[n] = outbit
                    n += 1
                    break
                if k == key:
                    base = np.int64(numbers[slot]) * arity
                    same = True
                    for c in range(arity):
                        if rows[base + c] != np.uint32(buffer[at + 1 + c]):
                            same = False
                            break
                    if same:
                        break
                slot += 1
                if slot == size:
                    slot = 0
        rels[r * R_WIDTH + R_N] = n
        return
    for i in range(count):
        key = buffer[i]
        slot = home(key, multiplier, size)
        while True:
            k = keys[slot]
            if k == key:
                break
            if k == EMPTY:
                keys[slot] = key
                if arity == 2:
                    rows[2 * n] = np.uint32(key >> np.uint64(32))
                    rows[2 * n + 1] = np.uint32(key & np.uint64(0xFFFFFFFF))
                elif arity == 1:
                    rows[n] = np.uint32(key)
                mask[n] = outbit
                n += 1
                break
            slot += 1
            if slot == size:
                slot = 0
    rels[r * R_WIDTH + R_N] = n


@njit
def deliver(rels, env, args, b, h, reg, t, buffer, state):
    """Make the head and put it into the result, or into the buffer; DONE, or what must grow."""
    arity = rels[h * R_WIDTH + R_ARITY]
    for c in range(arity):
        what = args[b + 2 * c + 1]
        t[c] = reg[what] if args[b + 2 * c] == A_REG else what
    state[T_WHAT] = h
    if rels[h * R_WIDTH + R_FAST] == 0:
        done = emit(rels, env, h, t)
        if done >= 0:
            return DONE
        return GROW_ROWS if done == NO_ROOM else GROW_OUT
    waiting = state[T_BUFFERED]
    if waiting == BUFFER:
        if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < BUFFER:
            return GROW_ROWS
        drain(rels, h, np.uint16(env[E_OUTBIT]), buffer, waiting)
        waiting = 0
    key = key_of(t, arity)
    if arity <= 2:
        buffer[waiting] = key
    else:
        at = waiting * (arity + 1)
        buffer[at] = key
        for c in range(arity):
            buffer[at + 1 + c] = np.uint64(t[c])
    size = rels[h * R_WIDTH + R_HSIZE]
    if size > FAR:
        slot = home(key, np.uint64(rels[h * R_WIDTH + R_MULT]), size)
        prefetch(rels[h * R_WIDTH + R_HKEYS] + 8 * slot)
        if arity > 2:
            prefetch(rels[h * R_WIDTH + R_HROWS] + 4 * slot)
    state[T_BUFFERED] = waiting + 1
    return DONE


@njit
def ask_ahead(rels, idxs, step, reg, row):
    """Prefetch what the next step will look at for this row of the present one."""
    a = step[P_PRE_A]
    how = step[P_PRE_A_HOW]
    if how == PRE_COLUMN:
        a = np.int64(u32(row)[a])
    elif how == PRE_REG:
        a = reg[a]
    key = np.uint64(a)
    if step[P_PRE_N] == 2:
        b = step[P_PRE_B]
        how = step[P_PRE_B_HOW]
        if how == PRE_COLUMN:
            b = np.int64(u32(row)[b])
        elif how == PRE_REG:
            b = reg[b]
        key = pack(a, b)
    which = step[P_PRE_ID]
    if step[P_PRE] == PRE_INDEX:
        slot = spread(key, idxs[which * X_WIDTH + X_SIZE])
        prefetch(idxs[which * X_WIDTH + X_SLOTS] + 4 * SLOT * slot)
    else:
        size = rels[which * R_WIDTH + R_HSIZE]
        slot = home(key, np.uint64(rels[which * R_WIDTH + R_MULT]), size)
        prefetch(rels[which * R_WIDTH + R_HKEYS] + 8 * slot)
        prefetch(rels[which * R_WIDTH + R_HROWS] + 4 * slot)


@njit
def fold(rels, idxs, env, step, args, reg, t, result):
    """An aggregate: result[0] is its word; False if it has none.

    P_A is op | kind << 8. P_B is the place of the value among the columns read; for
    count it is -1 where every fact of the vector counts.
    """
    r = step[P_REL]
    op = step[P_A] & 255
    kind = step[P_A] >> 8
    nkey = step[P_NKEY]
    ncol = step[P_NCOL]
    role = step[P_ROLE]
    a = step[P_ARGS]
    full = rels[r * R_WIDTH + R_FULL + role] != 0
    x = step[P_IDX]
    stride = ncol
    base = np.int64(0)
    if x >= 0:
        for k in range(nkey):
            t[k] = reg[args[a + 2 * k + 1]] if args[a + 2 * k] == A_REG else args[a + 2 * k + 1]
        base, count = vector(idxs, x, index_key(t, nkey), False)
        cols = i64(idxs[x * X_WIDTH + X_COLS])
    elif x == ALL_BOUND:
        for c in range(ncol):
            t[c] = reg[args[a + 2 * c + 1]] if args[a + 2 * c] == A_CHECK else args[a + 2 * c + 1]
        row = find_row(rels, r, t)
        count = np.int64(0 <= row < rels[r * R_WIDTH + R_START])
        base = rels[r * R_WIDTH + R_ROWS] + 4 * row * ncol
        cols = i64(0)
    else:
        count = rels[r * R_WIDTH + R_START]
        base = rels[r * R_WIDTH + R_ROWS]
        cols = i64(0)
    values = u32(base)
    offset = a + 2 * nkey
    total = np.int64(0)
    sum_word = np.int64(0)
    sum_float = 0.0
    if op == G_COUNT and full and step[P_B] < 0:  # nothing to compare
        result[0] = count
        return True
    for i in range(count):
        good = True
        for c in range(ncol):
            how = args[offset + 2 * c]
            v = np.int64(values[i * stride + c])
            if how == A_CONST:
                good = good and v == args[offset + 2 * c + 1]
            elif how == A_CHECK:
                good = good and v == reg[args[offset + 2 * c + 1]]
            elif how == A_BIND:
                reg[args[offset + 2 * c + 1]] = v
        if not good:
            continue
        if not full:
            if x >= 0 and nkey <= 2:
                for k in range(nkey):
                    g = a + 2 * k
                    t[cols[k]] = reg[args[g + 1]] if args[g] == A_REG else args[g + 1]
                for c in range(ncol):
                    t[cols[nkey + c]] = np.int64(values[i * stride + c])
            else:
                for c in range(ncol):
                    t[c] = np.int64(values[i * stride + c])
            if not in_view(rels, env, r, find_row(rels, r, t), role):
                continue
        if op != G_COUNT:
            word = decode(env, np.int64(values[i * stride + step[P_B]]))
            if op == G_SUM:
                if kind == KIND_FLOAT:
                    sum_float += as_float(word)
                else:
                    sum_word += word
            elif op == G_MEAN:
                if kind == KIND_FLOAT:
                    sum_float += as_float(word)
                elif kind == KIND_UNSIGNED:
                    sum_float += np.float64(np.uint64(word))
                else:
                    sum_float += np.float64(word)
            elif (
                total == 0
                or (op == G_MIN and less(env, kind, word, sum_word))
                or (op == G_MAX and less(env, kind, sum_word, word))
            ):
                sum_word = word
        total += 1
    if op == G_COUNT:
        result[0] = total
    elif op == G_SUM:
        result[0] = float_word(sum_float) if kind == KIND_FLOAT else sum_word
    elif total == 0:
        return False
    elif op == G_MEAN:
        result[0] = float_word(sum_float / total)
    else:
        result[0] = sum_word
    return True


@njit(cache=True)
def run(
    relations,
    indexes,
    environment,
    steps,
    arguments,
    plan_starts,
    plans,
    instances,
    where,
    registers,
    places,
    ends,
    scratch,
    values_stack,
    waiting_room,
):
    """Run plans from where `where` says; instances[p] are those of plan p. All are addresses.

    Returns DONE, or why it stopped; called again, it goes on.
    """
    rels = i64(relations)
    idxs = i64(indexes)
    env = i64(environment)
    prog = i64(steps)
    args = i64(arguments)
    starts = i64(plan_starts)
    counts = i64(instances)
    state = i64(where)
    reg = i64(registers)
    cur = i64(places)
    end = i64(ends)
    t = i64(scratch)
    stack = i64(values_stack)
    p = state[T_PLAN]
    d = state[T_STEP]
    entering = state[T_ENTERING] != 0
    ticks = env[E_TICKS]
    outbit = np.uint16(env[E_OUTBIT])
    buffer = u64(waiting_room)
    draining = state[T_DRAIN] != 0
    while p < plans:
        first = starts[p]
        if d < first and not draining:
            d = first
            entering = True
        status = DONE
        while d >= first:
            ticks -= 1
            if ticks <= 0:
                status = PAUSE
                break
            step = i64(steps + 8 * P_WIDTH * d)
            op = step[P_OP]
            if op == OP_SCAN:
                r = step[P_REL]
                role = step[P_ROLE]
                delta = role == ROLE_DELTA or role == ROLE_HEADS
                if entering:
                    if delta:
                        cur[d] = rels[r * R_WIDTH + R_DLO]
                        end[d] = rels[r * R_WIDTH + R_DHI]
                    else:
                        cur[d] = 0
                        if role == ROLE_OLD and rels[r * R_WIDTH + R_FULL + ROLE_OLD] != 0:
                            end[d] = rels[r * R_WIDTH + R_OLD]
                        else:
                            end[d] = rels[r * R_WIDTH + R_START]
                arity = rels[r * R_WIDTH + R_ARITY]
                a = step[P_ARGS]
                rows_at = rels[r * R_WIDTH + R_ROWS]
                rows = u32(rows_at)
                listed = delta and rels[r * R_WIDTH + R_DLIST] != 0
                full = rels[r * R_WIDTH + R_FULL + role] != 0
                fused = step[P_FUSE] != FUSE_NONE
                tested = step[P_TESTED]
                pre = step[P_PRE] != PRE_NONE and not listed
                if pre and entering:
                    for k in range(cur[d], min(cur[d] + AHEAD, end[d])):
                        ask_ahead(rels, idxs, step, reg, rows_at + 4 * k * arity)
                entering = False
                i = cur[d]
                stop = end[d]
                while i < stop:
                    row = np.int64(u32(rels[r * R_WIDTH + R_DLIST])[i]) if listed else i
                    if pre and i + AHEAD < stop:
                        ask_ahead(rels, idxs, step, reg, rows_at + 4 * (i + AHEAD) * arity)
                    i += 1
                    base = row * arity
                    good = full or in_view(rels, env, r, row, role)
                    for c in range(arity):
                        if not good:
                            break
                        how = args[a + 2 * c]
                        what = args[a + 2 * c + 1]
                        v = np.int64(rows[base + c])
                        if how == A_BIND:
                            reg[what] = v
                        elif how == A_CHECK:
                            good = reg[what] == v
                        elif how == A_CONST:
                            good = what == v
                    if good and tested:
                        test = i64(steps + 8 * P_WIDTH * (d + 1))
                        good = passes(rels, env, test, args, reg, t)
                    if not good:
                        ticks -= 1
                        if ticks <= 0:
                            break
                        continue
                    if not fused:
                        entering = True
                        break
                    h = prog[(d + 1 + tested) * P_WIDTH + P_REL]
                    b = prog[(d + 1 + tested) * P_WIDTH + P_ARGS]
                    status = deliver(rels, env, args, b, h, reg, t, buffer, state)
                    if status != DONE:
                        i -= 1
                        break
                    counts[p] += 1
                    ticks -= 1
                    if ticks <= 0:
                        break
                if delta and entering:
                    reg[step[P_B]] = row
                cur[d] = i
                if status != DONE:
                    break
                if entering:
                    if (step[P_FLAG] & FLAG_FIRST) != 0:
                        cur[d] = stop
                    d += 1 + tested
                elif i >= stop:
                    d = step[P_BACK]
            elif op == OP_LOOKUP:
                r = step[P_REL]
                x = step[P_IDX]
                role = step[P_ROLE]
                nkey = step[P_NKEY]
                ncol = step[P_NCOL]
                a = step[P_ARGS]
                full = rels[r * R_WIDTH + R_FULL + role] != 0
                width = 4 * ncol
                if entering:
                    for k in range(nkey):
                        what = args[a + 2 * k + 1]
                        t[k] = reg[what] if args[a + 2 * k] == A_REG else what
                    base, count = vector(idxs, x, index_key(t, nkey), full and role == ROLE_OLD)
                    cur[d] = base
                    end[d] = base + count * width
                pre = step[P_PRE] != PRE_NONE
                if pre and entering:
                    for k in range(min(end[d] - cur[d], AHEAD * width) // width):
                        ask_ahead(rels, idxs, step, reg, cur[d] + k * width)
                entering = False
                at = cur[d]
                stop = end[d]
                fuse = step[P_FUSE]
                if fuse >= FUSE_VALUE_SECOND and full:
                    h = prog[(d + 1) * P_WIDTH + P_REL]
                    if rels[h * R_WIDTH + R_FAST] != 0:
                        fixed = step[P_B]
                        if step[P_A] == A_REG:
                            fixed = reg[fixed]
                        keys_at = rels[h * R_WIDTH + R_HKEYS]
                        size = rels[h * R_WIDTH + R_HSIZE]
                        multiplier = np.uint64(rels[h * R_WIDTH + R_MULT])
                        waiting = state[T_BUFFERED]
                        while at < stop:
                            if waiting == BUFFER:
                                if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < BUFFER:
                                    status = GROW_ROWS
                                    state[T_WHAT] = h
                                    break
                                drain(rels, h, outbit, buffer, waiting)
                                waiting = 0
                            values = u32(at)
                            upto = min((stop - at) >> 2, BUFFER - waiting)
                            if fuse == FUSE_VALUE_FIRST:
                                for i in range(upto):
                                    buffer[waiting + i] = pack(values[i], fixed)
                            else:
                                for i in range(upto):
                                    buffer[waiting + i] = pack(fixed, values[i])
                            if size > FAR:
                                for i in range(waiting, waiting + upto):
                                    prefetch(keys_at + 8 * home(buffer[i], multiplier, size))
                            waiting += upto
                            counts[p] += upto
                            ticks -= upto
                            at += 4 * upto
                        state[T_BUFFERED] = waiting
                        cur[d] = at
                        if status != DONE:
                            break
                        d = step[P_BACK]
                        continue
                offset = a + 2 * nkey
                fused = fuse != FUSE_NONE
                tested = step[P_TESTED]
                while at < stop:
                    values = u32(at)
                    if pre and at + AHEAD * width < stop:
                        ask_ahead(rels, idxs, step, reg, at + AHEAD * width)
                    at += width
                    good = True
                    for c in range(ncol):
                        how = args[offset + 2 * c]
                        what = args[offset + 2 * c + 1]
                        v = np.int64(values[c])
                        if how == A_BIND:
                            reg[what] = v
                        elif how == A_CHECK:
                            good = reg[what] == v
                        elif how == A_CONST:
                            good = what == v
                        if not good:
                            break
                    if good and not full:
                        if nkey <= 2:
                            cols = i64(idxs[x * X_WIDTH + X_COLS])
                            for k in range(nkey):
                                what = args[a + 2 * k + 1]
                                t[cols[k]] = reg[what] if args[a + 2 * k] == A_REG else what
                            for c in range(ncol):
                                t[cols[nkey + c]] = np.int64(values[c])
                        else:
                            for c in range(ncol):
                                t[c] = np.int64(values[c])
                        good = in_view(rels, env, r, find_row(rels, r, t), role)
                    if good and tested:
                        test = i64(steps + 8 * P_WIDTH * (d + 1))
                        good = passes(rels, env, test, args, reg, t)
                    if not good:
                        ticks -= 1
                        if ticks <= 0:
                            break
                        continue
                    if not fused:
                        entering = True
                        break
                    h = prog[(d + 1 + tested) * P_WIDTH + P_REL]
                    b = prog[(d + 1 + tested) * P_WIDTH + P_ARGS]
                    status = deliver(rels, env, args, b, h, reg, t, buffer, state)
                    if status != DONE:
                        at -= width
                        break
                    counts[p] += 1
                    ticks -= 1
                    if (step[P_FLAG] & FLAG_FIRST) != 0:
                        at = stop
                        break
                    if ticks <= 0:
                        break
                cur[d] = at
                if status != DONE:
                    break
                if entering:
                    if (step[P_FLAG] & FLAG_FIRST) != 0:
                        cur[d] = stop
                    d += 1 + tested
                elif at >= stop:
                    d = step[P_BACK]
            elif op == OP_MEMBER:
                if passes(rels, env, step, args, reg, t):
                    d += 1
                else:
                    d = step[P_BACK]
                    entering = False
            elif op == OP_COMPUTE:
                status = evaluate(env, args, step[P_ARGS], step[P_NCOL], reg, stack)
                if status != DONE:
                    break
                id_ = encode(env, stack[0])
                if id_ < 0:
                    status = GROW_WORDS
                    break
                reg[step[P_A]] = id_
                d += 1
            elif op == OP_COMPARE:
                status = evaluate(env, args, step[P_ARGS], step[P_NCOL], reg, stack)
                if status != DONE:
                    break
                if compare(env, step[P_FLAG], step[P_NKEY], stack[0], stack[1]):
                    d += 1
                else:
                    d = step[P_BACK]
                    entering = False
            elif op == OP_RANGE:
                # Registers of start, stop and step; kind in P_NKEY; cur is the next word.
                kind = step[P_NKEY]
                a = step[P_ARGS]
                last = decode(env, reg[args[a + 1]])
                width = decode(env, reg[args[a + 2]])
                if entering:
                    cur[d] = decode(env, reg[args[a]])
                    end[d] = 0
                entering = False
                word = cur[d]
                falling = False
                if kind == KIND_FLOAT:
                    falling = as_float(width) < 0.0
                elif kind == KIND_UNSIGNED:
                    falling = width == -1  # the step where none was given and stop < start
                else:
                    falling = width < 0
                more = end[d] == 0
                if width == 0:  # a step of nothing: the start alone
                    more = more and not compare(env, C_EQ, kind, word, last)
                    end[d] = 1
                elif falling:
                    more = more and less(env, kind, last, word)
                else:
                    more = more and less(env, kind, word, last)
                if more:
                    id_ = encode(env, word)
                    if id_ < 0:
                        status = GROW_WORDS
                        break
                    reg[step[P_A]] = id_
                    if kind == KIND_FLOAT:
                        cur[d] = float_word(as_float(word) + as_float(width))
                    else:
                        cur[d] = word + width
                        # A step past the end of the 64-bit range would come round again.
                        wrapped = (
                            less(env, kind, word, cur[d])
                            if falling
                            else less(env, kind, cur[d], word)
                        )
                        if wrapped:
                            end[d] = 1
                    entering = True
                    d += 1
                else:
                    d = step[P_BACK]
            elif op == OP_GROUP:
                if fold(rels, idxs, env, step, args, reg, t, stack):
                    id_ = encode(env, stack[0])
                    if id_ < 0:
                        status = GROW_WORDS
                        break
                    reg[step[P_FLAG]] = id_
                    d += 1
                else:
                    d = step[P_BACK]
                    entering = False
            elif op == OP_EMIT:
                status = deliver(rels, env, args, step[P_ARGS], step[P_REL], reg, t, buffer, state)
                if status != DONE:
                    break
                counts[p] += 1
                d = step[P_BACK]
                entering = False
            elif op == OP_PROVE:
                h = step[P_REL]
                done = mark(rels, env, h, reg[step[P_A]])
                if done < 0:
                    status = GROW_OUT
                    state[T_WHAT] = h
                    break
                counts[p] += 1
                d = first
                entering = False
            elif op == OP_SUPPORT:
                # One such step a body literal: its row joins the result.
                r = step[P_REL]
                a = step[P_ARGS]
                for c in range(rels[r * R_WIDTH + R_ARITY]):
                    what = args[a + 2 * c + 1]
                    t[c] = reg[what] if args[a + 2 * c] == A_REG else what
                done = mark(rels, env, r, find_row(rels, r, t))
                if done < 0:
                    status = GROW_OUT
                    state[T_WHAT] = r
                    break
                if step[P_BACK] >= 0:
                    counts[p] += 1
                    d = step[P_BACK]
                    entering = False
                else:
                    d += 1
            elif op == OP_UNIT:
                if entering:
                    d += 1
                else:
                    d = step[P_BACK]
        waiting = state[T_BUFFERED]
        if status == DONE and waiting > 0:
            h = prog[(starts[p + 1] - 1) * P_WIDTH + P_REL]
            if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < waiting:
                status = GROW_ROWS
                state[T_WHAT] = h
                draining = True
            else:
                drain(rels, h, outbit, buffer, waiting)
                state[T_BUFFERED] = 0
        if status != DONE:
            state[T_PLAN] = p
            state[T_STEP] = d
            state[T_ENTERING] = np.int64(entering)
            state[T_DRAIN] = np.int64(draining)
            return status
        p += 1
        d = -1
        draining = False
    state[T_PLAN] = p
    return DONE
