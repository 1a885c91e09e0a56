# The version that the programs and the extension's module show, and the commit that they were built from: with a + if
# files differ from it, empty if neither git nor COMMIT= says it.

VERSION := $(shell cat $(dir $(lastword $(MAKEFILE_LIST)))../VERSION)
COMMIT  ?= $(shell git -C $(dir $(lastword $(MAKEFILE_LIST))) describe --always --dirty=+ --abbrev=12 --exclude='*' 2>/dev/null)
COMMIT  := $(COMMIT)

# $(call header,FILE,NAME,STRING): makes FILE define NAME as STRING; whatever includes FILE is built anew only if the string changes.
define header
	echo "#define $(2) \"$(3)\"" >$(1).new
	cmp -s $(1).new $(1) || cp $(1).new $(1)
	rm $(1).new
endef
