# profstore: the extension (PGXS), the BPF programs and the collector.
# Every generated file goes under build/; "make help" lists the targets.

PG_CONFIG ?= pg_config
BUILD := $(CURDIR)/build

ifeq ($(V),1)
QUIET :=
else
QUIET := @
MAKEFLAGS += --no-print-directory -s
endif
export V PG_CONFIG BUILD

.DELETE_ON_ERROR:
.PHONY: all extension collector bpf install uninstall clean

all: extension collector

extension:
	$(QUIET)mkdir -p $(BUILD)/extension
	$(QUIET)$(MAKE) -C $(BUILD)/extension -f $(CURDIR)/extension/Makefile VPATH=$(CURDIR)/extension all

bpf:
	$(QUIET)$(MAKE) -C bpf

collector: bpf
	$(QUIET)$(MAKE) -C collector

install uninstall: extension
	$(QUIET)$(MAKE) -C $(BUILD)/extension -f $(CURDIR)/extension/Makefile VPATH=$(CURDIR)/extension $@

clean:
	$(QUIET)rm -rf $(BUILD)
