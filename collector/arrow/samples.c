/*
 * samples.c
 *		Converts rows to samples: each has a series, from the columns to which the row refers, a
 *		stack, a time and a value.
 *
 * Neighbouring rows mostly refer to equal items. So a series is looked up by the indexes in the
 * columns of type and labels, and the items are read only if these indexes are new. A stack is
 * looked up by the range of its list.
 */
#include "arrow/samples.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "formats/series_names.h"

#define ROW_STEPS	  8
#define DELTA		  "delta"
#define NOTHING		  UINT32_MAX
/* columns of a series: the parts of its type, temporality and period */
#define FIXED_COLUMNS (ARROW_TYPE_PARTS + 2)

/* Key of a row's series: the indexes of its items in the columns, and the period. */
typedef struct SeriesItem
{
	const uint32_t *items; /* one index for each column */
	int64_t period;
	uint32_t series;
	bool is_delta;
	PfsTraceIds ids; /* ids that were found among the labels */
} SeriesItem;

typedef struct StackItem
{
	uint32_t first;
	uint32_t count;
	uint32_t stack;
} StackItem;

/* A record batch that is being read. */
typedef struct RowReading
{
	SampleReader *reader;
	ArrowWork *work;
	SampleColumns *columns;
	StackReader stack_reader;
	Table series;
	Table stacks;
	uint32_t column_count; /* number of columns in the key of a series */
	ArrowArray **key_columns;
	uint32_t *key; /* key of the current row */
	SeriesItem last;
} RowReading;

typedef struct SeriesKey
{
	const uint32_t *items;
	size_t bytes;
	int64_t period;
} SeriesKey;

/* --- series --- */

static bool
series_equals(const void *item, const void *key)
{
	const SeriesItem *series = item;
	const SeriesKey *wanted = key;

	return series->period == wanted->period &&
		   memcmp(series->items, wanted->items, wanted->bytes) == 0;
}

/* Writes the key of a row: the indexes of its items in the columns of its series. */
static bool
arrow_find_key(RowReading *reading, uint32_t row)
{
	for (uint32_t i = 0; i < reading->column_count; i++)
	{
		ArrowPlace place;

		reading->key[i] = NOTHING;
		if (reading->key_columns[i] == NULL)
			continue;
		if (!arrow_place(reading->key_columns[i], row, &place))
			return work_fail(reading->work, "a sample's label index is out of range");
		/*
		 * The index of the item in the values, behind runs and dictionaries. Two indexes may stand
		 * for equal texts; the batch then finds the series a second time.
		 */
		if (!place.is_null)
			reading->key[i] = place.item;
	}
	return true;
}

static bool
arrow_name_type(RowReading *reading, uint32_t row, bool is_delta, char name[PFS_PROFILE_TYPE_MAX])
{
	PfsTypeParts parts = { .delta = is_delta };
	PfsText *const texts[ARROW_TYPE_PARTS] = { &parts.name, &parts.sample_type, &parts.sample_unit,
											   &parts.period_type, &parts.period_unit };

	for (unsigned i = 0; i < ARROW_TYPE_PARTS; i++)
	{
		Span text;

		if (!work_text(reading->work, reading->columns->type_parts[i], row, &text))
			return false;
		*texts[i] = (PfsText){ (const char *) text.bytes, (uint32_t) text.length };
	}
	pfs_profile_type_name(&parts, name);
	return true;
}

/* Returns the batch's copy of a label's value, cut between two characters at its limit. */
static bool
own_value(RowReading *reading, Span text, const char **own)
{
	if (text.length > LABEL_VALUE_MAX)
	{
		text.length = LABEL_VALUE_MAX;
		/* The first byte left out must begin a character. Bytes 0x80 to 0xBF continue one. */
		while (text.length > 0 && (text.bytes[text.length] & 0xC0) == 0x80)
			text.length--;
		reading->reader->result->skipped_labels++;
	}
	*own = batch_text(reading->work->batch, (const char *) text.bytes, text.length);
	return *own != NULL || work_too_large(reading->work);
}

/* Reads the labels of a row, after those that the receiver sets. */
static bool
arrow_read_labels(RowReading *reading, uint32_t row, AttributeLabels *set)
{
	const ArrowRequest *request = reading->reader->request;
	ArrowWork *work = reading->work;

	*set = (AttributeLabels){ 0 };
	for (size_t i = 0; i < request->fixed_count; i++)
		attribute_labels_fix(set, &request->fixed[i]);
	for (uint32_t i = 0; i < reading->columns->label_count; i++)
	{
		const LabelColumn *label = &reading->columns->labels[i];
		const char *value;
		Span text;

		if (!work_text(work, label->array, row, &text))
			return false;
		/* a null: the row does not have this label */
		if (text.length == 0)
			continue;
		/* attribute_labels_put() compares the key with all labels of the set */
		if (!work_pay(work, 4 * set->count) || !own_value(reading, text, &value))
			return false;
		if (!attribute_labels_put(set, work->arena, label->key, label->name, value))
			reading->reader->result->skipped_labels++;
	}
	return true;
}

