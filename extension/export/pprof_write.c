/*
 * pprof_write.c
 *		Appends each message when its object is first used; the string table and the mappings,
 *		which may still change, come last.
 *
 * 1. Strings, functions, mappings and locations get numbers in the order of first use.
 * 2. A sample, of which there are many, is measured and then written in one piece.
 * 3. At the end: types, mappings, strings, and the fields of the header.
 */
#include "profstore.h"

#include "mb/pg_wchar.h"

#include "base/arrays.h"
#include "base/id_map.h"
#include "dictionary/cache/dictionary.h"
#include "export/pprof_write.h"
#include "export/text_numbers.h"
#include "formats/pprof_fields.h"
#include "formats/wire_write.h"

#define INITIAL_ENTRIES 256

/* The numbers, from 1 on, that objects of the dictionary have in the file. */
typedef struct Numbers
{
	PfsIdMap of_ids;
	uint32 count;
} Numbers;

/* Stands for the number of a location without a frame that passes the filters. */
#define NO_FRAMES PG_UINT32_MAX

/* A mapping. Its number is its position, from 1 on. Its texts are numbers of strings. */
typedef struct MappingEntry
{
	uint32 filename;
	uint32 build_id;
	bool has_functions;
	bool has_filenames;
	bool has_line_numbers;
	bool has_inline_frames;
} MappingEntry;

struct PfsPprofWriter
{
	PfsSymbols *symbols;
	StringInfoData messages; /* samples, locations, functions */
	StringInfoData message;	 /* the message that is being put together */
	/* the location that is being put together; its functions are written before it */
	StringInfoData location;
	StringInfoData table; /* the string table */
	pfs_text_numbers_hash *strings;
	Numbers locations;
	Numbers functions;
	Numbers mapping_numbers;
	MappingEntry *mappings;
	uint32 mapping_count;
	uint32 mapping_capacity;
	uint32 *location_numbers; /* numbers of the locations of the sample that is being added */
	uint32 location_capacity;
	StringInfoData labels; /* labels of that sample, as encoded messages */
};

/* --- bytes --- */

static void
append_number(StringInfo out, uint32 field, uint64 value)
{
	char bytes[PFS_WIRE_FIELD_MAX];

	if (value != 0)
		appendBinaryStringInfo(out, bytes,
							   (int) (pfs_wire_put_number(bytes, field, value) - bytes));
}

static void
append_bytes(StringInfo out, uint32 field, const char *data, Size length)
{
	char head[PFS_WIRE_FIELD_MAX];

	appendBinaryStringInfo(out, head, (int) (pfs_wire_put_head(head, field, length) - head));
	appendBinaryStringInfo(out, data, (int) length);
}

static uint32
writer_string_number(PfsPprofWriter *writer, const char *text)
{
	bool found;
	PfsTextNumber *entry = pfs_text_numbers_insert(writer->strings, text, &found);
	char *utf8;

	if (found)
		return entry->number;
	entry->number = writer->strings->members - 1;
	entry->text = pstrdup(text);
	utf8 = pg_server_to_any(text, (int) strlen(text), PG_UTF8);
	append_bytes(&writer->table, PFS_PPROF_STRING_TABLE, utf8, strlen(utf8));
	if (utf8 != text)
		pfree(utf8);
	return entry->number;
}

/* --- functions, mappings, locations --- */

static uint32
writer_number(Numbers *numbers, int32 id, bool *found)
{
	uint32 *number = pfs_id_map_slot(&numbers->of_ids, id);

	*found = *number != 0;
	if (!*found)
		*number = ++numbers->count;
	return *number;
}

