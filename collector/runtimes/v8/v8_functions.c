/*
 * v8_functions.c
 *		Reads functions.
 *
 * 1. The function that was called: name, script. It must not have changed since the sample.
 * 2. The position: of a bytecode, of an instruction of baseline code by its bytecode, of optimized
 *    code by its own table.
 * 3. The position in optimized code may be in an inlined function: then its callers are read, up to
 *    the function that was called.
 * 4. The function again.
 */
#include "runtimes/v8/v8_functions.h"

#include <stdlib.h>
#include <string.h>

#include "code/code_namer.h"

#define READS_MAX	   4000
#define TABLE_BYTES	   ((size_t) 256 * 1024) /* longer tables count as absent */
/* size of an entry: 8 bytes of position, 4 of the function's index */
#define INLINED_BYTES  16
#define LOCALS_MAX	   65536
#define SCOPE_WORDS	   8 /* number of words examined after the variables */
#define SCOPE_POSITION 3 /* index of the start, if positions come before the variables */
#define WRAPPED_SHARED 8 /* byte offset */
#define BASELINE_CODE  8 /* byte offset */
#define NAME_NONE	   "(anonymous)"

/* State of reading a function. */
typedef struct V8Function
{
	uint64_t shared;
	uint64_t script;
	uint64_t script_id;
	uint64_t check;
	int32_t start; /* position; -1: unknown */
	char name[CODE_TEXT_BYTES + 1];
} V8Function;

typedef struct V8Reader
{
	V8State *state;
	V8Memory *memory;
	const V8Layout *layout;
	const V8Sizes *sizes;
} V8Reader;

/*
 * Reads the identity of a function. Returns false if the object is not a function, or belongs to no
 * script.
 */
static bool
read_identity(V8Reader *reader, uint64_t shared, V8Function *function)
{
	const struct pfs_v8_layout *walk = &reader->layout->walk;
	V8Memory *memory = reader->memory;
	uint64_t name;
	uint64_t length;

	if (v8_type_of(memory, shared) != reader->layout->type_shared)
		return false;
	function->shared = shared;
	function->script = v8_object_at(memory, shared + reader->layout->shared_script);
	if (v8_type_of(memory, function->script) != walk->script_type ||
		!v8_word(memory, function->script + 8 * (uint64_t) walk->script_id, &function->script_id) ||
		!v8_word(memory, shared + reader->layout->shared_name, &name) ||
		!v8_word(memory, shared + 8 * (uint64_t) walk->shared_length, &length))
		return false;
	function->check = pfs_v8_check(function->script_id, name, length);
	return true;
}

/*
 * Finds the function's start among the words after its name: [name, slot,] [inferred name,] start,
 * end. Small integers follow each other as 1, 2 or 3.
 */
static int32_t
start_among(const uint64_t *words, uint32_t count, uint32_t first)
{
	uint32_t run = 0;

	for (uint32_t i = first; i < count; i++)
	{
		bool is_small = PFS_V8_IS_SMALL(words[i]);

		if (is_small && i + 1 < count)
		{
			run++;
			continue;
		}
		run += is_small;
		i += is_small;
		if (run == 2 || run == 3)
			return (int32_t) (words[i - 2] >> 32);
		run = 0;
	}
	return -1;
}

