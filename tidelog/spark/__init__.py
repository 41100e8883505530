"""The Spark engine: the engine interface over DataFrames, and strategies that need few jobs."""

from tidelog.spark.unsupported import check_algorithm, check_program

__all__ = ["check_algorithm", "check_program"]
