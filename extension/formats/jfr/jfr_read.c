/*
 * jfr_read.c
 *		Reads the events of all chunks and makes samples of them.
 *
 * 1. For each chunk, its types and pools are read, then its events in order; known events add a
 *    sample with two numbers: count and amount.
 * 2. At the end of a chunk its execution samples get their amounts from its settings, which may
 *    follow the samples.
 * 3. The profile gets the types of the events that occurred.
 * 4. Locations get their lines.
 */
#include "formats/jfr/jfr_read.h"

#include <string.h>

#include "formats/jfr/jfr_chunk.h"
#include "formats/jfr/jfr_settings.h"
#include "formats/lines.h"

/*
 * Limit of the values and fields that are read per byte of the file. In real files there are at
 * most two per byte.
 */
#define STEPS_PER_BYTE 16
#define STEPS_MIN	   (1 << 20)

/* Limit of the frames of all samples. */
#define FRAMES_MAX (UINT64_C(1) << 26)

/*
 * Most kinds of events that async-profiler counted instead of time. Each recording in a file has
 * one.
 */
#define COUNTERS_MAX 8

/* The thread state in async-profiler's samples of CPU time. */
#define NO_STATE "STATE_DEFAULT"

typedef enum Kind
{
	KIND_EXECUTION,
	KIND_WALL,
	KIND_ALLOCATION,
	KIND_MONITOR,
	KIND_PARK,
	KIND_PUSHED_CPU, /* kinds from here on are those of recordings that are pushed */
	KIND_PUSHED_WALL,
	KIND_IN_TLAB,
	KIND_OUTSIDE_TLAB,
	KIND_ALLOCATION_SAMPLE,
	KIND_LIVE,
	KIND_MALLOC,
	KIND_COUNT, /* kinds from here on are counters */
	KIND_MAX = KIND_COUNT + COUNTERS_MAX,
	KIND_IGNORED
} Kind;

/* The sample types of a kind. */
static const struct
{
	const char *count; /* NULL: only the amount is stored */
	const char *amount;
	const char *unit;
} kinds[KIND_COUNT] = {
	[KIND_EXECUTION] = { "samples", "cpu", "nanoseconds" },
	[KIND_WALL] = { "wall_samples", "wall", "nanoseconds" },
	[KIND_ALLOCATION] = { "alloc_objects", "alloc_space", "bytes" },
	[KIND_MONITOR] = { "contentions", "delay", "nanoseconds" },
	[KIND_PARK] = { "parks", "park_time", "nanoseconds" },
	[KIND_PUSHED_CPU] = { NULL, "cpu", "nanoseconds" },
	[KIND_PUSHED_WALL] = { NULL, "wall", "nanoseconds" },
	[KIND_IN_TLAB] = { "alloc_in_new_tlab_objects", "alloc_in_new_tlab_bytes", "bytes" },
	[KIND_OUTSIDE_TLAB] = { "alloc_outside_tlab_objects", "alloc_outside_tlab_bytes", "bytes" },
	[KIND_ALLOCATION_SAMPLE] = { "alloc_sample_objects", "alloc_sample_bytes", "bytes" },
	[KIND_LIVE] = { NULL, "live", "count" },
	[KIND_MALLOC] = { "malloc_objects", "malloc_bytes", "bytes" },
};

/* The field of an event that contains its amount; NULL: the settings determine it. */
static const struct
{
	const char *event;
	const char *amount;
	Kind kind;
	Kind pushed_kind; /* kind of the event in a recording that is pushed */
} events[] = {
	{ "jdk.ExecutionSample", NULL, KIND_EXECUTION, KIND_EXECUTION },
	{ "profiler.WallClockSample", "samples", KIND_WALL, KIND_WALL },
	{ "jdk.ObjectAllocationInNewTLAB", "tlabSize", KIND_ALLOCATION, KIND_IN_TLAB },
	{ "jdk.ObjectAllocationOutsideTLAB", "allocationSize", KIND_ALLOCATION, KIND_OUTSIDE_TLAB },
	{ "jdk.ObjectAllocationSample", "weight", KIND_ALLOCATION, KIND_ALLOCATION_SAMPLE },
	{ "jdk.JavaMonitorEnter", "duration", KIND_MONITOR, KIND_MONITOR },
	{ "jdk.ThreadPark", "duration", KIND_PARK, KIND_PARK },
	{ "profiler.LiveObject", NULL, KIND_IGNORED, KIND_LIVE },
	{ "profiler.Malloc", "size", KIND_IGNORED, KIND_MALLOC },
};

