/*
 * cfi_reader.c
 *		Reads entries of .eh_frame and .debug_frame.
 *
 * Both are sequences of CIEs and FDEs, each preceded by its length. They differ in an FDE's
 * reference to its CIE (distance backwards or offset in the section), in the mark of a CIE (0 or
 * all ones), and in the augmentation, which describes .eh_frame's encoding of addresses.
 */
#include "unwind/cfi/cfi_reader.h"

#include <dwarf.h>
#include <string.h>

#ifndef DW_EH_PE_absptr
#define DW_EH_PE_absptr	  0x00
#define DW_EH_PE_uleb128  0x01
#define DW_EH_PE_udata2	  0x02
#define DW_EH_PE_udata4	  0x03
#define DW_EH_PE_udata8	  0x04
#define DW_EH_PE_sleb128  0x09
#define DW_EH_PE_sdata2	  0x0a
#define DW_EH_PE_sdata4	  0x0b
#define DW_EH_PE_sdata8	  0x0c
#define DW_EH_PE_pcrel	  0x10
#define DW_EH_PE_datarel  0x30
#define DW_EH_PE_indirect 0x80
#endif
#define ENCODING_FORMAT_MASK	  0x0f
#define ENCODING_APPLICATION_MASK 0x70

/*
 * Limits of the parts of a CIE before its instructions. A CIE may be read again for each FDE, if
 * FDEs refer to two CIEs in turn.
 */
#define MAX_LEB128_BYTES	   32
#define MAX_AUGMENTATION_BYTES 32

/*
 * Reads a LEB128 number; *bits is the number of bits in its bytes. Bits above the 64th are dropped,
 * as in other readers, because producers pad with a few bytes. A number of more than
 * MAX_LEB128_BYTES is an error.
 */
static uint64_t
read_leb128(CfiCursor *cursor, unsigned *bits, bool *negative)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;

	for (*bits = 0; (byte & 0x80) != 0; *bits += 7)
	{
		/* otherwise a megabyte of continuation bytes could be read again for each FDE */
		if (*bits == 7 * MAX_LEB128_BYTES)
		{
			cursor->failed = true;
			return 0;
		}
		byte = cfi_read_u8(cursor);
		if (*bits < 64)
			value |= (uint64_t) (byte & 0x7f) << *bits;
	}
	*negative = (byte & 0x40) != 0;
	return value;
}

uint64_t
cfi_read_long_uleb128(CfiCursor *cursor)
{
	unsigned bits;
	bool negative;

	return read_leb128(cursor, &bits, &negative);
}

int64_t
cfi_read_sleb128(CfiCursor *cursor)
{
	unsigned bits;
	bool negative = false;
	uint64_t value = read_leb128(cursor, &bits, &negative);

	if (negative && bits < 64)
		value |= ~UINT64_C(0) << bits;
	return (int64_t) value;
}

static int64_t
sign_extend(uint64_t value, unsigned bits)
{
	return (int64_t) (value << (64 - bits)) >> (64 - bits);
}

/* Reads the number in an encoded pointer, before its base is added. */
static uint64_t
read_pointer_number(CfiCursor *cursor, uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT_MASK)
	{
		case DW_EH_PE_absptr:
		case DW_EH_PE_udata8:
		case DW_EH_PE_sdata8:
			return cfi_read_unsigned(cursor, 8);
		case DW_EH_PE_udata2:
			return cfi_read_unsigned(cursor, 2);
		case DW_EH_PE_udata4:
			return cfi_read_unsigned(cursor, 4);
		case DW_EH_PE_sdata2:
			return (uint64_t) sign_extend(cfi_read_unsigned(cursor, 2), 16);
		case DW_EH_PE_sdata4:
			return (uint64_t) sign_extend(cfi_read_unsigned(cursor, 4), 32);
		case DW_EH_PE_uleb128:
			return cfi_read_uleb128(cursor);
		case DW_EH_PE_sleb128:
			return (uint64_t) cfi_read_sleb128(cursor);
		default:
			cursor->failed = true;
			return 0;
	}
}