static uint32
function_number(PfsPprofWriter *writer, int32 id)
{
	StringInfo message = &writer->message;
	bool found;
	uint32 number = writer_number(&writer->functions, id, &found);
	const PfsFunction *function;

	if (found)
		return number;
	function = pfs_function_get(id);
	resetStringInfo(message);
	append_number(message, FUNCTION_ID, number);
	append_number(message, FUNCTION_NAME, writer_string_number(writer, function->name));
	append_number(message, FUNCTION_SYSTEM_NAME,
				  writer_string_number(writer, function->system_name));
	append_number(message, FUNCTION_FILENAME, writer_string_number(writer, function->filename));
	append_number(message, FUNCTION_START_LINE, (uint64) function->start_line);
	append_bytes(&writer->messages, PFS_PPROF_FUNCTION, message->data, (Size) message->len);
	return number;
}

/*
 * A mapping counts as symbolized until one of its locations is not; then pprof looks for symbols
 * itself.
 */
static uint32
mapping_number(PfsPprofWriter *writer, int32 id)
{
	bool found;
	uint32 number = writer_number(&writer->mapping_numbers, id, &found);
	MappingEntry *mapping;

	if (found)
		return number;
	PFS_RESERVE(writer->mappings, writer->mapping_capacity, writer->mapping_count + 1);
	mapping = &writer->mappings[writer->mapping_count++];
	mapping->filename = writer_string_number(writer, pfs_mapping_get(id)->file);
	mapping->build_id = writer_string_number(writer, pfs_mapping_get(id)->build_id);
	mapping->has_functions = true;
	mapping->has_filenames = true;
	mapping->has_line_numbers = true;
	mapping->has_inline_frames = true;
	return number;
}

static void
append_mapping(PfsPprofWriter *writer, StringInfo out, uint32 number)
{
	const MappingEntry *mapping = &writer->mappings[number - 1];
	StringInfo message = &writer->message;

	resetStringInfo(message);
	append_number(message, MAPPING_ID, number);
	append_number(message, MAPPING_LIMIT, PG_UINT64_MAX);
	append_number(message, MAPPING_FILENAME, mapping->filename);
	append_number(message, MAPPING_BUILD_ID, mapping->build_id);
	append_number(message, MAPPING_HAS_FUNCTIONS, mapping->has_functions);
	append_number(message, MAPPING_HAS_FILENAMES, mapping->has_filenames);
	append_number(message, MAPPING_HAS_LINE_NUMBERS, mapping->has_line_numbers);
	append_number(message, MAPPING_HAS_INLINE_FRAMES, mapping->has_inline_frames);
	append_bytes(out, PFS_PPROF_MAPPING, message->data, (Size) message->len);
}

static void
note_symbols(MappingEntry *mapping, const PfsLocation *location)
{
	mapping->has_functions &= location->line_count > 0;
	mapping->has_inline_frames &= location->line_count > 0;
	for (uint32 i = 0; i < location->line_count; i++)
	{
		mapping->has_filenames &= *pfs_function_get(location->lines[i].function_id)->filename != 0;
		mapping->has_line_numbers &= location->lines[i].line > 0;
	}
	mapping->has_filenames &= location->line_count > 0;
	mapping->has_line_numbers &= location->line_count > 0;
}

/* Appends a location at its first use; returns its number, or NO_FRAMES. */
static pg_noinline uint32
append_location(PfsPprofWriter *writer, int32 id)
{
	StringInfo message = &writer->location;
	PfsFrames frames = pfs_symbols_frames(writer->symbols, id);
	const PfsLocation *location;
	uint32 number;

	if (frames.count == 0)
		return NO_FRAMES;
	number = ++writer->locations.count;
	location = pfs_location_get(id);
	resetStringInfo(message);
	append_number(message, LOCATION_ID, number);
	if (location->mapping_id != 0)
	{
		uint32 mapping = mapping_number(writer, location->mapping_id);

		note_symbols(&writer->mappings[mapping - 1], location);
		append_number(message, LOCATION_MAPPING_ID, mapping);
	}
	append_number(message, LOCATION_ADDRESS, location->address);
	/* frames are outermost first; a location without a function has a frame that represents it */
	for (uint32 i = 0; i < frames.count && location->line_count > 0; i++)
	{
		const PfsLine *line = &location->lines[frames.frames[frames.count - 1 - i].line];
		char bytes[2 * PFS_WIRE_FIELD_MAX];
		char *at = pfs_wire_put_number(bytes, LINE_FUNCTION_ID,
									   function_number(writer, line->function_id));

		if (line->line > 0)
			at = pfs_wire_put_number(at, LINE_LINE, (uint64) line->line);
		append_bytes(message, LOCATION_LINE, bytes, (Size) (at - bytes));
	}
	append_bytes(&writer->messages, PFS_PPROF_LOCATION, message->data, (Size) message->len);
	return number;
}

