"""Explanations: why a fact holds, why it does not, and why it changed."""
