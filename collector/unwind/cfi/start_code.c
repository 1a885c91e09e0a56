/*
 * start_code.c
 *		Recognizes start files' code, instruction by instruction.
 *
 * The few functions have hardly changed over the years, but their instructions were combined in
 * several ways. Therefore the table lists instructions, each with its effect on the stack, and not
 * functions. Code with any other instruction is not accepted.
 */
#include "unwind/cfi/start_code.h"

#include <stdbool.h>
#include <string.h>

#define X86_64_SP 7

typedef enum Effect
{
	EFFECT_NONE,
	EFFECT_ENTER,	/* sub $8, %rsp */
	EFFECT_LEAVE,	/* add $8, %rsp */
	EFFECT_PUSH_FP, /* push %rbp */
	EFFECT_POP_FP,	/* pop %rbp */
	EFFECT_BRANCH,	/* branches forward, if a condition is true, by its operand */
	EFFECT_CALL,	/* calls the function at its operand, which returns */
	EFFECT_JUMP,	/* jumps to the function at its operand, which does not return here */
	EFFECT_END,
} Effect;

typedef struct Instruction
{
	uint8_t bytes[4];
	uint8_t length;	 /* length of bytes */
	uint8_t operand; /* number of bytes of any value that follow */
	uint8_t effect;	 /* enum Effect */
} Instruction;

static const Instruction instructions[] = {
	{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, 0, EFFECT_NONE }, /* endbr64 */
	{ { 0x48, 0x83, 0xec, 0x08 }, 4, 0, EFFECT_ENTER },
	{ { 0x48, 0x83, 0xc4, 0x08 }, 4, 0, EFFECT_LEAVE },
	{ { 0x55 }, 1, 0, EFFECT_PUSH_FP },
	{ { 0x5d }, 1, 0, EFFECT_POP_FP },
	{ { 0x74 }, 1, 1, EFFECT_BRANCH },
	{ { 0x75 }, 1, 1, EFFECT_BRANCH },
	{ { 0xe8 }, 1, 4, EFFECT_CALL },
	{ { 0xeb }, 1, 1, EFFECT_JUMP },
	{ { 0xe9 }, 1, 4, EFFECT_JUMP },
	{ { 0xff, 0xe0 }, 2, 0, EFFECT_END },			   /* jmp *%rax */
	{ { 0xc3 }, 1, 0, EFFECT_END },					   /* ret */
	{ { 0xf3, 0xc3 }, 2, 0, EFFECT_END },			   /* rep ret */
	{ { 0xff, 0xd0 }, 2, 0, EFFECT_NONE },			   /* call *%rax */
	{ { 0xff, 0x15 }, 2, 4, EFFECT_NONE },			   /* call *GOT(%rip) */
	{ { 0x80, 0x3d }, 2, 5, EFFECT_NONE },			   /* cmpb $0, done(%rip) */
	{ { 0x48, 0x83, 0x3d }, 3, 5, EFFECT_NONE },	   /* cmpq $0, GOT(%rip) */
	{ { 0xc6, 0x05 }, 2, 5, EFFECT_NONE },			   /* movb $1, done(%rip) */
	{ { 0x48, 0x89, 0xe5 }, 3, 0, EFFECT_NONE },	   /* mov %rsp, %rbp */
	{ { 0x48, 0x89, 0xf0 }, 3, 0, EFFECT_NONE },	   /* mov %rsi, %rax */
	{ { 0x48, 0x8b, 0x05 }, 3, 4, EFFECT_NONE },	   /* mov GOT(%rip), %rax */
	{ { 0x48, 0x8b, 0x3d }, 3, 4, EFFECT_NONE },	   /* mov handle(%rip), %rdi */
	{ { 0x48, 0x8d, 0x05 }, 3, 4, EFFECT_NONE },	   /* lea list(%rip), %rax */
	{ { 0x48, 0x8d, 0x35 }, 3, 4, EFFECT_NONE },	   /* lea list(%rip), %rsi */
	{ { 0x48, 0x8d, 0x3d }, 3, 4, EFFECT_NONE },	   /* lea list(%rip), %rdi */
	{ { 0xb8 }, 1, 4, EFFECT_NONE },				   /* mov $list, %eax */
	{ { 0xbe }, 1, 4, EFFECT_NONE },				   /* mov $list, %esi */
	{ { 0xbf }, 1, 4, EFFECT_NONE },				   /* mov $list, %edi */
	{ { 0x48, 0x3d }, 2, 4, EFFECT_NONE },			   /* cmp $list, %rax */
	{ { 0x48, 0x39, 0xf8 }, 3, 0, EFFECT_NONE },	   /* cmp %rdi, %rax */
	{ { 0x48, 0x29, 0xfe }, 3, 0, EFFECT_NONE },	   /* sub %rdi, %rsi */
	{ { 0x48, 0x81, 0xee }, 3, 4, EFFECT_NONE },	   /* sub $list, %rsi */
	{ { 0x48, 0xc1, 0xee, 0x3f }, 4, 0, EFFECT_NONE }, /* shr $63, %rsi */
	{ { 0x48, 0xc1, 0xfe, 0x03 }, 4, 0, EFFECT_NONE }, /* sar $3, %rsi */
	{ { 0x48, 0xc1, 0xf8, 0x03 }, 4, 0, EFFECT_NONE }, /* sar $3, %rax */
	{ { 0x48, 0x01, 0xc6 }, 3, 0, EFFECT_NONE },	   /* add %rax, %rsi */
	{ { 0x48, 0xd1, 0xfe }, 3, 0, EFFECT_NONE },	   /* sar %rsi */
	{ { 0x48, 0x85, 0xc0 }, 3, 0, EFFECT_NONE },	   /* test %rax, %rax */
};

