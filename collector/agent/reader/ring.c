/*
 * ring.c
 *		The ring thread: moves records from the ring into the queue and looks up their processes.
 *
 * The thread never waits for another one for long: the lock is never held during long work.
 */
#include "agent/reader/ring.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/reader/reader.h"
#include "base/clock.h"
#include "base/log.h"

/* Until the first record, so that users see soon that sampling works. */
#define POLL_BEGIN_MS		10
/* while most code is new to the agent, so that many records carry copies of stacks */
#define POLL_FIRST_MS		100
/*
 * Longer than latency requires, because each wake-up runs two threads. Urgent records wake them at
 * once.
 */
#define POLL_MS				250
#define FIRST_NS			UINT64_C(30000000000)
#define QUEUE_BYTES			((size_t) 64 * 1024 * 1024)
#define REREAD_GENERATED_NS UINT64_C(10000000)
#define FOLLOW_CPUS_NS		UINT64_C(1000000000)
/* Ongoing waits are held back while the queue holds more bytes than this. */
#define WAITS_BYTES			((size_t) 4 * 1024 * 1024)
#define HOLD_BACK_NS		5000000
#define HOLD_BACK_TIMES		200

/*
 * Returns true if the kernel's walk failed in generated code. Such code is walked by frame pointer
 * until the walker thread finds unwind rules for it in the process's memory.
 */
static bool
failed_in_generated_code(const Record *record, const Process *process)
{
	const struct pfs_sample *sample = record->sample;
	uint64_t frame;

	if (sample->user_count == 0 ||
		(sample->user_status != PFS_WALK_BAD_FRAME && sample->user_status != PFS_WALK_READ_FAILED))
		return false;
	frame = record->user_frames[pfs_walk_place(sample->user_count - 1u)];
	return PFS_FRAME_MORE(frame) == 0 && process_is_generated(process, user_frame_code(frame));
}

void
reader_follow_mappings(Reader *reader, const Record *record, Process *process)
{
	const struct pfs_late *late = record->late;
	bool failed;
	uint64_t mapped_ns;

	if (process == NULL)
		return;
	past_images_update_to(reader->past, record->sample->time_ns);
	process_follow(reader->processes, process, reader->now_ns);
	/*
	 * The walk of a copied stack needs the mapping of its first frame at once. Without a copy,
	 * reading again helps only later samples, so it is not done more often than every 10 ms.
	 */
	if (late != NULL)
		failed = record->sample->user_status == PFS_WALK_NO_TABLE ||
				 !process_covers(process, late->at.pc - late->at.is_return);
	else
		failed = failed_in_generated_code(record, process) &&
				 process_read_ns(process) + REREAD_GENERATED_NS < reader->now_ns;
	if (!failed)
		return;
	past_images_update(reader->past);
	mapped_ns = past_images_mapped_ns(reader->past, record->sample->pid, record->sample->time_ns);
	if (mapped_ns != UINT64_MAX)
		process_reread_before(reader->processes, process, mapped_ns, reader->now_ns);
}

void
reader_queue_record(void *context, const void *record, size_t length_bytes)
{
	Reader *reader = context;
	QueuedRecord *queued = malloc(sizeof(*queued) + length_bytes);
	const Record *parsed = NULL;

	if (queued != NULL)
	{
		memcpy(queued->bytes, record, length_bytes);
		if (!record_parse(queued->bytes, length_bytes, &queued->record))
		{
			losses_add(reader->losses, LOSS_RECORD_MALFORMED, 1);
			free(queued);
			return;
		}
		parsed = &queued->record;
	}
	/* Copy and check the record before the lock is taken, so that the walker thread waits less. */
	reader_lock(reader);
	/*
	 * Look the process up now, even if the record finds no room: it may end before its next sample.
	 */
	if (parsed != NULL)
		reader_follow_mappings(reader, parsed,
							   process_table_get(reader->processes, parsed->sample,
												 reader->now_ns));
	if (queued == NULL || reader->queue_bytes + length_bytes > QUEUE_BYTES ||
		atomic_load(&reader->refusing))
	{
		losses_add(reader->losses,
				   atomic_load(&reader->refusing) ? LOSS_MEMORY_LIMIT : LOSS_RECORDS_FULL, 1);
		free(queued);
	}
	else
	{
		queued->next = NULL;
		queued->table = 0;
		queued->length_bytes = length_bytes;
		*reader->queue_end = queued;
		reader->queue_end = &queued->next;
		reader->queue_bytes += length_bytes;
	}
	reader_unlock(reader);
}

