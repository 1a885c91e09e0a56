/*
 * jfr_chunk.c
 *		Reads constants on demand, with the fields of their classes.
 */
#include "formats/jfr/jfr_chunk.h"

#include <string.h>

#include "formats/clean_text.h"
#include "formats/lines.h"

#define NS_PER_SECOND 1000000000
#define COMPRESSED	  1

/* Offsets of the numbers of a header, which are big-endian. */
enum
{
	HEADER_SIZE = 8,
	HEADER_POOLS = 16,
	HEADER_METADATA = 24,
	HEADER_START_NS = 32,
	HEADER_DURATION_NS = 40,
	HEADER_START_TICKS = 48,
	HEADER_TICKS_PER_SECOND = 56,
	HEADER_FEATURES = 64
};

static uint64_t
header_number(const PfsJfrBytes *in, size_t at, size_t width)
{
	uint64_t number = 0;

	for (size_t i = 0; i < width; i++)
		number = number << 8 | in->bytes[at + i];
	return number;
}

/* Reads the header and limits the input to the chunk's size. */
static PfsReadStatus
chunk_read_header(PfsJfrChunk *chunk)
{
	PfsJfrBytes *in = &chunk->in;
	uint64_t size;

	in->at = 0;
	if (in->length < PFS_JFR_HEADER_BYTES || memcmp(in->bytes, "FLR", 4) != 0)
		return pfs_jfr_fail(in, "chunk has no header");
	size = header_number(in, HEADER_SIZE, 8);
	/* The size is written when the chunk is complete; until then it is 0. */
	if (size == 0)
		return pfs_jfr_fail(in, "chunk is still being written");
	if (size < PFS_JFR_HEADER_BYTES || size > in->length)
		return pfs_jfr_fail(in, "chunk extends beyond the end");
	/* All reads stop at the chunk's end, so a damaged chunk cannot use bytes of the next one. */
	in->length = (size_t) size;
	if ((header_number(in, HEADER_FEATURES, 4) & COMPRESSED) == 0)
		return pfs_jfr_fail(in, "chunk has numbers that are not compressed");
	/* Numbers of the header may be negative as int64; later sums test for overflow. */
	chunk->start_ns = (int64_t) header_number(in, HEADER_START_NS, 8);
	chunk->duration_ns = (int64_t) header_number(in, HEADER_DURATION_NS, 8);
	chunk->start_ticks = (int64_t) header_number(in, HEADER_START_TICKS, 8);
	chunk->ticks_per_second = (int64_t) header_number(in, HEADER_TICKS_PER_SECOND, 8);
	if (chunk->ticks_per_second <= 0)
		return pfs_jfr_fail(in, "chunk has no frequency of ticks");
	return PFS_READ_OK;
}

/* Moves to the position that a number of the header gives. */
static PfsReadStatus
chunk_go_to(PfsJfrBytes *in, size_t field)
{
	uint64_t offset = header_number(in, field, 8);

	if (offset < PFS_JFR_HEADER_BYTES || offset >= in->length)
		return pfs_jfr_fail(in, "header points outside the chunk");
	in->at = (size_t) offset;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_jfr_chunk_open(PfsJfrChunk *chunk, const PfsJfrBytes *in)
{
	PfsReadStatus status;

	*chunk = (PfsJfrChunk){ .in = *in };
	status = chunk_read_header(chunk);
	/* The metadata comes first, because pools are read by the fields of their classes. */
	if (status == PFS_READ_OK)
		status = chunk_go_to(&chunk->in, HEADER_METADATA);
	if (status == PFS_READ_OK)
		status = pfs_jfr_types_read(&chunk->in, &chunk->types);
	if (status == PFS_READ_OK)
		status = chunk_go_to(&chunk->in, HEADER_POOLS);
	if (status == PFS_READ_OK)
		status = pfs_jfr_pools_read(&chunk->in, &chunk->types, &chunk->pools);
	/* A class that the recording does not contain is PFS_NONE, even if the reading failed. */
	chunk->stack_types = (PfsJfrStackTypes){
		.stack = pfs_jfr_class_named(&chunk->types, "jdk.types.StackTrace"),
		.frame = pfs_jfr_class_named(&chunk->types, "jdk.types.StackFrame"),
		.method = pfs_jfr_class_named(&chunk->types, "jdk.types.Method"),
		.class = pfs_jfr_class_named(&chunk->types, "java.lang.Class"),
		.symbol = pfs_jfr_class_named(&chunk->types, "jdk.types.Symbol"),
	};
	return status;
}

void
pfs_jfr_chunk_close(PfsJfrChunk *chunk)
{
	PfsBudget *budget = chunk->in.profile->budget;

	pfs_jfr_types_free(&chunk->types, budget);
	pfs_jfr_pools_free(&chunk->pools, budget);
}

int64_t
pfs_jfr_nanoseconds(const PfsJfrChunk *chunk, int64_t ticks)
{
	/* 128 bits: a tick's count times 10^9 overflows 64 bits after some seconds. */
	__int128 ns = (__int128) ticks * NS_PER_SECOND / chunk->ticks_per_second;

	return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t) ns;
}

