/*
 * hotspot_layout.c
 *		Reads tables of fields and sizes from a process's memory.
 *
 * 1. The exported variables, which lead to the tables.
 * 2. Their entries, up to one without a name, and the names in these.
 * 3. The values that the walk and the namer need are kept.
 */
#include "runtimes/hotspot/hotspot_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/unaligned.h"
#include "runtimes/common/remote_reads.h"
#include "runtimes/hotspot/hotspot_unloads.h"

#define ENTRIES_MAX		4096 /* real tables have up to 840 */
#define STRIDE_MAX		256
#define PIECE_ENTRIES	16
#define NAME_BYTES		64
#define HEAP_BYTES_MAX	(UINT64_C(1) << 32)
#define VERSION_VIRTUAL 9 /* from here on the interpreter's frame has one more word */

/* Values of the exported variables. */
typedef struct Tables
{
	RemoteMemory *memory;
	uint64_t values[HOTSPOT_EXPORTS];
} Tables;

/* A table's entries, one after the other. */
typedef struct Entries
{
	uint8_t *bytes;
	size_t stride;
	size_t count;
} Entries;

static bool
read_values(Tables *tables, const HotSpotFile *file, uint64_t bias)
{
	RemoteRange ranges[HOTSPOT_EXPORTS];
	bool had = true;

	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
		ranges[i] = (RemoteRange){ file->exports[i] + bias, sizeof(uint64_t), false };
	memset(tables->values, 0, sizeof(tables->values));
	remote_memory_gather(tables->memory, ranges, HOTSPOT_EXPORTS, tables->values);
	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
		had &= ranges[i].had;
	return had && tables->values[HOTSPOT_STRUCTS] != 0 && tables->values[HOTSPOT_TYPES] != 0;
}

/* Returns whether a field of an entry lies within it. */
static bool
fits(const Tables *tables, HotSpotExport offset, HotSpotExport stride, size_t bytes)
{
	return tables->values[stride] >= bytes && tables->values[stride] <= STRIDE_MAX &&
		   tables->values[offset] <= tables->values[stride] - bytes;
}

static bool
are_tables_sane(const Tables *tables)
{
	return fits(tables, HOTSPOT_STRUCT_TYPE, HOTSPOT_STRUCT_STRIDE, 8) &&
		   fits(tables, HOTSPOT_STRUCT_FIELD, HOTSPOT_STRUCT_STRIDE, 8) &&
		   fits(tables, HOTSPOT_STRUCT_IS_STATIC, HOTSPOT_STRUCT_STRIDE, 4) &&
		   fits(tables, HOTSPOT_STRUCT_OFFSET, HOTSPOT_STRUCT_STRIDE, 8) &&
		   fits(tables, HOTSPOT_STRUCT_ADDRESS, HOTSPOT_STRUCT_STRIDE, 8) &&
		   fits(tables, HOTSPOT_TYPE_NAME, HOTSPOT_TYPE_STRIDE, 8) &&
		   fits(tables, HOTSPOT_TYPE_SIZE, HOTSPOT_TYPE_STRIDE, 8);
}

/* Counts entries up to the one without a name. Returns false if it has not been read yet. */
static bool
find_end(Entries *entries, size_t read, size_t name)
{
	for (; entries->count < read; entries->count++)
	{
		if (bytes_u64_at(entries->bytes, entries->count * entries->stride + name) == 0)
			return true;
	}
	return false;
}

/*
 * Reads a table; the caller frees its bytes. name: offset of the name, which is NULL in the table's
 * last entry.
 */
