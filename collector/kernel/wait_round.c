/*
 * wait_round.c
 *		Turns the iterator's output into records with stacks.
 */
#include "kernel/wait_round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/hash.h"
#include "base/log.h"
#include "events.h"
#include "profiler.skel.h"
#include "runtimes/chain_walk.h"

/* Size of the iterator's output for one batch: some 300 waits, each with up to 16 KiB of stack. */
#define BATCH_BYTES ((size_t) 128 * 1024)
/* Minimum size of the output for one wait. */
#define WAIT_BYTES	(sizeof(struct pfs_tended) + sizeof(struct pfs_sample))
#define BATCH_WAITS (BATCH_BYTES / WAIT_BYTES)

#define TEND_BYTES ((size_t) PFS_TEND_PAGES * PFS_LATE_CHUNK_BYTES)
#define LATE_BYTES offsetof(struct pfs_late, bytes)

/*
 * Maximum size of a record: a sample with all its frames, the interpreter's chain, and the
 * hand-over of its stack.
 */
#define RECORD_BYTES                                                       \
	(sizeof(struct pfs_sample) + (PFS_MAX_FRAMES + 1) * sizeof(uint64_t) + \
	 CHAIN_SECTION_WORDS * sizeof(uint64_t) + LATE_BYTES + TEND_BYTES)

typedef struct Batch
{
	size_t used; /* number of bytes used */
	size_t count;
	const struct pfs_tended *waits[BATCH_WAITS];
	StackRead reads[BATCH_WAITS];
	struct pfs_runtime runtimes[BATCH_WAITS];
	bool confirmed[BATCH_WAITS];
	uint64_t bytes[BATCH_BYTES / sizeof(uint64_t)];
	uint64_t record[RECORD_BYTES / sizeof(uint64_t)];
} Batch;

int
wait_rounds_init(WaitRounds *rounds, const SourceHost *host)
{
	*rounds = (WaitRounds){ .host = host };
	return stack_reader_init(&rounds->stacks);
}

void
wait_rounds_fini(WaitRounds *rounds)
{
	wait_rounds_detach(rounds);
	stack_reader_fini(&rounds->stacks);
}

int
wait_rounds_attach(WaitRounds *rounds)
{
	rounds->tend_link = bpf_program__attach(rounds->host->skeleton->progs.pfs_tend_waits);
	if (rounds->tend_link == NULL)
		return -errno;
	rounds->confirm_link = bpf_program__attach(rounds->host->skeleton->progs.pfs_confirm_waits);
	return rounds->confirm_link == NULL ? -errno : 0;
}

void
wait_rounds_detach(WaitRounds *rounds)
{
	bpf_link__destroy(rounds->tend_link);
	bpf_link__destroy(rounds->confirm_link);
	rounds->tend_link = NULL;
	rounds->confirm_link = NULL;
}

/*
 * Reads the output of the iterator's program. Returns the number of bytes; 0 at the end, or -errno.
 */
static ssize_t
read_iterator(int fd, void *bytes, size_t size)
{
	ssize_t length;

	/* The kernel returns EAGAIN after many threads without output; the next read goes on. */
	do
		length = read(fd, bytes, size);
	while (length < 0 && (errno == EAGAIN || errno == EINTR));
	return length < 0 ? -errno : length;
}

static bool
wait_round_log_refusal(int error)
{
	log_event(LOG_WARNING, "sampler", "could not iterate over the waiting threads",
			  log_text("detail", strerror(-error)));
	return false;
}

void
wait_rounds_forget(WaitRounds *rounds)
{
	int fd = bpf_iter_create(bpf_link__fd(rounds->tend_link));
	ssize_t length = fd < 0 ? -errno : 1;
	char bytes[64];

	rounds->host->skeleton->bss->pfs_tend_forgets = 1;
	while (length > 0)
		/* in this step the program writes no output */
		length = read_iterator(fd, bytes, sizeof(bytes));
	rounds->host->skeleton->bss->pfs_tend_forgets = 0;
	if (length < 0)
		(void) wait_round_log_refusal((int) length);
	if (fd >= 0)
		close(fd);
}

