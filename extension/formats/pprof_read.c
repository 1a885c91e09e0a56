/*
 * pprof_read.c
 *		Converts the bytes of the pprof format to a profile.
 *
 * The profile's fields may have any order, and refer to each other by index and id. So they are
 * listed once, and then read in this order:
 *
 * 1. Strings, while all fields are listed.
 * 2. Sample types, mappings, functions and notes refer only to strings.
 * 3. Locations refer to mappings and functions.
 * 4. Samples refer to locations.
 *
 * Messages are read field by field, directly into the profile's arrays.
 */
#include <string.h>

#include "formats/clean_text.h"
#include "formats/id_index.h"
#include "formats/pprof_fields.h"
#include "formats/pprof_wire.h"
#include "formats/profile.h"

/* Fields of a mapping, beside its texts, that are needed to read locations. */
typedef struct MemoryRange
{
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
} MemoryRange;

/* Positions of the messages of a kind. */
typedef struct Message
{
	uint32_t begin;
	uint32_t length;
	uint32_t offset; /* position of the message's tag in the file */
} Message;

typedef struct MessageList
{
	Message *messages;
	uint32_t count;
} MessageList;

typedef struct Reader
{
	const uint8_t *bytes;
	size_t length;
	PfsProfile *profile;
	PfsBudget *budget;
	PfsReadError *error;
	PfsText *strings;
	uint32_t string_count;
	MessageList function_list;
	MessageList location_list;
	MessageList sample_list;
	uint32_t *others; /* positions of the tags of all fields that are not in the lists above */
	uint32_t other_count;
	MemoryRange *ranges;
	PfsIdIndex mappings;
	PfsIdIndex functions;
	PfsIdIndex locations;
	size_t offset; /* position of the tag of the current field */
	uint64_t default_type;

	/* numbers of the current location or sample, by their field numbers */
	uint64_t numbers[LOCATION_LINE]; /* numbers of a location, by field */
	/*
	 * number of lines of the location; lines beyond the limit are only counted. The next two fields
	 * are such counts, too.
	 */
	uint32_t lines_read;
	uint32_t values_read;
	uint32_t labels_read;
} Reader;

static PfsReadStatus
pprof_fail(Reader *reader, PfsReadStatus status, const char *message)
{
	*reader->error = pfs_error_at(message, reader->offset);
	return status;
}

static PfsReadStatus
pprof_malformed(Reader *reader, const char *message)
{
	return pprof_fail(reader, PFS_READ_MALFORMED, message);
}

static PfsReadStatus
pprof_refused(Reader *reader)
{
	reader->error->offset = reader->offset;
	return pfs_budget_status(reader->budget, reader->error);
}

typedef PfsReadStatus (*FieldFn)(Reader *reader, const PfsWireField *field);

/* --- step 1: strings, and positions of all other fields --- */

static PfsReadStatus
pprof_read_string(Reader *reader, const PfsWireField *field)
{
	if (field->wire_type != PFS_WIRE_BYTES)
		return pprof_malformed(reader, "string has no length");
	/* The format reserves index 0 for "", so an unset reference is an empty text. */
	if (reader->string_count == 0 && field->length != 0)
		return pprof_malformed(reader, "first string is not empty");
	if (!PFS_GROW(reader->budget, reader->strings, reader->string_count))
		return pprof_refused(reader);
	reader->strings[reader->string_count] =
		(PfsText){ (const char *) field->bytes, (uint32_t) field->length };
	return pfs_text_clean(reader->profile, &reader->strings[reader->string_count++])
			   ? PFS_READ_OK
			   : pprof_refused(reader);
}

