/*
 * store_profile.c
 *		The way of a profile into the tables, through the functions that every writer uses.
 *
 * 1. Mappings, functions, locations and stacks get their ids.
 * 2. Samples are grouped by their labels: a series for each group and sample type.
 * 3. Rows of equal series, time and stack add up.
 * 4. Rows go into samples.
 * 5. What the file says beside its samples is kept for the series.
 */
#include "import/store_profile.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "import/exchange.h"
#include "import/insert_samples.h"
#include "import/sample_labels.h"
#include "merge/stack_sums.h"

/* Most days of one file: mistaken times shall not make hundreds of tables. */
#define MAX_DAYS 366

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

typedef struct Storing
{
	const PfsImport *import;
	const PfsProfile *profile;
	const int32 *location_ids;
	const int64 *stack_ids; /* of samples */
	label_sets_hash *sets;
	uint32 set_count;
	Jsonb **set_labels;
	uint32 *set_of_sample;
	const int32 *series_ids;
	uint32 series_count;
	PfsSampleRow *
		rows; /* until they are stored, series_id is the index: label set * number of types + type */
	uint32 row_count;
} Storing;

/* --- texts ------------------------------------------------------------------------------------------------------- */

typedef struct TextPlace
{
	const PfsImport *import;
	PfsText text;
} TextPlace;

static void
tell_place(void *argument)
{
	const TextPlace *place = argument;

	errcontext("text of %u bytes at byte %zu of the profile", place->text.length,
			   (size_t) (place->text.data - place->import->bytes));
}

static PfsText
rest_of(PfsText text, uint32 at)
{
	return (PfsText){ text.data + at, text.length - at };
}

/* Bytes of the character that a text begins with; 0 where it begins with none, or with the one that no text holds. */
static uint32
valid_bytes(PfsText text)
{
	int length = pg_utf_mblen((const unsigned char *) text.data);

	return *text.data != '\0' && (uint32) length <= text.length &&
				   pg_utf8_islegal((const unsigned char *) text.data, length)
			   ? (uint32) length
			   : 0;
}

/*
 * Files come with bytes that are no text: a name that was cut, a buffer that was stored with what lay behind it. Each is replaced, as
 * agents do, by U+FFFD, which most other encodings lack.
 */
static PfsText
replace_invalid(PfsText text)
{
	const char *instead = GetDatabaseEncoding() == PG_UTF8 ? "\xEF\xBF\xBD" : "?";
	StringInfoData copy;
	uint32 at = 0;

	while (at < text.length && valid_bytes(rest_of(text, at)) > 0)
		at += valid_bytes(rest_of(text, at));
	if (at == text.length)
		return text;
	initStringInfo(&copy);
	appendBinaryStringInfo(&copy, text.data, (int) at);
	while (at < text.length)
	{
		uint32 length = valid_bytes(rest_of(text, at));

		if (length > 0)
			appendBinaryStringInfo(&copy, text.data + at, (int) length);
		else
			appendStringInfoString(&copy, instead);
		at += Max(length, 1);
	}
	return (PfsText){ copy.data, (uint32) copy.len };
}

char *
pfs_import_text(const PfsImport *import, PfsText text)
{
	TextPlace place = { import, text };
	ErrorContextCallback callback = { error_context_stack, tell_place, &place };
	char *converted;

	if (text.length == 0)
		return pstrdup("");
	error_context_stack = &callback;
	if (text.length > MaxAllocSize / MAX_CONVERSION_GROWTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("text in profile is too long")));
	if (import->encoding == PG_UTF8)
		text = replace_invalid(text);
	converted = pg_any_to_server(text.data, (int) text.length, import->encoding);
	error_context_stack = callback.previous;
	return converted == text.data ? pnstrdup(text.data, text.length) : converted;
}

static Datum
import_text_datum(const PfsImport *import, PfsText text)
{
	char *converted = pfs_import_text(import, text);
	Datum datum = CStringGetTextDatum(converted);

	pfree(converted);
	return datum;
}

/* --- SQL --------------------------------------------------------------------------------------------------------- */

static Datum
make_array(Datum *elements, uint32 count, Oid type)
{
	switch (type)
	{
		case INT4OID:
			return PointerGetDatum(
				construct_array(elements, (int) count, type, 4, true, TYPALIGN_INT));
		case INT8OID:
			return PointerGetDatum(
				construct_array(elements, (int) count, type, 8, true, TYPALIGN_DOUBLE));
		default:
			return PointerGetDatum(
				construct_array(elements, (int) count, type, -1, false, TYPALIGN_INT));
	}
}