/*
 * Decides whether a row is a delta. Old agents do not send the temporality; a value with a duration
 * is a delta then.
 */
static bool
row_read_delta(RowReading *reading, uint32_t row, bool *is_delta)
{
	const SampleColumns *columns = reading->columns;
	Span text = { (const uint8_t *) "", 0 };
	int64_t duration = 0;

	if (columns->temporality == NULL)
	{
		if (!work_integer(reading->work, columns->duration, row, &duration))
			return false;
	}
	else if (!work_text(reading->work, columns->temporality, row, &text))
		return false;
	*is_delta = duration != 0 ||
				(text.length == strlen(DELTA) && memcmp(text.bytes, DELTA, text.length) == 0);
	return true;
}

/* Adds the series of a row to the batch, and keeps it under the row's key. */
static bool
make_series(RowReading *reading, uint32_t row, const SeriesKey *key, SeriesItem *item)
{
	ArrowWork *work = reading->work;
	char type[PFS_PROFILE_TYPE_MAX];
	AttributeLabels labels;
	BatchSeries series = { .profile_type = type, .period = key->period };
	uint32_t *items;

	/*
	 * Reading a series costs far more than a row, and a hostile client can make one for each row.
	 */
	if (!work_pay(work, 256 + (size_t) 8 * reading->column_count) ||
		!row_read_delta(reading, row, &item->is_delta) ||
		!arrow_name_type(reading, row, item->is_delta, type) ||
		!arrow_read_labels(reading, row, &labels))
		return false;
	reading->reader->result->skipped_labels +=
		attribute_labels_settle(&labels, &labels, work->arena, &item->ids);
	series.labels = labels.labels;
	series.label_count = labels.count;
	items = work_alloc(work, reading->column_count, sizeof(uint32_t));
	if (items == NULL || !work_outcome(work, batch_add_series(work->batch, &series, &item->series)))
		return false;
	/* reading->key is overwritten by the next row */
	memcpy(items, key->items, key->bytes);
	item->items = items;
	item->period = key->period;
	return true;
}

/* Finds the series of a row, or adds it, and sets reading->last. */
static bool
find_series(RowReading *reading, uint32_t row)
{
	SeriesKey key = { reading->key, reading->column_count * sizeof(uint32_t), 0 };
	uint64_t hash;
	uint32_t position;

	if (!arrow_find_key(reading, row) ||
		!work_integer(reading->work, reading->columns->period, row, &key.period))
		return false;
	/* most rows have the series of the row before */
	if (reading->last.items != NULL && series_equals(&reading->last, &key))
		return true;
	hash = hash_bytes(hash_word(reading->series.seed, (uint64_t) key.period), key.items, key.bytes);
	if (table_find(&reading->series, hash, series_equals, &key, &position))
	{
		reading->last = *(const SeriesItem *) table_item(&reading->series, position);
		return true;
	}
	/* Room first: table_append() cannot fail then, after the series was added to the batch. */
	if (table_reserve(&reading->series) != 0)
		return work_too_large(reading->work);
	if (!make_series(reading, row, &key, &reading->last))
		return false;
	*(SeriesItem *) table_append(&reading->series, hash) = reading->last;
	return true;
}

/* --- stacks --- */

static bool
stack_equals(const void *item, const void *key)
{
	const StackItem *stack = item;
	const StackItem *wanted = key;

	return stack->first == wanted->first && stack->count == wanted->count;
}

/*
 * Finds or adds the stack of a row. Rows with equal stacks refer to one range of the list, which is
 * the key.
 */
static bool
own_stack(RowReading *reading, uint32_t row, uint32_t *stack)
{
	StackItem wanted = { 0 };
	uint64_t hash;
	uint32_t position;

	if (!stack_reader_range(&reading->stack_reader, row, &wanted.first, &wanted.count))
		return false;
	hash = hash_word(hash_word(reading->stacks.seed, wanted.first), wanted.count);
	if (table_find(&reading->stacks, hash, stack_equals, &wanted, &position))
	{
		*stack = ((const StackItem *) table_item(&reading->stacks, position))->stack;
		return true;
	}
	/* Room first: table_append() cannot fail then, after the stack was added to the batch. */
	if (table_reserve(&reading->stacks) != 0)
		return work_too_large(reading->work);
	if (!stack_reader_add(&reading->stack_reader, wanted.first, wanted.count, &wanted.stack))
		return false;
	*(StackItem *) table_append(&reading->stacks, hash) = wanted;
	*stack = wanted.stack;
	return true;
}

static bool
find_stack(RowReading *reading, uint32_t row, uint32_t *stack)
{
	Span id;

	if (reading->columns->stacks != NULL)
		return own_stack(reading, row, stack);
	if (!work_bytes(reading->work, reading->columns->ids, row, &id))
		return false;
	return stack_ids_find(reading->reader->ids, id, stack) ||
		   work_fail(reading->work, "a sample's stack was not sent");
}

/* --- times --- */

