"""The scenes: the workloads of `make bench` and the papers' cases, with changes for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from bench import workloads
from bench.data import STREAMS, Facts, Rows, distinct
from bench.plain import parse_plain
from bench.updates.changes import Change, commits, one_by_one, share
from bench.workloads import Workload, recorded

Shape = Literal["there and back", "one way"]
# What a target of the project refers to.
Case = Literal["alternative proofs", "same part", "rules", "other"]


@dataclass(frozen=True)
class Scene:
    """A program with facts, and changes that are made one after the other.

    Changes there and back leave the facts as they were; `steps` names both. The best time of
    several counts where all changes are alike, the median otherwise. `still` has facts that affect
    no others: algorithms that count derivations do so in its first change.
    """

    name: str
    title: str
    steps: tuple[str, ...]
    program: str
    facts: Facts
    changes: tuple[Change, ...]
    shape: Shape = "there and back"
    best: bool = False
    case: Case = "other"
    still: Change | None = None

    @property
    def given(self) -> int:
        return sum(len(rows) for rows in self.facts.values())

    @property
    def varied(self) -> bool:
        """Whether there are so many changes that some can be left out."""
        return self.shape == "there and back" and not self.best

    @property
    def one_by_one(self) -> bool:
        """Whether each change is of one fact. Its plans can exist beforehand; those of a rule
        cannot."""
        return self.varied and self.case != "rules"


ONE = ("delete 1 fact", "insert it again")
PERCENT = ("delete 1%", "insert it again")
RULE = ("remove 1 rule", "add it again")


def single(
    name: str,
    title: str,
    program: str,
    facts: Facts,
    quick: bool,
    case: Case = "other",
    among: Facts | None = None,
) -> Scene:
    """Single facts, drawn from `among` or from all."""
    changes = one_by_one(among or facts, 4 if quick else 22, seed=11)
    return Scene(f"{name}-fact", title, ONE, program, facts, changes, case=case)


def percent(name: str, title: str, program: str, facts: Facts) -> Scene:
    changes = 24 * (share(facts, 0.01, seed=12),)
    return Scene(f"{name}-percent", title, PERCENT, program, facts, changes, best=True)


@cache
def of_make_bench(quick: bool) -> dict[str, Workload]:
    return {workload.name: workload for workload in workloads.workloads(quick)}


def plain(quick: bool, *, known: str, name: str) -> list[Scene]:
    """A workload of `make bench`: single facts, and 1% of all."""
    w = of_make_bench(quick)[known]
    return [
        single(name, w.title, w.program, w.facts, quick),
        percent(name, w.title, w.program, w.facts),
    ]


def claros_facts(quick: bool) -> Facts:
    """Facts for every relation of Claros, because the recorded ones fire only 18 of its rules."""
    rng = np.random.default_rng(15)
    constants, each = (500, 2) if quick else (5000, 20)
    arities = parse_plain(recorded("claros")).arities
    return {
        name: distinct(rng.integers(constants, size=(each, arity)))
        for name, arity in arities.items()
    }


def claros(quick: bool) -> list[Scene]:
    title = "Claros' 1,337 rules on generated facts"
    program, facts = recorded("claros"), claros_facts(quick)
    return [
        single("claros-generated", title, program, facts, quick),
        percent("claros-generated", title, program, facts),
    ]


def rules(quick: bool) -> list[Scene]:
    """Rules of Claros, one at a time."""
    program = recorded("claros")
    texts = [line for line in program.splitlines() if ":-" in line]
    picked = np.random.default_rng(13).choice(texts, 6 if quick else 52, replace=False)
    changes = tuple(Change(rules_gone=(text,)) for text in picked.tolist())
    title = "Claros' 1,337 rules on generated facts"
    facts = claros_facts(quick)
    return [Scene("claros-rule", title, RULE, program, facts, changes, case="rules")]


CLIQUES = """
.decl same(x: number, y: number)
.input same
.output same
same(y, x) :- same(x, y).
same(x, z) :- same(x, y), same(y, z).
"""


def cliques(quick: bool, *, density: str) -> list[Scene]:
    """A symmetric and transitive relation (Motik et al. 2015, section 5, and UOBM's home towns).
    Deleted facts keep a proof, their explicit inverse, except in `split`: there each clique is held
    together by a tree of explicit facts, and falls apart."""
    members, count = (12, 2) if quick else (80, 10)
    rng = np.random.default_rng(14)
    parts = []
    for clique in range(count):
        if density == "dense":
            x, y = np.triu_indices(members, 1)
            half = rng.random(len(x)) < 0.5
            pairs = np.column_stack([x[half], y[half]])
        else:
            places = np.arange(1, members)
            pairs = np.column_stack([places - 1, places])
        parts.append(pairs + clique * members)
    one_way: Rows = np.concatenate(parts).astype(np.int64)
    split = density == "split"
    explicit = one_way if split else np.concatenate([one_way, one_way[:, ::-1]])
    title = f"{count} cliques of {members}, explicit facts {density}"
    if split:
        title = f"{count} cliques of {members}, which fall apart"
    case: Case = "other" if split else "alternative proofs"
    among = {"same": one_way}
    facts = {"same": np.ascontiguousarray(explicit)}
    return [single(f"clique-{density}", title, CLIQUES, facts, quick, case, among)]


def chain_of_rules(quick: bool, *, loop: bool) -> list[Scene]:
    """The example of Motik et al. (2015), section 1: C_1 from A and from B, C_i from C_{i-1}.
    Strata separate the C_i, and then even DRed stops at C_1; with a rule from C_n back to C_1 all
    are one stratum."""
    n = 40 if quick else 1000
    lines = [f".decl c{i}(x: number)" for i in range(1, n + 1)]
    lines += [".decl a(x: number)", ".decl b(x: number)", ".input a", ".input b"]
    lines += [f".output c{n}", "c1(x) :- a(x).", "c1(x) :- b(x)."]
    lines += [f"c{i}(x) :- c{i - 1}(x)." for i in range(2, n + 1)]
    lines += [f"c1(x) :- c{n}(x)."] if loop else []
    name = "chain-loop" if loop else "chain-rules"
    title = f"chain of {n:,} rules" + (", closed" if loop else "")
    case: Case = "alternative proofs" if loop else "other"
    return [chain(name, title, "\n".join(lines), {}, quick, case)]


CHAIN = """
.decl a(x: number)
.decl b(x: number)
.decl next(i: number, j: number)
.decl c(i: number, x: number)
.input a
.input b
.input next
.output c
c(1, x) :- a(x).
c(1, x) :- b(x).
c(j, x) :- c(i, x), next(i, j).
"""


def chain_of_facts(quick: bool) -> list[Scene]:
    """The same example with i as an argument."""
    n = 40 if quick else 1000
    places = np.arange(1, n, dtype=np.int64)
    steps = {"next": np.column_stack([places, places + 1])}
    title = f"chain of {n:,} facts"
    return [chain("chain-facts", title, CHAIN, steps, quick, "alternative proofs")]


def chain(
    name: str, title: str, program: str, facts: Facts, quick: bool, case: Case = "other"
) -> Scene:
    things = np.arange(5 if quick else 25, dtype=np.int64).reshape(-1, 1)
    among = {"a": things}
    return single(name, title, program, {**facts, "a": things, "b": things}, quick, case, among)


NODES = 10  # of a component; its 9 edges make 45 paths
SIZES = {False: (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000), True: (1_000, 10_000)}


def components(quick: bool, *, size: int) -> list[Scene]:
    """Many chains of ten nodes; an edge in the middle of one is deleted, which changes 26 facts."""
    count = size // 54
    starts = NODES * np.arange(count, dtype=np.int64)
    sources = (starts[:, None] + np.arange(NODES - 1)).ravel()
    edges = {"edge": np.column_stack([sources, sources + 1])}
    middle = starts + NODES // 2 - 1
    among = {"edge": np.column_stack([middle, middle + 1])}
    name, title = f"components-{size}", f"closure, {count:,} chains of {NODES} nodes"
    program = workloads.text("closure_linear")
    return [single(name, title, program, edges, quick, "same part", among)]


def stream(quick: bool, *, name: str) -> list[Scene]:
    """A recorded stream, commit by commit; the first commit fills an empty database."""
    (path,) = (STREAMS / name).glob("*.changes")
    every = commits(path.read_text(encoding="utf-8").splitlines())
    changes = every[:4] if quick else every
    steps = ("one commit",)
    title = f"stream of {name}"
    return [Scene(f"stream-{name}", title, steps, recorded(name), {}, changes, "one way")]


def scenes(quick: bool = False) -> dict[str, Callable[[], list[Scene]]]:
    """All scenes, by the name of what changes in them; each is built when it is its turn."""
    known = {
        "random": "random-linear",
        "rmat": "rmat-linear",
        "dag": "dag-linear",
        "rdfs": "rdfs",
        "lubm": "lubm-generated",
        "claros": "claros",
    }
    build: dict[str, Callable[[bool], list[Scene]]] = {
        **{name: partial(plain, known=other, name=name) for name, other in known.items()},
        "claros-generated": claros,
        "clique-dense": partial(cliques, density="dense"),
        "clique-sparse": partial(cliques, density="sparse"),
        "clique-split": partial(cliques, density="split"),
        "chain-rules": partial(chain_of_rules, loop=False),
        "chain-loop": partial(chain_of_rules, loop=True),
        "chain-facts": chain_of_facts,
        **{f"components-{size}": partial(components, size=size) for size in SIZES[quick]},
        **{f"stream-{name}": partial(stream, name=name) for name in STREAM_NAMES},
        "claros-rule": rules,
    }
    return {name: partial(builder, quick) for name, builder in build.items()}


STREAM_NAMES = ("path", "sequence", "ways", "lubm", "claros")
