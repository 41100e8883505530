"""What databases need on Spark, beside the engine: transactions, and files and tables."""

from tidelog.spark.programs import check_program
from tidelog.spark.transactions import ALGORITHMS, SparkTransaction, check_algorithm

__all__ = ["ALGORITHMS", "SparkTransaction", "check_algorithm", "check_program"]
