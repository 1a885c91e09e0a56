/*
 * stack_frames.c
 *		Records of stacks, one after another, and marks where some of them begin.
 *
 * In memory each record has a mark. In the file one record per stride bytes has a mark, and records
 * are searched from there; if marks use too much memory, every second one is dropped.
 */
#include "tree/stack_frames.h"

#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/temp_file.h"

#define INITIAL_BYTES (4 * 1024)
#define INITIAL_MARKS 64

#define INITIAL_STRIDE 1024

/* Precedes the symbols of a record. */
typedef struct Head
{
	int64 stack_id;
	uint64 count;
} Head;

typedef struct Mark
{
	int64 stack_id;
	uint64 position;
} Mark;

struct PfsStackFrames
{
	MemoryContext context;
	Size bytes;
	uint64 length; /* length of all records together */
	char *data;	   /* all records or, if there is a file, the one that was last put or read */
	Size capacity;
	Mark *marks; /* marks by stack id */
	uint32 mark_count;
	uint32 mark_capacity;
	BufFile *file; /* file with the records; NULL if all are in memory */
	uint64 stride; /* least distance between marks; 0 if all records have one */
	int64 last;	   /* the stack that was last read from the file */
	uint32 count;  /* number of its frames */
	bool has_last;
};

PfsStackFrames *
pfs_stack_frames_begin(Size bytes)
{
	PfsStackFrames *frames = palloc0(sizeof(PfsStackFrames));

	frames->context = CurrentMemoryContext;
	frames->bytes = Max(bytes, INITIAL_BYTES + INITIAL_MARKS * sizeof(Mark));
	frames->capacity = INITIAL_BYTES;
	frames->data = PFS_ARRAY(char, frames->capacity);
	frames->mark_capacity = INITIAL_MARKS;
	frames->marks = PFS_ARRAY(Mark, frames->mark_capacity);
	return frames;
}

/* Keeps marks that are at least stride away from the one before. */
static void
thin_marks(PfsStackFrames *frames)
{
	uint32 count = 0;

	for (uint32 i = 0; i < frames->mark_count; i++)
	{
		/* The first mark stays: the search relies on a mark at or before every record. */
		if (count > 0 &&
			frames->marks[i].position - frames->marks[count - 1].position < frames->stride)
			continue;
		frames->marks[count++] = frames->marks[i];
	}
	frames->mark_count = count;
}

/* Moves all records to a file. */
static pg_noinline void
begin_file(PfsStackFrames *frames)
{
	MemoryContext caller = MemoryContextSwitchTo(frames->context);

	frames->file = BufFileCreateTemp(false);
	BufFileWrite(frames->file, frames->data, (Size) frames->length);
	pfree(frames->data);
	frames->capacity = INITIAL_BYTES;
	frames->data = PFS_ARRAY(char, frames->capacity);
	/* In a file one seek reads at least a page, so marks nearer than that would be of no use. */
	frames->stride = INITIAL_STRIDE;
	thin_marks(frames);
	MemoryContextSwitchTo(caller);
}

static Size
mark_bytes(const PfsStackFrames *frames)
{
	return (Size) frames->mark_capacity * sizeof(Mark);
}

static void
reserve_data(PfsStackFrames *frames, Size bytes)
{
	if (bytes <= frames->capacity)
		return;
	frames->data = repalloc_huge(frames->data, bytes);
	frames->capacity = bytes;
}

/*
 * Makes room for one more record; returns false if the record and its mark would use too much
 * memory.
 */
static bool
reserve_in_memory(PfsStackFrames *frames, Size bytes)
{
	Size capacity = frames->capacity;
	Size marks = mark_bytes(frames);

	if (frames->mark_count == frames->mark_capacity)
		/* The new record needs a mark, for which the array would be doubled. */
		marks *= 2;
	while (frames->length + bytes > capacity)
		capacity *= 2;
	if (capacity + marks > frames->bytes)
		return false;
	reserve_data(frames, capacity);
	return true;
}

