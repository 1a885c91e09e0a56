/*
 * stack_reader.c
 *		Reads several stacks in one call with a deadline.
 *
 * A call for each stack would cost two context switches for each, so a call makes up to SLICE_READS
 * reads, or fewer with chains of interpreters. If the call does not return in time, the finished
 * reads are taken out of it, and the next call makes the reads that it has not begun. The call that
 * is left behind then holds one thread and the buffer of one stack.
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
#include "runtimes/chain_walk.h"

#define SLICE_READS 32
#define CHAIN_READS 8 /* a stack with a chain takes as long as this many stacks without one */
/* Deadline of one call. A call normally takes a fraction of a millisecond. */
#define WAIT_NS		UINT64_C(20000000)

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
	struct pfs_runtime
		/* a copy, because the caller's structure may be gone if the call is abandoned */
		runtime;
	StackRead *answer; /* points to the caller's structure; not used after the call is abandoned */
} SliceRead;

#define PAGE_BYTES	 4096
#define CACHED_PAGES 16

/*
 * Pages of a process that were read for chains. Frames are close together, and threads of a process
 * execute the same code. The frames and the code of a thread do not change while it waits.
 */
typedef struct PageCache
{
	uint32_t pid; /* 0: the cache holds no pages */
	uint32_t next;
	uint64_t addresses[CACHED_PAGES];
	bool had[CACHED_PAGES];
	uint8_t bytes[CACHED_PAGES][PAGE_BYTES];
} PageCache;

typedef struct SliceProbe
{
	Probe probe;
	size_t count;
	PageCache *pages; /* NULL: no chain is requested */
	SliceRead reads[SLICE_READS];
} SliceProbe;

/* Returns the content of the page at the address, or NULL if it cannot be read. */
static const uint8_t *
stack_reader_find_page(PageCache *pages, uint64_t address)
{
	const struct iovec remote = { (void *) (uintptr_t) address, PAGE_BYTES };
	struct iovec local = { .iov_len = PAGE_BYTES };
	uint32_t place;

	for (uint32_t i = 0; i < CACHED_PAGES; i++)
	{
		if (pages->addresses[i] == address)
			return pages->had[i] ? pages->bytes[i] : NULL;
	}
	place = pages->next++ % CACHED_PAGES;
	local.iov_base = pages->bytes[place];
	pages->addresses[place] = address;
	/* Remember a page that cannot be read, too, so that not every thread tries it again. */
	pages->had[place] =
		process_vm_readv((pid_t) pages->pid, &local, 1, &remote, 1, 0) == PAGE_BYTES;
	return pages->had[place] ? pages->bytes[place] : NULL;
}

/* Implements ChainRead. */
static int
stack_reader_read_pages(void *context, uint64_t address, void *to, size_t bytes)
{
	uint8_t *next = to;

	while (bytes > 0)
	{
		size_t offset = address % PAGE_BYTES;
		size_t part = MIN(bytes, PAGE_BYTES - offset);
		const uint8_t *page = stack_reader_find_page(context, address - offset);

		if (page == NULL)
			return -EFAULT;
		memcpy(next, page + offset, part);
		next += part;
		address += part;
		bytes -= part;
	}
	return 0;
}

/* Reads the interpreter's frames of a thread and stores them in read, if there are any. */
static void
stack_reader_read_chain(PageCache *pages, StackRead *read)
{
	ChainThread thread = { .runtime = read->runtime,
						   .thread_pointer = read->thread_pointer,
						   .sp = read->sp,
						   .read = stack_reader_read_pages,
						   .context = pages };
	uint64_t below = read->sp - read->address;
	uint64_t section[CHAIN_SECTION_WORDS];
	size_t words;

	/*
	 * The walk reads the part of the stack that is already here, and other pages through the cache.
	 */
	if (below % 8 == 0 && below < read->done_bytes)
	{
		thread.stack = (const uint64_t *) (const void *) (read->bytes + below);
		thread.stack_words = (read->done_bytes - below) / 8;
	}

	if (pages->pid != read->pid)
	{
		/* an odd address marks a free slot, because no page begins there */
		memset(pages->addresses, 0xff, sizeof(pages->addresses));
		pages->pid = read->pid;
	}
	words = chain_walk(&thread, section);
	read->chain = words > 0 ? malloc(words * sizeof(*section)) : NULL;
	if (read->chain == NULL)
		return;
	memcpy(read->chain, section, words * sizeof(*section));
	read->chain_words = words;
}

/* Reads the number that the caller requested beside the stack. */
static void
read_number(StackRead *read)
{
	const struct iovec local = { &read->number, sizeof(read->number) };
	const struct iovec remote = { (void *) (uintptr_t) read->number_address, sizeof(read->number) };

	read->has_number = process_vm_readv((pid_t) read->pid, &local, 1, &remote, 1, 0) ==
					   (ssize_t) sizeof(read->number);
}

/*
 * Reads the stacks of a slice, in a thread that the caller may give up waiting for: it begins no
 * read that the caller has taken back.
 */
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

		/* The caller has given up, and has taken back this read and all later ones. */
		if (!atomic_compare_exchange_strong(&slice->reads[i].state, &state, READ_BEGUN))
			return;
		result = process_vm_readv((pid_t) read->tid, &local, 1, &remote, 1, 0);
		read->done_bytes = result > 0 ? (size_t) result : 0;
		if (read->runtime != NULL)
			stack_reader_read_chain(slice->pages, read);
		if (read->number_address != 0)
			read_number(read);
		atomic_store(&slice->reads[i].state, READ_DONE);
	}
}

