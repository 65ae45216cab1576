# make serve · make setup · make test · make check · make bench
# Needs Debian's make, python3 and python3-venv; everything else comes from the package registry.

PYTHON ?= python3
# The public collections that tests and benchmarks read where they are.
export FACTSEEK_DATA ?= $(wildcard ../shared/data)
# Hundreds of processes start in the tests and the benchmarks: each would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SERVING := $(VENV)/.serving
PORT ?= 8000
.DEFAULT_GOAL := help
.PHONY: help setup jar pictures docs free-port serve test test-real test-all test-deep check format bench bench-peers bench-quality bench-fusion bench-claims bench-train bench-growth bench-gpu bench-cluster soak fuzz example clean

help:
	@echo "make serve   install what serving needs, build the example indexes, serve them on http://127.0.0.1:8000 (or PORT=8001)"
	@echo "make setup   install everything, with torch and the tools to develop factseek"
	@echo "make test    install everything, and run the tests that need no server process, cluster or browser (5 minutes)"
	@echo "make test-real   run the tests with real servers, a Ray cluster, Chromium and real clients (10 minutes; needs factseek[clients,ray])"
	@echo "make test-all   run both in one go, as continuous integration does"
	@echo "make test-deep   run the tests that kill processes, fill disks, train and fuzz (half an hour; needs factseek[clients,ray])"
	@echo "make check   check lint, types, format, import rules and plain prose"
	@echo "make jar     compile retrieval/lucene/java to factseek.jar (needs javac 17: apt-get install openjdk-17-jdk-headless)"
	@echo "make bench-growth   measure an index at 10,000, 100,000 and 1,000,000 passages; table in docs/figures.md (half an hour)"
	@echo "make bench-gpu   compare the encoding of documents on a GPU with sentence-transformers; table in docs/figures.md (needs torch and a GPU; 3 minutes)"
	@echo "make bench-cluster   compare shards with one index byte for byte, and time them on Ray (needs factseek[ray] and FACTSEEK_DATA; 20 minutes)"
	@echo "make fuzz   feed every reader, parser and route with 10,000 broken inputs; table in docs/figures.md (an hour)"
	@echo "make bench-claims   measure check-worthiness and verdicts; tables in docs/figures.md (needs FACTSEEK_DATA; at most 15 minutes)"
	@echo "make bench-train   train an encoder and a re-ranker on SciFact; tables in docs/figures.md (needs FACTSEEK_DATA; two hours; an interrupted run continues)"
	@echo "make bench-quality   measure quality and speed of sparse, dense, learned sparse and hybrid; tables in docs/figures.md"
	@echo "make bench-fusion   compare ways of fusing, learned combinations and feedback over every collection; tables in docs/figures.md (needs FACTSEEK_DATA; half an hour; keeps the rankings)"
	@echo "make docs    build the documentation as a site in site/, warnings as errors"
	@echo "make pictures   take the pictures of the pages in docs/ (needs chromium and chromium-driver)"
	@echo "make soak    load the server for 30 minutes and compare every answer"
	@echo "make bench   compare with Pyserini and sentence-transformers; the table marks each missed target (at most 10 minutes)"
	@echo "make bench-peers   compare BM25 with other engines from the package registry; table in docs/figures.md (needs factseek[bench] and FACTSEEK_DATA; 5 minutes)"

setup: $(STAMP)
	@echo "factseek is installed in $(VENV); to use it in this shell, run: . $(BIN)/activate"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null \
		|| { echo "make: Python 3.11 to 3.14 is missing; run: apt-get install python3, or make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "make: Python's venv is missing; run: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(STAMP): setup.cfg constraints.txt .ci/install.py | $(BIN)/python
	$(BIN)/python .ci/install.py
	@# What checks types finds the package under its own name, whatever this folder is called.
	mkdir -p $(VENV)/checkout && ln -sfn ../.. $(VENV)/checkout/factseek
	@touch $@ $(SERVING)

$(SERVING): setup.cfg constraints.txt .ci/install.py packaging/serving.txt | $(BIN)/python
	@echo "step 1 of 5: install what serving needs into $(VENV)"
	@$(BIN)/python .ci/install.py --serving
	@touch $@

jar: $(STAMP)
	$(BIN)/python .ci/jar.py

example: $(SERVING)
	@$(BIN)/python examples/build.py

free-port:
	@$(PYTHON) -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2>/dev/null \
		|| { echo "make: port $(PORT) is taken; choose another: make serve PORT=8001" >&2; exit 1; }

serve: free-port example
	@$(BIN)/factseek serve --port $(PORT)

test: $(STAMP)
	$(BIN)/python -m pytest -m "not real and not deep" -n 2 --dist worksteal --durations 20

test-real: $(STAMP)
	$(BIN)/python -m pytest -m "real and not deep" -n 2 --dist worksteal --durations 20

# Both at once: what the tests share is imported and built only once.
test-all: $(STAMP)
	$(BIN)/python -m pytest -m "not deep" -n 2 --dist worksteal --durations 30

test-deep: $(STAMP)
	$(BIN)/python -m pytest -m deep --timeout 1200 -o faulthandler_timeout=1100

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python .ci/prose.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) example
	$(BIN)/python -m benchmarks.peers

bench-peers: $(STAMP)
	$(BIN)/python .ci/install.py --editable '.[bench]'
	$(BIN)/python -m benchmarks.engines --write

soak: $(STAMP) example
	$(BIN)/python -m benchmarks.soak --changes --write

bench-quality: $(STAMP) example
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.impacts --write

bench-fusion: $(STAMP) example
	$(BIN)/python -m benchmarks.fusion
	$(BIN)/python -m benchmarks.three_rankings
	$(BIN)/python -m benchmarks.left_out

docs: $(STAMP)
	$(BIN)/python docs/build_site.py site

pictures: $(STAMP) example
	PYTHONPATH=. $(BIN)/python docs/pictures.py

bench-claims: $(STAMP)
	$(BIN)/python -m benchmarks.checkworthiness
	$(BIN)/python -m benchmarks.verification

bench-train: $(STAMP)
	$(BIN)/python -m benchmarks.training

bench-growth: $(STAMP)
	$(BIN)/python -m benchmarks.growth

bench-gpu: $(STAMP)
	$(BIN)/python -m benchmarks.gpu --write

bench-cluster: $(STAMP)
	$(BIN)/python .ci/install.py --editable '.[ray]'
	$(BIN)/python -m benchmarks.cluster

fuzz: $(STAMP)
	$(BIN)/python -m benchmarks.fuzz
	FACTSEEK_FUZZ=10000 $(BIN)/python -m pytest -q tests/server/test_fuzz.py
	$(BIN)/python -m benchmarks.fuzz --write

clean:
	rm -rf $(VENV) indexes bench build site *.egg-info
