"""The papers' stream algorithms as printed, one rule application at a time.

For their tables and for model checking; programs should use `tidelog.changes`.
"""
