/*
 * name_chunk.c
 *		Packs and unpacks names.
 *
 *   1. Packing: the parts of the body, zstd, the header.
 *   2. Unpacking: header and checksum, the body, then its parts through a checked cursor. One
 *      allocation holds what rows point to: the body and, after it, the lines of locations.
 */
#include "codec/name_chunk.h"

#include <string.h>

#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "codec/zstd_context.h"

#define FLAG_ZSTD 1

/* Offsets in the header; the checksum comes first. */
#define VERSION_AT	   4
#define FLAGS_AT	   5
#define KIND_AT		   6
#define LAST_ROW_AT	   7
#define BODY_LENGTH_AT 8

/* Flags of a function in the body. */
#define SAME_NAME 1
#define SAME_FILE 2

/* Bytes of the longest varint. */
#define MAX_VARINT 10

enum
{
	KIND_FUNCTIONS = 1,
	KIND_LOCATIONS
};

/* Lengths of the longest bodies. They bound the allocation before a byte is unpacked. */
#define MAX_FUNCTIONS_BODY (PFS_NAME_CHUNK_ROWS * (PFS_NAME_CHUNK_MAX_TEXT + 1 + MAX_VARINT + 3))
#define MAX_LOCATIONS_BODY \
	(PFS_NAME_CHUNK_ROWS * (1 + 3 * MAX_VARINT + PFS_NAME_CHUNK_MAX_LINES * 2 * MAX_VARINT))

/* Writes a signed number as its difference from the number before. */
static void
put_step(PfsBuffer *buffer, int64_t value, int64_t *previous)
{
	pfs_buffer_put_varint(buffer, pfs_zigzag((int64_t) ((uint64_t) value - (uint64_t) *previous)));
	*previous = value;
}

static void
texts_put(PfsBuffer *buffer, const char *text)
{
	pfs_buffer_put(buffer, text, strlen(text) + 1);
}

static uint8_t
function_flags(const PfsPackedFunction *functions, uint32_t i)
{
	const PfsPackedFunction *function = &functions[i];
	bool same_file = i > 0 && strcmp(function->filename, functions[i - 1].filename) == 0;

	return (strcmp(function->name, function->system_name) == 0 ? SAME_NAME : 0) |
		   (same_file ? SAME_FILE : 0);
}

/*
 * Writes functions field by field: flags, start lines, then names; a name that the flags mark as a
 * repetition is left out.
 */
static void
chunk_put_functions(PfsBuffer *body, const PfsPackedFunction *functions, uint32_t count)
{
	int64_t previous = 0;

	for (uint32_t i = 0; i < count; i++)
		/*
		 * All flags, then all start lines, and so on: numbers and texts of one kind compress better
		 * side by side.
		 */
		pfs_buffer_put_byte(body, function_flags(functions, i));
	for (uint32_t i = 0; i < count; i++)
		put_step(body, functions[i].start_line, &previous);
	for (uint32_t i = 0; i < count; i++)
		texts_put(body, functions[i].name);
	for (uint32_t i = 0; i < count; i++)
		if ((function_flags(functions, i) & SAME_NAME) == 0)
			texts_put(body, functions[i].system_name);
	for (uint32_t i = 0; i < count; i++)
		if ((function_flags(functions, i) & SAME_FILE) == 0)
			texts_put(body, functions[i].filename);
}

/* Writes all locations, one part after the other: equal fields side by side compress better. */
static void
chunk_put_locations(PfsBuffer *body, const PfsPackedLocation *locations, uint32_t count)
{
	int64_t mapping = 0;
	int64_t address = 0;
	int64_t function_id = 0;
	int64_t line = 0;

	for (uint32_t i = 0; i < count; i++)
		pfs_buffer_put_byte(body, (uint8_t) locations[i].symbolization);
	for (uint32_t i = 0; i < count; i++)
		put_step(body, locations[i].mapping, &mapping);
	for (uint32_t i = 0; i < count; i++)
		put_step(body, locations[i].address, &address);
	for (uint32_t i = 0; i < count; i++)
		pfs_buffer_put_varint(body, locations[i].line_count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < locations[i].line_count; j++)
			put_step(body, locations[i].function_ids[j], &function_id);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < locations[i].line_count; j++)
			put_step(body, locations[i].lines[j], &line);
}

/* Returns the checksum of all bytes after the checksum field. */
static uint32_t
chunk_checksum(const uint8_t *bytes, size_t length)
{
	return pfs_crc32c(bytes + VERSION_AT, length - VERSION_AT);
}