/* Returns the hand-over of the walk at the end of a wait's sample; NULL if there is none. */
static const struct pfs_late *
late_of(const struct pfs_tended *wait)
{
	const struct pfs_sample *sample = (const void *) (wait + 1);

	if ((sample->flags & PFS_SAMPLE_LATE) == 0 || wait->length < sizeof(*sample) + LATE_BYTES)
		return NULL;
	return (const void *) ((const uint8_t *) sample + wait->length - LATE_BYTES);
}

/*
 * Finds the interpreter of the sample's process as pfs_find_runtime() does. Returns false if it has
 * none.
 */
static bool
find_runtime(const WaitRounds *rounds, const struct pfs_sample *sample, struct pfs_runtime *runtime)
{
	int fd = bpf_map__fd(rounds->host->skeleton->maps.pfs_runtimes);

	/* The pid may have been reused, or the process may execute another image. */
	return bpf_map_lookup_elem(fd, &sample->pid, runtime) == 0 &&
		   runtime->start_time_ns == sample->start_time_ns && runtime->exec_id == sample->exec_id;
}

/*
 * Describes the part of the thread's stack that is read; its pages are contiguous. Fills in runtime
 * if the process has an interpreter. Without a chain of frames, only its number of unloaded classes
 * is read.
 */
static StackRead
read_of(const WaitRounds *rounds, const struct pfs_tended *wait, struct pfs_runtime *runtime)
{
	const struct pfs_sample *sample = (const void *) (wait + 1);
	const struct pfs_late *late = late_of(wait);
	StackRead read = { .pid = sample->pid, .tid = sample->tid };

	if (late != NULL && late->chunks < UINT64_C(1) << PFS_TEND_PAGES)
	{
		read.address = late->address;
		read.wanted_bytes = (size_t) __builtin_popcountll(late->chunks) * PFS_LATE_CHUNK_BYTES;
	}
	if (read.wanted_bytes == 0 || !find_runtime(rounds, sample, runtime))
		return read;
	if (runtime->kind == PFS_RUNTIME_HOTSPOT)
		read.number_address = runtime->hotspot.unloaded;
	else if (pfs_has_chain(runtime->kind))
	{
		read.runtime = runtime;
		read.thread_pointer = late->thread_pointer;
		read.sp = late->at.sp;
	}
	return read;
}

/* Finds the waits whose records are complete. Returns the number of bytes of these records. */
static size_t
split_batch(const WaitRounds *rounds, Batch *batch)
{
	const uint8_t *bytes = (const uint8_t *) batch->bytes;
	size_t at = 0;

	batch->count = 0;
	while (batch->used - at >= WAIT_BYTES && batch->count < BATCH_WAITS)
	{
		const struct pfs_tended *wait = (const void *) (bytes + at);

		/* The rest of this record comes with the next read. */
		if (wait->length > batch->used - at - sizeof(*wait))
			break;
		batch->waits[batch->count] = wait;
		batch->reads[batch->count] = read_of(rounds, wait, &batch->runtimes[batch->count]);
		batch->confirmed[batch->count++] = false;
		at += sizeof(*wait) + wait->length;
	}
	return at;
}

/*
 * Marks the threads of the batch that have not run since their waits were collected. Returns 0 or
 * -errno.
 */
static int
confirm_batch(WaitRounds *rounds, Batch *batch)
{
	uint64_t first = batch->waits[0]->mark;
	uint64_t marks[512];
	ssize_t length;
	int fd;

	rounds->host->skeleton->bss->pfs_confirm_after = first - 1;
	/*
	 * The last read may have ended within the record of the next wait, whose thread is also marked.
	 * That wait belongs to the next batch.
	 */
	rounds->host->skeleton->bss->pfs_confirm_until = first + batch->count - 1;
	fd = bpf_iter_create(bpf_link__fd(rounds->confirm_link));
	if (fd < 0)
		return -errno;
	/*
	 * a mark is never split, because the buffer's size and the kernel's are multiples of a mark's
	 * size
	 */
	while ((length = read_iterator(fd, marks, sizeof(marks))) > 0)
	{
		for (size_t i = 0; i < (size_t) length / sizeof(marks[0]); i++)
		{
			/* The difference wraps for marks below first, so one comparison checks both ends. */
			if (marks[i] - first < batch->count)
				batch->confirmed[marks[i] - first] = true;
		}
	}
	close(fd);
	return (int) length;
}

