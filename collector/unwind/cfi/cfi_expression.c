/*
 * cfi_expression.c
 *		Recognizes the DWARF expressions that occur in CFI by their form.
 *
 * The walk in the kernel cannot run a stack machine, and need not, because compilers and linkers
 * emit four forms:
 *
 *   breg R off                              a plain sum, as some assemblers write it
 *   breg R off; deref [; plus_uconst n]     realigned stacks (gcc's DRAP), crypto by hand
 *   breg R off; breg I 0; lit8; mul; plus; deref; plus_uconst n
 *                                           frames after an array (crypto by hand)
 *   breg sp 8; breg pc 0; lit15; and; litT; ge; lit3; shl; plus
 *                                           the linker's lazy PLT entries
 */
#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "unwind/cfi/cfi_program.h"

#define X86_64_SP 7
#define X86_64_PC 16

static bool
fits_int16(int64_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static bool
fits_int32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* Reads DW_OP_breg0 .. breg31, or bregx with a number. */
static bool
read_register_plus_offset(CfiCursor *cursor, uint8_t *dwarf_register, int64_t *offset)
{
	uint8_t opcode = cfi_read_u8(cursor);

	if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31)
		*dwarf_register = (uint8_t) (opcode - DW_OP_breg0);
	else if (opcode == DW_OP_bregx)
	{
		uint64_t number = cfi_read_uleb128(cursor);

		if (number > UINT8_MAX)
			return false;
		*dwarf_register = (uint8_t) number;
	}
	else
		return false;
	*offset = cfi_read_sleb128(cursor);
	return !cursor->failed;
}

bool
cfi_recognize_address(const uint8_t *expression, size_t length, uint8_t *dwarf_register,
					  int64_t *offset)
{
	CfiCursor cursor = { expression, 0, length, false };

	/* anything after the sum makes it another expression */
	return read_register_plus_offset(&cursor, dwarf_register, offset) && cursor.offset == length;
}

/* Recognizes the CFA of the linker's lazy PLT entries. */
static bool
recognize_plt(const uint8_t *expression, size_t length, struct pfs_unwind_rule *rule)
{
	static const uint8_t before[] = {
		DW_OP_breg0 + X86_64_SP, 8, DW_OP_breg0 + X86_64_PC, 0, DW_OP_lit15, DW_OP_and
	};
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint8_t threshold;

	if (length != sizeof(before) + 1 + sizeof(after) ||
		memcmp(expression, before, sizeof(before)) != 0 ||
		memcmp(expression + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;

	/*
	 * the only byte that differs between linkers: from which byte of the entry on 8 bytes are
	 * pushed
	 */
	threshold = expression[sizeof(before)];
	if (threshold < DW_OP_lit0 || threshold > DW_OP_lit15)
		return false;

	rule->kind = PFS_UNWIND_PLT;
	rule->cfa_register = X86_64_SP;
	rule->cfa_offset = 8;
	rule->plt_threshold = (int16_t) (threshold - DW_OP_lit0);
	return true;
}

/*
 * Reads "breg I 0; lit8; mul; plus", which adds eight times a register. It is no error if this is
 * absent.
 */
static bool
cfi_read_index(CfiCursor *cursor, uint16_t machine, struct pfs_unwind_rule *rule)
{
	static const uint8_t times_eight[] = { 0, DW_OP_lit8, DW_OP_mul, DW_OP_plus };
	uint8_t number;

	if (machine != EM_X86_64 || cursor->offset == cursor->end)
		return true;
	/* DW_OP_breg1 to 15; other opcodes mean that there is no index */
	number = (uint8_t) (cursor->data[cursor->offset] - DW_OP_breg0);
	if (number == 0 || number > 15)
		return true;
	if (cursor->end - cursor->offset < 1 + sizeof(times_eight) ||
		memcmp(cursor->data + cursor->offset + 1, times_eight, sizeof(times_eight)) != 0)
		return false;
	cursor->offset += 1 + sizeof(times_eight);
	rule->flags |= (uint8_t) (number << 4);
	return true;
}

bool
cfi_recognize_cfa(const uint8_t *expression, size_t length, uint16_t machine,
				  struct pfs_unwind_rule *rule)
{
	CfiCursor cursor = { expression, 0, length, false };
	uint64_t add = 0;
	int64_t offset;

	if (machine == EM_X86_64 && recognize_plt(expression, length, rule))
		return true;

	if (!read_register_plus_offset(&cursor, &rule->cfa_register, &offset) || !fits_int32(offset))
		return false;
	rule->kind = PFS_UNWIND_CFI;
	rule->cfa_offset = (int32_t) offset;
	/* the first form, a plain sum */
	if (cursor.offset == length)
		return true;

	if (!cfi_read_index(&cursor, machine, rule) || cfi_read_u8(&cursor) != DW_OP_deref)
		return false;
	rule->flags |= PFS_UNWIND_CFA_DEREF;
	/* the constant is optional */
	if (cursor.offset < length && (cfi_read_u8(&cursor) != DW_OP_plus_uconst ||
								   (add = cfi_read_uleb128(&cursor), cursor.failed)))
		return false;
	if (cursor.offset != length || add > INT16_MAX || !fits_int16((int64_t) add))
		return false;
	rule->cfa_add = (int16_t) add;
	return true;
}
