/*
 * cfi_reader.h
 *		Checked reading of CFI: a cursor over bytes, and the entries (CIE, FDE) of a section.
 */
#ifndef COLLECTOR_CFI_READER_H
#define COLLECTOR_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi_input.h"

/*
 * A read past the end sets failed and yields 0; later reads yield 0 too, so that a caller may check
 * once.
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

/*
 * A block of the given length: returns its bytes and skips them, NULL (and failed) where it does
 * not fit.
 */
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

	if (at != NULL && bytes == 4) /* most are */
		return (uint64_t) at[0] | (uint64_t) at[1] << 8 | (uint64_t) at[2] << 16 |
			   (uint64_t) at[3] << 24;
	for (unsigned i = 0; at != NULL && i < bytes; i++)
		value |= (uint64_t) at[i] << (8 * i);
	return value;
}

/* Like cfi_read_uleb128(), which is faster for numbers of one byte. */
uint64_t cfi_read_long_uleb128(CfiCursor *cursor);

static inline uint64_t
cfi_read_uleb128(CfiCursor *cursor)
{
	if (!cursor->failed && cursor->offset < cursor->end && cursor->data[cursor->offset] < 0x80)
		return cursor->data[cursor->offset++]; /* most are */
	return cfi_read_long_uleb128(cursor);
}

int64_t cfi_read_sleb128(CfiCursor *cursor);

/* What an FDE needs of its CIE. */
typedef struct CfiCie
{
	size_t offset; /* of the entry, which names it */
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDE's addresses */
	bool has_augmentation_data;
	bool signal_frame;
	const uint8_t *instructions;
	size_t instructions_length;
} CfiCie;

typedef struct CfiFde
{
	uint64_t start; /* ELF virtual addresses, half-open */
	uint64_t end;
	size_t offset; /* of the entry in its section */
	CfiCie cie;
	const uint8_t *instructions;
	size_t instructions_length;
} CfiFde;

typedef struct CfiEntries
{
	const CfiInput *input;
	const CfiSection *section;
	bool is_eh_frame;
	size_t offset;	 /* of the next entry */
	CfiCie last_cie; /* FDEs mostly share the CIE before them */
	bool has_last_cie;
} CfiEntries;

typedef enum CfiNext
{
	CFI_FDE,	   /* *fde is filled in */
	CFI_MALFORMED, /* one entry skipped */
	CFI_CUT,	   /* the section ends inside an entry: nothing follows */
	CFI_END
} CfiNext;

void cfi_entries_begin(CfiEntries *entries, const CfiInput *input, bool eh_frame);
CfiNext cfi_entries_next(CfiEntries *entries, CfiFde *fde);

#endif
