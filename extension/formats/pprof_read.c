/*
 * pprof_read.c
 *		Bytes of the pprof format to a profile.
 *
 * The profile's fields may come in any order, and refer to each other by index and id, so it is passed over several times:
 * strings; types, functions and mappings; locations; samples. A pass skips what is not its own by its length.
 * One message at a time becomes an object, in scratch memory that the next one reuses.
 */
#include "formats/profile.h"

#include <stdlib.h>
#include <string.h>

#include "formats/profile.pb-c.h"

#define WIRE_VARINT	 0
#define WIRE_64_BITS 1
#define WIRE_BYTES	 2
#define WIRE_32_BITS 5

/* Numbers of the profile's own fields are shifted by this in a tag. */
#define TAG_SHIFT 3

/* One field of the profile: its number, and a number or bytes. */
typedef struct WireField
{
	uint64_t number;
	unsigned wire_type;
	uint64_t value;
	const uint8_t *bytes;
	size_t length;
	size_t offset; /* of its tag */
} WireField;

/* Ids of one kind of message, to find its index: sorted by id unless ids are 1, 2, 3 … */
typedef struct IdEntry
{
	uint64_t id;
	uint32_t index;
} IdEntry;

typedef struct IdIndex
{
	IdEntry *entries;
	uint32_t count;
	bool dense;
} IdIndex;

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
	IdIndex mappings;
	IdIndex functions;
	IdIndex locations;
	size_t offset; /* of the field that is being read */
	uint64_t default_type;
	uint8_t *scratch;
	size_t scratch_size;
	size_t scratch_used;
	size_t scratch_wanted; /* what a message needed beyond it */
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

/* --- fields ------------------------------------------------------------------------------------------------------ */

/* Reads a varint at *at; false at the end of the bytes, or beyond 64 bits. */
static bool
read_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && *at < length; shift += 7)
	{
		uint8_t byte = bytes[(*at)++];

		if (shift == 63 && byte > 1)
			return false;
		*value |= (uint64_t) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return true;
	}
	return false;
}

/* The next field of the profile; *at moves behind it. */
static PfsReadStatus
next_field(Reader *reader, size_t *at, WireField *field)
{
	uint64_t tag;

	field->offset = reader->offset = *at;
	if (!read_varint(reader->bytes, reader->length, at, &tag) || tag >> TAG_SHIFT == 0)
		return malformed(reader, "invalid field tag");
	field->number = tag >> TAG_SHIFT;
	field->wire_type = tag & ((1 << TAG_SHIFT) - 1);
	field->bytes = NULL;
	field->length = 0;
	switch (field->wire_type)
	{
		case WIRE_VARINT:
			if (!read_varint(reader->bytes, reader->length, at, &field->value))
				return malformed(reader, "invalid number");
			return PFS_READ_OK;
		case WIRE_BYTES:
			if (!read_varint(reader->bytes, reader->length, at, &field->value))
				return malformed(reader, "invalid length");
			break;
		case WIRE_64_BITS:
			field->value = 8;
			break;
		case WIRE_32_BITS:
			field->value = 4;
			break;
		default:
			return malformed(reader, "unknown wire type");
	}
	if (field->value > reader->length - *at)
		return malformed(reader, "field extends beyond the end");
	field->bytes = reader->bytes + *at;
	field->length = (size_t) field->value;
	*at += field->length;
	return PFS_READ_OK;
}

typedef PfsReadStatus (*FieldFn)(Reader *reader, const WireField *field);