static uint64
run(const char *sql, int argument_count, Oid *types, Datum *values)
{
	int code = SPI_execute_with_args(sql, argument_count, types, values, NULL, false, 0);

	if (code < 0)
		elog(ERROR, "could not run \"%s\": %s", sql, SPI_result_code_string(code));
	return SPI_processed;
}

/* Runs a function that returns an array of count ids; the result is the first of them. */
static void *
run_interning(const char *sql, int argument_count, Oid *types, Datum *values, uint32 count)
{
	bool is_null;
	ArrayType *array;

	run(sql, argument_count, types, values);
	array = DatumGetArrayTypeP(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	if (ARR_NDIM(array) != 1 || (uint32) ARR_DIMS(array)[0] != count)
		elog(ERROR, "\"%s\" did not return %u ids", sql, count);
	return ARR_DATA_PTR(array);
}

/* --- step 1: dictionary ------------------------------------------------------------------------------------------ */

static const int32 *
intern_mappings(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	uint32 count = profile->mapping_count;
	Datum *columns[2];
	Oid types[2] = { TEXTARRAYOID, TEXTARRAYOID };
	Datum values[2];

	if (count == 0)
		return NULL;
	for (int i = 0; i < 2; i++)
		columns[i] = PFS_ARRAY(Datum, count);
	for (uint32 i = 0; i < count; i++)
	{
		columns[0][i] = import_text_datum(import, profile->mappings[i].build_id);
		columns[1][i] = import_text_datum(import, profile->mappings[i].file);
	}
	for (int i = 0; i < 2; i++)
		values[i] = make_array(columns[i], count, TEXTOID);
	return run_interning("SELECT profstore.intern_mappings($1, $2)", 2, types, values, count);
}

static const int32 *
intern_functions(const PfsImport *import)
{
	const PfsProfile *profile = import->profile;
	uint32 count = profile->function_count;
	Datum *columns[4];
	Oid types[4] = { TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT4ARRAYOID };
	Datum values[4];

	if (count == 0)
		return NULL;
	for (int i = 0; i < 4; i++)
		columns[i] = PFS_ARRAY(Datum, count);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileFunction *function = &profile->functions[i];

		columns[0][i] = import_text_datum(import, function->name);
		columns[1][i] = import_text_datum(import, function->system_name);
		columns[2][i] = import_text_datum(import, function->filename);
		columns[3][i] = Int32GetDatum(function->start_line);
	}
	for (int i = 0; i < 4; i++)
		values[i] = make_array(columns[i], count, i < 3 ? TEXTOID : INT4OID);
	return run_interning("SELECT profstore.intern_functions($1, $2, $3, $4)", 4, types, values,
						 count);
}

static const int32 *
intern_locations(const PfsImport *import, const int32 *mapping_ids, const int32 *function_ids)
{
	const PfsProfile *profile = import->profile;
	uint32 count = profile->location_count;
	Oid types[5] = { INT4ARRAYOID, INT8ARRAYOID, INT4ARRAYOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum *columns[3];
	Datum *line_functions = PFS_ARRAY(Datum, profile->line_count);
	Datum *lines = PFS_ARRAY(Datum, profile->line_count);
	Datum values[5];

	if (count == 0)
		return NULL;
	for (int i = 0; i < 3; i++)
		columns[i] = PFS_ARRAY(Datum, count);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsProfileLocation *location = &profile->locations[i];

		columns[0][i] =
			Int32GetDatum(location->mapping == PFS_NONE ? 0 : mapping_ids[location->mapping]);
		columns[1][i] = Int64GetDatum((int64) location->address);
		columns[2][i] = Int32GetDatum((int32) location->line_count);
	}
	/* Locations have their lines one after the other, in the order of locations. */
	for (uint32 i = 0; i < profile->line_count; i++)
	{
		line_functions[i] = Int32GetDatum(function_ids[profile->lines[i].function]);
		lines[i] = Int32GetDatum(profile->lines[i].line);
	}
	values[0] = make_array(columns[0], count, INT4OID);
	values[1] = make_array(columns[1], count, INT8OID);
	values[2] = make_array(columns[2], count, INT4OID);
	values[3] = make_array(line_functions, profile->line_count, INT4OID);
	values[4] = make_array(lines, profile->line_count, INT4OID);
	return run_interning("SELECT profstore.intern_locations($1, $2, $3, $4, $5)", 5, types, values,
						 count);
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

/* An array of int4 with room for what locations of all stacks need. */
static ArrayType *
make_int4_array(size_t count)
{
	size_t bytes = ARR_OVERHEAD_NONULLS(1) + count * sizeof(int32);
	ArrayType *array;

	if (count == 0)
		return construct_empty_array(INT4OID);
	if (!AllocSizeIsValid(bytes))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("profile has too many frames"),
				 errdetail("Its stacks have %zu frames together.", count)));
	array = palloc0(bytes);
	SET_VARSIZE(array, bytes);
	array->ndim = 1;
	array->elemtype = INT4OID;
	ARR_DIMS(array)[0] = (int) count;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

