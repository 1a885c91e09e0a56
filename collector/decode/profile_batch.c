/*
 * profile_batch.c
 *		Converts a profile's own indexes to a batch's.
 *
 * 1. Mappings, functions, locations and stacks, each with the indexes of the previous kind.
 * 2. Rows for label sets and sample types, with values summed up as in the server.
 * 3. A series for each label set and sample type.
 * 4. Room for the rows, the notes of the file, and the rows: all of them or none.
 *
 * If the batch cannot hold a part of the profile (too many labels, sums beyond 64 bits), the server
 * can, or has an error message for it.
 */
#include "decode/profile_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "formats/memory.h"
#include "formats/profile_rows.h"

/* Longest key of a dictionary partition. */
#define PARTITION_BYTES_MAX 255

/* Prefix of names that a profile must not use. */
#define EXPORTED "exported_"

/*
 * Limit of the memory that values use while they become rows and samples, in addition to the batch.
 */
#define ROWS_BYTES_MAX ((size_t) 256 * 1024 * 1024)

typedef struct Adding
{
	const ProfileBatch *to;
	const PfsProfile *profile;
	Batch *batch;
	PfsBudget budget;
	PfsMaking making; /* allocator of the fields below */
	PfsLabels own;	  /* labels of all series, including labels with an empty value */
	PfsText name;	  /* name of the profile type; "" if the labels contain none */
	const char *partition;
	uint32_t *mappings; /* this and the next three map the profile's indexes to the batch's */
	uint32_t *functions;
	uint32_t *locations;
	int64_t *stacks; /* stack of each sample: index plus one, 0 for the empty stack */
	PfsProfileSets sets;
	uint32_t *series;
	PfsSampleRows rows;
	BatchSample *samples; /* as many as rows */
} Adding;

static void *
make(Adding *adding, size_t count, size_t item_bytes)
{
	/* one item more, so that NULL always means out of memory */
	return pfs_making_alloc(&adding->making, (count + 1) * item_bytes);
}

static const char *
profile_own_text(Adding *adding, PfsText text)
{
	return batch_text(adding->batch, text.length > 0 ? text.data : "", text.length);
}

static PfsText
profile_text_of(const char *string)
{
	return (PfsText){ string, (uint32_t) strlen(string) };
}

/* --- 1. stacks --- */

/* Adds the profile's mappings to the batch. */
static int
profile_add_mappings(Adding *adding)
{
	const PfsProfile *profile = adding->profile;
	int err = 0;

	adding->mappings = make(adding, profile->mapping_count, sizeof(uint32_t));
	if (adding->mappings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < profile->mapping_count; i++)
	{
		const PfsProfileMapping *from = &profile->mappings[i];
		BatchMapping mapping = { profile_own_text(adding, from->build_id),
								 profile_own_text(adding, from->file) };

		if (mapping.build_id == NULL || mapping.file == NULL)
			return -ENOMEM;
		err = batch_add_mapping(adding->batch, &mapping, &adding->mappings[i]);
	}
	return err;
}

static BatchText
profile_batch_text_of(PfsText text)
{
	return (BatchText){ text.data, text.length };
}

/* Adds the profile's functions to the batch. */
static int
profile_add_functions(Adding *adding)
{
	const PfsProfile *profile = adding->profile;
	int err = 0;

	adding->functions = make(adding, profile->function_count, sizeof(uint32_t));
	if (adding->functions == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < profile->function_count; i++)
	{
		const PfsProfileFunction *from = &profile->functions[i];
		const BatchFunctionTexts texts = { .name = profile_batch_text_of(from->name),
										   .system_name = profile_batch_text_of(from->system_name),
										   .filename = profile_batch_text_of(from->filename),
										   .start_line = from->start_line };

		err = batch_add_function_texts(adding->batch, &texts, &adding->functions[i]);
	}
	return err;
}

/* Adds a location of the profile; lines is scratch space. */
static int
profile_add_location(Adding *adding, uint32_t index, BatchLine *lines)
{
	const PfsProfileLocation *from = &adding->profile->locations[index];
	BatchLocation location = { .mapping = from->mapping == PFS_NONE
											  ? BATCH_NO_MAPPING
											  : adding->mappings[from->mapping],
							   .address = from->address,
							   .line_count = from->line_count,
							   .lines = lines };

	for (uint32_t i = 0; i < from->line_count; i++)
	{
		const PfsProfileLine *line = &adding->profile->lines[from->first_line + i];

		lines[i] = (BatchLine){ adding->functions[line->function], line->line };
	}
	return batch_add_location(adding->batch, &location, &adding->locations[index]);
}

