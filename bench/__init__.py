"""Benchmarks: generated and recorded workloads, run here and by other systems in the same run."""
