"""The project's targets for Spark, checked against the rows of one run."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report import Target
from bench.spark import batches, closure, components, deletion, memory, rules
from bench.spark.figures import Bounded, Row, differing, faster, find, told

PIVOT_FASTER = 8  # times, than frames and Spark SQL
LARGE_SLOWER = 2  # times one process, at most
COMPONENTS_FASTER, COMPONENTS_JOBS = 10, 2
DELETION_FASTER, DELETION_JOBS = 10, 4
COMMIT = 1.5  # seconds: about one
GROWTH = 1.1  # times linear: an allowance for noise
HEAP = 2  # times the heap


def agreement(rows: Sequence[Row]) -> Target:
    wrong, compared = differing(rows), [row for row in rows if row.done and row.sums]
    figure = "; ".join(wrong) or f"{len(compared)} rows"
    return Target("all systems give the same facts", not wrong if compared else None, figure)


def verdict(ratios: Sequence[Bounded | None], wanted: float) -> bool | None:
    """Unknown if a ratio is missing, or only a lower bound and too small."""
    known = [
        None if ratio is None else True if ratio[0] >= wanted else None if ratio[1] else False
        for ratio in ratios
    ]
    return False if False in known else None if not known or None in known else True


def of_closures(rows: Sequence[Row]) -> list[Target]:
    every = (closure.RANDOM, closure.DAG, closure.FOREST, closure.LARGE)
    pivots = [row for case in every if (row := find(rows, closure.PIVOT, case)) and row.done]
    if not pivots:
        return []
    most = max(row.jobs for row in pivots)
    found = [Target("closures by pivot in one job", most == 1, f"at most {most}")]
    cases = (closure.RANDOM, closure.DAG, closure.FOREST)
    for other in (closure.FRAMES, closure.SQL):
        pairs = [(find(rows, closure.PIVOT, c), find(rows, other, c), c) for c in cases]
        asked = [p for p in pairs if p[1] is not None and p[1].status != "failed"]
        ratios = [faster(mine, theirs) for mine, theirs, _ in asked]
        # Cases that it cannot express do not count.
        cannot = [f"{c}: it cannot" for _, theirs, c in pairs if theirs and not theirs.done]
        figures = [f"{c}: {told(r)}" for r, (_, _, c) in zip(ratios, asked, strict=True)]
        text = f"closures by pivot at least {PIVOT_FASTER} times as fast as {other}"
        stopped = [c for c in cannot if c.split(":")[0] not in {p[2] for p in asked}]
        found.append(Target(text, verdict(ratios, PIVOT_FASTER), "; ".join([*figures, *stopped])))
    large = find(rows, closure.PIVOT, closure.LARGE)
    one = find(rows, closure.LOCAL, closure.LARGE)
    if large is not None and one is not None and large.done and one.done:
        ratio = large.seconds / one.seconds
        text = (
            f"closure of {large.facts:,} facts by pivot in at most {LARGE_SLOWER} times the time "
            "of one process"
        )
        figure = f"{ratio:.2f} times: {large.seconds:.1f} s and {one.seconds:.1f} s"
        found.append(Target(text, ratio <= LARGE_SLOWER, figure))
    return found


def of_components(rows: Sequence[Row]) -> list[Target]:
    cases = (components.CLUSTERS, components.CHAINS)
    steps = [(case, step) for case in cases for step in (components.LABELS, components.PAIRS)]
    mine = [find(rows, components.OURS, *where) for where in steps]
    done = [row for row in mine if row is not None and row.done]
    if not done:
        return []
    most = max(row.jobs for row in done)
    ratios = [
        faster(row, find(rows, components.STARS, *where))
        for row, where in zip(mine, steps, strict=True)
    ]
    figure = "; ".join(f"{c}, {s}: {told(r)}" for r, (c, s) in zip(ratios, steps, strict=True))
    text = "symmetric-transitive closure"
    wanted = f"at least {COMPONENTS_FASTER} times as fast as {components.STARS}"
    return [
        Target(f"{text} in one or two jobs", most <= COMPONENTS_JOBS, f"at most {most}"),
        Target(f"{text} {wanted}", verdict(ratios, COMPONENTS_FASTER), figure),
    ]


def of_deletion(rows: Sequence[Row]) -> list[Target]:
    found = []
    cases = dict.fromkeys(row.case for row in rows)
    for system in (deletion.DRIVER, deletion.SLICES):
        mine = [find(rows, system, case, deletion.DELETE) for case in cases]
        done = [row for row in mine if row is not None and row.done]
        if not done:
            continue
        most = max(row.jobs for row in done)
        text = f"{system}: ten edges deleted in at most {DELETION_JOBS} jobs"
        found.append(Target(text, most <= DELETION_JOBS, f"at most {most}"))
        others = [find(rows, deletion.FRAMES, case, deletion.DELETE) for case in cases]
        ratios = [faster(row, other) for row, other in zip(mine, others, strict=True)]
        text = f"{system}: at least {DELETION_FASTER} times as fast as {deletion.FRAMES}"
        figure = "; ".join(f"{c}: {told(r)}" for c, r in zip(cases, ratios, strict=True))
        found.append(Target(text, verdict(ratios, DELETION_FASTER), figure))
    return found


def of_batches(rows: Sequence[Row]) -> list[Target]:
    found = []
    for row in rows:
        if row.step != batches.COMMIT or not row.samples:
            continue
        longest = max(sample.seconds for sample in row.samples)
        text = f"{row.system}: ten changes commit in about a second (at most {COMMIT:g} s)"
        figure = f"median {row.seconds:.2f} s, at most {longest:.2f} s"
        found.append(Target(text, row.done and row.seconds <= COMMIT, figure))
    return found


def of_rules(rows: Sequence[Row]) -> list[Target]:
    """Growth of seconds per given fact, from the smallest size to the largest."""
    found = []
    for name in (rules.RDFS, rules.CLAROS):
        for step in (rules.MATERIALISE, rules.DELETE, rules.INSERT):
            some = [
                row
                for row in rows
                if (row.system, row.step) == (rules.SPARK, step)
                and row.case.startswith(name)
                and row.done
            ]
            if len(some) < 2:
                continue
            first, last = some[0], some[-1]
            more, growth = last.given / first.given, last.seconds / first.seconds
            text = f"{name}, {step}: no worse than linear from {first.given:,} facts on"
            figure = f"{more:.1f} times the facts, {growth:.1f} times the seconds"
            found.append(Target(text, growth <= GROWTH * more, figure))
    return found


def of_memory(rows: Sequence[Row]) -> list[Target]:
    text = f"more than {HEAP} times the heap ({memory.HEAP}) is materialised"
    heap = int(memory.HEAP.rstrip("m")) << 20
    found = []
    for row in rows:
        size, most = row.more["bytes of facts"], row.more.get("java bytes", 0.0)
        right = memory.right(row)
        figure = row.detail or (
            f"{size / 2**30:.2f} GiB of facts, {'all' if right else 'not all'} read again, Java "
            f"{most / 2**20:,.0f} MiB, Python's workers "
            f"{row.more.get('workers bytes', 0.0) / 2**20:,.0f} MiB at the most"
        )
        found.append(Target(text, right and size >= HEAP * heap, figure))
    return found