#define EVENT_COUNT (sizeof(events) / sizeof(events[0]))

/* Data that a sample needs beside its entry in the profile: its kind, and its numbers. */
typedef struct Numbers
{
	int kind; /* enum Kind */
	int64_t count;
	int64_t amount;
	bool has_state; /* true for an execution sample that contains the state of its thread */
} Numbers;

typedef struct Reader
{
	PfsProfile *profile;
	PfsReadError *error;
	PfsJfrFrames frames;
	Numbers *numbers; /* one entry for each sample */
	int64_t end_ns;
	uint64_t frame_count; /* number of frames of all samples; samples share frames in the profile */
	bool has_kind[KIND_MAX];
	PfsText counters[COUNTERS_MAX];
	int counter_count;
	PfsJfrSettings settings; /* settings of this chunk or, if it has none, of the previous one */
	PfsJfrChunk chunk;
	PfsJfrSettings chunk_settings;
	uint32_t classes[EVENT_COUNT]; /* number of each class in the chunk, or PFS_NONE */
	uint32_t setting;
	uint32_t recording;
	uint32_t thread_state;
	uint64_t no_state; /* key that NO_STATE has in this chunk */
	bool knows_no_state;
} Reader;

bool
pfs_is_jfr(const uint8_t *bytes, size_t length)
{
	return length >= 4 && memcmp(bytes, "FLR", 4) == 0;
}

/* --- settings --- */

static PfsJfrOwner
owner_of(const Reader *reader, uint64_t event_id)
{
	/* Settings belong to the class of events whose id they name. Only two classes matter. */
	uint32_t class_index = pfs_id_find(&reader->chunk.types.ids, event_id);

	if (class_index == PFS_NONE)
		return PFS_JFR_OWNER_OTHER;
	/* events[0] is jdk.ExecutionSample. */
	if (class_index == reader->classes[0])
		return PFS_JFR_OWNER_EXECUTION;
	return class_index == reader->recording ? PFS_JFR_OWNER_RECORDING : PFS_JFR_OWNER_OTHER;
}

/* Reads an event of settings, whose fields are found by name. */
static PfsReadStatus
read_setting(Reader *reader)
{
	const PfsJfrClass *class = &reader->chunk.types.classes[reader->setting];
	PfsText name = { "", 0 };
	PfsText value = { "", 0 };
	uint64_t id = 0;
	PfsReadStatus status = PFS_READ_OK;

	/* Fields follow each other without lengths, so each is read or skipped exactly. */
	for (uint32_t i = 0; status == PFS_READ_OK && i < class->field_count; i++)
	{
		const PfsJfrField *field = &reader->chunk.types.fields[class->first_field + i];
		/* A text may be inline or a key of the pool of strings; both have the class String. */
		bool is_text = !field->is_array && field->class_index != PFS_NONE &&
					   reader->chunk.types.classes[field->class_index].form == PFS_JFR_TEXT;

		if (is_text && pfs_text_equals(field->name, "name"))
			status = pfs_jfr_read_text(&reader->chunk, field, &name);
		else if (is_text && pfs_text_equals(field->name, "value"))
			status = pfs_jfr_read_text(&reader->chunk, field, &value);
		else if (pfs_text_equals(field->name, "id") && !field->is_array)
			status = pfs_jfr_number(&reader->chunk.in, &id);
		else
			status = pfs_jfr_skip_field(&reader->chunk.in, &reader->chunk.types, field);
	}
	if (status == PFS_READ_OK)
		pfs_jfr_take_setting(&reader->chunk_settings, owner_of(reader, id), name, value);
	return status;
}

/* --- events --- */

/* Names of fields with ids. In a pushed recording they become labels of samples. */
static const char *const id_names[] = { PFS_JFR_CONTEXT_ID, PFS_JFR_SPAN_ID, PFS_JFR_SPAN_NAME,
										PFS_JFR_TRACE_HIGH, PFS_JFR_TRACE_LOW };

