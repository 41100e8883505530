"""The Spark engine: the seam over DataFrames, and strategies that need few jobs."""
