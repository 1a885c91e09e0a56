/*
 * v8_layout.c
 *		Derives the offsets that a version does not export. The rules hold for V8 8.4 to 14.6.
 */
#include "runtimes/v8/v8_layout.h"

#include <string.h>

#define MAJOR_FIRST 8
#define MAJOR_LAST	14

#define OFFSET_MAX 1024 /* objects that are read here are smaller */
#define INDEX_MAX  64

static const char *const constant_names[] = {
#define V8_CONSTANT_NAME(identifier, name) name,
	V8_CONSTANTS(V8_CONSTANT_NAME)
#undef V8_CONSTANT_NAME
};

void
v8_constants_note(V8Constants *constants, const char *name, int32_t value)
{
	for (int i = 0; i < V8_CONSTANT_COUNT; i++)
	{
		const char *known = constant_names[i];
		size_t length = strlen(known);
		bool is_begin = length > 2 && strcmp(known + length - 2, "__") == 0;

		if (is_begin ? strncmp(name, known, length) != 0 : strcmp(name, known) != 0)
			continue;
		constants->has[i] = true;
		constants->values[i] = value;
		return;
	}
}

/* Constants while a layout is derived from them. */
typedef struct Deriving
{
	const V8Constants *constants;
	bool failed;
} Deriving;

static bool
is_from(const Deriving *deriving, uint32_t major, uint32_t minor, uint32_t build)
{
	const uint32_t *version = deriving->constants->version;

	if (version[0] != major)
		return version[0] > major;
	if (version[1] != minor)
		return version[1] > minor;
	return version[2] >= build;
}

static bool
has(const Deriving *deriving, V8Constant constant)
{
	return deriving->constants->has[constant];
}

/* Returns the constant, or its substitute. */
static int32_t
value_of(const Deriving *deriving, V8Constant constant, int32_t otherwise)
{
	return has(deriving, constant) ? deriving->constants->values[constant] : otherwise;
}

/* Returns the value if it is from 0 to most; otherwise marks the layout as impossible. */
static uint16_t
bounded(Deriving *deriving, int32_t value, int32_t most)
{
	if (value < 0 || value > most)
		deriving->failed = true;
	return (uint16_t) value;
}

static uint16_t
offset_of(Deriving *deriving, V8Constant constant, int32_t otherwise)
{
	return bounded(deriving, value_of(deriving, constant, otherwise), OFFSET_MAX);
}

static uint16_t
required(Deriving *deriving, V8Constant constant, int32_t most)
{
	return bounded(deriving, value_of(deriving, constant, -1), most);
}

static uint16_t
type_of(Deriving *deriving, V8Constant constant)
{
	return required(deriving, constant, UINT16_MAX);
}

static uint16_t
index_of(Deriving *deriving, V8Constant constant, int32_t otherwise)
{
	return bounded(deriving, value_of(deriving, constant, otherwise), INDEX_MAX);
}

/* Returns the index of a field in a block of words. */
static uint8_t
word_of(Deriving *deriving, int32_t offset, int32_t words)
{
	if (offset < 0 || offset % 8 != 0 || offset / 8 >= words)
		deriving->failed = true;
	return (uint8_t) (offset / 8);
}

static void
derive_walk(Deriving *deriving, V8Layout *layout)
{
	struct pfs_v8_layout *walk = &layout->walk;
	int32_t below = PFS_V8_SLOT_WORDS * 8;
	int32_t function = value_of(deriving, V8_FP_FUNCTION, -16);
	int32_t bytecodes =
		value_of(deriving, V8_FP_BYTECODES, function - (is_from(deriving, 8, 7, 198) ? 16 : 8));
	int32_t script =
		value_of(deriving, V8_SHARED_SCRIPT, value_of(deriving, V8_SHARED_SCRIPT_OLD, -1));

	walk->slot_context =
		word_of(deriving, below + value_of(deriving, V8_FP_CONTEXT, -8), PFS_V8_SLOT_WORDS);
	walk->slot_function = word_of(deriving, below + function, PFS_V8_SLOT_WORDS);
	walk->slot_bytecodes = word_of(deriving, below + bytecodes, PFS_V8_SLOT_WORDS);
	walk->slot_offset = word_of(deriving, below + value_of(deriving, V8_FP_OFFSET, bytecodes - 8),
								PFS_V8_SLOT_WORDS);
	layout->shared_name = required(deriving, V8_SHARED_NAME, OFFSET_MAX);
	layout->shared_data = offset_of(deriving, V8_SHARED_DATA, 8);
	layout->shared_script = bounded(deriving, script, OFFSET_MAX);
	walk->shared_name = word_of(deriving, layout->shared_name, PFS_V8_SHARED_WORDS);
	walk->shared_script = word_of(deriving, script, PFS_V8_SHARED_WORDS);
	walk->shared_length =
		word_of(deriving, value_of(deriving, V8_SHARED_LENGTH, -1), PFS_V8_SHARED_WORDS);
	walk->function_shared = required(deriving, V8_FUNCTION_SHARED, OFFSET_MAX);
	walk->map_type = offset_of(deriving, V8_MAP_TYPE, 12);
	walk->script_type = type_of(deriving, V8_TYPE_SCRIPT);
	/* the id follows the ends of lines */
	walk->script_id =
		(uint8_t) (word_of(deriving, value_of(deriving, V8_SCRIPT_LINE_ENDS, -1), OFFSET_MAX / 8) +
				   1);
}