static int
profile_add_locations(Adding *adding)
{
	uint32_t count = adding->profile->location_count;
	uint32_t line_count = 0;
	BatchLine *lines;
	int err = 0;

	/* lines is used for each location in turn, so it must hold the longest list */
	for (uint32_t i = 0; i < count; i++)
		line_count = MAX(line_count, adding->profile->locations[i].line_count);
	lines = make(adding, line_count, sizeof(BatchLine));
	adding->locations = make(adding, count, sizeof(uint32_t));
	if (adding->locations == NULL || lines == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < count; i++)
		err = profile_add_location(adding, i, lines);
	return err;
}

/*
 * Chooses the partition: the program's build ID, otherwise the service, otherwise the name of the
 * profile. Returns -E2BIG if it is too long.
 */
static int
profile_choose_partition(Adding *adding)
{
	const PfsProfile *profile = adding->profile;
	PfsText partition = pfs_labels_partition(&adding->own);

	/* pprof files list the main program's mapping first */
	if (profile->mapping_count > 0 && profile->mappings[0].build_id.length > 0)
		partition = profile->mappings[0].build_id;
	adding->partition = profile_own_text(adding, partition);
	if (adding->partition == NULL)
		return -ENOMEM;
	return strlen(adding->partition) > PARTITION_BYTES_MAX ? -E2BIG : 0;
}

static int
profile_add_stack(Adding *adding, uint32_t sample, uint32_t *frames)
{
	const PfsProfileSample *from = &adding->profile->samples[sample];
	BatchStack stack = { adding->partition, from->location_count, frames };
	uint32_t index;
	int err;

	adding->stacks[sample] = 0;
	if (from->location_count == 0)
		return 0;
	for (uint32_t i = 0; i < from->location_count; i++)
		frames[i] = adding->locations[adding->profile->location_indexes[from->first_location + i]];
	err = batch_add_stack(adding->batch, &stack, &index);
	/* plus one, because pfs_profile_rows() takes 0 for a sample without a stack */
	adding->stacks[sample] = (int64_t) index + 1;
	return err;
}

static int
profile_add_stacks(Adding *adding)
{
	uint32_t count = adding->profile->sample_count;
	uint32_t depth = 0;
	uint32_t *frames;
	int err = profile_choose_partition(adding);

	for (uint32_t i = 0; i < count; i++)
		depth = MAX(depth, adding->profile->samples[i].location_count);
	frames = make(adding, depth, sizeof(uint32_t));
	adding->stacks = make(adding, count, sizeof(int64_t));
	if (adding->stacks == NULL || frames == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < count; i++)
		err = profile_add_stack(adding, i, frames);
	return err;
}

/* --- 2. rows --- */

static int
check_values(Adding *adding)
{
	/*
	 * Each value may become a row, and each row a sample of the batch. 32 bits times at most
	 * PFS_PROFILE_MAX_SAMPLE_TYPES cannot overflow.
	 */
	size_t values = (size_t) adding->profile->sample_count * adding->profile->type_count;

	return values > ROWS_BYTES_MAX / (sizeof(PfsSampleRow) + sizeof(BatchSample)) ? -E2BIG : 0;
}

/* Separates the request's labels into the profile type's name and the labels of all series. */
static int
profile_take_labels(Adding *adding)
{
	const DecodeRequest *request = adding->to->request;

	adding->own.labels = make(adding, request->label_count, sizeof(PfsLabel));
	if (adding->own.labels == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < request->label_count; i++)
	{
		const BatchLabel *label = &request->labels[i];

		/* as in Prometheus, __name__ is no label of the series */
		if (strcmp(label->name, PFS_NAME_LABEL) == 0)
			adding->name = profile_text_of(label->value);
		else
			adding->own.labels[adding->own.count++] =
				(PfsLabel){ profile_text_of(label->name), profile_text_of(label->value) };
	}
	return 0;
}

/* Groups the samples by those of their labels that become labels of series. */
static int
make_sets(Adding *adding)
{
	/*
	 * The server's import keeps all labels of pprof files, but of other formats only the command's
	 * name, because their labels (pid, tid) would make a series for each thread.
	 */
	static const PfsText comm = { "comm", 4 };
	const PfsSeriesRules rules = { .own = adding->own,
								   .kept = &comm,
								   .kept_count = 1,
								   .keeps_all = adding->to->request->format == PROFILE_PPROF };
	PfsReadError error;

	return pfs_profile_sets(&adding->making, adding->profile, &rules, &adding->sets, &error) ==
				   PFS_READ_OK
			   ? 0
			   : -ENOMEM;
}

/*
 * Returns false if two rows have equal series, stack and time. Such rows exist if their sum exceeds
 * 64 bits, and a batch cannot hold both.
 */
static bool
rows_differ(const PfsSampleRows *rows)
{
	for (uint32_t i = 1; i < rows->count; i++)
	{
		/* rows are sorted by these three, so equal ones are adjacent */
		const PfsSampleRow *a = &rows->rows[i - 1];
		const PfsSampleRow *b = &rows->rows[i];

		if (a->series_id == b->series_id && a->stack_id == b->stack_id && a->time == b->time)
			return false;
	}
	return true;
}

static int
make_rows(Adding *adding)
{
	PfsReadError error;
	PfsReadStatus status =
		pfs_profile_rows(&adding->making, adding->profile, &adding->sets, adding->stacks,
						 adding->to->time_us, &adding->rows, &error);

	if (status != PFS_READ_OK)
		return status == PFS_READ_NO_MEMORY ? -ENOMEM : -E2BIG;
	return rows_differ(&adding->rows) ? 0 : -E2BIG;
}

/* --- 3. series --- */

static bool
is_delta(const Adding *adding)
{
	return adding->to->request->format != PROFILE_PPROF || pfs_pprof_is_delta(adding->profile);
}

/*
 * Returns the first part of the profile type: the request's label __name__, otherwise the format's
 * default, otherwise the first sample type.
 */
static PfsText
profile_name(const Adding *adding)
{
	const char *known = NULL;

	if (adding->name.data != NULL)
		return adding->name;
	switch (adding->to->request->format)
	{
		case PROFILE_PPROF:
			known = pfs_pprof_default_name(adding->profile);
			break;
		case PROFILE_FOLDED:
			known = "folded";
			break;
		case PROFILE_PERF_SCRIPT:
			known = "perf";
			break;
	}
	return known != NULL ? profile_text_of(known) : adding->profile->types[0].type;
}

/* Returns true if a label that was appended, or that is yet to be appended, has this name. */
static bool
is_in_use(const BatchLabel *labels, uint32_t count, const PfsLabels *from, PfsText name)
{
	for (uint32_t i = 0; i < count; i++)
		if (pfs_text_equals(name, labels[i].name))
			return true;
	/*
	 * a label that is appended later keeps its name, so that the result does not depend on the
	 * order
	 */
	for (uint32_t i = 0; i < from->count; i++)
		if (from->labels[i].name.length == name.length &&
			memcmp(from->labels[i].name.data, name.data, name.length) == 0)
			return true;
	return false;
}

/*
 * Returns the name of a sample's label. A name to which the database gives a meaning is changed:
 * "__name__", for example, would be taken for the profile type. NULL if out of memory.
 */
static const char *
guarded_name(Adding *adding, PfsText name, const PfsLabels *from, const BatchLabel *labels,
			 uint32_t count)
{
	size_t room = sizeof(EXPORTED) + name.length + sizeof("_4294967295");
	char *text;
	size_t length;

	/*
	 * PFS_LABEL_KINDS begins with "__", too, but is not from the file: it records the keys and
	 * units that labels had there.
	 */
	if (name.length < 2 || memcmp(name.data, "__", 2) != 0 ||
		pfs_text_equals(name, PFS_LABEL_KINDS))
		return profile_own_text(adding, name);
	text = pfs_making_alloc(&adding->making, room);
	if (text == NULL)
		return NULL;
	length = (size_t) snprintf(text, room, EXPORTED "%.*s", (int) name.length, name.data);
	/* exported___name__ may be a label of the profile already */
	for (uint32_t i = 2; is_in_use(labels, count, from, profile_text_of(text)); i++)
		snprintf(text + length, room - length, "_%" PRIu32, i);
	return batch_text(adding->batch, text, strlen(text));
}

/*
 * Appends labels to a series. If guards is true, names that are reserved for the database are
 * changed (guarded_name()).
 */
static int
append_labels(Adding *adding, const PfsLabels *from, bool guards, BatchLabel *labels,
			  uint32_t *count)
{
	for (uint32_t i = 0; i < from->count; i++)
	{
		const PfsLabel *label = &from->labels[i];

		/* an empty value means that the label is absent */
		if (label->value.length == 0)
			continue;
		/* -E2BIG gives the profile to the server, which names the limit */
		if (*count == BATCH_MAX_LABELS)
			return -E2BIG;
		labels[*count].name = guards ? guarded_name(adding, label->name, from, labels, *count)
									 : profile_own_text(adding, label->name);
		labels[*count].value = profile_own_text(adding, label->value);
		if (labels[*count].name == NULL || labels[*count].value == NULL)
			return -ENOMEM;
		++*count;
	}
	return 0;
}

/* Writes the name of a sample type's profile type. */
static void
name_type(const Adding *adding, uint32_t type, char name[PFS_PROFILE_TYPE_MAX])
{
	const PfsProfile *profile = adding->profile;
	const DecodeDialect *dialect = adding->to->request->dialect;
	PfsTypeParts parts = { .name = profile_name(adding),
						   .sample_type = profile->types[type].type,
						   .sample_unit = profile->types[type].unit,
						   .period_type = profile->period_type.type,
						   .period_unit = profile->period_type.unit,
						   .delta = is_delta(adding) };

	if (dialect != NULL)
		dialect->name_type(dialect->context, profile, type, &parts);
	pfs_profile_type_name(&parts, name);
}

/* Adds, for one set of labels, a series for each sample type. */
static int
add_set(Adding *adding, uint32_t set)
{
	const PfsProfile *profile = adding->profile;
	BatchLabel labels[BATCH_MAX_LABELS];
	char type[PFS_PROFILE_TYPE_MAX];
	BatchSeries series = { .profile_type = type, .labels = labels, .period = profile->period };
	/*
	 * The request's labels first, without guarding: the caller may set "__" names. A sample's label
	 * of equal name makes batch_add_series() fail, and the server decides.
	 */
	int err = append_labels(adding, &adding->own, false, labels, &series.label_count);

	if (err == 0)
		err = append_labels(adding, &adding->sets.labels[set], adding->to->request->guards_names,
							labels, &series.label_count);
	for (uint32_t i = 0; err == 0 && i < profile->type_count; i++)
	{
		name_type(adding, i, type);
		err = batch_add_series(adding->batch, &series,
							   &adding->series[set * profile->type_count + i]);
	}
	return err;
}

/* Returns false if two sample types have equal names, because they would become one series. */
static bool
types_differ(const Adding *adding)
{
	uint32_t count = adding->profile->type_count;

	/* the series of the first label set are sufficient, because all sets have equal types */
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (adding->series[i] == adding->series[j])
				return false;
	return true;
}

static int
profile_add_series(Adding *adding)
{
	int err = 0;

	adding->series =
		make(adding, (size_t) adding->sets.count * adding->profile->type_count, sizeof(uint32_t));
	if (adding->series == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < adding->sets.count; i++)
		err = add_set(adding, i);
	return err == 0 && !types_differ(adding) ? -E2BIG : err;
}

/* --- 4. samples --- */

static int
empty_stack(Adding *adding, uint32_t *index)
{
	const BatchStack stack = { .partition = adding->partition };

	return batch_add_stack(adding->batch, &stack, index);
}

/*
 * Converts rows to samples of the batch, and reserves room for all of them, so that adding them
 * cannot fail halfway.
 */
static int
reserve_samples(Adding *adding)
{
	uint32_t empty = 0;
	int err = 0;

	adding->samples = make(adding, adding->rows.count, sizeof(BatchSample));
	if (adding->samples == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < adding->rows.count; i++)
	{
		const PfsSampleRow *row = &adding->rows.rows[i];

		/* only if a row needs it, so that batches without such rows get no empty stack */
		if (row->stack_id == 0)
			err = empty_stack(adding, &empty);
		adding->samples[i] = (BatchSample){
			.time_us = row->time,
			.series = adding->series[row->series_id],
			.stack = row->stack_id == 0 ? empty : (uint32_t) (row->stack_id - 1),
			.value = row->value,
		};
	}
	if (err == 0)
		err = batch_reserve_traces(adding->batch, adding->rows.trace_count);
	return err == 0 ? batch_reserve_samples(adding->batch, adding->samples, adding->rows.count)
					: err;
}

/*
 * Adds a trace. It belongs to one of the rows, so if its stack is empty, the batch has an empty
 * stack already.
 */
static int
profile_add_trace(Adding *adding, const PfsTraceRow *from)
{
	const PfsSampleRow *row = &from->row;
	BatchTrace trace = { .sample = { .time_us = row->time,
									 .series = adding->series[row->series_id],
									 .stack = (uint32_t) (row->stack_id - 1),
									 .value = row->value } };
	int err = row->stack_id == 0 ? empty_stack(adding, &trace.sample.stack) : 0;

	memcpy(trace.trace, from->ids.trace, sizeof(trace.trace));
	memcpy(trace.span, from->ids.span, sizeof(trace.span));
	return err == 0 ? batch_add_trace(adding->batch, &trace) : err;
}

/* Adds the notes of the profile to all of its series, if it has any. */
static int
profile_add_notes(Adding *adding)
{
	const PfsProfile *profile = adding->profile;
	const char **comments = make(adding, profile->comment_count, sizeof(const char *));
	BatchNote note = { .comment_count = profile->comment_count, .comments = comments };
	PfsText type = { "", 0 };

	if (profile->default_type != PFS_NONE)
		type = profile->types[profile->default_type].type;
	/* drop_frames is not tested: profiles that have it go to the server, which cuts their stacks */
	if (type.length + profile->doc_url.length + profile->keep_frames.length == 0 &&
		profile->comment_count == 0)
		return 0;
	for (uint32_t i = 0; comments != NULL && i < profile->comment_count; i++)
		comments[i] = profile_own_text(adding, profile->comments[i]);
	note.default_type = profile_own_text(adding, type);
	note.doc_url = profile_own_text(adding, profile->doc_url);
	note.drop_frames = profile_own_text(adding, profile->drop_frames);
	note.keep_frames = profile_own_text(adding, profile->keep_frames);
	if (comments == NULL || note.default_type == NULL || note.doc_url == NULL ||
		note.drop_frames == NULL || note.keep_frames == NULL)
		return -ENOMEM;
	return batch_add_notes(adding->batch, &note, adding->series,
						   (size_t) adding->sets.count * profile->type_count);
}

static int
profile_add_samples(Adding *adding)
{
	int err = 0;

	/* reserve_samples() has made room, and has checked the sums */
	for (uint32_t i = 0; err == 0 && i < adding->rows.count; i++)
		err = batch_add_sample(adding->batch, &adding->samples[i]);
	for (uint32_t i = 0; err == 0 && i < adding->rows.trace_count; i++)
		err = profile_add_trace(adding, &adding->rows.traces[i]);
	return err;
}

static DecodeEnd
profile_end_of(int err, DecodeResult *result)
{
	switch (err)
	{
		case 0:
			return DECODE_OK;
		case -ENOMEM:
		case -EOVERFLOW: /* the sum of equal samples exceeds 64 bits */
			return DECODE_NO_ROOM;
		default:
			result->message = "the profile exceeds the limits of a batch";
			return DECODE_SERVER;
	}
}

DecodeEnd
profile_to_batch(const ProfileBatch *to, const PfsProfile *profile)
{
	static int (*const steps[])(Adding *) = { check_values,
											  profile_take_labels,
											  profile_add_mappings,
											  profile_add_functions,
											  profile_add_locations,
											  profile_add_stacks,
											  make_sets,
											  make_rows,
											  profile_add_series,
											  reserve_samples,
											  profile_add_notes,
											  profile_add_samples };
	Adding adding = { .to = to,
					  .profile = profile,
					  .batch = to->batch,
					  .budget = { .allocator = { share_realloc, to->request->limits.memory },
								  .left = SIZE_MAX } };
	int err = 0;

	adding.making.budget = &adding.budget;
	/* Growing tables step by step to some hundred thousand items would copy them several times. */
	batch_expect(to->batch, profile->function_count, profile->location_count,
				 profile->sample_count);
	for (size_t i = 0; err == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		err = steps[i](&adding);
	to->result->sample_count = adding.rows.count;
	pfs_scratch_free(&adding.making.scratch, &adding.budget);
	return profile_end_of(err, to->result);
}
