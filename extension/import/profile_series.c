/*
 * profile_series.c
 *		Finds the ids of series by label set and profile type: known ones in memory, others by
 *		interning.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "dictionary/intern/intern_arrays.h"
#include "import/known_ids.h"
#include "import/profile_series.h"
#include "import/profile_text.h"
#include "import/sample_labels.h"
#include "import/server.h"
#include "import/writer_calls.h"

typedef struct SeriesNames
{
	const PfsImport *import;
	const char **types; /* for each sample type, its name */
	Jsonb **labels;		/* for each set, its labels */
} SeriesNames;

/* Returns the elements of a text[] without nulls. */
static PfsText *
get_texts(ArrayType *array, uint32 *text_count)
{
	Datum *elements;
	bool *nulls;
	int count;
	PfsText *texts;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	texts = PFS_ARRAY(PfsText, count);
	*text_count = 0;
	for (int i = 0; i < count; i++)
		if (!nulls[i])
		{
			char *key = TextDatumGetCString(elements[i]);

			texts[(*text_count)++] = (PfsText){ key, (uint32) strlen(key) };
		}
	return texts;
}

static PfsProfileSets
group_samples(const PfsImport *import)
{
	PfsSeriesRules rules = { .own = pfs_labels_own(import->labels),
							 .keeps_all = import->sample_labels == NULL };
	PfsProfileSets sets;
	PfsReadError error;

	if (!rules.keeps_all)
		rules.kept = get_texts(import->sample_labels, &rules.kept_count);
	if (pfs_profile_sets(import->making, import->profile, &rules, &sets, &error) != PFS_READ_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return sets;
}

/* Returns a part of a profile type in the server's encoding, cut between characters. */
static PfsText
type_part(const PfsImport *import, PfsText text)
{
	const char *part = pfs_import_text(import, text);

	return (PfsText){ part, (uint32) pg_mbcliplen(part, (int) strlen(part), PFS_TYPE_PART_MAX) };
}

static PfsText
profile_name(const PfsImport *import)
{
	const char *name = pfs_label_value(import->labels, PFS_NAME_LABEL);

	if (name == NULL)
		name = import->default_name;
	if (name == NULL)
		name = pfs_import_text(import, import->profile->types[0].type);
	return (PfsText){ name, (uint32) pg_mbcliplen(name, (int) strlen(name), PFS_TYPE_PART_MAX) };
}

/* Returns the names of the profile's types. Raises an error if two are equal. */
static const char **
name_types(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	const char **names = PFS_ARRAY(const char *, profile->type_count);
	PfsTypeParts parts = { .name = profile_name(import),
						   .period_type = type_part(import, profile->period_type.type),
						   .period_unit = type_part(import, profile->period_type.unit),
						   .delta = import->delta };

	for (uint32 i = 0; i < profile->type_count; i++)
	{
		char name[PFS_PROFILE_TYPE_MAX];

		parts.sample_type = type_part(import, profile->types[i].type);
		parts.sample_unit = type_part(import, profile->types[i].unit);
		pfs_profile_type_name(&parts, name);
		names[i] = pstrdup(name);
		for (uint32 j = 0; j < i; j++)
			if (strcmp(names[j], names[i]) == 0)
				ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
								errmsg("profile has two sample types of the same name"),
								errdetail("Both are \"%s\".", names[i])));
	}
	return names;
}

/*
 * Returns the name of the profile type of a series, which has sample type series % type_count and
 * set series / type_count.
 */
static const char *
type_of(const SeriesNames *names, uint32 series)
{
	return names->types[series % names->import->profile->type_count];
}

static const Jsonb *
labels_of(const SeriesNames *names, uint32 series)
{
	return names->labels[series / names->import->profile->type_count];
}

static void
series_put_content(StringInfo content, const void *context, uint32 series)
{
	const SeriesNames *names = context;
	const char *type = type_of(names, series);
	const Jsonb *labels = labels_of(names, series);

	appendBinaryStringInfo(content, (const char *) &names->import->profile->period, sizeof(int64));
	appendBinaryStringInfo(content, type, (int) strlen(type) + 1);
	appendBinaryStringInfo(content, VARDATA(labels), (int) (VARSIZE(labels) - VARHDRSZ));
}

static const int32 *
series_intern(const void *context, const uint32 *series, uint32 count)
{
	const SeriesNames *names = context;
	Datum *types = PFS_ARRAY(Datum, count);
	Datum *labels = PFS_ARRAY(Datum, count);
	ArrayType *periods = pfs_array_make(count, INT8OID, sizeof(int64));
	Oid argument_types[] = { TEXTARRAYOID, JSONBARRAYOID, INT8ARRAYOID };
	Datum values[3];

	for (uint32 i = 0; i < count; i++)
	{
		types[i] = CStringGetTextDatum(type_of(names, series[i]));
		labels[i] = PointerGetDatum(labels_of(names, series[i]));
		((int64 *) ARR_DATA_PTR(periods))[i] = names->import->profile->period;
	}
	values[0] = pfs_varlena_array(types, count, TEXTOID);
	values[1] = pfs_varlena_array(labels, count, JSONBOID);
	values[2] = PointerGetDatum(periods);
	return pfs_writer_ids("SELECT profstore.intern_series($1, $2, $3)", lengthof(argument_types),
						  argument_types, values, count);
}

PfsProfileSeries
pfs_profile_series(const PfsImport *import)
{
	PfsProfileSeries series = { .sets = group_samples(import) };
	SeriesNames names = { .import = import,
						  .types = name_types(import),
						  .labels = PFS_ARRAY(Jsonb *, series.sets.count) };

	for (uint32 i = 0; i < series.sets.count; i++)
	{
		pfs_server_pause();
		names.labels[i] = pfs_series_labels(import, &series.sets.labels[i]);
	}
	series.count = series.sets.count * import->profile->type_count;
	series.ids = pfs_known_ids(&(PfsKnownItems){ .kind = PFS_KNOWN_SERIES,
												 .count = series.count,
												 .context = &names,
												 .put_content = series_put_content,
												 .intern = series_intern });
	return series;
}
