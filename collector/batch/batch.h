/*
 * batch.h
 *		The samples of one interval, ready to be written: a small profile with indexes instead of
 *		database ids.
 *
 * Sources of samples add, the writer reads. Each add returns the index of an equal item if there is
 * one, so a batch holds every item once; values of equal (time, series, stack) are summed. A batch
 * owns all its memory: each distinct string is copied once, with U+FFFD for bytes that are not
 * UTF-8, because the database accepts only text. Strings are never NULL. Not thread-safe: one owner
 * at a time (the source until the batch is queued, then the writer).
 *
 * Functions that add return
 *   -ENOMEM     memory or the batch's byte budget is exhausted
 *   -EINVAL     an unknown index, a repeated label, or more than BATCH_MAX_LABELS
 *   -EOVERFLOW  the sum of a sample, loss or count overflows
 * and leave the items of the batch unchanged.
 */
#ifndef COLLECTOR_BATCH_H
#define COLLECTOR_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory_share.h"

#define BATCH_EXPECT_MAX 1024

typedef struct Batch Batch;

typedef struct BatchLabel
{
	const char *name;
	const char *value;
} BatchLabel;

typedef struct BatchMapping
{
	const char *build_id; /* hexadecimal; "" if not known */
	const char *file;
} BatchMapping;

typedef struct BatchFunction
{
	const char *name; /* the demangled name */
	const char *system_name;
	const char *filename;
	int32_t start_line;
} BatchFunction;

/* Bytes that contain no NUL; they need not be NUL-terminated. */
typedef struct BatchText
{
	const char *bytes; /* may be NULL if length is 0 */
	size_t length;
} BatchText;

typedef struct BatchFunctionTexts
{
	BatchText name;
	BatchText system_name;
	BatchText filename;
	int32_t start_line;
} BatchFunctionTexts;

typedef struct BatchLine
{
	uint32_t function; /* index */
	int32_t line;
} BatchLine;

typedef struct BatchLocation
{
	uint32_t mapping; /* index, or BATCH_NO_MAPPING */
	uint64_t address; /* ELF virtual address; 0 if only the name of the frame is known */
	uint32_t line_count;
	const BatchLine *lines; /* innermost first */
} BatchLocation;

typedef struct BatchStack
{
	/* dictionary partition: normally the build ID of the process's executable */
	const char *partition;
	uint32_t depth;			   /* 0 for the empty stack */
	const uint32_t *locations; /* indexes, leaf first */
} BatchStack;

typedef struct BatchSeries
{
	const char *profile_type; /* name:sample_type:sample_unit:period_type:period_unit[:delta] */
	uint32_t label_count;
	const BatchLabel *labels; /* sorted by name */
	int64_t period;
} BatchSeries;

typedef struct BatchSample
{
	int64_t time_us; /* start of the window; microseconds since 1970 UTC */
	uint32_t series; /* index */
	uint32_t stack;	 /* index */
	int64_t value;
} BatchSample;

/* The part of a sample's value that is attributed to a trace or a span. */
#define BATCH_TRACE_BYTES 16
#define BATCH_SPAN_BYTES  8

typedef struct BatchTrace
{
	BatchSample sample; /* its value is the attributed part of the sample's value */
	/* All zero if not known. At least one of trace and span must be known. */
	uint8_t trace[BATCH_TRACE_BYTES];
	uint8_t span[BATCH_SPAN_BYTES];
} BatchTrace;

typedef struct BatchLoss
{
	const char *reason;
	uint64_t count;
} BatchLoss;

/* How many sampled user stacks an executable had, and how many of these were unwound to a root. */
typedef struct BatchUnwound
{
	const char *exe; /* path; "" if not known */
	uint64_t stacks;
	uint64_t complete;
} BatchUnwound;

/*
 * Attributes of a profile for one of its series, without the samples. NULL and "" mean absent; a
 * batch stores "".
 */
typedef struct BatchNote
{
	uint32_t series; /* index */
	uint32_t comment_count;
	const char *const *comments;
	const char *default_type;
	const char *doc_url;
	const char *drop_frames;
	const char *keep_frames;
} BatchNote;

/*
 * A digest of a batch's content. If several batches have the same receipt, only one of them is
 * stored, even if different collectors send them.
 */
#define BATCH_RECEIPT_BYTES 16

typedef struct BatchReceipt
{
	uint8_t bytes[BATCH_RECEIPT_BYTES];
} BatchReceipt;

#define BATCH_NO_MAPPING UINT32_MAX
#define BATCH_MAX_LABELS 64

int batch_create(size_t budget_bytes, Batch **batch);

