/*
 * interval.h
 *		The samples between two flushes before symbolization: equal stacks are stored once, with the
 *		sum of their samples.
 *
 * The reader thread fills one interval while the flusher thread resolves the previous one, so an
 * interval has one owner at a time and no lock. It holds references to the files and code objects
 * of its frames, and to the labels of its series. Functions that add return 0, -ENOMEM if memory or
 * the byte budget is exhausted, or -EOVERFLOW if a sum exceeds its type; the interval is unchanged
 * after an error.
 */
#ifndef COLLECTOR_INTERVAL_H
#define COLLECTOR_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "code/code_object.h"
#include "events.h"
#include "formats/trace_ids.h"
#include "labels/label_set.h"
#include "process/mapped_file.h"

#define INTERVAL_NO_ITEM UINT32_MAX

typedef enum FrameKind
{
	FRAME_KERNEL, /* the address is a kernel address */
	FRAME_FILE,	  /* the address is an offset in the file */
	/*
	 * Generated or interpreted code whose name is known. The address is an offset in the code, or
	 * 0.
	 */
	FRAME_CODE,
	FRAME_JIT, /* generated code without a known name */
	FRAME_INTERPRETED,
	FRAME_UNKNOWN, /* no code is mapped at the address, or its file cannot be opened */
	FRAME_GONE,	   /* replaces the user side of a process that ended before it could be read */
	FRAME_CUT,	   /* replaces the middle frames of a stack with too many frames */
} FrameKind;

/*
 * Address of a call frame: inside the call instruction (return address - 1), so that the address
 * alone determines function and line.
 */
typedef struct Frame
{
	uint64_t address;
	uint32_t item; /* index of the file or code object; INTERVAL_NO_ITEM for other kinds */
	/*
	 * A FrameKind. It is 32 bits wide, so that the structure has no padding and can be compared as
	 * bytes.
	 */
	uint32_t kind;
} Frame;

/* States if a stack has frames of user mode. */
typedef enum StackSide
{
	/*
	 * A kernel thread, or a process during exec or exit: the stack is complete without a user side.
	 */
	STACK_NO_USER_SIDE,
	STACK_USER_SIDE,
} StackSide;

typedef struct IntervalStack
{
	/* Index of the file whose build ID is the dictionary partition, or INTERVAL_NO_ITEM. */
	uint32_t executable;
	uint8_t side; /* StackSide */
	uint8_t walk; /* enum pfs_walk_status: how the user side's walk ended */
	uint16_t depth;
	const Frame *frames; /* innermost frame first */
} IntervalStack;

/* Samples of one kind, one period and one set of labels. */
typedef struct IntervalSeries
{
	LabelSet *labels;
	int64_t period;		/* in the kind's unit */
	enum pfs_kind kind; /* kind of the samples, which defines what values mean */
} IntervalSeries;

typedef struct IntervalSample
{
	/*
	 * start of the window, or the time at which the sample was taken; microseconds since 1970 UTC
	 */
	int64_t time_us;
	uint32_t series;
	uint32_t stack;
	uint64_t count; /* number of samples in the sum */
	uint64_t value; /* sum of the samples' values, at most INT64_MAX */
} IntervalSample;

/* The part of a sample that is attributed to a trace or span. */
typedef struct IntervalTrace
{
	PfsTraceIds ids;
	uint32_t sample; /* index of the sample */
	uint64_t value;
} IntervalTrace;

typedef struct Interval Interval;

int interval_create(MappedFileTable *files, size_t budget_bytes, Interval **interval);
/* Releases all objects that the interval holds. Accepts NULL. */
void interval_free(Interval *interval);

/* Each finds an equal item or adds a copy of it, and stores its index. */
int interval_add_series(Interval *interval, IntervalSeries series, uint32_t *index);
int interval_add_code(Interval *interval, CodeObject *code, uint32_t *index);
int interval_add_stack(Interval *interval, const IntervalStack *stack, uint32_t *index);

/*
 * Like the other functions; owners are the accounts (worker_accounts.h) of the process that maps
 * the file, which are added to the file's accounts.
 */
int interval_add_file(Interval *interval, MappedFile *file, uint64_t owners, uint32_t *index);

/* Adds the sample to an equal one if there is one. Returns 0, -ENOMEM or -EOVERFLOW. */
int interval_add_sample(Interval *interval, const IntervalSample *sample, uint32_t *index);

/* Adds a value to the trace of a sample in the interval. Returns 0 or -ENOMEM. */
int interval_add_trace(Interval *interval, const IntervalTrace *trace);

uint32_t interval_series(const Interval *interval, const IntervalSeries **items);
uint32_t interval_stacks(const Interval *interval, const IntervalStack **items);
uint32_t interval_samples(const Interval *interval, const IntervalSample **items);
uint32_t interval_traces(const Interval *interval, const IntervalTrace **items);
uint32_t interval_stack_count(const Interval *interval);

/* Returns the sum of the counts of all samples whose stack is first_stack or a later one. */
uint64_t interval_sample_count(const Interval *interval, uint32_t first_stack);
MappedFile *interval_file(const Interval *interval, uint32_t index);
uint64_t interval_file_owners(const Interval *interval, uint32_t index);
CodeObject *interval_code(const Interval *interval, uint32_t index);

#endif