/* Adds a message to a list for a later step. */
static PfsReadStatus
list_message(Reader *reader, MessageList *list, const PfsWireField *field)
{
	if (field->wire_type != PFS_WIRE_BYTES)
		return pprof_malformed(reader, "field is not a message");
	if (!PFS_GROW(reader->budget, list->messages, list->count))
		return pprof_refused(reader);
	/* Positions and lengths fit in 32 bits, because pfs_pprof_read() refuses larger files. */
	list->messages[list->count++] =
		(Message){ (uint32_t) (field->bytes - reader->bytes), (uint32_t) field->length,
				   (uint32_t) reader->offset };
	return PFS_READ_OK;
}

/* Adds a field of any wire type to the list for step 2. */
static PfsReadStatus
list_other(Reader *reader)
{
	if (!PFS_GROW(reader->budget, reader->others, reader->other_count))
		return pprof_refused(reader);
	reader->others[reader->other_count++] = (uint32_t) reader->offset;
	return PFS_READ_OK;
}

static PfsReadStatus
list_field(Reader *reader, const PfsWireField *field)
{
	/*
	 * Only strings depend on nothing else. Every other message may precede its targets in the file,
	 * so only its position is noted here.
	 */
	switch (field->number)
	{
		case PFS_PPROF_STRING_TABLE:
			return pprof_read_string(reader, field);
		case PFS_PPROF_FUNCTION:
			return list_message(reader, &reader->function_list, field);
		case PFS_PPROF_LOCATION:
			return list_message(reader, &reader->location_list, field);
		case PFS_PPROF_SAMPLE:
			return list_message(reader, &reader->sample_list, field);
		default:
			return list_other(reader);
	}
}

static PfsReadStatus
list_fields(Reader *reader)
{
	PfsReadStatus status = PFS_READ_OK;

	for (size_t at = 0; status == PFS_READ_OK && at < reader->length;)
	{
		PfsWireField field;
		const char *problem;

		pfs_pause(reader->budget->pause);
		reader->offset = at;
		problem = pfs_wire_field(reader->bytes, reader->length, &at, &field);
		status = problem == NULL ? list_field(reader, &field) : pprof_malformed(reader, problem);
	}
	return status;
}

/* Calls a function for each message of a list. */
static PfsReadStatus
read_list_of(Reader *reader, const MessageList *list, FieldFn function)
{
	PfsReadStatus status = PFS_READ_OK;

	for (uint32_t i = 0; status == PFS_READ_OK && i < list->count; i++)
	{
		const Message *message = &list->messages[i];
		/*
		 * The message was a valid field in step 1, so its position and length lie within the bytes.
		 */
		const PfsWireField field = { .wire_type = PFS_WIRE_BYTES,
									 .bytes = reader->bytes + message->begin,
									 .length = message->length };

		pfs_pause(reader->budget->pause);
		reader->offset = message->offset;
		status = function(reader, &field);
	}
	return status;
}

static PfsReadStatus
read_others(Reader *reader, FieldFn function)
{
	PfsReadStatus status = PFS_READ_OK;

	for (uint32_t i = 0; status == PFS_READ_OK && i < reader->other_count; i++)
	{
		size_t at = reader->offset = reader->others[i];
		PfsWireField field;

		if (pfs_wire_field(reader->bytes, reader->length, &at, &field) != NULL)
			return pprof_malformed(reader, "message cannot be decoded");
		status = function(reader, &field);
	}
	return status;
}

/* Reads a message of numbers into an array by their field numbers. */
static PfsReadStatus
read_numbers(Reader *reader, const PfsWireField *field, uint64_t *numbers, uint32_t count)
{
	if (field->wire_type != PFS_WIRE_BYTES)
		return pprof_malformed(reader, "field is not a message");
	return pfs_wire_numbers(field, numbers, count)
			   ? PFS_READ_OK
			   : pprof_malformed(reader, "message cannot be decoded");
}

