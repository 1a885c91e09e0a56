/*
 * pclntab.c
 *		Reads Go's function table.
 *
 * header ─► functions: { offset of the code, of the entry }, ascending, one more for the end
 * entry ─► flags, name, depths: varints { change of depth, number of instructions }
 *
 * A depth is the number of bytes that the function has pushed below its return address. Compiled
 * code pushes the caller's frame pointer first; assembly without a frame leaves the register
 * unchanged.
 */
#include "unwind/cfi/pclntab.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U

#define HEADER_BYTES   72
#define FUNCTION_BYTES 8

/* Offsets of an entry's fields, and kinds of functions. */
#define ENTRY_NAME		 4
#define ENTRY_DEPTHS	 16
#define ENTRY_FLAGS_1_18 37
#define ENTRY_FLAGS_1_20 41

#define FLAG_TOP_FRAME	  1
#define FLAG_WRITES_STACK 2 /* the function sets the stack pointer to another stack */
#define FLAG_ASSEMBLY	  4

#define MAX_NAME_BYTES 128

#define MAX_DEPTH ((int64_t) INT32_MAX - 8) /* rules cannot express more */

/*
 * Lengths of the instructions that set the frame pointer: "mov %rsp, %rbp" after "push %rbp";
 * storing %rbp and "lea" after "sub". Until their end %rbp is the caller's.
 */
#define PUSHED_PROLOGUE_BYTES	  3
#define SUBTRACTED_PROLOGUE_BYTES 16

static uint64_t
pclntab_read_at(const Pclntab *table, size_t offset, unsigned bytes, bool *failed)
{
	CfiCursor cursor = { table->data, offset, table->length, offset > table->length };
	uint64_t value = cfi_read_unsigned(&cursor, bytes);

	*failed = *failed || cursor.failed;
	return value;
}

bool
pclntab_open(const CfiInput *input, Pclntab *table)
{
	bool failed = false;
	uint64_t magic;
	uint64_t count;

	*table = (Pclntab){ .data = input->pclntab.data,
						.length = input->pclntab.length,
						.machine = input->machine,
						.text = input->go_text,
						.limit = input->code_end };
	if (table->data == NULL || table->length < HEADER_BYTES || input->go_text == 0 ||
		input->go_text < input->code_start || input->go_text >= input->code_end)
		return false;
	magic = pclntab_read_at(table, 0, 4, &failed);
	table->quantum = (uint8_t) pclntab_read_at(table, 6, 1, &failed);
	count = pclntab_read_at(table, 8, 8, &failed);
	table->names = pclntab_read_at(table, 32, 8, &failed);
	table->values = pclntab_read_at(table, 56, 8, &failed);
	table->functions = pclntab_read_at(table, 64, 8, &failed);
	if ((magic != MAGIC_1_18 && magic != MAGIC_1_20) ||
		pclntab_read_at(table, 7, 1, &failed) != 8 || table->quantum == 0 ||
		table->names >= table->length || table->values >= table->length ||
		table->functions >= table->length ||
		count >= (table->length - table->functions) / FUNCTION_BYTES)
		return false;
	table->count = (uint32_t) count;
	table->id_offset = magic == MAGIC_1_18 ? ENTRY_FLAGS_1_18 : ENTRY_FLAGS_1_20;
	return !failed;
}

/* Reads start, flags, name and depths of a function from the table. */
static bool
pclntab_entry_read(const Pclntab *table, uint32_t number, PclntabFunction *function)
{
	size_t place = table->functions + (size_t) number * FUNCTION_BYTES;
	bool failed = false;
	size_t entry = table->functions + pclntab_read_at(table, place + 4, 4, &failed);
	size_t name;

	function->start = table->text + pclntab_read_at(table, place, 4, &failed);
	function->flags = (uint8_t) pclntab_read_at(table, entry + table->id_offset, 1, &failed);
	function->depths = pclntab_read_at(table, entry + ENTRY_DEPTHS, 4, &failed);
	name = table->names + pclntab_read_at(table, entry + ENTRY_NAME, 4, &failed);
	function->name = "";
	/* only hand-written functions are recognized by name, and these names are short */
	if ((function->flags & FLAG_ASSEMBLY) && name < table->length &&
		memchr(table->data + name, '\0',
			   table->length - name < MAX_NAME_BYTES ? table->length - name : MAX_NAME_BYTES) !=
			NULL)
		function->name = (const char *) table->data + name;
	return !failed;
}

/*
 * Returns true for the function to which a signal handler returns. Its frame looks as if it was
 * called from before its first instruction.
 */