static bool
hotspot_layout_read_entries(const Tables *tables, uint64_t address, size_t stride, size_t name,
							Entries *entries)
{
	const size_t piece_bytes = PIECE_ENTRIES * stride;
	size_t read = 0;

	*entries = (Entries){ malloc(ENTRIES_MAX * stride), stride, 0 };
	while (entries->bytes != NULL && read < ENTRIES_MAX)
	{
		const RemotePieces pieces = { .address = address + read * stride,
									  .step = piece_bytes,
									  .piece_bytes = piece_bytes,
									  .count = ENTRIES_MAX / PIECE_ENTRIES / 8 };
		size_t got = remote_memory_read(tables->memory, &pieces, entries->bytes + read * stride);

		read += got / stride;
		if (find_end(entries, read, name))
			return true;
		if (got < pieces.count * piece_bytes)
			break;
	}
	free(entries->bytes);
	entries->bytes = NULL;
	return false;
}

/*
 * Returns the part of a string that was read, without its end; NULL if it is longer or was not
 * read.
 */
static const char *
hotspot_layout_name_of(const RemoteReads *reads, size_t number)
{
	const uint8_t *text = remote_reads_get(reads, number);

	return text != NULL && memchr(text, '\0', NAME_BYTES) != NULL ? (const char *) text : NULL;
}

/* Returns the field of that name; HOTSPOT_FIELDS_COUNT if it is not wanted. */
static HotSpotField
field_of(const char *type, const char *field)
{
#define HOTSPOT_FIELD_NAMES(identifier, bytes, part, name, other) { name, other },
	static const char *const names[HOTSPOT_FIELDS_COUNT][2] = { HOTSPOT_FIELDS(
		HOTSPOT_FIELD_NAMES) };
#undef HOTSPOT_FIELD_NAMES
	size_t length = strlen(type);

	for (int i = 0; i < HOTSPOT_FIELDS_COUNT; i++)
	{
		for (int j = 0; j < 2 && names[i][j] != NULL; j++)
		{
			const char *name = names[i][j];

			if (strncmp(name, type, length) == 0 && name[length] == '.' &&
				strcmp(name + length + 1, field) == 0)
				return (HotSpotField) i;
		}
	}
	return HOTSPOT_FIELDS_COUNT;
}

static void
take_fields(const Tables *tables, const Entries *entries, const RemoteReads *names,
			HotSpotLayout *layout)
{
	const uint64_t *values = tables->values;

	for (size_t i = 0; i < entries->count; i++)
	{
		const uint8_t *entry = entries->bytes + i * entries->stride;
		const char *type = hotspot_layout_name_of(names, 2 * i);
		const char *name = hotspot_layout_name_of(names, 2 * i + 1);
		HotSpotField field;

		if (type == NULL || name == NULL)
			continue;
		field = field_of(type, name);
		if (field == HOTSPOT_FIELDS_COUNT)
			continue;
		layout->fields[field] = bytes_u32_at(entry, values[HOTSPOT_STRUCT_IS_STATIC]) != 0
									? bytes_u64_at(entry, values[HOTSPOT_STRUCT_ADDRESS])
									: bytes_u64_at(entry, values[HOTSPOT_STRUCT_OFFSET]);
	}
}

static bool
read_fields(const Tables *tables, HotSpotLayout *layout)
{
	const uint64_t *values = tables->values;
	RemoteReads names = { 0 };
	Entries entries;

	for (int i = 0; i < HOTSPOT_FIELDS_COUNT; i++)
		layout->fields[i] = HOTSPOT_ABSENT;
	if (!hotspot_layout_read_entries(tables, values[HOTSPOT_STRUCTS], values[HOTSPOT_STRUCT_STRIDE],
									 values[HOTSPOT_STRUCT_TYPE], &entries))
		return false;
	for (size_t i = 0; i < entries.count; i++)
	{
		const uint8_t *entry = entries.bytes + i * entries.stride;

		(void) remote_reads_add(&names, bytes_u64_at(entry, values[HOTSPOT_STRUCT_TYPE]),
								NAME_BYTES);
		(void) remote_reads_add(&names, bytes_u64_at(entry, values[HOTSPOT_STRUCT_FIELD]),
								NAME_BYTES);
	}
	remote_reads_run(&names, tables->memory);
	take_fields(tables, &entries, &names, layout);
	remote_reads_fini(&names);
	free(entries.bytes);
	return !tables->memory->stuck;
}

