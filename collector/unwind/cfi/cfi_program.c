/*
 * cfi_program.c
 *		The abstract machine of CFI, reduced to the state that unwinding follows: CFA, frame
 *		pointer, return address.
 *
 * 1. The CIE's instructions give the initial state, to which DW_CFA_restore returns. Many FDEs
 *    share a CIE, so this state is kept.
 * 2. The FDE's instructions change the state and advance the location; each advance ends a row.
 * 3. A row is converted to a struct pfs_unwind_rule, or to PFS_UNWIND_INVALID if a rule cannot
 *    express it.
 */
#include "unwind/cfi/cfi_program.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MAX_REMEMBERED 32
#define KEPT_CIES	   16 /* compilers use only a few */
#define KNOWN_BITS	   8  /* the rules of 256 states are cached */

#define X86_64_BX  3
#define X86_64_FP  6
#define X86_64_SP  7
#define AARCH64_FP 29
#define AARCH64_LR 30
#define AARCH64_SP 31

#ifndef DW_CFA_AARCH64_negate_ra_state_with_pc
#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c
#endif
#ifndef DW_CFA_GNU_window_save
#define DW_CFA_GNU_window_save 0x2d
#endif
#ifndef DW_CFA_GNU_args_size
#define DW_CFA_GNU_args_size 0x2e
#endif
#ifndef DW_CFA_GNU_negative_offset_extended
#define DW_CFA_GNU_negative_offset_extended 0x2f
#endif

/* How to restore a register of the caller. */
typedef enum SavedKind
{
	/*
	 * the caller's value is still in the register: the CFI does not mention it, or has
	 * DW_CFA_same_value
	 */
	SAVED_SAME,
	SAVED_UNDEFINED,
	SAVED_AT_CFA,	   /* stored at CFA + offset */
	SAVED_IN_REGISTER, /* stored in the register whose number is the offset */
	SAVED_AT_REGISTER, /* stored at register + offset */
	SAVED_OTHERWISE	   /* an expression or val_offset that rules cannot express */
} SavedKind;

/*
 * A SavedKind in the low byte, the register of SAVED_AT_REGISTER in the next bytes, the offset in
 * the upper half. They are one word, because states are compared for each row: a load of a word
 * that was written in parts would stall until the CPU's store buffer is empty.
 */
typedef uint64_t Saved;

#define SAVED_KIND(saved)	  ((SavedKind) ((saved) &0xff))
#define SAVED_REGISTER(saved) ((uint8_t) ((saved) >> 8))
#define SAVED_OFFSET(saved)	  ((int32_t) ((saved) >> 32))

typedef struct State
{
	uint64_t cfa_register; /* number of a register, or one of the values below */
	int64_t cfa_offset;
	Saved fp;
	Saved ra;
	Saved bx; /* x86-64: register rbx */
	const uint8_t *cfa_expression;
	size_t cfa_expression_length;
} State;

#define CFA_NO_REGISTER (UINT64_C(1) << 8) /* larger than any register number in rules */
#define CFA_EXPRESSION	(UINT64_C(2) << 8)

/* A state whose CFA is no expression, and the number of its rule; 0: the slot is free. */
typedef struct KnownRule
{
	State state;
	uint16_t number;
} KnownRule;

/* The state after a CIE's instructions. */
typedef struct Initial
{
	/* the CIE that the state belongs to; its instructions are NULL if the slot is free */
	CfiCie cie;
	State state;
	int err;
} Initial;

struct CfiMachine
{
	const CfiFde *fde;
	uint16_t machine;
	uint64_t fp_register;
	uint64_t location;
	State state;
	State initial;
	State remembered[MAX_REMEMBERED];
	unsigned remembered_count;
	RuleSet *rules;
	CfiNumberSink sink;
	void *sink_context;
	uint64_t *unsupported;
	uint64_t *steps_left;
	Initial kept[KEPT_CIES];
	unsigned next_kept;				  /* index of the slot that is used next */
	KnownRule known[1 << KNOWN_BITS]; /* slots are chosen by known_place() */
};

/*
 * Converts the offset of a saved register to the units of rules. Returns false if rules cannot
 * express it.
 */
