/*
 * pprof_read.c
 *		Bytes of the pprof format to a profile.
 *
 * The profile's fields may come in any order, and refer to each other by index and id. So it is
 * passed over several times; a pass skips what is not its own by its length.
 *
 * 1. Strings are listed.
 * 2. Sample types, mappings, functions and what stands beside samples refer to strings alone.
 * 3. Locations refer to mappings and functions.
 * 4. Samples refer to locations.
 *
 * One message at a time becomes an object, in scratch memory that the next one reuses
 * (pprof_wire.h).
 */
#include <string.h>

#include "formats/id_index.h"
#include "formats/pprof_wire.h"
#include "formats/profile.h"
#include "formats/profile.pb-c.h"

/* What a mapping needs beside its texts while locations are read. */
typedef struct MemoryRange
{
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
} MemoryRange;

typedef struct Reader
{
	const uint8_t *bytes;
	size_t length;
	PfsProfile *profile;
	PfsBudget *budget;
	PfsReadError *error;
	PfsText *strings;
	uint32_t string_count;
	MemoryRange *ranges;
	PfsIdIndex mappings;
	PfsIdIndex functions;
	PfsIdIndex locations;
	size_t offset; /* of the tag of the field that is being read */
	uint64_t default_type;
	PfsMessageArena arena;
} Reader;

static PfsReadStatus
fail(Reader *reader, PfsReadStatus status, const char *message)
{
	*reader->error = (PfsReadError){ message, reader->offset };
	return status;
}

static PfsReadStatus
malformed(Reader *reader, const char *message)
{
	return fail(reader, PFS_READ_MALFORMED, message);
}

static PfsReadStatus
refused(Reader *reader)
{
	reader->error->offset = reader->offset;
	return pfs_budget_status(reader->budget, reader->error);
}

typedef PfsReadStatus (*FieldFn)(Reader *reader, const PfsWireField *field);

static PfsReadStatus
pass_over(Reader *reader, FieldFn function)
{
	PfsReadStatus status = PFS_READ_OK;

	for (size_t at = 0; status == PFS_READ_OK && at < reader->length;)
	{
		PfsWireField field;
		const char *problem;

		pfs_pause(reader->budget->pause);
		reader->offset = at;
		problem = pfs_wire_field(reader->bytes, reader->length, &at, &field);
		status = problem == NULL ? function(reader, &field) : malformed(reader, problem);
	}
	return status;
}

/* The object of a message, which lives until the next call; NULL with the reason in *status. */
static void *
unpack(Reader *reader, const PfsWireField *field, const ProtobufCMessageDescriptor *descriptor,
	   PfsReadStatus *status)
{
	bool is_refused;
	void *message;

	if (field->wire_type != PFS_WIRE_BYTES)
	{
		*status = malformed(reader, "field is no message");
		return NULL;
	}
	message = pfs_wire_message(&reader->arena, field, descriptor, &is_refused);
	if (message == NULL)
		*status = is_refused ? refused(reader) : malformed(reader, "message cannot be decoded");
	return message;
}

static PfsReadStatus
finish_ids(Reader *reader, PfsIdIndex *index, const char *duplicate)
{
	return pfs_ids_finish(index) ? PFS_READ_OK : malformed(reader, duplicate);
}

static PfsReadStatus
add_id(Reader *reader, PfsIdIndex *index, uint64_t id)
{
	if (!pfs_id_add(index, reader->budget, id))
		return refused(reader);
	return id == 0 ? malformed(reader, "id is zero") : PFS_READ_OK;
}

/* First pass: strings */

static PfsReadStatus
read_string(Reader *reader, const PfsWireField *field)
{
	if (field->number != PFS__PPROF__FIELD__STRING_TABLE)
		return PFS_READ_OK;
	if (field->wire_type != PFS_WIRE_BYTES)
		return malformed(reader, "string has no length");
	if (reader->string_count == 0 && field->length != 0)
		return malformed(reader, "first string is not empty");
	if (!PFS_GROW(reader->budget, reader->strings, reader->string_count))
		return refused(reader);
	reader->strings[reader->string_count++] =
		(PfsText){ (const char *) field->bytes, (uint32_t) field->length };
	return PFS_READ_OK;
}

/*
 * The string of an index; an index that is none fails the reader. Index 0 is "", with or without a
 * table.
 */
static PfsReadStatus
get_string(Reader *reader, uint64_t index, PfsText *text)
{
	*text = (PfsText){ "", 0 };
	if (index == 0)
		return PFS_READ_OK;
	if (index >= reader->string_count)
		return malformed(reader, "string index is beyond the table");
	*text = reader->strings[index];
	return PFS_READ_OK;
}