static bool
read_sizes(const Tables *tables, HotSpotLayout *layout)
{
#define HOTSPOT_SIZE_NAME(identifier, name) name,
	static const char *const wanted[HOTSPOT_SIZES_COUNT] = { HOTSPOT_SIZES(HOTSPOT_SIZE_NAME) };
#undef HOTSPOT_SIZE_NAME
	const uint64_t *values = tables->values;
	RemoteReads names = { 0 };
	Entries entries;

	memset(layout->sizes, 0, sizeof(layout->sizes));
	if (!hotspot_layout_read_entries(tables, values[HOTSPOT_TYPES], values[HOTSPOT_TYPE_STRIDE],
									 values[HOTSPOT_TYPE_NAME], &entries))
		return false;
	for (size_t i = 0; i < entries.count; i++)
		(void) remote_reads_add(&names,
								bytes_u64_at(entries.bytes,
											 i * entries.stride + values[HOTSPOT_TYPE_NAME]),
								NAME_BYTES);
	remote_reads_run(&names, tables->memory);
	for (size_t i = 0; i < entries.count; i++)
	{
		const char *name = hotspot_layout_name_of(&names, i);

		for (int j = 0; name != NULL && j < HOTSPOT_SIZES_COUNT; j++)
		{
			if (strcmp(name, wanted[j]) == 0)
				layout->sizes[j] =
					bytes_u32_at(entries.bytes, i * entries.stride + values[HOTSPOT_TYPE_SIZE]);
		}
	}
	remote_reads_fini(&names);
	free(entries.bytes);
	return !tables->memory->stuck;
}

static bool
hotspot_layout_read_word(RemoteMemory *memory, uint64_t address, uint64_t *word)
{
	const RemotePieces piece = { .address = address, .piece_bytes = sizeof(*word), .count = 1 };

	return remote_memory_read(memory, &piece, word) == sizeof(*word);
}

/* Returns whether the heap of objects exists, which is created after all heaps of code. */
static bool
has_started(RemoteMemory *memory, const HotSpotLayout *layout)
{
	uint64_t heap = 0;

	return hotspot_has(layout, HOTSPOT_UNIVERSE_HEAP) &&
		   hotspot_layout_read_word(memory, layout->fields[HOTSPOT_UNIVERSE_HEAP], &heap) &&
		   heap != 0;
}

/* Returns the version; 0 if it has not been set yet. */
static uint32_t
read_version(RemoteMemory *memory, const HotSpotLayout *layout)
{
	uint64_t word = 0;

	/* otherwise the field has HotSpot's own version number */
	if (hotspot_has(layout, HOTSPOT_VERSION))
		return hotspot_layout_read_word(memory, layout->fields[HOTSPOT_VERSION], &word)
				   ? word & 0xff
				   : 0;
	if (hotspot_has(layout, HOTSPOT_MAJOR) &&
		hotspot_layout_read_word(memory, layout->fields[HOTSPOT_MAJOR], &word))
		return (uint32_t) word;
	return 0;
}