static bool
offset_in_units(const CfiMachine *machine, int64_t bytes, int16_t *units)
{
	int64_t unit =
		machine->machine == EM_AARCH64 ? PFS_UNWIND_UNIT_AARCH64 : PFS_UNWIND_UNIT_X86_64;

	*units = (int16_t) (bytes / unit);
	return bytes % unit == 0 && bytes / unit >= INT16_MIN && bytes / unit <= INT16_MAX;
}

static Saved
saved_as(SavedKind kind, int64_t offset)
{
	/* rules cannot express longer offsets either */
	if (offset < INT32_MIN || offset > INT32_MAX)
		return SAVED_OTHERWISE;
	return (uint64_t) offset << 32 | kind;
}

/* Sets the CFA of a rule. Returns false if rules cannot express it. */
static bool
set_rule_cfa(const CfiMachine *machine, struct pfs_unwind_rule *rule)
{
	const State *state = &machine->state;

	if (state->cfa_register == CFA_EXPRESSION)
		return cfi_recognize_cfa(state->cfa_expression, state->cfa_expression_length,
								 machine->machine, rule);
	/* CFI that defines no CFA, or by a register whose number rules cannot express */
	if (state->cfa_register == CFA_NO_REGISTER || state->cfa_offset < INT32_MIN ||
		state->cfa_offset > INT32_MAX)
		return false;
	rule->kind = PFS_UNWIND_CFI;
	rule->cfa_register = (uint8_t) state->cfa_register;
	rule->cfa_offset = (int32_t) state->cfa_offset;
	return true;
}

/*
 * Sets the rule's part for the frame pointer. If rules cannot express it, the row stays usable,
 * because the frame pointer matters only to outer frames.
 */
static void
set_rule_fp(const CfiMachine *machine, struct pfs_unwind_rule *rule)
{
	Saved fp = machine->state.fp;
	int16_t units = 0;

	if (SAVED_KIND(fp) == SAVED_SAME)
		rule->fp = PFS_FP_SAME;
	else if (SAVED_KIND(fp) == SAVED_AT_CFA && offset_in_units(machine, SAVED_OFFSET(fp), &units))
		rule->fp = PFS_FP_AT_CFA;
	else if (SAVED_KIND(fp) == SAVED_AT_REGISTER && SAVED_REGISTER(fp) == machine->fp_register &&
			 offset_in_units(machine, SAVED_OFFSET(fp), &units))
		rule->fp = PFS_FP_AT_FP;
	else
		rule->fp = PFS_FP_LOST;
	/* 0 instead of an offset that has no meaning, so that equal rules are equal bytes */
	rule->fp_offset = rule->fp == PFS_FP_LOST ? 0 : units;
}

static void
set_rule_bx(const CfiMachine *machine, struct pfs_unwind_rule *rule)
{
	Saved bx = machine->state.bx;
	int32_t offset = SAVED_OFFSET(bx);

	/*
	 * Offset 0 means that the register was not saved, and odd ones are reserved for PFS_BX_LOST, so
	 * a saved register needs another offset.
	 */
	if (SAVED_KIND(bx) == SAVED_SAME)
		rule->bx_offset = 0;
	else if (SAVED_KIND(bx) == SAVED_AT_CFA && offset != 0 && offset % 8 == 0 &&
			 offset >= INT16_MIN && offset <= INT16_MAX)
		rule->bx_offset = (int16_t) offset;
	else
		rule->bx_offset = PFS_BX_LOST;
}

/* Sets the rule's part for the return address. Returns false if rules cannot express it. */
static bool
set_rule_ra(const CfiMachine *machine, struct pfs_unwind_rule *rule)
{
	Saved ra = machine->state.ra;

	switch (SAVED_KIND(ra))
	{
		case SAVED_AT_CFA:
			return offset_in_units(machine, SAVED_OFFSET(ra), &rule->ra_offset);
		case SAVED_IN_REGISTER:
			rule->flags |= PFS_UNWIND_RA_IN_REGISTER;
			rule->ra_register = (int16_t) SAVED_OFFSET(ra);
			return SAVED_OFFSET(ra) >= 0 && SAVED_OFFSET(ra) <= UINT8_MAX;
		case SAVED_SAME:
			/*
			 * in AArch64 leaf functions the return address is in the link register; x86-64 has no
			 * such register
			 */
			rule->flags |= PFS_UNWIND_RA_IN_REGISTER;
			rule->ra_register = AARCH64_LR;
			return machine->machine == EM_AARCH64;
		case SAVED_UNDEFINED:
		case SAVED_AT_REGISTER:
		case SAVED_OTHERWISE:
			return false;
	}
	return false;
}

