"""The text of a run's page, in Markdown."""

from __future__ import annotations

from bench.data import GTGRAPH
from bench.dbsp import tables
from bench.dbsp.apart import LEAST, PATIENCE, RUNS, SHORT
from bench.dbsp.cases import DELETE, DOMAIN_RULE, MATERIALISE, RESTORE, STUDENT_RULE
from bench.dbsp.found import Found
from bench.dbsp.targets import REFERENCE, REFERENCE_FACTS, REFERENCE_PEAK

HOW = (
    "Times are milliseconds of wall time, from the best of {runs} runs in turns, because other "
    "processes only add time. Each run is a process of its own with the kernels loaded; a play of "
    "more than {short:.0f} s runs once, and a step of more than {limit:g} s is stopped. All steps "
    "together took {waiting:.2f} times the CPU time that they used; the excess over 1 went to "
    "other processes."
)
INDEX = (
    "A part of the facts is materialised, in the first transaction of an empty database. The "
    "ontology of RDFS is always complete. The edges of RMAT1K are drawn with a, b, c, d = "
    f"{', '.join(map(str, GTGRAPH))}. Without the index a run is stopped after {LEAST:g} s, or "
    f"after {PATIENCE} times what the circuit takes with it, if that is more."
)
SOUFFLE = (
    "{version} interprets the same program; its times are those of its process, which reads facts "
    "from files and writes its relations to files."
)
NO_SOUFFLE = "Soufflé was not on the PATH here, and was not measured."
UPDATES = (
    "A part of the facts is materialised; the rest is added, and then removed. The columns on the "
    "right are a step's time divided by that of materialising in the same process."
)
MEMORY = (
    "Peak resident MiB of a process that materialised all facts, and of one that materialised a "
    "part and then added and removed the rest. *Loaded* is the resident memory with the kernels "
    "and no facts. Reading the facts to compare them does not count."
)
RULES = (
    "A rule is removed and added again: the median in the best run, and in parentheses the longest "
    f"time of all. The rule is `{DOMAIN_RULE}` (3 is `rdfs:domain`) in RDFS, and `{STUDENT_RULE}` "
    "in OWL 2 RL."
)
ABSENT = (
    "pydbsp could not be imported here; its figures are references, which this run did not measure."
)


def page(where: str, found: Found, limit: float, drawn: dict[str, str]) -> str:
    """`limit` is that of a step, in seconds; `drawn` has the files of the pictures."""
    systems = found.systems
    how = HOW.format(runs=RUNS, short=SHORT, limit=limit, waiting=found.waiting())
    parts = [where, "\n".join(f"- {target}" for target in found.targets()), how]

    def picture(name: str, about: str) -> list[str]:
        return [f"![{about}]({drawn[name]})"] if name in drawn else []

    if found.index:
        version = systems.souffle
        beside = SOUFFLE.format(version=version) if version else NO_SOUFFLE
        parts += ["### What the index does", f"{INDEX} {beside}"]
        parts.append(tables.index(found.index, systems.indexed, systems.circuit, systems.plain))
        parts += picture("index", "Time to materialise, against the part of the facts")
    if found.updates:
        parts += ["### Updates", UPDATES, tables.updates(found.updates, systems.updating)]
        parts += picture("updates", "Time of materialising, adding and removing")
    if measured := [*(row for row in found.index if row.percent == 100), *found.updates]:
        parts += ["### Memory", MEMORY, tables.memory(measured, systems.ours)]
        parts += picture("memory", "Peak memory of materialising all facts")
    if found.single:
        parts += ["### Single facts", single(found), tables.changes(found.single, systems.single)]
    if found.rules:
        parts += ["### Rules", RULES, tables.changes(found.rules, systems.updating)]
    return "\n\n".join(parts)


def single(found: Found) -> str:
    row, peer = found.single[0], found.systems.peer
    return (
        "Facts are removed and added again: the median in the best run, and in parentheses the "
        "longest time of all. The reference is pydbsp's indexed circuit for RDFS on LUBM-1, "
        f"measured elsewhere on two cores with {REFERENCE_FACTS:,} facts: "
        f"{REFERENCE[MATERIALISE]:g} s and {REFERENCE_PEAK / 1e9:g} GB to materialise, "
        f"{REFERENCE[DELETE]:g} s to delete one fact and {REFERENCE[RESTORE]:g} s to add it back. "
        f"Here {row.given:,} facts are given, {row.facts():,} with their consequences. "
        + (f"{peer} ran on the same facts, on fewer changes." if peer else ABSENT)
    )
