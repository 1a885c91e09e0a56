/*
 * batch.h
 *		What one interval sampled, ready to be written: a small profile with indexes instead of
 *		database ids.
 *
 * The agent adds, the writer reads. Each add returns the index of an equal item that is there
 * already, so a batch holds everything once; sums land on (time, series, stack). A batch owns all
 * its memory: each distinct string is copied once, with U+FFFD for bytes that are not UTF-8, since
 * the database takes only text. Strings are never NULL.
 * Not thread-safe: one owner at a time (agent until it is queued, then writer).
 *
 * Functions that add return
 *		-ENOMEM		memory or the batch's byte budget is out
 *		-EINVAL		an unknown index, a label twice, or more than BATCH_MAX_LABELS
 *		-EOVERFLOW	the sum of a sample, loss or count leaves its type
 * and the batch then holds the same items as before.
 */
#ifndef COLLECTOR_BATCH_H
#define COLLECTOR_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory_share.h"

typedef struct Batch Batch;

typedef struct BatchLabel
{
	const char *name;
	const char *value;
} BatchLabel;

typedef struct BatchMapping
{
	const char *build_id; /* hexadecimal, "" where not known */
	const char *file;
} BatchMapping;

typedef struct BatchFunction
{
	const char *name; /* demangled */
	const char *system_name;
	const char *filename;
	int32_t start_line;
} BatchFunction;

/* Bytes that need not end with a zero; none may be in them. */
typedef struct BatchText
{
	const char *bytes; /* may be NULL where there are none */
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
	uint64_t address; /* ELF virtual address; 0 for a frame known by name only */
	uint32_t line_count;
	const BatchLine *lines; /* innermost first */
} BatchLocation;

typedef struct BatchStack
{
	const char *partition;	   /* dictionary partition: build ID of the process's executable */
	uint32_t depth;			   /* 0: the empty stack */
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
	int64_t time_us; /* start of the window, microseconds since 1970 UTC */
	uint32_t series; /* index */
	uint32_t stack;	 /* index */
	int64_t value;
} BatchSample;

/* What of a sample's value a trace or a span brought about. */
#define BATCH_TRACE_BYTES 16
#define BATCH_SPAN_BYTES  8

typedef struct BatchTrace
{
	BatchSample sample;				  /* value: the part */
	uint8_t trace[BATCH_TRACE_BYTES]; /* all 0: not known; so the span, but not both */
	uint8_t span[BATCH_SPAN_BYTES];
} BatchTrace;

typedef struct BatchLoss
{
	const char *reason;
	uint64_t count;
} BatchLoss;

/* How many sampled user stacks an executable had, and how many of them reached a root. */
typedef struct BatchUnwound
{
	const char *exe; /* path, "" where not known */
	uint64_t stacks;
	uint64_t complete;
} BatchUnwound;

/*
 * What a profile says beside its samples, for one of its series. NULL or "" for nothing, in a batch
 * "".
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
 * What a batch says, in few bytes: of several batches with the same receipt one is stored, whoever
 * stores them.
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
 * Charges what the batch holds and what it comes to hold to a share, too; NULL: no more. -ENOMEM,
 * and all as it was, where that has not so much.
 */
int batch_charge_to(Batch *batch, MemoryShare *share);
void batch_free(Batch *batch); /* accepts NULL */

/*
 * The batch's own copy of a text without zero bytes; NULL where out of memory. What is UTF-8 stays
 * as it is. Equal texts give the same pointer, which holds as long as the batch.
 */
const char *batch_text(Batch *batch, const char *bytes, size_t length);

/* Each returns 0 and the index, or -errno. Labels may come in any order; the batch sorts them. */
int batch_add_mapping(Batch *batch, const BatchMapping *mapping, uint32_t *index);
int batch_add_function(Batch *batch, const BatchFunction *function, uint32_t *index);
int batch_add_function_texts(Batch *batch, const BatchFunctionTexts *texts, uint32_t *index);
int batch_add_location(Batch *batch, const BatchLocation *location, uint32_t *index);
int batch_add_stack(Batch *batch, const BatchStack *stack, uint32_t *index);
int batch_add_series(Batch *batch, const BatchSeries *series, uint32_t *index);
int batch_add_loss(Batch *batch, const char *reason, uint64_t count);

/* Each adds to what is equal: in time, series and stack; in exe. 0 or -errno. */
int batch_add_sample(Batch *batch, const BatchSample *sample);
int batch_add_unwound(Batch *batch, const BatchUnwound *unwound);

/*
 * Makes room for samples, of which no two are equal in time, series and stack. Where it is 0, all
 * of them can be added next, and notes before them; else -errno.
 */
int batch_reserve_samples(Batch *batch, const BatchSample *samples, size_t count);

/* The same for traces, each of a sample that is there or about to be. */
int batch_reserve_traces(Batch *batch, size_t count);

/* One more, equal to another or not. -EINVAL too where neither id is known. */
int batch_add_trace(Batch *batch, const BatchTrace *trace);

int batch_add_note(Batch *batch, const BatchNote *note);

/* One more, equal to another or not: a batch that has one twice is not stored as it is. */
int batch_add_receipt(Batch *batch, const uint8_t bytes[BATCH_RECEIPT_BYTES]);

/* The same note for these series in place of its own: for all of them or none. */
int batch_add_notes(Batch *batch, const BatchNote *note, const uint32_t *series, size_t count);

/*
 * Adds all of another batch, equal items once. 0 or -errno as above; part of it may be there then.
 */
int batch_add_batch(Batch *batch, const Batch *other);

/*
 * Like batch_add_batch(), but only the series from first to last - 1, with their samples, traces
 * and notes, and what those refer to. Losses and counts of unwinding are left out.
 */
int batch_add_series_of(Batch *batch, const Batch *other, uint32_t first, uint32_t last);

/* Adds the losses and counts of unwinding of another batch. */
int batch_add_counts_of(Batch *batch, const Batch *other);

/* Arrays as they stand; pointers hold until the next add. */
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
size_t batch_bytes(const Batch *batch); /* memory held, what growth has set aside included */

#endif
