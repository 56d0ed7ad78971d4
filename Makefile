# make run · make quick · make test · make fuzz · make lint · make bench · make pictures: each sets up all it needs, and is
# quick the second time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# What the compiled modules and the installed metadata are made from.
SOURCES := pyproject.toml setup.py $(wildcard src/tapegrad/scalar/*.py src/tapegrad/scalar/*.pxd \
	src/tapegrad/scalar/*.h src/tapegrad/scalar/*.c src/tapegrad/tensor/*.py src/tapegrad/tensor/*.pxd \
	src/tapegrad/tensor/rules/*.py src/tapegrad/tensor/rules/*.pxd \
	src/gradmark/measure/worker/*.pyx src/gradmark/measure/worker/*.h)

.PHONY: run quick test fuzz lint bench pictures clean

run: $(VENV)/built
	$(BIN)/gradmark run

# The core, in less than a minute: no other engine, no browser, nothing slow. pytest rewrites each module of tests, which
# takes seconds, unless it may keep what it made of them.
quick: $(VENV)/built $(VENV)/quick
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --durations=5 -m "not peers and not browser and not slow"

test: $(VENV)/built $(VENV)/test $(VENV)/peers
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
	$(BIN)/gradmark check

# Files, configurations, messages and names that nobody should write: so many of them, others every time.
N ?= 100000
fuzz: $(VENV)/built $(VENV)/quick
	GRADMARK_FUZZ=$(N) $(BIN)/python -m pytest -q --durations=0 tests/fuzz

lint: $(VENV)/built $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/built $(VENV)/peers $(VENV)/bench $(VENV)/test
	$(BIN)/python benchmarks/scalar.py
	$(BIN)/python benchmarks/tensor.py
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/repeatability.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/bridge.py

# Of the page of a report, from a real run; needs Chromium.
pictures: $(VENV)/built $(VENV)/test
	$(BIN)/python docs/pictures/make.py

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"
	touch $@

$(VENV)/built: $(SOURCES) $(VENV)/python
	$(PIP) install --editable .
	$(BIN)/python -m compileall -q src # every run starts hundreds of workers, also where imports may not write bytecode
	touch $@

$(VENV)/quick $(VENV)/test $(VENV)/lint $(VENV)/bench: pyproject.toml $(VENV)/python
	$(PIP) install --group $(notdir $@)
	touch $@

$(VENV)/peers: pyproject.toml $(VENV)/python
	$(PIP) install --editable ".[peers]"
	touch $@

clean:
	rm -rf $(VENV) build src/*.egg-info
	find src -name '*.so' -delete -o -name __pycache__ -prune -exec rm -r {} +