#define ID_COUNT (sizeof(id_names) / sizeof(id_names[0]))

static Kind
event_kind(const Reader *reader, size_t event)
{
	return reader->profile->is_pushed ? events[event].pushed_kind : events[event].kind;
}

/* The numbers of an event, read from the fields with these names. */
typedef struct EventFields
{
	uint64_t start;
	uint64_t stack;
	uint64_t state;
	uint64_t amount;
	uint64_t ids[ID_COUNT];
} EventFields;

/* Returns the target of a field, determined by its name and encoding. */
static uint64_t *
field_target(const Reader *reader, EventFields *fields, const PfsJfrField *field,
			 const char *amount)
{
	const PfsJfrTypes *types = &reader->chunk.types;
	uint32_t class_index = field->class_index;
	/*
	 * The field's name alone is not sufficient. A newer version of the runtime may change its
	 * encoding, which would then be skipped.
	 */
	bool is_number = !field->is_array && !field->in_pool && class_index != PFS_NONE &&
					 types->classes[class_index].form == PFS_JFR_NUMBER;
	bool is_key = !field->is_array && field->in_pool && class_index != PFS_NONE;

	if (is_number && pfs_text_equals(field->name, "startTime"))
		return &fields->start;
	if (is_number && amount != NULL && pfs_text_equals(field->name, amount))
		return &fields->amount;
	/* Trace ids matter only in pushed recordings, where they become labels. */
	for (size_t i = 0; is_number && reader->profile->is_pushed && i < ID_COUNT; i++)
		if (pfs_text_equals(field->name, id_names[i]))
			return &fields->ids[i];
	if (is_key && class_index == reader->chunk.stack_types.stack &&
		pfs_text_equals(field->name, "stackTrace"))
		return &fields->stack;
	return is_key && class_index == reader->thread_state && pfs_text_equals(field->name, "state")
			   ? &fields->state
			   : NULL;
}

static PfsReadStatus
read_event_fields(Reader *reader, size_t event, EventFields *fields)
{
	const PfsJfrTypes *types = &reader->chunk.types;
	const PfsJfrClass *class = &types->classes[reader->classes[event]];
	PfsReadStatus status = PFS_READ_OK;

	for (uint32_t i = 0; status == PFS_READ_OK && i < class->field_count; i++)
	{
		const PfsJfrField *field = &types->fields[class->first_field + i];
		uint64_t *to = field_target(reader, fields, field, events[event].amount);

		/* Numbers and keys have one encoding, so both are read by pfs_jfr_number(). */
		status = to != NULL ? pfs_jfr_number(&reader->chunk.in, to)
							: pfs_jfr_skip_field(&reader->chunk.in, types, field);
	}
	return status;
}

/* Sets *has_state to true if a key refers to a thread state other than NO_STATE. */
static PfsReadStatus
read_state(Reader *reader, uint64_t key, bool *has_state)
{
	PfsText name = { "", 0 };
	PfsReadStatus status = PFS_READ_OK;

	/*
	 * The state of most samples is NO_STATE; its key is remembered, which saves a lookup per
	 * sample.
	 */
	if (!reader->knows_no_state || key != reader->no_state)
		status = pfs_jfr_constant_name(&reader->chunk, reader->thread_state, key, &name);
	else
		name = (PfsText){ NO_STATE, (uint32_t) strlen(NO_STATE) };
	*has_state = name.length > 0 && !pfs_text_equals(name, NO_STATE);
	if (name.length > 0 && !*has_state)
	{
		/*
		 * Keys of constants are valid only within a chunk; find_classes() forgets the key at the
		 * next one.
		 */
		reader->knows_no_state = true;
		reader->no_state = key;
	}
	return status;
}

