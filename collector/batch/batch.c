/*
 * batch.c
 *		A batch: one table for each kind of item, one arena for strings and arrays.
 *
 * Functions, locations and stacks, the most frequent items, are found by the keys of their
 * contents, without a look at their strings and arrays. For all other kinds strings are interned
 * first, so that items are hashed and compared by pointer. If an add fails after interning, its
 * strings stay in the batch; they may serve the next add.
 */
#include "batch/batch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/arena.h"
#include "base/content_key.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/utf8.h"

struct Batch
{
	Budget budget;
	Arena arena;
	const ContentSecret *secret; /* secret of all batches: batch_secret() */
	Table strings;				 /* const char * */
	Table mappings;
	Table functions; /* these three tables are keyed by content */
	Table locations; /* keyed */
	Table stacks;	 /* keyed */
	Table series;
	Table samples;
	Table traces; /* never looked up */
	Table losses;
	Table unwound;
	Table notes;
	Table receipts; /* never looked up */
};

static ContentSecret shared_secret;

static void
draw_shared_secret(void)
{
	shared_secret = content_secret();
}

/*
 * Returns the secret of content keys. All batches of this process share it, so that a function has
 * the same key in each of them, and batches can be merged by key.
 */
static const ContentSecret *
batch_secret(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, draw_shared_secret);
	return &shared_secret;
}

int
batch_create(size_t budget_bytes, Batch **batch)
{
	Batch *self;

	if (budget_bytes < sizeof(Batch))
		return -ENOMEM;
	self = calloc(1, sizeof(Batch));
	if (self == NULL)
		return -ENOMEM;
	self->budget.limit_bytes = budget_bytes;
	self->budget.used_bytes = sizeof(Batch);
	self->secret = batch_secret();
	arena_init(&self->arena, &self->budget);
	table_init(&self->strings, &self->budget, sizeof(const char *));
	table_init(&self->mappings, &self->budget, sizeof(BatchMapping));
	table_init_keyed(&self->functions, &self->budget, sizeof(BatchFunction));
	table_init_keyed(&self->locations, &self->budget, sizeof(BatchLocation));
	table_init_keyed(&self->stacks, &self->budget, sizeof(BatchStack));
	table_init(&self->series, &self->budget, sizeof(BatchSeries));
	table_init(&self->samples, &self->budget, sizeof(BatchSample));
	table_init(&self->traces, &self->budget, sizeof(BatchTrace));
	table_init(&self->losses, &self->budget, sizeof(BatchLoss));
	table_init(&self->unwound, &self->budget, sizeof(BatchUnwound));
	table_init(&self->notes, &self->budget, sizeof(BatchNote));
	table_init(&self->receipts, &self->budget, sizeof(BatchReceipt));
	*batch = self;
	return 0;
}

int
batch_charge_to(Batch *batch, MemoryShare *share)
{
	Budget *budget = &batch->budget;

	if (!share_charge(share, budget->used_bytes))
		return -ENOMEM;
	share_release(budget->share, budget->used_bytes);
	budget->share = share;
	return 0;
}

void
batch_free(Batch *batch)
{
	if (batch == NULL)
		return;
	table_fini(&batch->strings);
	table_fini(&batch->mappings);
	table_fini(&batch->functions);
	table_fini(&batch->locations);
	table_fini(&batch->stacks);
	table_fini(&batch->series);
	table_fini(&batch->samples);
	table_fini(&batch->traces);
	table_fini(&batch->losses);
	table_fini(&batch->unwound);
	table_fini(&batch->notes);
	table_fini(&batch->receipts);
	arena_fini(&batch->arena);
	free(batch);
}

static void
table_expect(Table *table, size_t count)
{
	(void) table_reserve_many(table, MIN(count, BATCH_EXPECT_MAX));
}

void
batch_expect(Batch *batch, size_t functions, size_t locations, size_t stacks)
{
	table_expect(&batch->strings, functions);
	table_expect(&batch->functions, functions);
	table_expect(&batch->locations, locations);
	table_expect(&batch->stacks, stacks);
	table_expect(&batch->samples, stacks);
}

/*
 * Finds an item equal to *item, or appends a copy of it; *index becomes its position. All pointers
 * in *item must point into the batch.
 */
static int
find_or_append(Table *table, uint64_t hash, TableEqual equal, const void *item, uint32_t *index)
{
	int err;

	if (table_find(table, hash, equal, item, index))
		return 0;
	err = table_reserve(table);
	if (err != 0)
		return err;
	memcpy(table_append(table, hash), item, table->item_bytes);
	*index = table->count - 1;
	return 0;
}