/* --- fields of a constant, by name --- */

typedef struct Wanted
{
	const char *name;
	uint64_t number; /* a number, or a constant's key */
	PfsText text;
} Wanted;

static bool
is_number(const PfsJfrChunk *chunk, const PfsJfrField *field)
{
	return !field->is_array &&
		   (field->in_pool || (field->class_index != PFS_NONE &&
							   chunk->types.classes[field->class_index].form == PFS_JFR_NUMBER));
}

static bool
chunk_is_text(const PfsJfrChunk *chunk, const PfsJfrField *field)
{
	return !field->is_array && field->class_index != PFS_NONE &&
		   chunk->types.classes[field->class_index].form == PFS_JFR_TEXT;
}

PfsReadStatus
pfs_jfr_read_text(PfsJfrChunk *chunk, const PfsJfrField *field, PfsText *text)
{
	PfsJfrText read = { .is_reference = true };
	/* A field in a pool has only the key of a text; an inline text may be a key, too. */
	PfsReadStatus status = field->in_pool ? pfs_jfr_number(&chunk->in, &read.reference)
										  : pfs_jfr_text(&chunk->in, &read);
	const PfsJfrConstant *constant;
	/* The text lies elsewhere in the chunk; the fields after this one follow at position "at". */
	size_t at = chunk->in.at;

	*text = read.text;
	if (status != PFS_READ_OK || !read.is_reference)
		return status;
	constant = pfs_jfr_constant(&chunk->pools, field->class_index, read.reference);
	if (constant == NULL)
		return PFS_READ_OK;
	/* A reference to a reference is not followed: read.text stays "". */
	chunk->in.at = constant->offset;
	status = pfs_jfr_text(&chunk->in, &read);
	chunk->in.at = at;
	*text = read.text;
	return status;
}

/* Reads a value of a class, and stores its wanted fields. */
static PfsReadStatus
chunk_read_fields(PfsJfrChunk *chunk, uint32_t class_index, Wanted *wanted, int count)
{
	const PfsJfrClass *class = &chunk->types.classes[class_index];
	PfsReadStatus status = pfs_jfr_step(&chunk->in);

	for (uint32_t i = 0; status == PFS_READ_OK && i < class->field_count; i++)
	{
		const PfsJfrField *field = &chunk->types.fields[class->first_field + i];
		Wanted *one = NULL;

		/* Fields are found by name, because their order and number differ between versions. */
		for (int j = 0; j < count; j++)
			if (pfs_text_equals(field->name, wanted[j].name))
				one = &wanted[j];
		if (one != NULL && chunk_is_text(chunk, field))
			status = pfs_jfr_read_text(chunk, field, &one->text);
		else if (one != NULL && is_number(chunk, field))
			status = pfs_jfr_number(&chunk->in, &one->number);
		else
			/* A wanted field of another form is skipped and keeps its initial value. */
			status = pfs_jfr_skip_field(&chunk->in, &chunk->types, field);
	}
	return status;
}

/* Reads wanted fields of a constant; none if the constant does not exist. */
static PfsReadStatus
read_constant(PfsJfrChunk *chunk, uint32_t class_index, uint64_t key, Wanted *wanted, int count)
{
	const PfsJfrConstant *constant =
		class_index == PFS_NONE ? NULL : pfs_jfr_constant(&chunk->pools, class_index, key);
	size_t at = chunk->in.at;
	PfsReadStatus status;

	if (constant == NULL)
		return PFS_READ_OK;
	/* Constants lie in the pools; the caller continues at its own position. */
	chunk->in.at = constant->offset;
	status = chunk_read_fields(chunk, class_index, wanted, count);
	chunk->in.at = at;
	return status;
}

