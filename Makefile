# Every task of the project. The first one that needs it sets up .venv; nothing is installed outside that folder.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: $(READY) ## make .venv and install scorer in it, with everything that development needs

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "scorer needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

demo: $(READY) ## score the bundled samples and show what comes out
	$(BIN)/scorer demo

test: $(READY) ## run every test
	$(BIN)/python -m pytest

check: $(READY) ## format, lint, types, import contracts, SQL lint, tests: all that must be green
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --processes 2 sql
	$(BIN)/python -m pytest

bench: $(READY) ## measure speed and memory; BENCH="--answers 1000000" for more
	$(BIN)/python -m tests.bench $(BENCH)

clean: ## remove what was made: .venv, caches, results of the demo
	rm -rf .venv dist build scorer-demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
