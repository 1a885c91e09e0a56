/*
 * hotspot_code.c
 *		Reads many frames' functions with few calls.
 *
 * 1. A compiled method's description: is it still the compilation that was sampled? Its table of
 *    places (PcDesc) leads from the instruction to a scope, a scope names a method and a bytecode,
 *    and leads to the scope that it was inlined into. The table has exactly the place of a return
 *    address. For an innermost frame it has the next place, because it describes calls and polls,
 *    unless there is a jump: then the next place belongs to other code.
 * 2. A stub's description has its name.
 * 3. The methods of all frames, each once: their constant part, which is in front of the bytecode
 *    and the lines, their class, and the texts of names.
 * 4. Descriptions and methods again: an object that is equal at the end was equal all the time.
 *    While a compiled method has its method, all classes that it refers to are loaded, but a block
 *    that was freed and is used again may still have a description of freed code. An
 *    interpreted method has no number of its own, so it is the sampled one only if no class was
 *    unloaded since.
 */
#include "runtimes/hotspot/hotspot_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/unaligned.h"
#include "base/utf8.h"
#include "code/code_namer.h"
#include "code/code_object.h"
#include "runtimes/common/remote_reads.h"
#include "runtimes/hotspot/hotspot_streams.h"
#include "runtimes/hotspot/hotspot_unloads.h"

/* limit of a compiled method's table; beyond it, frames have only its name */
#define PLACES_BYTES_MAX	(256 * 1024)
/* bytes before a scope, which contain the scopes that it refers to */
#define SCOPES_BYTES		(64 * 1024)
#define SCOPE_BYTES			16
#define LINES_BYTES_MAX		(64 * 1024)
#define FUNCTIONS_MAX		1024 /* limit of the functions that are read together */
#define STUB_NAME_BYTES		64
#define CONSTANT_HAS_LINES	1
/* state of a compiled method before it is complete: -1 */
#define STATE_NOT_INSTALLED 0xff

/* The objects that the names of a function consist of. */
typedef enum Text
{
	TEXT_CLASS,
	TEXT_NAME,
	TEXT_FILE,
	TEXTS
} Text;

typedef struct Function
{
	uint64_t method;
	uint64_t constant; /* 0: unreadable */
	uint64_t pool;
	uint64_t holder;
	uint16_t name_index;
	uint16_t code_bytes;
	uint16_t file_index;
	uint32_t constant_words;
	bool has_lines;
	uint64_t symbols[TEXTS];
	uint16_t lengths[TEXTS];
	size_t lines_bytes; /* to be read */
	bool valid;
	char *name; /* name of the method, with its class */
	char *file;
	uint8_t *lines; /* NULL: there is no table */
} Function;

/* A compiled method's description. */
typedef struct Compiled
{
	uint32_t id;
	uint64_t method;
	uint64_t places; /* addresses */
	uint64_t places_bytes;
	uint64_t scopes;
	uint64_t metadata;
} Compiled;

/* A function that a frame represents, and the position of its bytecode. */
typedef struct Scope
{
	size_t function;
	int32_t place; /* -1: unknown */
} Scope;

/* State of finding a frame's functions. */
typedef struct Sampled
{
	bool valid;
	Compiled compiled;
	uint32_t scope;						/* offset; 0: none */
	uint32_t scope_from;				/* first of the scopes' bytes that were read */
	uint32_t methods[CODE_INLINED_MAX]; /* indexes in the metadata, from 1 on */
	Scope scopes[CODE_INLINED_MAX];
	size_t count; /* number of both */
	uint64_t stub_name;
} Sampled;

typedef struct Batch
{
	RemoteMemory *memory;
	const HotSpotLayout *layout;
	const struct pfs_hotspot_heap *heaps; /* PFS_HOTSPOT_HEAPS heaps of code */
	uint64_t unloaded; /* number of unloaded classes; UINT64_MAX: it has changed meanwhile */
	RemoteReads reads;
	CodeWanted *wanted;
	size_t count;
	Sampled frames[RUNTIME_CODES_MAX];
	Function functions[FUNCTIONS_MAX];
	size_t function_count;
} Batch;

