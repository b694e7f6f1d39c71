# The front door: every target installs the packages it needs, then builds only what has changed.
FUZZ_SECONDS ?= 60
SOAK_MINUTES ?= 10
PREFIX ?= /usr/local
JOBS := $(shell nproc 2>/dev/null || echo 2)

# To the recipes as it was typed: make expands nothing in it, and the shell does not read it as code.
override PROMPT := $(value PROMPT)
export PROMPT FUZZ_SECONDS SOAK_MINUTES PREFIX JOBS

# Where the machine has NEON of its own, the preset `dev` tests it.
NEON := $(if $(filter aarch64,$(shell uname -m)),,neon)

.DEFAULT_GOAL := help
.PHONY: help build install wheel run test bench bench-1m fuzz soak format lint clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## build the program, build/release/indexshare
	@tools/setup.sh build
	@tools/build.sh release

install: build ## install the program, the library and its headers under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$$PREFIX"

wheel: ## build a wheel of the Python package that carries the libraries it needs, into build/dist
	@tools/setup.sh build python
	@tools/wheel.sh

run: build ## generate from PROMPT="..." with the demonstration model
	@tools/demo.sh

test: ## build and run all tests, with sanitizers, fuzzers and NEON emulated
	@tools/setup.sh build test
	@for preset in dev tsan fuzz $(NEON); do tools/build.sh $$preset || exit 1; done
	@ctest --test-dir build/dev --output-on-failure --no-label-summary -j $(JOBS)

bench: build ## measure the machine, the bundled model and GLM-5.2's geometry up to 1M tokens; curves in build/bench
	@tools/bench.sh

bench-1m: build ## find five values among 1,048,576 tokens, with a model made for it
	@build/release/needle build/needle 1048576

fuzz: ## run each fuzzer for FUZZ_SECONDS (60) and keep what it finds in build/corpus
	@tools/setup.sh build test
	@tools/build.sh fuzz
	@tools/fuzz.sh

soak: build ## load the server for SOAK_MINUTES (10): 64 streams, clients that leave, stall or never finish asking
	@INDEXSHARE=build/release/indexshare python3 tests/soak/soak.py --minutes "$$SOAK_MINUTES"

format: ## format the C++ sources
	@tools/setup.sh test
	@tools/format.sh

lint: ## run clang-tidy on the C++ sources that have changed since the last time
	@tools/setup.sh build test lint
	@tools/build.sh lint

clean: ## remove everything that was built
	@rm -rf build
