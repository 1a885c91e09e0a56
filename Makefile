# profstore: the extension (PGXS), the BPF programs and the collector. "make help" lists the targets.
#
# Every generated file goes under build/. CC=clang builds with clang, WERROR=1 makes warnings errors, V=1 shows
# the commands, PG_CONFIG=... picks the PostgreSQL to build for.

PG_CONFIG ?= pg_config
BUILD     ?= $(CURDIR)/build
SECONDS   ?= 600

ifeq ($(V),1)
QUIET :=
else
QUIET := @
MAKEFLAGS += --no-print-directory -s
endif
export V PG_CONFIG BUILD WERROR

EXTENSION_MAKE = $(MAKE) -C $(BUILD)/extension -f $(CURDIR)/extension/Makefile VPATH=$(CURDIR)/extension

ifeq ($(MAKELEVEL)$(MAKECMDGOALS),0)
$(info building profstore, which takes a minute or two the first time; "make V=1" shows the commands)
endif

.DELETE_ON_ERROR:
.PHONY: all extension bpf collector arm64 install uninstall install-collector deb deps deps-all demo demo-stop psql check check-majors check-citus installcheck \
        bench faults fuzz soak lint dashboards kubernetes format format-check clean help

all: extension collector ## Build extension and collector
	$(QUIET)echo "built profstore $$(cat VERSION) for $$($(PG_CONFIG) --version): $(BUILD)/extension, $(BUILD)/collector"

extension:
	$(QUIET)mkdir -p $(BUILD)/extension
	+$(QUIET)$(EXTENSION_MAKE) all

bpf:
	$(QUIET)$(MAKE) -C bpf

collector: bpf
	$(QUIET)$(MAKE) -C collector

arm64: ## Build extension and collector for arm64 on any machine, into build/arm64
	$(QUIET).dev/deps build
	$(QUIET).dev/arm64

install uninstall: extension ## Install the extension into the PostgreSQL of PG_CONFIG, or remove it
	+$(QUIET)$(EXTENSION_MAKE) $@
	$(QUIET)echo "$@ed profstore $$(cat VERSION) of $$($(PG_CONFIG) --version): $(DESTDIR)$$($(PG_CONFIG) --pkglibdir), $(DESTDIR)$$($(PG_CONFIG) --sharedir)/extension"

