"""The workloads: a program, its facts, and the project's target for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bench import data
from bench.data import Facts
from bench.plain import parse_plain

PROGRAMS = Path(__file__).parent / "programs"

Kind = Literal["linear", "non-linear", "points-to", "rdfs", "other"]


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    kind: Kind
    program: str
    facts: Facts

    @property
    def outputs(self) -> tuple[str, ...]:
        return parse_plain(self.program).outputs

    def arities(self) -> dict[str, int]:
        return parse_plain(self.program).arities

    @property
    def fact_count(self) -> int:
        return sum(len(rows) for rows in self.facts.values())

    def save(self, folder: Path) -> None:
        """For the processes that evaluate it."""
        folder.mkdir(parents=True)
        about = {"name": self.name, "title": self.title, "kind": self.kind}
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
        (folder / "program.dl").write_text(self.program, encoding="utf-8")
        for name, rows in self.facts.items():
            np.save(folder / f"{name}.npy", rows)

    @staticmethod
    def read(folder: Path) -> Workload:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        program = (folder / "program.dl").read_text(encoding="utf-8")
        return Workload(
            **about,
            program=program,
            facts={path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))},
        )


def text(name: str) -> str:
    return (PROGRAMS / f"{name}.dl").read_text(encoding="utf-8")


def closure(name: str, title: str, graph: Callable[[], data.Rows]) -> list[Workload]:
    edges = {"edge": graph()}
    return [
        Workload(f"{name}-linear", f"closure, {title}", "linear", text("closure_linear"), edges),
        Workload(
            f"{name}-nonlinear",
            f"non-linear closure, {title}",
            "non-linear",
            text("closure_nonlinear"),
            edges,
        ),
    ]


def recorded(name: str) -> str:
    """A program of the recorded streams; its constants are numbered, the same for all systems."""
    program = (data.STREAMS / name / f"{name}.dl").read_text(encoding="utf-8")
    return program.replace(": symbol", ": number")


def declared(program: str, facts: Facts) -> Facts:
    """Names and research interests occur in no rule, and so not in the declarations."""
    known = parse_plain(program).arities
    return {name: rows for name, rows in facts.items() if name in known}


def workloads(quick: bool = False) -> list[Workload]:
    """All workloads of a full run, or smaller ones of the same shape."""
    nodes = 300 if quick else 1000
    graphs = [
        closure(
            "random",
            f"random digraph, {nodes:,} nodes, 1% of all edges",
            lambda: data.random_digraph(nodes, 0.01, seed=1),
        ),
        closure(
            "rmat",
            f"R-MAT, {nodes:,} nodes, {10 * nodes:,} edges",
            lambda: data.rmat(nodes, 10 * nodes, seed=2),
        ),
        closure(
            "dag",
            f"random DAG, {2 * nodes:,} nodes, {20 * nodes:,} edges",
            lambda: data.random_dag(2 * nodes, 20 * nodes, seed=3),
        ),
    ]
    pointers = data.points_to(12 if quick else 125, seed=4)
    university = data.lubm_like(2 if quick else 15, seed=5)
    parents = {"parent": data.trees(2, 5 if quick else 6, 3, seed=6)}
    return [
        *(linear for linear, _ in graphs),
        *(nonlinear for _, nonlinear in graphs),
        Workload("points-to", "points-to analysis", "points-to", text("points_to"), pointers),
        Workload(
            "rdfs",
            "RDFS on LUBM-like triples",
            "rdfs",
            text("rdfs"),
            {"triple": university.rows()},
        ),
        Workload("same-generation", "same generation", "other", text("same_generation"), parents),
        Workload("lubm", "LUBM's 107 rules", "other", recorded("lubm"), data.stream_facts("lubm")),
        Workload(
            "lubm-generated",
            "LUBM's 107 rules on generated facts",
            "other",
            recorded("lubm"),
            declared(recorded("lubm"), data.lubm_relations(university)),
        ),
        Workload(
            "claros",
            "Claros' 1,337 rules",
            "other",
            recorded("claros"),
            data.stream_facts("claros"),
        ),
    ]
