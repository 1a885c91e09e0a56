/*
 * pprof_write.c
 *		Appends each message when its object is first used; the string table and the mappings,
 *		which may still change, come last.
 *
 * 1. Varints, tags and lengths are written here; whole messages, of which there are few, by
 *    protobuf-c.
 * 2. Strings, functions, mappings and locations get numbers in the order of first use.
 * 3. A sample, of which there are many, is measured and then written in one piece.
 * 4. At the end: types, mappings, strings, and the fields of the header.
 */
#include "profstore.h"

#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"

#include "base/arrays.h"
#include "base/id_map.h"
#include "dictionary/cache/dictionary.h"
#include "export/pprof_write.h"
#include "export/text_numbers.h"
#include "formats/profile.pb-c.h"

#define WIRE_VARINT 0
#define WIRE_BYTES	2
#define TAG_SHIFT	3

#define INITIAL_ENTRIES 256

/* Fields of a sample; their tags take one byte each. */
#define SAMPLE_LOCATION_ID 1
#define SAMPLE_VALUE	   2
#define SAMPLE_LABEL	   3

/* Numbers of the dictionary's objects in the file, from 1 on. */
typedef struct Numbers
{
	PfsIdMap of_ids;
	uint32 count;
} Numbers;

/* Instead of the number of a location without frames after the filters. */
#define NO_FRAMES PG_UINT32_MAX

struct PfsPprofWriter
{
	PfsSymbols *symbols;
	StringInfoData messages; /* samples, locations, functions */
	StringInfoData table;	 /* the string table */
	pfs_text_numbers_hash *strings;
	Numbers locations;
	Numbers functions;
	Numbers mapping_numbers;
	Pfs__Pprof__Mapping *mappings;
	uint32 mapping_count;
	uint32 mapping_capacity;
	uint32 *location_numbers; /* of the sample being added … */
	uint32 location_capacity;
	StringInfoData labels; /* … and its labels, as messages */
};

/* Bytes */

static void
bytes_append_varint(StringInfo out, uint64 value)
{
	for (; value >= 0x80; value >>= 7)
		appendStringInfoCharMacro(out, (char) (value | 0x80));
	appendStringInfoCharMacro(out, (char) value);
}

static inline uint32
varint_length(uint64 value)
{
	return (uint32) pg_leftmost_one_pos64(value | 1) / 7 + 1;
}

/* Writes a varint into existing room; returns the place behind it. */
static inline char *
field_put_varint(char *at, uint64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char) (value | 0x80);
	*at++ = (char) value;
	return at;
}

static inline char *
put_tag(char *at, uint32 field, uint64 length)
{
	return field_put_varint(field_put_varint(at, (uint64) field << TAG_SHIFT | WIRE_BYTES), length);
}

static void
append_number(StringInfo out, Pfs__Pprof__Field field, uint64 value)
{
	if (value == 0)
		return;
	bytes_append_varint(out, (uint64) field << TAG_SHIFT | WIRE_VARINT);
	bytes_append_varint(out, value);
}

static void
append_message(StringInfo out, uint32 field, const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);

	bytes_append_varint(out, (uint64) field << TAG_SHIFT | WIRE_BYTES);
	bytes_append_varint(out, length);
	if (length > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("profile is too large")));
	enlargeStringInfo(out, (int) length);
	protobuf_c_message_pack(message, (uint8_t *) out->data + out->len);
	out->len += (int) length;
}

static uint32
writer_string_number(PfsPprofWriter *writer, const char *text)
{
	bool found;
	PfsTextNumber *entry = pfs_text_numbers_insert(writer->strings, text, &found);
	char *utf8;
	size_t length;

	if (found)
		return entry->number;
	entry->number = writer->strings->members - 1;
	entry->text = pstrdup(text);
	utf8 = pg_server_to_any(text, (int) strlen(text), PG_UTF8);
	length = strlen(utf8);
	bytes_append_varint(&writer->table,
						(uint64) PFS__PPROF__FIELD__STRING_TABLE << TAG_SHIFT | WIRE_BYTES);
	bytes_append_varint(&writer->table, length);
	appendBinaryStringInfo(&writer->table, utf8, (int) length);
	if (utf8 != text)
		pfree(utf8);
	return entry->number;
}