/* Converts the machine's state to a rule; to PFS_UNWIND_INVALID if rules cannot express it. */
static struct pfs_unwind_rule
make_rule(const CfiMachine *machine)
{
	static const struct pfs_unwind_rule invalid = { .kind = PFS_UNWIND_INVALID };
	struct pfs_unwind_rule rule;

	/* rules are compared as bytes */
	memset(&rule, 0, sizeof(rule));
	if (machine->fde->cie.signal_frame)
		rule.kind = PFS_UNWIND_SIGNAL;
	else if (SAVED_KIND(machine->state.ra) == SAVED_UNDEFINED)
		rule.kind = PFS_UNWIND_END_OF_STACK;
	else
	{
		if (!set_rule_cfa(machine, &rule))
			return invalid;
		/* its other fields follow from its kind */
		if (rule.kind == PFS_UNWIND_PLT)
			return rule;
		set_rule_fp(machine, &rule);
		set_rule_bx(machine, &rule);
		if (!set_rule_ra(machine, &rule))
			return invalid;
	}
	return rule;
}

/* Returns the only slot in which the rule of a state may be cached. */
static KnownRule *
known_place(CfiMachine *machine, const State *state)
{
	uint64_t hash = state->cfa_register ^ (uint64_t) state->cfa_offset << 12 ^ state->fp >> 8 ^
					state->ra << 8 ^ state->bx << 16;

	return &machine->known[hash * HASH_MULTIPLIER >> (64 - KNOWN_BITS)];
}

/* Compares two states without an expression. */
static inline bool
gives_same_rule(const State *a, const State *b)
{
	return a->cfa_register == b->cfa_register && a->cfa_offset == b->cfa_offset && a->fp == b->fp &&
		   a->ra == b->ra && a->bx == b->bx;
}

/* Emits the row of a state whose rule is not cached. */
static int
emit_new_row(CfiMachine *machine, KnownRule *known)
{
	struct pfs_unwind_rule rule = make_rule(machine);
	uint16_t number = 0;

	/* many FDEs have instructions that advance to the end of the code, where no row begins */
	if (machine->location < machine->fde->end)
		number = rule_set_add(machine->rules, &rule);
	if (rule.kind == PFS_UNWIND_INVALID)
		(*machine->unsupported)++;
	/* States are compared without their expressions, and signal frames ignore the state. */
	if (machine->state.cfa_register != CFA_EXPRESSION && !machine->fde->cie.signal_frame)
		*known = (KnownRule){ machine->state, number };
	return machine->sink(machine->sink_context, machine->location, number);
}

/* Emits a row. Nearly all rows of a program come from few states, whose rules are cached. */
static int
emit_row(CfiMachine *machine)
{
	KnownRule *known = known_place(machine, &machine->state);

	if (known->number == 0 || !gives_same_rule(&known->state, &machine->state) ||
		machine->fde->cie.signal_frame)
		return emit_new_row(machine, known);
	return machine->sink(machine->sink_context, machine->location, known->number);
}

static int
advance_to(CfiMachine *machine, uint64_t location)
{
	int err;

	/* rows must ascend; several instructions may stand at one location */
	if (location <= machine->location)
		return location == machine->location ? 0 : -EBADMSG;
	err = emit_row(machine);
	machine->location = location;
	return err;
}

static int
advance_by(CfiMachine *machine, uint64_t units)
{
	uint64_t delta;

	/* a row beyond the FDE's code would overwrite that of the next function */
	if (__builtin_mul_overflow(units, machine->fde->cie.code_alignment, &delta) ||
		delta > machine->fde->end - machine->location)
		return -EBADMSG;
	return advance_to(machine, machine->location + delta);
}