/* Computes nanoseconds since the profile's time. */
static PfsReadStatus
time_offset(const Reader *reader, uint64_t ticks, int64_t *offset)
{
	const PfsJfrChunk *chunk = &reader->chunk;
	int64_t since;

	/*
	 * 1. Ticks since the chunk began; 2. as nanoseconds since 1970; 3. relative to the first chunk,
	 *    whose start is the profile's time.
	 */
	if (__builtin_sub_overflow((int64_t) ticks, chunk->start_ticks, &since) ||
		__builtin_add_overflow(pfs_jfr_nanoseconds(chunk, since), chunk->start_ns, &since) ||
		__builtin_sub_overflow(since, reader->profile->time_ns, offset))
	{
		*reader->error = pfs_error_at("time of event is out of range", chunk->in.at);
		return PFS_READ_OUT_OF_RANGE;
	}
	return PFS_READ_OK;
}

/* Adds an event's ids to the labels of its sample. Returns false if out of memory or budget. */
static bool
add_ids(Reader *reader, const EventFields *fields, PfsProfileSample *sample)
{
	PfsProfile *profile = reader->profile;

	/* Labels of the sample are contiguous, because the samples are added one by one. */
	sample->first_label = profile->label_count;
	for (size_t i = 0; i < ID_COUNT; i++)
	{
		/* An id of 0 means that no span was active. */
		if (fields->ids[i] == 0)
			continue;
		if (!PFS_GROW(profile->budget, profile->labels, profile->label_count))
			return false;
		profile->labels[profile->label_count++] =
			(PfsProfileLabel){ .key = { id_names[i], (uint32_t) strlen(id_names[i]) },
							   .number = (int64_t) fields->ids[i],
							   .numeric = true };
		sample->label_count++;
	}
	return true;
}

/* Adds a sample for a known event. Durations are converted from ticks. */
static PfsReadStatus
jfr_read_event(Reader *reader, size_t event)
{
	PfsProfile *profile = reader->profile;
	EventFields fields = { 0 };
	PfsProfileSample sample = { .first_label = 0 };
	Numbers numbers = { .kind = event_kind(reader, event), .count = 1 };
	PfsReadStatus status = read_event_fields(reader, event, &fields);

	/*
	 * 1. The fields are read, then 2. the stack at its own position in the pool, which keeps the
	 *    position of the next event.
	 */
	if (status == PFS_READ_OK)
		status = time_offset(reader, fields.start, &sample.time_offset_ns);
	if (status == PFS_READ_OK)
		status = pfs_jfr_set_stack(&reader->chunk, &reader->frames, fields.stack, &sample);
	if (status == PFS_READ_OK && numbers.kind == KIND_EXECUTION)
		status = read_state(reader, fields.state, &numbers.has_state);
	if (status != PFS_READ_OK)
		return status;
	/*
	 * The profile stores the frames of equal stacks once, but later steps read them once per
	 * sample, so their sum is limited.
	 */
	reader->frame_count += sample.location_count;
	if (reader->frame_count > FRAMES_MAX)
	{
		*reader->error = pfs_error_at("recording has too many frames", reader->chunk.in.at);
		return PFS_READ_TOO_LARGE;
	}
	numbers.amount = (int64_t) fields.amount;
	if (numbers.kind == KIND_MONITOR || numbers.kind == KIND_PARK)
		numbers.amount = pfs_jfr_nanoseconds(&reader->chunk, numbers.amount);
	/*
	 * A sample of wall-clock time covers several ticks of the sampler. Its field counts them, and
	 * set_amount() multiplies them by the interval.
	 */
	if (numbers.kind == KIND_WALL)
		numbers.count = numbers.amount;
	if (numbers.kind == KIND_LIVE)
		numbers.amount = 1; /* each event is an object */

	/*
	 * Samples and numbers are parallel arrays: both grow here, and the count increases after both.
	 */
	if (!add_ids(reader, &fields, &sample) ||
		!PFS_GROW(profile->budget, profile->samples, profile->sample_count) ||
		!PFS_GROW(profile->budget, reader->numbers, profile->sample_count))
		return pfs_jfr_refused(&reader->chunk.in);
	profile->samples[profile->sample_count] = sample;
	reader->numbers[profile->sample_count++] = numbers;
	return PFS_READ_OK;
}

