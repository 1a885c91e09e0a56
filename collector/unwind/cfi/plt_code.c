/*
 * plt_code.c
 *		Reads the procedure linkage table instruction by instruction, because its layout depends on
 *		the linker and on branch protection.
 */
#include "unwind/cfi/plt_code.h"

#include <string.h>

#define AARCH64_LR 30
#define AARCH64_SP 31

/* stp Xa, Xb, [sp, #-16]!, with any registers */
#define PUSH_MASK 0xffff83e0U
#define PUSH	  0xa9bf03e0U

/* br Xa */
#define JUMP_MASK 0xfffffc1fU
#define JUMP	  0xd61f0000U

static int
give_row(const CfiSection *plt, size_t at, int32_t depth, CfiRowSink sink, void *context)
{
	const struct pfs_unwind_rule rule = { .kind = PFS_UNWIND_CFI,
										  .cfa_register = AARCH64_SP,
										  .cfa_offset = depth,
										  .fp = PFS_FP_SAME,
										  .flags = PFS_UNWIND_RA_IN_REGISTER,
										  .ra_register = AARCH64_LR };

	return sink(context, plt->address + at, &rule);
}

int
plt_code_rows(const CfiSection *plt, CfiRowSink sink, void *context)
{
	int32_t depth = 0;
	int err = give_row(plt, 0, depth, sink, context);

	for (size_t at = 0; err == 0 && plt->length - at >= sizeof(uint32_t); at += sizeof(uint32_t))
	{
		int32_t before = depth;
		uint32_t instruction;

		memcpy(&instruction, plt->data + at, sizeof(instruction));
		if ((instruction & PUSH_MASK) == PUSH)
			depth = 16; /* a stub pushes 16 bytes or nothing */
		else if ((instruction & JUMP_MASK) == JUMP)
			depth = 0;
		if (depth != before)
			err = give_row(plt, at + sizeof(instruction), depth, sink, context);
	}
	return err;
}
