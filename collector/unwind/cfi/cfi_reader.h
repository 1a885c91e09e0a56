/*
 * cfi_reader.h
 *		Reads CFI with bounds checks: a cursor over bytes, and the entries (CIE, FDE) of a
 *		section.
 */
#ifndef COLLECTOR_CFI_READER_H
#define COLLECTOR_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/cfi_input.h"

/*
 * A cursor over bytes. A read past the end sets failed and returns 0, as do all later reads, so a
 * caller may test failed once.
 */
typedef struct CfiCursor
{
	const uint8_t *data;
	size_t offset;
	size_t end;
	bool failed;
} CfiCursor;

static inline uint8_t
cfi_read_u8(CfiCursor *cursor)
{
	if (cursor->failed || cursor->offset >= cursor->end)
	{
		cursor->failed = true;
		return 0;
	}
	return cursor->data[cursor->offset++];
}

/* Returns the next length bytes and skips them; NULL, with failed set, if fewer are left. */
static inline const uint8_t *
cfi_read_block(CfiCursor *cursor, uint64_t length)
{
	const uint8_t *at;

	if (cursor->failed || length > cursor->end - cursor->offset)
	{
		cursor->failed = true;
		return NULL;
	}
	at = cursor->data + cursor->offset;
	cursor->offset += length;
	return at;
}

/* Reads a little-endian number of 1 to 8 bytes. */
static inline uint64_t
cfi_read_unsigned(CfiCursor *cursor, unsigned bytes)
{
	const uint8_t *at = cfi_read_block(cursor, bytes);
	uint64_t value = 0;

	if (at != NULL && bytes == 4) /* most numbers have 4 bytes */
		return (uint64_t) at[0] | (uint64_t) at[1] << 8 | (uint64_t) at[2] << 16 |
			   (uint64_t) at[3] << 24;
	for (unsigned i = 0; at != NULL && i < bytes; i++)
		value |= (uint64_t) at[i] << (8 * i);
	return value;
}

/* Reads a ULEB128 number of more than one byte; called only by cfi_read_uleb128(). */
uint64_t cfi_read_long_uleb128(CfiCursor *cursor);

static inline uint64_t
cfi_read_uleb128(CfiCursor *cursor)
{
	if (!cursor->failed && cursor->offset < cursor->end && cursor->data[cursor->offset] < 0x80)
		return cursor->data[cursor->offset++]; /* most numbers have one byte */
	return cfi_read_long_uleb128(cursor);
}

int64_t cfi_read_sleb128(CfiCursor *cursor);

/* The parts of a CIE that its FDEs need. */
typedef struct CfiCie
{
	size_t offset; /* offset of the entry, which identifies the CIE */
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the addresses in FDEs */
	bool has_augmentation_data;
	bool signal_frame;
	const uint8_t *instructions;
	size_t instructions_length;
} CfiCie;

typedef struct CfiFde
{
	uint64_t start; /* ELF virtual addresses, half-open */
	uint64_t end;
	size_t offset; /* offset of the entry in its section */
	CfiCie cie;
	const uint8_t *instructions;
	size_t instructions_length;
} CfiFde;

typedef struct CfiEntries
{
	const CfiInput *input;
	const CfiSection *section;
	bool is_eh_frame;
	size_t offset;	 /* offset of the next entry */
	CfiCie last_cie; /* the CIE of the previous FDE, which the next one mostly shares */
	bool has_last_cie;
} CfiEntries;

typedef enum CfiNext
{
	CFI_FDE,	   /* *fde is valid */
	CFI_MALFORMED, /* an entry was skipped */
	CFI_CUT,	   /* the section ends inside an entry, so there are no further ones */
	CFI_END
} CfiNext;

void cfi_entries_begin(CfiEntries *entries, const CfiInput *input, bool eh_frame);
CfiNext cfi_entries_next(CfiEntries *entries, CfiFde *fde);

#endif
