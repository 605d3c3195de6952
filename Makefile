# make run      a broker on localhost:9092, a demo of Spark on it    make test   everything that guards a change
# make bench    benchmark tables                  make setup  .venv with locked dependencies (called by the others)
# make chaos    200 kills of a log and of a broker, 50 of each kind of copier; KILLS=n, SEED=n   (make test has short runs)
# make spark    the long runs of Spark: clusters, kills, millions of records            (make test has short ones)
# make interop  what asks Apache Kafka, alone, and its half of the tests that run against both
# make test-pythons  the tests, on the oldest Python and the newest of this machine; TESTS=tests/log for some, PYTHONS="python3.12 …" for others
# make test-newest   what touches our dependencies, on the newest versions that pyproject.toml allows, as a user's pip gets them
#
# Nothing here asks a question, needs root, or writes outside this directory and the user's caches (pip's own, and
# ~/.cache/ottla for Java, jars and the Apache Kafka that the tests compare with). make run keeps its data in ottla-data and ottla-demo.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip --quiet --disable-pip-version-check

.PHONY: setup run test pytest test-pythons test-newest test-spark-versions test-compiled lint bench chaos lock clean interop spark

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Ottla needs Python 3.11 or newer; name it with make PYTHON=python3.x"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version), once; this takes a minute or two"
	$(PYTHON) -m venv $(VENV)
	@echo "Fetching and installing $$(grep -c == requirements.lock) packages, PySpark (450 MB) among them"
	$(BIN)/python $(PIP) install --requirement requirements.lock
	$(BIN)/python $(PIP) install --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

run: setup
	@$(BIN)/python -m ottla server --log-level ERROR --demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Four workers on two cores: half of a test is waiting. loadgroup: what asks Apache Kafka runs on one of them.
PYTEST := -m pytest -n $(or $(WORKERS),4) --dist loadgroup

test: lint pytest

pytest: setup
	$(BIN)/python $(PYTEST) $(TESTS)

# The locked versions on other Pythons, each in an environment of its own; tests/pythons.py finds the oldest and the newest.
test-pythons: setup
	pythons="$(or $(PYTHONS),$$($(BIN)/python -m tests.pythons oldest newest))" && for python in $$pythons; do \
		version=$$($$python -c 'import platform; print(platform.python_version())') && echo "== Python $$version" && \
		$(MAKE) pytest PYTHON=$$python VENV=build/pythons/$$version || exit 1; \
	done

# Without the lock and without src: first what a user's pip gets, then what the tests need. They are the tests of the rooms that use our
# dependencies, the documents' snippets, and the demo; those that run Spark are long tests. Last what is newer than pyproject.toml allows.
NEWEST := build/newest
NEWEST_TESTS := tests/docs tests/test_docs.py tests/records tests/group tests/transaction tests/metrics tests/cli tests/clients tests/interop/clients \
	tests/testing tests/log/cleaner tests/spark
NEWEST_LONG_TESTS := tests/spark/test_spark_snippets.py tests/spark/test_session.py tests/spark/pipeline/test_pipeline_command.py
test-newest: setup
	rm -rf $(NEWEST)
	python="$(or $(lastword $(PYTHONS)),$$($(BIN)/python -m tests.pythons newest))" && $$python -m venv $(NEWEST)
	$(NEWEST)/bin/python $(PIP) install '.[spark]'
	$(NEWEST)/bin/python $(PIP) install '.[dev]'
	$(NEWEST)/bin/python --version && $(NEWEST)/bin/python $(PIP) list
	$(NEWEST)/bin/python $(PYTEST) $(or $(TESTS),$(NEWEST_TESTS))
	$(if $(TESTS),,$(NEWEST)/bin/python -m pytest -m spark_full $(NEWEST_LONG_TESTS))
	@echo "== newer than pyproject.toml allows:" && $(NEWEST)/bin/python $(PIP) list --outdated

# Half an hour on two cores: a process that writes a log, a broker with producers, copiers that promise exactly once. A failure
# prints the seed; timing is not in the seed, so it may take a few runs again. `python -m tests.exactly_once --apache` proves the test.
chaos: setup
	$(BIN)/python -m tests.chaos --kills $(or $(KILLS),200) $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.chaos --broker --kills $(or $(KILLS),200) $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tests.exactly_once --kills $(or $(KILLS),50) $(if $(SEED),--seed $(SEED))

# What asks Apache Kafka, alone; the tests of clients run against its broker, too.
interop: setup
	OTTLA_APACHE_HALF=1 $(BIN)/python -m pytest -m oracle

spark: setup
	$(BIN)/python -m pytest -m spark_full tests/spark

# The tests of Spark with the other versions that pyproject.toml allows, each in a venv of its own (600 MB).
SPARK_VERSIONS ?= 4.0.2 4.1.2
test-spark-versions: $(SPARK_VERSIONS:%=build/spark-%/.ready)
	for version in $(SPARK_VERSIONS); do build/spark-$$version/bin/python -m pytest tests/spark/test_session.py \
		tests/spark/test_pyspark_versions.py tests/spark/source/test_source_in_spark.py \
		tests/spark/sink/test_spark_sink.py tests/spark/pipeline || exit 1; done

build/spark-%/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(@D)
	grep -v '^pyspark==' requirements.lock > $(@D)/requirements.txt
	$(@D)/bin/python $(PIP) install --requirement $(@D)/requirements.txt pyspark==$*
	$(@D)/bin/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The broker is measured as a wheel installs it, with its hot path compiled; without a C compiler, as it is.
bench: setup
	-$(MAKE) build/compiled
	$(BIN)/python -m bench

# Built as anybody builds it: pip makes an environment of its own with what pyproject.toml asks for. Some minutes, and 1.5 GB.
build/wheel: $(shell find src -name '*.py') hatch_build.py pyproject.toml
	rm -rf $@
	HATCH_BUILD_HOOKS_ENABLE=1 $(BIN)/python $(PIP) wheel --no-deps --wheel-dir $@ .
	@touch $@

build/compiled: build/wheel
	rm -rf $@
	$(BIN)/python $(PIP) install --no-deps --target $@ build/wheel/*.whl
	@touch $@

build/compiled-venv: build/wheel requirements.lock
	rm -rf $@
	$(PYTHON) -m venv $@
	$@/bin/python $(PIP) install --requirement requirements.lock build/wheel/*.whl
	@touch $@

# The tests of what is compiled, on that wheel in a venv of its own; a few look into modules that are C here, and are left out.
test-compiled: setup build/compiled-venv
	build/compiled-venv/bin/python -P tests/wheel_smoke.py compiled
	build/compiled-venv/bin/python $(PYTEST) -m "not oracle and not uncompiled" \
		tests/network tests/replication tests/server tests/protocol tests/records tests/log tests/testing \
		tests/coordinator tests/group tests/transaction tests/clients/producer tests/clients/consumer

# To be run with the oldest Python supported, for the newest versions that all of them can install.
lock:
	scratch=$$(mktemp -d) && trap "rm -rf $$scratch" EXIT && \
	$(PYTHON) -m venv $$scratch && \
	$$scratch/bin/python $(PIP) install '.[dev]' editables && \
	$$scratch/bin/python $(PIP) uninstall --yes ottla && \
	$$scratch/bin/python -m pip freeze --all --exclude pip > requirements.lock

clean:
	rm -rf $(VENV) build
