/*
 * interval.c
 *		Tables of series, files, code objects, stacks and samples under one byte budget.
 */
#include "agent/reader/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/table.h"

typedef struct IntervalFile
{
	MappedFile *file;
	uint64_t owners;
} IntervalFile;

struct Interval
{
	MappedFileTable *file_table;
	Budget budget;
	Arena arena;   /* frames */
	Table series;  /* table of IntervalSeries */
	Table files;   /* table of IntervalFile */
	Table codes;   /* table of CodeObject * */
	Table stacks;  /* table of IntervalStack */
	Table samples; /* table of IntervalSample */
	Table traces;  /* table of IntervalTrace */
};

int
interval_create(MappedFileTable *files, size_t budget_bytes, Interval **result)
{
	Interval *interval = calloc(1, sizeof(*interval));

	if (interval == NULL)
		return -ENOMEM;
	interval->file_table = files;
	interval->budget.limit_bytes = budget_bytes;
	arena_init(&interval->arena, &interval->budget);
	table_init(&interval->series, &interval->budget, sizeof(IntervalSeries));
	table_init(&interval->files, &interval->budget, sizeof(IntervalFile));
	table_init(&interval->codes, &interval->budget, sizeof(CodeObject *));
	table_init(&interval->stacks, &interval->budget, sizeof(IntervalStack));
	table_init(&interval->samples, &interval->budget, sizeof(IntervalSample));
	table_init(&interval->traces, &interval->budget, sizeof(IntervalTrace));
	*result = interval;
	return 0;
}

void
interval_free(Interval *interval)
{
	if (interval == NULL)
		return;
	for (uint32_t i = 0; i < interval->files.count; i++)
		mapped_file_release(interval->file_table, interval_file(interval, i));
	for (uint32_t i = 0; i < interval->codes.count; i++)
		code_object_release(interval_code(interval, i));
	for (uint32_t i = 0; i < interval->series.count; i++)
		label_set_release(((IntervalSeries *) table_item(&interval->series, i))->labels);
	table_fini(&interval->series);
	table_fini(&interval->files);
	table_fini(&interval->codes);
	table_fini(&interval->stacks);
	table_fini(&interval->samples);
	table_fini(&interval->traces);
	arena_fini(&interval->arena);
	free(interval);
}

static bool
interval_series_equal(const void *item, const void *key)
{
	const IntervalSeries *a = item;
	const IntervalSeries *b = key;

	return a->labels == b->labels && a->period == b->period && a->kind == b->kind;
}

int
interval_add_series(Interval *interval, IntervalSeries series, uint32_t *index)
{
	Table *table = &interval->series;
	uint64_t hash = hash_word(table->seed, (uint64_t) series.period);

	hash = hash_word(hash_word(hash, series.kind), (uintptr_t) series.labels);
	if (table_find(table, hash, interval_series_equal, &series, index))
		return 0;
	if (table_reserve(table) != 0)
		return -ENOMEM;
	label_set_retain(series.labels);
	*(IntervalSeries *) table_append(table, hash) = series;
	*index = table->count - 1;
	return 0;
}

static bool
pointer_equal(const void *item, const void *key)
{
	return *(const void *const *) item == key;
}

/*
 * Adds an item that begins with a pointer; sets *is_new if the pointer was not in the table.
 * Returns 0 or -ENOMEM.
 */
static int
add_pointer(Table *table, void *pointer, uint32_t *index, bool *is_new)
{
	uint64_t hash = hash_word(table->seed, (uintptr_t) pointer);

	*is_new = false;
	if (table_find(table, hash, pointer_equal, pointer, index))
		return 0;
	if (table_reserve(table) != 0)
		return -ENOMEM;
	memset(table_append(table, hash), 0, table->item_bytes);
	*(void **) table_item(table, table->count - 1) = pointer;
	*index = table->count - 1;
	*is_new = true;
	return 0;
}

int
interval_add_file(Interval *interval, MappedFile *file, uint64_t owners, uint32_t *index)
{
	bool is_new;
	int result = add_pointer(&interval->files, file, index, &is_new);

	if (is_new)
		mapped_file_retain_sampled(interval->file_table, file);
	if (result == 0)
		((IntervalFile *) table_item(&interval->files, *index))->owners |= owners;
	return result;
}

int
interval_add_code(Interval *interval, CodeObject *code, uint32_t *index)
{
	bool is_new;
	int result = add_pointer(&interval->codes, code, index, &is_new);

	if (is_new)
		(void) code_object_retain(code);
	return result;
}

static bool
stack_equal(const void *item, const void *key)
{
	const IntervalStack *a = item;
	const IntervalStack *b = key;

	return a->executable == b->executable && a->side == b->side && a->walk == b->walk &&
		   a->depth == b->depth && memcmp(a->frames, b->frames, a->depth * sizeof(Frame)) == 0;
}