static uint32_t
frame_kind(const Batch *batch, size_t i)
{
	return PFS_HOTSPOT_FRAME(batch->wanted[i].key.check);
}

/* Returns the number of the method among the functions; FUNCTIONS_MAX if they are too many. */
static size_t
hotspot_function_of(Batch *batch, uint64_t method)
{
	for (size_t i = 0; i < batch->function_count; i++)
	{
		if (batch->functions[i].method == method)
			return i;
	}
	if (batch->function_count == FUNCTIONS_MAX)
		return FUNCTIONS_MAX;
	batch->functions[batch->function_count].method = method;
	return batch->function_count++;
}

static void
hotspot_add_scope(Batch *batch, Sampled *frame, uint64_t method, int32_t place)
{
	size_t function = hotspot_function_of(batch, method);

	if (function < FUNCTIONS_MAX && frame->count < CODE_INLINED_MAX)
		frame->scopes[frame->count++] = (Scope){ function, place };
}

static bool
is_in_heaps(const struct pfs_hotspot_heap *heaps, uint64_t address)
{
	for (int i = 0; i < PFS_HOTSPOT_HEAPS; i++)
	{
		if (address >= heaps[i].low && address < heaps[i].high)
			return true;
	}
	return false;
}

/*
 * Returns false for the description of code that was freed, in a block that HotSpot has given to
 * other code but has not described yet. That description still has the method, whose memory may
 * belong to another method. HotSpot frees the maps of objects with the code, and on the free block
 * their address may be replaced by the next free block's. Data outside the heap is freed, too: its
 * address then is the block's end. Of the code in use, only adapters for method handles have no
 * maps, and these have no frame; only native methods have no such data. A new description gets its
 * state before its number.
 */
static bool
is_described(const HotSpotLayout *layout, const struct pfs_hotspot_heap *heaps,
			 const uint8_t *bytes)
{
	const uint64_t *fields = layout->fields;
	uint64_t maps = bytes_u64_at(bytes, fields[HOTSPOT_BLOB_MAPS]);

	if (bytes_u32_at(bytes, fields[HOTSPOT_BLOB_FRAME_SIZE]) != 0 &&
		(maps == 0 || is_in_heaps(heaps, maps)))
		return false;
	if (hotspot_has(layout, HOTSPOT_CODE_IMMUTABLE) &&
		bytes_u32_at(bytes, fields[HOTSPOT_CODE_PLACES]) != 0 &&
		is_in_heaps(heaps, bytes_u64_at(bytes, fields[HOTSPOT_CODE_IMMUTABLE])))
		return false;
	return bytes[fields[HOTSPOT_CODE_STATE]] != STATE_NOT_INSTALLED;
}

/* Takes the wanted fields of a description out of its bytes. */
static void
parse_compiled(const HotSpotLayout *layout, uint64_t address, const uint8_t *bytes,
			   Compiled *compiled)
{
	const uint64_t *fields = layout->fields;
	uint64_t end;

	compiled->id = bytes_u32_at(bytes, fields[HOTSPOT_CODE_ID]);
	compiled->method = bytes_u64_at(bytes, fields[HOTSPOT_CODE_METHOD]);
	if (hotspot_has(layout, HOTSPOT_CODE_IMMUTABLE))
	{
		uint64_t immutable = bytes_u64_at(bytes, fields[HOTSPOT_CODE_IMMUTABLE]);

		compiled->places = immutable + bytes_u32_at(bytes, fields[HOTSPOT_CODE_PLACES]);
		compiled->scopes = immutable + bytes_u32_at(bytes, fields[HOTSPOT_CODE_SCOPES_OFFSET]);
		end = compiled->scopes;
	}
	else
	{
		compiled->places = address + bytes_u32_at(bytes, fields[HOTSPOT_CODE_PLACES]);
		compiled->scopes = hotspot_has(layout, HOTSPOT_CODE_SCOPES_OFFSET)
							   ? address + bytes_u32_at(bytes, fields[HOTSPOT_CODE_SCOPES_OFFSET])
							   : bytes_u64_at(bytes, fields[HOTSPOT_CODE_SCOPES]);
		end = address + bytes_u32_at(bytes, fields[HOTSPOT_CODE_DEPENDENCIES]);
	}
	compiled->places_bytes = end > compiled->places ? end - compiled->places : 0;
	if (hotspot_has(layout, HOTSPOT_BLOB_MUTABLE))
		compiled->metadata = bytes_u64_at(bytes, fields[HOTSPOT_BLOB_MUTABLE]) +
							 bytes_u32_at(bytes, fields[HOTSPOT_BLOB_RELOCATION]);
	else if (hotspot_has(layout, HOTSPOT_CODE_IMMUTABLE))
		compiled->metadata = address + bytes_u32_at(bytes, fields[HOTSPOT_BLOB_DATA_OFFSET]) +
							 bytes_u16_at(bytes, fields[HOTSPOT_CODE_METADATA]);
	else
		compiled->metadata = address + bytes_u32_at(bytes, fields[HOTSPOT_CODE_METADATA]);
}

