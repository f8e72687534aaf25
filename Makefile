# What a newcomer needs; each line below is a script in scripts/. `make demo` and `make test` do all the set-up.
.DEFAULT_GOAL := help
.PHONY: help demo check test test-all gpu-test soak lint build wheel format docs clean setup

help:      ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 18
demo: setup  ## what sennit does here: measured on GPUs, else simulated, proved and tried between processes
	@CUDA=$(or $(filter on off,$(CUDA)),auto) scripts/build release demo
	@scripts/demo
check: setup  ## what a change touches: build, tests, formatting; between two edits
	@.venv/bin/python scripts/check.py
test: setup  ## what can be tested here: C++ (also under sanitizers), command line, lint
	@.venv/bin/python scripts/run_tests.py
test-all: setup  ## the same, with every test over every MPI and number of ranks
	@.venv/bin/python scripts/run_tests.py --all
gpu-test: setup  ## the tests that need GPUs
	@scripts/gpu-test
soak: setup  ## ten minutes of random collectives against references; SECONDS=N for another time
	@scripts/build release tests
	@.venv/bin/python scripts/soak.py --seconds $(or $(SECONDS),600)
lint: setup  ## clang-format, clang-tidy, ruff, mypy --strict
	@.venv/bin/python scripts/lint.py
build: setup  ## the programs, in build/release/bin; CUDA=on compiles CUDA kernels also where no GPU answers
	@CUDA=$(or $(filter on off,$(CUDA)),auto) scripts/build release programs
wheel: setup  ## a Python package in dist/, for every Python and most Linux systems; CUDA=off without CUDA kernels
	@CUDA=$(or $(filter on off,$(CUDA)),on) scripts/wheel
format: setup  ## format C++ and Python in place
	@.venv/bin/python scripts/lint.py --fix
docs: setup  ## regenerate the figures and tables of README and docs/ from results/
	@.venv/bin/python scripts/generate_docs.py
clean:     ## remove what was built; keeps .venv
	@rm -rf build dist sennit-report .mypy_cache .ruff_cache .pytest_cache
setup:
	@scripts/setup
