"""Benchmarks of closure modules: the same rules with their own algorithms and without."""
