/*
 * jitdump.h
 *		Records of jitdump files, by which runtimes tell what they generate, and when.
 *
 * Specified by tools/perf/Documentation/jitdump-specification.txt of Linux. All numbers have the
 * writer's byte order; bytes from the start of each:
 *
 *		header   0 magic "JiTD", 4 version, 8 its length, 12 ELF machine, 20 pid, 24 time, 32 flags
 *		prefix   0 kind, 4 length of the record, 8 time, and then what its kind has:
 *		LOAD     16 pid, 20 tid, 24 address, 32 code's address, 40 size, 48 number, 56 name, code
 *		MOVE     16 pid, 20 tid, 24 address, 32 old, 40 new address, 48 size, 56 number
 *		DEBUG    16 code's address, 24 entries; each 0 address, 8 line, 12 discriminator, 16 file
 *
 * Times are CLOCK_MONOTONIC. A debug record stands before its LOAD. Other records are passed over,
 * as code is: most of a dump's bytes are not read. A dump is foreign.
 */
#ifndef COLLECTOR_JITDUMP_H
#define COLLECTOR_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#define JITDUMP_HEADER_BYTES 40
#define JITDUMP_TEXT_BYTES	 1024 /* of a name, of a file's; what is longer is cut */

typedef enum JitdumpKind
{
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG,
	JITDUMP_OTHER
} JitdumpKind;

typedef struct JitdumpRecord
{
	JitdumpKind kind;
	uint64_t time_ns;
	uint64_t length; /* to the next record; that may be beyond the end of what was written */
	uint64_t start;	 /* code; not above end */
	uint64_t end;
	uint64_t from;				   /* MOVE: where it lay */
	int32_t line;				   /* DEBUG: where the code begins; 0: not known */
	char text[JITDUMP_TEXT_BYTES]; /* LOAD: name; DEBUG: file; "" where there is none */
} JitdumpRecord;

/*
 * Each looks at the bytes from the beginning of a header or record. 0; -EAGAIN where not enough of
 * it has come; -EBADMSG where it is none.
 *
 * The header's length is told. -ENOTSUP: a dump of another machine, version, byte order or clock.
 */
int jitdump_parse_header(const uint8_t *bytes, size_t length, uint64_t *header_length);
int jitdump_parse_record(const uint8_t *bytes, size_t length, JitdumpRecord *record);

#endif
