/*
 * jit_source.h
 *		One file in which a process describes its code: the content read so far, and when the file
 *		is read.
 *
 * All data belongs to the walker thread, except the tallies.
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

/* State that all sources share. */
typedef struct JitReading
{
	CodeTable *table;
	Budget budget; /* for regions of all sources */
	Prober *prober;
	Allowance looks;
	char *bytes; /* read buffer; NULL after a read that timed out, whose probe owns it */
	CodeTally tallies[JIT_SOURCE_KINDS];
} JitReading;

typedef struct JitSource
{
	JitSourceKind kind;
	uint32_t pid;
	FileProbe *probe; /* NULL if the last one timed out */
	CodeMap map;
	uint64_t looked_ns;	 /* start of the last read; 0 if there was none */
	uint64_t another_ns; /* time of the last check whether another file is at the path */
	uint64_t again_ns;	 /* do not read before this moment */
	uint64_t absent_ns;	 /* next pause if there is no file */
	uint64_t spent_ns;	 /* CPU time of one read, of the walker and of the probe's thread */
	bool is_behind;		 /* the file has unread bytes, which may replace known code */
	union
	{
		MapReader map;
		DumpReader dump;
	} reader;
} JitSource;

/* Initializes a zeroed source. reading must outlive the source. */
void jit_source_init(JitSource *source, JitSourceKind kind, JitReading *reading, uint32_t pid);
void jit_source_fini(JitSource *source);

/*
 * Reads the file unless it was read after time_ns. Skips the read if the last one was a moment ago,
 * or if reads of all files exceed their rate; the known content is used then. If the process reuses
 * memory, waits for a moment instead of skipping the read.
 */
void jit_source_read(JitSource *source, JitReading *reading, uint64_t time_ns, uint64_t now_ns);

/*
 * Returns a reference to the code that was at an address at a moment; NULL if the file does not
 * describe it.
 */
CodeObject *jit_source_find(const JitSource *source, uint64_t address, uint64_t time_ns);

#endif