/* Second pass: what refers to strings alone */

static PfsReadStatus
read_value_type(Reader *reader, const PfsWireField *field, PfsValueType *type)
{
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__ValueType *message =
		unpack(reader, field, &pfs__pprof__value_type__descriptor, &status);

	if (message != NULL)
		status = get_string(reader, (uint64_t) message->type, &type->type);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->unit, &type->unit);
	return status;
}

static PfsReadStatus
read_sample_type(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;

	if (!PFS_GROW(reader->budget, profile->types, profile->type_count))
		return refused(reader);
	if (profile->type_count == PFS_PROFILE_MAX_SAMPLE_TYPES)
		return fail(reader, PFS_READ_TOO_LARGE, "too many sample types");
	return read_value_type(reader, field, &profile->types[profile->type_count++]);
}

static PfsReadStatus
read_mapping(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Mapping *message =
		unpack(reader, field, &pfs__pprof__mapping__descriptor, &status);
	PfsProfileMapping *mapping;

	if (message == NULL)
		return status;
	if (!PFS_GROW(reader->budget, profile->mappings, profile->mapping_count) ||
		!PFS_GROW(reader->budget, reader->ranges, profile->mapping_count))
		return refused(reader);
	reader->ranges[profile->mapping_count] =
		(MemoryRange){ message->memory_start, message->memory_limit, message->file_offset };
	mapping = &profile->mappings[profile->mapping_count++];
	status = add_id(reader, &reader->mappings, message->id);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->filename, &mapping->file);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->build_id, &mapping->build_id);
	return status;
}

/* Line numbers have room for 31 bits. */
static PfsReadStatus
get_line(Reader *reader, int64_t line, int32_t *result)
{
	if (line < 0 || line > INT32_MAX)
		return fail(reader, PFS_READ_OUT_OF_RANGE, "line number is out of range");
	*result = (int32_t) line;
	return PFS_READ_OK;
}

static PfsReadStatus
read_function(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Function *message =
		unpack(reader, field, &pfs__pprof__function__descriptor, &status);
	PfsProfileFunction *function;

	if (message == NULL)
		return status;
	if (!PFS_GROW(reader->budget, profile->functions, profile->function_count))
		return refused(reader);
	function = &profile->functions[profile->function_count++];
	*function = (PfsProfileFunction){ 0 };
	status = add_id(reader, &reader->functions, message->id);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->name, &function->name);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->system_name, &function->system_name);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->filename, &function->filename);
	if (status == PFS_READ_OK)
		status = get_line(reader, message->start_line, &function->start_line);
	if (function->name.length == 0)
		function->name = function->system_name;
	return status;
}

static PfsReadStatus
add_comment(Reader *reader, uint64_t index)
{
	PfsProfile *profile = reader->profile;

	if (!PFS_GROW(reader->budget, profile->comments, profile->comment_count))
		return refused(reader);
	return get_string(reader, index, &profile->comments[profile->comment_count++]);
}

/* A list of numbers comes as one run of bytes, or as a field for each. */
static PfsReadStatus
read_comments(Reader *reader, const PfsWireField *field)
{
	PfsReadStatus status = PFS_READ_OK;
	size_t at = 0;

	if (field->wire_type == PFS_WIRE_VARINT)
		return add_comment(reader, field->value);
	while (status == PFS_READ_OK && at < field->length)
	{
		uint64_t index;

		if (!pfs_wire_varint(field->bytes, field->length, &at, &index))
			return malformed(reader, "invalid number");
		status = add_comment(reader, index);
	}
	return status;
}

static PfsReadStatus
read_number(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;

	if (field->wire_type != PFS_WIRE_VARINT)
		return malformed(reader, "field is no number");
	switch (field->number)
	{
		case PFS__PPROF__FIELD__DROP_FRAMES:
			return get_string(reader, field->value, &profile->drop_frames);
		case PFS__PPROF__FIELD__KEEP_FRAMES:
			return get_string(reader, field->value, &profile->keep_frames);
		case PFS__PPROF__FIELD__TIME_NANOS:
			/*
			 * Profiles that follow each other in one file would be read as one with wrong strings.
			 */
			if (profile->time_ns != 0)
				return malformed(reader, "second profile in one file");
			profile->time_ns = (int64_t) field->value;
			break;
		case PFS__PPROF__FIELD__DURATION_NANOS:
			profile->duration_ns = (int64_t) field->value;
			break;
		case PFS__PPROF__FIELD__PERIOD:
			profile->period = (int64_t) field->value;
			break;
		case PFS__PPROF__FIELD__DEFAULT_SAMPLE_TYPE:
			reader->default_type = field->value;
			break;
		default:
			return get_string(reader, field->value, &profile->doc_url);
	}
	return PFS_READ_OK;
}

