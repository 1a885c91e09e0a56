/*
 * profile_subset.c
 *		Resolves locations of a pprof profile to names, and compares stacks with a call site.
 *
 * In profiles that the extension writes, ids count from 1, so tables are arrays indexed by id. A
 * profile with other ids is treated as malformed.
 */
#include "serve/profile_subset.h"

#include "http_server/protobuf.h"

enum
{
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	SAMPLE_LOCATIONS = 1,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	FUNCTION_ID = 1,
	FUNCTION_NAME_INDEX = 2,
	LINE_FUNCTION_ID = 1
};

typedef struct Subset
{
	MemoryShare *share;
	Span *strings;
	size_t string_count;
	uint64_t *functions; /* index of each function's name, by id - 1 */
	size_t function_count;
	Span *locations; /* message of each location, by id - 1 */
	size_t location_count;
	uint64_t *stack; /* ids of the locations of one sample, leaf first */
	size_t stack_capacity;
	const Span *names;
	size_t name_count;
} Subset;

static void *
subset_array(Subset *subset, void *array, size_t count, size_t item_bytes)
{
	/* A size of 0 would free the array, and NULL would mean that memory is short. */
	return share_realloc(subset->share, array, (count > 0 ? count : 1) * item_bytes);
}

/* Counts the profile's strings, functions and locations, and allocates arrays for them. */
static SubsetEnd
subset_allocate(Subset *subset, Span profile)
{
	Message walk = message_of(profile);

	while (message_next(&walk))
	{
		subset->string_count += field_is_message(&walk.field, PROFILE_STRING);
		subset->function_count += field_is_message(&walk.field, PROFILE_FUNCTION);
		subset->location_count += field_is_message(&walk.field, PROFILE_LOCATION);
	}
	if (walk.error != NULL)
		return SUBSET_MALFORMED;
	subset->strings = subset_array(subset, NULL, subset->string_count, sizeof(Span));
	subset->functions = subset_array(subset, NULL, subset->function_count, sizeof(uint64_t));
	subset->locations = subset_array(subset, NULL, subset->location_count, sizeof(Span));
	return subset->strings != NULL && subset->functions != NULL && subset->locations != NULL
			   ? SUBSET_OK
			   : SUBSET_NO_MEMORY;
}

static uint64_t
subset_number(Span message, unsigned number)
{
	Message walk = message_of(message);
	uint64_t value = 0;

	while (message_next(&walk))
		if (field_is_number(&walk.field, number))
			value = walk.field.value;
	return value;
}

/* Reads the profile's tables of strings, functions and locations. */
static SubsetEnd
subset_read_tables(Subset *subset, Span profile)
{
	Message walk = message_of(profile);
	size_t strings = 0;
	size_t functions = 0;
	size_t locations = 0;

	/* subset_allocate() has walked over these fields, so each row has its place. */
	while (message_next(&walk))
	{
		const Span row = field_span(&walk.field);

		if (field_is_message(&walk.field, PROFILE_STRING))
			subset->strings[strings++] = row;
		else if (field_is_message(&walk.field, PROFILE_FUNCTION))
		{
			subset->functions[functions++] = subset_number(row, FUNCTION_NAME_INDEX);
			if (subset_number(row, FUNCTION_ID) != functions)
				return SUBSET_MALFORMED;
		}
		else if (field_is_message(&walk.field, PROFILE_LOCATION))
		{
			subset->locations[locations++] = row;
			if (subset_number(row, LOCATION_ID) != locations)
				return SUBSET_MALFORMED;
		}
	}
	return SUBSET_OK;
}

static bool
subset_is_function(const Subset *subset, uint64_t id, Span name)
{
	uint64_t index;

	if (id == 0 || id > subset->function_count)
		return false;
	index = subset->functions[id - 1];
	return index < subset->string_count && subset->strings[index].length == name.length &&
		   memcmp(subset->strings[index].bytes, name.bytes, name.length) == 0;
}

/*
 * Compares the functions of a location with the names, beginning with index *matched. The last line
 * of a location is its outermost function. Returns false if a name differs, or if the location has
 * no function.
 */