static bool
is_signal_return(const PclntabFunction *function)
{
	return strcmp(function->name, "runtime.sigreturn__sigaction") == 0 ||
		   strcmp(function->name, "runtime.sigreturn") == 0;
}

bool
pclntab_function(const Pclntab *table, uint32_t number, PclntabFunction *function)
{
	PclntabFunction next;
	bool failed = false;

	if (number >= table->count || !pclntab_entry_read(table, number, function))
		return false;
	function->end =
		table->text + pclntab_read_at(table,
									  table->functions + ((size_t) number + 1) * FUNCTION_BYTES, 4,
									  &failed);
	if (failed || function->end <= function->start || function->end > table->limit ||
		function->depths == 0)
		return false;
	if (is_signal_return(function))
		function->start--;
	if (number + 1 < table->count && pclntab_entry_read(table, number + 1, &next) &&
		is_signal_return(&next))
		function->end--;
	return function->start < function->end;
}

/*
 * Makes the rule of Go's code whose frame has depth bytes so far, not counting the return address
 * of x86-64.
 */
static struct pfs_unwind_rule
rule_of_depth(const Pclntab *table, int64_t depth)
{
	struct pfs_unwind_rule rule;

	memset(&rule, 0, sizeof(rule));
	if (depth < 0 || depth > MAX_DEPTH || depth % 8 != 0)
		return rule; /* its kind is PFS_UNWIND_INVALID */
	rule.kind = PFS_UNWIND_CFI;
	if (table->machine == EM_X86_64)
	{
		rule.cfa_register = 7;
		rule.cfa_offset = (int32_t) depth + 8;
		rule.ra_offset = -8 / PFS_UNWIND_UNIT_X86_64;
		rule.fp = depth >= 8 ? PFS_FP_AT_CFA : PFS_FP_SAME;
		rule.fp_offset = depth >= 8 ? -16 / PFS_UNWIND_UNIT_X86_64 : 0;
		rule.bx_offset = PFS_BX_LOST;
		return rule;
	}
	/* AArch64: the link register is at the low end of the frame, the frame pointer below it */
	rule.cfa_register = 31;
	rule.cfa_offset = (int32_t) depth;
	if (depth == 0)
	{
		rule.flags = PFS_UNWIND_RA_IN_REGISTER;
		rule.ra_register = 30;
	}
	else if (depth / PFS_UNWIND_UNIT_AARCH64 >= INT16_MAX)
		rule.kind = PFS_UNWIND_INVALID;
	else
	{
		rule.ra_offset = (int16_t) (-depth / PFS_UNWIND_UNIT_AARCH64);
		rule.fp = PFS_FP_AT_CFA;
		rule.fp_offset = (int16_t) (rule.ra_offset - 1);
	}
	return rule;
}

/*
 * Returns the rule for code that has switched to another stack, where only the frame record is
 * valid.
 */
static struct pfs_unwind_rule
rule_of_frame_pointer(const Pclntab *table)
{
	struct pfs_unwind_rule rule;

	memset(&rule, 0, sizeof(rule));
	if (table->machine != EM_X86_64)
		return rule;
	rule.kind = PFS_UNWIND_CFI;
	rule.flags = PFS_UNWIND_OTHER_STACK;
	rule.cfa_register = 6;
	rule.cfa_offset = 16;
	rule.ra_offset = -8 / PFS_UNWIND_UNIT_X86_64;
	rule.fp = PFS_FP_AT_CFA;
	rule.fp_offset = -16 / PFS_UNWIND_UNIT_X86_64;
	rule.bx_offset = PFS_BX_LOST;
	return rule;
}

/*
 * Kind of a function, from its flags and from its name if it is a known function of Go's runtime.
 */
typedef enum FunctionKind
{
	FUNCTION_PLAIN,
	FUNCTION_ROOT,
	FUNCTION_SIGNAL_RETURN,
	FUNCTION_LEAVES_STACK, /* switches to another stack, and returns to the first one */
	/* Switches to another stack, on which it calls a function, and never returns. */
	FUNCTION_LEAVES_GOROUTINE
} FunctionKind;

/* Classifies a function by its name and flags, which show how its caller is found. */
static FunctionKind
function_kind(const PclntabFunction *function)
{
	const char *name = function->name;

	if (name[0] == '\0')
		return FUNCTION_PLAIN;
	if (is_signal_return(function))
		return FUNCTION_SIGNAL_RETURN;
	/*
	 * The function below a signal handler counts as top in the runtime's own walks, but the
	 * interrupted code's registers are above it.
	 */
	if ((function->flags & FLAG_TOP_FRAME) && strcmp(name, "runtime.sigtramp") != 0)
		return FUNCTION_ROOT;
	/* in a library this function is a constructor, which the loader calls */
	if ((strncmp(name, "_rt0_", 5) == 0 && strstr(name, "_lib") == NULL) ||
		strcmp(name, "runtime.morestack") == 0)
		return FUNCTION_ROOT;
	if (strcmp(name, "runtime.mcall") == 0)
		return FUNCTION_LEAVES_GOROUTINE;
	return (function->flags & FLAG_WRITES_STACK) ? FUNCTION_LEAVES_STACK : FUNCTION_PLAIN;
}

