/*
 * jitdump.c
 *		Parses header and records of a jitdump.
 */
#include "jit/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/unaligned.h"

#define MAGIC			 0x4a695444U
#define VERSION			 1
#define HEADER_BYTES_MAX 4096
#define FLAG_OWN_CLOCK	 1U /* flag of a dump whose times come from a CPU counter */
#define ADDRESS_MAX		 (UINT64_C(1) << 56)

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

#define KIND_LOAD  0
#define KIND_MOVE  1
#define KIND_DEBUG 2

#define PREFIX_BYTES	  16
#define LOAD_BYTES		  56
#define MOVE_BYTES		  64
#define DEBUG_BYTES		  32
#define DEBUG_ENTRY_BYTES 16 /* size of an entry before its file name */

int
jitdump_parse_header(const uint8_t *bytes, size_t length, uint64_t *header_length)
{
	uint32_t magic;

	if (length < JITDUMP_HEADER_BYTES)
		return -EAGAIN;
	magic = bytes_u32_at(bytes, 0);
	/* A dump of a machine with the other byte order is sound, but not readable here. */
	if (magic == __builtin_bswap32(MAGIC))
		return -ENOTSUP;
	*header_length = bytes_u32_at(bytes, 8);
	if (magic != MAGIC || *header_length < JITDUMP_HEADER_BYTES ||
		*header_length > HEADER_BYTES_MAX)
		return -EBADMSG;
	/* With the process's own clock (FLAG_OWN_CLOCK) no record could be compared with a sample. */
	if (bytes_u32_at(bytes, 4) != VERSION || bytes_u32_at(bytes, 12) != MACHINE ||
		(bytes_u64_at(bytes, 32) & FLAG_OWN_CLOCK) != 0)
		return -ENOTSUP;
	return 0;
}

/*
 * Copies the string at an offset. Returns -EAGAIN if the end of the string has not been written
 * yet.
 */
static int
take_text(const uint8_t *bytes, size_t length, uint64_t at, JitdumpRecord *record)
{
	uint64_t most = record->length - at;
	size_t here = length > at ? length - (size_t) at : 0;
	size_t text;

	if (most > sizeof(record->text) - 1)
		most = sizeof(record->text) - 1;
	if (here > most)
		here = (size_t) most;
	text = strnlen((const char *) bytes + at, here);
	/* Without a NUL, the rest of the string may not have been written yet. */
	if (text == here && here < most)
		return -EAGAIN;
	memcpy(record->text, bytes + at, text);
	record->text[text] = '\0';
	return 0;
}

/* Sets the range of the code. Returns false if it is not within user space. */
static bool
set_code(JitdumpRecord *record, uint64_t start, uint64_t size)
{
	if (size > ADDRESS_MAX || start > ADDRESS_MAX - size)
		return false;
	record->start = start;
	record->end = start + size;
	return true;
}

static int
parse_load(const uint8_t *bytes, size_t length, JitdumpRecord *record)
{
	uint64_t size;

	if (length < LOAD_BYTES)
		return record->length < LOAD_BYTES ? -EBADMSG : -EAGAIN;
	size = bytes_u64_at(bytes, 40);
	/* the record must have room for a name, its NUL and the code */
	if (record->length < LOAD_BYTES + 1 || size > record->length - LOAD_BYTES - 1 ||
		!set_code(record, bytes_u64_at(bytes, 32), size))
		return -EBADMSG;
	return take_text(bytes, length, LOAD_BYTES, record);
}

static int
parse_move(const uint8_t *bytes, size_t length, JitdumpRecord *record)
{
	if (length < MOVE_BYTES)
		return record->length < MOVE_BYTES ? -EBADMSG : -EAGAIN;
	record->from = bytes_u64_at(bytes, 32);
	return set_code(record, bytes_u64_at(bytes, 40), bytes_u64_at(bytes, 48)) ? 0 : -EBADMSG;
}

/* Parses a DEBUG record. Its first entry describes the beginning of the code. */
static int
parse_debug(const uint8_t *bytes, size_t length, JitdumpRecord *record)
{
	uint64_t entries;
	uint32_t line;

	if (length < DEBUG_BYTES)
		return record->length < DEBUG_BYTES ? -EBADMSG : -EAGAIN;
	entries = bytes_u64_at(bytes, 24);
	/* Each entry takes at least its fixed part and the NUL of its file name. */
	if (entries > (record->length - DEBUG_BYTES) / (DEBUG_ENTRY_BYTES + 1) ||
		!set_code(record, bytes_u64_at(bytes, 16), 0))
		return -EBADMSG;
	if (entries == 0)
		return 0;
	if (length < DEBUG_BYTES + DEBUG_ENTRY_BYTES)
		return -EAGAIN;
	line = bytes_u32_at(bytes, DEBUG_BYTES + 8);
	/* A line that does not fit is dropped rather than the record, which still names the code. */
	record->line = line <= INT32_MAX ? (int32_t) line : 0;
	return take_text(bytes, length, DEBUG_BYTES + DEBUG_ENTRY_BYTES, record);
}

int
jitdump_parse_record(const uint8_t *bytes, size_t length, JitdumpRecord *record)
{
	uint32_t kind;

	if (length < PREFIX_BYTES)
		return -EAGAIN;
	kind = bytes_u32_at(bytes, 0);
	*record = (JitdumpRecord){ .kind = JITDUMP_OTHER,
							   .length = bytes_u32_at(bytes, 4),
							   .time_ns = bytes_u64_at(bytes, 8) };
	if (record->length < PREFIX_BYTES)
		return -EBADMSG;
	if (kind == KIND_LOAD)
		record->kind = JITDUMP_LOAD;
	else if (kind == KIND_MOVE)
		record->kind = JITDUMP_MOVE;
	else if (kind == KIND_DEBUG)
		record->kind = JITDUMP_DEBUG;
	else
		return 0;
	/* Bytes behind the record belong to the next one. */
	if (length > record->length)
		length = (size_t) record->length;
	if (record->kind == JITDUMP_LOAD)
		return parse_load(bytes, length, record);
	return record->kind == JITDUMP_MOVE ? parse_move(bytes, length, record)
										: parse_debug(bytes, length, record);
}