/* Calls the function for each field of a message. */
static PfsReadStatus
read_message(Reader *reader, const PfsWireField *message, FieldFn function)
{
	PfsReadStatus status = PFS_READ_OK;

	if (message->wire_type != PFS_WIRE_BYTES)
		return pprof_malformed(reader, "field is not a message");
	/*
	 * Fields inside a message are separate from those of the file: at counts from the message's
	 * begin, and reader->offset stays at the message's tag.
	 */
	for (size_t at = 0; status == PFS_READ_OK && at < message->length;)
	{
		PfsWireField field;

		if (pfs_wire_field(message->bytes, message->length, &at, &field) != NULL)
			return pprof_malformed(reader, "message cannot be decoded");
		status = function(reader, &field);
	}
	return status;
}

/* Reads a list of numbers, which is packed or has one field for each number. */
static PfsReadStatus
read_list(Reader *reader, const PfsWireField *field,
		  PfsReadStatus (*add)(Reader *reader, uint64_t number))
{
	PfsReadStatus status = PFS_READ_OK;

	/*
	 * A writer may store each number as a field of its own, or pack all numbers into one field;
	 * readers of protobuf must accept both.
	 */
	if (field->wire_type == PFS_WIRE_VARINT)
		return add(reader, field->value);
	if (field->wire_type != PFS_WIRE_BYTES)
		return pprof_malformed(reader, "invalid number");
	for (size_t at = 0; status == PFS_READ_OK && at < field->length;)
	{
		uint64_t number;

		if (!pfs_wire_varint(field->bytes, field->length, &at, &number))
			return pprof_malformed(reader, "invalid number");
		status = add(reader, number);
	}
	return status;
}

static PfsReadStatus
finish_ids(Reader *reader, PfsIdIndex *index, const char *duplicate)
{
	return pfs_ids_finish(index) ? PFS_READ_OK : pprof_malformed(reader, duplicate);
}

static PfsReadStatus
add_id(Reader *reader, PfsIdIndex *index, uint64_t id)
{
	/* References use 0 for "not set", so no message may have this id. */
	if (!pfs_id_add(index, reader->budget, id))
		return pprof_refused(reader);
	return id == 0 ? pprof_malformed(reader, "id is zero") : PFS_READ_OK;
}

/*
 * Returns the string of an index; an invalid index fails the reader. Index 0 is "", with or without
 * a table.
 */
static PfsReadStatus
get_string(Reader *reader, uint64_t index, PfsText *text)
{
	*text = (PfsText){ "", 0 };
	if (index == 0)
		return PFS_READ_OK;
	if (index >= reader->string_count)
		return pprof_malformed(reader, "string index is beyond the table");
	*text = reader->strings[index];
	return PFS_READ_OK;
}

/* --- step 2: messages that refer only to strings --- */

static PfsReadStatus
read_value_type(Reader *reader, const PfsWireField *field, PfsValueType *type)
{
	uint64_t numbers[VALUE_TYPE_END];
	PfsReadStatus status = read_numbers(reader, field, numbers, VALUE_TYPE_END);

	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[VALUE_TYPE_TYPE], &type->type);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[VALUE_TYPE_UNIT], &type->unit);
	return status;
}

static PfsReadStatus
read_sample_type(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;

	if (!PFS_GROW(reader->budget, profile->types, profile->type_count))
		return pprof_refused(reader);
	if (profile->type_count == PFS_PROFILE_MAX_SAMPLE_TYPES)
		return pprof_fail(reader, PFS_READ_TOO_LARGE, "too many sample types");
	return read_value_type(reader, field, &profile->types[profile->type_count++]);
}

static PfsReadStatus
read_mapping(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	uint64_t numbers[MAPPING_END];
	PfsReadStatus status = read_numbers(reader, field, numbers, MAPPING_END);
	PfsProfileMapping *mapping;

	if (status != PFS_READ_OK)
		return status;
	if (!PFS_GROW(reader->budget, profile->mappings, profile->mapping_count) ||
		!PFS_GROW(reader->budget, reader->ranges, profile->mapping_count))
		return pprof_refused(reader);
	reader->ranges[profile->mapping_count] =
		(MemoryRange){ numbers[MAPPING_START], numbers[MAPPING_LIMIT], numbers[MAPPING_OFFSET] };
	mapping = &profile->mappings[profile->mapping_count++];
	status = add_id(reader, &reader->mappings, numbers[MAPPING_ID]);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[MAPPING_FILENAME], &mapping->file);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[MAPPING_BUILD_ID], &mapping->build_id);
	return status;
}

