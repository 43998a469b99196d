# make grade · make test · make nbgrader · make attack · make check · make release — each sets up .venv first, if need be.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/python
OUT    ?= results
TESTERS ?= 3# more than two processors: many tests wait for time to run out

.DEFAULT_GOAL := help
.PHONY: help setup grade test nbgrader attack check release generate bench clean

help:
	@echo "make grade    grade samples/class into $(OUT)/"
	@echo "make test     run every test of the grader, and verify the assignment"
	@echo "make nbgrader take the sample class through nbgrader, and test that path"
	@echo "make attack   try every known attack on the wall, at every level of isolation"
	@echo "make check    lint and type-check"
	@echo "make release  make what students start from, in build/release/"
	@echo "make generate make exercises/ anew from solutions/"
	@echo "make bench    measure grading: fresh pytest, warm local, warm isolated"
	@echo "make clean    remove what the above made, .venv aside"

setup: $(VENV)/.installed

$(VENV)/.installed: requirements.txt
	$(PYTHON) -c 'import sys; sys.exit("Headstart needs Python 3.11 or later, this is " + sys.version) if sys.version_info < (3, 11) else None'
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

grade: setup
	$(RUN) -m grader grade samples/class --out $(OUT)

test: setup
	$(RUN) -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder -m "not nbgrader"
	$(RUN) -m grader verify

nbgrader: setup
	$(RUN) -m pytest -n $(TESTERS) --dist loadfile -m nbgrader
	$(RUN) benchmarks/nbgrader_class.py

attack: setup
	$(RUN) -m grader attack

check: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

release: setup
	$(RUN) -m grader release --format bundle --out build/release --force

generate: setup
	$(RUN) -m grader generate

bench: setup
	$(RUN) benchmarks/grading.py

clean:
	rm -rf build $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis
