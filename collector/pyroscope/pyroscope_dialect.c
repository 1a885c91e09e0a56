/*
 * pyroscope_dialect.c
 *		Rewrites a profile's labels, time and values before it becomes series and rows.
 */
#include "pyroscope/pyroscope_dialect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "formats/clean_text.h"
#include "formats/jfr/jfr_read.h"
#include "formats/lines.h"

#define NS_PER_S	 INT64_C(1000000000)
#define YEAR_1970_NS (365 * 86400 * NS_PER_S)

#define SPAN_ID_DIGITS (2 * PFS_SPAN_BYTES)

typedef struct Rewriting
{
	PyroscopeDialect *dialect;
	PfsProfile *profile;
	PfsProfileLabel *labels; /* new labels of all samples */
	uint32_t count;
	uint32_t first; /* index of the first label of the current sample */
	PfsText key;	/* the key that was last converted to a name */
	PfsText name;	/* the name to which key was converted */
} Rewriting;

static PfsText
dialect_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

static bool
dialect_same_text(PfsText a, PfsText b)
{
	return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* --- labels of samples --- */

static bool
is_key_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || pfs_is_digit(c) || c == '_';
}

static bool
is_legal_key(PfsText key)
{
	for (uint32_t i = 0; i < key.length; i++)
		if (!is_key_character(key.data[i]))
			return false;
	return !pfs_is_digit(key.data[0]);
}

/*
 * Replaces a key by the name of the label that it becomes. Returns false if memory or budget is
 * exhausted.
 */
static bool
legalize_key(Rewriting *rewriting, PfsText *key)
{
	char *name;
	uint32_t length = 0;

	if (is_legal_key(*key))
		return true;
	if (!dialect_same_text(*key, rewriting->key))
	{
		name = pfs_scratch_alloc(&rewriting->profile->texts, rewriting->profile->budget,
								 (size_t) key->length + 1);
		if (name == NULL)
			return false;
		if (pfs_is_digit(key->data[0]))
			name[length++] = '_';
		for (uint32_t i = 0; i < key->length; i++)
			name[length++] = is_key_character(key->data[i]) ? key->data[i] : '_';
		rewriting->key = *key;
		rewriting->name = (PfsText){ name, length };
	}
	*key = rewriting->name;
	return true;
}

/* Returns true for a label that the client gave to the series. A sample must not change it. */
static bool
is_of_series(const PyroscopeDialect *dialect, PfsText key)
{
	const PyroscopeSeries *series = dialect->series;

	for (size_t i = SERIES_FIXED; i < series->label_count; i++)
		if (pfs_text_equals(key, series->labels[i].name))
			return true;
	return false;
}

/* Returns true if the current sample already has a label with this key. */
static bool
has_key(const Rewriting *rewriting, const char *key)
{
	for (uint32_t i = rewriting->first; i < rewriting->count; i++)
		if (pfs_text_equals(rewriting->labels[i].key, key))
			return true;
	return false;
}

static bool
dialect_put_label(Rewriting *rewriting, PfsText key, PfsText text)
{
	if (rewriting->count - rewriting->first == PFS_PROFILE_MAX_LABELS)
	{
		rewriting->dialect->skipped++;
		return true;
	}
	if (!PFS_GROW(rewriting->profile->budget, rewriting->labels, rewriting->count))
		return false;
	rewriting->labels[rewriting->count++] = (PfsProfileLabel){ .key = key, .text = text };
	return true;
}

/*
 * Adds a label of a sample, unless it is a number. Returns false if memory or budget is exhausted.
 */
static bool
rewrite_label(Rewriting *rewriting, const PfsProfileLabel *label)
{
	PyroscopeDialect *dialect = rewriting->dialect;
	PfsText key = label->key;
	PfsText text = label->text;

	if (label->numeric || text.length == 0 || key.length == 0 || is_protocol_key(key))
		return true;
	/*
	 * check this before reading the texts: each may have millions of bytes and be in many samples
	 */
	if (key.length > LABEL_NAME_MAX || text.length > LABEL_VALUE_MAX)
	{
		dialect->skipped++;
		return true;
	}
	if (pfs_text_equals(key, PROFILE_ID) && is_span_id(text))
		return has_key(rewriting, "span_id") ||
			   dialect_put_label(rewriting, dialect_text("span_id"), text);
	if (!legalize_key(rewriting, &key))
		return false;
	if (!attribute_rule_keeps(dialect->rule, key) || is_of_series(dialect, key))
		return true;
	return dialect_put_label(rewriting, key, text);
}

/* Adds the ids of the series to a sample that has no ids. */
static bool
put_ids(Rewriting *rewriting)
{
	static const char *const keys[] = { "trace_id", "span_id" };

	for (size_t i = 0; i < 2; i++)
		if (rewriting->dialect->ids[i][0] != '\0' && !has_key(rewriting, keys[i]) &&
			!dialect_put_label(rewriting, dialect_text(keys[i]),
							   dialect_text(rewriting->dialect->ids[i])))
			return false;
	return true;
}

/* --- labels of recordings --- */

/* Adds a label whose texts are not in the profile. */
static bool
rewrite_foreign(Rewriting *rewriting, PfsText key, PfsText text)
{
	PfsProfileLabel label = { .key = key, .text = text };

	if (key.length > LABEL_NAME_MAX || text.length > LABEL_VALUE_MAX)
	{
		rewriting->dialect->skipped++;
		return true;
	}
	return pfs_text_clean(rewriting->profile, &label.key) &&
		   pfs_text_clean(rewriting->profile, &label.text) && rewrite_label(rewriting, &label);
}

/* Adds an id of one or two numbers as hexadecimal digits, unless it is 0. */
static bool
put_id_label(Rewriting *rewriting, const char *key, const uint64_t *id, size_t count)
{
	const uint32_t length = (uint32_t) (count * SPAN_ID_DIGITS);
	char *digits;

	if (id[0] == 0 && id[count - 1] == 0)
		return true;
	digits = pfs_scratch_alloc(&rewriting->profile->texts, rewriting->profile->budget, length + 1);
	if (digits == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		snprintf(digits + i * SPAN_ID_DIGITS, SPAN_ID_DIGITS + 1, "%016" PRIx64, id[i]);
	return dialect_put_label(rewriting, dialect_text(key), (PfsText){ digits, length });
}

static bool
put_context(Rewriting *rewriting, uint64_t id)
{
	const JfrLabels *contexts = rewriting->dialect->contexts;
	const JfrContext context = jfr_labels_context(contexts, id);

	for (uint32_t i = 0; i < context.count; i++)
	{
		const JfrLabelIds *ids = &contexts->labels[context.first + i];

		if (!rewrite_foreign(rewriting, jfr_labels_text(contexts, ids->key),
							 jfr_labels_text(contexts, ids->value)))
			return false;
	}
	return true;
}

/* Adds the labels that the ids in a sample of a recording stand for. */
static bool
rewrite_ids(Rewriting *rewriting, const PfsProfileLabel *labels, uint32_t count)
{
	uint64_t span = 0;
	uint64_t trace[2] = { 0, 0 };
	bool is_good = true;

	for (uint32_t i = 0; is_good && i < count; i++)
	{
		const uint64_t id = (uint64_t) labels[i].number;

		if (pfs_text_equals(labels[i].key, PFS_JFR_CONTEXT_ID))
			is_good = put_context(rewriting, id);
		else if (pfs_text_equals(labels[i].key, PFS_JFR_SPAN_NAME))
			is_good = rewrite_foreign(rewriting, dialect_text("span_name"),
									  jfr_labels_text(rewriting->dialect->contexts, id));
		else if (pfs_text_equals(labels[i].key, PFS_JFR_SPAN_ID))
			span = id;
		else if (pfs_text_equals(labels[i].key, PFS_JFR_TRACE_HIGH))
			trace[0] = id;
		else
			trace[1] = id;
	}
	return is_good && put_id_label(rewriting, "span_id", &span, 1) &&
		   put_id_label(rewriting, "trace_id", trace, 2);
}

/* --- all labels --- */

/* Adds the span's id, a number, to a sample of Datadog's tracers. */
static bool
rewrite_span(Rewriting *rewriting, const PfsProfileLabel *labels, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		const uint64_t id = (uint64_t) labels[i].number;

		if (labels[i].numeric && pfs_text_equals(labels[i].key, "span id"))
			return put_id_label(rewriting, "span_id", &id, 1);
	}
	return true;
}

/* Adds labels of a sample; a profile_id counts only if there is no span_id. */
static bool
rewrite_texts(Rewriting *rewriting, const PfsProfileLabel *labels, uint32_t count)
{
	if (rewriting->dialect->kind == DIALECT_DATADOG && !rewrite_span(rewriting, labels, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!pfs_text_equals(labels[i].key, PROFILE_ID) && !rewrite_label(rewriting, &labels[i]))
			return false;
	for (uint32_t i = 0; i < count; i++)
		if (pfs_text_equals(labels[i].key, PROFILE_ID) && !rewrite_label(rewriting, &labels[i]))
			return false;
	return true;
}

static bool
rewrite_sample(Rewriting *rewriting, PfsProfileSample *sample)
{
	const PfsProfileLabel *labels = &rewriting->profile->labels[sample->first_label];

	rewriting->first = rewriting->count;
	if (!(rewriting->dialect->kind == DIALECT_RECORDING
			  ? rewrite_ids(rewriting, labels, sample->label_count)
			  : rewrite_texts(rewriting, labels, sample->label_count)) ||
		!put_ids(rewriting))
		return false;
	sample->first_label = rewriting->first;
	sample->label_count = rewriting->count - rewriting->first;
	return true;
}

/* Writes the bytes of an id as hexadecimal digits; "" if they are all zero. */
static void
format_id(const uint8_t *id, size_t bytes, char *text)
{
	uint8_t any = 0;

	text[0] = '\0';
	for (size_t i = 0; i < bytes; i++)
		any |= id[i];
	for (size_t i = 0; any != 0 && i < bytes; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
}

/* Replaces the labels of all samples. Returns false if memory or budget is exhausted. */
static bool
rewrite_labels(PyroscopeDialect *dialect, PfsProfile *profile)
{
	const PfsTraceIds *ids = &dialect->series->ids;
	const PfsAllocator allocator = profile->budget->allocator;
	Rewriting rewriting = { .dialect = dialect, .profile = profile };
	bool is_good = true;

	format_id(ids->trace, PFS_TRACE_BYTES, dialect->ids[0]);
	format_id(ids->span, PFS_SPAN_BYTES, dialect->ids[1]);
	if (profile->label_count == 0 && dialect->ids[0][0] == '\0' && dialect->ids[1][0] == '\0')
		return true;
	for (uint32_t i = 0; is_good && i < profile->sample_count; i++)
	{
		if (profile->samples[i].label_count > 0 || dialect->ids[0][0] != '\0' ||
			dialect->ids[1][0] != '\0')
			is_good = rewrite_sample(&rewriting, &profile->samples[i]);
	}
	if (profile->labels != NULL)
		allocator.realloc(allocator.context, profile->labels, 0);
	profile->labels = rewriting.labels;
	profile->label_count = rewriting.count;
	return is_good;
}

/* --- times and values --- */

/*
 * Sets the time of a profile that has none, and makes all its samples those of one window. A
 * recording has the window of the request.
 */
static void
set_time(PyroscopeDialect *dialect, PfsProfile *profile)
{
	const bool is_own = profile->time_ns >= YEAR_1970_NS &&
						(dialect->kind != DIALECT_RECORDING || dialect->keeps_times);

	if (dialect->has_from && !is_own)
		profile->time_ns = dialect->from_us * NS_PER_US;
	dialect->has_time = profile->time_ns != 0;
	for (uint32_t i = 0; !dialect->keeps_times && i < profile->sample_count; i++)
		profile->samples[i].time_offset_ns = 0;
}

/*
 * Sets the type of a text format. Values that count samples of time are converted to nanoseconds.
 */
static PfsReadStatus
set_text_type(const PyroscopeDialect *dialect, PfsProfile *profile, PfsReadError *error)
{
	const TextType *type = dialect->text_type;
	const int64_t period =
		type->is_time && dialect->sample_rate > 0 ? NS_PER_S / dialect->sample_rate : 0;

	profile->types[0] = (PfsValueType){ dialect_text(type->type), dialect_text(type->unit) };
	if (type->is_time && period == 0)
		profile->types[0] = (PfsValueType){ { "samples", 7 }, { "count", 5 } };
	if (period == 0)
		return PFS_READ_OK;
	profile->period = period;
	profile->period_type = (PfsValueType){ { "cpu", 3 }, { "nanoseconds", 11 } };
	for (uint32_t i = 0; i < profile->sample_count; i++)
		if (__builtin_mul_overflow(profile->values[i], period, &profile->values[i]))
		{
			*error = pfs_error_at("value is out of range", 0);
			return PFS_READ_OUT_OF_RANGE;
		}
	return PFS_READ_OK;
}

static PfsReadStatus
dialect_adapt(void *context, PfsProfile *profile, PfsReadError *error)
{
	PyroscopeDialect *dialect = context;

	if (!rewrite_labels(dialect, profile))
	{
		*error = pfs_error_at(NULL, 0);
		return pfs_budget_status(profile->budget, error);
	}
	set_time(dialect, profile);

	/* Ignore expressions for dropping frames, because Pyroscope stores all frames. */
	profile->drop_frames = profile->keep_frames = dialect_text("");
	return dialect->kind == DIALECT_TEXT ? set_text_type(dialect, profile, error) : PFS_READ_OK;
}

static void
dialect_name_type(void *context, const PfsProfile *profile, uint32_t type, PfsTypeParts *parts)
{
	const PyroscopeDialect *dialect = context;

	parts->delta = !is_level_type(profile->types[type].type);
	if (dialect->series->type_name != NULL)
	{
		parts->name = dialect_text(dialect->series->type_name);
		return;
	}
	switch (dialect->kind)
	{
		case DIALECT_PPROF:
			parts->name = pprof_type_name(profile, dialect->types);
			break;
		case DIALECT_TEXT:
			parts->name = dialect_text(dialect->text_type->name);
			break;
		case DIALECT_VIEWER:
			parts->name = viewer_type_name(profile->types[type].type);
			break;
		case DIALECT_RECORDING:
			recording_name_type(parts);
			break;
		case DIALECT_DATADOG:
			parts->name = pprof_type_name(profile, dialect->types);
			datadog_name_type(parts);
			break;
	}
}

DecodeDialect
dialect_functions(PyroscopeDialect *dialect)
{
	return (DecodeDialect){ dialect, dialect_adapt, dialect_name_type };
}
