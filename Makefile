# Everything a newcomer needs is `make train` and `make test`. PYTHON chooses the interpreter: 3.11, 3.12 or 3.13.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKDIR ?= runs/quickstart
CONFIG ?= experiments/causal_lm/quickstart.py
# `make grid SAMPLE=12` runs one test in twelve, which the commit chooses, as CI does; of `make slow` one in sixteen, of
# `make long` one in five, and of `make test` on a second interpreter one in three.
SAMPLE ?= 1
# `make slow SLICES=` leaves out the half hour in which every experiment is compiled for a TPU slice.
SLICES ?= slices
# `make slow BATTERIES=` leaves out the half hour of kills, damages, wrong inputs and hostile folders.
BATTERIES ?= batteries
# `make grid TRACES=` leaves out the minutes in which every field of every model is traced.
TRACES ?= traces
# Of `make accelerator`, whose further flags are ARGUMENTS, as --size=tiny.
MINUTES ?= 10
ARGUMENTS ?=

.PHONY: train test long docs lint oracle grid slow nightly slices compiled accelerator format clean

train: $(VENV)/.installed
	$(BIN)/python launch/train.py --config=$(CONFIG) --workdir=$(WORKDIR)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q --sample=$(SAMPLE)

# Whole runs of launchers and of models: those tests that take a second or more.
long: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q -m long --sample=$(SAMPLE)

oracle: $(VENV)/.installed-oracle
	$(BIN)/python -m pytest -q -m oracle

grid: $(VENV)/.installed-test
	$(BIN)/python -m pytest -q -m grid --sample=$(SAMPLE) --dist worksteal --timeout=1800 $(if $(TRACES),,-k 'not its_trace') tests/grid tests/contract

slow: $(VENV)/.installed-test $(SLICES)
	$(BIN)/python -m pytest -q -m slow --sample=$(SAMPLE) --timeout=1800 --dist worksteal $(if $(BATTERIES),,--ignore=tests/battery)

# All that CI samples.
nightly: long grid slow

# Where libtpu is installed JAX looks for a TPU, so what compiles for one has an environment of its own.
slices:
	$(MAKE) VENV=$(VENV)-tpu compiled

compiled: $(VENV)/.installed-test $(VENV)/.installed-tpu
	$(BIN)/python -m pytest -q -m slices --timeout=1800 --dist worksteal tests/analysis

# What one accelerator can do, in ten minutes: on PYTHON as it is, on top of which it installs what is missing where a
# registry answers. A second `make accelerator` goes on where the first was stopped.
accelerator:
	$(PYTHON) -P benchmarks/bootstrap.py --minutes=$(MINUTES) $(ARGUMENTS)

# The documentation, in build/docs/index.html. Warnings are errors; all is built anew, as each page lists all others.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going --quiet --fresh-env --write-all docs build/docs

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Saccade needs Python 3.11 or newer; say which: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(subst oracle,test$(,)oracle,$*)]'
	@touch $@

, := ,

clean:
	rm -rf $(VENV) $(VENV)-tpu .venv-accelerator runs build docs/reference
