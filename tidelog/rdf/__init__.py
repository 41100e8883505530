"""Ontologies: RDF in and out, and its consequences kept while triples and axioms change."""