static const int64 *
intern_stacks(const PfsImport *import, const int32 *location_ids)
{
	const PfsProfile *profile = import->profile;
	ArrayType *depths = make_int4_array(profile->sample_count);
	ArrayType *frames = make_int4_array(profile->location_index_count);
	Oid types[3] = { TEXTOID, INT4ARRAYOID, INT4ARRAYOID };
	Datum values[3] = { CStringGetTextDatum(choose_partition(import)), PointerGetDatum(depths),
						PointerGetDatum(frames) };

	if (profile->sample_count == 0)
		return NULL;
	for (uint32 i = 0; i < profile->sample_count; i++)
		((int32 *) ARR_DATA_PTR(depths))[i] = (int32) profile->samples[i].location_count;
	for (size_t i = 0; i < profile->location_index_count; i++)
		((int32 *) ARR_DATA_PTR(frames))[i] = location_ids[profile->location_indexes[i]];
	return run_interning("SELECT profstore.intern_stacks($1, $2, $3)", 3, types, values,
						 profile->sample_count);
}

/* --- step 2: series ---------------------------------------------------------------------------------------------- */

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
find_set(Storing *storing, const PfsProfileSample *sample, StringInfo key)
{
	PfsSampleLabel labels[PFS_PROFILE_MAX_LABELS];
	uint32 count = get_labels(storing->import, sample, labels);
	LabelSet *set;
	bool found;

	resetStringInfo(key);
	for (uint32 i = 0; i < count; i++)
	{
		escape_json(key, labels[i].key);
		escape_json(key, labels[i].text);
		appendStringInfo(key, "%d" INT64_FORMAT, labels[i].numeric, labels[i].number);
	}
	set = label_sets_lookup(storing->sets, key->data);
	if (set != NULL)
		return set->index;
	set = label_sets_insert(storing->sets, pstrdup(key->data), &found);
	set->index = storing->set_count++;
	storing->set_labels =
		set->index == 0
			? palloc(sizeof(Jsonb *))
			: repalloc_huge(storing->set_labels, (Size) storing->set_count * sizeof(Jsonb *));
	storing->set_labels[set->index] = pfs_series_labels(storing->import->labels, labels, count);
	return set->index;
}

static void
group_by_labels(Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	PfsProfileSample no_labels = { 0 };
	StringInfoData key;
	uint32 without = PFS_NONE;

	initStringInfo(&key);
	storing->sets = label_sets_create(CurrentMemoryContext, 64, NULL);
	storing->set_of_sample = PFS_ARRAY(uint32, profile->sample_count);
	for (uint32 i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];

		CHECK_FOR_INTERRUPTS();
		if (sample->label_count > 0)
			storing->set_of_sample[i] = find_set(storing, sample, &key);
		else
		{
			if (without == PFS_NONE)
				without = find_set(storing, &no_labels, &key);
			storing->set_of_sample[i] = without;
		}
	}
	/* An empty scrape is one, too. */
	if (storing->set_count == 0)
		find_set(storing, &no_labels, &key);
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
intern_series(Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	uint32 count = storing->set_count * profile->type_count;
	Datum *profile_types = PFS_ARRAY(Datum, count);
	Datum *labels = PFS_ARRAY(Datum, count);
	Datum *periods = PFS_ARRAY(Datum, count);
	Oid types[3] = { TEXTARRAYOID, JSONBARRAYOID, INT8ARRAYOID };
	Datum values[3];

	storing->series_count = count;
	for (uint32 i = 0; i < profile->type_count; i++)
		profile_types[i] = profile_type(storing->import, i);
	for (uint32 i = 0; i < profile->type_count; i++)
		for (uint32 j = 0; j < i; j++)
			if (strcmp(TextDatumGetCString(profile_types[i]),
					   TextDatumGetCString(profile_types[j])) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("profile has two sample types of the same name"),
						 errdetail("Both are \"%s\".", TextDatumGetCString(profile_types[i]))));
	for (uint32 i = 0; i < count; i++)
	{
		profile_types[i] = profile_types[i % profile->type_count];
		labels[i] = JsonbPGetDatum(storing->set_labels[i / profile->type_count]);
		periods[i] = Int64GetDatum(profile->period);
	}
	values[0] = make_array(profile_types, count, TEXTOID);
	values[1] = make_array(labels, count, JSONBOID);
	values[2] = make_array(periods, count, INT8OID);
	storing->series_ids =
		run_interning("SELECT profstore.intern_series($1, $2, $3)", 3, types, values, count);
}

