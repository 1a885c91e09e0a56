/*
 * dump_reader.h
 *		Reads a jitdump record by record. Each record carries its time.
 */
#ifndef COLLECTOR_DUMP_READER_H
#define COLLECTOR_DUMP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/code_sink.h"
#include "jit/jitdump.h"

/* A zeroed reader is at the beginning of the file. */
typedef struct DumpReader
{
	uint64_t at;	  /* offset in the file at which the next call continues */
	uint64_t told_ns; /* time of the last record */
	bool is_broken;	  /* a record was malformed, so the rest of the file is not read */
	bool has_debug;
	/* describes the code of the next LOAD record; valid if has_debug is true */
	JitdumpRecord debug;
} DumpReader;

/*
 * Processes the complete records in bytes, which are at offset reader->at of the file, and advances
 * the offset past them. An incomplete record is left for the next call. now_ns must be later than
 * the time at which the bytes were written.
 */
void dump_reader_take(DumpReader *reader, const CodeSink *sink, const uint8_t *bytes, size_t length,
					  uint64_t now_ns);
void dump_reader_begin(DumpReader *reader);

#endif
