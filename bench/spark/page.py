"""The text of a run's pages, in Markdown: figures, and scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.report import Target
from bench.spark import closure, components, deletion, scale, tables, targets
from bench.spark.figures import Row
from bench.spark.model import Model, fitted

Found = Mapping[str, Sequence[Row]]
HOW = (
    "Seconds are wall time, the median if a step was repeated. Each system is warmed up on a small "
    "case. Steps of more than 90 s are done once. Jobs and shuffled bytes are the largest counts "
    "that Spark reported."
)


def checked(found: Found) -> list[Target]:
    every = [row for rows in found.values() for row in rows]
    return [
        targets.agreement(every),
        *targets.of_closures(found.get("closure", ())),
        *targets.of_components(found.get("components", ())),
        *targets.of_deletion(found.get("deletion", ())),
        *targets.of_batches(found.get("batches", ())),
        *targets.of_rules(found.get("rules", ())),
        *targets.of_memory(found.get("memory", ())),
    ]


def target_table(some: Sequence[Target]) -> str:
    word = {True: "yes", False: "no", None: "not measured"}
    lines = [[target.text, target.figure, word[target.reached]] for target in some]
    return tables.table(["target", "measured", "met"], lines)


def figures(where: str, found: Found, drawn: Mapping[str, str]) -> str:
    parts = [where, HOW, target_table(checked(found))]
    if rows := found.get("closure"):
        parts += ["### Closures", tables.systems(rows, closure.PIVOT)]
        if "systems" in drawn:
            parts.append(f"![Seconds of each system]({drawn['systems']})")
    if rows := found.get("components"):
        parts += ["### Components", tables.systems(rows, components.OURS)]
    if rows := found.get("deletion"):
        parts += ["### Ten edges", tables.systems(rows, deletion.SLICES)]
    if rows := found.get("batches"):
        parts += ["### Micro-batches", tables.pipelines(rows)]
    if rows := found.get("rules"):
        parts += ["### Rules over millions of facts", tables.growth(rows)]
    if rows := found.get("memory"):
        parts += ["### Memory", tables.heap(rows)]
    return "\n\n".join(parts)


def model_of(found: Found) -> Model | None:
    points = scale.points(found.get("scale", ()))
    return fitted(points) if points else None


def scales(where: str, found: Found, drawn: Mapping[str, str]) -> str | None:
    """The model, the runs to which it is fitted, and its predictions for clusters."""
    model, rows = model_of(found), found.get("scale", ())
    if model is None:
        return None
    points = scale.points(rows)
    errors = sorted(abs(model.error(at)) for at in points)
    fit = (
        f"R² is {model.fit(points):.3f} over {len(points)} runs; half of them are off by less than "
        f"{100 * errors[len(errors) // 2]:.0f} %, the worst by {100 * errors[-1]:.0f} %."
    )
    parts = [where, "### What things cost", tables.coefficients(model), fit]
    if "model" in drawn:
        parts.append(f"![Runs against the model]({drawn['model']})")
    parts += ["### Predictions", tables.predicted(rows, model)]
    parts += ["### The runs", tables.runs(rows, model)]
    return "\n\n".join(parts)