/* Marks where the next record begins, if it is far enough from the mark before. */
static void
put_mark(PfsStackFrames *frames, int64 stack_id)
{
	if (frames->mark_count > 0 &&
		frames->length - frames->marks[frames->mark_count - 1].position < frames->stride)
		return;
	/* The array may not grow any more, so marks are dropped. */
	if (frames->file != NULL && mark_bytes(frames) * 2 > frames->bytes)
	{
		/* Thinning may remove nothing if records are long; then the stride is doubled again. */
		while (frames->mark_count == frames->mark_capacity)
		{
			frames->stride *= 2;
			thin_marks(frames);
		}
	}
	else if (frames->mark_count == frames->mark_capacity)
	{
		frames->marks = repalloc_huge(frames->marks, mark_bytes(frames) * 2);
		frames->mark_capacity *= 2;
	}
	frames->marks[frames->mark_count++] = (Mark){ stack_id, frames->length };
}

void
pfs_stack_frames_put(PfsStackFrames *frames, int64 stack_id, const uint32 *symbols, uint32 count)
{
	const Head head = { stack_id, count };
	Size symbol_bytes = (Size) count * sizeof(uint32);
	Size bytes = sizeof(Head) + symbol_bytes;
	char *record;

	Assert(frames->mark_count == 0 || frames->marks[frames->mark_count - 1].stack_id < stack_id);
	if (frames->file == NULL && !reserve_in_memory(frames, bytes))
		begin_file(frames);
	/* data[] holds only the record that is written. */
	if (frames->file != NULL)
		reserve_data(frames, bytes);
	/* The mark is the record's position, so it is put before the length grows. */
	put_mark(frames, stack_id);
	record = frames->file == NULL ? frames->data + frames->length : frames->data;
	memcpy(record, &head, sizeof(Head));
	memcpy(record + sizeof(Head), symbols, symbol_bytes);
	if (frames->file != NULL)
		BufFileWrite(frames->file, record, bytes);
	frames->length += bytes;
}

/* Returns the position from which to search for a stack. */
static uint64
find_mark(const PfsStackFrames *frames, int64 stack_id)
{
	uint32 low = 0;
	uint32 high = frames->mark_count;

	/* the first mark of a greater id */
	PFS_BISECT(low, high, middle, frames->marks[middle].stack_id <= stack_id);
	Assert(low > 0);
	return frames->marks[low - 1].position;
}

/* Reads the frames of a stack from the file, from the mark before it on. */
static void
stack_frames_read_stack(PfsStackFrames *frames, int64 stack_id)
{
	Head head;
	Size bytes;

	pfs_temp_file_seek(frames->file, find_mark(frames, stack_id));
	pfs_temp_file_read(frames->file, &head, sizeof(Head));
	/* Records are in order of their ids, and the caller asks only for stacks that were put. */
	while (head.stack_id != stack_id)
	{
		pfs_temp_file_skip(frames->file, head.count * sizeof(uint32));
		pfs_temp_file_read(frames->file, &head, sizeof(Head));
	}
	bytes = (Size) head.count * sizeof(uint32);
	reserve_data(frames, bytes);
	pfs_temp_file_read(frames->file, frames->data, bytes);
	frames->last = stack_id;
	frames->count = (uint32) head.count;
	frames->has_last = true;
}

const uint32 *
pfs_stack_frames_get(PfsStackFrames *frames, int64 stack_id, uint32 *count)
{
	const char *record;
	Head head;

	if (frames->file != NULL)
	{
		/* Callers mostly ask for one stack several times in a row. */
		if (!frames->has_last || frames->last != stack_id)
			stack_frames_read_stack(frames, stack_id);
		*count = frames->count;
		return (const uint32 *) frames->data;
	}
	record = frames->data + find_mark(frames, stack_id);
	memcpy(&head, record, sizeof(Head));
	Assert(head.stack_id == stack_id);
	*count = (uint32) head.count;
	return (const uint32 *) (record + sizeof(Head));
}

void
pfs_stack_frames_end(PfsStackFrames *frames)
{
	if (frames->file != NULL)
		BufFileClose(frames->file);
	pfree(frames->data);
	pfree(frames->marks);
	pfree(frames);
}
