"""The other systems, each used in the fastest way that was found.

They are optional (`bench/requirements.txt`) and imported only inside the measured process; without
one of them its column stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import Rows
from bench.plain import Atom, PlainProgram, Rule, able_to_fire, parse_plain, strata
from bench.workloads import Workload


def write_csv(path: Path, rows: Rows, delimiter: str) -> None:
    np.savetxt(path, rows, fmt="%d", delimiter=delimiter)


def read_csv(path: Path, columns: Sequence[int], arity: int) -> Rows:
    if not path.exists() or path.stat().st_size == 0:
        return np.empty((0, arity), dtype=np.int64)
    return np.loadtxt(path, delimiter=",", usecols=columns, dtype=np.int64, ndmin=2)


class DuckDB:
    """A recursive common table expression where the recursion is linear in one relation.

    Everything else is a semi-naive loop of SQL statements, each rule instance once: a recursive
    CTE sees only its newest rows, and `USING KEY`, which also sees the older ones, took twice
    the time of the loop on non-linear closure and RDFS, and of `UNION` on linear closure.
    In the loop, `DISTINCT` before an anti-join was faster than `EXCEPT` and than the reverse.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def prepare(self, workload: Workload, folder: Path) -> None:
        self.program = parse_plain(workload.program)
        self.facts = {
            name: {f"c{i}": np.ascontiguousarray(rows[:, i]) for i in range(rows.shape[1])}
            for name, rows in workload.facts.items()
        }
        largest = max(int(np.abs(rows).max(initial=0)) for rows in workload.facts.values())
        self.type = "INTEGER" if largest < 2**31 else "BIGINT"
        self.rules = able_to_fire(self.program.rules, self.facts)
        self.connection: Any = import_module("duckdb").connect()
        self.connection.execute(f"SET threads = {self.threads}")

    def create(self, table: str, relation: str) -> None:
        columns = ", ".join(f"c{i} {self.type}" for i in range(self.program.arities[relation]))
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")

    def load(self) -> None:
        for name, columns in self.facts.items():
            self.create(f"given_{name}", name)
            self.connection.register("incoming", columns)
            self.connection.execute(f"INSERT INTO given_{name} SELECT * FROM incoming")
            self.connection.unregister("incoming")

    def evaluate(self) -> None:
        self.derived = {rule.head.relation for rule in self.rules}
        groups = strata(self.rules)
        alone = False
        for group in groups:
            rules = [rule for rule in self.rules if rule.head.relation in group]
            recursive = [r for r in rules if any(a.relation in group for a in r.body)]
            linear = all(sum(a.relation in group for a in r.body) == 1 for r in recursive)
            if len(group) == 1 and linear and recursive:
                alone = len(groups) == 1
                self.expression(group[0], rules, recursive)
            else:
                self.loop(group, rules, recursive)
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        self.how = f"{'recursive CTE' if alone else 'loop of SQL'}, {threads}"

    def table(self, relation: str) -> str:
        return f"all_{relation}" if relation in self.derived else f"given_{relation}"

    def columns(self, relation: str) -> str:
        return ", ".join(f"c{i}" for i in range(self.program.arities[relation]))

    def start(self, relation: str, rules: list[Rule], recursive: list[Rule]) -> str:
        """What holds before any recursion: given facts, and rules that only look down."""
        parts = [f"SELECT * FROM given_{relation}"] if relation in self.facts else []
        parts += [
            self.select(rule, [self.table(atom.relation) for atom in rule.body])
            for rule in rules
            if rule.head.relation == relation and rule not in recursive
        ]
        return f"SELECT DISTINCT * FROM ({' UNION ALL '.join(parts)})" if parts else ""

    def expression(self, name: str, rules: list[Rule], recursive: list[Rule]) -> None:
        steps = " UNION ALL ".join(
            self.select(
                rule, [name if a.relation == name else self.table(a.relation) for a in rule.body]
            )
            for rule in recursive
        )
        self.connection.execute(
            f"CREATE TABLE all_{name} AS WITH RECURSIVE {name}({self.columns(name)}) AS "
            f"({self.start(name, rules, recursive)} UNION {steps}) SELECT * FROM {name}"
        )

    def loop(self, group: list[str], rules: list[Rule], recursive: list[Rule]) -> None:
        # per relation: all_ everything, new_ the last round's facts, old_ all without new_
        run: Callable[[str], Any] = self.connection.execute
        variants: dict[str, list[tuple[str, str]]] = {name: [] for name in group}
        for rule in recursive:
            variants[rule.head.relation] += self.variants(rule, group)
        sizes: dict[str, int] = {}
        for name in group:
            first = self.start(name, rules, recursive)
            self.create(f"all_{name}", name)
            sizes[name] = run(f"INSERT INTO all_{name} {first}").fetchone()[0] if first else 0
            if recursive:
                self.create(f"old_{name}", name)
                run(f"CREATE OR REPLACE TABLE new_{name} AS SELECT * FROM all_{name}")
        while recursive and any(sizes.values()):
            found = dict.fromkeys(group, 0)
            for name in group:
                parts = [query for moving, query in variants[name] if sizes[moving]]
                if parts:
                    found[name] = run(
                        f"CREATE OR REPLACE TABLE next_{name} AS SELECT * FROM "
                        f"(SELECT DISTINCT * FROM ({' UNION ALL '.join(parts)})) found "
                        f"ANTI JOIN all_{name} USING ({self.columns(name)})"
                    ).fetchone()[0]
            for name in group:
                if sizes[name]:
                    run(f"INSERT INTO old_{name} SELECT * FROM new_{name}")
                if found[name]:
                    run(f"INSERT INTO all_{name} SELECT * FROM next_{name}")
                    run(f"DROP TABLE new_{name}")
                    run(f"ALTER TABLE next_{name} RENAME TO new_{name}")
                elif sizes[name]:
                    run(f"TRUNCATE new_{name}")
            sizes = found

    def variants(self, rule: Rule, group: list[str]) -> list[tuple[str, str]]:
        """Per recursive atom: its relation, and the rule with that atom reading the new facts."""
        moving = [i for i, atom in enumerate(rule.body) if atom.relation in group]
        queries = []
        for chosen in moving:
            tables = [self.table(atom.relation) for atom in rule.body]
            for i in moving:
                part = "old" if i < chosen else "new" if i == chosen else "all"
                tables[i] = f"{part}_{rule.body[i].relation}"
            queries.append((rule.body[chosen].relation, self.select(rule, tables)))
        return queries

    def select(self, rule: Rule, tables: list[str]) -> str:
        bound: dict[str, str] = {}
        where = []
        for i, atom in enumerate(rule.body):
            for j, term in enumerate(atom.terms):
                column = f"t{i}.c{j}"
                if isinstance(term, int):
                    where.append(f"{column} = {term}")
                elif term in bound:
                    where.append(f"{column} = {bound[term]}")
                else:
                    bound[term] = column
        head = ", ".join(
            f"{t}::{self.type} AS c{i}" if isinstance(t, int) else f"{bound[t]} AS c{i}"
            for i, t in enumerate(rule.head.terms)
        )
        sources = ", ".join(f"{table} t{i}" for i, table in enumerate(tables))
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return f"SELECT {head} FROM {sources}{condition}"

    def rows(self, relation: str, arity: int) -> Rows:
        if relation not in self.derived and relation not in self.facts:
            return np.empty((0, arity), dtype=np.int64)
        columns = self.connection.execute(f"SELECT * FROM {self.table(relation)}").fetchnumpy()
        return np.column_stack([columns[f"c{i}"].astype(np.int64) for i in range(arity)])


