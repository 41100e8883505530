"""Benchmarks of updates: every maintenance algorithm on the same changes, beside recomputing."""