int
interval_add_stack(Interval *interval, const IntervalStack *stack, uint32_t *index)
{
	Table *table = &interval->stacks;
	size_t bytes = stack->depth * sizeof(Frame);
	uint64_t hash = hash_bytes(table->seed, stack->frames, bytes);
	IntervalStack added = *stack;
	Frame *frames;

	hash = hash_word(hash, (uint64_t) stack->executable << 16 | (uint32_t) stack->walk << 8 |
							   stack->side);
	if (table_find(table, hash, stack_equal, stack, index))
		return 0;
	if (table_reserve(table) != 0)
		return -ENOMEM;
	frames = arena_alloc(&interval->arena, bytes);
	if (frames == NULL)
		return -ENOMEM;
	memcpy(frames, stack->frames, bytes);
	added.frames = frames;
	*(IntervalStack *) table_append(table, hash) = added;
	*index = table->count - 1;
	return 0;
}

static bool
interval_sample_equal(const void *item, const void *key)
{
	const IntervalSample *a = item;
	const IntervalSample *b = key;

	return a->time_us == b->time_us && a->series == b->series && a->stack == b->stack;
}

static int
sum_samples(IntervalSample *sum, const IntervalSample *added)
{
	if (added->value > INT64_MAX - sum->value)
		return -EOVERFLOW;
	sum->value += added->value;
	sum->count += added->count;
	return 0;
}

int
interval_add_sample(Interval *interval, const IntervalSample *sample, uint32_t *index)
{
	Table *table = &interval->samples;
	uint64_t hash = hash_word(table->seed, (uint64_t) sample->series << 32 | sample->stack);

	hash = hash_word(hash, (uint64_t) sample->time_us);
	if (table_find(table, hash, interval_sample_equal, sample, index))
		return sum_samples(table_item(table, *index), sample);
	if (sample->value > INT64_MAX)
		return -EOVERFLOW;
	if (table_reserve(table) != 0)
		return -ENOMEM;
	*(IntervalSample *) table_append(table, hash) = *sample;
	*index = table->count - 1;
	return 0;
}

static bool
trace_equal(const void *item, const void *key)
{
	const IntervalTrace *a = item;
	const IntervalTrace *b = key;

	return a->sample == b->sample && memcmp(&a->ids, &b->ids, sizeof(a->ids)) == 0;
}

int
interval_add_trace(Interval *interval, const IntervalTrace *trace)
{
	Table *table = &interval->traces;
	uint64_t hash = hash_word(table->seed, trace->sample);
	uint32_t position;

	hash = hash_bytes(hash, &trace->ids, sizeof(trace->ids));
	if (table_find(table, hash, trace_equal, trace, &position))
	{
		/*
		 * This cannot overflow: the traces of a sample add up to at most its own sum, which fits.
		 */
		((IntervalTrace *) table_item(table, position))->value += trace->value;
		return 0;
	}
	if (table_reserve(table) != 0)
		return -ENOMEM;
	*(IntervalTrace *) table_append(table, hash) = *trace;
	return 0;
}

uint32_t
interval_series(const Interval *interval, const IntervalSeries **items)
{
	*items = (const IntervalSeries *) (const void *) interval->series.items;
	return interval->series.count;
}

uint32_t
interval_stacks(const Interval *interval, const IntervalStack **items)
{
	*items = (const IntervalStack *) (const void *) interval->stacks.items;
	return interval->stacks.count;
}

uint32_t
interval_samples(const Interval *interval, const IntervalSample **items)
{
	*items = (const IntervalSample *) (const void *) interval->samples.items;
	return interval->samples.count;
}

uint32_t
interval_traces(const Interval *interval, const IntervalTrace **items)
{
	*items = (const IntervalTrace *) (const void *) interval->traces.items;
	return interval->traces.count;
}

uint32_t
interval_stack_count(const Interval *interval)
{
	return interval->stacks.count;
}

uint64_t
interval_sample_count(const Interval *interval, uint32_t first_stack)
{
	const IntervalSample *samples;
	uint32_t rows = interval_samples(interval, &samples);
	uint64_t count = 0;

	for (uint32_t i = 0; i < rows; i++)
		count += samples[i].stack >= first_stack ? samples[i].count : 0;
	return count;
}

MappedFile *
interval_file(const Interval *interval, uint32_t index)
{
	return ((const IntervalFile *) table_item(&interval->files, index))->file;
}

uint64_t
interval_file_owners(const Interval *interval, uint32_t index)
{
	return ((const IntervalFile *) table_item(&interval->files, index))->owners;
}

CodeObject *
interval_code(const Interval *interval, uint32_t index)
{
	return *(CodeObject **) table_item(&interval->codes, index);
}