static PfsReadStatus
pass_over(Reader *reader, FieldFn function)
{
	size_t at = 0;

	while (at < reader->length)
	{
		WireField field;
		PfsReadStatus status;

		pfs_pause(reader->budget->pause);
		status = next_field(reader, &at, &field);
		if (status == PFS_READ_OK)
			status = function(reader, &field);
		if (status != PFS_READ_OK)
			return status;
	}
	return PFS_READ_OK;
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static void *
scratch_alloc(void *context, size_t bytes)
{
	Reader *reader = context;
	size_t aligned = (bytes + 16) & ~(size_t) 15;
	uint8_t *memory;

	if (aligned < bytes || aligned > reader->scratch_size - reader->scratch_used)
	{
		reader->scratch_wanted = aligned;
		return NULL;
	}
	memory = reader->scratch + reader->scratch_used;
	reader->scratch_used += aligned;
	return memory;
}

static void
scratch_free(void *context, void *memory)
{
}

/*
 * Makes an object of a message, NULL with the reason in *status where it is none. The object lives until the next call.
 * Where scratch memory does not do, it doubles and the message is read anew.
 */
static void *
unpack(Reader *reader, const WireField *field, const ProtobufCMessageDescriptor *descriptor,
	   PfsReadStatus *status)
{
	ProtobufCAllocator allocator = { scratch_alloc, scratch_free, reader };

	if (field->wire_type != WIRE_BYTES)
	{
		*status = malformed(reader, "field is no message");
		return NULL;
	}
	for (;;)
	{
		void *message;
		size_t added;
		uint8_t *grown;

		reader->scratch_used = 0;
		reader->scratch_wanted = 0;
		message = protobuf_c_message_unpack(descriptor, &allocator, field->length, field->bytes);
		if (message != NULL)
			return message;
		if (reader->scratch_wanted == 0)
		{
			*status = malformed(reader, "message cannot be decoded");
			return NULL;
		}
		added = reader->scratch_size + reader->scratch_wanted;
		if (added > reader->budget->left)
		{
			reader->budget->exhausted = true;
			*status = refused(reader);
			return NULL;
		}
		grown = reader->budget->allocator.realloc(reader->budget->allocator.context,
												  reader->scratch, reader->scratch_size + added);
		if (grown == NULL)
		{
			*status = refused(reader);
			return NULL;
		}
		reader->budget->left -= added;
		reader->scratch = grown;
		reader->scratch_size += added;
	}
}

/* --- ids --------------------------------------------------------------------------------------------------------- */

static PfsReadStatus
add_id(Reader *reader, IdIndex *index, uint64_t id)
{
	IdEntry *entries = pfs_grow(reader->budget, index->entries, index->count, sizeof(IdEntry));

	if (entries == NULL)
		return refused(reader);
	index->entries = entries;
	if (id == 0)
		return malformed(reader, "id is zero");
	entries[index->count] = (IdEntry){ id, index->count };
	index->count++;
	return PFS_READ_OK;
}

static int
compare_ids(const void *a, const void *b)
{
	uint64_t left = ((const IdEntry *) a)->id;
	uint64_t right = ((const IdEntry *) b)->id;

	return (left > right) - (left < right);
}

static PfsReadStatus
finish_ids(Reader *reader, IdIndex *index, const char *duplicate)
{
	index->dense = true;
	for (uint32_t i = 0; i < index->count && index->dense; i++)
		index->dense = index->entries[i].id == (uint64_t) i + 1;
	if (index->dense)
		return PFS_READ_OK;
	qsort(index->entries, index->count, sizeof(IdEntry), compare_ids);
	for (uint32_t i = 1; i < index->count; i++)
		if (index->entries[i].id == index->entries[i - 1].id)
			return malformed(reader, duplicate);
	return PFS_READ_OK;
}

/* Index of an id, PFS_NONE where there is no such id. */
static uint32_t
find_id(const IdIndex *index, uint64_t id)
{
	IdEntry key = { id, 0 };
	const IdEntry *entry;

	if (index->dense)
		return id >= 1 && id <= index->count ? (uint32_t) id - 1 : PFS_NONE;
	entry = bsearch(&key, index->entries, index->count, sizeof(IdEntry), compare_ids);
	return entry == NULL ? PFS_NONE : entry->index;
}

/* --- first pass: strings ----------------------------------------------------------------------------------------- */

static PfsReadStatus
read_string(Reader *reader, const WireField *field)
{
	PfsText *strings;

	if (field->number != PFS__PPROF__FIELD__STRING_TABLE)
		return PFS_READ_OK;
	if (field->wire_type != WIRE_BYTES)
		return malformed(reader, "string has no length");
	if (reader->string_count == 0 && field->length != 0)
		return malformed(reader, "first string is not empty");
	strings = pfs_grow(reader->budget, reader->strings, reader->string_count, sizeof(PfsText));
	if (strings == NULL)
		return refused(reader);
	reader->strings = strings;
	strings[reader->string_count++] =
		(PfsText){ (const char *) field->bytes, (uint32_t) field->length };
	return PFS_READ_OK;
}

/* The string of an index; an index that is none fails the reader. Index 0 is "", with or without a table. */
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

/* --- second pass: what refers to strings alone -------------------------------------------------------------------- */

static PfsReadStatus
read_value_type(Reader *reader, const WireField *field, PfsValueType *type)
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
read_sample_type(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsValueType *types =
		pfs_grow(reader->budget, profile->types, profile->type_count, sizeof(PfsValueType));

	if (types == NULL)
		return refused(reader);
	profile->types = types;
	if (profile->type_count == PFS_PROFILE_MAX_SAMPLE_TYPES)
		return fail(reader, PFS_READ_TOO_LARGE, "too many sample types");
	return read_value_type(reader, field, &types[profile->type_count++]);
}

static PfsReadStatus
read_mapping(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Mapping *message =
		unpack(reader, field, &pfs__pprof__mapping__descriptor, &status);
	PfsProfileMapping *mappings;
	MemoryRange *ranges;

	if (message == NULL)
		return status;
	mappings = pfs_grow(reader->budget, profile->mappings, profile->mapping_count,
						sizeof(PfsProfileMapping));
	if (mappings == NULL)
		return refused(reader);
	profile->mappings = mappings;
	ranges = pfs_grow(reader->budget, reader->ranges, profile->mapping_count, sizeof(MemoryRange));
	if (ranges == NULL)
		return refused(reader);
	reader->ranges = ranges;
	ranges[profile->mapping_count] =
		(MemoryRange){ message->memory_start, message->memory_limit, message->file_offset };
	mappings += profile->mapping_count;
	status = add_id(reader, &reader->mappings, message->id);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->filename, &mappings->file);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->build_id, &mappings->build_id);
	profile->mapping_count++;
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
read_function(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Function *message =
		unpack(reader, field, &pfs__pprof__function__descriptor, &status);
	PfsProfileFunction *functions;

	if (message == NULL)
		return status;
	functions = pfs_grow(reader->budget, profile->functions, profile->function_count,
						 sizeof(PfsProfileFunction));
	if (functions == NULL)
		return refused(reader);
	profile->functions = functions;
	functions += profile->function_count;
	status = add_id(reader, &reader->functions, message->id);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->name, &functions->name);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->system_name, &functions->system_name);
	if (status == PFS_READ_OK)
		status = get_string(reader, (uint64_t) message->filename, &functions->filename);
	if (status == PFS_READ_OK)
		status = get_line(reader, message->start_line, &functions->start_line);
	if (functions->name.length == 0)
		functions->name = functions->system_name;
	profile->function_count++;
	return status;
}