PfsReadStatus
pfs_jfr_constant_name(PfsJfrChunk *chunk, uint32_t class_index, uint64_t key, PfsText *name)
{
	Wanted wanted = { .name = "name", .text = { "", 0 } };
	PfsReadStatus status = read_constant(chunk, class_index, key, &wanted, 1);

	*name = wanted.text;
	return status;
}

/* --- frames --- */

static PfsReadStatus
read_symbol(PfsJfrChunk *chunk, uint64_t key, PfsText *text)
{
	Wanted string = { .name = "string", .text = { "", 0 } };
	PfsReadStatus status = read_constant(chunk, chunk->stack_types.symbol, key, &string, 1);

	*text = string.text;
	return status;
}

/*
 * Joins "java/lang/String" and "length" to "java.lang.String.length"; without a class the method's
 * name remains.
 */
static bool
join_names(PfsProfile *profile, PfsText class, PfsText method, PfsText *name)
{
	char *out;

	*name = method;
	if (class.length == 0)
		return true;
	out = pfs_scratch_alloc(&profile->texts, profile->budget,
							(size_t) class.length + method.length + 1);
	if (out == NULL)
		return false;
	/* Recordings name classes as class files do, with slashes. */
	for (uint32_t i = 0; i < class.length; i++)
		out[i] = class.data[i] == '/' ? '.' : class.data[i];
	out[class.length] = '.';
	if (method.length > 0)
		memcpy(out + class.length + 1, method.data, method.length);
	*name = (PfsText){ out, class.length + 1 + method.length };
	return true;
}

/* Finds or adds the function with the joined names of class and method. */
static PfsReadStatus
add_function(PfsJfrChunk *chunk, PfsJfrFrames *frames, PfsText class, PfsText method,
			 size_t *function)
{
	PfsProfile *profile = chunk->in.profile;
	PfsText name;
	uint32_t number;

	if (!join_names(profile, class, method, &name))
		return pfs_jfr_refused(&chunk->in);
	/* Methods of all chunks with one name are one function, because keys differ between chunks. */
	number = pfs_text_number(&frames->functions, name);
	if (number == PFS_NONE)
		return pfs_jfr_refused(&chunk->in);
	*function = number;
	if (number < profile->function_count)
		return PFS_READ_OK;
	if (!PFS_GROW(profile->budget, profile->functions, profile->function_count))
		return pfs_jfr_refused(&chunk->in);
	profile->functions[profile->function_count++] =
		(PfsProfileFunction){ .name = name, .system_name = name, .filename = { "", 0 } };
	return PFS_READ_OK;
}

/* Returns the function of a method, which is resolved once per chunk. */
static PfsReadStatus
chunk_find_function(PfsJfrChunk *chunk, PfsJfrFrames *frames, uint64_t key, size_t *function)
{
	PfsJfrConstant *constant =
		chunk->stack_types.method == PFS_NONE
			? NULL
			: pfs_jfr_constant(&chunk->pools, chunk->stack_types.method, key);
	Wanted fields[2] = { { .name = "type" }, { .name = "name" } };
	Wanted class_name = { .name = "name" };
	PfsText class = { "", 0 };
	PfsText method = { "", 0 };
	PfsReadStatus status;

	/* Methods occur in many frames; only the first one reads the constants. */
	if (constant != NULL && constant->is_resolved)
	{
		*function = constant->first;
		return PFS_READ_OK;
	}
	/*
	 * A method has a class and a name; the class has a name of its own; both names are keys of
	 * symbols.
	 */
	status = read_constant(chunk, chunk->stack_types.method, key, fields, 2);
	if (status == PFS_READ_OK)
		status = read_constant(chunk, chunk->stack_types.class, fields[0].number, &class_name, 1);
	if (status == PFS_READ_OK)
		status = read_symbol(chunk, class_name.number, &class);
	if (status == PFS_READ_OK)
		status = read_symbol(chunk, fields[1].number, &method);
	if (status == PFS_READ_OK)
		status = add_function(chunk, frames, class, method, function);
	/* A missing constant has no place for the result. */
	if (status == PFS_READ_OK && constant != NULL)
	{
		constant->first = *function;
		constant->is_resolved = true;
	}
	return status;
}