/* Reads an event whose fields are next, if its class is known. */
static PfsReadStatus
read_known(Reader *reader, uint64_t class_id)
{
	uint32_t class_index = pfs_id_find(&reader->chunk.types.ids, class_id);

	/* Events of unknown classes are skipped by their size. */
	if (class_index == PFS_NONE)
		return PFS_READ_OK;
	if (class_index == reader->setting)
		return read_setting(reader);
	for (size_t i = 0; i < EVENT_COUNT; i++)
		if (reader->classes[i] == class_index)
			return jfr_read_event(reader, i);
	return PFS_READ_OK;
}

/*
 * Reads the events of a chunk in order; each begins with its size, so unknown ones can be skipped.
 */
static PfsReadStatus
jfr_read_events(Reader *reader)
{
	PfsJfrBytes *in = &reader->chunk.in;
	PfsReadStatus status = PFS_READ_OK;

	/*
	 * The events are between the header and the end, mixed with the metadata and the pools, which
	 * are events of unknown classes here.
	 */
	in->at = PFS_JFR_HEADER_BYTES;
	while (status == PFS_READ_OK && in->at < in->length)
	{
		size_t begin = in->at;
		uint64_t size;
		uint64_t class_id;

		status = pfs_jfr_step(in);
		if (status == PFS_READ_OK)
			status = pfs_jfr_number(in, &size);
		if (status != PFS_READ_OK)
			return status;
		/* The size includes its own bytes. A size of 0 would never move forward. */
		if (size < in->at - begin || size > in->length - begin)
		{
			in->at = begin;
			return pfs_jfr_fail(in, "event extends beyond the end");
		}
		status = pfs_jfr_number(in, &class_id);
		if (status == PFS_READ_OK)
			status = read_known(reader, class_id);
		/*
		 * The size determines where the next event begins, wherever the fields of a known event
		 * ended.
		 */
		in->at = begin + (size_t) size;
	}
	return status;
}

static void
find_classes(Reader *reader)
{
	/* A class that is missing in the chunk has PFS_NONE, which equals no index. */
	for (size_t i = 0; i < EVENT_COUNT; i++)
		reader->classes[i] = event_kind(reader, i) == KIND_IGNORED
								 ? PFS_NONE
								 : pfs_jfr_class_named(&reader->chunk.types, events[i].event);
	reader->setting = pfs_jfr_class_named(&reader->chunk.types, "jdk.ActiveSetting");
	reader->recording = pfs_jfr_class_named(&reader->chunk.types, "jdk.ActiveRecording");
	reader->thread_state = pfs_jfr_class_named(&reader->chunk.types, "jdk.types.ThreadState");
	reader->knows_no_state = false;
}

/* --- step 2: amounts --- */

/* Returns the kind for a counted event; KIND_MAX if there are too many. */
static int
counter_kind(Reader *reader, PfsText event)
{
	int at = 0;

	while (at < reader->counter_count &&
		   (reader->counters[at].length != event.length ||
			memcmp(reader->counters[at].data, event.data, event.length) != 0))
		at++;
	if (at == reader->counter_count && at < COUNTERS_MAX)
		reader->counters[reader->counter_count++] = event;
	return KIND_COUNT + at;
}

/* Sets the amount of a sample whose count is known. */
static PfsReadStatus
set_amount(Reader *reader, Numbers *numbers)
{
	PfsJfrMeasure measure = { PFS_JFR_WALL, pfs_jfr_wall_period(&reader->settings) };

	if (numbers->kind != KIND_EXECUTION && numbers->kind != KIND_WALL)
		return PFS_READ_OK;
	if (numbers->kind == KIND_EXECUTION)
		measure = pfs_jfr_execution_measure(&reader->settings, numbers->has_state);
	/*
	 * The settings determine whether async-profiler samples CPU time, wall-clock time or a counter,
	 * all with the same class of event.
	 */
	if (measure.unit == PFS_JFR_WALL)
		numbers->kind = KIND_WALL;
	else if (measure.unit == PFS_JFR_EVENTS)
		numbers->kind = counter_kind(reader, reader->settings.event);
	/* counter_kind() returned the first kind beyond the last counter. */
	if (numbers->kind == KIND_MAX)
	{
		*reader->error = pfs_error_at("recording counts too many kinds of events", 0);
		return PFS_READ_TOO_LARGE;
	}
	/* A recording that is pushed has types of its own, see kinds[]. */
	if (reader->profile->is_pushed && numbers->kind == KIND_EXECUTION)
		numbers->kind = KIND_PUSHED_CPU;
	else if (reader->profile->is_pushed && numbers->kind == KIND_WALL)
		numbers->kind = KIND_PUSHED_WALL;
	if (__builtin_mul_overflow(numbers->count, measure.amount, &numbers->amount))
	{
		*reader->error = pfs_error_at("value is out of range", 0);
		return PFS_READ_OUT_OF_RANGE;
	}
	return PFS_READ_OK;
}

