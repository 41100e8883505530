"""The interpreter of join plans: nested loops over contiguous matches, steps as data.

A plan is a run of steps. Generators (scan, lookup, range) bind registers once per
match; filters (member, compare, compute, take, make, group) let a binding pass or not; the last
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

from tidelog.local.kernels.arithmetic import compare, evaluate, float_word, is_nan, less
from tidelog.local.kernels.bulk_emission import (
    is_copied,
    matches,
    put,
    put_matches,
    put_rows,
    put_seen,
    streams,
)
from tidelog.local.kernels.emission import deliver, drain, mark
from tidelog.local.kernels.fold import fold
from tidelog.local.kernels.hashing import find_row
from tidelog.local.kernels.layout import (
    A_BIND,
    A_CHECK,
    A_CONST,
    A_REG,
    BUFFER,
    C_EQ,
    DONE,
    E_OUTBIT,
    E_ROUNDS,
    E_TICKS,
    FLAG_FIRST,
    FOUND,
    FUSE_NONE,
    GROW_OUT,
    GROW_ROWS,
    GROW_TERMS,
    GROW_WORDS,
    KIND_FLOAT,
    KIND_UNSIGNED,
    OP_COMPARE,
    OP_COMPUTE,
    OP_EMIT,
    OP_FOUND,
    OP_GROUP,
    OP_LOOKUP,
    OP_MAKE,
    OP_MEMBER,
    OP_OLDER,
    OP_PROVE,
    OP_RANGE,
    OP_SCAN,
    OP_SUPPORT,
    OP_TAKE,
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
    P_PRE_N,
    P_REL,
    P_ROLE,
    P_TESTED,
    P_WIDTH,
    PAUSE,
    PRE_MEMBER,
    R_AGE,
    R_ARITY,
    R_CAP,
    R_DLIST,
    R_FULL,
    R_N,
    R_NLIST,
    R_OLD,
    R_ROWS,
    R_START,
    R_WIDTH,
    ROLE_DELTA,
    ROLE_HEADS,
    ROLE_NEG_DELTA,
    ROLE_OLD,
    T_BUFFERED,
    T_DRAIN,
    T_ENTERING,
    T_PLAN,
    T_STEP,
    T_WHAT,
    X_COLS,
    X_WIDTH,
)
from tidelog.local.kernels.pointers import as_float, i32, i64, u32, u64
from tidelog.local.kernels.rounds import next_round
from tidelog.local.kernels.term_table import made_of, taken_apart
from tidelog.local.kernels.views import (
    ask_ahead,
    holds,
    in_view,
    next_key,
    pair_passes,
    passes,
    worth_asking,
)
from tidelog.local.kernels.words import BIAS, decode, encode

AHEAD = 8  # rows between asking for a cache line and using it
ROUND = 16  # steps that take about as long as the step to the next round


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
            if ticks < 0:
                status = PAUSE
                break
            step = i64(steps + 8 * P_WIDTH * d)
            op = step[P_OP]
            if op == OP_SCAN:
                r = step[P_REL]
                role = step[P_ROLE]
                delta = role == ROLE_DELTA or role == ROLE_HEADS
                given = r * R_WIDTH + R_DLIST
                if role == ROLE_NEG_DELTA:
                    delta = True
                    given = r * R_WIDTH + R_NLIST
                if entering:
                    if delta:
                        cur[d] = rels[given + 1]
                        end[d] = rels[given + 2]
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
                listed = delta and rels[given] != 0
                full = rels[r * R_WIDTH + R_FULL + role] != 0
                fused = step[P_FUSE] != FUSE_NONE
                tested = step[P_TESTED]
                pre = not listed and worth_asking(rels, idxs, step)
                if pre and entering:
                    for k in range(cur[d], min(cur[d] + AHEAD, end[d])):
                        ask_ahead(rels, idxs, step, reg, rows_at + 4 * k * arity)
                entering = False
                following = d + 1 + tested
                inner = (
                    not fused
                    and (step[P_FLAG] & FLAG_FIRST) == 0
                    and prog[following * P_WIDTH + P_BACK] == d
                    and streams(rels, env, steps, following)
                )
                i = cur[d]
                stop = end[d]
                h = prog[following * P_WIDTH + P_REL]
                if fused and tested == 0 and is_copied(rels, args, step, h):
                    b = prog[following * P_WIDTH + P_ARGS]
                    among = rels[given] if listed else 0
                    waiting = state[T_BUFFERED]
                    while i < stop and ticks > 0:
                        if waiting == BUFFER:
                            if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < BUFFER:
                                status = GROW_ROWS
                                state[T_WHAT] = h
                                break
                            drain(rels, h, outbit, buffer, waiting)
                            waiting = 0
                        upto = min(stop - i, BUFFER - waiting)
                        waiting, seen = put_rows(
                            rels, env, step, args, b, h, reg, among, buffer, waiting, i, upto
                        )
                        i += upto
                        counts[p] += seen
                        ticks -= upto
                    state[T_BUFFERED] = waiting
                    cur[d] = i
                    if status != DONE:
                        break
                    if i >= stop:
                        d = step[P_BACK]
                    continue
                while i < stop:
                    row = np.int64(u32(rels[given])[i]) if listed else i
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
                    if inner:  # no step of its own for every row, as long as the buffer has room
                        many = put_matches(
                            rels, idxs, env, steps, following, args, reg, t, buffer, state
                        )
                        if many >= 0:
                            counts[p] += many
                            ticks -= many + 1
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
                    base, count = matches(rels, idxs, step, args, reg, t)
                    cur[d] = base
                    end[d] = base + count * width
                pre = worth_asking(rels, idxs, step)
                if pre and entering:
                    for k in range(min(end[d] - cur[d], AHEAD * width) // width):
                        ask_ahead(rels, idxs, step, reg, cur[d] + k * width)
                entering = False
                at = cur[d]
                stop = end[d]
                if streams(rels, env, steps, d):
                    h = prog[(d + 1) * P_WIDTH + P_REL]
                    waiting = state[T_BUFFERED]
                    while at < stop:
                        if waiting == BUFFER:
                            if rels[h * R_WIDTH + R_CAP] - rels[h * R_WIDTH + R_N] < BUFFER:
                                status = GROW_ROWS
                                state[T_WHAT] = h
                                break
                            drain(rels, h, outbit, buffer, waiting)
                            waiting = 0
                        upto = min((stop - at) >> 2, BUFFER - waiting)
                        if full:
                            put(rels, h, step, reg, buffer, waiting, at, upto)
                            done = upto
                        else:
                            done = put_seen(
                                rels, idxs, env, h, step, args, reg, t, buffer, waiting, at, upto
                            )
                        waiting += done
                        counts[p] += done
                        ticks -= upto
                        at += 4 * upto
                    state[T_BUFFERED] = waiting
                    cur[d] = at
                    if status != DONE:
                        break
                    d = step[P_BACK]
                    continue
                offset = a + 2 * nkey
                fused = step[P_FUSE] != FUSE_NONE
                tested = step[P_TESTED]
                test = i64(steps + 8 * P_WIDTH * (d + 1))
                by_pair = tested != 0 and step[P_PRE] == PRE_MEMBER and step[P_PRE_N] == 2
                while at < stop:
                    values = u32(at)
                    if pre and at + AHEAD * width < stop:
                        ask_ahead(rels, idxs, step, reg, at + AHEAD * width)
                    good = True
                    if by_pair:  # most matches fail the test: bind only those that pass
                        good = pair_passes(rels, env, step, test, next_key(step, reg, at))
                    at += width
                    if not good:
                        ticks -= 1
                        if ticks <= 0:
                            break
                        continue
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
                        good = holds(rels, env, r, t, role)
                    if good and tested and not by_pair:
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
            elif op == OP_OLDER:
                # The body fact t must have come before the head, whose row is in P_A.
                r = step[P_REL]
                a = step[P_ARGS]
                for c in range(rels[r * R_WIDTH + R_ARITY]):
                    what = args[a + 2 * c + 1]
                    t[c] = reg[what] if args[a + 2 * c] == A_REG else what
                age = i32(rels[r * R_WIDTH + R_AGE])[find_row(rels, r, t)]
                if age < i32(rels[step[P_B] * R_WIDTH + R_AGE])[reg[step[P_A]]]:
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
            elif op == OP_TAKE:
                # The term is in the register P_A, the way it must be made in P_NKEY.
                term, way, a = reg[step[P_A]], step[P_NKEY], step[P_ARGS]
                if taken_apart(env, term, way, args, a, step[P_NCOL], reg):
                    d += 1
                else:
                    d = step[P_BACK]
                    entering = False
            elif op == OP_MAKE:
                way, a = step[P_NKEY], step[P_ARGS]
                number = made_of(env, way, args, a, step[P_NCOL], reg, stack)
                if number < 0:
                    status = GROW_TERMS
                    break
                reg[step[P_A]] = number + BIAS
                d += 1
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
                if kind == KIND_FLOAT and (is_nan(word) or is_nan(last) or is_nan(width)):
                    more = False
                elif width == 0:  # a step of nothing: the start alone
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
                        if cur[d] == word:  # the step is too small to change the value
                            end[d] = 1
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
                found = fold(rels, idxs, env, step, args, reg, t, stack)
                ticks -= stack[1]
                if found:
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
            elif op == OP_FOUND:
                counts[p] += 1
                state[T_WHAT] = d
                d = step[P_BACK]
                entering = False
                status = FOUND
                break
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
        more = p == plans and env[E_ROUNDS] != 0
        if more and next_round(relations, indexes, environment, scratch):
            ticks -= ROUND
            p = np.int64(0)
    state[T_PLAN] = p
    return DONE