/* Reads name and start from a ScopeInfo. */
static void
v8_read_scope(V8Reader *reader, uint64_t scope, V8Function *function)
{
	const V8Layout *layout = reader->layout;
	V8Memory *memory = reader->memory;
	uint64_t data = scope + layout->scope_data;
	int64_t locals = v8_small_at(memory, data + 8 * (uint64_t) layout->scope_locals);
	uint64_t words[SCOPE_WORDS];
	uint32_t first = SCOPE_WORDS;
	uint32_t count = 0;
	uint64_t at;

	if (locals < 0 || locals > LOCALS_MAX)
		return;
	at = data + 8 * (uint64_t) layout->scope_first;
	/* if there are many variables, their names are in a table of their own */
	if (locals > 0 && v8_type_of(memory, v8_object_at(memory, at)) >= layout->string_types)
		at += 8 * (uint64_t) (1 + locals);
	else
		at += 16 * (uint64_t) locals;
	while (count < SCOPE_WORDS && v8_word(memory, at + 8 * (uint64_t) count, &words[count]))
		count++;
	for (uint32_t i = 0; i < count && function->name[0] == '\0'; i++)
	{
		uint64_t object = v8_object_of(words[i]);

		if (object == 0)
			continue;
		if (first == SCOPE_WORDS)
			first = i;
		if (!v8_text(memory, object, function->name, sizeof(function->name)))
			function->name[0] = '\0';
	}
	if (layout->positions_in_scope)
		function->start = (int32_t) v8_small_at(memory, data + 8 * SCOPE_POSITION);
	else if (first < count)
		function->start = start_among(words, count, first);
}

static bool
read_function(V8Reader *reader, uint64_t shared, V8Function *function)
{
	uint64_t name;

	memset(function, 0, sizeof(*function));
	function->start = -1;
	if (!read_identity(reader, shared, function))
		return false;
	name = v8_object_at(reader->memory, shared + reader->layout->shared_name);
	if (v8_type_of(reader->memory, name) == reader->layout->type_scope_info)
		v8_read_scope(reader, name, function);
	else if (!v8_text(reader->memory, name, function->name, sizeof(function->name)))
		function->name[0] = '\0';
	return true;
}

/* Returns the elements of a byte array, which the caller frees; NULL if there are none. */
static uint8_t *
v8_read_bytes(V8Reader *reader, uint64_t array, size_t *length)
{
	const V8Layout *layout = reader->layout;
	int64_t count = array != 0 ? v8_small_at(reader->memory, array + layout->array_length) : 0;
	uint8_t *bytes;

	if (count <= 0 || (size_t) count > TABLE_BYTES)
		return NULL;
	bytes = malloc((size_t) count);
	if (bytes == NULL ||
		!v8_read(reader->memory, array + layout->array_data, bytes, (size_t) count))
	{
		free(bytes);
		return NULL;
	}
	*length = (size_t) count;
	return bytes;
}

static bool
find_position(V8Reader *reader, uint64_t table, uint32_t offset, V8Position *position)
{
	size_t length;
	uint8_t *bytes = v8_read_bytes(reader, table, &length);
	bool found = bytes != NULL &&
				 v8_position_find(bytes, length, reader->layout->positions_shift, offset, position);

	free(bytes);
	return found;
}

/* Finds the position of a bytecode by its offset. Returns false if the array is invalid. */
static bool
find_bytecode_position(V8Reader *reader, uint64_t bytecodes, uint32_t offset, V8Position *position)
{
	const V8Layout *layout = reader->layout;

	return bytecodes != 0 && v8_type_of(reader->memory, bytecodes) == layout->type_bytecodes &&
		   find_position(reader,
						 v8_object_at(reader->memory, bytecodes + layout->bytecodes_positions),
						 offset, position);
}

/* Reads the bytecodes of an array, which the caller frees; NULL if the array is invalid. */
static uint8_t *
read_bytecodes(V8Reader *reader, uint64_t array, size_t *length)
{
	const V8Layout *layout = reader->layout;
	int64_t count;
	uint8_t *bytes;

	if (array == 0 || v8_type_of(reader->memory, array) != layout->type_bytecodes)
		return NULL;
	count = v8_small_at(reader->memory, array + layout->array_length);
	if (count <= 0 || (size_t) count > TABLE_BYTES)
		return NULL;
	bytes = malloc((size_t) count);
	if (bytes != NULL &&
		v8_read(reader->memory, array + layout->bytecodes_data, bytes, (size_t) count))
	{
		*length = (size_t) count;
		return bytes;
	}
	free(bytes);
	return NULL;
}