static PfsReadStatus
add_comment(Reader *reader, uint64_t index)
{
	PfsProfile *profile = reader->profile;
	PfsText *comments =
		pfs_grow(reader->budget, profile->comments, profile->comment_count, sizeof(PfsText));

	if (comments == NULL)
		return refused(reader);
	profile->comments = comments;
	return get_string(reader, index, &comments[profile->comment_count++]);
}

/* A list of numbers comes as one run of bytes, or as a field for each. */
static PfsReadStatus
read_comments(Reader *reader, const WireField *field)
{
	PfsReadStatus status = PFS_READ_OK;
	size_t at = 0;

	if (field->wire_type == WIRE_VARINT)
		return add_comment(reader, field->value);
	while (status == PFS_READ_OK && at < field->length)
	{
		uint64_t index;

		if (!read_varint(field->bytes, field->length, &at, &index))
			return malformed(reader, "invalid number");
		status = add_comment(reader, index);
	}
	return status;
}

static PfsReadStatus
read_number(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;

	if (field->wire_type != WIRE_VARINT)
		return malformed(reader, "field is no number");
	switch (field->number)
	{
		case PFS__PPROF__FIELD__DROP_FRAMES:
			return get_string(reader, field->value, &profile->drop_frames);
		case PFS__PPROF__FIELD__KEEP_FRAMES:
			return get_string(reader, field->value, &profile->keep_frames);
		case PFS__PPROF__FIELD__TIME_NANOS:
			/* Profiles that follow each other in one file would be read as one with wrong strings. */
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
read_plain(Reader *reader, const WireField *field)
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

/* --- third pass: locations --------------------------------------------------------------------------------------- */

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
		PfsProfileLine *lines =
			pfs_grow(reader->budget, profile->lines, profile->line_count, sizeof(PfsProfileLine));
		PfsProfileLine line;
		PfsReadStatus status;

		if (lines == NULL)
			return refused(reader);
		profile->lines = lines;
		if (message->line[i]->function_id == 0)
			continue;
		line.function = find_id(&reader->functions, message->line[i]->function_id);
		if (line.function == PFS_NONE)
			return malformed(reader, "location refers to a function that is not there");
		status = get_line(reader, message->line[i]->line, &line.line);
		if (status != PFS_READ_OK)
			return status;
		lines[profile->line_count++] = line;
	}
	location->line_count = profile->line_count - location->first_line;
	return PFS_READ_OK;
}