/* Functions, mappings, locations */

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
	Pfs__Pprof__Function message = PFS__PPROF__FUNCTION__INIT;
	bool found;
	const PfsFunction *function;

	message.id = writer_number(&writer->functions, id, &found);
	if (found)
		return (uint32) message.id;
	function = pfs_function_get(id);
	message.name = writer_string_number(writer, function->name);
	message.system_name = writer_string_number(writer, function->system_name);
	message.filename = writer_string_number(writer, function->filename);
	message.start_line = function->start_line;
	append_message(&writer->messages, PFS__PPROF__FIELD__FUNCTION, &message.base);
	return (uint32) message.id;
}

/* Mappings are marked as symbolized until a location is not: then pprof searches symbols itself. */
static Pfs__Pprof__Mapping *
mapping_message(PfsPprofWriter *writer, int32 id)
{
	bool found;
	uint32 number = writer_number(&writer->mapping_numbers, id, &found);
	Pfs__Pprof__Mapping *message;

	if (found)
		return &writer->mappings[number - 1];
	PFS_RESERVE(writer->mappings, writer->mapping_capacity, writer->mapping_count + 1);
	message = &writer->mappings[writer->mapping_count++];
	pfs__pprof__mapping__init(message);
	message->id = number;
	message->memory_limit = PG_UINT64_MAX;
	message->filename = writer_string_number(writer, pfs_mapping_get(id)->file);
	message->build_id = writer_string_number(writer, pfs_mapping_get(id)->build_id);
	message->has_functions = true;
	message->has_filenames = true;
	message->has_line_numbers = true;
	message->has_inline_frames = true;
	return message;
}

static void
note_symbols(Pfs__Pprof__Mapping *mapping, const PfsLocation *location)
{
	mapping->has_functions &= location->line_count > 0;
	mapping->has_inline_frames &= location->line_count > 0;
	for (uint32 i = 0; i < location->line_count; i++)
	{
		mapping->has_filenames &= *pfs_function_get(location->lines[i].function_id)->filename != 0;
		mapping->has_line_numbers &= location->lines[i].line != 0;
	}
	mapping->has_filenames &= location->line_count > 0;
	mapping->has_line_numbers &= location->line_count > 0;
}

/* Appends a location at its first use; returns its number, or NO_FRAMES. */
static pg_noinline uint32
append_location(PfsPprofWriter *writer, int32 id)
{
	Pfs__Pprof__Location message = PFS__PPROF__LOCATION__INIT;
	PfsFrames frames = pfs_symbols_frames(writer->symbols, id);
	const PfsLocation *location;
	Pfs__Pprof__Line *lines;
	Pfs__Pprof__Line **line_pointers;

	if (frames.count == 0)
		return NO_FRAMES;
	message.id = ++writer->locations.count;
	location = pfs_location_get(id);
	message.address = location->address;
	if (location->mapping_id != 0)
	{
		Pfs__Pprof__Mapping *mapping = mapping_message(writer, location->mapping_id);

		note_symbols(mapping, location);
		message.mapping_id = mapping->id;
	}

	lines = PFS_ARRAY(Pfs__Pprof__Line, frames.count);
	line_pointers = PFS_ARRAY(Pfs__Pprof__Line *, frames.count);
	/* frames are outermost first; a location without a function has a frame that represents it */
	message.n_line = location->line_count == 0 ? 0 : frames.count;
	for (uint32 i = 0; i < message.n_line; i++)
	{
		const PfsLine *line = &location->lines[frames.frames[frames.count - 1 - i].line];

		pfs__pprof__line__init(&lines[i]);
		lines[i].function_id = function_number(writer, line->function_id);
		lines[i].line = line->line;
		line_pointers[i] = &lines[i];
	}
	message.line = line_pointers;
	append_message(&writer->messages, PFS__PPROF__FIELD__LOCATION, &message.base);
	pfree(lines);
	pfree(line_pointers);
	return (uint32) message.id;
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

/* Samples */

PfsPprofWriter *
pfs_pprof_begin(PfsSymbols *symbols)
{
	PfsPprofWriter *writer = palloc0(sizeof(PfsPprofWriter));

	writer->symbols = symbols;
	initStringInfo(&writer->messages);
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
		*bytes += varint_length(numbers[i]);
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
		Pfs__Pprof__Label message = PFS__PPROF__LABEL__INIT;

		message.key = writer_string_number(writer, labels[i].key);
		if (labels[i].numeric)
		{
			message.num = labels[i].number;
			message.num_unit = writer_string_number(writer, labels[i].text);
		}
		else
			message.str = writer_string_number(writer, labels[i].text);
		append_message(&writer->labels, SAMPLE_LABEL, &message.base);
	}
}

