/*
 * init_section.c
 *		Recognizing .init and .fini.
 *
 *		[endbr64]  sub $8, %rsp  [mov GOT(%rip), %rax; test %rax, %rax; je; call *%rax]
 *		add $8, %rsp  ret
 */
#include "unwind/init_section.h"

#include <string.h>

static const uint8_t marker[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t enter[] = { 0x48, 0x83, 0xec, 0x08 };
static const uint8_t load[] = { 0x48, 0x8b, 0x05 }; /* and four bytes of displacement */
static const uint8_t call[] = { 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0 };
static const uint8_t leave[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };

#define DISPLACEMENT_BYTES 4
#define RET_BYTES		   1

static bool
skip(const CfiSection *section, size_t *at, const uint8_t *bytes, size_t length)
{
	if (section->length - *at < length || memcmp(section->data + *at, bytes, length) != 0)
		return false;
	*at += length;
	return true;
}

/* Offset behind the instruction that enters the frame; 0 where the section is another one. */
static size_t
frame_start(const CfiSection *section)
{
	size_t at = 0;
	size_t start;

	if (section->data == NULL)
		return 0;
	(void) skip(section, &at, marker, sizeof(marker));
	if (!skip(section, &at, enter, sizeof(enter)))
		return 0;
	start = at;
	if (skip(section, &at, load, sizeof(load)))
	{
		if (section->length - at < DISPLACEMENT_BYTES)
			return 0;
		at += DISPLACEMENT_BYTES;
		if (!skip(section, &at, call, sizeof(call)))
			return 0;
	}
	return skip(section, &at, leave, sizeof(leave)) && at == section->length ? start : 0;
}

bool
init_section_is_known(const CfiSection *section)
{
	return frame_start(section) != 0;
}

int
init_section_rows(const CfiSection *section, CfiRowSink sink, void *context)
{
	struct pfs_unwind_rule rule;
	int err;

	memset(&rule, 0, sizeof(rule));
	rule.kind = PFS_UNWIND_CFI;
	rule.cfa_register = 7;
	rule.cfa_offset = 8;
	rule.ra_offset = -8 / PFS_UNWIND_UNIT_X86_64;
	err = sink(context, section->address, &rule);
	if (err != 0)
		return err;
	rule.cfa_offset = 16;
	err = sink(context, section->address + frame_start(section), &rule);
	if (err != 0)
		return err;
	rule.cfa_offset = 8;
	return sink(context, section->address + section->length - RET_BYTES, &rule);
}