/*
 * Inserts the chain before the hand-over at the end of the record. Returns the new length of the
 * record.
 */
static size_t
insert_chain(uint8_t *record, size_t length, const StackRead *read)
{
	size_t bytes = read->chain_words * sizeof(*read->chain);
	uint8_t *late = record + length - LATE_BYTES;

	if (bytes == 0)
		return length;
	memmove(late + bytes, late, LATE_BYTES);
	memcpy(late, read->chain, bytes);
	((struct pfs_sample *) (void *) record)->flags |= PFS_SAMPLE_CHAIN;
	return length + bytes;
}

/* Passes one wait on, with those bytes of its stack that could be read. */
static void
hand_over(WaitRounds *rounds, Batch *batch, size_t number)
{
	const struct pfs_tended *wait = batch->waits[number];
	const StackRead *read = &batch->reads[number];
	uint64_t pages = read->done_bytes / PFS_LATE_CHUNK_BYTES;
	uint8_t *record = (uint8_t *) batch->record;
	size_t length = wait->length;

	/* Chain and stack are appended below, and must have room in any case. */
	if (length > sizeof(batch->record) - TEND_BYTES - CHAIN_SECTION_WORDS * sizeof(uint64_t))
		return;
	memcpy(record, wait + 1, length);
	if (late_of(wait) != NULL)
	{
		struct pfs_late *late;

		length = insert_chain(record, length, read);
		late = (void *) (record + length - LATE_BYTES);
		/* The pages are contiguous. One that was read in part is left out. */
		late->chunks = (UINT64_C(1) << pages) - 1;
		late->unloaded = read->has_number ? read->number : PFS_UNLOADED_UNKNOWN;
		late->length = pages * PFS_LATE_CHUNK_BYTES;
		if (pages > 0)
			memcpy(record + length, read->bytes, late->length);
		length += late->length;
		losses_add(rounds->host->losses, LOSS_WAITS_UNREAD, pages == 0);
	}
	rounds->host->on_tended(rounds->host->context, record, length);
}

/* Handles the waits with complete records and keeps the bytes after them. Returns 0 or -errno. */
static int
finish_batch(WaitRounds *rounds, Batch *batch)
{
	size_t whole = split_batch(rounds, batch);
	int result = 0;

	if (batch->count > 0)
	{
		stack_reader_read(&rounds->stacks, batch->reads, batch->count);
		/* Confirm after reading: a thread that has run in between may have changed its stack. */
		result = confirm_batch(rounds, batch);
		for (size_t i = 0; i < batch->count; i++)
		{
			if (batch->confirmed[i])
				hand_over(rounds, batch, i);
			free(batch->reads[i].bytes);
			free(batch->reads[i].chain);
		}
	}
	batch->used -= whole;
	memmove(batch->bytes, (const uint8_t *) batch->bytes + whole, batch->used);
	return result;
}

bool
wait_rounds_run(WaitRounds *rounds)
{
	Batch *batch = malloc(sizeof(*batch));
	int fd = batch == NULL ? -1 : bpf_iter_create(bpf_link__fd(rounds->tend_link));
	int result = batch == NULL ? -ENOMEM : fd < 0 ? -errno : 0;
	bool more = true;

	if (batch != NULL)
		batch->used = 0;
	rounds->host->skeleton->bss->pfs_tend_seed = hash_seed();
	while (result == 0 && more)
	{
		ssize_t length =
			read_iterator(fd, (uint8_t *) batch->bytes + batch->used, BATCH_BYTES - batch->used);

		more = length > 0;
		if (more)
			batch->used += (size_t) length;
		if (length < 0)
			result = (int) length;
		/* Each batch makes the kernel visit all threads again, so fill it before it is handled. */
		else if (!more || batch->used == BATCH_BYTES)
			result = finish_batch(rounds, batch);
	}
	if (fd >= 0)
		close(fd);
	free(batch);
	return result == 0 || wait_round_log_refusal(result);
}