static PfsReadStatus
read_location(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Location *message;
	PfsProfileLocation *locations;

	if (field->number != PFS__PPROF__FIELD__LOCATION)
		return PFS_READ_OK;
	message = unpack(reader, field, &pfs__pprof__location__descriptor, &status);
	if (message == NULL)
		return status;
	locations = pfs_grow(reader->budget, profile->locations, profile->location_count,
						 sizeof(PfsProfileLocation));
	if (locations == NULL)
		return refused(reader);
	profile->locations = locations;
	locations += profile->location_count;
	status = add_id(reader, &reader->locations, message->id);
	if (status != PFS_READ_OK)
		return status;
	*locations = (PfsProfileLocation){ .mapping = PFS_NONE, .address = message->address };
	if (message->mapping_id != 0)
	{
		const MemoryRange *range;

		locations->mapping = find_id(&reader->mappings, message->mapping_id);
		if (locations->mapping == PFS_NONE)
			return malformed(reader, "location refers to a mapping that is not there");
		range = &reader->ranges[locations->mapping];
		locations->address =
			pfs_file_address(message->address, range->start, range->limit, range->offset);
	}
	profile->location_count++;
	return read_lines(reader, message, locations);
}

/* --- fourth pass: samples ---------------------------------------------------------------------------------------- */

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
		uint32_t *indexes = pfs_grow(reader->budget, profile->location_indexes,
									 profile->location_index_count, sizeof(uint32_t));

		if (indexes == NULL)
			return refused(reader);
		profile->location_indexes = indexes;
		indexes[profile->location_index_count] =
			find_id(&reader->locations, message->location_id[i]);
		if (indexes[profile->location_index_count] == PFS_NONE)
			return malformed(reader, "sample refers to a location that is not there");
		profile->location_index_count++;
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
		PfsProfileLabel *labels = pfs_grow(reader->budget, profile->labels, profile->label_count,
										   sizeof(PfsProfileLabel));
		PfsProfileLabel *label;
		PfsReadStatus status;

		if (labels == NULL)
			return refused(reader);
		profile->labels = labels;
		/* neither a text nor a number */
		if (from->str == 0 && from->num == 0 && from->num_unit == 0)
			continue;
		label = &labels[profile->label_count];
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
read_sample(Reader *reader, const WireField *field)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;
	const Pfs__Pprof__Sample *message;
	PfsProfileSample *samples;
	size_t value_count = (size_t) profile->sample_count * profile->type_count;

	if (field->number != PFS__PPROF__FIELD__SAMPLE)
		return PFS_READ_OK;
	message = unpack(reader, field, &pfs__pprof__sample__descriptor, &status);
	if (message == NULL)
		return status;
	if (message->n_value != profile->type_count)
		return malformed(reader, "sample does not have one value for each sample type");
	samples =
		pfs_grow(reader->budget, profile->samples, profile->sample_count, sizeof(PfsProfileSample));
	if (samples == NULL)
		return refused(reader);
	profile->samples = samples;
	for (size_t i = 0; i < message->n_value; i++)
	{
		int64_t *values =
			pfs_grow(reader->budget, profile->values, value_count + i, sizeof(int64_t));

		if (values == NULL)
			return refused(reader);
		profile->values = values;
		values[value_count + i] = message->value[i];
	}
	samples += profile->sample_count++;
	samples->time_offset_ns = 0;
	status = read_stack(reader, message, samples);
	return status == PFS_READ_OK ? read_labels(reader, message, samples) : status;
}

/* --- all passes -------------------------------------------------------------------------------------------------- */

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

PfsReadStatus
pfs_pprof_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = { .bytes = bytes,
					  .length = length,
					  .profile = profile,
					  .budget = profile->budget,
					  .error = error };
	PfsAllocator allocator = reader.budget->allocator;
	PfsReadStatus status;

	*error = (PfsReadError){ NULL, 0 };
	/* Texts have lengths of 32 bits, the rest follows. */
	if (length > UINT32_MAX)
		status = fail(&reader, PFS_READ_TOO_LARGE, "profile is too large");
	else
		status = read_all(&reader);

	{
		void *arrays[] = { reader.strings,			 reader.ranges,
						   reader.mappings.entries,	 reader.functions.entries,
						   reader.locations.entries, reader.scratch };

		for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
			if (arrays[i] != NULL)
				allocator.realloc(allocator.context, arrays[i], 0);
	}
	return status;
}
