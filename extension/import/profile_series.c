/*
 * profile_series.c
 *		Samples are grouped by their labels: a series for each label set and sample type.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "base/arrays.h"
#include "dictionary/intern/arrays.h"
#include "import/profile_series.h"
#include "import/profile_text.h"
#include "import/sample_labels.h"
#include "import/writer_calls.h"

/* Longest part of a profile type, in bytes. */
#define TYPE_PART_MAX 255

/* Label sets that are met, by their text form. */
typedef struct LabelSet
{
	const char *key;
	uint32 index;
	char status;
} LabelSet;

#define SH_PREFIX		   label_sets
#define SH_ELEMENT_TYPE	   LabelSet
#define SH_KEY_TYPE		   const char *
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) string_hash(k, strlen(k) + 1)
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Grouping
{
	const PfsImport *import;
	label_sets_hash *sets;
	uint32 set_count;
	Jsonb **labels; /* of series, by set */
	uint32 label_capacity;
	uint32 *set_of_sample;
} Grouping;

static bool
is_kept(const PfsImport *import, const char *key)
{
	Datum *keys;
	bool *nulls;
	int count;

	if (import->sample_labels == NULL)
		return true;
	deconstruct_array(import->sample_labels, TEXTOID, -1, false, TYPALIGN_INT, &keys, &nulls,
					  &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i] && strcmp(TextDatumGetCString(keys[i]), key) == 0)
			return true;
	return false;
}

static int
compare_labels(const void *a, const void *b)
{
	const PfsSampleLabel *left = a;
	const PfsSampleLabel *right = b;
	int order = strcmp(left->key, right->key);

	if (order == 0)
		order = (left->numeric > right->numeric) - (left->numeric < right->numeric);
	if (order == 0)
		order = (left->number > right->number) - (left->number < right->number);
	return order != 0 ? order : strcmp(left->text, right->text);
}

/* Labels of a sample in a fixed order, those that are kept; returns their number. */
static uint32
get_labels(const PfsImport *import, const PfsProfileSample *sample, PfsSampleLabel *labels)
{
	uint32 count = 0;

	for (uint32 i = 0; i < sample->label_count; i++)
	{
		const PfsProfileLabel *from = &import->profile->labels[sample->first_label + i];
		PfsSampleLabel label = { pfs_import_text(import, from->key),
								 pfs_import_text(import, from->text), from->number, from->numeric };

		/* a series has no empty labels */
		if ((label.numeric || *label.text != '\0') && is_kept(import, label.key))
			labels[count++] = label;
	}
	qsort(labels, count, sizeof(PfsSampleLabel), compare_labels);
	return count;
}

/* The set of a sample's labels, a new one where they were not met yet. */
static uint32
find_set(Grouping *grouping, const PfsProfileSample *sample, StringInfo key)
{
	PfsSampleLabel labels[PFS_PROFILE_MAX_LABELS];
	uint32 count = get_labels(grouping->import, sample, labels);
	LabelSet *set;
	bool found;

	resetStringInfo(key);
	for (uint32 i = 0; i < count; i++)
	{
		escape_json(key, labels[i].key);
		escape_json(key, labels[i].text);
		appendStringInfo(key, "%d" INT64_FORMAT, labels[i].numeric, labels[i].number);
	}
	set = label_sets_lookup(grouping->sets, key->data);
	if (set != NULL)
		return set->index;
	set = label_sets_insert(grouping->sets, pstrdup(key->data), &found);
	set->index = grouping->set_count++;
	PFS_RESERVE(grouping->labels, grouping->label_capacity, grouping->set_count);
	grouping->labels[set->index] = pfs_series_labels(grouping->import->labels, labels, count);
	return set->index;
}

static Grouping
group_by_labels(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	PfsProfileSample no_labels = { 0 };
	Grouping grouping = { .import = import,
						  .sets = label_sets_create(CurrentMemoryContext, 64, NULL),
						  .set_of_sample = PFS_ARRAY(uint32, profile->sample_count) };
	StringInfoData key;
	uint32 without = PFS_NONE;

	initStringInfo(&key);
	for (uint32 i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];

		CHECK_FOR_INTERRUPTS();
		if (sample->label_count == 0 && without == PFS_NONE)
			without = find_set(&grouping, &no_labels, &key);
		grouping.set_of_sample[i] =
			sample->label_count == 0 ? without : find_set(&grouping, sample, &key);
	}
	/* An empty scrape is one, too. */
	if (grouping.set_count == 0)
		find_set(&grouping, &no_labels, &key);
	return grouping;
}

/* A part of a profile type without the characters that it may not have. */
static char *
type_part(const char *text, const char *instead)
{
	char *part;

	if (*text == '\0')
		return pstrdup(instead);
	part = pnstrdup(text, pg_mbcliplen(text, (int) strlen(text), TYPE_PART_MAX));
	for (char *c = part; *c != '\0'; c++)
		if ((unsigned char) *c <= ' ' || *c == 0x7f || strchr(":{}\",", *c) != NULL)
			*c = '_';
	return part;
}

static Datum
profile_type(const PfsImport *import, uint32 type)
{
	const PfsProfile *profile = import->profile;
	const char *name = pfs_label_value(import->labels, PFS_NAME_LABEL);

	if (name == NULL)
		name = import->default_name;
	if (name == NULL)
		name = pfs_import_text(import, profile->types[0].type);
	return CStringGetTextDatum(
		psprintf("%s:%s:%s:%s:%s%s", type_part(name, "unknown"),
				 type_part(pfs_import_text(import, profile->types[type].type), "unknown"),
				 type_part(pfs_import_text(import, profile->types[type].unit), "unknown"),
				 type_part(pfs_import_text(import, profile->period_type.type), ""),
				 type_part(pfs_import_text(import, profile->period_type.unit), ""),
				 import->delta ? ":delta" : ""));
}

static void
check_types_differ(const Datum *profile_types, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		for (uint32 j = 0; j < i; j++)
			if (strcmp(TextDatumGetCString(profile_types[i]),
					   TextDatumGetCString(profile_types[j])) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("profile has two sample types of the same name"),
						 errdetail("Both are \"%s\".", TextDatumGetCString(profile_types[i]))));
}

PfsProfileSeries
pfs_profile_series(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	Grouping grouping = group_by_labels(import);
	uint32 count = grouping.set_count * profile->type_count;
	Datum *profile_types = PFS_ARRAY(Datum, count);
	Datum *labels = PFS_ARRAY(Datum, count);
	ArrayType *periods = pfs_array_make(count, INT8OID, sizeof(int64));
	Oid types[] = { TEXTARRAYOID, JSONBARRAYOID, INT8ARRAYOID };
	Datum values[3];

	for (uint32 i = 0; i < profile->type_count; i++)
		profile_types[i] = profile_type(import, i);
	check_types_differ(profile_types, profile->type_count);
	for (uint32 i = 0; i < count; i++)
	{
		profile_types[i] = profile_types[i % profile->type_count];
		labels[i] = JsonbPGetDatum(grouping.labels[i / profile->type_count]);
		((int64 *) ARR_DATA_PTR(periods))[i] = profile->period;
	}
	values[0] = pfs_varlena_array(profile_types, count, TEXTOID);
	values[1] = pfs_varlena_array(labels, count, JSONBOID);
	values[2] = PointerGetDatum(periods);
	return (PfsProfileSeries){ count,
							   pfs_writer_ids("SELECT profstore.intern_series($1, $2, $3)",
											  lengthof(types), types, values, count),
							   grouping.set_of_sample };
}
