# make demo, test, docs and bench need Python 3.11 or newer, and the network the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Compiled kernels stay in the tree, shared by demo, tests and benchmarks.
export HARDGRAIN_CACHE ?= $(CURDIR)/.cache

.PHONY: help demo test test-stress fuzz fuzz-files fuzz-kills fuzz-studies test-rounding coverage mutation docs pictures bench lock clean

help:
	@echo "make demo           settle 1000 disks under gravity and draw their force network"
	@echo "make test           lint, type check and run all tests"
	@echo "make test-stress    run the whole set of scenes made to go wrong, of which test has a share"
	@echo "make test-rounding  run the tests that rounding may show in as on two other processors"
	@echo "make fuzz           try a hundred thousand malformed scenarios (ARGS=1000: so many)"
	@echo "make fuzz-files     damage twenty thousand files and read them (ARGS=1000: so many)"
	@echo "make fuzz-kills     kill and resume two hundred runs (ARGS=20: so many)"
	@echo "make fuzz-studies   kill the workers of a study of a thousand runs (ARGS=100: so many)"
	@echo "make coverage       run all tests and say which lines of src they reach"
	@echo "make mutation       put small faults into copies of src: which does no test notice?"
	@echo "make docs           build the site of tutorials and reference into build/site"
	@echo "make pictures       draw the pictures of the docs that are out of date (ARGS=name: just that one)"
	@echo "make bench          measure speed, against other programs where they can be had"
	@echo "make lock           renew requirements.lock with the newest versions"
	@echo "make clean          remove all that make has made"

demo: $(VENV)/.installed
	$(BIN)/hardgrain demo --overwrite

test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest $(ARGS)

fuzz: $(VENV)/.installed
	$(BIN)/python tests/fuzz/scenarios.py $(ARGS)

test-stress: $(VENV)/.installed
	$(BIN)/pytest -m stress $(ARGS)

test-rounding: $(VENV)/.installed
	$(BIN)/python tests/rounding.py $(ARGS)

fuzz-files: $(VENV)/.installed
	$(BIN)/python -m tests.fuzz.damaged $(or $(ARGS),20000)

fuzz-kills: $(VENV)/.installed
	$(BIN)/python -m tests.fuzz.kills $(or $(ARGS),200)

fuzz-studies: $(VENV)/.installed
	$(BIN)/python -m tests.fuzz.studies $(or $(ARGS),1000)

# Lines of compiled functions cannot be seen: they are left out.
coverage: $(VENV)/.installed
	$(BIN)/pytest --cov --cov-report=term --cov-report=html:build/coverage $(ARGS)

mutation: $(VENV)/.installed
	$(BIN)/python tests/mutation.py $(ARGS)

docs: $(VENV)/.installed
	@$(BIN)/python -c "import myst_parser, pydata_sphinx_theme" 2>/dev/null || $(PIP) install --quiet -e ".[docs]" --no-build-isolation
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "built: build/site/index.html"

pictures: $(VENV)/.installed
	$(BIN)/python docs/draw.py $(ARGS)

bench: $(VENV)/.installed
	@$(PIP) install --quiet -e ".[bench]" --no-build-isolation || echo "pymunk cannot be had: going on without"
	$(BIN)/python -m benchmarks $(ARGS)

# Everything at locked versions, the build backend too, then the package as a link to src.
$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('hardgrain needs Python 3.11 or newer: make PYTHON=/path/to/python3.11')"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# With the oldest Python supported, so that the versions found serve the newer ones too.
lock:
	rm -rf build
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet ".[test,docs]" "flit_core>=3.11,<4"
	( echo "# Exact versions of all that the tests and the package need. Made by make lock."; \
	  build/lock/bin/python -m pip freeze --exclude hardgrain ) > requirements.lock
	rm -rf build

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks docs examples -name __pycache__ -type d -exec rm -rf {} + 2>/dev/null || true
