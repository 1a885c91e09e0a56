# The version and the commit that the programs and the extension's module show. The commit ends with + if files differ from it, and is
# empty if neither git nor COMMIT= provides it.

VERSION := $(shell cat $(dir $(lastword $(MAKEFILE_LIST)))../VERSION)
COMMIT  ?= $(shell git -C $(dir $(lastword $(MAKEFILE_LIST))) describe --always --dirty=+ --abbrev=12 --exclude='*' 2>/dev/null)
COMMIT  := $(COMMIT)

# $(call header,FILE,NAME,STRING): writes a FILE that defines NAME as STRING, but only if the string changes, to avoid needless builds.
define header
	echo "#define $(2) \"$(3)\"" >$(1).new
	cmp -s $(1).new $(1) || cp $(1).new $(1)
	rm $(1).new
endef