/* Reads an encoded pointer of an FDE or CIE. */
static uint64_t
read_pointer(const CfiEntries *entries, CfiCursor *cursor, uint8_t encoding)
{
	uint64_t place = entries->section->address + cursor->offset;
	uint64_t number;

	/*
	 * an indirect pointer would need the process's memory; compilers use one only for personality
	 * routines
	 */
	if (encoding & DW_EH_PE_indirect)
	{
		cursor->failed = true;
		return 0;
	}

	number = read_pointer_number(cursor, encoding);
	/* the base to which the number is relative: none, the pointer's own place, or the GOT */
	switch (encoding & ENCODING_APPLICATION_MASK)
	{
		case 0:
			return number;
		case DW_EH_PE_pcrel:
			return place + number;
		case DW_EH_PE_datarel:
			return entries->input->got_address + number;
		default:
			cursor->failed = true;
			return 0;
	}
}

/*
 * Header of an entry: a length of 4 bytes; or an escape code of 4 bytes and a length of 8 (64-bit
 * DWARF).
 */
typedef struct EntryHeader
{
	size_t body;	/* offset of the field that distinguishes CIEs from FDEs */
	size_t end;		/* offset of the end of the entry */
	unsigned width; /* width of identifiers: 4 or 8 bytes */
} EntryHeader;

static bool
read_entry_header(const CfiEntries *entries, size_t offset, EntryHeader *header)
{
	CfiCursor cursor = { entries->section->data, offset, entries->section->length, false };
	uint64_t length = cfi_read_unsigned(&cursor, 4);

	header->width = 4;
	if (length == 0xffffffff)
	{
		length = cfi_read_unsigned(&cursor, 8);
		header->width = 8;
	}
	header->body = cursor.offset;
	if (cursor.failed || length > cursor.end - cursor.offset)
		return false;
	header->end = cursor.offset + length;
	return true;
}

/*
 * Reads the augmentation data that the augmentation string describes: R, P, L, S, B (AArch64 key
 * B), G (MTE).
 */
static void
parse_augmentation(CfiCursor *cursor, const char *string, CfiCie *cie)
{
	uint64_t length = cfi_read_uleb128(cursor);
	/*
	 * the data is read with a cursor of its own, so that the instructions are found even if it is
	 * not understood
	 */
	CfiCursor data = { cursor->data, cursor->offset, cursor->offset, cursor->failed };

	if (cfi_read_block(cursor, length) == NULL)
		return;
	data.end = cursor->offset;
	cie->has_augmentation_data = true;

	for (const char *letter = string; *letter != '\0'; letter++)
	{
		if (*letter == 'R')
			cie->pointer_encoding = cfi_read_u8(&data);
		else if (*letter == 'L')
			(void) cfi_read_u8(&data);
		else if (*letter == 'P')
		{
			uint8_t encoding = cfi_read_u8(&data);

			(void) read_pointer_number(&data, encoding);
		}
		else if (*letter == 'S')
			cie->signal_frame = true;
		else if (*letter != 'B' && *letter != 'G')
			/*
			 * unknown letter: the length of the data is known, so the instructions can still be
			 * read
			 */
			break;
	}
	cursor->failed |= data.failed;
}

/* Parses the CIE at an offset; returns false if it is malformed or of an unknown version. */
static bool
parse_cie(CfiEntries *entries, size_t offset, CfiCie *cie)
{
	EntryHeader header;
	CfiCursor cursor;
	uint64_t id;
	uint8_t version;
	const char *augmentation;
	const uint8_t *zero;

	if (offset >= entries->section->length || !read_entry_header(entries, offset, &header))
		return false;

	memset(cie, 0, sizeof(*cie));
	cie->offset = offset;
	cursor = (CfiCursor){ entries->section->data, header.body, header.end, false };
	id = cfi_read_unsigned(&cursor, header.width);
	/* an FDE may refer to any offset, also to one that is no CIE */
	if (id != (entries->is_eh_frame ? 0 : (header.width == 8 ? UINT64_MAX : UINT32_MAX)))
		return false;

	version = cfi_read_u8(&cursor);
	if (version != 1 && version != 3 && version != 4)
		return false;

	augmentation = (const char *) cursor.data + cursor.offset;
	zero = memchr(augmentation, '\0',
				  cursor.end - cursor.offset < MAX_AUGMENTATION_BYTES ? cursor.end - cursor.offset
																	  : MAX_AUGMENTATION_BYTES);
	if (cursor.failed || zero == NULL)
		return false;
	cursor.offset = (size_t) (zero - cursor.data) + 1;

	/* version 4 contains the sizes of addresses and segment selectors */
	if (version == 4 && (cfi_read_u8(&cursor) != 8 || cfi_read_u8(&cursor) != 0))
		return false;

	cie->code_alignment = cfi_read_uleb128(&cursor);
	cie->data_alignment = cfi_read_sleb128(&cursor);
	cie->return_register = version == 1 ? cfi_read_u8(&cursor) : cfi_read_uleb128(&cursor);
	cie->pointer_encoding = DW_EH_PE_absptr;
	if (augmentation[0] == 'z')
		parse_augmentation(&cursor, augmentation + 1, cie);
	else if (augmentation[0] != '\0')
		return false; /* without the data's length the instructions cannot be found */

	cie->instructions_length = cursor.end - cursor.offset;
	cie->instructions = cfi_read_block(&cursor, cie->instructions_length);
	return !cursor.failed;
}

