# make demo    set up .venv and compare a guide with MCMC on the galaxies
# make test    units, contracts, wheel, examples in docstrings
# make prove   the rest of the grids of which make test runs some, see docs/testing.md
# make faults  bad and hostile input, kills, full disks: case, expected, got
# make lint    style, format, types
# make clean   forget the environment and what was built

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# More threads than cores slow small matrix products down.
export OMP_NUM_THREADS ?= 2
# Bytecode is kept whatever the shell says: a test that starts a command would translate the library anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test prove faults lint clean

demo: $(VENV)/.demo
	$(BIN)/pyroclust compare galaxies

# One thread a worker: the workers are as many as the cores already. A file is run by one of them, so that its
# fixtures are made once, and what its tests compile is found by the next. Compiled code
# is lightly optimised here, and kept apart from what users run; "make prove" compiles as users do.
test: $(VENV)/.test
	OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 NUMBA_OPT=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/compiled $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --durations=40 $(PYTEST_ARGS)

prove: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --durations=40 -m prove $(PYTEST_ARGS)

faults: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/faults -n auto --fault-table -m "faults or not faults" $(PYTEST_ARGS)

# Types are checked on an installed copy: in a checkout pyroclust.models and pyroclust.guides lie elsewhere.
lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build $(VENV)/installed
	$(PIP) install --quiet --no-deps --no-build-isolation --no-index --target $(VENV)/installed .
	cd $(VENV)/installed && ../bin/mypy --config-file ../../pyproject.toml -p pyroclust

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pyroclust needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)

# Editable: changes to the checkout take effect at once. tests/test_wheel.py proves the other kind of install.
# Of 250 MB of Python in other packages a few are ever imported: translating all of it takes long.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e .
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --no-compile -c constraints.txt -e ".[test]"
	touch $@ $(VENV)/.demo
