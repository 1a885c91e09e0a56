/*
 * profile_stacks.c
 *		Finds the ids of mappings, then of functions, locations, and at last stacks.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/intern/intern_arrays.h"
#include "import/known_ids.h"
#include "import/profile_stacks.h"
#include "import/profile_text.h"
#include "import/sample_labels.h"
#include "import/writer_calls.h"

/* The ids found so far. */
typedef struct Stacks
{
	const PfsImport *import;
	const PfsProfile *profile;
	const int32 *mapping_ids;
	const int32 *function_ids;
	const int32 *location_ids;
} Stacks;

/* Makes an int4[] of count zeros; *elements points into it. */
static Datum
make_int4_array(Size count, int32 **elements)
{
	ArrayType *array;

	if (!AllocSizeIsValid(ARR_OVERHEAD_NONULLS(1) + count * sizeof(int32)))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("profile has too many frames"),
				 errdetail("Its stacks have %zu frames together.", count)));
	array = pfs_array_make((uint32) count, INT4OID, sizeof(int32));
	*elements = (int32 *) ARR_DATA_PTR(array);
	return PointerGetDatum(array);
}

static void
stacks_put_text(StringInfo content, PfsText text)
{
	appendBinaryStringInfo(content, (const char *) &text.length, sizeof(text.length));
	appendBinaryStringInfo(content, text.data, (int) text.length);
}

static void
put_int(StringInfo content, int32 number)
{
	appendBinaryStringInfo(content, (const char *) &number, sizeof(number));
}

/* Mappings */

static void
put_mapping(StringInfo content, const void *context, uint32 item)
{
	const PfsProfileMapping *mapping = &((const Stacks *) context)->profile->mappings[item];

	stacks_put_text(content, mapping->build_id);
	stacks_put_text(content, mapping->file);
}

/* Interns some mappings of the profile. Returns their ids, in the order of items. */
static const int32 *
intern_mappings(const void *context, const uint32 *items, uint32 count)
{
	const Stacks *stacks = context;
	Datum *build_ids = PFS_ARRAY(Datum, count);
	Datum *files = PFS_ARRAY(Datum, count);
	Oid types[] = { TEXTARRAYOID, TEXTARRAYOID };

	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileMapping *mapping = &stacks->profile->mappings[items[i]];

		build_ids[i] = pfs_import_text_datum(stacks->import, mapping->build_id);
		files[i] = pfs_import_text_datum(stacks->import, mapping->file);
	}
	return pfs_writer_ids("SELECT profstore.intern_mappings($1, $2)", lengthof(types), types,
						  (Datum[]){ pfs_varlena_array(build_ids, count, TEXTOID),
									 pfs_varlena_array(files, count, TEXTOID) },
						  count);
}

/* Functions */

static void
put_function(StringInfo content, const void *context, uint32 item)
{
	const PfsProfileFunction *function = &((const Stacks *) context)->profile->functions[item];

	put_int(content, function->start_line);
	stacks_put_text(content, function->name);
	stacks_put_text(content, function->system_name);
	stacks_put_text(content, function->filename);
}

/*
 * Interns some functions of the profile by profstore.intern_functions(). Returns their ids, in the
 * order of items.
 */
static const int32 *
intern_functions(const void *context, const uint32 *items, uint32 count)
{
	const Stacks *stacks = context;
	Datum *texts[3];
	int32 *start_lines;
	Oid types[] = { TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT4ARRAYOID };
	Datum values[4];

	for (int i = 0; i < 3; i++)
		texts[i] = PFS_ARRAY(Datum, count);
	values[3] = make_int4_array(count, &start_lines);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileFunction *function = &stacks->profile->functions[items[i]];

		texts[0][i] = pfs_import_text_datum(stacks->import, function->name);
		texts[1][i] = pfs_import_text_datum(stacks->import, function->system_name);
		texts[2][i] = pfs_import_text_datum(stacks->import, function->filename);
		start_lines[i] = function->start_line;
	}
	for (int i = 0; i < 3; i++)
		values[i] = pfs_varlena_array(texts[i], count, TEXTOID);
	return pfs_writer_ids("SELECT profstore.intern_functions($1, $2, $3, $4)", lengthof(types),
						  types, values, count);
}

/* Locations */

static int32
mapping_id(const Stacks *stacks, const PfsProfileLocation *location)
{
	return location->mapping == PFS_NONE ? 0 : stacks->mapping_ids[location->mapping];
}

static void
put_location(StringInfo content, const void *context, uint32 item)
{
	const Stacks *stacks = context;
	const PfsProfileLocation *location = &stacks->profile->locations[item];
	const PfsProfileLine *lines = &stacks->profile->lines[location->first_line];

	put_int(content, mapping_id(stacks, location));
	appendBinaryStringInfo(content, (const char *) &location->address, sizeof(location->address));
	for (uint32 i = 0; i < location->line_count; i++)
	{
		put_int(content, stacks->function_ids[lines[i].function]);
		put_int(content, lines[i].line);
	}
}

/*
 * Returns the line to store. pprof has no mark for a function that is named by its start because it
 * has no symbol, so the mark is restored from the keys in its system name. Without the mark the
 * function would rank as high as one with a symbol.
 */