/* Returns the number of a location; 0 if the filters leave none of its frames. */
static inline uint32
location_number(PfsPprofWriter *writer, int32 id)
{
	uint32 *number = pfs_id_map_slot(&writer->locations.of_ids, id);

	if (*number == 0)
		*number = append_location(writer, id);
	return *number == NO_FRAMES ? 0 : *number;
}

/* --- samples --- */

PfsPprofWriter *
pfs_pprof_begin(PfsSymbols *symbols)
{
	PfsPprofWriter *writer = palloc0(sizeof(PfsPprofWriter));

	writer->symbols = symbols;
	initStringInfo(&writer->messages);
	initStringInfo(&writer->message);
	initStringInfo(&writer->location);
	initStringInfo(&writer->table);
	initStringInfo(&writer->labels);
	writer->strings = pfs_text_numbers_create(CurrentMemoryContext, INITIAL_ENTRIES, NULL);
	writer->locations.of_ids.context = writer->functions.of_ids.context =
		writer->mapping_numbers.of_ids.context = CurrentMemoryContext;
	writer_string_number(writer, "");
	return writer;
}

/*
 * Collects the numbers of a sample's locations, leaf first, without those that have no frame left.
 * Returns their count, and their bytes. Numbers are assigned from the root on, so that the program
 * itself is the first mapping.
 */
static uint32
number_locations(PfsPprofWriter *writer, const int32 *location_ids, uint32 count, uint32 *bytes)
{
	uint32 *numbers;
	uint32 left = 0;

	PFS_RESERVE(writer->location_numbers, writer->location_capacity, count);
	numbers = writer->location_numbers;
	for (uint32 i = count; i-- > 0;)
		numbers[i] = location_number(writer, location_ids[i]);
	*bytes = 0;
	for (uint32 i = 0; i < count; i++)
	{
		if (numbers[i] == 0)
			continue;
		*bytes += (uint32) pfs_wire_varint_bytes(numbers[i]);
		numbers[left++] = numbers[i];
	}
	return left;
}

static void
set_labels(PfsPprofWriter *writer, const PfsSampleLabel *labels, uint32 count)
{
	resetStringInfo(&writer->labels);
	for (uint32 i = 0; i < count; i++)
	{
		StringInfo message = &writer->message;
		uint32 key = writer_string_number(writer, labels[i].key);
		uint32 text = writer_string_number(writer, labels[i].text);

		resetStringInfo(message);
		append_number(message, LABEL_KEY, key);
		append_number(message, LABEL_STR, labels[i].numeric ? 0 : text);
		append_number(message, LABEL_NUM, labels[i].numeric ? (uint64) labels[i].number : 0);
		append_number(message, LABEL_NUM_UNIT, labels[i].numeric ? text : 0);
		append_bytes(&writer->labels, SAMPLE_LABEL, message->data, (Size) message->len);
	}
}

/*
 * Samples are most of a profile, so their bytes are written directly, without building a message in
 * memory first.
 */
