"""The text of a run's page, in Markdown."""

from __future__ import annotations

from bench.data import GTGRAPH
from bench.dbsp import tables
from bench.dbsp.apart import LEAST, PATIENCE, RUNS, SHORT
from bench.dbsp.cases import DELETE, DOMAIN_RULE, MATERIALISE, RESTORE, STUDENT_RULE
from bench.dbsp.found import Found
from bench.dbsp.targets import REFERENCE, REFERENCE_FACTS, REFERENCE_PEAK

HOW = (
    "Times are milliseconds of wall time, of the best of {runs} runs in turns, since what other "
    "processes do only adds. Each run is a process of its own that has loaded the kernels before; "
    "what takes more than {short:.0f} s runs once, and a step of more than {limit:g} s is stopped. "
    "All steps together took {waiting:.2f} times the CPU time that they used: what is more than 1, "
    "other processes were given."
)
INDEX = (
    "A part of the facts is materialised, in the first transaction of an empty database. The "
    "ontology of RDFS is always there whole. The edges of RMAT1K are drawn with a, b, c, d = "
    f"{', '.join(map(str, GTGRAPH))}. Without the index a run is stopped after {LEAST:g} s, or "
    f"after {PATIENCE} times what the circuit takes with it, if that is more."
)
UPDATES = (
    "A part of the facts is materialised; the rest is added, and then removed. The columns on the "
    "right are a step's time divided by that of materialising in the same process."
)
MEMORY = (
    "MiB that were resident in a process at its most: when it materialised all facts, and when it "
    "materialised a part and then added and removed the rest. *Loaded* is what was resident when "
    "there were kernels and no facts. Reading the facts to compare them does not count."
)
RULES = (
    "The median in the best run, and in parentheses the longest time of all, of a rule that goes "
    f"and comes back. It is `{DOMAIN_RULE}` (3 is `rdfs:domain`) in RDFS, and `{STUDENT_RULE}` in "
    "OWL 2 RL."
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
        parts += ["### What the index does", INDEX]
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
        "The median in the best run, and in parentheses the longest time of all, of facts that go "
        "and come back. The reference is pydbsp's indexed circuit for RDFS on LUBM-1, measured "
        f"elsewhere on two cores with {REFERENCE_FACTS:,} facts: {REFERENCE[MATERIALISE]:g} s and "
        f"{REFERENCE_PEAK / 1e9:g} GB to materialise, {REFERENCE[DELETE]:g} s to delete one fact "
        f"and {REFERENCE[RESTORE]:g} s to add it back. Here {row.given:,} facts are given, and "
        f"with what follows from them there are {row.facts():,}. "
        + (f"{peer} ran on the same facts, on fewer changes." if peer else ABSENT)
    )
