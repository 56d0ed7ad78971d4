# make run · make quick · make test · make fuzz · make lint · make bench · make results · make docs · make pictures · make dist:
# each sets up all it needs, and is quick the second time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The versions that are tested.
INSTALL := $(PIP) install --constraint constraints.txt

# What the compiled modules and the installed metadata are made from.
SOURCES := pyproject.toml constraints.txt setup.py $(wildcard src/tapegrad/scalar/*.py src/tapegrad/scalar/*.pxd \
	src/tapegrad/scalar/*.h src/tapegrad/scalar/*.c src/tapegrad/tensor/*.py src/tapegrad/tensor/*.pxd \
	src/tapegrad/tensor/rules/*.py src/tapegrad/tensor/rules/*.pxd src/tapegrad/compile/*.pyx \
	src/gradmark/measure/worker/*.pyx src/gradmark/measure/worker/*.h)

# Most tests wait for the workers that they start, so two processes of them run side by side.
TESTS := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

.PHONY: run quick test fuzz lint bench results docs pictures dist clean

run: $(VENV)/built
	$(BIN)/gradmark run

# The core, in less than a minute: no other engine, no browser, nothing slow. pytest rewrites each module of tests, which
# takes seconds, unless it may keep what it made of them.
quick: $(VENV)/built $(VENV)/quick
	$(TESTS) -q --durations=5 -m "not peers and not browser and not slow"

test: $(VENV)/built $(VENV)/test $(VENV)/peers
	$(TESTS)
	$(BIN)/gradmark check

# Files, configurations, messages and names that nobody should write: so many of them, by so many processes. Another seed
# gives others; without one, the date does.
N ?= 100000
JOBS ?= 1
SEED ?= $(shell date +%s)
fuzz: $(VENV)/built $(VENV)/quick
	$(BIN)/python tests/fuzz/many.py --inputs $(N) --jobs $(JOBS) --seed $(SEED)

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

# docs/results.md and the figures of the README, measured by gradmark itself.
results: $(VENV)/built $(VENV)/peers $(VENV)/test
	$(BIN)/python docs/results.py

# The documentation as a site, in build/site. A link that leads nowhere fails.
docs: $(VENV)/built $(VENV)/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs build/site

# The wheel and the source distribution in dist, each installed into an empty environment and tried.
dist: $(VENV)/python
	$(PIP) install "build>=1.2"
	$(BIN)/python tests/wheels.py

# Of the page of a report, from a real run; needs Chromium.
pictures: $(VENV)/built $(VENV)/test
	$(BIN)/python docs/pictures/make.py

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"
	touch $@

$(VENV)/built: $(SOURCES) $(VENV)/python
	$(INSTALL) --editable ".[lab]"
	$(BIN)/python -m compileall -q src # every run starts hundreds of workers, also where imports may not write bytecode
	touch $@

$(VENV)/quick $(VENV)/test $(VENV)/lint $(VENV)/bench $(VENV)/docs: pyproject.toml constraints.txt $(VENV)/python
	$(INSTALL) --group $(notdir $@)
	touch $@

$(VENV)/peers: pyproject.toml constraints.txt $(VENV)/python
	$(INSTALL) --editable ".[lab,peers]"
	touch $@

clean:
	rm -rf $(VENV) build src/*.egg-info
	find src -name '*.so' -delete -o -name __pycache__ -prune -exec rm -r {} +