/*
 * Reads the descriptions: those of compiled methods whole, with the head of their block, those of
 * stubs up to the name.
 */
static void
read_descriptions(Batch *batch)
{
	const HotSpotLayout *layout = batch->layout;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->count; i++)
	{
		uint64_t address = batch->wanted[i].key.address;

		if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_COMPILED)
			(void) remote_reads_add(&batch->reads, address - layout->sizes[HOTSPOT_SIZE_BLOCK],
									(size_t) layout->sizes[HOTSPOT_SIZE_BLOCK] +
										layout->sizes[HOTSPOT_SIZE_CODE]);
		else if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_STUB)
			(void) remote_reads_add(&batch->reads, address + layout->fields[HOTSPOT_BLOB_NAME],
									sizeof(uint64_t));
		else
			(void) remote_reads_add(&batch->reads, 0, 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
}

/*
 * Parses the description of a compiled method that was read. Returns false if it was not read, or
 * if its methods may have been unloaded: then its memory is free, or it has no method.
 */
static bool
find_compiled(const Batch *batch, size_t i, Compiled *compiled)
{
	const HotSpotLayout *layout = batch->layout;
	const uint8_t *block = remote_reads_get(&batch->reads, i);
	const uint8_t *description;

	if (block == NULL || block[layout->fields[HOTSPOT_BLOCK_USED]] == 0)
		return false;
	description = block + layout->sizes[HOTSPOT_SIZE_BLOCK];
	parse_compiled(layout, batch->wanted[i].key.address, description, compiled);
	return compiled->method != 0 && is_described(layout, batch->heaps, description);
}

static void
find_descriptions(Batch *batch)
{
	read_descriptions(batch);
	for (size_t i = 0; i < batch->count; i++)
	{
		const CodeKey *key = &batch->wanted[i].key;
		const uint8_t *bytes = remote_reads_get(&batch->reads, i);
		Sampled *frame = &batch->frames[i];

		if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_INTERPRETED)
		{
			frame->valid = true;
			hotspot_add_scope(batch, frame, key->address,
							  (int32_t) PFS_HOTSPOT_PLACE(key->check) -
								  (int32_t) batch->layout->sizes[HOTSPOT_SIZE_CONSTANT]);
		}
		else if (bytes != NULL && frame_kind(batch, i) == PFS_HOTSPOT_FRAME_STUB)
		{
			frame->valid = true;
			frame->stub_name = bytes_u64_at(bytes, 0);
		}
		else if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_COMPILED)
			frame->valid = find_compiled(batch, i, &frame->compiled) &&
						   frame->compiled.id == PFS_HOTSPOT_ID(key->check);
	}
}

/*
 * Returns the scope of a place in an ascending table; 0 if the table has none. After its last place
 * there may be code that jumps back, which belongs to that place's function.
 */