class Nemo:
    """Facts from CSV files. Nemo reads them inside its reasoning, so loading is part of that."""

    how = "files read while reasoning"

    def prepare(self, workload: Workload, folder: Path) -> None:
        self.folder = folder
        lines = []
        for name, rows in workload.facts.items():
            write_csv(folder / f"{name}.csv", rows, ",")
            kinds = ", ".join(["int"] * rows.shape[1])
            source = f'resource = "{folder / name}.csv", format = ({kinds})'
            lines.append(f"@import {name} :- csv {{ {source} }} .")
        program = parse_plain(workload.program)
        rules = able_to_fire(program.rules, workload.facts)
        self.known = {*workload.facts, *(rule.head.relation for rule in rules)}
        lines += [f"{self.rule(rule)} ." for rule in rules]
        lines += [f"@export {name} :- csv {{}} ." for name in program.outputs if name in self.known]
        self.text = "\n".join(lines)
        self.nemo: Any = import_module("nmo_python")

    def rule(self, rule: Rule) -> str:
        def atom(atom: Atom) -> str:
            cells = ", ".join(f"?{t}" if isinstance(t, str) else str(t) for t in atom.terms)
            return f"{atom.relation}({cells})"

        return f"{atom(rule.head)} :- {', '.join(map(atom, rule.body))}"

    def load(self) -> None:
        self.engine = self.nemo.NemoEngine(self.nemo.load_string(self.text))

    def evaluate(self) -> None:
        self.engine.reason()

    def rows(self, relation: str, arity: int) -> Rows:
        if relation not in self.known:
            return np.empty((0, arity), dtype=np.int64)
        results = self.folder / "results"
        manager = self.nemo.NemoOutputManager(str(results), overwrite=True)
        self.engine.write_result(relation, manager)
        return read_csv(results / f"{relation}.csv", range(arity), arity)