/* Iteration over the depths of one function. */
typedef struct DepthWalk
{
	const Pclntab *table;
	FunctionKind kind;
	uint64_t address;
	int64_t depth;
	int64_t before;	   /* depth of the previous stretch */
	bool is_frameless; /* the function pushes nothing at any point */
	CfiRowSink sink;
	void *context;
	uint64_t *unsupported;
} DepthWalk;

/*
 * Emits the rows of a stretch with constant depth. Functions that switch stacks without a frame
 * record (asmcgocall and systemstack until Go 1.20) keep their caller's frame pointer: the walk
 * skips the caller, and finds the caller's caller.
 */
static int
emit_depth(const DepthWalk *walk)
{
	static const struct pfs_unwind_rule root = { .kind = PFS_UNWIND_END_OF_STACK };
	struct pfs_unwind_rule rule = rule_of_depth(walk->table, walk->depth);
	uint64_t address = walk->address;
	int err;

	/* mcall has pushed the frame pointer and the goroutine on the stack that it switched to */
	if (walk->kind == FUNCTION_LEAVES_GOROUTINE && walk->depth > 8)
		return walk->sink(walk->context, address, &root);
	if (rule.kind == PFS_UNWIND_INVALID)
		(*walk->unsupported)++;
	if (walk->kind == FUNCTION_LEAVES_STACK && walk->is_frameless &&
		walk->table->machine == EM_X86_64)
		rule = rule_of_frame_pointer(walk->table);
	if (walk->kind != FUNCTION_LEAVES_STACK || walk->depth < 8)
		return walk->sink(walk->context, address, &rule);
	if (walk->before == 0)
	{
		err = walk->sink(walk->context, address, &rule);
		if (err != 0)
			return err;
		address += walk->depth == 8 ? PUSHED_PROLOGUE_BYTES : SUBTRACTED_PROLOGUE_BYTES;
	}
	rule = rule_of_frame_pointer(walk->table);
	return walk->sink(walk->context, address, &rule);
}

/* Returns true if no further stretch follows: the next change is 0, or the bytes are malformed. */
static bool
is_last_stretch(CfiCursor cursor)
{
	return (cfi_read_uleb128(&cursor) & UINT32_MAX) == 0 || cursor.failed;
}

int
pclntab_rows(const Pclntab *table, const PclntabFunction *function, CfiRowSink sink, void *context,
			 uint64_t *unsupported)
{
	static const struct pfs_unwind_rule root = { .kind = PFS_UNWIND_END_OF_STACK };
	static const struct pfs_unwind_rule signal = { .kind = PFS_UNWIND_SIGNAL };
	CfiCursor cursor = { table->data, table->values, table->length, false };
	DepthWalk walk = {
		.table = table,
		.kind = function_kind(function),
		.address = function->start,
		.depth = -1, /* the encoding starts with this value */
		.sink = sink,
		.context = context,
		.unsupported = unsupported,
	};

	if (walk.kind == FUNCTION_ROOT)
		return sink(context, walk.address, &root);
	if (walk.kind == FUNCTION_SIGNAL_RETURN)
		return sink(context, walk.address, &signal);
	if (function->depths >= table->length - table->values)
		return -EBADMSG;
	cursor.offset += function->depths;
	while (walk.address < function->end)
	{
		uint64_t change = cfi_read_uleb128(&cursor) & UINT32_MAX;
		uint64_t length;
		int err;

		if (cursor.failed)
			return -EBADMSG;
		if (change == 0 && walk.address > function->start)
			break;
		/* zigzag encoding of a signed number */
		walk.depth += (int64_t) (change >> 1) ^ -(int64_t) (change & 1);
		length = (cfi_read_uleb128(&cursor) & UINT32_MAX) * table->quantum;
		if (cursor.failed || length == 0)
			return -EBADMSG;
		walk.is_frameless =
			walk.address == function->start && walk.depth == 0 && is_last_stretch(cursor);
		err = emit_depth(&walk);
		if (err != 0)
			return err;
		walk.before = walk.depth;
		walk.address += length;
	}
	return 0;
}