/* Converts a line number, which is stored in 31 bits. */
static PfsReadStatus
get_line(Reader *reader, uint64_t line, int32_t *result)
{
	if (line > INT32_MAX)
		return pprof_fail(reader, PFS_READ_OUT_OF_RANGE, "line number is out of range");
	*result = (int32_t) line;
	return PFS_READ_OK;
}

static PfsReadStatus
pprof_read_function(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	uint64_t numbers[FUNCTION_END];
	PfsReadStatus status = read_numbers(reader, field, numbers, FUNCTION_END);
	PfsProfileFunction *function;

	if (status != PFS_READ_OK)
		return status;
	if (!PFS_GROW(reader->budget, profile->functions, profile->function_count))
		return pprof_refused(reader);
	function = &profile->functions[profile->function_count++];
	*function = (PfsProfileFunction){ 0 };
	status = add_id(reader, &reader->functions, numbers[FUNCTION_ID]);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[FUNCTION_NAME], &function->name);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[FUNCTION_SYSTEM_NAME], &function->system_name);
	if (status == PFS_READ_OK)
		status = get_string(reader, numbers[FUNCTION_FILENAME], &function->filename);
	if (status == PFS_READ_OK)
		status = get_line(reader, numbers[FUNCTION_START_LINE], &function->start_line);
	/* Reports show the name, so the system name stands in for a missing one. */
	if (function->name.length == 0)
		function->name = function->system_name;
	return status;
}

static PfsReadStatus
add_comment(Reader *reader, uint64_t index)
{
	PfsProfile *profile = reader->profile;

	if (!PFS_GROW(reader->budget, profile->comments, profile->comment_count))
		return pprof_refused(reader);
	return get_string(reader, index, &profile->comments[profile->comment_count++]);
}

/* Stores a number of the message Profile. Some are indexes of strings. */
static PfsReadStatus
pprof_read_number(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;

	if (field->wire_type != PFS_WIRE_VARINT)
		/* A text in place of a number cannot be interpreted. */
		return pprof_malformed(reader, "field is not a number");
	switch (field->number)
	{
		case PFS_PPROF_DROP_FRAMES:
			return get_string(reader, field->value, &profile->drop_frames);
		case PFS_PPROF_KEEP_FRAMES:
			return get_string(reader, field->value, &profile->keep_frames);
		case PFS_PPROF_TIME_NANOS:
			/*
			 * a second time shows that two profiles were concatenated, whose strings would be mixed
			 * up
			 */
			if (profile->time_ns != 0)
				return pprof_malformed(reader, "second profile in one file");
			profile->time_ns = (int64_t) field->value;
			break;
		case PFS_PPROF_DURATION_NANOS:
			profile->duration_ns = (int64_t) field->value;
			break;
		case PFS_PPROF_PERIOD:
			profile->period = (int64_t) field->value;
			break;
		case PFS_PPROF_DEFAULT_SAMPLE_TYPE:
			reader->default_type = field->value;
			break;
		default:
			/* The only number left is the one of the documentation's address. */
			return get_string(reader, field->value, &profile->doc_url);
	}
	return PFS_READ_OK;
}