/* Returns whether all fields exist that this version must have. */
static bool
is_complete(const HotSpotLayout *layout)
{
	static const HotSpotField always[] = {
		HOTSPOT_HEAP_MEMORY,	HOTSPOT_HEAP_SEGMENTS,	 HOTSPOT_HEAP_SEGMENT_BITS,
		HOTSPOT_SPACE_LOW,		HOTSPOT_SPACE_HIGH,		 HOTSPOT_BLOB_NAME,
		HOTSPOT_BLOB_SIZE,		HOTSPOT_BLOB_FRAME_SIZE, HOTSPOT_BLOB_FRAME_COMPLETE,
		HOTSPOT_CODE_METHOD,	HOTSPOT_CODE_ID,		 HOTSPOT_CODE_PLACES,
		HOTSPOT_PLACE_PC,		HOTSPOT_PLACE_SCOPE,	 HOTSPOT_METHOD_CONSTANT,
		HOTSPOT_CONSTANT_POOL,	HOTSPOT_CONSTANT_NAME,	 HOTSPOT_CONSTANT_CODE_BYTES,
		HOTSPOT_CONSTANT_WORDS, HOTSPOT_CONSTANT_FLAGS,	 HOTSPOT_POOL_HOLDER,
		HOTSPOT_CLASS_NAME,		HOTSPOT_SYMBOL_BODY,	 HOTSPOT_BLOCK_USED,
		HOTSPOT_BLOB_MAPS,		HOTSPOT_CODE_STATE
	};
	static const HotSpotField either[][2] = {
		{ HOTSPOT_CACHE_HEAP, HOTSPOT_CACHE_HEAPS },
		{ HOTSPOT_BLOB_CODE, HOTSPOT_BLOB_CODE_OFFSET },
		{ HOTSPOT_POOL_FILE, HOTSPOT_CLASS_FILE },
		{ HOTSPOT_SYMBOL_LENGTH, HOTSPOT_SYMBOL_LENGTH_COUNT },
		{ HOTSPOT_CODE_SCOPES_OFFSET, HOTSPOT_CODE_SCOPES },
		{ HOTSPOT_CODE_IMMUTABLE, HOTSPOT_CODE_DEPENDENCIES },
		{ HOTSPOT_BLOB_MUTABLE, HOTSPOT_CODE_METADATA },
	};

	/* the second fields are read only beside the first ones */
	static const HotSpotField beside[][2] = {
		{ HOTSPOT_CODE_IMMUTABLE, HOTSPOT_CODE_SCOPES_OFFSET },
		{ HOTSPOT_CODE_IMMUTABLE, HOTSPOT_BLOB_DATA_OFFSET },
		{ HOTSPOT_BLOB_MUTABLE, HOTSPOT_BLOB_RELOCATION },
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
	{
		if (!hotspot_has(layout, always[i]))
			return false;
	}
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
	{
		if (hotspot_has(layout, beside[i][0]) && !hotspot_has(layout, beside[i][1]))
			return false;
	}
	for (size_t i = 0; i < sizeof(either) / sizeof(either[0]); i++)
	{
		if (!hotspot_has(layout, either[i][0]) && !hotspot_has(layout, either[i][1]))
			return false;
	}
	return true;
}

/* Returns the number of bytes that are read of a structure for the fields of a part. */
static uint64_t
part_bytes(const HotSpotLayout *layout, HotSpotPart part)
{
	switch (part)
	{
		case HOTSPOT_PART_STATIC:
			return UINT64_MAX;
		case HOTSPOT_PART_ALONE:
			return HOTSPOT_STRUCT_BYTES;
		case HOTSPOT_PART_HEAD:
			return PFS_HOTSPOT_HEAD_BYTES;
		case HOTSPOT_PART_SYMBOL:
			return HOTSPOT_SYMBOL_BYTES;
		case HOTSPOT_PART_BLOCK:
			return layout->sizes[HOTSPOT_SIZE_BLOCK];
		case HOTSPOT_PART_CODE:
			return layout->sizes[HOTSPOT_SIZE_CODE];
		case HOTSPOT_PART_PLACE:
			return layout->sizes[HOTSPOT_SIZE_PLACE];
		case HOTSPOT_PART_CONSTANT:
			return layout->sizes[HOTSPOT_SIZE_CONSTANT];
		case HOTSPOT_PART_POOL:
			return layout->sizes[HOTSPOT_SIZE_POOL];
	}
	return 0;
}

bool
hotspot_layout_is_sane(const HotSpotLayout *layout)
{
#define HOTSPOT_FIELD_BOUND(identifier, bytes, part, name, other) { bytes, HOTSPOT_PART_##part },
	static const struct
	{
		uint8_t bytes;
		HotSpotPart part;
	} bounds[HOTSPOT_FIELDS_COUNT] = { HOTSPOT_FIELDS(HOTSPOT_FIELD_BOUND) };
#undef HOTSPOT_FIELD_BOUND

	for (int i = 0; i < HOTSPOT_SIZES_COUNT; i++)
	{
		if (layout->sizes[i] < sizeof(uint64_t) || layout->sizes[i] > HOTSPOT_STRUCT_BYTES)
			return false;
	}
	/* no part is smaller than 8 bytes, the most that a field has */
	for (int i = 0; i < HOTSPOT_FIELDS_COUNT; i++)
	{
		if (hotspot_has(layout, (HotSpotField) i) &&
			layout->fields[i] > part_bytes(layout, bounds[i].part) - bounds[i].bytes)
			return false;
	}
	/* a compiled method's description begins with a blob's, whose head the kernel's walk reads */
	return layout->sizes[HOTSPOT_SIZE_CODE] >= PFS_HOTSPOT_HEAD_BYTES &&
		   layout->sizes[HOTSPOT_SIZE_BLOCK] <= UINT8_MAX &&
		   layout->sizes[HOTSPOT_SIZE_CONSTANT] <= UINT8_MAX &&
		   layout->fields[HOTSPOT_METHOD_CONSTANT] <= UINT8_MAX;
}

HotSpotReading
hotspot_layout_read(RemoteMemory *memory, const HotSpotFile *file, uint64_t bias,
					HotSpotLayout *layout)
{
	Tables tables = { .memory = memory };

	memset(layout, 0, sizeof(*layout));
	if (!read_values(&tables, file, bias))
		return HOTSPOT_NOT_YET;
	if (!are_tables_sane(&tables))
		return tables.values[HOTSPOT_STRUCT_STRIDE] == 0 || tables.values[HOTSPOT_TYPE_STRIDE] == 0
				   ? HOTSPOT_NOT_YET
				   : HOTSPOT_UNKNOWN;
	if (!read_fields(&tables, layout) || !read_sizes(&tables, layout) ||
		!has_started(memory, layout))
		return HOTSPOT_NOT_YET;
	if (!is_complete(layout) || !hotspot_layout_is_sane(layout))
		return HOTSPOT_UNKNOWN;
	layout->unloaded = hotspot_unloads_find(memory, hotspot_has(layout, HOTSPOT_PERFORMANCE_DATA)
														? layout->fields[HOTSPOT_PERFORMANCE_DATA]
														: 0);
	layout->major = read_version(memory, layout);
	return layout->major != 0 ? HOTSPOT_READ : HOTSPOT_NOT_YET;
}

/* Fills in the addresses of heaps of code; returns their number, 0 if they are unreadable. */
static size_t
find_heaps(RemoteMemory *memory, const HotSpotLayout *layout, uint64_t heaps[PFS_HOTSPOT_HEAPS])
{
	RemotePieces piece = { .piece_bytes = sizeof(uint64_t), .count = 1 };
	uint64_t array;
	uint64_t count;
	uint64_t data;

	if (!hotspot_has(layout, HOTSPOT_CACHE_HEAPS))
		return hotspot_layout_read_word(memory, layout->fields[HOTSPOT_CACHE_HEAP], &heaps[0]) &&
			   heaps[0] != 0;
	if (!hotspot_has(layout, HOTSPOT_ARRAY_LENGTH) || !hotspot_has(layout, HOTSPOT_ARRAY_DATA) ||
		!hotspot_layout_read_word(memory, layout->fields[HOTSPOT_CACHE_HEAPS], &array) ||
		array == 0 ||
		!hotspot_layout_read_word(memory, array + layout->fields[HOTSPOT_ARRAY_LENGTH], &count) ||
		!hotspot_layout_read_word(memory, array + layout->fields[HOTSPOT_ARRAY_DATA], &data))
		return 0;
	count = (uint32_t) count;
	if (count > PFS_HOTSPOT_HEAPS)
		count = PFS_HOTSPOT_HEAPS;
	piece.address = data;
	piece.piece_bytes = (size_t) count * sizeof(uint64_t);
	return count > 0 && remote_memory_read(memory, &piece, heaps) == piece.piece_bytes
			   ? (size_t) count
			   : 0;
}

static bool
read_heap(RemoteMemory *memory, const HotSpotLayout *layout, uint64_t address,
		  struct pfs_hotspot_heap *heap, uint32_t *segment_bits)
{
	const uint64_t *fields = layout->fields;
	uint64_t bits;

	if (!hotspot_layout_read_word(memory,
								  address + fields[HOTSPOT_HEAP_MEMORY] + fields[HOTSPOT_SPACE_LOW],
								  (uint64_t *) &heap->low) ||
		!hotspot_layout_read_word(memory,
								  address + fields[HOTSPOT_HEAP_MEMORY] +
									  fields[HOTSPOT_SPACE_HIGH],
								  (uint64_t *) &heap->high) ||
		!hotspot_layout_read_word(memory,
								  address + fields[HOTSPOT_HEAP_SEGMENTS] +
									  fields[HOTSPOT_SPACE_LOW],
								  (uint64_t *) &heap->segments) ||
		!hotspot_layout_read_word(memory, address + fields[HOTSPOT_HEAP_SEGMENT_BITS], &bits))
		return false;
	*segment_bits = (uint32_t) bits;
	return heap->low != 0 && heap->low < heap->high && heap->high - heap->low <= HEAP_BYTES_MAX &&
		   heap->segments != 0 && *segment_bits >= 3 && *segment_bits < 20;
}

static void
fill_offsets(const HotSpotLayout *layout, struct pfs_hotspot_layout *walk)
{
	const uint64_t *fields = layout->fields;

	walk->compile_id = (uint16_t) fields[HOTSPOT_CODE_ID];
	walk->block_header = (uint8_t) layout->sizes[HOTSPOT_SIZE_BLOCK];
	walk->name = (uint8_t) fields[HOTSPOT_BLOB_NAME];
	walk->code_is_offset = !hotspot_has(layout, HOTSPOT_BLOB_CODE);
	walk->code = (uint8_t) (walk->code_is_offset ? fields[HOTSPOT_BLOB_CODE_OFFSET]
												 : fields[HOTSPOT_BLOB_CODE]);
	walk->size = (uint8_t) fields[HOTSPOT_BLOB_SIZE];
	walk->frame_size = (uint8_t) fields[HOTSPOT_BLOB_FRAME_SIZE];
	walk->frame_complete = (uint8_t) fields[HOTSPOT_BLOB_FRAME_COMPLETE];
	walk->method_constant = (uint8_t) fields[HOTSPOT_METHOD_CONSTANT];
	walk->constant_bytes = (uint8_t) layout->sizes[HOTSPOT_SIZE_CONSTANT];
	walk->bytecode_slot = layout->major >= VERSION_VIRTUAL ? 64 : 56;
	walk->unloaded = layout->unloaded;
}

HotSpotReading
hotspot_layout_describe(RemoteMemory *memory, const HotSpotLayout *layout,
						struct pfs_hotspot_layout *walk)
{
	uint64_t heaps[PFS_HOTSPOT_HEAPS];

	uint32_t bits = 0;
	size_t count;

	memset(walk, 0, sizeof(*walk));
	count = find_heaps(memory, layout, heaps);
	for (size_t i = 0; i < count; i++)
	{
		uint32_t others = bits;

		if (!read_heap(memory, layout, heaps[i], &walk->heaps[i], &bits))
			return memory->stuck ? HOTSPOT_NOT_YET : HOTSPOT_UNKNOWN;
		if (i > 0 && bits != others)
			return HOTSPOT_UNKNOWN;
	}
	if (count == 0)
		return HOTSPOT_NOT_YET;
	walk->segment_bits = (uint8_t) bits;
	fill_offsets(layout, walk);
	return HOTSPOT_READ;
}