/* Appends room for the header, then the body, compressed if that saves at least a tenth. */
static bool
put_packed_body(PfsBuffer *packed, const PfsBuffer *body, uint8_t *flags)
{
	/* a result that does not fit this capacity saves too little */
	size_t capacity = body->length - body->length / 10;
	uint8_t *at = pfs_buffer_extend(packed, PFS_NAME_CHUNK_HEADER_SIZE);
	size_t written = 0;

	*flags = 0;
	/* Room for the whole body serves both cases: compressed, or copied as it is. */
	if (at == NULL || (at = pfs_buffer_reserve(packed, body->length)) == NULL)
		return false;
	if (!pfs_zstd_compress(at, capacity, body->data, body->length, PFS_ZSTD_REPEATS, &written))
		return false;
	if (written > 0)
		*flags = FLAG_ZSTD;
	else
	{
		memcpy(at, body->data, body->length);
		written = body->length;
	}
	return pfs_buffer_extend(packed, written) != NULL;
}

/* Completes a chunk: header, body and checksum. */
static PfsStatus
chunk_finish(const PfsBuffer *body, uint8_t kind, uint32_t count, PfsAllocator allocator,
			 PfsBytes *result)
{
	PfsBuffer packed;
	uint8_t flags;
	uint8_t *header;

	pfs_buffer_init(&packed, allocator);
	if (body->failed || !put_packed_body(&packed, body, &flags))
	{
		pfs_buffer_fini(&packed);
		return PFS_NO_MEMORY;
	}
	/* The buffer may have moved while the body was added, so the header is filled in last. */
	header = packed.data;
	header[VERSION_AT] = PFS_NAME_CHUNK_VERSION;
	header[FLAGS_AT] = flags;
	header[KIND_AT] = kind;
	header[LAST_ROW_AT] = (uint8_t) (count - 1);
	pfs_store32(header + BODY_LENGTH_AT, (uint32_t) body->length);
	pfs_store32(header, chunk_checksum(header, packed.length));
	*result = pfs_buffer_take(&packed);
	return PFS_OK;
}

PfsStatus
pfs_functions_pack(const PfsPackedFunction *functions, uint32_t count, PfsAllocator allocator,
				   PfsBytes *packed)
{
	PfsStatus status;
	PfsBuffer body;

	pfs_buffer_init(&body, allocator);
	chunk_put_functions(&body, functions, count);
	status = chunk_finish(&body, KIND_FUNCTIONS, count, allocator, packed);
	pfs_buffer_fini(&body);
	return status;
}

PfsStatus
pfs_locations_pack(const PfsPackedLocation *locations, uint32_t count, PfsAllocator allocator,
				   PfsBytes *packed)
{
	PfsStatus status;
	PfsBuffer body;

	pfs_buffer_init(&body, allocator);
	chunk_put_locations(&body, locations, count);
	status = chunk_finish(&body, KIND_LOCATIONS, count, allocator, packed);
	pfs_buffer_fini(&body);
	return status;
}

static PfsStatus
chunk_corrupt(PfsError *error, const char *message, size_t offset)
{
	*error = (PfsError){ message, -1, offset };
	return PFS_CORRUPT;
}

static PfsStatus
no_memory(PfsError *error)
{
	*error = (PfsError){ "out of memory", -1, 0 };
	return PFS_NO_MEMORY;
}

/* Checks the header before any of its fields is used. */
static PfsStatus
check_header(const uint8_t *bytes, size_t length, uint8_t kind, uint32_t count, size_t max_body,
			 PfsError *error)
{
	if (length < PFS_NAME_CHUNK_HEADER_SIZE)
		return chunk_corrupt(error, "it is shorter than its header", length);
	/*
	 * The checksum covers all fields below, so a mismatch of those is a wrong row or a newer
	 * writer, and not a damaged page.
	 */
	if (pfs_load32(bytes) != chunk_checksum(bytes, length))
		return chunk_corrupt(error, "the checksum does not match", 0);
	if (bytes[VERSION_AT] != PFS_NAME_CHUNK_VERSION)
	{
		*error = (PfsError){ "it has a newer format", -1, VERSION_AT };
		return PFS_UNSUPPORTED;
	}
	if ((bytes[FLAGS_AT] & ~FLAG_ZSTD) != 0)
		return chunk_corrupt(error, "a reserved bit is set", FLAGS_AT);
	if (bytes[KIND_AT] != kind || bytes[LAST_ROW_AT] + 1u != count)
		return chunk_corrupt(error, "it does not hold the rows that it should", KIND_AT);
	/* Bounds the memory that chunk_open() allocates. */
	if (pfs_load32(bytes + BODY_LENGTH_AT) > max_body)
		return chunk_corrupt(error, "the body is too long", BODY_LENGTH_AT);
	return PFS_OK;
}

