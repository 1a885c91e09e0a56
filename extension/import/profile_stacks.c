/*
 * profile_stacks.c
 *		Mappings, then functions, locations, and at last stacks get their ids.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "dictionary/intern/arrays.h"
#include "import/profile_stacks.h"
#include "import/profile_text.h"
#include "import/sample_labels.h"
#include "import/writer_calls.h"

static const int32 *
intern_mappings(const PfsImport *import)
{
	uint32 count = import->profile->mapping_count;
	Datum *build_ids = PFS_ARRAY(Datum, count);
	Datum *files = PFS_ARRAY(Datum, count);
	Oid types[] = { TEXTARRAYOID, TEXTARRAYOID };

	if (count == 0)
		return NULL;
	for (uint32 i = 0; i < count; i++)
	{
		build_ids[i] = pfs_import_text_datum(import, import->profile->mappings[i].build_id);
		files[i] = pfs_import_text_datum(import, import->profile->mappings[i].file);
	}
	return pfs_writer_ids("SELECT profstore.intern_mappings($1, $2)", lengthof(types), types,
						  (Datum[]){ pfs_varlena_array(build_ids, count, TEXTOID),
									 pfs_varlena_array(files, count, TEXTOID) },
						  count);
}

/* An int4[] of count zeros; *elements points into it. */
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

static const int32 *
intern_functions(const PfsImport *import)
{
	uint32 count = import->profile->function_count;
	Datum *texts[3];
	int32 *start_lines;
	Oid types[] = { TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT4ARRAYOID };
	Datum values[4];

	if (count == 0)
		return NULL;
	for (int i = 0; i < 3; i++)
		texts[i] = PFS_ARRAY(Datum, count);
	values[3] = make_int4_array(count, &start_lines);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileFunction *function = &import->profile->functions[i];

		texts[0][i] = pfs_import_text_datum(import, function->name);
		texts[1][i] = pfs_import_text_datum(import, function->system_name);
		texts[2][i] = pfs_import_text_datum(import, function->filename);
		start_lines[i] = function->start_line;
	}
	for (int i = 0; i < 3; i++)
		values[i] = pfs_varlena_array(texts[i], count, TEXTOID);
	return pfs_writer_ids("SELECT profstore.intern_functions($1, $2, $3, $4)", lengthof(types),
						  types, values, count);
}

/* Locations have their lines one after the other, in the order of locations. */
static const int32 *
intern_locations(const PfsImport *import, const int32 *mapping_ids, const int32 *function_ids)
{
	const PfsProfile *profile = import->profile;
	uint32 count = profile->location_count;
	ArrayType *addresses;
	int32 *mappings;
	int32 *line_counts;
	int32 *line_functions;
	int32 *lines;
	Oid types[] = { INT4ARRAYOID, INT8ARRAYOID, INT4ARRAYOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum values[5];

	if (count == 0)
		return NULL;
	addresses = pfs_array_make(count, INT8OID, sizeof(int64));
	values[0] = make_int4_array(count, &mappings);
	values[1] = PointerGetDatum(addresses);
	values[2] = make_int4_array(count, &line_counts);
	values[3] = make_int4_array(profile->line_count, &line_functions);
	values[4] = make_int4_array(profile->line_count, &lines);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileLocation *location = &profile->locations[i];

		mappings[i] = location->mapping == PFS_NONE ? 0 : mapping_ids[location->mapping];
		((int64 *) ARR_DATA_PTR(addresses))[i] = (int64) location->address;
		line_counts[i] = (int32) location->line_count;
	}
	for (uint32 i = 0; i < profile->line_count; i++)
	{
		line_functions[i] = function_ids[profile->lines[i].function];
		lines[i] = profile->lines[i].line;
	}
	return pfs_writer_ids("SELECT profstore.intern_locations($1, $2, $3, $4, $5)", lengthof(types),
						  types, values, count);
}

/* Build ID of the program, else the service, else what names the profile. */
static const char *
choose_partition(const PfsImport *import)
{
	static const char *const labels[] = { "service", "service_name" };
	const PfsProfile *profile = import->profile;

	if (profile->mapping_count > 0 && profile->mappings[0].build_id.length > 0)
		return pfs_import_text(import, profile->mappings[0].build_id);
	for (int i = 0; i < (int) lengthof(labels); i++)
	{
		const char *value = pfs_label_value(import->labels, labels[i]);

		if (value != NULL && *value != '\0')
			return value;
	}
	return "import";
}

static const int64 *
intern_stacks(const PfsImport *import, const int32 *location_ids)
{
	const PfsProfile *profile = import->profile;
	int32 *depths;
	int32 *frames;
	Oid types[] = { TEXTOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum values[3];

	if (profile->sample_count == 0)
		return NULL;
	values[0] = CStringGetTextDatum(choose_partition(import));
	values[1] = make_int4_array(profile->sample_count, &depths);
	values[2] = make_int4_array(profile->location_index_count, &frames);
	for (uint32 i = 0; i < profile->sample_count; i++)
		depths[i] = (int32) profile->samples[i].location_count;
	for (size_t i = 0; i < profile->location_index_count; i++)
		frames[i] = location_ids[profile->location_indexes[i]];
	return pfs_writer_ids("SELECT profstore.intern_stacks($1, $2, $3)", lengthof(types), types,
						  values, profile->sample_count);
}

const int64 *
pfs_profile_stacks(const PfsImport *import)
{
	const int32 *mapping_ids = intern_mappings(import);
	const int32 *function_ids = intern_functions(import);

	return intern_stacks(import, intern_locations(import, mapping_ids, function_ids));
}