class Clingo:
    """Grounding is the evaluation: in a program without choices every atom becomes a fact."""

    how = "grounding"

    def prepare(self, workload: Workload, folder: Path) -> None:
        program = parse_plain(workload.program)
        self.facts = "".join(
            f"{name}({','.join(map(str, row))}).\n"
            for name, rows in workload.facts.items()
            for row in rows.tolist()
        )
        rules = [f"{self.rule(rule)}." for rule in program.rules]
        shown = [f"#show {name}/{program.arities[name]}." for name in program.outputs]
        self.rules = "\n".join([*rules, "#show.", *shown])
        self.control: Any = import_module("clingo").Control(["-Wnone"])
        self.found: dict[str, list[str]] | None = None

    def rule(self, rule: Rule) -> str:
        def atom(atom: Atom) -> str:
            cells = ",".join(f"V{t}" if isinstance(t, str) else str(t) for t in atom.terms)
            return f"{atom.relation}({cells})"

        return f"{atom(rule.head)} :- {', '.join(map(atom, rule.body))}"

    def load(self) -> None:
        self.control.add("base", [], self.facts)
        self.control.add("rules", [], self.rules)
        self.control.ground([("base", [])])

    def evaluate(self) -> None:
        self.control.ground([("rules", [])])

    def rows(self, relation: str, arity: int) -> Rows:
        if self.found is None:
            # The model as one string: reading its atoms one by one takes far longer.
            with self.control.solve(yield_=True) as handle:
                text = str(handle.model())
            self.found = {}
            for name, cells in re.findall(r"(\w+)\(([-\d,]+)\)", text):
                self.found.setdefault(name, []).append(cells)
        cells = self.found.get(relation, [])
        flat = np.array(",".join(cells).split(",") if cells else [], dtype=np.int64)
        return flat.reshape(-1, arity)


class Egglog:
    """Relations and rules run to saturation, by egglog's own semi-naive evaluation."""

    how = "saturation"

    def prepare(self, workload: Workload, folder: Path) -> None:
        self.folder = folder
        self.program: PlainProgram = parse_plain(workload.program)
        for name, rows in workload.facts.items():
            write_csv(folder / f"{name}.tsv", rows, "\t")
        self.given = list(workload.facts)
        bindings = import_module("egglog.bindings")
        self.graph: Any = bindings.EGraph(fact_directory=str(folder))

    def run(self, *lines: str) -> None:
        self.graph.run_program(*self.graph.parse_program("\n".join(lines)))

    def atom(self, atom: Atom) -> str:
        return f"(r_{atom.relation} {' '.join(map(str, atom.terms))})"

    def load(self) -> None:
        declared = [
            f"(relation r_{name} ({' '.join(['i64'] * arity)}))"
            for name, arity in self.program.arities.items()
        ]
        rules = [
            f"(rule ({' '.join(map(self.atom, rule.body))}) ({self.atom(rule.head)}))"
            for rule in self.program.rules
        ]
        self.run(*declared, *rules, *(f'(input r_{name} "{name}.tsv")' for name in self.given))

    def evaluate(self) -> None:
        self.run("(run-schedule (saturate (run)))")

    def rows(self, relation: str, arity: int) -> Rows:
        path = self.folder / f"{relation}.result"
        self.run(f'(print-function r_{relation} 1000000000 :file "{path}" :mode csv)')
        return read_csv(path, range(1, arity + 1), arity)