static uint32_t
scope_of_place(const HotSpotLayout *layout, const uint8_t *places, size_t bytes, uint64_t check)
{
	size_t step = layout->sizes[HOTSPOT_SIZE_PLACE];
	int32_t pc = (int32_t) PFS_HOTSPOT_PC(check);
	uint32_t before = 0;

	for (size_t at = 0; at + step <= bytes; at += step)
	{
		int32_t place = (int32_t) bytes_u32_at(places, at + layout->fields[HOTSPOT_PLACE_PC]);
		uint32_t scope = bytes_u32_at(places, at + layout->fields[HOTSPOT_PLACE_SCOPE]);

		if (place < pc)
		{
			before = scope;
			continue;
		}
		if (PFS_HOTSPOT_AT(check) == PFS_HOTSPOT_AT_RETURN)
			return place == pc ? scope : 0;
		if (scope == 0 || (PFS_HOTSPOT_AT(check) == PFS_HOTSPOT_AT_JUMP && place != pc))
			return before;
		return scope;
	}
	return 0;
}

static void
find_places(Batch *batch)
{
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->count; i++)
	{
		const Compiled *compiled = &batch->frames[i].compiled;
		bool reads = batch->frames[i].valid && compiled->places_bytes <= PLACES_BYTES_MAX;

		(void) remote_reads_add(&batch->reads, reads ? compiled->places : 0,
								reads ? (size_t) compiled->places_bytes : 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint8_t *places = remote_reads_get(&batch->reads, i);
		Sampled *frame = &batch->frames[i];

		if (places != NULL)
			frame->scope =
				scope_of_place(batch->layout, places, (size_t) frame->compiled.places_bytes,
							   batch->wanted[i].key.check);
	}
}

/* Follows scopes outwards, beginning with the frame's. Their offsets fall, so the chain ends. */
static void
follow_scopes(const Batch *batch, Sampled *frame, const uint8_t *bytes)
{
	uint32_t scope = frame->scope;
	uint32_t end = frame->scope + SCOPE_BYTES - frame->scope_from;

	while (scope != 0 && scope >= frame->scope_from && frame->count < CODE_INLINED_MAX)
	{
		HotSpotStream stream = { .at = bytes + (scope - frame->scope_from),
								 .end = bytes + end,
								 .excess = batch->layout->major >= HOTSPOT_VERSION_EXCESS };
		uint32_t sender;
		uint32_t method;
		uint32_t bytecode;

		if (!hotspot_number(&stream, &sender) || !hotspot_number(&stream, &method) ||
			!hotspot_number(&stream, &bytecode))
			break;
		frame->methods[frame->count] = method;
		frame->scopes[frame->count++].place = (int32_t) bytecode - 1;
		if (sender >= scope)
			break;
		scope = sender;
	}
}

static void
find_scopes(Batch *batch)
{
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->count; i++)
	{
		Sampled *frame = &batch->frames[i];

		frame->scope_from = frame->scope > SCOPES_BYTES ? frame->scope - SCOPES_BYTES : 0;
		if (frame->scope > UINT32_MAX / 2)
			frame->scope = 0;
		(void) remote_reads_add(&batch->reads, frame->compiled.scopes + frame->scope_from,
								frame->scope != 0 ? frame->scope - frame->scope_from + SCOPE_BYTES
												  : 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint8_t *bytes = remote_reads_get(&batch->reads, i);

		if (bytes != NULL)
			follow_scopes(batch, &batch->frames[i], bytes);
	}
}

/*
 * Looks up the methods that scopes refer to. A frame without scopes belongs to the compiled method
 * itself.
 */
static void
find_methods(Batch *batch)
{
	size_t at = 0;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->count; i++)
	{
		const Sampled *frame = &batch->frames[i];

		for (size_t j = 0; frame->scope != 0 && j < frame->count; j++)
			(void) remote_reads_add(&batch->reads,
									frame->compiled.metadata +
										8 * ((uint64_t) frame->methods[j] - 1),
									frame->methods[j] != 0 ? sizeof(uint64_t) : 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->count; i++)
	{
		Sampled *frame = &batch->frames[i];
		size_t scopes = frame->scope != 0 ? frame->count : 0;

		if (!frame->valid || frame_kind(batch, i) != PFS_HOTSPOT_FRAME_COMPILED)
			continue;
		frame->count = 0;
		for (size_t j = 0; j < scopes; j++)
		{
			const uint8_t *method = remote_reads_get(&batch->reads, at++);

			if (method != NULL)
				hotspot_add_scope(batch, frame, bytes_u64_at(method, 0), frame->scopes[j].place);
		}
		if (frame->count == 0)
			hotspot_add_scope(batch, frame, frame->compiled.method, -1);
	}
}