/*
 * Returns whether baseline code belongs to a frame: it refers to the frame's bytecodes or, up to V8
 * 10, the function's data begins with it.
 */
static bool
is_baseline_of(V8Reader *reader, const V8Code *code, const V8Frame *frame)
{
	uint64_t data;

	if (code->deopt == frame->bytecodes)
		return true;
	data = v8_object_at(reader->memory, frame->shared + reader->layout->shared_data);
	return data != 0 && v8_object_at(reader->memory, data + BASELINE_CODE) == code->object;
}

/*
 * Finds a position in baseline code, which has a table with the code length of each bytecode; the
 * bytecodes have a table of positions.
 */
static bool
find_baseline_position(V8Reader *reader, const V8Code *code, const V8Frame *frame,
					   V8Position *position)
{
	uint8_t sizes[3 * UINT8_MAX];
	V8Bytecodes bytecodes = { .sizes = sizes, .count = reader->sizes->count };
	uint8_t *bytes = NULL;
	uint8_t *table = NULL;
	size_t length;
	uint32_t offset;
	bool found = false;

	if (reader->sizes->address == 0 || bytecodes.count > UINT8_MAX ||
		!is_baseline_of(reader, code, frame) ||
		!v8_read(reader->memory, reader->sizes->address, sizes, (size_t) 3 * bytecodes.count))
		return false;
	bytes = read_bytecodes(reader, frame->bytecodes, &bytecodes.length);
	table = v8_read_bytes(reader, code->positions, &length);
	bytecodes.code = bytes;
	if (bytes != NULL && table != NULL)
		found = v8_baseline_find(table, length, &bytecodes, (uint32_t) (frame->pc - code->start),
								 &offset);
	free(bytes);
	free(table);
	return found && find_bytecode_position(reader, frame->bytecodes, offset, position);
}

static uint64_t
deopt_element(V8Reader *reader, const V8Code *code, uint16_t index)
{
	return code->deopt != 0
			   ? v8_object_at(reader->memory,
							  code->deopt + reader->layout->array_data + 8 * (uint64_t) index)
			   : 0;
}

/* Returns the function from which optimized code was made; 0 for other code. */
static uint64_t
function_of_code(V8Reader *reader, const V8Code *code)
{
	uint64_t shared = deopt_element(reader, code, reader->layout->deopt_shared);

	if (shared != 0 && reader->layout->shared_is_wrapped)
		shared = v8_object_at(reader->memory, shared + WRAPPED_SHARED);
	return shared;
}

/* Fills the data of a function at a position. Returns false if out of memory. */
static bool
v8_fill_code(V8Reader *reader, const V8Function *function, int32_t position, RuntimeCode *code)
{
	char file[CODE_TEXT_BYTES + 1];
	V8Scripts *scripts = &reader->state->scripts;

	if (!v8_text(reader->memory,
				 v8_object_at(reader->memory, function->script + reader->layout->script_name), file,
				 sizeof(file)))
		file[0] = '\0';
	code->name = strdup(function->name[0] != '\0' ? function->name : NAME_NONE);
	code->file = strdup(file);
	if (code->name == NULL || code->file == NULL)
		return false;
	code->first_line = v8_scripts_line(scripts, reader->memory, function->script,
									   function->script_id, function->start);
	code->line =
		v8_scripts_line(scripts, reader->memory, function->script, function->script_id, position);
	return true;
}

/*
 * Finds the function that is inlined under a number, and its call position. Returns false if there
 * is none.
 */