static bool
subset_match_location(const Subset *subset, uint64_t id, size_t *matched)
{
	uint64_t lines[64]; /* compilers nest fewer inlined calls */
	size_t count = 0;
	Message walk;

	if (id == 0 || id > subset->location_count)
		return false;
	walk = message_of(subset->locations[id - 1]);
	while (message_next(&walk) && count < sizeof(lines) / sizeof(lines[0]))
		if (field_is_message(&walk.field, LOCATION_LINE))
			lines[count++] = subset_number(field_span(&walk.field), LINE_FUNCTION_ID);
	if (count == 0)
		return false;
	while (count > 0 && *matched < subset->name_count)
	{
		if (!subset_is_function(subset, lines[--count], subset->names[*matched]))
			return false;
		(*matched)++;
	}
	return true;
}

/* Reads the ids of a sample's locations. */
static SubsetEnd
subset_read_stack(Subset *subset, Span sample, size_t *length)
{
	Message walk = message_of(sample);
	const char *error = NULL;

	*length = 0;
	while (message_next(&walk))
	{
		uint64_t id = walk.field.value;
		size_t at = 0;

		if (walk.field.number != SAMPLE_LOCATIONS)
			continue;
		/* A number that is not packed is a list of one. */
		while (walk.field.wire_type == PFS_WIRE_VARINT
				   ? at++ == 0
				   : packed_next(&walk.field, false, &at, &id, &error))
		{
			if (*length == subset->stack_capacity)
			{
				const size_t capacity = subset->stack_capacity * 2 + 64;
				uint64_t *stack = subset_array(subset, subset->stack, capacity, sizeof(uint64_t));

				if (stack == NULL)
					return SUBSET_NO_MEMORY;
				subset->stack = stack;
				subset->stack_capacity = capacity;
			}
			subset->stack[(*length)++] = id;
		}
	}
	return error == NULL && walk.error == NULL ? SUBSET_OK : SUBSET_MALFORMED;
}

/* Determines whether a sample's stack begins with the names. */
static SubsetEnd
subset_takes(Subset *subset, Span sample, bool *is_taken)
{
	size_t matched = 0;
	size_t length;
	const SubsetEnd end = subset_read_stack(subset, sample, &length);

	*is_taken = true;
	/* Stacks are stored leaf first, and the names begin at the root. */
	while (end == SUBSET_OK && *is_taken && matched < subset->name_count)
	{
		if (length == 0)
			*is_taken = false;
		else
			*is_taken = subset_match_location(subset, subset->stack[--length], &matched);
	}
	return end;
}

/* Appends all fields of the profile except samples that are not selected. */
static SubsetEnd
subset_copy(Subset *subset, Span profile, Buffer *out)
{
	Message walk = message_of(profile);
	SubsetEnd end = SUBSET_OK;
	size_t begin = 0;

	while (end == SUBSET_OK && message_next(&walk))
	{
		bool is_taken = true;

		if (field_is_message(&walk.field, PROFILE_SAMPLE))
			end = subset_takes(subset, field_span(&walk.field), &is_taken);
		/* Fields are copied as bytes, so that fields of newer versions are kept. */
		if (is_taken)
			buffer_put_bytes(out, profile.bytes + begin, walk.at - begin);
		begin = walk.at;
	}
	return out->failed ? SUBSET_NO_MEMORY : end;
}

SubsetEnd
profile_subset(Span profile, const Span *names, size_t count, MemoryShare *share, Buffer *out)
{
	Subset subset = { .share = share, .names = names, .name_count = count };
	SubsetEnd end = subset_allocate(&subset, profile);

	if (end == SUBSET_OK)
		end = subset_read_tables(&subset, profile);
	if (end == SUBSET_OK)
		end = subset_copy(&subset, profile, out);
	share_realloc(share, subset.strings, 0);
	share_realloc(share, subset.functions, 0);
	share_realloc(share, subset.locations, 0);
	share_realloc(share, subset.stack, 0);
	return end;
}
