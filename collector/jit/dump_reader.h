/*
 * dump_reader.h
 *		What a jitdump says, record by record, with its own times.
 */
#ifndef COLLECTOR_DUMP_READER_H
#define COLLECTOR_DUMP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/code_sink.h"
#include "jit/jitdump.h"

/* Zeroed: at the beginning. */
typedef struct DumpReader
{
	uint64_t at;	  /* where in the file what is taken next begins */
	uint64_t told_ns; /* the time of the last record */
	bool is_broken;	  /* what follows is no record: nothing is read any more */
	bool has_debug;
	JitdumpRecord debug; /* about code that is told of next, where has_debug */
} DumpReader;

/*
 * Takes the records that the bytes hold, which are those of the file from reader->at on, and sets
 * that to where the next ones are to be read from; now_ns is later than they were written. A record
 * whose end has not come is taken later.
 */
void dump_reader_take(DumpReader *reader, const CodeSink *sink, const uint8_t *bytes, size_t length,
					  uint64_t now_ns);
void dump_reader_begin(DumpReader *reader);

#endif