/*
 * Charges the memory of the batch, present and future, also to share; NULL ends that. Returns
 * -ENOMEM, and changes nothing, if the share has too little memory.
 */
int batch_charge_to(Batch *batch, MemoryShare *share);
void batch_free(Batch *batch); /* accepts NULL */

/*
 * Returns the batch's copy of a text without NUL bytes; NULL on out of memory. Invalid UTF-8 is
 * replaced. Equal texts return the same pointer, which is valid until the batch is freed.
 */
const char *batch_text(Batch *batch, const char *bytes, size_t length);

/*
 * Makes room for items that are about to be added, at most BATCH_EXPECT_MAX of a kind, so that
 * tables do not grow in steps. Does nothing if out of memory.
 */
void batch_expect(Batch *batch, size_t functions, size_t locations, size_t stacks);

/*
 * Each returns 0 and stores the index, or returns -errno. Labels may be in any order; the batch
 * sorts them.
 */
int batch_add_mapping(Batch *batch, const BatchMapping *mapping, uint32_t *index);
int batch_add_function(Batch *batch, const BatchFunction *function, uint32_t *index);
int batch_add_function_texts(Batch *batch, const BatchFunctionTexts *texts, uint32_t *index);
int batch_add_function_of(Batch *batch, const Batch *other, uint32_t function, uint32_t *index);
int batch_add_location(Batch *batch, const BatchLocation *location, uint32_t *index);
int batch_add_stack(Batch *batch, const BatchStack *stack, uint32_t *index);
int batch_add_series(Batch *batch, const BatchSeries *series, uint32_t *index);
int batch_add_loss(Batch *batch, const char *reason, uint64_t count);

/*
 * Add to the values of an equal item: samples are equal in time, series and stack, counts in exe.
 * Return 0 or -errno.
 */
int batch_add_sample(Batch *batch, const BatchSample *sample);
int batch_add_unwound(Batch *batch, const BatchUnwound *unwound);

/*
 * Makes room for samples that differ from each other in time, series or stack. If it returns 0,
 * adding all of them cannot fail, even if notes are added in between; otherwise returns -errno.
 */
int batch_reserve_samples(Batch *batch, const BatchSample *samples, size_t count);

/*
 * Makes room for count traces of samples in the batch. If it returns 0, adding them cannot fail for
 * lack of memory.
 */
int batch_reserve_traces(Batch *batch, size_t count);

/*
 * Appends a trace even if an equal one exists. Returns -EINVAL if neither trace nor span is known.
 */
int batch_add_trace(Batch *batch, const BatchTrace *trace);

int batch_add_note(Batch *batch, const BatchNote *note);

/*
 * Appends a receipt even if an equal one exists. If a batch has several receipts, the writer stores
 * it in parts.
 */
int batch_add_receipt(Batch *batch, const uint8_t bytes[BATCH_RECEIPT_BYTES]);

/* Adds one copy of the note for each of the count series. Adds all copies or none. */
int batch_add_notes(Batch *batch, const BatchNote *note, const uint32_t *series, size_t count);

/* Adds all items of another batch. Returns 0 or -errno; on failure a part may have been added. */
int batch_add_batch(Batch *batch, const Batch *other);

/*
 * Like batch_add_batch(), but adds only the series from first to last - 1 with their samples,
 * traces and notes, and the items to which these refer. Leaves out losses and unwinding counts.
 */
int batch_add_series_of(Batch *batch, const Batch *other, uint32_t first, uint32_t last);

/* Adds the stacks from first to last - 1 and the items to which they refer, without samples. */
int batch_add_stacks_of(Batch *batch, const Batch *other, uint32_t first, uint32_t last);

/* Adds the losses and unwinding counts of another batch. */
int batch_add_counts_of(Batch *batch, const Batch *other);

/* Each returns the number of items and stores the array, which is valid until the next add. */
size_t batch_mappings(const Batch *batch, const BatchMapping **items);
size_t batch_functions(const Batch *batch, const BatchFunction **items);
size_t batch_locations(const Batch *batch, const BatchLocation **items);
size_t batch_stacks(const Batch *batch, const BatchStack **items);
size_t batch_series(const Batch *batch, const BatchSeries **items);
size_t batch_samples(const Batch *batch, const BatchSample **items);
size_t batch_traces(const Batch *batch, const BatchTrace **items);
size_t batch_losses(const Batch *batch, const BatchLoss **items);
size_t batch_unwound(const Batch *batch, const BatchUnwound **items);
size_t batch_notes(const Batch *batch, const BatchNote **items);
size_t batch_receipts(const Batch *batch, const BatchReceipt **items);
/* bytes of memory that the batch holds, including unused capacity of arrays */
size_t batch_bytes(const Batch *batch);

#endif
