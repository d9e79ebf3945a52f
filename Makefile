# make demo    set up a virtual environment and run the main example
# make test    set up and run all tests
# make check   lint and types
# make bench   print ratios (see docs/performance.md)
# make docs    write the generated tables of docs/ and touba_cli/schemas/ anew
# make soak    property tests with many more examples (long)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test check bench docs soak clean

demo: $(VENV)/.examples
	$(BIN)/python examples/invoice_review/run.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist=worksteal

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

soak: $(VENV)/.dev
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n $(WORKERS) --dist=worksteal

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.examples: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[examples]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.examples

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
