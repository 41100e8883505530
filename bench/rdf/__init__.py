"""What materialising an ontology costs, and keeping it so, beside other reasoners."""