static Saved *
followed(CfiMachine *machine, State *state, uint64_t dwarf_register)
{
	/* NULL for all other registers, whose values the walk does not need */
	if (dwarf_register == machine->fp_register)
		return &state->fp;
	if (dwarf_register == machine->fde->cie.return_register)
		return &state->ra;
	if (machine->machine == EM_X86_64 && dwarf_register == X86_64_BX)
		return &state->bx;
	return NULL;
}

static void
save(CfiMachine *machine, uint64_t dwarf_register, SavedKind kind, int64_t offset)
{
	Saved *saved = followed(machine, &machine->state, dwarf_register);

	if (saved != NULL)
		*saved = saved_as(kind, offset);
}

static void
save_factored(CfiMachine *machine, uint64_t dwarf_register, SavedKind kind, int64_t factor)
{
	int64_t offset;

	if (__builtin_mul_overflow(factor, machine->fde->cie.data_alignment, &offset))
		kind = SAVED_OTHERWISE, offset = 0;
	save(machine, dwarf_register, kind, offset);
}

static void
restore(CfiMachine *machine, uint64_t dwarf_register)
{
	Saved *saved = followed(machine, &machine->state, dwarf_register);

	if (saved != NULL)
		*saved = *followed(machine, &machine->initial, dwarf_register);
}

static void
save_expression(CfiMachine *machine, CfiCursor *cursor)
{
	uint64_t dwarf_register = cfi_read_uleb128(cursor);
	uint64_t length = cfi_read_uleb128(cursor);
	const uint8_t *expression = cfi_read_block(cursor, length);
	Saved *saved = followed(machine, &machine->state, dwarf_register);
	uint8_t base = 0;
	int64_t offset = 0;

	if (expression == NULL || saved == NULL)
		return;
	if (cfi_recognize_address(expression, length, &base, &offset))
		*saved = saved_as(SAVED_AT_REGISTER, offset) | (Saved) base << 8;
	else
		*saved = SAVED_OTHERWISE;
}

static void
define_cfa(CfiMachine *machine, uint64_t dwarf_register, int64_t offset)
{
	machine->state.cfa_register =
		dwarf_register < CFA_NO_REGISTER ? dwarf_register : CFA_NO_REGISTER;
	machine->state.cfa_offset = offset;
}

static int
factored_offset(const CfiMachine *machine, int64_t factor, int64_t *offset)
{
	return __builtin_mul_overflow(factor, machine->fde->cie.data_alignment, offset) ? -EBADMSG : 0;
}

/*
 * Runs the CFA instructions (DW_CFA_def_cfa ...); *known is false for other opcodes. DWARF forbids
 * changing only the register or only the offset after an expression; this function accepts it, as
 * libgcc and readelf do, because hand-written code (libgcrypt's) relies on the offset from before
 * the expression.
 */
static int
run_cfa_instruction(CfiMachine *machine, CfiCursor *cursor, uint8_t opcode, bool *known)
{
	uint64_t dwarf_register;
	uint64_t length;
	int64_t offset;
	int err;

	*known = true;
	switch (opcode)
	{
		case DW_CFA_def_cfa:
			dwarf_register = cfi_read_uleb128(cursor);
			define_cfa(machine, dwarf_register, (int64_t) cfi_read_uleb128(cursor));
			return 0;
		case DW_CFA_def_cfa_sf:
			dwarf_register = cfi_read_uleb128(cursor);
			err = factored_offset(machine, cfi_read_sleb128(cursor), &offset);
			if (err == 0)
				define_cfa(machine, dwarf_register, offset);
			return err;
		case DW_CFA_def_cfa_register:
			define_cfa(machine, cfi_read_uleb128(cursor), machine->state.cfa_offset);
			return 0;
		case DW_CFA_def_cfa_offset:
			machine->state.cfa_offset = (int64_t) cfi_read_uleb128(cursor);
			return 0;
		case DW_CFA_def_cfa_offset_sf:
			err = factored_offset(machine, cfi_read_sleb128(cursor), &offset);
			if (err == 0)
				machine->state.cfa_offset = offset;
			return err;
		case DW_CFA_def_cfa_expression:
			length = cfi_read_uleb128(cursor);
			machine->state.cfa_expression = cfi_read_block(cursor, length);
			machine->state.cfa_expression_length = length;
			machine->state.cfa_register = CFA_EXPRESSION;
			return 0;
		default:
			*known = false;
			return 0;
	}
}

