# Two commands matter: `make demo` and `make test`. Each sets up what it needs, once.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint bench clean

demo: .venv/.core
	@$(BIN)/giantstep demo --out out

test: .venv/.test
	@$(BIN)/python -m pytest -n 2 --dist worksteal

lint: .venv/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/.test
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv out .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable .
	@touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[test]'
	@touch $@ .venv/.core