static int32
line_to_store(const PfsProfile *profile, const PfsProfileLocation *location,
			  const PfsProfileLine *line)
{
	const PfsProfileFunction *function = &profile->functions[line->function];
	PfsText name = function->name;
	PfsText keys = function->system_name;
	bool is_unnamed = location->line_count == 1 && line->line == 0 && keys.length > name.length &&
					  keys.data[name.length] == '#' &&
					  memcmp(keys.data, name.data, name.length) == 0 &&
					  memmem(name.data, name.length, "+0x", 3) != NULL;

	return is_unnamed ? PFS_LINE_UNNAMED : line->line;
}

static Size
count_lines(const PfsProfile *profile, const uint32 *items, uint32 count)
{
	Size line_count = 0;

	for (uint32 i = 0; i < count; i++)
		line_count += profile->locations[items[i]].line_count;
	return line_count;
}

/*
 * Interns some locations of the profile by profstore.intern_locations(). Returns their ids, in the
 * order of items.
 */
static const int32 *
intern_locations(const void *context, const uint32 *items, uint32 count)
{
	const Stacks *stacks = context;
	Size line_count = count_lines(stacks->profile, items, count);
	ArrayType *addresses = pfs_array_make(count, INT8OID, sizeof(int64));
	int32 *mappings;
	int32 *line_counts;
	int32 *functions;
	int32 *lines;
	Oid types[] = { INT4ARRAYOID, INT8ARRAYOID, INT4ARRAYOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum values[5];

	values[0] = make_int4_array(count, &mappings);
	values[1] = PointerGetDatum(addresses);
	values[2] = make_int4_array(count, &line_counts);
	values[3] = make_int4_array(line_count, &functions);
	values[4] = make_int4_array(line_count, &lines);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileLocation *location = &stacks->profile->locations[items[i]];
		const PfsProfileLine *from = &stacks->profile->lines[location->first_line];

		mappings[i] = mapping_id(stacks, location);
		((int64 *) ARR_DATA_PTR(addresses))[i] = (int64) location->address;
		line_counts[i] = (int32) location->line_count;
		for (uint32 j = 0; j < location->line_count; j++)
		{
			*functions++ = stacks->function_ids[from[j].function];
			*lines++ = line_to_store(stacks->profile, location, &from[j]);
		}
	}
	return pfs_writer_ids("SELECT profstore.intern_locations($1, $2, $3, $4, $5)", lengthof(types),
						  types, values, count);
}

/* Stacks */

/*
 * Chooses the dictionary partition: the build ID of the program; without a build ID the service;
 * otherwise the profile's name.
 */
static const char *
choose_partition(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	PfsLabels own = pfs_labels_own(import->labels);
	PfsText partition = pfs_labels_partition(&own);

	if (profile->mapping_count > 0 && profile->mappings[0].build_id.length > 0)
		return pfs_import_text(import, profile->mappings[0].build_id);
	return pnstrdup(partition.data, partition.length);
}

/*
 * Interns the stacks of all samples by profstore.intern_stacks(). Returns their ids, one per
 * sample; NULL if there are no samples.
 */
static const int64 *
intern_stacks(const Stacks *stacks)
{
	const PfsProfile *profile = stacks->profile;
	int32 *depths;
	int32 *frames;
	size_t frame_count = 0;
	Oid types[] = { TEXTOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum values[3];

	if (profile->sample_count == 0)
		return NULL;
	values[0] = CStringGetTextDatum(choose_partition(stacks->import));
	values[1] = make_int4_array(profile->sample_count, &depths);
	for (uint32 i = 0; i < profile->sample_count; i++)
	{
		depths[i] = (int32) profile->samples[i].location_count;
		frame_count += profile->samples[i].location_count;
	}
	/* samples of the profile may share frames, so these are copied for each */
	values[2] = make_int4_array(frame_count, &frames);
	for (uint32 i = 0; i < profile->sample_count; i++)
		for (uint32 j = 0; j < profile->samples[i].location_count; j++)
			*frames++ =
				stacks->location_ids[profile->location_indexes[profile->samples[i].first_location +
															   j]];
	return pfs_writer_ids("SELECT profstore.intern_stacks($1, $2, $3)", lengthof(types), types,
						  values, profile->sample_count);
}

const int64 *
pfs_profile_stacks(const PfsImport *import)
{
	Stacks stacks = { .import = import, .profile = import->profile };
	PfsKnownItems items = { .encoding = import->encoding, .context = &stacks };

	items.kind = PFS_KNOWN_MAPPING;
	items.count = import->profile->mapping_count;
	items.put_content = put_mapping;
	items.intern = intern_mappings;
	stacks.mapping_ids = pfs_known_ids(&items);

	items.kind = PFS_KNOWN_FUNCTION;
	items.count = import->profile->function_count;
	items.put_content = put_function;
	items.intern = intern_functions;
	stacks.function_ids = pfs_known_ids(&items);

	items.kind = PFS_KNOWN_LOCATION;
	items.count = import->profile->location_count;
	items.put_content = put_location;
	items.intern = intern_locations;
	stacks.location_ids = pfs_known_ids(&items);
	return intern_stacks(&stacks);
}