static PfsReadStatus
read_plain(Reader *reader, const PfsWireField *field)
{
	switch (field->number)
	{
		case PFS_PPROF_SAMPLE_TYPE:
			return read_sample_type(reader, field);
		case PFS_PPROF_MAPPING:
			return read_mapping(reader, field);
		case PFS_PPROF_PERIOD_TYPE:
			return read_value_type(reader, field, &reader->profile->period_type);
		case PFS_PPROF_COMMENT:
			return read_list(reader, field, add_comment);
		case PFS_PPROF_DROP_FRAMES:
		case PFS_PPROF_KEEP_FRAMES:
		case PFS_PPROF_TIME_NANOS:
		case PFS_PPROF_DURATION_NANOS:
		case PFS_PPROF_PERIOD:
		case PFS_PPROF_DEFAULT_SAMPLE_TYPE:
		case PFS_PPROF_DOC_URL:
			return pprof_read_number(reader, field);
		/*
		 * Unknown fields are skipped, as protobuf demands, so that files of newer writers can be
		 * read.
		 */
		default:
			return PFS_READ_OK;
	}
}

/* --- step 3: locations --- */

/* Adds a line to the location; a line without a function contains no information and is skipped. */
static PfsReadStatus
pprof_read_line(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	uint64_t numbers[LINE_END];
	PfsReadStatus status = read_numbers(reader, field, numbers, LINE_END);
	PfsProfileLine line;

	if (status != PFS_READ_OK)
		return status;
	/*
	 * Lines without a function count, too: otherwise a hostile location with billions of them would
	 * not be limited.
	 */
	if (++reader->lines_read > PFS_PROFILE_MAX_LINES)
		return pprof_fail(reader, PFS_READ_TOO_LARGE, "location has too many lines");
	if (numbers[LINE_FUNCTION_ID] == 0)
		return PFS_READ_OK;
	/* All functions are known here, because step 2 has ended. */
	line.function = pfs_id_find(&reader->functions, numbers[LINE_FUNCTION_ID]);
	if (line.function == PFS_NONE)
		return pprof_malformed(reader, "location refers to a function that is not there");
	status = get_line(reader, numbers[LINE_LINE], &line.line);
	if (status != PFS_READ_OK)
		return status;
	if (!PFS_GROW(reader->budget, profile->lines, profile->line_count))
		return pprof_refused(reader);
	profile->lines[profile->line_count++] = line;
	return PFS_READ_OK;
}

static PfsReadStatus
read_location_field(Reader *reader, const PfsWireField *field)
{
	if (field->number == LOCATION_LINE)
		return pprof_read_line(reader, field);
	/* Fields after the lines (is_folded, and those of newer versions) are not needed. */
	if (field->number > LOCATION_LINE)
		return PFS_READ_OK;
	if (field->wire_type != PFS_WIRE_VARINT)
		return pprof_malformed(reader, "message cannot be decoded");
	reader->numbers[field->number] = field->value;
	return PFS_READ_OK;
}

/* Finds the mapping of a location, and converts the address to one in the mapping's file. */
static PfsReadStatus
place_location(Reader *reader, PfsProfileLocation *location)
{
	uint64_t address = reader->numbers[LOCATION_ADDRESS];
	const MemoryRange *range;

	location->address = address;
	location->mapping = PFS_NONE;
	if (reader->numbers[LOCATION_MAPPING_ID] == 0)
		return PFS_READ_OK;
	location->mapping = pfs_id_find(&reader->mappings, reader->numbers[LOCATION_MAPPING_ID]);
	if (location->mapping == PFS_NONE)
		return pprof_malformed(reader, "location refers to a mapping that is not there");
	range = &reader->ranges[location->mapping];
	location->address = pfs_file_address(address, range->start, range->limit, range->offset);
	return PFS_READ_OK;
}

/* Reads a location. Its fields may come in any order, so it is completed at the end. */
static PfsReadStatus
read_location(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsProfileLocation *location;
	PfsReadStatus status;

	if (!PFS_GROW(reader->budget, profile->locations, profile->location_count))
		return pprof_refused(reader);
	location = &profile->locations[profile->location_count++];
	/*
	 * The lines of a location are contiguous in the profile: no other location adds lines until
	 * this one is complete.
	 */
	*location = (PfsProfileLocation){ .first_line = profile->line_count };
	/*
	 * The numbers belong to the reader, not to the location, because the callback gets only the
	 * reader.
	 */
	memset(reader->numbers, 0, sizeof(reader->numbers));
	reader->lines_read = 0;
	status = read_message(reader, field, read_location_field);
	location->line_count = profile->line_count - location->first_line;
	if (status == PFS_READ_OK)
		status = add_id(reader, &reader->locations, reader->numbers[LOCATION_ID]);
	return status == PFS_READ_OK ? place_location(reader, location) : status;
}