/* Takes the wanted fields of a method's constant part out of its bytes. */
static void
parse_constant(const HotSpotLayout *layout, const uint8_t *bytes, Function *function)
{
	const uint64_t *fields = layout->fields;

	function->pool = bytes_u64_at(bytes, fields[HOTSPOT_CONSTANT_POOL]);
	function->name_index = bytes_u16_at(bytes, fields[HOTSPOT_CONSTANT_NAME]);
	function->code_bytes = bytes_u16_at(bytes, fields[HOTSPOT_CONSTANT_CODE_BYTES]);
	function->constant_words = bytes_u32_at(bytes, fields[HOTSPOT_CONSTANT_WORDS]);
	function->has_lines = (bytes[fields[HOTSPOT_CONSTANT_FLAGS]] & CONSTANT_HAS_LINES) != 0;
}

/* Reads the constant parts into copies of the functions, whose other fields are zero. */
static void
read_constants(Batch *batch, Function *functions)
{
	const HotSpotLayout *layout = batch->layout;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
		(void) remote_reads_add(&batch->reads,
								batch->functions[i].method +
									layout->fields[HOTSPOT_METHOD_CONSTANT],
								sizeof(uint64_t));
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const uint8_t *constant = remote_reads_get(&batch->reads, i);

		functions[i] = (Function){ .method = batch->functions[i].method,
								   .constant = constant != NULL ? bytes_u64_at(constant, 0) : 0 };
	}
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
		(void) remote_reads_add(&batch->reads, functions[i].constant,
								layout->sizes[HOTSPOT_SIZE_CONSTANT]);
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const uint8_t *bytes = remote_reads_get(&batch->reads, i);

		functions[i].valid = bytes != NULL;
		if (bytes != NULL)
			parse_constant(layout, bytes, &functions[i]);
	}
}

static void
find_pools(Batch *batch)
{
	const HotSpotLayout *layout = batch->layout;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
		(void) remote_reads_add(&batch->reads, batch->functions[i].pool,
								layout->sizes[HOTSPOT_SIZE_POOL]);
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const uint8_t *bytes = remote_reads_get(&batch->reads, i);

		if (bytes == NULL)
			continue;
		batch->functions[i].holder = bytes_u64_at(bytes, layout->fields[HOTSPOT_POOL_HOLDER]);
		if (hotspot_has(layout, HOTSPOT_POOL_FILE))
			batch->functions[i].file_index = bytes_u16_at(bytes, layout->fields[HOTSPOT_POOL_FILE]);
	}
}

/* Returns the address of an entry in the constant pool. */
static uint64_t
pool_slot(const Batch *batch, const Function *function, uint16_t index)
{
	return function->pool + batch->layout->sizes[HOTSPOT_SIZE_POOL] + 8 * (uint64_t) index;
}

