"""Proofs as text, JSON, pictures and pages."""