static PfsReadStatus
read_plain(Reader *reader, const PfsWireField *field)
{
	switch (field->number)
	{
		case PFS__PPROF__FIELD__SAMPLE_TYPE:
			return read_sample_type(reader, field);
		case PFS__PPROF__FIELD__MAPPING:
			return read_mapping(reader, field);
		case PFS__PPROF__FIELD__FUNCTION:
			return read_function(reader, field);
		case PFS__PPROF__FIELD__PERIOD_TYPE:
			return read_value_type(reader, field, &reader->profile->period_type);
		case PFS__PPROF__FIELD__COMMENT:
			return read_comments(reader, field);
		case PFS__PPROF__FIELD__DROP_FRAMES:
		case PFS__PPROF__FIELD__KEEP_FRAMES:
		case PFS__PPROF__FIELD__TIME_NANOS:
		case PFS__PPROF__FIELD__DURATION_NANOS:
		case PFS__PPROF__FIELD__PERIOD:
		case PFS__PPROF__FIELD__DEFAULT_SAMPLE_TYPE:
		case PFS__PPROF__FIELD__DOC_URL:
			return read_number(reader, field);
		default:
			return PFS_READ_OK;
	}
}

/* Third pass: locations */

/* A line without a function says nothing and is left out. */
static PfsReadStatus
read_lines(Reader *reader, const Pfs__Pprof__Location *message, PfsProfileLocation *location)
{
	PfsProfile *profile = reader->profile;

	if (message->n_line > PFS_PROFILE_MAX_LINES)
		return fail(reader, PFS_READ_TOO_LARGE, "location has too many lines");
	location->first_line = profile->line_count;
	for (size_t i = 0; i < message->n_line; i++)
	{
		PfsProfileLine line;
		PfsReadStatus status;

		if (!PFS_GROW(reader->budget, profile->lines, profile->line_count))
			return refused(reader);
		if (message->line[i]->function_id == 0)
			continue;
		line.function = pfs_id_find(&reader->functions, message->line[i]->function_id);
		if (line.function == PFS_NONE)
			return malformed(reader, "location refers to a function that is not there");
		status = get_line(reader, message->line[i]->line, &line.line);
		if (status != PFS_READ_OK)
			return status;
		profile->lines[profile->line_count++] = line;
	}
	location->line_count = profile->line_count - location->first_line;
	return PFS_READ_OK;
}

static PfsReadStatus
read_location(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Location *message;
	PfsProfileLocation *location;

	if (field->number != PFS__PPROF__FIELD__LOCATION)
		return PFS_READ_OK;
	message = unpack(reader, field, &pfs__pprof__location__descriptor, &status);
	if (message == NULL)
		return status;
	if (!PFS_GROW(reader->budget, profile->locations, profile->location_count))
		return refused(reader);
	location = &profile->locations[profile->location_count];
	status = add_id(reader, &reader->locations, message->id);
	if (status != PFS_READ_OK)
		return status;
	*location = (PfsProfileLocation){ .mapping = PFS_NONE, .address = message->address };
	if (message->mapping_id != 0)
	{
		const MemoryRange *range;

		location->mapping = pfs_id_find(&reader->mappings, message->mapping_id);
		if (location->mapping == PFS_NONE)
			return malformed(reader, "location refers to a mapping that is not there");
		range = &reader->ranges[location->mapping];
		location->address =
			pfs_file_address(message->address, range->start, range->limit, range->offset);
	}
	profile->location_count++;
	return read_lines(reader, message, location);
}

/* Fourth pass: samples */

static PfsReadStatus
read_stack(Reader *reader, const Pfs__Pprof__Sample *message, PfsProfileSample *sample)
{
	PfsProfile *profile = reader->profile;

	if (message->n_location_id > PFS_PROFILE_MAX_DEPTH)
		return fail(reader, PFS_READ_TOO_LARGE, "stack has too many frames");
	sample->first_location = profile->location_index_count;
	sample->location_count = (uint32_t) message->n_location_id;
	for (size_t i = 0; i < message->n_location_id; i++)
	{
		uint32_t location = pfs_id_find(&reader->locations, message->location_id[i]);

		if (location == PFS_NONE)
			return malformed(reader, "sample refers to a location that is not there");
		if (!PFS_GROW(reader->budget, profile->location_indexes, profile->location_index_count))
			return refused(reader);
		profile->location_indexes[profile->location_index_count++] = location;
	}
	return PFS_READ_OK;
}

