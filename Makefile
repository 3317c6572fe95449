# SPDX-License-Identifier: MIT
# The front door. `make demo` and `make test` work on a fresh Debian machine: each installs what it
# needs (apt as root or through sudo; Python packages into build/venv), builds and runs.
#
#   make          build the library and the command line into build/release
#   make demo     train a mixture of experts on handwritten digits through the public API
#   make test     every test, in every configuration; closes with a line of counts
#   make bench    measure this machine; docs/performance.md explains the figures
#   make lint     formatting, clang-tidy, layer rule
#   make format   apply the formatting
#   make install  PREFIX=/usr/local
#   make clean    remove build/

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
RELEASE = build/release
STAGE = $(abspath build/stage)

.PHONY: all deps-build deps-test configure demo stage test bench lint format install clean

all: configure
	cmake --build $(RELEASE) -j $(JOBS)

deps-build:
	@tools/install_deps.sh build

deps-test:
	@tools/install_deps.sh test

configure: deps-build
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DDG_BUILD_TESTS=OFF > /dev/null

# What users get, under build/stage: the demo and the package tests are built against it alone.
stage: all
	@cmake --install $(RELEASE) --prefix $(STAGE) > /dev/null

demo: stage
	@cmake -S examples -B build/examples -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCMAKE_PREFIX_PATH=$(STAGE) > /dev/null
	@cmake --build build/examples -j $(JOBS)
	@build/examples/moe_digits/moe_digits --output build/demo

test: deps-test
	@tools/run_tests.sh

bench: all
	@$(RELEASE)/cli/deepgemm bench

lint: deps-test
	@tools/lint.sh

format: deps-test
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs -r clang-format-14 -i

install: all
	cmake --install $(RELEASE) --prefix $(PREFIX)

clean:
	rm -rf build