/* --- steps 3 and 4: rows ----------------------------------------------------------------------------------------- */

static int
compare_rows(const void *a, const void *b)
{
	const PfsSampleRow *left = a;
	const PfsSampleRow *right = b;

	if (left->series_id != right->series_id)
		return left->series_id < right->series_id ? -1 : 1;
	if (left->stack_id != right->stack_id)
		return left->stack_id < right->stack_id ? -1 : 1;
	return (left->time > right->time) - (left->time < right->time);
}

/* Adds up neighbours that are of one series, time and stack, as far as sums fit; sums of 0 go. */
static void
merge_rows(Storing *storing)
{
	uint32 merged = 0;

	qsort(storing->rows, storing->row_count, sizeof(PfsSampleRow), compare_rows);
	for (uint32 i = 0; i < storing->row_count;)
	{
		PfsSampleRow row = storing->rows[i];

		int64 sum;

		for (i++; i < storing->row_count && compare_rows(&storing->rows[i], &row) == 0 &&
				  !pg_add_s64_overflow(row.value, storing->rows[i].value, &sum);
			 i++)
			row.value = sum;
		if (row.value != 0)
			storing->rows[merged++] = row;
	}
	storing->row_count = merged;
}

static TimestampTz
time_of(const Storing *storing, const PfsProfileSample *sample)
{
	TimestampTz time;

	if (pg_add_s64_overflow(storing->import->time, sample->time_offset_ns / PFS_NS_PER_US, &time))
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("time of samples out of range")));
	return time;
}

static void
make_rows(Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	Size value_count = (Size) profile->sample_count * profile->type_count;
	bool *has_row = PFS_ARRAY0(bool, storing->series_count);

	if (value_count + storing->series_count >= PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("profile has too many values")));
	storing->rows = PFS_ARRAY(PfsSampleRow, value_count + storing->series_count);
	for (Size i = 0; i < value_count; i++)
	{
		uint32 sample = (uint32) (i / profile->type_count);
		uint32 series = storing->set_of_sample[sample] * profile->type_count +
						(uint32) (i % profile->type_count);

		if (profile->values[i] != 0)
			storing->rows[storing->row_count++] =
				(PfsSampleRow){ time_of(storing, &profile->samples[sample]),
								storing->stack_ids[sample], profile->values[i], (int32) series };
	}
	merge_rows(storing);
	for (uint32 i = 0; i < storing->row_count; i++)
		has_row[storing->rows[i].series_id] = true;
	for (uint32 i = 0; i < storing->series_count; i++)
		if (!has_row[i])
			storing->rows[storing->row_count++] =
				(PfsSampleRow){ storing->import->time, 0, 0, (int32) i };
}

/* Day of a time, counted as dates are. */
static int64
day_of(TimestampTz time)
{
	return time / USECS_PER_DAY - (time % USECS_PER_DAY < 0);
}

static int
compare_times(const void *a, const void *b)
{
	TimestampTz left = *(const TimestampTz *) a;
	TimestampTz right = *(const TimestampTz *) b;

	return (left > right) - (left < right);
}

/* A time in each day that has rows, in order of time; returns their number. */
static uint32
find_days(const Storing *storing, TimestampTz *times)
{
	uint32 count = 0;
	uint32 day_count = 0;

	for (uint32 i = 0; i < storing->row_count; i++)
		if (count == 0 || day_of(storing->rows[i].time) != day_of(times[count - 1]))
			times[count++] = storing->rows[i].time;
	qsort(times, count, sizeof(TimestampTz), compare_times);
	for (uint32 i = 0; i < count; i++)
		if (day_count == 0 || day_of(times[i]) != day_of(times[day_count - 1]))
			times[day_count++] = times[i];
	return day_count;
}