/* Sets the amounts of a chunk's samples, which are those from first on. */
static PfsReadStatus
set_amounts(Reader *reader, uint32_t first)
{
	PfsReadStatus status = PFS_READ_OK;

	/* async-profiler writes settings only in the first chunk */
	if (reader->chunk_settings.is_set)
		reader->settings = reader->chunk_settings;
	for (uint32_t i = first; status == PFS_READ_OK && i < reader->profile->sample_count; i++)
	{
		status = set_amount(reader, &reader->numbers[i]);
		if (status == PFS_READ_OK)
			reader->has_kind[reader->numbers[i].kind] = true;
	}
	return status;
}

/* Reads the chunk at a position of the file; *next is the position after it. */
static PfsReadStatus
jfr_read_chunk(Reader *reader, PfsJfrBytes *file, size_t begin, size_t *next)
{
	PfsJfrBytes in = *file;
	uint32_t first = reader->profile->sample_count;
	PfsReadStatus status;
	int64_t end_ns;

	/* The chunk is a view of the file: positions in it count from the chunk's begin. */
	in.bytes += begin;
	in.length -= begin;
	status = pfs_jfr_chunk_open(&reader->chunk, &in);
	/* The first chunk's start is the time of the whole profile. */
	if (begin == 0)
		reader->profile->time_ns = reader->chunk.start_ns;
	/* An end beyond int64 is ignored, because it serves only the duration. */
	if (!__builtin_add_overflow(reader->chunk.start_ns, reader->chunk.duration_ns, &end_ns) &&
		end_ns > reader->end_ns)
		reader->end_ns = end_ns;
	if (status == PFS_READ_OK)
	{
		find_classes(reader);
		/* Each chunk may set its own settings, so the previous chunk's are not mixed with them. */
		reader->chunk_settings = (PfsJfrSettings){ .is_set = false };
		status = jfr_read_events(reader);
	}
	if (status == PFS_READ_OK)
		/* Settings may follow the samples in the chunk, so amounts come last. */
		status = set_amounts(reader, first);
	if (status != PFS_READ_OK)
		/* Positions in errors count from the begin of the file. */
		reader->error->offset += begin;
	*next = begin + reader->chunk.in.length;
	/* The steps are limited for the whole file, not per chunk. */
	file->steps_left = reader->chunk.in.steps_left;
	pfs_jfr_chunk_close(&reader->chunk);
	return status;
}

/* --- step 3: types --- */

static PfsReadStatus
jfr_refused(const Reader *reader)
{
	reader->error->offset = 0;
	return pfs_budget_status(reader->profile->budget, reader->error);
}

static bool
add_type(PfsProfile *profile, PfsText type, const char *unit)
{
	if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return false;
	profile->types[profile->type_count++] =
		(PfsValueType){ type, { unit, (uint32_t) strlen(unit) } };
	return true;
}

static PfsText
static_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

/* Adds the types of a kind. A counter has only an amount, with the event's name. */
static bool
add_types(Reader *reader, int kind)
{
	PfsProfile *profile = reader->profile;

	/* A counter is named by the profiler, for example "cache-misses". */
	if (kind >= KIND_COUNT)
		return add_type(profile, reader->counters[kind - KIND_COUNT], "count");
	return (kinds[kind].count == NULL ||
			add_type(profile, static_text(kinds[kind].count), "count")) &&
		   add_type(profile, static_text(kinds[kind].amount), kinds[kind].unit);
}