static void
hotspot_find_names(Batch *batch)
{
	const HotSpotLayout *layout = batch->layout;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const Function *function = &batch->functions[i];
		bool reads = function->holder != 0;

		(void) remote_reads_add(&batch->reads,
								function->holder + layout->fields[HOTSPOT_CLASS_NAME],
								reads ? sizeof(uint64_t) : 0);
		(void) remote_reads_add(&batch->reads, pool_slot(batch, function, function->name_index),
								reads ? sizeof(uint64_t) : 0);
		(void) remote_reads_add(&batch->reads,
								function->holder + layout->fields[HOTSPOT_CLASS_FILE],
								reads && hotspot_has(layout, HOTSPOT_CLASS_FILE) ? sizeof(uint16_t)
																				 : 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const uint8_t *class = remote_reads_get(&batch->reads, 3 * i);
		const uint8_t *name = remote_reads_get(&batch->reads, 3 * i + 1);
		const uint8_t *file = remote_reads_get(&batch->reads, 3 * i + 2);
		Function *function = &batch->functions[i];

		function->symbols[TEXT_CLASS] = class != NULL ? bytes_u64_at(class, 0) : 0;
		function->symbols[TEXT_NAME] = name != NULL ? bytes_u64_at(name, 0) & ~UINT64_C(1) : 0;
		if (file != NULL)
			function->file_index = bytes_u16_at(file, 0);
	}
}

static void
find_files(Batch *batch)
{
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const Function *function = &batch->functions[i];

		(void) remote_reads_add(&batch->reads, pool_slot(batch, function, function->file_index),
								function->file_index != 0 ? sizeof(uint64_t) : 0);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		const uint8_t *file = remote_reads_get(&batch->reads, i);

		if (file != NULL)
			batch->functions[i].symbols[TEXT_FILE] = bytes_u64_at(file, 0) & ~UINT64_C(1);
	}
}

static uint16_t
symbol_length(const HotSpotLayout *layout, const uint8_t *head)
{
	uint32_t length = hotspot_has(layout, HOTSPOT_SYMBOL_LENGTH)
						  ? bytes_u16_at(head, layout->fields[HOTSPOT_SYMBOL_LENGTH])
						  : bytes_u32_at(head, layout->fields[HOTSPOT_SYMBOL_LENGTH_COUNT]) >> 16;

	return (uint16_t) (length < CODE_TEXT_BYTES ? length : CODE_TEXT_BYTES);
}

static void
find_lengths(Batch *batch)
{
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		for (int text = 0; text < TEXTS; text++)
			(void) remote_reads_add(&batch->reads, batch->functions[i].symbols[text],
									HOTSPOT_SYMBOL_BYTES);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count * TEXTS; i++)
	{
		const uint8_t *head = remote_reads_get(&batch->reads, i);

		if (head != NULL)
			batch->functions[i / TEXTS].lengths[i % TEXTS] = symbol_length(batch->layout, head);
	}
}

/*
 * Returns the length without the number that distinguishes classes without names of their own:
 * "+0x…", or "/0x…".
 */
static size_t
without_number(const char *class, size_t length)
{
	size_t digits = length;

	while (digits > 0 && memchr("0123456789abcdef", class[digits - 1], 16) != NULL)
		digits--;
	if (digits < 3 || digits == length || class[digits - 1] != 'x' || class[digits - 2] != '0' ||
		(class[digits - 3] != '+' && class[digits - 3] != '/'))
		return length;
	return digits - 3;
}

/* Returns a copy of the text; NULL if it is empty, or out of memory. */
static char *
hotspot_text_of(const uint8_t *bytes, size_t length)
{
	char text[CODE_TEXT_BYTES + 1];

	if (bytes == NULL || length > CODE_TEXT_BYTES)
		return NULL;
	memcpy(text, bytes, length);
	text[length] = '\0';
	return utf8_replace_invalid(text);
}

static char *
hotspot_full_name(const uint8_t *class, size_t class_length, const uint8_t *name, size_t length)
{
	uint8_t text[2 * CODE_TEXT_BYTES + 2];

	if (class == NULL || name == NULL || length == 0)
		return NULL;
	memcpy(text, class, class_length);
	class_length = without_number((const char *) text, class_length);
	for (size_t i = 0; i < class_length; i++)
	{
		if (text[i] == '/')
			text[i] = '.';
	}
	text[class_length] = '.';
	memcpy(text + class_length + 1, name, length);
	length += class_length + 1;
	return hotspot_text_of(text, length < CODE_TEXT_BYTES ? length : CODE_TEXT_BYTES);
}