static PfsReadStatus
read_labels(Reader *reader, const Pfs__Pprof__Sample *message, PfsProfileSample *sample)
{
	PfsProfile *profile = reader->profile;

	if (message->n_label > PFS_PROFILE_MAX_LABELS)
		return fail(reader, PFS_READ_TOO_LARGE, "sample has too many labels");
	sample->first_label = profile->label_count;
	sample->label_count = 0;
	for (size_t i = 0; i < message->n_label; i++)
	{
		const Pfs__Pprof__Label *from = message->label[i];
		PfsProfileLabel *label;
		PfsReadStatus status;

		if (!PFS_GROW(reader->budget, profile->labels, profile->label_count))
			return refused(reader);
		/* neither a text nor a number */
		if (from->str == 0 && from->num == 0 && from->num_unit == 0)
			continue;
		label = &profile->labels[profile->label_count];
		label->numeric = from->str == 0;
		label->number = label->numeric ? from->num : 0;
		status = get_string(reader, (uint64_t) from->key, &label->key);
		if (status == PFS_READ_OK)
			status = get_string(reader, (uint64_t) (label->numeric ? from->num_unit : from->str),
								&label->text);
		if (status != PFS_READ_OK)
			return status;
		profile->label_count++;
		sample->label_count++;
	}
	return PFS_READ_OK;
}

static PfsReadStatus
read_sample(Reader *reader, const PfsWireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Sample *message;
	PfsProfileSample *sample;
	size_t value_count = (size_t) profile->sample_count * profile->type_count;

	if (field->number != PFS__PPROF__FIELD__SAMPLE)
		return PFS_READ_OK;
	message = unpack(reader, field, &pfs__pprof__sample__descriptor, &status);
	if (message == NULL)
		return status;
	if (message->n_value != profile->type_count)
		return malformed(reader, "sample does not have one value for each sample type");
	if (!PFS_GROW(reader->budget, profile->samples, profile->sample_count))
		return refused(reader);
	for (size_t i = 0; i < message->n_value; i++)
	{
		if (!PFS_GROW(reader->budget, profile->values, value_count + i))
			return refused(reader);
		profile->values[value_count + i] = message->value[i];
	}
	sample = &profile->samples[profile->sample_count++];
	sample->time_offset_ns = 0;
	status = read_stack(reader, message, sample);
	return status == PFS_READ_OK ? read_labels(reader, message, sample) : status;
}

/* All passes */

static PfsReadStatus
find_default_type(Reader *reader)
{
	PfsProfile *profile = reader->profile;
	PfsText name;
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

static PfsReadStatus
read_all(Reader *reader)
{
	PfsReadStatus status = pass_over(reader, read_string);

	if (status == PFS_READ_OK)
		status = pass_over(reader, read_plain);
	if (status == PFS_READ_OK)
		status = finish_ids(reader, &reader->mappings, "two mappings have the same id");
	if (status == PFS_READ_OK)
		status = finish_ids(reader, &reader->functions, "two functions have the same id");
	if (status == PFS_READ_OK && reader->profile->type_count == 0)
		status = malformed(reader, "profile has no sample type");
	if (status == PFS_READ_OK)
		status = find_default_type(reader);
	if (status == PFS_READ_OK)
		status = pass_over(reader, read_location);
	if (status == PFS_READ_OK)
		status = finish_ids(reader, &reader->locations, "two locations have the same id");
	if (status == PFS_READ_OK)
		status = pass_over(reader, read_sample);
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
					  .error = error,
					  .arena = { .budget = profile->budget } };
	PfsReadStatus status;

	*error = (PfsReadError){ NULL, 0 };
	/* Texts have lengths of 32 bits, the rest follows. */
	if (length > UINT32_MAX)
		status = fail(&reader, PFS_READ_TOO_LARGE, "profile is too large");
	else
		status = read_all(&reader);
	release(reader.budget, reader.strings);
	release(reader.budget, reader.ranges);
	release(reader.budget, reader.mappings.entries);
	release(reader.budget, reader.functions.entries);
	release(reader.budget, reader.locations.entries);
	release(reader.budget, reader.arena.memory);
	return status;
}
