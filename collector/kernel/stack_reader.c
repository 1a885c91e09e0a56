/*
 * stack_reader.c
 *		Probes that read several stacks one after the other.
 *
 * One probe for each stack would cost two switches between threads for each. So a probe gets up to
 * SLICE_READS of them. If it does not come back, those that it has read are taken out of it, and
 * those that it has not begun go to the next probe: what is left behind is one thread with the
 * bytes of one stack.
 */
#include "kernel/stack_reader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "process/owner.h"

#define SLICE_READS 32
#define WAIT_NS		UINT64_C(20000000) /* for a slice, which takes a fraction of a millisecond */

enum
{
	READ_WAITING,
	READ_BEGUN,
	READ_DONE,
	READ_TAKEN_BACK,
};

typedef struct SliceRead
{
	_Atomic int state;
	StackRead read;
	StackRead *answer; /* of the caller, while the probe is not abandoned */
} SliceRead;

typedef struct SliceProbe
{
	Probe probe;
	size_t count;
	SliceRead reads[SLICE_READS];
} SliceProbe;

static void
run_slice(Probe *probe)
{
	SliceProbe *slice = (SliceProbe *) probe;

	for (size_t i = 0; i < slice->count; i++)
	{
		StackRead *read = &slice->reads[i].read;
		int state = READ_WAITING;
		const struct iovec local = { read->bytes, read->wanted_bytes };
		const struct iovec remote = { (void *) (uintptr_t) read->address, read->wanted_bytes };
		ssize_t result;

		if (!atomic_compare_exchange_strong(&slice->reads[i].state, &state, READ_BEGUN))
			return;
		result = process_vm_readv((pid_t) read->tid, &local, 1, &remote, 1, 0);
		read->done_bytes = result > 0 ? (size_t) result : 0;
		atomic_store(&slice->reads[i].state, READ_DONE);
	}
}

/*
 * The thread that is left behind is the owner's whose process does not answer. The owner is asked
 * for here if no thread was left behind before: the process lives as a rule, because it was read a
 * moment ago.
 */
static void
note_stuck(SliceProbe *slice, const SliceRead *read)
{
	StackRead *answer = read->answer;

	answer->stuck = true;
	if (answer->owner == 0)
		answer->owner = owner_of_process(answer->pid);
	slice->probe.owner = answer->owner;
}

/* Gives the caller what was read. Nothing else is begun from here on. */
static void
answer_slice(Probe *probe)
{
	SliceProbe *slice = (SliceProbe *) probe;

	for (size_t i = 0; i < slice->count; i++)
	{
		SliceRead *read = &slice->reads[i];
		int state = READ_WAITING;

		if (atomic_compare_exchange_strong(&read->state, &state, READ_TAKEN_BACK))
			continue;
		if (state == READ_BEGUN)
			note_stuck(slice, read);
		if (state != READ_DONE)
			continue;
		read->answer->bytes = read->read.bytes;
		read->answer->done_bytes = read->read.done_bytes;
		read->read.bytes = NULL;
	}
}

static void
discard_slice(Probe *probe)
{
	SliceProbe *slice = (SliceProbe *) probe;

	for (size_t i = 0; i < slice->count; i++)
		free(slice->reads[i].read.bytes);
	free(slice);
}

int
stack_reader_init(StackReader *reader)
{
	*reader = (StackReader){ .timeouts = 0 };
	return prober_create(&reader->prober);
}

void
stack_reader_fini(StackReader *reader)
{
	prober_free(reader->prober);
	reader->prober = NULL;
}

static StalledOwner *
find_stalled(StackReader *reader, uint64_t owner)
{
	for (size_t i = 0; i < STACK_READER_OWNERS; i++)
	{
		if (reader->stalled[i].owner == owner)
			return &reader->stalled[i];
	}
	return NULL;
}

static void
note_stalled(StackReader *reader, uint64_t owner, uint64_t now_ns)
{
	StalledOwner *stalled = find_stalled(reader, owner);

	if (stalled == NULL)
	{
		stalled = &reader->stalled[reader->next++ % STACK_READER_OWNERS];
		*stalled = (StalledOwner){ .owner = owner };
	}
	stall_note(&stalled->stall, now_ns);
}

/*
 * Must the owner of each process be known before it is read? Afterwards it may have been killed,
 * and its owner be unknown.
 */
static bool
needs_owners(const StackReader *reader, uint64_t now_ns)
{
	if (prober_stuck(reader->prober) > 0)
		return true;
	for (size_t i = 0; i < STACK_READER_OWNERS; i++)
	{
		if (now_ns < reader->stalled[i].stall.until_ns)
			return true;
	}
	return false;
}

static bool
is_left_alone(StackReader *reader, uint64_t owner, uint64_t now_ns)
{
	const StalledOwner *stalled = find_stalled(reader, owner);

	return (stalled != NULL && now_ns < stalled->stall.until_ns) ||
		   prober_avoids_owner(reader->prober, owner);
}

/* Takes reads from *next on that are to be made. NULL without memory. */
static SliceProbe *
make_slice(StackReader *reader, StackRead *reads, size_t count, size_t *next)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	bool asks = needs_owners(reader, now_ns);
	SliceProbe *slice = calloc(1, sizeof(*slice));
	uint32_t pid = 0; /* that was asked for last: threads of a process come one after the other */
	uint64_t owner = 0;
	bool left_alone = false;

	if (slice == NULL)
		return NULL;
	slice->probe = (Probe){ .run = run_slice, .salvage = answer_slice, .discard = discard_slice };
	for (; *next < count && slice->count < SLICE_READS; ++*next)
	{
		SliceRead *taken = &slice->reads[slice->count];

		if (asks && reads[*next].pid != pid)
		{
			pid = reads[*next].pid;
			owner = owner_of_process(pid);
			left_alone = is_left_alone(reader, owner, now_ns);
		}
		reads[*next].owner = owner;
		if (reads[*next].wanted_bytes == 0 || left_alone)
			continue;
		*taken = (SliceRead){ .read = reads[*next], .answer = &reads[*next] };
		taken->read.bytes = malloc(taken->read.wanted_bytes);
		slice->count += taken->read.bytes != NULL;
	}
	return slice;
}

/*
 * Makes the reads of one slice, from first on. Returns the number of the read to go on with; count
 * if no thread could be had.
 */
static size_t
read_slice(StackReader *reader, StackRead *reads, size_t count, size_t first)
{
	size_t next = first;
	SliceProbe *slice = make_slice(reader, reads, count, &next);

	if (slice == NULL)
		return count;
	if (slice->count == 0)
	{
		discard_slice(&slice->probe);
		return next;
	}
	if (prober_run(reader->prober, &slice->probe, WAIT_NS) == 0)
	{
		answer_slice(&slice->probe);
		discard_slice(&slice->probe);
		return next;
	}
	reader->timeouts++;
	for (size_t i = first; i < next; i++)
	{
		if (!reads[i].stuck)
			continue;
		note_stalled(reader, reads[i].owner, (uint64_t) clock_ns(CLOCK_MONOTONIC));
		return i + 1;
	}
	return count;
}

void
stack_reader_read(StackReader *reader, StackRead *reads, size_t count)
{
	size_t next = 0;

	for (size_t i = 0; i < count; i++)
	{
		reads[i].owner = 0;
		reads[i].bytes = NULL;
		reads[i].done_bytes = 0;
		reads[i].stuck = false;
	}
	while (next < count)
		next = read_slice(reader, reads, count, next);
}