void
pfs_pprof_add(PfsPprofWriter *writer, const int32 *location_ids, uint32 count, int64 value,
			  const PfsSampleLabel *labels, uint32 label_count)
{
	StringInfo out = &writer->messages;
	uint32 location_bytes;
	uint32 left = number_locations(writer, location_ids, count, &location_bytes);
	uint32 value_bytes = (uint32) pfs_wire_varint_bytes((uint64) value);
	uint32 length = 1 + (uint32) pfs_wire_varint_bytes(value_bytes) + value_bytes;
	char *at;

	set_labels(writer, labels, label_count);
	length += (uint32) writer->labels.len;
	if (left > 0)
		length += 1 + (uint32) pfs_wire_varint_bytes(location_bytes) + location_bytes;
	enlargeStringInfo(out, (int) (1 + (uint32) pfs_wire_varint_bytes(length) + length));
	at = pfs_wire_put_head(out->data + out->len, PFS_PPROF_SAMPLE, length);
	if (left > 0)
		at = pfs_wire_put_head(at, SAMPLE_LOCATION_ID, location_bytes);
	for (uint32 i = 0; i < left; i++)
		at = pfs_wire_put_varint(at, writer->location_numbers[i]);
	at = pfs_wire_put_varint(pfs_wire_put_head(at, SAMPLE_VALUE, value_bytes), (uint64) value);
	memcpy(at, writer->labels.data, (Size) writer->labels.len);
	out->len = (int) (at - out->data) + writer->labels.len;
}

static void
append_value_type(PfsPprofWriter *writer, StringInfo out, uint32 field, const char *type,
				  const char *unit)
{
	StringInfo message = &writer->message;

	resetStringInfo(message);
	append_number(message, VALUE_TYPE_TYPE, writer_string_number(writer, type));
	append_number(message, VALUE_TYPE_UNIT, writer_string_number(writer, unit));
	append_bytes(out, field, message->data, (Size) message->len);
}

static void
append_notes(PfsPprofWriter *writer, StringInfo out, const PfsPprofHeader *header)
{
	StringInfoData comments;

	append_number(out, PFS_PPROF_DROP_FRAMES, writer_string_number(writer, header->drop_frames));
	append_number(out, PFS_PPROF_KEEP_FRAMES, writer_string_number(writer, header->keep_frames));
	append_number(out, PFS_PPROF_DEFAULT_SAMPLE_TYPE,
				  writer_string_number(writer, header->default_type));
	append_number(out, PFS_PPROF_DOC_URL, writer_string_number(writer, header->doc_url));
	if (header->comment_count == 0)
		return;
	initStringInfo(&comments);
	for (uint32 i = 0; i < header->comment_count; i++)
	{
		char bytes[PFS_WIRE_FIELD_MAX];
		char *end = pfs_wire_put_varint(bytes, writer_string_number(writer, header->comments[i]));

		appendBinaryStringInfo(&comments, bytes, (int) (end - bytes));
	}
	append_bytes(out, PFS_PPROF_COMMENT, comments.data, (Size) comments.len);
}

StringInfo
pfs_pprof_end(PfsPprofWriter *writer, const PfsPprofHeader *header)
{
	StringInfo out = makeStringInfo();

	append_value_type(writer, out, PFS_PPROF_SAMPLE_TYPE, header->sample_type, header->sample_unit);
	appendBinaryStringInfo(out, writer->messages.data, writer->messages.len);
	for (uint32 number = 1; number <= writer->mapping_count; number++)
		append_mapping(writer, out, number);
	if (*header->period_type != '\0' || *header->period_unit != '\0')
		append_value_type(writer, out, PFS_PPROF_PERIOD_TYPE, header->period_type,
						  header->period_unit);
	append_number(out, PFS_PPROF_PERIOD, (uint64) header->period);
	append_number(out, PFS_PPROF_TIME_NANOS, (uint64) header->time_ns);
	append_number(out, PFS_PPROF_DURATION_NANOS, (uint64) header->duration_ns);
	append_notes(writer, out, header);
	appendBinaryStringInfo(out, writer->table.data, writer->table.len);
	return out;
}
