# A thin front for scripts/ and meson. `make help` names the targets.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

.PHONY: all help demo test install uninstall release bench lint format sanitize fuzz clean

all: ## build; the command is then build/wasp
	@scripts/setup.sh build
	@scripts/build.sh gcc

help: ## this
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

demo: all ## build, then run a guest in the sandbox and show what comes back
	@scripts/demo.sh

test: ## build every configuration and run every check
	@scripts/setup.sh test
	@scripts/engine.sh runtime >/dev/null
	@scripts/engine.sh compiler >/dev/null
	@tests/run

install: all ## into PREFIX (/usr/local), below DESTDIR if given
	@meson configure build -Dprefix=$(PREFIX)
	@ninja -C build build.ninja >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C build --strip

uninstall: ## what install put there
	@meson configure build -Dprefix=$(PREFIX)
	@ninja -C build build.ninja >/dev/null
	@DESTDIR=$(DESTDIR) scripts/uninstall.sh

release: ## an archive, its checksum and a list of what is inside, in dist/
	@scripts/release.sh

bench: all ## measure, as ratios within one run
	@tests/bench/run

lint: ## layout, layers, sizes, shellcheck, clang-tidy
	@scripts/setup.sh test
	@tests/run lint

format: ## lay out all C
	@scripts/setup.sh test
	@scripts/format

sanitize: ## unit tests, fuzz corpus and system tests with ASan and UBSan
	@scripts/setup.sh test
	@tests/run sanitize

fuzz: ## every fuzz target for FUZZ_SECONDS (60)
	@scripts/setup.sh test
	@scripts/build.sh fuzz tests
	@scripts/fuzz.sh $(FUZZ_SECONDS)

clean: ## everything but the engine, which is not in this folder
	rm -rf build build-clang build-test build-sanitize build-fuzz build-demo