/* Reads a frame of a stack and adds its location, identified by function and line. */
static PfsReadStatus
chunk_add_frame(PfsJfrChunk *chunk, PfsJfrFrames *frames)
{
	PfsProfile *profile = chunk->in.profile;
	Wanted fields[2] = { { .name = "method" }, { .name = "lineNumber" } };
	PfsReadStatus status = chunk_read_fields(chunk, chunk->stack_types.frame, fields, 2);
	uint32_t location;
	size_t function = 0;

	if (status == PFS_READ_OK)
		status = chunk_find_function(chunk, frames, fields[0].number, &function);
	if (status != PFS_READ_OK)
		return status;
	if (fields[1].number > INT32_MAX)
		fields[1].number = 0; /* a line of -1 is unknown */

	/* Function and line identify the location; set_lines() splits the number again. */
	location = pfs_address_location(&frames->lines, (uint64_t) function << 32 | fields[1].number);
	if (location == PFS_NONE ||
		!PFS_GROW(profile->budget, profile->location_indexes, profile->location_index_count))
		return pfs_jfr_refused(&chunk->in);
	profile->location_indexes[profile->location_index_count++] = location;
	return PFS_READ_OK;
}

/* Reads the array in the field "frames". */
static PfsReadStatus
add_frames(PfsJfrChunk *chunk, PfsJfrFrames *frames, PfsJfrConstant *stack)
{
	uint64_t count;
	PfsReadStatus status = pfs_jfr_number(&chunk->in, &count);

	/* The count is tested before the frames, so a hostile stack is refused at once. */
	if (status == PFS_READ_OK && count > PFS_PROFILE_MAX_DEPTH)
	{
		*chunk->in.error = pfs_error_at("stack has too many frames", chunk->in.at);
		return PFS_READ_TOO_LARGE;
	}
	for (uint64_t i = 0; status == PFS_READ_OK && i < count; i++)
		status = chunk_add_frame(chunk, frames);
	/* Nothing else adds frames until the stack is complete, so they are contiguous. */
	stack->count = (uint32_t) (chunk->in.profile->location_index_count - stack->first);
	return status;
}

/*
 * Reads a stack of the pool; its frames are kept in the constant, for all samples with the stack.
 */
static PfsReadStatus
chunk_read_stack(PfsJfrChunk *chunk, PfsJfrFrames *frames, PfsJfrConstant *stack)
{
	const PfsJfrClass *class = &chunk->types.classes[chunk->stack_types.stack];
	PfsReadStatus status = PFS_READ_OK;

	stack->first = chunk->in.profile->location_index_count;
	for (uint32_t i = 0; status == PFS_READ_OK && i < class->field_count; i++)
	{
		const PfsJfrField *field = &chunk->types.fields[class->first_field + i];

		/*
		 * Another encoding of the field would be skipped, because chunk_add_frame() reads inline
		 * values only.
		 */
		if (pfs_text_equals(field->name, "frames") && field->is_array && !field->in_pool &&
			field->class_index != PFS_NONE && field->class_index == chunk->stack_types.frame)
			status = add_frames(chunk, frames, stack);
		else
			status = pfs_jfr_skip_field(&chunk->in, &chunk->types, field);
	}
	stack->is_resolved = true;
	return status;
}

PfsReadStatus
pfs_jfr_set_stack(PfsJfrChunk *chunk, PfsJfrFrames *frames, uint64_t key, PfsProfileSample *sample)
{
	PfsJfrConstant *stack = chunk->stack_types.stack == PFS_NONE
								? NULL
								: pfs_jfr_constant(&chunk->pools, chunk->stack_types.stack, key);
	PfsReadStatus status = PFS_READ_OK;
	size_t at = chunk->in.at;

	sample->first_location = chunk->in.profile->location_index_count;
	sample->location_count = 0;
	/* An event without a stack is a sample without frames. */
	if (stack == NULL)
		return PFS_READ_OK;
	if (!stack->is_resolved)
	{
		/* The stack lies in the pool, elsewhere in the chunk. */
		chunk->in.at = stack->offset;
		status = chunk_read_stack(chunk, frames, stack);
		chunk->in.at = at;
	}
	sample->first_location = stack->first;
	sample->location_count = stack->count;
	return status;
}