/* Samples are most of a profile, so their bytes are written without messages in memory. */
void
pfs_pprof_add(PfsPprofWriter *writer, const int32 *location_ids, uint32 count, int64 value,
			  const PfsSampleLabel *labels, uint32 label_count)
{
	StringInfo out = &writer->messages;
	uint32 location_bytes;
	uint32 left = number_locations(writer, location_ids, count, &location_bytes);
	uint32 value_bytes = varint_length((uint64) value);
	uint32 length = 1 + varint_length(value_bytes) + value_bytes;
	char *at;

	set_labels(writer, labels, label_count);
	length += (uint32) writer->labels.len;
	if (left > 0)
		length += 1 + varint_length(location_bytes) + location_bytes;
	enlargeStringInfo(out, (int) (1 + varint_length(length) + length));
	at = put_tag(out->data + out->len, PFS__PPROF__FIELD__SAMPLE, length);
	if (left > 0)
		at = put_tag(at, SAMPLE_LOCATION_ID, location_bytes);
	for (uint32 i = 0; i < left; i++)
		at = field_put_varint(at, writer->location_numbers[i]);
	at = field_put_varint(put_tag(at, SAMPLE_VALUE, value_bytes), (uint64) value);
	memcpy(at, writer->labels.data, (Size) writer->labels.len);
	out->len = (int) (at - out->data) + writer->labels.len;
}

static void
append_value_type(PfsPprofWriter *writer, StringInfo out, Pfs__Pprof__Field field, const char *type,
				  const char *unit)
{
	Pfs__Pprof__ValueType message = PFS__PPROF__VALUE_TYPE__INIT;

	message.type = writer_string_number(writer, type);
	message.unit = writer_string_number(writer, unit);
	append_message(out, field, &message.base);
}

static void
append_notes(PfsPprofWriter *writer, StringInfo out, const PfsPprofHeader *header)
{
	StringInfoData comments;

	append_number(out, PFS__PPROF__FIELD__DROP_FRAMES,
				  writer_string_number(writer, header->drop_frames));
	append_number(out, PFS__PPROF__FIELD__KEEP_FRAMES,
				  writer_string_number(writer, header->keep_frames));
	append_number(out, PFS__PPROF__FIELD__DEFAULT_SAMPLE_TYPE,
				  writer_string_number(writer, header->default_type));
	append_number(out, PFS__PPROF__FIELD__DOC_URL, writer_string_number(writer, header->doc_url));
	if (header->comment_count == 0)
		return;
	initStringInfo(&comments);
	for (uint32 i = 0; i < header->comment_count; i++)
		bytes_append_varint(&comments, writer_string_number(writer, header->comments[i]));
	bytes_append_varint(out, (uint64) PFS__PPROF__FIELD__COMMENT << TAG_SHIFT | WIRE_BYTES);
	bytes_append_varint(out, (uint64) comments.len);
	appendBinaryStringInfo(out, comments.data, comments.len);
}

StringInfo
pfs_pprof_end(PfsPprofWriter *writer, const PfsPprofHeader *header)
{
	StringInfo out = makeStringInfo();

	append_value_type(writer, out, PFS__PPROF__FIELD__SAMPLE_TYPE, header->sample_type,
					  header->sample_unit);
	appendBinaryStringInfo(out, writer->messages.data, writer->messages.len);
	for (uint32 i = 0; i < writer->mapping_count; i++)
		append_message(out, PFS__PPROF__FIELD__MAPPING, &writer->mappings[i].base);
	if (*header->period_type != '\0' || *header->period_unit != '\0')
		append_value_type(writer, out, PFS__PPROF__FIELD__PERIOD_TYPE, header->period_type,
						  header->period_unit);
	append_number(out, PFS__PPROF__FIELD__PERIOD, (uint64) header->period);
	append_number(out, PFS__PPROF__FIELD__TIME_NANOS, (uint64) header->time_ns);
	append_number(out, PFS__PPROF__FIELD__DURATION_NANOS, (uint64) header->duration_ns);
	append_notes(writer, out, header);
	appendBinaryStringInfo(out, writer->table.data, writer->table.len);
	return out;
}