/* Returns an upper limit of the bytes of the table of lines, which ends the constant part. */
static size_t
lines_room(const HotSpotLayout *layout, const Function *function)
{
	uint64_t before = layout->sizes[HOTSPOT_SIZE_CONSTANT] + (uint64_t) function->code_bytes;
	uint64_t bytes = 8 * (uint64_t) function->constant_words;

	if (!function->has_lines || bytes <= before)
		return 0;
	return bytes - before < LINES_BYTES_MAX ? (size_t) (bytes - before) : LINES_BYTES_MAX;
}

static void
take_texts(Function *function, const RemoteReads *reads, size_t first)
{
	const uint8_t *texts[TEXTS];
	const uint8_t *lines = remote_reads_get(reads, first + TEXTS);

	for (size_t i = 0; i < TEXTS; i++)
		texts[i] = remote_reads_get(reads, first + i);
	function->name = hotspot_full_name(texts[TEXT_CLASS], function->lengths[TEXT_CLASS],
									   texts[TEXT_NAME], function->lengths[TEXT_NAME]);
	function->file = texts[TEXT_FILE] != NULL
						 ? hotspot_text_of(texts[TEXT_FILE], function->lengths[TEXT_FILE])
						 : strdup("");
	function->lines = lines != NULL ? malloc(function->lines_bytes) : NULL;
	if (function->lines != NULL)
		memcpy(function->lines, lines, function->lines_bytes);
}

static void
read_texts(Batch *batch)
{
	const HotSpotLayout *layout = batch->layout;

	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		Function *function = &batch->functions[i];

		for (int text = 0; text < TEXTS; text++)
			(void) remote_reads_add(&batch->reads,
									function->symbols[text] + layout->fields[HOTSPOT_SYMBOL_BODY],
									function->lengths[text]);
		function->lines_bytes = lines_room(layout, function);
		(void) remote_reads_add(&batch->reads,
								function->constant + layout->sizes[HOTSPOT_SIZE_CONSTANT] +
									function->code_bytes,
								function->lines_bytes);
	}
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->function_count; i++)
		take_texts(&batch->functions[i], &batch->reads, (TEXTS + 1) * i);
}

/* Discards functions that have changed since the first read. */
static void
drop_changed_functions(Batch *batch)
{
	Function *again = calloc(batch->function_count + 1, sizeof(*again));

	if (again != NULL)
		read_constants(batch, again);
	for (size_t i = 0; i < batch->function_count; i++)
	{
		Function *function = &batch->functions[i];

		function->valid = function->valid && again != NULL && again[i].valid &&
						  again[i].constant == function->constant &&
						  again[i].pool == function->pool &&
						  again[i].name_index == function->name_index &&
						  again[i].code_bytes == function->code_bytes &&
						  again[i].constant_words == function->constant_words;
	}
	free(again);
}

static void
drop_changed_code(Batch *batch)
{
	read_descriptions(batch);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint8_t *bytes = remote_reads_get(&batch->reads, i);
		Sampled *frame = &batch->frames[i];
		Compiled again = { 0 };

		if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_INTERPRETED)
			continue;
		if (frame_kind(batch, i) == PFS_HOTSPOT_FRAME_STUB)
			frame->valid =
				frame->valid && bytes != NULL && bytes_u64_at(bytes, 0) == frame->stub_name;
		else
			frame->valid =
				frame->valid && find_compiled(batch, i, &again) && again.id == frame->compiled.id &&
				again.method == frame->compiled.method && again.places == frame->compiled.places &&
				again.scopes == frame->compiled.scopes &&
				again.metadata == frame->compiled.metadata;
	}
}

static void
name_stubs(Batch *batch)
{
	remote_reads_clear(&batch->reads);
	for (size_t i = 0; i < batch->count; i++)
		(void) remote_reads_add(&batch->reads, batch->frames[i].stub_name,
								batch->frames[i].stub_name != 0 ? STUB_NAME_BYTES : 0);
	remote_reads_run(&batch->reads, batch->memory);
	for (size_t i = 0; i < batch->count; i++)
	{
		const uint8_t *name = remote_reads_get(&batch->reads, i);

		if (name == NULL || name[0] == '\0' || !batch->frames[i].valid ||
			bytes_u32_at(name, 0) != PFS_HOTSPOT_NAME(batch->wanted[i].key.check))
			continue;
		batch->wanted[i].code.name =
			hotspot_text_of(name, strnlen((const char *) name, STUB_NAME_BYTES));
		batch->wanted[i].code.file = strdup("");
	}
}