/* State of reading a function. */
typedef struct Cursor
{
	const CfiSection *section;
	size_t at;
	/* the code continues at least up to this offset, because a branch leads there */
	size_t reach;
	uint64_t callee; /* the last called function that was found */
	unsigned depth;	 /* depth of the stack, including the return address */
	bool fp_pushed;
	bool ended;
} Cursor;

static const Instruction *
instruction_at(const Cursor *cursor)
{
	const uint8_t *code = cursor->section->data + cursor->at;
	size_t left = cursor->section->length - cursor->at;

	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++)
	{
		const Instruction *known = &instructions[i];

		if (left >= (size_t) known->length + known->operand &&
			memcmp(code, known->bytes, known->length) == 0)
			return known;
	}
	return NULL;
}

/* Reads a displacement, and adds the end of the instruction, to which it is relative. */
static int32_t
displacement(const Cursor *cursor, const Instruction *known)
{
	const uint8_t *operand = cursor->section->data + cursor->at + known->length;
	int32_t value;

	if (known->operand == 1)
		return (int8_t) *operand;
	memcpy(&value, operand, sizeof(value));
	return value;
}

/*
 * Continues, after the end of a path, at the next target of a branch, and skips padding before it.
 */
static bool
end_path(Cursor *cursor)
{
	cursor->ended = cursor->at >= cursor->reach;
	if (!cursor->ended)
		cursor->at = cursor->reach;
	return cursor->depth == 8;
}

static bool
branch(Cursor *cursor, int32_t by)
{
	if (by < 0 || cursor->at + (size_t) by >= cursor->section->length)
		return false;
	if (cursor->at + (size_t) by > cursor->reach)
		cursor->reach = cursor->at + (size_t) by;
	return true;
}

/*
 * Advances past the next instruction. Returns false if the instruction is unknown or does not fit
 * the state.
 */
static bool
start_code_step(Cursor *cursor)
{
	const Instruction *known = cursor->at < cursor->section->length ? instruction_at(cursor) : NULL;
	int32_t by = 0;

	if (known == NULL)
		return false;
	if (known->operand > 0)
		by = displacement(cursor, known);
	cursor->at += (size_t) known->length + known->operand;
	switch ((Effect) known->effect)
	{
		case EFFECT_NONE:
			return true;
		case EFFECT_ENTER:
		case EFFECT_PUSH_FP:
			cursor->depth += 8;
			cursor->fp_pushed = known->effect == EFFECT_PUSH_FP;
			return cursor->depth == 16;
		case EFFECT_LEAVE:
		case EFFECT_POP_FP:
			cursor->depth -= 8;
			cursor->fp_pushed = false;
			return cursor->depth == 8;
		case EFFECT_BRANCH:
			return branch(cursor, by);
		case EFFECT_CALL:
		case EFFECT_JUMP:
			cursor->callee = cursor->section->address + cursor->at + (uint64_t) (int64_t) by;
			return known->effect == EFFECT_CALL || end_path(cursor);
		case EFFECT_END:
			return end_path(cursor);
	}
	return false;
}

static Cursor
begin(const CfiSection *section)
{
	return (Cursor){ .section = section, .depth = 8 };
}

/*
 * Recognizes the loader's first code: it takes the arguments from the top of the stack, and jumps
 * to the program's entry point.
 */
size_t
loader_start_length(const CfiSection *section)
{
	static const uint8_t arguments[] = { 0x48, 0x89, 0xe7, 0xe8 }; /* mov %rsp, %rdi; call */
	static const uint8_t leave[] = { 0x41, 0xff, 0xe4 };		   /* jmp *%r12 */
	const uint8_t *end;

	if (section->length < sizeof(arguments) ||
		memcmp(section->data, arguments, sizeof(arguments)) != 0)
		return 0;
	end = memmem(section->data, section->length, leave, sizeof(leave));
	return end != NULL ? (size_t) (end - section->data) + sizeof(leave) : 0;
}

size_t
start_code_length(const CfiSection *section, uint64_t *callee)
{
	Cursor cursor = begin(section);
	size_t loader = loader_start_length(section);

	*callee = 0;
	if (loader > 0)
		return loader;
	while (section->data != NULL && !cursor.ended && start_code_step(&cursor))
		;
	*callee = cursor.callee;
	return cursor.ended ? cursor.at : 0;
}

int
start_code_rows(const CfiSection *section, CfiRowSink sink, void *context)
{
	Cursor cursor = begin(section);
	unsigned depth = 0;
	int err = 0;

	if (loader_start_length(section) > 0)
		return sink(context, section->address,
					&(struct pfs_unwind_rule){ .kind = PFS_UNWIND_END_OF_STACK });
	do
	{
		struct pfs_unwind_rule rule;

		if (cursor.depth == depth)
			continue;
		depth = cursor.depth;
		memset(&rule, 0, sizeof(rule));
		rule.kind = PFS_UNWIND_CFI;
		rule.cfa_register = X86_64_SP;
		rule.cfa_offset = (int32_t) depth;
		rule.ra_offset = -8 / PFS_UNWIND_UNIT_X86_64;
		if (cursor.fp_pushed)
		{
			rule.fp = PFS_FP_AT_CFA;
			rule.fp_offset = -16 / PFS_UNWIND_UNIT_X86_64;
		}
		err = sink(context, section->address + cursor.at, &rule);
	} while (err == 0 && start_code_step(&cursor) && !cursor.ended);
	return err;
}
