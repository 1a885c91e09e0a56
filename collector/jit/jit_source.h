/*
 * jit_source.h
 *		A file by which a process tells of its code, and what it has said: which is read when.
 *
 * All is the walker thread's, but for tallies.
 */
#ifndef COLLECTOR_JIT_SOURCE_H
#define COLLECTOR_JIT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/arena.h"
#include "jit/code_map.h"
#include "jit/code_sink.h"
#include "jit/dump_reader.h"
#include "jit/file_probe.h"
#include "jit/map_reader.h"
#include "process/prober.h"

typedef enum JitSourceKind
{
	JIT_SOURCE_DUMP,
	JIT_SOURCE_MAP,
	JIT_SOURCE_KINDS
} JitSourceKind;

/* What all sources share. */
typedef struct JitReading
{
	CodeTable *table;
	Budget budget; /* of where code lies */
	Prober *prober;
	Allowance looks;
	char *bytes; /* NULL: the last ones did not come back */
	CodeTally tallies[JIT_SOURCE_KINDS];
} JitReading;

typedef struct JitSource
{
	JitSourceKind kind;
	uint32_t pid;
	FileProbe *probe; /* NULL: the last one did not come back */
	CodeMap map;
	uint64_t looked_ns;	 /* when the last look began; 0: never */
	uint64_t another_ns; /* when another file was last looked for */
	uint64_t again_ns;	 /* not looked at before */
	uint64_t absent_ns;	 /* how long is waited where there is no file */
	uint64_t spent_ns;	 /* for a look, by the walker and by the probe */
	bool is_behind;		 /* there is more in the file, which may say otherwise */
	union
	{
		MapReader map;
		DumpReader dump;
	} reader;
} JitSource;

/* A zeroed source. The reading outlives it. */
void jit_source_init(JitSource *source, JitSourceKind kind, JitReading *reading, uint32_t pid);
void jit_source_fini(JitSource *source);

/*
 * Reads on where that was not done since time_ns. Where it was done a moment ago, or so many others
 * are read, what is known has to do; but for a process that uses memory again, for which a moment
 * is waited.
 */
void jit_source_read(JitSource *source, JitReading *reading, uint64_t time_ns, uint64_t now_ns);

/* What lay at an address at a moment, held for the caller; NULL: it does not say. */
CodeObject *jit_source_find(const JitSource *source, uint64_t address, uint64_t time_ns);

#endif