/* Bytes to look up in the table of strings; they need not be NUL-terminated. */
typedef struct StringKey
{
	const char *bytes;
	size_t length;
} StringKey;

static bool
string_equal(const void *item, const void *key)
{
	const char *own = *(const char *const *) item;
	const StringKey *wanted = key;

	return strncmp(own, wanted->bytes, wanted->length) == 0 && own[wanted->length] == '\0';
}

/* Copies a text; U+FFFD replaces each invalid byte. */
static const char *
replaced_text(Batch *batch, const char *bytes, size_t length)
{
	char *text = strndup(bytes, length);
	char *replaced = text ? utf8_replace_invalid(text) : NULL;
	const char *own = replaced ? batch_text(batch, replaced, strlen(replaced)) : NULL;

	free(text);
	free(replaced);
	return own;
}

/* The table contains only valid UTF-8, so a text that is found needs no validation. */
const char *
batch_text(Batch *batch, const char *bytes, size_t length)
{
	uint64_t hash = hash_bytes(batch->strings.seed, bytes, length);
	StringKey key = { bytes, length };
	uint32_t position;
	char *copy;

	if (table_find(&batch->strings, hash, string_equal, &key, &position))
		return *(const char **) table_item(&batch->strings, position);
	if (!utf8_valid_bytes(bytes, length))
		return replaced_text(batch, bytes, length);
	if (table_reserve(&batch->strings) != 0)
		return NULL;
	copy = arena_alloc(&batch->arena, length + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	*(const char **) table_append(&batch->strings, hash) = copy;
	return copy;
}

static const char *
batch_intern_string(Batch *batch, const char *text)
{
	return batch_text(batch, text, strlen(text));
}

static uint64_t
hash_pointer(uint64_t hash, const void *pointer)
{
	return hash_word(hash, (uintptr_t) pointer);
}

static bool
mapping_equal(const void *item, const void *key)
{
	const BatchMapping *a = item;
	const BatchMapping *b = key;

	return a->build_id == b->build_id && a->file == b->file;
}

int
batch_add_mapping(Batch *batch, const BatchMapping *mapping, uint32_t *index)
{
	BatchMapping own;
	uint64_t hash;

	own.build_id = batch_intern_string(batch, mapping->build_id);
	own.file = batch_intern_string(batch, mapping->file);
	if (own.build_id == NULL || own.file == NULL)
		return -ENOMEM;
	hash = hash_pointer(hash_pointer(batch->mappings.seed, own.build_id), own.file);
	return find_or_append(&batch->mappings, hash, mapping_equal, &own, index);
}

static BatchText
batch_text_of(const char *string)
{
	return (BatchText){ string, strlen(string) };
}

static bool
texts_equal(BatchText a, BatchText b)
{
	return a.length == b.length &&
		   (a.bytes == b.bytes || a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static ContentKey
items_add_text(const Batch *batch, ContentKey key, BatchText text)
{
	return content_add_bytes(batch->secret, key, text.bytes, text.length);
}

/*
 * Returns the key of a function's content. If both names are equal, which is the usual case, one of
 * them is hashed.
 */
static ContentKey
key_of_function(const Batch *batch, const BatchFunctionTexts *texts)
{
	bool is_same = texts_equal(texts->name, texts->system_name);
	ContentKey key = items_add_text(batch, CONTENT_BEGIN, texts->name);

	key = content_add(batch->secret, key, is_same);
	if (!is_same)
		key = items_add_text(batch, key, texts->system_name);
	key = items_add_text(batch, key, texts->filename);
	return content_key(content_add(batch->secret, key, (uint32_t) texts->start_line));
}

/*
 * Appends a function that was not found by its key. If its texts are not valid UTF-8, replacing
 * bytes changes the key, so the function is looked up again.
 */
static int
append_function(Batch *batch, const BatchFunctionTexts *texts, ContentKey key, uint32_t *index)
{
	BatchFunction own = { .name = batch_text(batch, texts->name.bytes, texts->name.length),
						  .filename =
							  batch_text(batch, texts->filename.bytes, texts->filename.length),
						  .start_line = texts->start_line };
	int err;

	own.system_name = texts_equal(texts->name, texts->system_name)
						  ? own.name
						  : batch_text(batch, texts->system_name.bytes, texts->system_name.length);

	if (own.name == NULL || own.system_name == NULL || own.filename == NULL)
		return -ENOMEM;
	if (!texts_equal(texts->name, batch_text_of(own.name)) ||
		!texts_equal(texts->system_name, batch_text_of(own.system_name)) ||
		!texts_equal(texts->filename, batch_text_of(own.filename)))
		return batch_add_function(batch, &own, index);
	err = table_reserve(&batch->functions);
	if (err != 0)
		return err;
	*(BatchFunction *) table_append_key(&batch->functions, key) = own;
	*index = batch->functions.count - 1;
	return 0;
}

int
batch_add_function_texts(Batch *batch, const BatchFunctionTexts *texts, uint32_t *index)
{
	ContentKey key = key_of_function(batch, texts);

	return table_find_key(&batch->functions, key, index)
			   ? 0
			   : append_function(batch, texts, key, index);
}

static BatchFunctionTexts
function_texts_of(const BatchFunction *function)
{
	return (BatchFunctionTexts){ .name = batch_text_of(function->name),
								 .system_name = batch_text_of(function->system_name),
								 .filename = batch_text_of(function->filename),
								 .start_line = function->start_line };
}

int
batch_add_function(Batch *batch, const BatchFunction *function, uint32_t *index)
{
	const BatchFunctionTexts texts = function_texts_of(function);

	return batch_add_function_texts(batch, &texts, index);
}

int
batch_add_function_of(Batch *batch, const Batch *other, uint32_t function, uint32_t *index)
{
	const ContentKey key = other->functions.keys[function];
	BatchFunctionTexts texts;

	if (table_find_key(&batch->functions, key, index))
		return 0;
	texts = function_texts_of(table_item(&other->functions, function));
	return append_function(batch, &texts, key, index);
}

/*
 * Returns the key of a location's content. Mappings and functions are unique within the batch, so
 * their indexes stand for them.
 */
static ContentKey
key_of_location(const Batch *batch, const BatchLocation *location)
{
	const ContentSecret *secret = batch->secret;
	ContentKey key = content_add(secret, CONTENT_BEGIN, location->line_count);

	key = content_add(secret, key, location->mapping);
	key = content_add_number(secret, key, location->address);
	for (uint32_t i = 0; i < location->line_count; i++)
	{
		key = content_add(secret, key, location->lines[i].function);
		key = content_add(secret, key, (uint32_t) location->lines[i].line);
	}
	return content_key(key);
}

int
batch_add_location(Batch *batch, const BatchLocation *location, uint32_t *index)
{
	BatchLocation own = *location;
	size_t lines_bytes = location->line_count * sizeof(BatchLine);
	BatchLine *lines;
	ContentKey key;
	int err;

	if (location->mapping != BATCH_NO_MAPPING && location->mapping >= batch->mappings.count)
		return -EINVAL;
	for (uint32_t i = 0; i < location->line_count; i++)
		if (location->lines[i].function >= batch->functions.count)
			return -EINVAL;

	key = key_of_location(batch, location);
	if (table_find_key(&batch->locations, key, index))
		return 0;
	err = table_reserve(&batch->locations);
	if (err != 0)
		return err;
	lines = arena_alloc(&batch->arena, lines_bytes);
	if (lines == NULL)
		return -ENOMEM;
	if (lines_bytes > 0)
		memcpy(lines, location->lines, lines_bytes);
	own.lines = lines;
	*(BatchLocation *) table_append_key(&batch->locations, key) = own;
	*index = batch->locations.count - 1;
	return 0;
}

static ContentKey
key_of_stack(const Batch *batch, const BatchStack *stack)
{
	ContentKey key = items_add_text(batch, CONTENT_BEGIN, batch_text_of(stack->partition));
	uint32_t i = 0;

	key = content_add(batch->secret, key, stack->depth);

	/* two indexes, which are less than TABLE_MAX_ITEMS, are a word */
	for (; i + 1 < stack->depth; i += 2)
		key = content_add(batch->secret, key,
						  (uint64_t) stack->locations[i] << 30 | stack->locations[i + 1]);
	if (i < stack->depth)
		key = content_add(batch->secret, key, stack->locations[i]);
	return content_key(key);
}

int
batch_add_stack(Batch *batch, const BatchStack *stack, uint32_t *index)
{
	BatchStack own = *stack;
	size_t locations_bytes = stack->depth * sizeof(uint32_t);
	uint32_t *locations;
	ContentKey key;
	int err;

	for (uint32_t i = 0; i < stack->depth; i++)
		if (stack->locations[i] >= batch->locations.count)
			return -EINVAL;
	key = key_of_stack(batch, stack);
	if (table_find_key(&batch->stacks, key, index))
		return 0;
	own.partition = batch_intern_string(batch, stack->partition);
	if (own.partition == NULL)
		return -ENOMEM;
	if (strcmp(own.partition, stack->partition) != 0)
		/* the partition was not valid UTF-8, so look up the replaced text */
		return batch_add_stack(batch, &own, index);
	err = table_reserve(&batch->stacks);
	if (err != 0)
		return err;
	locations = arena_alloc(&batch->arena, locations_bytes);
	if (locations == NULL)
		return -ENOMEM;
	if (locations_bytes > 0)
		memcpy(locations, stack->locations, locations_bytes);
	own.locations = locations;
	*(BatchStack *) table_append_key(&batch->stacks, key) = own;
	*index = batch->stacks.count - 1;
	return 0;
}

static bool
batch_series_equal(const void *item, const void *key)
{
	const BatchSeries *a = item;
	const BatchSeries *b = key;

	return a->profile_type == b->profile_type && a->period == b->period &&
		   a->label_count == b->label_count &&
		   memcmp(a->labels, b->labels, a->label_count * sizeof(BatchLabel)) == 0;
}

/*
 * Copies labels to own, sorted by name, with strings of the batch. Returns -EINVAL for a repeated
 * name.
 */
static int
intern_labels(Batch *batch, const BatchSeries *series, BatchLabel *own)
{
	for (uint32_t i = 0; i < series->label_count; i++)
	{
		BatchLabel label;
		uint32_t place = i;

		label.name = batch_intern_string(batch, series->labels[i].name);
		label.value = batch_intern_string(batch, series->labels[i].value);
		if (label.name == NULL || label.value == NULL)
			return -ENOMEM;
		while (place > 0 && strcmp(own[place - 1].name, label.name) > 0)
		{
			own[place] = own[place - 1];
			place--;
		}
		if (place > 0 && own[place - 1].name == label.name)
			return -EINVAL;
		own[place] = label;
	}
	return 0;
}

int
batch_add_series(Batch *batch, const BatchSeries *series, uint32_t *index)
{
	BatchSeries own = *series;
	BatchLabel sorted[BATCH_MAX_LABELS];
	size_t labels_bytes = series->label_count * sizeof(BatchLabel);
	BatchLabel *labels;
	uint64_t hash;
	int err;

	if (series->label_count > BATCH_MAX_LABELS)
		return -EINVAL;
	err = intern_labels(batch, series, sorted);
	if (err != 0)
		return err;
	own.labels = sorted;
	own.profile_type = batch_intern_string(batch, series->profile_type);
	if (own.profile_type == NULL)
		return -ENOMEM;

	hash = hash_pointer(batch->series.seed, own.profile_type);
	hash = hash_word(hash, (uint64_t) own.period);
	hash = hash_bytes(hash, sorted, labels_bytes);
	if (table_find(&batch->series, hash, batch_series_equal, &own, index))
		return 0;
	err = table_reserve(&batch->series);
	if (err != 0)
		return err;
	labels = arena_alloc(&batch->arena, labels_bytes);
	if (labels == NULL)
		return -ENOMEM;
	memcpy(labels, sorted, labels_bytes);
	own.labels = labels;
	*(BatchSeries *) table_append(&batch->series, hash) = own;
	*index = batch->series.count - 1;
	return 0;
}

static bool
batch_sample_equal(const void *item, const void *key)
{
	const BatchSample *a = item;
	const BatchSample *b = key;

	return a->time_us == b->time_us && a->series == b->series && a->stack == b->stack;
}

static uint64_t
hash_sample(const Batch *batch, const BatchSample *sample)
{
	uint64_t hash = hash_word(batch->samples.seed, (uint64_t) sample->time_us);

	return hash_word(hash, (uint64_t) sample->series << 32 | sample->stack);
}

int
batch_add_sample(Batch *batch, const BatchSample *sample)
{
	BatchSample empty = *sample;
	BatchSample *own;
	uint32_t index;
	int64_t sum;
	int err;

	if (sample->series >= batch->series.count || sample->stack >= batch->stacks.count)
		return -EINVAL;
	empty.value = 0;
	err = find_or_append(&batch->samples, hash_sample(batch, sample), batch_sample_equal, &empty,
						 &index);
	if (err != 0)
		return err;
	own = table_item(&batch->samples, index);
	if (__builtin_add_overflow(own->value, sample->value, &sum))
		return -EOVERFLOW;
	own->value = sum;
	return 0;
}

/*
 * Returns 0 if a sample may be added: its indexes exist, and its sum with an equal sample does not
 * overflow. Otherwise returns -errno.
 */
static int
check_sample(const Batch *batch, const BatchSample *sample)
{
	uint32_t index;
	int64_t sum;

	if (sample->series >= batch->series.count || sample->stack >= batch->stacks.count)
		return -EINVAL;
	if (table_find(&batch->samples, hash_sample(batch, sample), batch_sample_equal, sample,
				   &index) &&
		__builtin_add_overflow(((BatchSample *) table_item(&batch->samples, index))->value,
							   sample->value, &sum))
		return -EOVERFLOW;
	return 0;
}

int
batch_reserve_samples(Batch *batch, const BatchSample *samples, size_t count)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
		err = check_sample(batch, &samples[i]);
	return err == 0 ? table_reserve_many(&batch->samples, count) : err;
}

int
batch_reserve_traces(Batch *batch, size_t count)
{
	return table_reserve_many(&batch->traces, count);
}

static bool
is_nonzero(const uint8_t *id, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (id[i] != 0)
			return true;
	return false;
}

int
batch_add_trace(Batch *batch, const BatchTrace *trace)
{
	const BatchSample *sample = &trace->sample;
	int err;

	if (sample->series >= batch->series.count || sample->stack >= batch->stacks.count)
		return -EINVAL;
	if (!is_nonzero(trace->trace, BATCH_TRACE_BYTES) && !is_nonzero(trace->span, BATCH_SPAN_BYTES))
		return -EINVAL;
	err = table_reserve(&batch->traces);
	if (err == 0)
		memcpy(table_append(&batch->traces, hash_word(batch->traces.seed, batch->traces.count)),
			   trace, sizeof(*trace));
	return err;
}

static bool
loss_equal(const void *item, const void *key)
{
	return ((const BatchLoss *) item)->reason == ((const BatchLoss *) key)->reason;
}

int
batch_add_loss(Batch *batch, const char *reason, uint64_t count)
{
	BatchLoss empty = { .reason = batch_intern_string(batch, reason) };
	BatchLoss *own;
	uint32_t index;
	uint64_t sum;
	int err;

	if (empty.reason == NULL)
		return -ENOMEM;
	if (count > INT64_MAX)
		return -EOVERFLOW;
	err = find_or_append(&batch->losses, hash_pointer(batch->losses.seed, empty.reason), loss_equal,
						 &empty, &index);
	if (err != 0)
		return err;
	own = table_item(&batch->losses, index);
	if (__builtin_add_overflow(own->count, count, &sum) || sum > INT64_MAX)
		return -EOVERFLOW;
	own->count = sum;
	return 0;
}

static bool
unwound_equal(const void *item, const void *key)
{
	return ((const BatchUnwound *) item)->exe == ((const BatchUnwound *) key)->exe;
}

int
batch_add_unwound(Batch *batch, const BatchUnwound *unwound)
{
	BatchUnwound empty = { .exe = batch_intern_string(batch, unwound->exe) };
	BatchUnwound *own;
	uint32_t index;
	uint64_t sum;
	int err;

	if (empty.exe == NULL)
		return -ENOMEM;
	if (unwound->complete > unwound->stacks)
		return -EINVAL;
	err = find_or_append(&batch->unwound, hash_pointer(batch->unwound.seed, empty.exe),
						 unwound_equal, &empty, &index);
	if (err != 0)
		return err;
	own = table_item(&batch->unwound, index);
	if (__builtin_add_overflow(own->stacks, unwound->stacks, &sum) || sum > INT64_MAX)
		return -EOVERFLOW;
	own->stacks = sum;
	own->complete += unwound->complete;
	return 0;
}

static bool
note_equal(const void *item, const void *key)
{
	const BatchNote *a = item;
	const BatchNote *b = key;

	return a->series == b->series && a->default_type == b->default_type &&
		   a->doc_url == b->doc_url && a->drop_frames == b->drop_frames &&
		   a->keep_frames == b->keep_frames && a->comment_count == b->comment_count &&
		   (a->comment_count == 0 ||
			memcmp(a->comments, b->comments, a->comment_count * sizeof(a->comments[0])) == 0);
}

static const char *
own_text(Batch *batch, const char *text)
{
	return batch_intern_string(batch, text != NULL ? text : "");
}

/* Copies an array of comments into the batch. Returns NULL on out of memory. */
static const char *const *
own_comments(Batch *batch, const BatchNote *note)
{
	const char **own = arena_alloc(&batch->arena, note->comment_count * sizeof(own[0]));

	for (uint32_t i = 0; own != NULL && i < note->comment_count; i++)
	{
		own[i] = batch_intern_string(batch, note->comments[i]);
		if (own[i] == NULL)
			return NULL;
	}
	return own;
}

static uint64_t
hash_note(const Batch *batch, const BatchNote *note)
{
	uint64_t hash = hash_pointer(hash_word(batch->notes.seed, note->series), note->default_type);

	hash = hash_pointer(hash, note->doc_url);
	hash = hash_pointer(hash_pointer(hash, note->drop_frames), note->keep_frames);
	return hash_bytes(hash, note->comments, note->comment_count * sizeof(note->comments[0]));
}

int
batch_add_notes(Batch *batch, const BatchNote *note, const uint32_t *series, size_t count)
{
	BatchNote own = { .comment_count = note->comment_count,
					  .comments = own_comments(batch, note),
					  .default_type = own_text(batch, note->default_type),
					  .doc_url = own_text(batch, note->doc_url),
					  .drop_frames = own_text(batch, note->drop_frames),
					  .keep_frames = own_text(batch, note->keep_frames) };
	uint32_t index;
	int err;

	for (size_t i = 0; i < count; i++)
		if (series[i] >= batch->series.count)
			return -EINVAL;
	if (own.comments == NULL || own.default_type == NULL || own.doc_url == NULL ||
		own.drop_frames == NULL || own.keep_frames == NULL)
		return -ENOMEM;
	err = table_reserve_many(&batch->notes, count);
	for (size_t i = 0; err == 0 && i < count; i++)
	{
		own.series = series[i];
		err = find_or_append(&batch->notes, hash_note(batch, &own), note_equal, &own, &index);
	}
	return err;
}

int
batch_add_note(Batch *batch, const BatchNote *note)
{
	return batch_add_notes(batch, note, &note->series, 1);
}

int
batch_add_receipt(Batch *batch, const uint8_t bytes[BATCH_RECEIPT_BYTES])
{
	int err = table_reserve(&batch->receipts);
	BatchReceipt *receipt;

	if (err != 0)
		return err;
	receipt =
		table_append(&batch->receipts, hash_word(batch->receipts.seed, batch->receipts.count));
	memcpy(receipt->bytes, bytes, sizeof(receipt->bytes));
	return 0;
}

static size_t
items_of(const Table *table, const void **items)
{
	*items = table->items;
	return table->count;
}

size_t
batch_mappings(const Batch *batch, const BatchMapping **items)
{
	return items_of(&batch->mappings, (const void **) items);
}

size_t
batch_functions(const Batch *batch, const BatchFunction **items)
{
	return items_of(&batch->functions, (const void **) items);
}

size_t
batch_locations(const Batch *batch, const BatchLocation **items)
{
	return items_of(&batch->locations, (const void **) items);
}

size_t
batch_stacks(const Batch *batch, const BatchStack **items)
{
	return items_of(&batch->stacks, (const void **) items);
}

size_t
batch_series(const Batch *batch, const BatchSeries **items)
{
	return items_of(&batch->series, (const void **) items);
}

size_t
batch_samples(const Batch *batch, const BatchSample **items)
{
	return items_of(&batch->samples, (const void **) items);
}

size_t
batch_traces(const Batch *batch, const BatchTrace **items)
{
	return items_of(&batch->traces, (const void **) items);
}

size_t
batch_losses(const Batch *batch, const BatchLoss **items)
{
	return items_of(&batch->losses, (const void **) items);
}

size_t
batch_unwound(const Batch *batch, const BatchUnwound **items)
{
	return items_of(&batch->unwound, (const void **) items);
}

size_t
batch_notes(const Batch *batch, const BatchNote **items)
{
	return items_of(&batch->notes, (const void **) items);
}

size_t
batch_receipts(const Batch *batch, const BatchReceipt **items)
{
	return items_of(&batch->receipts, (const void **) items);
}

size_t
batch_bytes(const Batch *batch)
{
	return batch->budget.used_bytes;
}
