"""Strongly connected components and cycles, without recursion."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping


def components(successors: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Strongly connected components, each after those it points to (Tarjan 1972).

    >>> components({"p": ["q", "r"], "q": ["p"], "r": []})
    [['r'], ['p', 'q']]
    """
    order = {node: i for i, node in enumerate(successors)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for root in successors:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, rest = work[-1]
            for after in rest:
                if after not in index:
                    index[after] = low[after] = len(index)
                    open_nodes.append(after)
                    is_open.add(after)
                    work.append((after, iter(successors[after])))
                    break
                if after in is_open:
                    low[node] = min(low[node], index[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    start = len(open_nodes) - 1
                    while open_nodes[start] != node:
                        start -= 1
                    component = open_nodes[start:]
                    del open_nodes[start:]
                    is_open.difference_update(component)
                    found.append(sorted(component, key=order.__getitem__))
    return found


def shortest_path(
    successors: Mapping[str, Iterable[str]], start: str, goal: str, within: frozenset[str]
) -> list[str]:
    """The nodes of a shortest path, including start and goal; [] if no path exists."""
    if start == goal:
        return [start]
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for after in successors[node]:
            if after not in within or after in came_from or after == start:
                continue
            came_from[after] = node
            if after == goal:
                path = [goal]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            queue.append(after)
    return []