/* --- step 4: samples; fields belong to the last one --- */

static PfsReadStatus
pprof_add_frame(Reader *reader, uint64_t id)
{
	PfsProfile *profile = reader->profile;
	PfsProfileSample *sample = &profile->samples[profile->sample_count - 1];
	/*
	 * The location's id is resolved per frame; a sample without any frame is valid and has
	 * location_count 0.
	 */
	uint32_t location = pfs_id_find(&reader->locations, id);

	if (location == PFS_NONE)
		return pprof_malformed(reader, "sample refers to a location that is not there");
	if (sample->location_count == PFS_PROFILE_MAX_DEPTH)
		return pprof_fail(reader, PFS_READ_TOO_LARGE, "stack has too many frames");
	if (!PFS_GROW(reader->budget, profile->location_indexes, profile->location_index_count))
		return pprof_refused(reader);
	profile->location_indexes[profile->location_index_count++] = location;
	sample->location_count++;
	return PFS_READ_OK;
}

static PfsReadStatus
pprof_add_value(Reader *reader, uint64_t value)
{
	PfsProfile *profile = reader->profile;
	/* Values are a matrix: one row per sample, one column per sample type. */
	size_t at = (size_t) (profile->sample_count - 1) * profile->type_count + reader->values_read;

	if (reader->values_read == profile->type_count)
		return pprof_malformed(reader, "sample does not have one value for each sample type");
	if (!PFS_GROW(reader->budget, profile->values, at))
		return pprof_refused(reader);
	profile->values[at] = (int64_t) value;
	reader->values_read++;
	return PFS_READ_OK;
}

/* Adds a label to the last sample: a text, or a number with its unit. */
static PfsReadStatus
pprof_add_label(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsProfileSample *sample = &profile->samples[profile->sample_count - 1];
	uint64_t numbers[LABEL_END];
	PfsReadStatus status = read_numbers(reader, field, numbers, LABEL_END);
	PfsProfileLabel *label;

	if (status != PFS_READ_OK)
		return status;
	if (++reader->labels_read > PFS_PROFILE_MAX_LABELS)
		return pprof_fail(reader, PFS_READ_TOO_LARGE, "sample has too many labels");
	/* the label is neither a text nor a number */
	if (numbers[LABEL_STR] == 0 && numbers[LABEL_NUM] == 0 && numbers[LABEL_NUM_UNIT] == 0)
		return PFS_READ_OK;
	if (!PFS_GROW(reader->budget, profile->labels, profile->label_count))
		return pprof_refused(reader);
	label = &profile->labels[profile->label_count++];
	/* The format has no field for the kind of a label: a label without a text is a number. */
	label->numeric = numbers[LABEL_STR] == 0;
	label->number = label->numeric ? (int64_t) numbers[LABEL_NUM] : 0;
	sample->label_count++;
	status = get_string(reader, numbers[LABEL_KEY], &label->key);
	/* text means the unit of a number, or the value of a text. */
	return status == PFS_READ_OK
			   ? get_string(reader, numbers[label->numeric ? LABEL_NUM_UNIT : LABEL_STR],
							&label->text)
			   : status;
}

static PfsReadStatus
read_sample_field(Reader *reader, const PfsWireField *field)
{
	switch (field->number)
	{
		case SAMPLE_LOCATION_ID:
			return read_list(reader, field, pprof_add_frame);
		case SAMPLE_VALUE:
			return read_list(reader, field, pprof_add_value);
		case SAMPLE_LABEL:
			return pprof_add_label(reader, field);
		default:
			return PFS_READ_OK;
	}
}