static bool
find_cie(CfiEntries *entries, size_t offset)
{
	/* FDEs of one object file follow their CIE */
	if (entries->has_last_cie && entries->last_cie.offset == offset)
		return true;
	entries->has_last_cie = parse_cie(entries, offset, &entries->last_cie);
	return entries->has_last_cie;
}

/*
 * Parses an FDE after its reference to a CIE. Returns false if it is malformed or describes no code
 * of the file.
 */
static bool
parse_fde(CfiEntries *entries, CfiCursor *cursor, size_t cie_offset, CfiFde *fde)
{
	uint64_t length;

	if (!find_cie(entries, cie_offset))
		return false;

	fde->cie = entries->last_cie;
	fde->start = read_pointer(entries, cursor, fde->cie.pointer_encoding);
	/* the length has the pointer's format without its base */
	length = read_pointer_number(cursor, fde->cie.pointer_encoding & ENCODING_FORMAT_MASK);
	fde->end = fde->start + length;
	if (fde->cie.has_augmentation_data)
		(void) cfi_read_block(cursor, cfi_read_uleb128(cursor));

	fde->instructions_length = cursor->end - cursor->offset;
	fde->instructions = cfi_read_block(cursor, fde->instructions_length);
	/* code outside of the executable segments is of functions that the linker has discarded */
	return !cursor->failed && fde->end > fde->start && fde->start >= entries->input->code_start &&
		   fde->end <= entries->input->code_end;
}

void
cfi_entries_begin(CfiEntries *entries, const CfiInput *input, bool eh_frame)
{
	memset(entries, 0, sizeof(*entries));
	entries->input = input;
	entries->section = eh_frame ? &input->eh_frame : &input->debug_frame;
	entries->is_eh_frame = eh_frame;
}

/*
 * Returns the next FDE. Skips FDEs whose code has length 0, and those whose code the linker
 * discarded and placed at address 0.
 */
CfiNext
cfi_entries_next(CfiEntries *entries, CfiFde *fde)
{
	while (entries->section->data != NULL && entries->offset < entries->section->length)
	{
		EntryHeader header;
		CfiCursor cursor;
		size_t id_offset;
		uint64_t id;
		size_t cie_offset;

		/* a zero length ends .eh_frame (crtend.o), but linkers may add entries after it */
		fde->offset = entries->offset;
		if (!read_entry_header(entries, entries->offset, &header))
			return CFI_CUT;
		/* set before the entry is parsed, so that a malformed one is skipped */
		entries->offset = header.end;
		if (header.end == header.body)
			continue;

		cursor = (CfiCursor){ entries->section->data, header.body, header.end, false };
		id_offset = cursor.offset;
		id = cfi_read_unsigned(&cursor, header.width);
		if (cursor.failed)
			return CFI_MALFORMED;
		if (entries->is_eh_frame ? id == 0 : id == (header.width == 8 ? UINT64_MAX : UINT32_MAX))
			continue;

		if (entries->is_eh_frame && id > id_offset)
			return CFI_MALFORMED;
		cie_offset = entries->is_eh_frame ? id_offset - id : id;
		return parse_fde(entries, &cursor, cie_offset, fde) ? CFI_FDE : CFI_MALFORMED;
	}
	return CFI_END;
}
