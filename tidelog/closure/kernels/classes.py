"""Classes of an equivalence relation: the connected parts of a graph, directions set aside.

A class is named by one of its nodes, its root, and `ring` leads from node to node in it; a node
without edges is in no class and has the root -1. A change is planned before it is made. The
plan lists the nodes of classes, part by part: parts that come together, or into which a class
falls. A part is lone if it is a node that is in no class on the finer side.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tidelog.closure.kernels.array_views import bare
from tidelog.closure.kernels.lists import drop
from tidelog.closure.kernels.nodes import lower, pack, upper

MET, FIRST, SECOND, UNKNOWN = range(4)  # how a search ended; or which end is cut off


@njit
def holder(parent, x):
    """The set that x is in. Entries of `parent` are numbers plus one."""
    while parent[x] != x + 1:
        parent[x] = parent[parent[x] - 1]
        x = np.int64(parent[x]) - 1
    return x


@njit
def enter(classes, parent, weight, touched, n, x):
    """The class of node x, or the node itself, in a set; returns it, and how many are in sets."""
    c = np.int64(classes.root[x])
    if c < 0:
        c = np.int64(x)
    if parent[c] == 0:
        parent[c] = c + 1
        weight[c] = classes.members[c] if classes.root[x] >= 0 else 1
        touched[n] = c
        n += 1
    return c, n


@njit
def are_inside(classes, pairs, n):
    """Is each edge between nodes of one class?"""
    for i in range(n):
        c = classes.root[upper(pairs[i])]
        if c < 0 or c != classes.root[lower(pairs[i])]:
            return False
    return True


@njit(cache=True)
def unite(bundle, ways, parents, weights, keys):
    """Bring the classes together that edges connect; `keys` get the pairs (set, class).

    `parents` comes cleared and is left so. Returns how many keys there are: none, if each edge
    lies in one class.
    """
    classes, parent, weight, touched = bare(bundle), bare(parents), bare(weights), bare(keys)
    n = 0
    if are_inside(classes, bare(ways), len(ways)):
        return n
    for i in range(len(ways)):
        c, n = enter(classes, parent, weight, touched, n, upper(ways[i]))
        d, n = enter(classes, parent, weight, touched, n, lower(ways[i]))
        c, d = holder(parent, c), holder(parent, d)
        if c != d:
            if weight[c] < weight[d]:
                c, d = d, c
            parent[d] = c + 1
            weight[c] += weight[d]
    for i in range(n):
        c = np.int64(touched[i])
        touched[i] = pack(holder(parent, c), c)
    for i in range(n):
        parent[lower(touched[i])] = 0
    return n


@njit
def next_class(classes, keys, i, n):
    """The end of the classes of one set, from keys[i] on, and the number of their nodes."""
    held = upper(keys[i])
    total = np.int64(0)
    while i < n and upper(keys[i]) == held:
        c = lower(keys[i])
        total += 1 if classes.root[c] < 0 else np.int64(classes.members[c])
        i += 1
    return i, total


@njit(cache=True)
def measure_union(bundle, keys):
    """How many nodes, parts and classes a union has, and how many pairs come of it."""
    classes, sets, n = bare(bundle), bare(keys), len(keys)
    nodes, parts, found, pairs = np.int64(0), 0, 0, np.int64(0)
    i = 0
    while i < n:
        end, total = next_class(classes, sets, i, n)
        if end - i > 1 or classes.root[lower(keys[i])] < 0:
            nodes += total
            parts += end - i
            found += 1
            pairs += total * total
            for k in range(i, end):
                c = lower(keys[k])
                if classes.root[c] >= 0:
                    pairs -= np.int64(classes.members[c]) * classes.members[c]
        i = end
    return nodes, parts, found, pairs


@njit(cache=True)
def plan_union(bundle, keys, plan):
    """Fill in the plan that `measure_union` measured."""
    classes, sets, n, p = bare(bundle), bare(keys), len(keys), bare(plan)
    nodes, parts, found = np.int64(0), 0, 0
    i = 0
    while i < n:
        end, _ = next_class(classes, sets, i, n)
        if end - i > 1 or classes.root[lower(keys[i])] < 0:
            for k in range(i, end):
                c = lower(keys[k])
                p.lone[parts] = classes.root[c] < 0
                x = c
                while True:
                    p.nodes[nodes] = x
                    nodes += 1
                    x = np.int64(classes.ring[x])
                    if x == c:
                        break
                parts += 1
                p.parts[parts] = nodes
            found += 1
            p.classes[found] = parts
        i = end


@njit(cache=True)
def plan_all(bundle, count, plan):
    """All classes, as if every node were lone; returns how many classes there are."""
    classes, p = bare(bundle), bare(plan)
    nodes, found = 0, 0
    for c in range(count):
        if classes.root[c] == c:
            x = c
            while True:
                p.nodes[nodes] = x
                p.lone[nodes] = 1
                nodes += 1
                p.parts[nodes] = nodes
                x = classes.ring[x]
                if x == c:
                    break
            found += 1
            p.classes[found] = nodes
    return found


@njit(cache=True)
def write_pairs(plan, ids, buffer, flat):
    """Pairs of nodes of one class that are not in one part, or the same lone node.

    Returns how many there are; more than there is room for means that the plan is wrong.
    """
    found = len(plan.classes) - 1
    p, names, pairs = bare(plan), bare(buffer), bare(flat)
    for i in range(p.parts[p.classes[found]]):
        names[i] = ids[p.nodes[i]]
    k = np.int64(0)
    for c in range(found):
        first, end = p.parts[p.classes[c]], p.parts[p.classes[c + 1]]
        for part in range(p.classes[c], p.classes[c + 1]):
            start = p.parts[part]
            skip = start if p.lone[part] else p.parts[part + 1]
            for i in range(start, p.parts[part + 1]):
                if k + (start - first) + (end - skip) > len(flat) // 2:
                    return k + len(flat)
                for j in range(first, start):
                    pairs[2 * k] = names[i]
                    pairs[2 * k + 1] = names[j]
                    k += 1
                for j in range(skip, end):
                    pairs[2 * k] = names[i]
                    pairs[2 * k + 1] = names[j]
                    k += 1
    return k


@njit
def form_class(classes, p, first, end):
    """The nodes from one place of the plan to another are a class."""
    c = p.nodes[first]
    for i in range(first, end):
        classes.root[p.nodes[i]] = c
        classes.ring[p.nodes[i]] = p.nodes[i + 1] if i + 1 < end else c
    classes.members[c] = end - first


@njit(cache=True)
def make_union(bundle, plan):
    classes, p = bare(bundle), bare(plan)
    for c in range(len(plan.classes) - 1):
        form_class(classes, p, p.parts[p.classes[c]], p.parts[p.classes[c + 1]])


@njit(cache=True)
def make_parts(bundle, plan, pieces):
    """The parts are classes now; lone nodes are in none. Leaves `pieces` cleared."""
    classes, p = bare(bundle), bare(plan)
    found = len(plan.classes) - 1
    for part in range(p.classes[found]):
        form_class(classes, p, p.parts[part], p.parts[part + 1])
        if p.lone[part]:
            classes.root[p.nodes[p.parts[part]]] = -1
    for i in range(p.parts[p.classes[found]]):
        pieces[p.nodes[i]] = 0


@njit
def look_around(lists, x, queue, n, num, mine, other):
    """Enter the neighbours of x into the queue; returns its end, negative if it met the other."""
    for j in range(lists.at[x], lists.at[x] + lists.used[x]):
        y = lists.data[j]
        if num[y] == other:
            return -n
        if num[y] == 0:
            num[y] = mine
            queue[n] = y
            n += 1
    return n


@njit
def search(out, into, x, y, s, budget):
    """Are x and y still connected? A search from both ends; the one that did less goes on.

    Returns how it ended, how many nodes lie on the side that is cut off (in s.frames for the
    first end, in s.path for the second), and the steps taken.
    """
    s.frames[0], s.path[0] = x, y
    s.num[x], s.num[y] = 1, 2
    i, k, n, m = 0, 0, 1, 1
    steps, other_steps = 0, 0
    ended = UNKNOWN
    while ended == UNKNOWN and steps + other_steps < budget:
        if i == n:
            ended = FIRST
        elif k == m:
            ended = SECOND
        elif steps <= other_steps:
            z = s.frames[i]
            i += 1
            steps += 1 + out.used[z] + into.used[z]
            n = look_around(out, z, s.frames, n, s.num, 1, 2)
            if n > 0:
                n = look_around(into, z, s.frames, n, s.num, 1, 2)
            if n < 0:
                n, ended = -n, MET
        else:
            z = s.path[k]
            k += 1
            other_steps += 1 + out.used[z] + into.used[z]
            m = look_around(out, z, s.path, m, s.num, 2, 1)
            if m > 0:
                m = look_around(into, z, s.path, m, s.num, 2, 1)
            if m < 0:
                m, ended = -m, MET
    for j in range(n):
        s.num[s.frames[j]] = 0
    for j in range(m):
        s.num[s.path[j]] = 0
    return ended, n if ended == FIRST else m, steps + other_steps


@njit
def flood(classes, out, into, c, s, piece, pieces):
    """Number the pieces of class c; returns how many pieces have numbers now."""
    x = c
    while True:
        if s.num[x] == 0:
            pieces += 1
            s.num[x] = 1
            s.frames[0] = x
            i, n = 0, 1
            while i < n:
                z = s.frames[i]
                piece[z] = pieces
                i += 1
                n = look_around(out, z, s.frames, n, s.num, 1, 2)
                n = look_around(into, z, s.frames, n, s.num, 1, 2)
        x = np.int64(classes.ring[x])
        if x == c:
            break
    while True:
        s.num[x] = 0
        x = np.int64(classes.ring[x])
        if x == c:
            return pieces


@njit
def is_asleep(out, into, x):
    return out.used[x] == 0 and into.used[x] == 0


@njit
def drop_edge(out, into, x, y):
    """Returns how many of the two nodes have no edge any more."""
    drop(out, x, y)
    drop(into, y, x)
    return np.int64(is_asleep(out, into, x)) + np.int64(x != y and is_asleep(out, into, y))


@njit
def cut_class(classes, out, into, pairs, keys, first, end, s, piece, pieces):
    """Remove the edges keys[first:end] of one class one by one, and number what is cut off.

    If searches cost more than one look at the whole class, they are given up for that.
    Returns the number of pieces, how many nodes have no edges any more, and whether it shows.
    """
    c = upper(keys[first])
    budget = 4 * np.int64(classes.members[c])
    before, asleep = pieces, 0
    i = first
    while i < end and budget > 0:
        x, y = upper(pairs[lower(keys[i])]), lower(pairs[lower(keys[i])])
        asleep += drop_edge(out, into, x, y)
        i += 1
        if piece[x] != piece[y] or x == y:
            continue
        ended, n, steps = search(out, into, x, y, s, budget)
        budget -= steps
        if ended == UNKNOWN:
            budget = 0
        elif ended != MET:
            pieces += 1
            for j in range(n):
                piece[s.frames[j] if ended == FIRST else s.path[j]] = pieces
    if budget > 0:
        return pieces, asleep, pieces > before or asleep > 0
    while i < end:
        x, y = upper(pairs[lower(keys[i])]), lower(pairs[lower(keys[i])])
        asleep += drop_edge(out, into, x, y)
        i += 1
    before = pieces
    pieces = flood(classes, out, into, c, s, piece, pieces)
    changed = pieces > before + 1
    if not changed:
        x = c
        while True:
            piece[x] = 0
            x = np.int64(classes.ring[x])
            if x == c:
                break
    return pieces, asleep, changed


@njit(cache=True)
def list_classes(bundle, ways, keys):
    """For every edge the pair (class, its place)."""
    for i in range(len(ways)):
        keys[i] = pack(bundle.root[upper(ways[i])], i)


@njit(cache=True)
def cut(bundle, out, into, ways, keys, scratch, marks):
    """Remove edges, given by sorted keys; the classes that changed are left in `keys`.

    Returns how many these are, the number of their nodes, and how many nodes have no edges any
    more.
    """
    classes, ahead, behind = bare(bundle), bare(out), bare(into)
    pairs, by_class, s, piece = bare(ways), bare(keys), bare(scratch), bare(marks)
    i, found, pieces, asleep, nodes = 0, 0, 0, 0, np.int64(0)
    while i < len(keys):
        end = i
        c = upper(keys[i])
        while end < len(keys) and upper(keys[end]) == c:
            end += 1
        pieces, more, changed = cut_class(
            classes, ahead, behind, pairs, by_class, i, end, s, piece, pieces
        )
        asleep += more
        if changed:
            keys[found] = c
            found += 1
            nodes += classes.members[c]
        i = end
    return found, nodes, asleep


@njit(cache=True)
def list_pieces(bundle, changed, marks, keys, ends):
    """The nodes of classes that changed, as pairs (piece, node), sorted class by class."""
    classes = bare(bundle)
    n = 0
    for i in range(len(changed)):
        c = np.int64(changed[i])
        first = n
        x = c
        while True:
            keys[n] = pack(marks[x], x)
            n += 1
            x = np.int64(classes.ring[x])
            if x == c:
                break
        keys[first:n].sort()
        ends[i] = n


@njit(cache=True)
def plan_pieces(out, into, keys, ends, plan):
    """The plan of classes that fall apart; returns how many pairs go with them."""
    p = bare(plan)
    i, parts, pairs = 0, 0, np.int64(0)
    for c in range(len(ends)):
        total = ends[c] - i
        pairs += total * total
        while i < ends[c]:
            first = i
            held = upper(keys[i])
            p.lone[parts] = is_asleep(out, into, lower(keys[i]))
            while i < ends[c] and upper(keys[i]) == held:
                p.nodes[i] = lower(keys[i])
                i += 1
            if not p.lone[parts]:
                pairs -= (i - first) * (i - first)
            parts += 1
            p.parts[parts] = i
        p.classes[c + 1] = parts
    return pairs


@njit(cache=True)
def count_edges(bundle, out, roots):
    """How many edges the classes have."""
    n = 0
    for c in roots:
        x = c
        while True:
            n += out.used[x]
            x = bundle.ring[x]
            if x == c:
                break
    return n


@njit(cache=True)
def list_edges(bundle, out, ids, roots, edges):
    """The edges that `count_edges` counted."""
    n = 0
    for c in roots:
        x = c
        while True:
            for j in range(out.at[x], out.at[x] + out.used[x]):
                edges[n, 0] = ids[x]
                edges[n, 1] = ids[out.data[j]]
                n += 1
            x = bundle.ring[x]
            if x == c:
                break