/* Fills code with the function of a scope. Returns false if it is unknown. */
static bool
hotspot_fill_code(const Batch *batch, const Scope *scope, RuntimeCode *code)
{
	const Function *function = &batch->functions[scope->function];
	HotSpotStream lines = { .excess = batch->layout->major >= HOTSPOT_VERSION_EXCESS };

	if (!function->valid || function->name == NULL || function->file == NULL)
		return false;
	code->name = strdup(function->name);
	code->file = strdup(function->file);
	if (code->name == NULL || code->file == NULL)
		return false;
	if (function->lines == NULL)
		return true;
	lines.at = function->lines;
	lines.end = function->lines + function->lines_bytes;
	code->first_line = hotspot_line(lines, -1);
	code->line = scope->place >= 0 ? hotspot_line(lines, scope->place) : 0;
	return true;
}

/* Returns whether a method's constant part has not changed since the sample. */
static bool
hotspot_is_as_sampled(const Batch *batch, size_t i)
{
	const Sampled *frame = &batch->frames[i];

	if (!frame->valid || frame->count == 0)
		return false;
	return frame_kind(batch, i) == PFS_HOTSPOT_FRAME_COMPILED ||
		   pfs_hotspot_check(batch->functions[frame->scopes[0].function].constant,
							 batch->unloaded) == PFS_HOTSPOT_CHECK(batch->wanted[i].key.check);
}

/* Sets the names of all of a frame's functions, or none: otherwise callers would be missing. */
static void
fill_wanted(Batch *batch, size_t i)
{
	const Sampled *frame = &batch->frames[i];
	RuntimeCode *code = &batch->wanted[i].code;
	bool filled = hotspot_is_as_sampled(batch, i);

	for (size_t j = 0; filled && j < frame->count; j++)
	{
		if (j > 0)
		{
			code->caller = calloc(1, sizeof(*code->caller));
			code = code->caller;
		}
		filled = code != NULL && hotspot_fill_code(batch, &frame->scopes[j], code);
	}
	if (!filled)
		runtime_code_fini(&batch->wanted[i].code);
}

static void
free_batch(Batch *batch)
{
	for (size_t i = 0; i < batch->function_count; i++)
	{
		free(batch->functions[i].name);
		free(batch->functions[i].file);
		free(batch->functions[i].lines);
	}
	remote_reads_fini(&batch->reads);
	free(batch);
}

void
hotspot_codes_read(RemoteMemory *memory, const HotSpotLayout *layout,
				   const struct pfs_hotspot_heap *heaps, CodeWanted *wanted, size_t count)
{
	Batch *batch = calloc(1, sizeof(*batch));

	if (!code_wanted_begin(wanted, count) || batch == NULL)
	{
		free(batch);
		return;
	}
	batch->memory = memory;
	batch->layout = layout;
	batch->heaps = heaps;
	batch->wanted = wanted;
	batch->count = count;
	batch->unloaded = hotspot_unloads_read(memory, layout->unloaded);
	find_descriptions(batch);
	find_places(batch);
	find_scopes(batch);
	find_methods(batch);
	read_constants(batch, batch->functions);
	find_pools(batch);
	hotspot_find_names(batch);
	find_files(batch);
	find_lengths(batch);
	read_texts(batch);
	drop_changed_functions(batch);
	drop_changed_code(batch);
	if (hotspot_unloads_read(memory, layout->unloaded) != batch->unloaded)
		batch->unloaded = UINT64_MAX;
	name_stubs(batch);
	for (size_t i = 0; i < count; i++)
	{
		if (frame_kind(batch, i) != PFS_HOTSPOT_FRAME_STUB)
			fill_wanted(batch, i);
	}
	free_batch(batch);
}