/*
 * Charges the abandoned thread to the owner of the process that does not answer. The owner is
 * looked up here if no thread was abandoned before; the process normally exists, because it was
 * read a moment ago.
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

/* Copies the finished reads to the caller, and keeps the thread from beginning further reads. */
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
		/* The thread is still inside this read, so its buffer stays with the slice. */
		if (state == READ_BEGUN)
			note_stuck(slice, read);
		if (state != READ_DONE)
			continue;
		read->answer->bytes = read->read.bytes;
		read->answer->done_bytes = read->read.done_bytes;
		read->answer->number = read->read.number;
		read->answer->has_number = read->read.has_number;
		read->answer->chain = read->read.chain;
		read->answer->chain_words = read->read.chain_words;
		read->read.bytes = NULL;
		read->read.chain = NULL;
	}
}

static void
discard_slice(Probe *probe)
{
	SliceProbe *slice = (SliceProbe *) probe;

	for (size_t i = 0; i < slice->count; i++)
	{
		free(slice->reads[i].read.bytes);
		free(slice->reads[i].read.chain);
	}
	free(slice->pages);
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
stack_reader_find_stalled(StackReader *reader, uint64_t owner)
{
	for (size_t i = 0; i < STACK_READER_OWNERS; i++)
	{
		if (reader->stalled[i].owner == owner)
			return &reader->stalled[i];
	}
	return NULL;
}

static void
stack_reader_note_stalled(StackReader *reader, uint64_t owner, uint64_t now_ns)
{
	StalledOwner *stalled = stack_reader_find_stalled(reader, owner);

	if (stalled == NULL)
	{
		/* The table is small: the oldest owner is forgotten, and may delay a call once more. */
		stalled = &reader->stalled[reader->next++ % STACK_READER_OWNERS];
		*stalled = (StalledOwner){ .owner = owner };
	}
	stall_note(&stalled->stall, now_ns);
}

/*
 * Returns true if the owner of each process must be known before the process is read. After a read
 * that blocks the process may have been killed, and its owner could not be determined.
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
stack_reader_is_left_alone(StackReader *reader, uint64_t owner, uint64_t now_ns)
{
	const StalledOwner *stalled = stack_reader_find_stalled(reader, owner);

	return (stalled != NULL && now_ns < stalled->stall.until_ns) ||
		   prober_avoids_owner(reader->prober, owner);
}

/* Adds a read to the slice. Returns the cost of the read, counted in stacks; 0 if out of memory. */
static size_t
slice_add(SliceProbe *slice, StackRead *read)
{
	SliceRead *taken = &slice->reads[slice->count];

	*taken = (SliceRead){ .read = *read, .answer = read };
	taken->read.bytes = malloc(read->wanted_bytes);
	if (taken->read.bytes == NULL)
		return 0;
	slice->count++;
	if (read->runtime != NULL && slice->pages == NULL)
		slice->pages = calloc(1, sizeof(*slice->pages));
	/* Without memory for pages, read the stack without the interpreter's frames. */
	if (read->runtime == NULL || slice->pages == NULL)
	{
		taken->read.runtime = NULL;
		return 1;
	}
	taken->runtime = *read->runtime;
	taken->read.runtime = &taken->runtime;
	return CHAIN_READS;
}

/*
 * Makes a slice of the reads that must be made, beginning with *next. Returns NULL if out of
 * memory.
 */
static SliceProbe *
make_slice(StackReader *reader, StackRead *reads, size_t count, size_t *next)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	bool asks = needs_owners(reader, now_ns);
	SliceProbe *slice = calloc(1, sizeof(*slice));
	/* Last process whose owner was looked up; the threads of a process are adjacent. */
	uint32_t pid = 0;
	uint64_t owner = 0;
	bool left_alone = false;
	size_t cost = 0;

	if (slice == NULL)
		return NULL;
	slice->probe = (Probe){ .run = run_slice, .salvage = answer_slice, .discard = discard_slice };
	for (; *next < count && cost < SLICE_READS; ++*next)
	{
		/*
		 * Finding an owner reads /proc, so it is done only if a process could have to be left
		 * alone.
		 */
		if (asks && reads[*next].pid != pid)
		{
			pid = reads[*next].pid;
			owner = owner_of_process(pid);
			left_alone = stack_reader_is_left_alone(reader, owner, now_ns);
		}
		reads[*next].owner = owner;
		if (reads[*next].wanted_bytes == 0 || left_alone)
			continue;
		cost += slice_add(slice, &reads[*next]);
	}
	return slice;
}

/*
 * Makes the reads of one slice, beginning with first. Returns the number of the next read; count if
 * no thread was available.
 */
static size_t
read_slice(StackReader *reader, StackRead *reads, size_t count, size_t first)
{
	size_t next = first;
	SliceProbe *slice = make_slice(reader, reads, count, &next);

	if (slice == NULL)
		return count;
	/* All reads of the slice belong to processes that are left alone, or have no bytes to read. */
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
		/*
		 * Go on behind the read that blocks; the reads after it were taken back, and are made next.
		 */
		stack_reader_note_stalled(reader, reads[i].owner, (uint64_t) clock_ns(CLOCK_MONOTONIC));
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
		reads[i].has_number = false;
		reads[i].bytes = NULL;
		reads[i].done_bytes = 0;
		reads[i].chain = NULL;
		reads[i].chain_words = 0;
		reads[i].stuck = false;
	}
	while (next < count)
		next = read_slice(reader, reads, count, next);
}
