"""The papers' stream algorithms as they are printed, one rule application at a time.

For their tables and for model checking; `tidelog.changes` has what a program should use.
"""