PREFIX ?= /usr/local
install-collector: collector ## Install the collector's programs, GPU library and systemd units under PREFIX (/usr/local)
	$(QUIET)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/systemd/system
	$(QUIET)install $(BUILD)/collector/profstore-collector $(BUILD)/collector/profstore-sources $(DESTDIR)$(PREFIX)/bin
	$(QUIET)install -d $(DESTDIR)$(PREFIX)/lib/profstore
	$(QUIET)install -m 644 $(BUILD)/collector/libprofstore-gpu.so $(DESTDIR)$(PREFIX)/lib/profstore
	$(QUIET)for unit in collector/systemd/*.service; do \
		sed 's,@BINDIR@,$(PREFIX)/bin,' $$unit >$(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/} || exit 1; \
	done
	$(QUIET)echo "installed profstore-collector and profstore-sources: $(DESTDIR)$(PREFIX)/bin, library for programs with a GPU in $(DESTDIR)$(PREFIX)/lib/profstore, units in $(DESTDIR)$(PREFIX)/lib/systemd/system"

deb: ## Build Debian packages of what is committed into build/deb
	$(QUIET).dev/deps build package
	$(QUIET).dev/deb

deps: ## Install the packages that building needs
	$(QUIET).dev/deps build

deps-all: ## Install those that testing and linting need, too (300 packages, 2 GB)
	$(QUIET).dev/deps build server check lint

demo: ## Profile this machine for 20 s into a private PostgreSQL and show the result
	$(QUIET).dev/deps build
	$(QUIET).dev/demo

demo-stop: ## Stop the demo's PostgreSQL (its data stays until make clean)
	$(QUIET).dev/cluster stop

psql: ## Open psql on the demo's PostgreSQL; ARGS="-c 'SELECT 1'" passes arguments
	$(QUIET).dev/cluster psql $(ARGS)

check: ## Build with warnings as errors and run every test
	$(QUIET).dev/deps build server check
	$(QUIET).dev/check

check-majors: ## Run every test of the extension with PostgreSQL 17 and 18, in roots of Debian 13 and unstable
	$(QUIET).dev/deps build check
	$(QUIET).dev/check majors

check-citus: ## Run the tests of samples on several servers with the Citus of the installation CITUS_PG_CONFIG
	$(QUIET).dev/check citus

installcheck: ## Run the tests that need a server: regress, isolation, TAP
	$(QUIET).dev/deps build server
	$(QUIET).dev/check regress isolation tap

bench: ## Measure against heap in the same run, and the agent's own cost
	$(QUIET).dev/deps build server check
	$(QUIET).dev/bench

fuzz: ## Fuzz for SECONDS (600) per target
	$(QUIET).dev/deps build server check
	$(QUIET)$(MAKE) -C extension/test fuzz SECONDS=$(SECONDS)
	$(QUIET)$(MAKE) -C collector/test fuzz SECONDS=$(SECONDS)
	$(QUIET)PROFSTORE_TEST_SECONDS=$(SECONDS) .dev/check arguments

soak: SECONDS := 1800
soak: ## Let the agent run for SECONDS (1800) while all around it comes and goes, a CPU and the database too
	$(QUIET).dev/deps build server check
	$(QUIET)$(MAKE) -C collector/test soak SECONDS=$(SECONDS)

faults: KILLS := 1000
faults: ## Kill KILLS (1000) collectors, backends and postmasters, cut networks, fill disks, fail over: acknowledged is stored once
	$(QUIET).dev/deps build server
	$(QUIET)$(MAKE) extension collector
	$(QUIET)collector/test/faults/run $(KILLS) $(SEED)

lint: ## clang-tidy and cppcheck
	$(QUIET).dev/deps build lint
	$(QUIET)$(MAKE) extension collector
	+$(QUIET)status=0; $(EXTENSION_MAKE) lint || status=$$?; $(MAKE) -C collector lint || status=$$?; exit $$status

dashboards: ## Write dashboards and alert rules from grafana/source
	$(QUIET).dev/deps check
	$(QUIET)for file in grafana/source/dashboards/*.jsonnet; do \
		jsonnet -J grafana/source "$$file" -o "grafana/dashboards/$$(basename "$$file" .jsonnet).json" || exit 1; \
	done
	$(QUIET)jsonnet -J grafana/source grafana/source/alerting.jsonnet -o grafana/provisioning/alerting/profstore.json
	$(QUIET)jsonnet -J grafana/source grafana/source/prometheus.jsonnet -o grafana/prometheus/rules.yaml

kubernetes: ## Write the kustomization of docker/kubernetes from the Helm chart
	$(QUIET).dev/deps check
	$(QUIET)go=$$(.dev/go-of 1.24.0 $(BUILD)) && cd docker/test/kubernetes && GOCACHE=$(BUILD)/go-cache $$go/go run . generate $(CURDIR)

format: ## Format every C file, and the dashboards' source
	$(QUIET)formatter=$$(.dev/formatter $(BUILD)) && find extension collector bpf -name '*.[ch]' | xargs -r "$$formatter" -i
	$(QUIET)find grafana/source -name '*sonnet' | xargs jsonnetfmt -i

format-check: ## Name C files that are not formatted, comments that are too wide or refer to another comment, broken tables of READMEs
	$(QUIET)formatter=$$(.dev/formatter $(BUILD)) && \
		find extension collector bpf -name '*.[ch]' | xargs -r "$$formatter" --dry-run -Werror
	$(QUIET)find extension collector bpf -name '*.[ch]' | xargs -r .dev/comment-width
	$(QUIET)find extension collector bpf -name '*.[ch]' | xargs -r .dev/comment-words
	$(QUIET)find . -path ./build -prune -o -name '*.md' -print | xargs -r .dev/table-columns

clean: ## Stop and remove the private clusters, remove build/
	$(QUIET)for link in $(CURDIR)/build/cluster-*; do \
		[ ! -L "$$link" ] || .dev/cluster purge --name "$${link##*/cluster-}" || exit 1; \
	done
	$(QUIET)rm -rf --one-file-system $(BUILD)

help: ## This list
	@sed -n 's/^\([a-z][a-z0-9 -]*\):.* ## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target what; do \
		printf '  make %-18s %s\n' "$$target" "$$what"; \
	done