/* Sets the types. A recording without any known event gets those of execution. */
static PfsReadStatus
set_types(Reader *reader, uint32_t first_types[KIND_MAX])
{
	PfsProfile *profile = reader->profile;

	/* A profile must have at least one type. */
	if (profile->sample_count == 0)
		reader->has_kind[profile->is_pushed ? KIND_PUSHED_CPU : KIND_EXECUTION] = true;
	for (int kind = 0; kind < KIND_MAX; kind++)
	{
		/*
		 * first_types[kind] is the column of the kind's first value; it is unused for kinds that
		 * did not occur.
		 */
		first_types[kind] = profile->type_count;
		if (reader->has_kind[kind] && !add_types(reader, kind))
			return jfr_refused(reader);
	}
	return PFS_READ_OK;
}

/* Moves the numbers of the samples to the values of their types. */
static PfsReadStatus
set_values(Reader *reader)
{
	PfsProfile *profile = reader->profile;
	uint32_t first_types[KIND_MAX];
	PfsReadStatus status = set_types(reader, first_types);
	size_t count;

	if (status != PFS_READ_OK)
		return status;
	count = (size_t) profile->sample_count * profile->type_count;
	/* A sample has values only in the columns of its kind, 0 in all others. */
	for (size_t i = 0; i < count; i++)
	{
		if (!PFS_GROW(profile->budget, profile->values, i))
			return jfr_refused(reader);
		profile->values[i] = 0;
	}
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const Numbers *numbers = &reader->numbers[i];
		size_t at = (size_t) i * profile->type_count + first_types[numbers->kind];

		if (numbers->kind < KIND_COUNT && kinds[numbers->kind].count != NULL)
			/* The count precedes the amount, as add_types() adds their types. */
			profile->values[at++] = numbers->count;
		profile->values[at] = numbers->amount;
	}
	return PFS_READ_OK;
}

/* --- step 4: lines --- */
static PfsReadStatus
set_lines(Reader *reader)
{
	PfsProfile *profile = reader->profile;

	for (uint32_t i = 0; i < profile->location_count; i++)
	{
		PfsProfileLocation *location = &profile->locations[i];

		/* The address contains function and line, see chunk_add_frame(), and is 0 in the result. */
		if (!PFS_GROW(profile->budget, profile->lines, profile->line_count))
			return jfr_refused(reader);
		location->first_line = profile->line_count;
		location->line_count = 1;
		profile->lines[profile->line_count++] =
			(PfsProfileLine){ (uint32_t) (location->address >> 32),
							  (int32_t) (location->address & UINT32_MAX) };
		location->address = 0;
	}
	return PFS_READ_OK;
}

static PfsReadStatus
jfr_read_all(Reader *reader, PfsJfrBytes *file)
{
	PfsProfile *profile = reader->profile;
	PfsReadStatus status = PFS_READ_OK;

	/*
	 * The next chunk begins where the previous one ends; at is its begin and, after the call, its
	 * end.
	 */
	for (size_t at = 0; status == PFS_READ_OK && at < file->length;)
		status = jfr_read_chunk(reader, file, at, &at);
	if (status == PFS_READ_OK)
		status = set_values(reader);
	if (status == PFS_READ_OK)
		status = set_lines(reader);
	/* the values are sums over time, which a duration other than 0 shows */
	if (__builtin_sub_overflow(reader->end_ns, profile->time_ns, &profile->duration_ns) ||
		profile->duration_ns <= 0)
		profile->duration_ns = 1;
	return status;
}

PfsReadStatus
pfs_jfr_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = { .profile = profile, .error = error };
	PfsJfrBytes file = { .bytes = bytes,
						 .length = length,
						 .steps_left = STEPS_MIN + length * STEPS_PER_BYTE,
						 .profile = profile,
						 .error = error };
	PfsAllocator allocator = profile->budget->allocator;
	PfsReadStatus status;

	profile->name = "jfr";
	pfs_text_index_init(&reader.frames.functions, profile->budget);
	pfs_addresses_init(&reader.frames.lines, profile);
	status = jfr_read_all(&reader, &file);
	pfs_text_index_fini(&reader.frames.functions);
	pfs_addresses_fini(&reader.frames.lines);
	if (reader.numbers != NULL)
		allocator.realloc(allocator.context, reader.numbers, 0);
	return status;
}
