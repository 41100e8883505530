"""Measures the Spark engine: `python -m bench.spark.run`."""