/* Runs the register instructions (DW_CFA_offset_extended ...). */
static int
run_register_instruction(CfiMachine *machine, CfiCursor *cursor, uint8_t opcode, bool *known)
{
	uint64_t dwarf_register;

	*known = true;
	switch (opcode)
	{
		case DW_CFA_offset_extended:
			dwarf_register = cfi_read_uleb128(cursor);
			save_factored(machine, dwarf_register, SAVED_AT_CFA,
						  (int64_t) cfi_read_uleb128(cursor));
			return 0;
		case DW_CFA_offset_extended_sf:
			dwarf_register = cfi_read_uleb128(cursor);
			save_factored(machine, dwarf_register, SAVED_AT_CFA, cfi_read_sleb128(cursor));
			return 0;
		case DW_CFA_GNU_negative_offset_extended:
			dwarf_register = cfi_read_uleb128(cursor);
			save_factored(machine, dwarf_register, SAVED_AT_CFA,
						  (int64_t) (0 - cfi_read_uleb128(cursor)));
			return 0;
		case DW_CFA_val_offset:
		case DW_CFA_val_offset_sf:
			dwarf_register = cfi_read_uleb128(cursor);
			(void) cfi_read_uleb128(cursor);
			save(machine, dwarf_register, SAVED_OTHERWISE, 0);
			return 0;
		case DW_CFA_restore_extended:
			restore(machine, cfi_read_uleb128(cursor));
			return 0;
		case DW_CFA_undefined:
			save(machine, cfi_read_uleb128(cursor), SAVED_UNDEFINED, 0);
			return 0;
		case DW_CFA_same_value:
			save(machine, cfi_read_uleb128(cursor), SAVED_SAME, 0);
			return 0;
		case DW_CFA_register:
			dwarf_register = cfi_read_uleb128(cursor);
			save(machine, dwarf_register, SAVED_IN_REGISTER, (int64_t) cfi_read_uleb128(cursor));
			return 0;
		case DW_CFA_expression:
			save_expression(machine, cursor);
			return 0;
		case DW_CFA_val_expression:
			dwarf_register = cfi_read_uleb128(cursor);
			(void) cfi_read_block(cursor, cfi_read_uleb128(cursor));
			save(machine, dwarf_register, SAVED_OTHERWISE, 0);
			return 0;
		default:
			*known = false;
			return 0;
	}
}

/* Runs the location and state instructions; other opcodes are errors. */
static int
run_other_instruction(CfiMachine *machine, CfiCursor *cursor, uint8_t opcode)
{
	switch (opcode)
	{
		case DW_CFA_nop:
			return 0;
		case DW_CFA_set_loc:
			/*
			 * no known compiler emits this instruction, whose pointer would need the bases of
			 * sections
			 */
			return -EBADMSG;
		case DW_CFA_advance_loc1:
			return advance_by(machine, cfi_read_u8(cursor));
		case DW_CFA_advance_loc2:
			return advance_by(machine, cfi_read_unsigned(cursor, 2));
		case DW_CFA_advance_loc4:
			return advance_by(machine, cfi_read_unsigned(cursor, 4));
		case DW_CFA_MIPS_advance_loc8:
			return advance_by(machine, cfi_read_unsigned(cursor, 8));
		case DW_CFA_remember_state:
			if (machine->remembered_count == MAX_REMEMBERED)
				return -EBADMSG;
			machine->remembered[machine->remembered_count++] = machine->state;
			return 0;
		case DW_CFA_restore_state:
			if (machine->remembered_count == 0)
				return -EBADMSG;
			machine->state = machine->remembered[--machine->remembered_count];
			return 0;
		case DW_CFA_GNU_args_size:
			(void) cfi_read_uleb128(cursor);
			return 0;
		case DW_CFA_AARCH64_negate_ra_state_with_pc:
		case DW_CFA_GNU_window_save:
			/*
			 * On AArch64 this opcode is DW_CFA_AARCH64_negate_ra_state, which can be ignored: the
			 * walk always strips pointer authentication.
			 */
			return machine->machine == EM_AARCH64 ? 0 : -EBADMSG;
		default:
			return -EBADMSG;
	}
}

