/*
 * jitdump.h
 *		Parser of jitdump files, in which runtimes report the code that they generate, with times.
 *
 * Format: tools/perf/Documentation/jitdump-specification.txt of Linux. All numbers have the
 * writer's byte order; offsets in bytes from the start of each item:
 *
 *   header   0 magic "JiTD", 4 version, 8 its length, 12 ELF machine, 20 pid, 24 time, 32 flags
 *   prefix   0 kind, 4 length of the record, 8 time; then by kind:
 *   LOAD     16 pid, 20 tid, 24 address, 32 code's address, 40 size, 48 number, 56 name, code
 *   MOVE     16 pid, 20 tid, 24 address, 32 old, 40 new address, 48 size, 56 number
 *   DEBUG    16 code's address, 24 entries; each 0 address, 8 line, 12 discriminator, 16 file
 *
 * Times are CLOCK_MONOTONIC. A DEBUG record comes before its LOAD. Other records are skipped, and
 * so is the code, which makes up most of a dump. The content is untrusted.
 */
#ifndef COLLECTOR_JITDUMP_H
#define COLLECTOR_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#define JITDUMP_HEADER_BYTES 40
#define JITDUMP_TEXT_BYTES	 1024 /* maximum length of names and file names; longer ones are cut */

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
	uint64_t length; /* offset of the next record, which may be beyond the end of the file */
	uint64_t start;	 /* start of the code; not greater than end */
	uint64_t end;
	uint64_t from; /* MOVE: the old address of the code */
	/* DEBUG: line of the code's first instruction; 0 if not known. */
	int32_t line;
	char text[JITDUMP_TEXT_BYTES]; /* LOAD: the name; DEBUG: the file; other records: "" */
} JitdumpRecord;

/*
 * Parse the header or record at the beginning of bytes. Return 0; -EAGAIN if it is incomplete;
 * -EBADMSG if it is malformed.
 *
 * jitdump_parse_header() stores the header's length; -ENOTSUP for a dump of another machine,
 * version, byte order or clock.
 */
int jitdump_parse_header(const uint8_t *bytes, size_t length, uint64_t *header_length);
int jitdump_parse_record(const uint8_t *bytes, size_t length, JitdumpRecord *record);

#endif