static bool
time_of(ArrowWork *work, const SampleColumns *columns, uint32_t row, int64_t *time_us)
{
	int64_t time;

	if (!work_integer(work, columns->time, row, &time))
		return false;
	/* a unit of nanoseconds; all other units are whole microseconds */
	if (columns->time_unit_ns < NS_PER_US)
		*time_us = time / (NS_PER_US / columns->time_unit_ns);
	else if (__builtin_mul_overflow(time, columns->time_unit_ns / NS_PER_US, time_us))
		return work_fail(work, TIME_TOO_FAR);
	return true;
}

bool
sample_times_look(ArrowWork *work, const SampleColumns *columns, uint32_t rows, int64_t *oldest_us)
{
	for (uint32_t row = 0; row < rows; row++)
	{
		int64_t time_us;

		if (!work_pay(work, 1) || !time_of(work, columns, row, &time_us))
			return false;
		/* The caller compares the oldest time with the limit, so each row is within it. */
		if (time_us < *oldest_us)
			*oldest_us = time_us;
	}
	return true;
}

/*
 * Determines the time of a row: for a delta the start of its window, for an instant value its own
 * time.
 */
static bool
row_time(RowReading *reading, uint32_t row, int64_t *time_us)
{
	const ArrowRequest *request = reading->reader->request;

	if (!time_of(reading->work, reading->columns, row, time_us))
		return false;
	/* no row is too old, because the oldest time of the request was checked */
	if (*time_us > request->limits.last_us)
		return work_fail(reading->work, TIME_TOO_FAR);
	/*
	 * The remainder is the time since the start of the window. Equal stacks within a window become
	 * one row of the batch.
	 */
	if (reading->last.is_delta && !request->keep_times)
		*time_us -= (*time_us - reading->reader->origin_us) % ARROW_WINDOW_US;
	return true;
}

/* --- rows --- */

/* Adds the part of a sample that belongs to a trace or a span. */
static bool
arrow_add_trace(ArrowWork *work, const BatchSample *sample, const PfsTraceIds *ids)
{
	BatchTrace trace = { .sample = *sample };

	/* a row without a value would add nothing to the trace's sums */
	if (sample->value == 0 || (!pfs_trace_is_known(ids) && !pfs_span_is_known(ids)))
		return true;
	memcpy(trace.trace, ids->trace, sizeof(trace.trace));
	memcpy(trace.span, ids->span, sizeof(trace.span));
	return work_outcome(work, batch_add_trace(work->batch, &trace));
}

static bool
arrow_read_row(RowReading *reading, uint32_t row)
{
	ArrowWork *work = reading->work;
	BatchSample sample;

	/* find_series() before row_time(), which needs to know if the row is a delta */
	if (!work_pay(work, ROW_STEPS + reading->column_count) || !find_series(reading, row) ||
		!find_stack(reading, row, &sample.stack) || !row_time(reading, row, &sample.time_us) ||
		!work_integer(work, reading->columns->value, row, &sample.value))
		return false;
	sample.series = reading->last.series;
	reading->reader->result->samples++;
	return work_outcome(work, batch_add_sample(work->batch, &sample)) &&
		   arrow_add_trace(work, &sample, &reading->last.ids);
}

/* Lists the columns whose items determine the series of a row. */
static bool
set_key_columns(RowReading *reading)
{
	const SampleColumns *columns = reading->columns;
	ArrowWork *work = reading->work;
	uint32_t count = 0;

	reading->key_columns =
		work_alloc(work, FIXED_COLUMNS + columns->label_count, sizeof(ArrowArray *));
	reading->key = work_alloc(work, FIXED_COLUMNS + columns->label_count, sizeof(uint32_t));
	if (reading->key_columns == NULL || reading->key == NULL)
		return false;
	for (unsigned i = 0; i < ARROW_TYPE_PARTS; i++)
		reading->key_columns[count++] = columns->type_parts[i];
	/* the column that decides about deltas, see row_read_delta() */
	reading->key_columns[count++] =
		columns->temporality != NULL ? columns->temporality : columns->duration;
	for (uint32_t i = 0; i < columns->label_count; i++)
		reading->key_columns[count++] = columns->labels[i].array;
	reading->column_count = count;
	return true;
}

bool
sample_rows_read(SampleReader *reader, const ArrowStream *stream, SampleColumns *columns)
{
	RowReading reading = { .reader = reader, .work = reader->work, .columns = columns };
	bool good = set_key_columns(&reading) &&
				(columns->stacks == NULL ||
				 stack_reader_open(&reading.stack_reader, reader->work, columns->stacks));

	/*
	 * The tables are those of one record batch, because the next one may replace dictionaries, and
	 * with them the meaning of indexes.
	 */
	table_init(&reading.series, reader->work->arena->budget, sizeof(SeriesItem));
	table_init(&reading.stacks, reader->work->arena->budget, sizeof(StackItem));
	for (uint32_t row = 0; good && row < stream->rows; row++)
		good = arrow_read_row(&reading, row);
	table_fini(&reading.stacks);
	table_fini(&reading.series);
	stack_reader_close(&reading.stack_reader);
	return good;
}
