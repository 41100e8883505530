"""What constructs of the language cost."""
