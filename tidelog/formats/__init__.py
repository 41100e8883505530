"""Facts in and out of files: Soufflé's conventions, exact errors, atomic writes."""