/* Unpacks the body into memory of the length that the header gives. */
static PfsStatus
unpack_body(const uint8_t *bytes, size_t length, uint8_t *body, PfsError *error)
{
	const uint8_t *stored = bytes + PFS_NAME_CHUNK_HEADER_SIZE;
	size_t stored_length = length - PFS_NAME_CHUNK_HEADER_SIZE;
	size_t body_length = pfs_load32(bytes + BODY_LENGTH_AT);

	if ((bytes[FLAGS_AT] & FLAG_ZSTD) == 0)
	{
		if (stored_length != body_length)
			return chunk_corrupt(error, "the length of the body does not match the header",
								 BODY_LENGTH_AT);
		memcpy(body, stored, body_length);
		return PFS_OK;
	}
	switch (pfs_zstd_decompress(body, body_length, stored, stored_length))
	{
		case PFS_ZSTD_OK:
			return PFS_OK;
		case PFS_ZSTD_NO_MEMORY:
			return no_memory(error);
		default:
			return chunk_corrupt(error, "the body cannot be decompressed",
								 PFS_NAME_CHUNK_HEADER_SIZE);
	}
}

/* Reads an int32. A step that leads outside int32 fails the cursor. */
static int32_t
chunk_get_step(PfsCursor *cursor, int64_t *previous)
{
	*previous =
		(int64_t) ((uint64_t) *previous + (uint64_t) pfs_unzigzag(pfs_cursor_varint(cursor)));
	/* The numbers are int32, although a step between two of them may need 33 bits. */
	if (*previous < INT32_MIN || *previous > INT32_MAX)
	{
		cursor->failed = true;
		*previous = 0;
	}
	return (int32_t) *previous;
}

/* Returns a text in place; the cursor fails if no zero byte ends it. */
static const char *
get_text(PfsCursor *cursor)
{
	const uint8_t *start = cursor->data + cursor->offset;
	const uint8_t *end =
		cursor->failed ? NULL : memchr(start, '\0', cursor->length - cursor->offset);

	if (end == NULL)
	{
		cursor->failed = true;
		return "";
	}
	cursor->offset += (size_t) (end - start) + 1;
	return (const char *) start;
}

