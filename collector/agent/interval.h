/*
 * interval.h
 *		What was sampled between two flushes: equal stacks once, summed, not symbolized yet.
 *
 * The reader thread fills one interval while the flusher thread works off the one before, so an
 * interval has one owner at a time and no lock. It holds the files and code objects that its frames
 * name, and the labels of its series. Functions that add return 0, -ENOMEM where memory or the byte
 * budget is out, or -EOVERFLOW where a sum leaves its type; the interval stays as it was.
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
	FRAME_KERNEL, /* address: in the kernel */
	FRAME_FILE,	  /* address: offset in the file */
	FRAME_CODE,	  /* generated or interpreted code whose name is known; address of these: 0 */
	FRAME_JIT,	  /* generated code */
	FRAME_INTERPRETED,
	FRAME_UNKNOWN, /* no code is mapped there, or its file cannot be opened */
	FRAME_GONE,	   /* stands for the user side of a process that ended before it was looked at */
	FRAME_CUT,	   /* stands for those between the innermost and the outermost ones of many */
} FrameKind;

/*
 * A call frame's address lies inside the call instruction (return address - 1), so that an address
 * alone tells function and line, whoever looks it up.
 */
typedef struct Frame
{
	uint64_t address;
	uint32_t item; /* index of the file, or of the code object; else INTERVAL_NO_ITEM */
	uint32_t kind; /* FrameKind; 32 bits, so that frames compare as bytes */
} Frame;

/* What the user side is. */
typedef enum StackSide
{
	STACK_NO_USER_SIDE, /* kernel threads, processes in exec or exit: nothing is missing */
	STACK_USER_SIDE,
} StackSide;

typedef struct IntervalStack
{
	uint32_t executable; /* file, whose build ID names the partition; or INTERVAL_NO_ITEM */
	uint8_t side;		 /* StackSide */
	uint8_t walk;		 /* enum pfs_walk_status: how the user side's walk ended */
	uint16_t depth;
	const Frame *frames; /* leaf first */
} IntervalStack;

/* Samples of one kind, one period and one set of labels. */
typedef struct IntervalSeries
{
	LabelSet *labels;
	int64_t period;		/* in the kind's unit */
	enum pfs_kind kind; /* what values are */
} IntervalSeries;

typedef struct IntervalSample
{
	int64_t time_us; /* start of the window, or its own; microseconds since 1970 UTC */
	uint32_t series;
	uint32_t stack;
	uint64_t count; /* of samples that were summed */
	uint64_t value; /* their sum, INT64_MAX at most */
} IntervalSample;

/* What of a sample a trace or a span brought about. */
typedef struct IntervalTrace
{
	PfsTraceIds ids;
	uint32_t sample; /* index */
	uint64_t value;
} IntervalTrace;

typedef struct Interval Interval;

int interval_create(MappedFileTable *files, size_t budget_bytes, Interval **interval);
void interval_free(Interval *interval); /* accepts NULL; gives back what it holds */

/* Each finds an equal item or adds a copy, and returns its index. */
int interval_add_series(Interval *interval, IntervalSeries series, uint32_t *index);
int interval_add_code(Interval *interval, CodeObject *code, uint32_t *index);
int interval_add_stack(Interval *interval, const IntervalStack *stack, uint32_t *index);

/* owners: accounts (worker_accounts.h) of the process that maps the file, added to those known. */
int interval_add_file(Interval *interval, MappedFile *file, uint64_t owners, uint32_t *index);

/* Adds to an equal one; 0, or -ENOMEM or -EOVERFLOW. */
int interval_add_sample(Interval *interval, const IntervalSample *sample, uint32_t *index);

/* Adds a value to the trace of a sample that was added. Returns 0 or -ENOMEM. */
int interval_add_trace(Interval *interval, const IntervalTrace *trace);

uint32_t interval_series(const Interval *interval, const IntervalSeries **items);
uint32_t interval_stacks(const Interval *interval, const IntervalStack **items);
uint32_t interval_samples(const Interval *interval, const IntervalSample **items);
uint32_t interval_traces(const Interval *interval, const IntervalTrace **items);
uint32_t interval_stack_count(const Interval *interval);

/* Sum of the counts of all samples whose stack is first_stack or a later one. */
uint64_t interval_sample_count(const Interval *interval, uint32_t first_stack);
MappedFile *interval_file(const Interval *interval, uint32_t index);
uint64_t interval_file_owners(const Interval *interval, uint32_t index);
CodeObject *interval_code(const Interval *interval, uint32_t index);

#endif