static PfsReadStatus
pprof_read_sample(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status;

	if (!PFS_GROW(reader->budget, profile->samples, profile->sample_count))
		return pprof_refused(reader);
	/*
	 * Frames and labels of the sample are appended to arrays that all samples share. They are
	 * contiguous because samples are read one after the other.
	 */
	profile->samples[profile->sample_count++] =
		(PfsProfileSample){ .first_location = profile->location_index_count,
							.first_label = profile->label_count };
	reader->values_read = 0;
	reader->labels_read = 0;
	status = read_message(reader, field, read_sample_field);
	/* Missing values would shift the values of all later samples in the matrix. */
	if (status == PFS_READ_OK && reader->values_read != profile->type_count)
		status = pprof_malformed(reader, "sample does not have one value for each sample type");
	return status;
}

/* --- the whole profile --- */

static PfsReadStatus
find_default_type(Reader *reader)
{
	PfsProfile *profile = reader->profile;
	PfsText name;
	/* Index 0, the empty name, means that the file names no default type. */
	PfsReadStatus status = get_string(reader, reader->default_type, &name);

	for (uint32_t i = 0; status == PFS_READ_OK && i < profile->type_count; i++)
	{
		PfsText type = profile->types[i].type;

		if (profile->default_type == PFS_NONE && name.length > 0 && type.length == name.length &&
			memcmp(type.data, name.data, name.length) == 0)
			profile->default_type = i;
	}
	return status;
}

/* Runs the steps in the comment at the start of this file. */
static PfsReadStatus
pprof_read_all(Reader *reader)
{
	PfsReadStatus status = list_fields(reader);

	/*
	 * Step 2: first the rare kinds of fields in the order of the file, then functions, which have a
	 * list of their own.
	 */
	if (status == PFS_READ_OK)
		status = read_others(reader, read_plain);
	if (status == PFS_READ_OK)
		status = read_list_of(reader, &reader->function_list, pprof_read_function);
	if (status == PFS_READ_OK)
		/* Each pfs_ids_finish() prepares the search by id, and reveals duplicates. */
		status = finish_ids(reader, &reader->mappings, "two mappings have the same id");
	if (status == PFS_READ_OK)
		status = finish_ids(reader, &reader->functions, "two functions have the same id");
	if (status == PFS_READ_OK && reader->profile->type_count == 0)
		status = pprof_malformed(reader, "profile has no sample type");
	if (status == PFS_READ_OK)
		status = find_default_type(reader);
	if (status == PFS_READ_OK)
		status = read_list_of(reader, &reader->location_list, read_location);
	if (status == PFS_READ_OK)
		status = finish_ids(reader, &reader->locations, "two locations have the same id");
	if (status == PFS_READ_OK)
		status = read_list_of(reader, &reader->sample_list, pprof_read_sample);
	return status;
}

static void
release(PfsBudget *budget, void *array)
{
	if (array != NULL)
		budget->allocator.realloc(budget->allocator.context, array, 0);
}

PfsReadStatus
pfs_pprof_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = { .bytes = bytes,
					  .length = length,
					  .profile = profile,
					  .budget = profile->budget,
					  .error = error };
	PfsReadStatus status;

	*error = (PfsReadError){ .message = NULL };
	/* lengths of texts have 32 bits */
	if (length > UINT32_MAX)
		status = pprof_fail(&reader, PFS_READ_TOO_LARGE, "profile is too large");
	else
		status = pprof_read_all(&reader);
	release(reader.budget, reader.strings);
	release(reader.budget, reader.function_list.messages);
	release(reader.budget, reader.location_list.messages);
	release(reader.budget, reader.sample_list.messages);
	release(reader.budget, reader.others);
	release(reader.budget, reader.ranges);
	release(reader.budget, reader.mappings.entries);
	release(reader.budget, reader.functions.entries);
	release(reader.budget, reader.locations.entries);
	return status;
}
