"""Kernels over Z-sets as columns.

A row is a line of 64-bit words. A trace's entry is called a cell: the row's words, then its time,
its weight, and the next cell of the same row (its number and one, 0 for none).
"""