/*
 * Derives the offsets of a Code object's fields. From V8 12 on they are deoptimization data 8,
 * positions 16, wrapper 24, stream 32, start 40. Before that the positions follow the
 * deoptimization data, and the start is 16 after them.
 */
static void
derive_code(Deriving *deriving, V8Layout *layout)
{
	int32_t start = value_of(deriving, V8_CODE_START, -1);
	int32_t size = value_of(deriving, V8_CODE_SIZE, -1);
	int32_t positions = value_of(deriving, V8_CODE_POSITIONS, -1);
	int32_t flags = value_of(deriving, V8_CODE_FLAGS, -1);

	if (size >= 0)
	{
		if (positions < 0)
			positions = has(deriving, V8_TYPE_CODE_WRAPPER) ? start - 24 : size - 16;
		if (flags < 0)
			flags = size + 8;
	}
	else
	{
		if (start < 0)
			start = positions + 16;
		if (flags < 0)
			flags = start + 8;
		size = flags + (is_from(deriving, 11, 4, 59) ? 4 : 8);
	}
	layout->code_start = bounded(deriving, start, OFFSET_MAX);
	layout->code_size = bounded(deriving, size, OFFSET_MAX);
	layout->code_positions = bounded(deriving, positions, OFFSET_MAX);
	layout->code_flags = bounded(deriving, flags, OFFSET_MAX);
	layout->code_deopt = offset_of(deriving, V8_CODE_DEOPT, positions - 8);
	layout->has_streams = has(deriving, V8_TYPE_STREAM);
	layout->type_code = type_of(deriving, layout->has_streams ? V8_TYPE_STREAM : V8_TYPE_CODE);
	layout->start_is_pointer = is_from(deriving, 11, 1, 204);
	layout->has_kinds = is_from(deriving, 8, 7, 0);
	layout->kind_baseline = index_of(deriving, V8_KIND_BASELINE, 11);
}

static void
derive_functions(Deriving *deriving, V8Layout *layout)
{
	layout->type_shared = type_of(deriving, V8_TYPE_SHARED);
	layout->type_bytecodes = type_of(deriving, V8_TYPE_BYTECODES);
	layout->type_scope_info = type_of(deriving, V8_TYPE_SCOPE_INFO);
	layout->string_types = type_of(deriving, V8_FIRST_NO_STRING);
	layout->array_length = offset_of(deriving, V8_ARRAY_LENGTH, 8);
	layout->array_data = offset_of(deriving, V8_ARRAY_DATA, 16);
	/* the positions follow the wrapper; without one, constants and handlers */
	layout->bytecodes_positions =
		offset_of(deriving, V8_BYTECODES_POSITIONS,
				  layout->array_length + (has(deriving, V8_BYTECODES_WRAPPER) ? 16 : 24));
	layout->bytecodes_data =
		offset_of(deriving, V8_BYTECODES_DATA, layout->bytecodes_positions + 8 + 14);
	layout->scope_data = is_from(deriving, 9, 1, 71) ? 8 : layout->array_data;
	layout->scope_first = index_of(deriving, V8_SCOPE_FIRST, 3);
	layout->scope_locals = index_of(deriving, V8_SCOPE_LOCALS, 2);
	layout->positions_in_scope = is_from(deriving, 12, 8, 44);
	layout->positions_shift = is_from(deriving, 14, 0, 0) ? 1 : 0;
	layout->deopt_literals = index_of(deriving, V8_DEOPT_LITERALS, 2);
	layout->deopt_positions = index_of(deriving, V8_DEOPT_POSITIONS, 7);
	layout->shared_is_wrapped = has(deriving, V8_DEOPT_WRAPPED) || has(deriving, V8_DEOPT_WRAPPER);
	layout->deopt_shared =
		index_of(deriving, has(deriving, V8_DEOPT_WRAPPED) ? V8_DEOPT_WRAPPED : V8_DEOPT_WRAPPER,
				 value_of(deriving, V8_DEOPT_SHARED, 6));
}

static void
derive_scripts(Deriving *deriving, V8Layout *layout)
{
	layout->script_name = required(deriving, V8_SCRIPT_NAME, OFFSET_MAX);
	layout->script_source = offset_of(deriving, V8_SCRIPT_SOURCE, layout->script_name - 8);
	layout->script_first_line = (uint16_t) (layout->script_name + 8);
	layout->string_length = offset_of(deriving, V8_STRING_LENGTH, 12);
	layout->string_characters = offset_of(deriving, V8_STRING_CHARACTERS, 16);
}

bool
v8_layout_of(const V8Constants *constants, V8Layout *layout)
{
	Deriving deriving = { constants, false };

	memset(layout, 0, sizeof(*layout));
	/* with compressed pointers, small integers are in another place */
	if (constants->version[0] < MAJOR_FIRST || constants->version[0] > MAJOR_LAST ||
		value_of(&deriving, V8_SMI_SHIFT, 0) != 31)
		return false;
	derive_walk(&deriving, layout);
	derive_code(&deriving, layout);
	derive_functions(&deriving, layout);
	derive_scripts(&deriving, layout);
	return !deriving.failed;
}
