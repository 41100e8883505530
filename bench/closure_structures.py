"""Measures the data structures behind closure modules alone: changes beside building anew.

    python -m bench.closure_structures [--quick]

Every row is one graph. Building and large changes are measured three times, and the best time
counts; of single edges, each deleted and inserted again, the median and the 95th percentile are
shown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.closure import Components, Reachability

Edges = NDArray[np.uint32]
SINGLES = 300


def distinct(edges: NDArray[Any], count: int, rng: np.random.Generator) -> Edges:
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    rng.shuffle(edges)
    return edges[:count].astype(np.uint32)


def digraph(nodes: int, edges: int, seed: int = 1) -> Edges:
    rng = np.random.default_rng(seed)
    return distinct(rng.integers(0, nodes, (2 * edges, 2)), edges, rng)


def dag(nodes: int, edges: int, seed: int = 1) -> Edges:
    rng = np.random.default_rng(seed)
    return distinct(np.sort(rng.integers(0, nodes, (2 * edges, 2)), axis=1), edges, rng)


def chains(nodes: int, length: int, seed: int = 1) -> Edges:
    """Chains whose node ids and edges are in random order."""
    rng = np.random.default_rng(seed)
    ids, starts = rng.permutation(nodes), np.flatnonzero(np.arange(nodes) % length != length - 1)
    return distinct(np.stack([ids[starts], ids[starts + 1]], axis=1), nodes, rng)


def tree(nodes: int, seed: int = 1) -> Edges:
    rng = np.random.default_rng(seed)
    parents = (rng.random(nodes - 1) * np.arange(1, nodes)).astype(np.int64)
    return distinct(np.stack([parents, np.arange(1, nodes)], axis=1), nodes, rng)


def groups(sizes: list[int], extra: float, seed: int = 1) -> Edges:
    """A tree for every group, and some additional edges inside it for every node."""
    rng = np.random.default_rng(seed)
    parts, first = [], 0
    for size in sizes:
        parts.append(tree(size, seed + size).astype(np.int64) + first)
        parts.append(rng.integers(first, first + size, (int(size * extra), 2)))
        first += size
    return distinct(np.concatenate(parts), first * 10, rng)


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Seconds on one core, and the result: waiting for a turn on a busy machine does not count."""
    began = time.thread_time()
    result = work(*given)
    return time.thread_time() - began, result


def measure(name: str, kind: Callable[[], Any], edges: Edges) -> str:
    """One row: build, list all pairs, change and change back."""
    rng = np.random.default_rng(7)
    builds = []
    for _ in range(3):
        closure = kind()
        builds.append(timed(closure.insert, edges)[0])
    build, listing = min(builds), min(timed(closure.pairs)[0] for _ in range(3))
    cells = [f"{closure.size:,}", f"{closure.memory() / 2**20:,.1f}"]
    cells += [f"{build * 1e3:,.1f}", f"{max(0.0, build - listing) * 1e3:,.1f}"]
    for count in (min(1000, len(edges) // 2), len(edges) // 4):
        some = edges[rng.choice(len(edges), count, replace=False)]
        times = []
        for _ in range(3):
            (gone, went), (back, came) = timed(closure.delete, some), timed(closure.insert, some)
            assert len(went) == len(came)
            times.append((gone, back))
        gone, back = np.min(times, axis=0)
        cells += [f"{gone * 1e3:,.1f} ({build / gone:,.1f}x)", f"{back * 1e3:,.1f}"]
    singles = []
    for edge in edges[rng.choice(len(edges), min(SINGLES, len(edges)), replace=False)]:
        singles.append(timed(closure.delete, edge[None])[0])
        closure.insert(edge[None])
    cells.append(f"{np.median(singles) * 1e3:.3f} / {np.quantile(singles, 0.95) * 1e3:.3f}")
    return f"| {name} | {len(edges):,} | " + " | ".join(cells) + " |"


def workloads(quick: bool) -> list[tuple[str, Callable[[], Any], Edges]]:
    part = 20 if quick else 1
    sizes = [int(size) // (4 if quick else 1) for size in np.linspace(80, 2000, 10)]
    return [
        ("random DAG", Reachability, dag(10_000 // part, 100_000 // part)),
        ("random digraph", Reachability, digraph(1000 // part, 10_000 // part)),
        ("sparse digraph", Reachability, digraph(20_000 // part, 22_000 // part)),
        ("chains of ten", Reachability, chains(1_000_000 // part, 10)),
        ("tree, downwards", Reachability, tree(300_000 // part)),
        ("tree, upwards", Reachability, tree(300_000 // part)[:, ::-1]),
        ("ten components, few cycles", Components, groups(sizes, 0.3)),
        ("ten components, many cycles", Components, groups(sizes, 3)),
        ("small components", Components, groups([10] * (50_000 // part), 0.5)),
    ]


HEAD = (
    *("graph", "edges", "pairs", "MiB", "build", "without listing pairs", "delete 1,000"),
    *("and back", "delete a quarter", "and back", "delete one: median / 95 %"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small graphs")
    options = parser.parse_args(arguments)
    every = workloads(options.quick)
    for _, kind, _ in every:
        measure("", kind, digraph(200, 400))  # kernels are loaded, or compiled
    print("Milliseconds; in brackets, how often the change fits into building.\n")
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|")
    for name, kind, edges in every:
        print(measure(name, kind, edges), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