/*
 * Runs one instruction. Three frequent ones have their operand in the opcode; the others follow in
 * three groups.
 */
static int
run_instruction(CfiMachine *machine, CfiCursor *cursor)
{
	uint8_t opcode = cfi_read_u8(cursor);
	uint8_t operand = opcode & 0x3f;
	bool known;
	int err;

	/* instructions whose opcode contains an operand have a number in the two upper bits */
	switch (opcode & 0xc0)
	{
		case DW_CFA_advance_loc:
			return advance_by(machine, operand);
		case DW_CFA_offset:
			save_factored(machine, operand, SAVED_AT_CFA, (int64_t) cfi_read_uleb128(cursor));
			return 0;
		case DW_CFA_restore:
			restore(machine, operand);
			return 0;
		default:
			break;
	}

	err = run_cfa_instruction(machine, cursor, opcode, &known);
	if (!known)
		err = run_register_instruction(machine, cursor, opcode, &known);
	if (!known)
		err = run_other_instruction(machine, cursor, opcode);
	return err;
}

/* Runs a program. Each instruction counts as a step. */
static int
run_instructions(CfiMachine *machine, const uint8_t *instructions, size_t length)
{
	CfiCursor cursor = { instructions, 0, length, false };

	while (cursor.offset < length)
	{
		int err;

		if (*machine->steps_left == 0)
			return -E2BIG;
		--*machine->steps_left;
		err = run_instruction(machine, &cursor);

		if (cursor.failed)
			return -EBADMSG;
		if (err != 0)
			return err;
	}
	return 0;
}

static int
discard_row(void *context, uint64_t address, uint16_t rule)
{
	(void) context;
	(void) address;
	(void) rule;
	return -EBADMSG; /* the instructions of a CIE must not advance the location */
}

static bool
is_same_cie(const CfiCie *a, const CfiCie *b)
{
	return a->instructions == b->instructions && a->instructions_length == b->instructions_length &&
		   a->code_alignment == b->code_alignment && a->data_alignment == b->data_alignment &&
		   a->return_register == b->return_register;
}

/* Sets the state that the instructions of the CIE result in. */
static int
run_cie(CfiMachine *machine, const CfiCie *cie)
{
	Initial *made;

	for (unsigned i = 0; i < KEPT_CIES; i++)
	{
		const Initial *kept = &machine->kept[i];

		if (kept->cie.instructions != NULL && is_same_cie(&kept->cie, cie))
		{
			machine->state = kept->state;
			return kept->err;
		}
	}
	/* replaces the oldest one; its error is kept, too, so that a malformed CIE is run only once */
	made = &machine->kept[machine->next_kept++ % KEPT_CIES];
	machine->sink = discard_row;
	made->cie = *cie;
	made->err = run_instructions(machine, cie->instructions, cie->instructions_length);
	made->state = machine->state;
	return made->err;
}

CfiMachine *
cfi_machine_create(uint16_t machine_id, RuleSet *rules, uint64_t *steps_left)
{
	CfiMachine *machine = calloc(1, sizeof(*machine));

	if (machine == NULL)
		return NULL;
	machine->machine = machine_id;
	machine->fp_register = machine_id == EM_AARCH64 ? AARCH64_FP : X86_64_FP;
	machine->rules = rules;
	machine->steps_left = steps_left;
	return machine;
}

void
cfi_machine_free(CfiMachine *machine)
{
	free(machine);
}

int
cfi_program_run(CfiMachine *machine, const CfiFde *fde, CfiNumberSink sink, void *context,
				uint64_t *unsupported)
{
	int err;

	machine->fde = fde;
	machine->location = fde->start;
	machine->remembered_count = 0;
	machine->unsupported = unsupported;
	memset(&machine->state, 0, sizeof(machine->state));

	err = run_cie(machine, &fde->cie);
	if (err != 0)
		return err;
	/* the state to which DW_CFA_restore returns */
	machine->initial = machine->state;

	machine->sink = sink;
	machine->sink_context = context;
	err = run_instructions(machine, fde->instructions, fde->instructions_length);
	if (err != 0)
		return err;
	/* the last row extends to the end of the code */
	return emit_row(machine);
}