static bool
find_inlined(V8Reader *reader, const V8Code *code, uint32_t number, V8Function *function,
			 V8Position *call)
{
	const V8Layout *layout = reader->layout;
	uint64_t positions = deopt_element(reader, code, layout->deopt_positions);
	uint64_t literals = deopt_element(reader, code, layout->deopt_literals);
	uint8_t entry[INLINED_BYTES];
	uint64_t value;
	uint64_t word;
	int32_t index;

	if (positions == 0 || literals == 0 ||
		!v8_read(reader->memory,
				 positions + layout->array_data + (uint64_t) INLINED_BYTES * (number - 1), entry,
				 sizeof(entry)))
		return false;
	memcpy(&value, entry, sizeof(value));
	memcpy(&index, entry + sizeof(value), sizeof(index));
	*call = v8_position_split(value);
	return index >= 0 &&
		   v8_word(reader->memory, literals + layout->array_data + 8 * (uint64_t) index, &word) &&
		   read_function(reader, v8_weak_object_of(word), function);
}

/*
 * Fills the functions of optimized code, innermost first. Returns false if one is unreadable, or
 * the outermost is not the function that was called.
 */
static bool
fill_inlined(V8Reader *reader, const V8Code *code, const V8Function *called, V8Position position,
			 RuntimeCode *innermost)
{
	RuntimeCode *at = innermost;

	for (int i = 1; i < CODE_INLINED_MAX; i++)
	{
		V8Function function;
		V8Position call;

		if (position.inlined == 0)
			return v8_fill_code(reader, called, position.offset, at);
		if (!find_inlined(reader, code, position.inlined, &function, &call) ||
			!v8_fill_code(reader, &function, position.offset, at))
			return false;
		at->caller = calloc(1, sizeof(*at->caller));
		at = at->caller;
		if (at == NULL)
			return false;
		position = call;
	}
	return false;
}

/* Fills the function of an interpreter frame. Returns false if only the name is known. */
static bool
fill_by_bytecode(V8Reader *reader, const V8Function *called, const V8Frame *frame, RuntimeCode *out)
{
	/* the interpreter counts from the tagged address of the array */
	uint32_t first = reader->layout->bytecodes_data - 1U;
	V8Position position;

	return frame->offset != PFS_V8_NO_OFFSET && frame->offset >= first &&
		   find_bytecode_position(reader, frame->bytecodes, frame->offset - first, &position) &&
		   v8_fill_code(reader, called, position.offset, out);
}

/* Fills the functions of generated machine code. Returns false if only the name is known. */
static bool
fill_by_code(V8Reader *reader, const V8Function *called, const V8Frame *frame, RuntimeCode *out)
{
	const V8Layout *layout = reader->layout;
	const V8Code *code = v8_codes_find(&reader->state->codes, frame->pc);
	V8Position position;

	if (code == NULL)
		return false;
	if (layout->has_kinds && code->kind == layout->kind_baseline)
		return find_baseline_position(reader, code, frame, &position) &&
			   v8_fill_code(reader, called, position.offset, out);
	if (layout->has_kinds && code->kind < layout->kind_baseline) /* a copy of the interpreter */
		return fill_by_bytecode(reader, called, frame, out);
	return function_of_code(reader, code) == frame->shared &&
		   find_position(reader, code->positions, (uint32_t) (frame->pc - code->start),
						 &position) &&
		   fill_inlined(reader, code, called, position, out) &&
		   v8_code_is_same(reader->memory, code);
}

void
v8_functions_read(V8State *state, V8Memory *memory, const V8Sizes *sizes, const V8Frame *frame,
				  RuntimeCode *code)
{
	V8Reader reader = { state, memory, memory->layout, sizes };
	V8Function called;
	V8Function again = { 0 };

	*code = (RuntimeCode){ 0 };
	memory->reads_left = READS_MAX;
	if (!read_function(&reader, frame->shared, &called) || called.check != frame->check)
		return;
	if (frame->pc != 0 ? !fill_by_code(&reader, &called, frame, code)
					   : !fill_by_bytecode(&reader, &called, frame, code))
	{
		runtime_code_fini(code);
		(void) v8_fill_code(&reader, &called, -1, code);
	}
	if (code->name == NULL || code->file == NULL ||
		!read_identity(&reader, frame->shared, &again) || again.check != frame->check)
		runtime_code_fini(code);
}
