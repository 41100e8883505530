"""Connected components by large-star and small-star rounds, on DataFrames.

Raimondas Kiveris, Silvio Lattanzi, Vahab Mirrokni, Vibhor Rastogi, Sergei Vassilvitskii:
Connected Components in MapReduce and Beyond. SoCC 2014. This is the alternating algorithm: one
large-star and one small-star per round, until a round changes nothing. As in GraphFrames, a
change shows in the number of edges and the sums of their ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def labels(edges: DataFrame) -> tuple[DataFrame, int]:
    """Each node (u) with the least node of its component (v), from edges u, v; and the number of
    rounds."""
    from pyspark.sql import functions as F

    E = edges.where("u != v").localCheckpoint()
    before, seen, rounds = None, fingerprint(E), 0
    while seen != before:
        E = small_star(large_star(E)).localCheckpoint()
        before, seen, rounds = seen, fingerprint(E), rounds + 1
    nodes = edges.select("u").union(edges.select("v")).distinct()
    own = F.coalesce(F.col("v"), F.col("u")).alias("v")
    return nodes.join(E, "u", "left").select("u", own).localCheckpoint(), rounds


def large_star(edges: DataFrame) -> DataFrame:
    """Connect larger neighbours of a node to the least of all its neighbours and itself."""
    from pyspark.sql import functions as F

    both = edges.union(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    least = both.groupBy("u").agg(F.least(F.col("u"), F.min("v")).alias("m"))
    return both.where("v > u").join(least, "u").select(F.col("v").alias("u"), F.col("m").alias("v"))


def small_star(edges: DataFrame) -> DataFrame:
    """Connect a node and its smaller neighbours to the least of them."""
    from pyspark.sql import functions as F

    down = edges.select(F.greatest("u", "v").alias("u"), F.least("u", "v").alias("v")).distinct()
    least = down.groupBy("u").agg(F.min("v").alias("m"))
    near = down.join(least, "u").select(F.col("v").alias("u"), F.col("m").alias("v"))
    own = least.select("u", F.col("m").alias("v"))
    return near.union(own).where("u != v").distinct()


def fingerprint(edges: DataFrame) -> Any:
    from pyspark.sql import functions as F

    return edges.agg(F.count(F.lit(1)), F.sum("u"), F.sum("v")).first()


def pairs(labelled: DataFrame) -> DataFrame:
    """Each node with each of its component."""
    from pyspark.sql import functions as F

    other = labelled.select(F.col("u").alias("w"), "v")
    return labelled.join(other, "v").select("u", "w").localCheckpoint()
