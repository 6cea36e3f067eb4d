# Everything a newcomer needs is `make train` and `make test`. PYTHON chooses the interpreter: 3.11, 3.12 or 3.13.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKDIR ?= runs/quickstart
CONFIG ?= experiments/causal_lm/quickstart.py
# `make long SAMPLE=37` runs one test in 37, which the commit chooses, as CI does; `make test SAMPLE=5` one in five.
SAMPLE ?= 1
# Of `make accelerator`, whose further flags are ARGUMENTS, as --size=tiny.
MINUTES ?= 10
ARGUMENTS ?=
# Of all that is installed a small part is imported; Python compiles that then, and need not compile all now.
PIP := --quiet --disable-pip-version-check --no-compile
# Each of the processes that tests start would compile all of our modules once more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: train test long oracle docs notebooks lint accelerator format clean

train: $(VENV)/.installed
	$(BIN)/python launch/train.py --config=$(CONFIG) --workdir=$(WORKDIR)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --sample=$(SAMPLE)

# All other tests on a CPU, which take hours: whole runs of launchers, all pairs of parts, kills and damages, and every
# experiment compiled for TPUs by libtpu. It lies outside of site-packages: where it is installed JAX looks for a TPU.
long: $(VENV)/.installed-test $(VENV)/libtpu
	PYTHONPATH=$(abspath $(VENV)/libtpu) $(BIN)/python -m pytest -m long --sample=$(SAMPLE)

oracle: $(VENV)/.installed-oracle
	$(BIN)/python -m pytest -m oracle

# What one accelerator can do, in ten minutes: on PYTHON as it is, on top of which it installs what is missing where a
# registry answers. A second `make accelerator` goes on where the first was stopped.
accelerator:
	$(PYTHON) -P benchmarks/bootstrap.py --minutes=$(MINUTES) $(ARGUMENTS)

# The documentation, in build/docs/index.html. Warnings are errors; all is built anew, as each page lists all others.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet --fresh-env --write-all docs build/docs

# Jupyter with the notebooks on the lecture notes, in the browser.
notebooks: $(VENV)/.installed-notebooks
	$(BIN)/python -m jupyter lab docs/notebooks

# Style, and the two tests of the source that need no model: who imports whom, and the words.
lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q -n 0 tests/test_ladder.py tests/test_words.py

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Saccade needs Python 3.11 or newer; say which: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP) --editable '.[train]'
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install $(PIP) --editable '.[$(subst oracle,test$(,)oracle,$*)]'
	@touch $@

# The version that the installed JAX names; without it tests that compile for TPUs are skipped.
LIBTPU := from importlib.metadata import requires; print(*(each.split(";")[0] for each in requires("jax") if "libtpu" in each))
$(VENV)/libtpu: $(VENV)/.installed-test
	$(BIN)/python -m pip install $(PIP) --no-deps --upgrade --target $@ "$$($(BIN)/python -c '$(LIBTPU)')" || \
	  echo "libtpu cannot be installed: tests that compile for TPUs are skipped"

, := ,

clean:
	rm -rf $(VENV) .venv-accelerator runs build docs/reference
