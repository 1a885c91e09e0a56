/*
 * frame_kind.c
 *		Finds the kind of a mapping by its name.
 */
#include "profstore.h"

#include "tree/frames/frame_kind.h"

#define NATIVE "native"
#define KERNEL "kernel"
#define JIT	   "jit"

/* Names in brackets that are not modules of the kernel, beside those of PREFIX_KINDS. */
static const struct
{
	const char *mapping;
	const char *kind;
} MAPPING_KINDS[] = {
	{ "[beam]", "beam" },		{ "[cpython]", "python" }, { "[dotnet]", "dotnet" },
	{ "[erlang]", "beam" },		{ "[go]", NATIVE },		   { "[heap]", JIT },
	{ "[hotspot]", "hotspot" }, { "[java]", "hotspot" },   { "[javascript]", "v8" },
	{ "[jit]", JIT },			{ "[jvm]", "hotspot" },	   { "[lua]", "luajit" },
	{ "[luajit]", "luajit" },	{ "[native]", NATIVE },	   { "[node]", "v8" },
	{ "[perl]", "perl" },		{ "[php]", "php" },		   { "[python]", "python" },
	{ "[ruby]", "ruby" },		{ "[rust]", NATIVE },	   { "[uprobes]", NATIVE },
	{ "[v8]", "v8" },			{ "[v8js]", "v8" },		   { "[vdso]", NATIVE },
	{ "[vsyscall]", NATIVE },
};

/*
 * Prefixes of the names of mappings: anonymous memory with code, names that perf gives, and unknown
 * mappings.
 */
static const struct
{
	const char *prefix;
	const char *kind;
} PREFIX_KINDS[] = {
	{ "[JIT]", JIT },	{ "[anon", JIT },	   { "[stack", JIT },
	{ "[unknown", "" }, { "/tmp/perf-", JIT }, { "//anon", JIT },
};

const char *
pfs_frame_kind(const char *mapping)
{
	for (size_t i = 0; i < lengthof(PREFIX_KINDS); i++)
	{
		if (strncmp(mapping, PREFIX_KINDS[i].prefix, strlen(PREFIX_KINDS[i].prefix)) == 0)
			return PREFIX_KINDS[i].kind;
	}
	if (*mapping != '[')
		return *mapping == '\0' ? "" : NATIVE;
	for (size_t i = 0; i < lengthof(MAPPING_KINDS); i++)
	{
		if (strcmp(mapping, MAPPING_KINDS[i].mapping) == 0)
			return MAPPING_KINDS[i].kind;
	}
	return KERNEL;
}