/* Reads what chunk_put_functions() writes; returns false if the bytes are damaged. */
static bool
get_functions(PfsCursor *cursor, uint32_t count, PfsPackedFunction *functions)
{
	const uint8_t *flags = pfs_cursor_take(cursor, count);
	int64_t previous = 0;

	/* Row 0 has no row before it whose file it could share. */
	if (flags == NULL || (flags[0] & SAME_FILE) != 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
		functions[i].start_line = chunk_get_step(cursor, &previous);
	for (uint32_t i = 0; i < count; i++)
		functions[i].name = get_text(cursor);
	for (uint32_t i = 0; i < count; i++)
		functions[i].system_name =
			(flags[i] & SAME_NAME) != 0 ? functions[i].name : get_text(cursor);
	for (uint32_t i = 0; i < count; i++)
		functions[i].filename =
			(flags[i] & SAME_FILE) != 0 ? functions[i - 1].filename : get_text(cursor);
	/* The parts must fill the body exactly. */
	return !cursor->failed && cursor->offset == cursor->length;
}

/*
 * Checks the header and unpacks the body into *memory, which the caller must free even after an
 * error; the cursor stands at its start.
 */
static PfsStatus
chunk_open(const uint8_t *bytes, size_t length, uint8_t kind, uint32_t count, size_t most_bytes,
		   PfsAllocator allocator, void **memory, PfsCursor *cursor, PfsError *error)
{
	PfsStatus status = check_header(bytes, length, kind, count, most_bytes, error);
	size_t body_length;

	*memory = NULL;
	if (status != PFS_OK)
		return status;
	body_length = pfs_load32(bytes + BODY_LENGTH_AT);
	/* One byte more, because a request for 0 bytes would free. */
	*memory = allocator.realloc(allocator.context, NULL, body_length + 1);
	if (*memory == NULL)
		return no_memory(error);
	*cursor = pfs_cursor(*memory, body_length);
	return unpack_body(bytes, length, *memory, error);
}

PfsStatus
pfs_functions_unpack(const uint8_t *bytes, size_t length, uint32_t count, PfsAllocator allocator,
					 PfsPackedFunction *functions, void **memory, PfsError *error)
{
	PfsCursor cursor;
	PfsStatus status = chunk_open(bytes, length, KIND_FUNCTIONS, count, MAX_FUNCTIONS_BODY,
								  allocator, memory, &cursor, error);

	if (status != PFS_OK)
		return status;
	if (!get_functions(&cursor, count, functions))
		return chunk_corrupt(error, "a function cannot be read", cursor.offset);
	return PFS_OK;
}

/* Reads the parts before the lines. Returns the number of all lines; may fail the cursor. */
static uint32_t
get_places(PfsCursor *cursor, uint32_t count, PfsPackedLocation *locations)
{
	const uint8_t *symbolization = pfs_cursor_take(cursor, count);
	uint64_t address = 0;
	int64_t mapping = 0;
	uint32_t line_count = 0;

	/* The cursor has failed, so the caller reads no location. */
	if (symbolization == NULL)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		locations[i] = (PfsPackedLocation){ .symbolization = (char) symbolization[i],
											.mapping = chunk_get_step(cursor, &mapping) };
	for (uint32_t i = 0; i < count; i++)
	{
		address += (uint64_t) pfs_unzigzag(pfs_cursor_varint(cursor));
		locations[i].address = (int64_t) address;
	}
	for (uint32_t i = 0; i < count; i++)
	{
		uint64_t lines = pfs_cursor_varint(cursor);

		/* With this bound the sum of all lines fits easily in 32 bits. */
		if (lines > PFS_NAME_CHUNK_MAX_LINES)
		{
			cursor->failed = true;
			lines = 0;
		}
		locations[i].line_count = (uint32_t) lines;
		line_count += (uint32_t) lines;
	}
	return line_count;
}

/* Reads one number for each line of all locations: function ids, or line numbers. */
static void
get_lines(PfsCursor *cursor, uint32_t count, int32_t *numbers)
{
	int64_t previous = 0;

	for (uint32_t i = 0; i < count; i++)
		numbers[i] = chunk_get_step(cursor, &previous);
}

/* Reads all parts of locations. The lines are put after the body, aligned for int32. */
static PfsStatus
chunk_unpack_places(PfsCursor *cursor, uint32_t count, PfsAllocator allocator,
					PfsPackedLocation *locations, void **memory, PfsError *error)
{
	uint32_t line_count = get_places(cursor, count, locations);
	size_t lines_at = (cursor->length + 3) / 4 * 4;
	int32_t *numbers;
	uint32_t line = 0;
	void *grown;

	/* a line takes at least two bytes, which bounds the allocation by the body's length */
	if (cursor->failed || line_count > (cursor->length - cursor->offset) / 2)
		return chunk_corrupt(error, "a location cannot be read", cursor->offset);
	grown = allocator.realloc(allocator.context, *memory,
							  lines_at + 2 * sizeof(int32_t) * line_count + 1);
	if (grown == NULL)
		return no_memory(error);
	/* growing may have moved the body, in which the cursor continues */
	*memory = grown;
	cursor->data = grown;
	/* First the function ids of all lines, then their line numbers. */
	numbers = (int32_t *) ((uint8_t *) grown + lines_at);
	/* Each of the two parts starts its steps from 0. */
	get_lines(cursor, line_count, numbers);
	get_lines(cursor, line_count, numbers + line_count);
	for (uint32_t i = 0; i < count; i++)
	{
		locations[i].function_ids = numbers + line;
		locations[i].lines = numbers + line_count + line;
		line += locations[i].line_count;
	}
	if (cursor->failed || cursor->offset != cursor->length)
		return chunk_corrupt(error, "a location cannot be read", cursor->offset);
	return PFS_OK;
}

PfsStatus
pfs_locations_unpack(const uint8_t *bytes, size_t length, uint32_t count, PfsAllocator allocator,
					 PfsPackedLocation *locations, void **memory, PfsError *error)
{
	PfsCursor cursor;
	PfsStatus status = chunk_open(bytes, length, KIND_LOCATIONS, count, MAX_LOCATIONS_BODY,
								  allocator, memory, &cursor, error);

	if (status != PFS_OK)
		return status;
	return chunk_unpack_places(&cursor, count, allocator, locations, memory, error);
}
