PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo check test test-long fuzz lint bench bench-updates bench-deletions bench-modules bench-streams bench-dbsp bench-spark bench-rdf bench-language bench-explain figures docs clean

help:
	@echo "make demo    set up and run the example"
	@echo "make check   lint, types, and the quick tests: for daily work"
	@echo "make test    set up, lint, check types, run all tests"
	@echo "make test-long   thousands of generated histories; HISTORIES=5000 SEED=0 say which, MINUTES=60 for how long"
	@echo "make fuzz    mutated programs; MINUTES=10 SEED=0 say how long and which"
	@echo "make bench   set up and run the benchmarks"
	@echo "make bench-updates   set up and measure updates, by every algorithm"
	@echo "make bench-deletions   set up and measure deletions up to where recomputing is quicker"
	@echo "make bench-modules   set up and measure closures with modules and without"
	@echo "make bench-streams   set up and measure streams of updates, by every policy"
	@echo "make bench-dbsp   set up and measure the incremental circuit, with its index and without"
	@echo "make bench-spark   set up and measure the Spark engine, beside frames, Spark SQL and one process"
	@echo "make bench-language   set up and measure constructs of the language beside plain programs"
	@echo "make bench-explain   set up and measure how long proofs of random facts take"
	@echo "make bench-rdf   set up and measure ontologies: universities materialised and changed"
	@echo "make figures   run all benchmarks whose page is of another version, and write docs/figures"
	@echo "make docs    build the documentation site into site/"

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Tidelog needs Python 3.11 or later: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true  # on all cores; pip has one
	@touch $(STAMP)

demo: setup
	@$(BIN)/python examples/demo.py
	@echo; echo "To use the tidelog command in this shell: . $(BIN)/activate"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Hundreds of processes are started, and each would compile all modules, where none may be kept.
check test test-long: export PYTHONDONTWRITEBYTECODE =

# Kernels are compiled beside lint, and Spark's classes archived after it. No test depends on the
# clock, so all of them run two at a time.
test: setup
	@$(BIN)/python -m tests.warm & compiling=$$!; \
		{ $(MAKE) --no-print-directory lint && $(BIN)/python -m tests.spark.quick; } && wait $$compiling
	$(BIN)/python -m pytest -n $(PROCESSES) --durations=40 --durations-min=3

# For daily work: no Spark, nothing that takes more than a few seconds, and of many cases a sample.
check: lint
	$(BIN)/python -m pytest -n $(PROCESSES) -m "not slow and not spark" --ignore tests/spark --ignore tests/pipeline

PROCESSES ?= 2

HISTORIES ?= 5000
SEED ?= $(shell date +%s)
test-long: setup
	$(BIN)/python -m tests.law.long $(SEED) $(if $(MINUTES),--minutes $(MINUTES),--histories $(HISTORIES))

fuzz: setup
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10) --seed $(SEED)

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(BIN)/python -m bench.run

bench-updates: setup
	$(BIN)/python -m bench.updates.run

bench-deletions: setup
	$(BIN)/python -m bench.updates.deletions

bench-modules: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(BIN)/python -m bench.modules.run

bench-streams: setup
	$(BIN)/python -m bench.flows.run

bench-dbsp: setup
	$(BIN)/python -m bench.dbsp.run

bench-spark: setup
	$(BIN)/python -m bench.spark.run

bench-language: setup
	$(BIN)/python -m bench.language.run

bench-explain: setup
	$(BIN)/python -m bench.explain.run

bench-rdf: setup
	$(BIN)/python -m bench.rdf.run

figures: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(BIN)/python -m bench.all

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "built: site/index.html"

clean:
	rm -rf $(VENV) site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