/*
 * Returns true if the queue has room for ongoing waits. Otherwise wakes the walker thread, because
 * its timer does not see that the queue is full.
 */
static bool
has_room_for_waits(Reader *reader)
{
	bool has_room;

	reader_lock(reader);
	has_room = reader->queue_bytes < WAITS_BYTES;
	if (!has_room)
		pthread_cond_signal(&reader->queued);
	reader_unlock(reader);
	return has_room;
}

void
reader_queue_wait(void *context, const void *record, size_t length_bytes)
{
	const struct timespec pause = { 0, HOLD_BACK_NS };
	Reader *reader = context;
	bool has_room = has_room_for_waits(reader);

	/*
	 * After one long wait, further records are queued at once until the walker has caught up: this
	 * thread must not be held up again and again.
	 */
	for (int i = 0; !has_room && i < HOLD_BACK_TIMES && !reader->waits_overtook; i++)
	{
		(void) nanosleep(&pause, NULL);
		has_room = has_room_for_waits(reader);
	}
	reader->waits_overtook = !has_room;
	reader_queue_record(reader, record, length_bytes);
}

/* Returns how long records may stay in the ring. running_ns is the time since the start. */
static int
patience_ms(uint64_t running_ns, bool sampled)
{
	if (running_ns >= FIRST_NS)
		return POLL_MS;
	return sampled || running_ns >= READER_BEGIN_NS ? POLL_FIRST_MS : POLL_BEGIN_MS;
}

void *
reader_ring_run(void *argument)
{
	Reader *reader = argument;
	uint64_t began_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t followed_ns = 0;
	uint64_t running_ns = 0;
	bool sampled = false;
	bool stopping;
	bool queued;
	int result;

	reader_go_first();
	do
	{
		heartbeat_work(&reader->ring_heartbeat);
		stopping = atomic_load(&reader->stopping);
		/*
		 * Drain the side-band after every poll: when many threads start and end, its buffers fill
		 * faster than its timer empties them.
		 */
		if (!stopping)
			past_images_wait(reader->past, sampler_descriptor(reader->sampler),
							 patience_ms(running_ns, sampled));
		/*
		 * Read the ring once more after stopping was set: the loop ends only when a poll found it
		 * empty.
		 */
		result = sampler_poll(reader->sampler, 0);
		if (result < 0)
			log_event(LOG_WARNING, "reader", "could not read the ring buffer",
					  log_text("detail", strerror(-result)));
		reader_lock(reader);
		running_ns = reader->now_ns - began_ns;
		past_images_update(reader->past);
		if (reader->now_ns - followed_ns >= FOLLOW_CPUS_NS)
		{
			past_images_follow_cpus(reader->past);
			followed_ns = reader->now_ns;
		}
		losses_add(reader->losses, LOSS_SIDEBAND_FULL, past_images_take_lost(reader->past));
		losses_add(reader->losses, LOSS_SIDEBAND_GAP, past_images_take_gaps(reader->past));
		atomic_store(&reader->kernel_changes, past_images_kernel_changes(reader->past));
		losses_add(reader->losses, LOSS_PAST_FULL, past_images_take_pushed_out(reader->past));
		queued = reader->queue != NULL;
		sampled |= queued;
		reader_unlock(reader);
		/*
		 * Wake the walker once for all records, after the lock is released. If each record woke it,
		 * it would wait for the lock each time.
		 */
		if (queued)
			pthread_cond_signal(&reader->queued);
	} while (!stopping || result > 0);
	reader_lock(reader);
	reader->queue_complete = true;
	pthread_cond_signal(&reader->queued);
	reader_unlock(reader);
	return NULL;
}
