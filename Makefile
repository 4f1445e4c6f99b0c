# Two commands matter: `make demo` and `make test`. Each sets up what it needs, once.
# An environment made by a Python other than the one asked for is made anew:
# `make test PYTHON=python3.13`. Without PYTHON, the existing one is used.
VERSION_OF = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
VERSION := $(or $(call VERSION_OF,.venv/bin/python),$(call VERSION_OF,$(PYTHON)))
else
VERSION := $(call VERSION_OF,$(PYTHON))
endif
ifeq ($(VERSION),)
$(error PYTHON = $(PYTHON) cannot be run: give a Python of at least 3.11)
endif
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

# A machine without AVX. What is left out has no rounding to differ in (studies, report: processes,
# a browser), or compares means within their standard errors and takes a third of the time.
PORTABLE := XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 OPENBLAS_CORETYPE=Nehalem \
	NPY_DISABLE_CPU_FEATURES=X86_V3
LEFT_OUT := $(addprefix --ignore=tests/,agreement studies reports)

SPHINX = $(BIN)/python -m sphinx --jobs auto --fail-on-warning --keep-going --quiet

.PHONY: demo test test-portable test-floor lint docs docs-quick bench architecture clean

demo: .venv/.core
	@$(BIN)/giantstep demo --out out

test: .venv/.test
	@$(BIN)/python -m pytest -n 2 --dist worksteal

test-portable: .venv/.test
	@$(PORTABLE) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(LEFT_OUT)

# Numbers, the store and the commands at the least versions that pyproject allows, in an environment of its own.
test-floor: .venv-floor/.done
	@.venv-floor/bin/python -m pytest -m "not slow" tests/numerics tests/measures \
		tests/language/activations tests/settings tests/studies/test_store.py tests/cli/test_help.py \
		tests/cli/test_errors.py src/giantstep/numerics src/giantstep/theory/ridge

lint: .venv/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory docs-quick

# The whole site: the gallery drawn, the tutorials run, no warning let through.
docs: .venv/.test
	@cd docs && ../$(BIN)/python -m site_builder.draw
	@$(SPHINX) docs out/docs

# The same without running anything: broken references and formulas fail here.
docs-quick: .venv/.test
	@$(SPHINX) -D plot_gallery=0 docs out/docs-quick

bench: .venv/.test
	@$(BIN)/python -m benchmarks

architecture: .venv/.test
	@$(BIN)/python tests/house/rooms.py

clean:
	rm -rf .venv .venv-floor out docs/generated .mypy_cache .ruff_cache .hypothesis .jax_cache

.venv/.python$(VERSION):
	rm -rf .venv
	$(PYTHON) -m venv .venv
	@touch $@

.venv-floor/.done: pyproject.toml
	rm -rf .venv-floor
	$(PYTHON) -m venv .venv-floor
	.venv-floor/bin/python .ci/floor > .venv-floor/floor.txt
	.venv-floor/bin/pip install --quiet --disable-pip-version-check \
		--constraint .venv-floor/floor.txt --editable '.[studies]' beartype hypothesis pytest
	@touch $@

.venv/.core: pyproject.toml constraints.txt .venv/.python$(VERSION)
	$(INSTALL) --editable .
	@touch $@

.venv/.test: pyproject.toml constraints.txt .venv/.python$(VERSION)
	$(INSTALL) --editable '.[test]'
	@touch $@ .venv/.core