/* The partitions of the days that have rows, and of no others. */
static void
ensure_partitions(const Storing *storing)
{
	TimestampTz *times = PFS_ARRAY(TimestampTz, storing->row_count);
	uint32 day_count = find_days(storing, times);

	if (day_count > MAX_DAYS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot import samples of more than %d days at once", MAX_DAYS),
						errdetail("The profile has samples of %u days.", day_count)));
	for (uint32 i = 0; i < day_count; i++)
	{
		Oid type = TIMESTAMPTZOID;
		Datum time = TimestampTzGetDatum(times[i]);

		run("SELECT profstore.ensure_partitions($1, $1)", 1, &type, &time);
	}
	pfree(times);
}

/* When a series has samples. */
typedef struct Seen
{
	TimestampTz first;
	TimestampTz last;
	int32 series_id;
} Seen;

static int
compare_seen(const void *a, const void *b)
{
	const Seen *left = a;
	const Seen *right = b;

	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return (left->last > right->last) - (left->last < right->last);
}

/* Each series has a row. */
static Seen *
find_seen(const Storing *storing)
{
	Seen *seen = PFS_ARRAY(Seen, storing->series_count);

	for (uint32 i = 0; i < storing->series_count; i++)
		seen[i] = (Seen){ DT_NOEND, DT_NOBEGIN, storing->series_ids[i] };
	for (uint32 i = 0; i < storing->row_count; i++)
	{
		const PfsSampleRow *row = &storing->rows[i];
		Seen *of_series = &seen[row->series_id];

		of_series->first = Min(of_series->first, row->time);
		of_series->last = Max(of_series->last, row->time);
	}
	qsort(seen, storing->series_count, sizeof(Seen), compare_seen);
	return seen;
}

static void
touch_series(const Storing *storing, const Seen *seen)
{
	Oid types[3] = { INT4ARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID };
	Datum *ids = PFS_ARRAY(Datum, storing->series_count);

	for (uint32 begin = 0, end; begin < storing->series_count; begin = end)
	{
		Datum values[3] = { 0, TimestampTzGetDatum(seen[begin].first),
							TimestampTzGetDatum(seen[begin].last) };

		for (end = begin;
			 end < storing->series_count && compare_seen(&seen[begin], &seen[end]) == 0; end++)
			ids[end - begin] = Int32GetDatum(seen[end].series_id);
		values[0] = make_array(ids, end - begin, INT4OID);
		run("SELECT profstore.touch_series($1, $2, $3)", 3, types, values);
	}
}

static void
insert_rows(Storing *storing)
{
	Seen *seen = find_seen(storing);

	for (uint32 i = 0; i < storing->row_count; i++)
		storing->rows[i].series_id = storing->series_ids[storing->rows[i].series_id];
	ensure_partitions(storing);
	pfs_samples_insert(storing->rows, storing->row_count);
	touch_series(storing, seen);
}

/* --- step 5: notes ----------------------------------------------------------------------------------------------- */

static void
keep_notes(const Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	PfsText texts[4] = { { "", 0 }, profile->doc_url, profile->drop_frames, profile->keep_frames };
	Oid types[6] = { INT4ARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID };
	Datum *comments = PFS_ARRAY(Datum, profile->comment_count);
	Datum *series_ids = PFS_ARRAY(Datum, storing->series_count);
	Datum values[6];
	bool any = profile->comment_count > 0;

	if (profile->default_type != PFS_NONE)
		texts[0] = profile->types[profile->default_type].type;
	for (int i = 0; i < 4; i++)
	{
		values[2 + i] = import_text_datum(storing->import, texts[i]);
		any |= texts[i].length > 0;
	}
	if (!any)
		return;
	for (uint32 i = 0; i < storing->series_count; i++)
		series_ids[i] = Int32GetDatum(storing->series_ids[i]);
	for (uint32 i = 0; i < profile->comment_count; i++)
		comments[i] = import_text_datum(storing->import, profile->comments[i]);
	values[0] = make_array(series_ids, storing->series_count, INT4OID);
	values[1] = make_array(comments, profile->comment_count, TEXTOID);
	run("SELECT profstore.keep_file_notes($1, $2, $3, $4, $5, $6)", 6, types, values);
}

int64
pfs_profile_store(const PfsImport *import)
{
	Storing storing = { .import = import, .profile = import->profile };
	const int32 *mapping_ids;
	const int32 *function_ids;

	SPI_connect();
	mapping_ids = intern_mappings(import);
	function_ids = intern_functions(import);
	storing.location_ids = intern_locations(import, mapping_ids, function_ids);
	storing.stack_ids = intern_stacks(import, storing.location_ids);
	group_by_labels(&storing);
	intern_series(&storing);
	make_rows(&storing);
	insert_rows(&storing);
	keep_notes(&storing);
	SPI_finish();
	return storing.row_count;
}
