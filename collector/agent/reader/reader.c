/*
 * reader.c
 *		State shared by both threads of the reader, and the lock that guards it.
 */
#include "agent/reader/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/reader/reader_parts.h"
#include "base/clock.h"
#include "base/short_turns.h"

#define PAST_PROCESSES	2048
#define RING_NICE_LEVEL (-10)

static void
look_at_clocks(Reader *reader)
{
	int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t real_ns = clock_ns(CLOCK_REALTIME);
	int64_t after_ns = clock_ns(CLOCK_MONOTONIC);

	reader->now_ns = (uint64_t) after_ns;
	reader->realtime_offset_ns =
		clock_offset_ns(reader->realtime_offset_ns, before_ns, real_ns, after_ns);
}

static void
unlock_for_wait(void *reader)
{
	reader_unlock(reader);
}

static void
lock_after_wait(void *reader)
{
	reader_lock(reader);
}

static void
wait_for_reading(void *context)
{
	Reader *reader = context;

	pthread_cond_wait(&reader->read, &reader->mutex);
	/* The wait may have been long, and callers compare times with now_ns. */
	look_at_clocks(reader);
}

static void
wake_after_reading(void *context)
{
	pthread_cond_broadcast(&((Reader *) context)->read);
}

int
reader_create(const ReaderOptions *options, MappedFileTable *files, Losses *losses, Reader **result)
{
	Reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return -ENOMEM;
	reader->options = *options;
	reader->files = files;
	reader->losses = losses;
	reader->queue_end = &reader->queue;
	reader->gpu.files = files;
	pthread_mutex_init(&reader->mutex, NULL);
	clock_condition_init(&reader->queued);
	pthread_cond_init(&reader->read, NULL);
	if (past_images_create(PAST_PROCESSES, options->past_bytes, &reader->past) != 0 ||
		prober_create(&reader->amounts_prober) != 0 ||
		process_table_create(files, options->process_limit, &reader->processes) != 0 ||
		labeller_create(&options->labels, &reader->labeller) != 0 ||
		interval_create(files, options->interval_bytes, &reader->interval) != 0)
	{
		reader_free(reader);
		return -ENOMEM;
	}
	process_table_use_hierarchy(reader->processes, options->cgroup_hierarchy);
	/* The process table releases the lock while it waits for the kernel or a file system. */
	process_table_use_lock(reader->processes, &(ProcessLock){ .unlock = unlock_for_wait,
															  .lock = lock_after_wait,
															  .wait = wait_for_reading,
															  .wake = wake_after_reading,
															  .context = reader });
	process_table_limit_mappings(reader->processes, options->mapping_bytes);
	*result = reader;
	return 0;
}

QueuedRecord *
reader_take_queued(Reader *reader)
{
	QueuedRecord *record = reader->queue;

	if (record == NULL)
		return NULL;
	reader->queue = record->next;
	if (reader->queue == NULL)
		reader->queue_end = &reader->queue;
	return record;
}

void
reader_free(Reader *reader)
{
	if (reader == NULL)
		return;
	while (reader->queue != NULL)
		free(reader_take_queued(reader));
	while (reader->parked != NULL)
	{
		QueuedRecord *record = reader->parked;

		reader->parked = record->next;
		free(record);
	}
	gpu_programs_fini(&reader->gpu);
	prober_free(reader->amounts_prober);
	process_table_free(reader->processes);
	past_images_free(reader->past);
	unwind_tables_free(reader->unwind);
	interval_free(reader->interval);
	labeller_free(reader->labeller);
	pthread_cond_destroy(&reader->queued);
	pthread_cond_destroy(&reader->read);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
}

void
reader_lock(Reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	look_at_clocks(reader);
}

void
reader_unlock(Reader *reader)
{
	pthread_mutex_unlock(&reader->mutex);
}

void
reader_go_first(void)
{
	if (getpriority(PRIO_PROCESS, 0) > RING_NICE_LEVEL)
		(void) setpriority(PRIO_PROCESS, 0, RING_NICE_LEVEL);
	short_turns_take();
}

int
reader_use_tables(Reader *reader, KernelTables *tables)
{
	int result =
		unwind_tables_create(reader->files, tables, reader->options.table_cache, &reader->unwind);

	if (result != 0)
		return result;
	unwind_tables_limit(reader->unwind, reader->options.memory_bytes, reader->options.cpu_percent);
	/*
	 * Finding the places of thread labels reads files, so it is done only if labels are requested.
	 */
	if (reader->options.custom.count > 0)
		unwind_tables_find_labels(reader->unwind);
	if (reader->options.runtimes != NULL)
	{
		runtimes_use_tables(reader->options.runtimes, tables);
		unwind_tables_use_runtimes(reader->unwind, reader->options.runtimes);
	}
	return 0;
}

void
reader_refuse(Reader *reader, bool refuse)
{
	atomic_store(&reader->refusing, refuse);
}

void
reader_shrink(Reader *reader)
{
	atomic_store(&reader->shrinking, true);
}

void
reader_rest(Reader *reader, bool rest)
{
	atomic_store(&reader->resting, rest);
}

uint64_t
reader_kernel_changes(Reader *reader)
{
	return atomic_load(&reader->kernel_changes);
}

/* Adds to the losses the names that the table of code objects has refused since the last call. */
static void
count_refused_names(Reader *reader)
{
	CodeTableStats stats;

	if (reader->options.namer.table == NULL)
		return;
	code_table_stats(reader->options.namer.table, &stats);
	losses_add(reader->losses, LOSS_CODE_FULL, stats.refused - reader->names_refused);
	reader->names_refused = stats.refused;
}

/* Adds to the losses the interpreters' frames that were lost since the last call. */
static void
count_interpreted(Reader *reader)
{
	RuntimesStats stats;

	if (reader->options.runtimes == NULL)
		return;
	runtimes_stats(reader->options.runtimes, &stats);
	/* The statistics count from the start, the losses take differences. */
	losses_add(reader->losses, LOSS_RUNTIME_UNKNOWN, stats.unknown - reader->runtimes.unknown);
	losses_add(reader->losses, LOSS_RUNTIME_UNPLACED, stats.unplaced - reader->runtimes.unplaced);
	losses_add(reader->losses, LOSS_CHAIN_UNMATCHED, stats.unmatched - reader->runtimes.unmatched);
	losses_add(reader->losses, LOSS_CODE_STALE, stats.stale - reader->runtimes.stale);
	losses_add(reader->losses, LOSS_CODE_PUT_OFF, stats.put_off - reader->runtimes.put_off);
	reader->runtimes = stats;
}

/*
 * Adds to the losses the additions that tables have refused since the last call. Call with the
 * lock.
 */
static void
count_refusals(Reader *reader)
{
	ProcessTableStats processes;
	MappedFileStats files;
	uint64_t files_refused;

	process_table_stats(reader->processes, &processes);
	mapped_file_table_stats(reader->files, &files);
	files_refused = files.refused + processes.files_refused;
	losses_add(reader->losses, LOSS_MAPPINGS_CUT, processes.cut - reader->mappings_cut);
	losses_add(reader->losses, LOSS_FILES_REFUSED, files_refused - reader->files_refused);
	losses_add(reader->losses, LOSS_GROUPS_RELATIVE, processes.relative - reader->groups_relative);
	reader->mappings_cut = processes.cut;
	reader->files_refused = files_refused;
	reader->groups_relative = processes.relative;
}

Interval *
reader_take(Reader *reader)
{
	Interval *fresh = NULL;
	Interval *taken;

	count_refused_names(reader);
	count_interpreted(reader);
	/*
	 * Allocate before taking the lock, for which both threads of the reader would wait. Without
	 * memory, samples are counted as lost until the next call.
	 */
	if (interval_create(reader->files, reader->options.interval_bytes, &fresh) != 0)
		fresh = NULL;
	pthread_mutex_lock(&reader->mutex);
	count_refusals(reader);
	taken = reader->interval;
	reader->interval = fresh;
	/* A thread that has released the lock sees by this number that its items are gone. */
	reader->intervals++;
	pthread_mutex_unlock(&reader->mutex);
	return taken;
}

void
reader_busy_ms(const Reader *reader, int64_t *ring_ms, int64_t *walker_ms)
{
	*ring_ms = heartbeat_busy_ms(&reader->ring_heartbeat);
	*walker_ms = heartbeat_busy_ms(&reader->walker_heartbeat);
}

void
reader_set_window(Reader *reader, int64_t window_us)
{
	pthread_mutex_lock(&reader->mutex);
	reader->options.window_us = window_us;
	pthread_mutex_unlock(&reader->mutex);
}

void
reader_learned_labels(Reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	labeller_learned(reader->labeller);
	process_table_judge_again(reader->processes, UINT64_MAX);
	pthread_mutex_unlock(&reader->mutex);
}

void
reader_use_rule(Reader *reader, LabelRule rule, void *context)
{
	pthread_mutex_lock(&reader->mutex);
	labeller_use_rule(reader->labeller, rule, context);
	if (rule != NULL)
		process_table_want_code(reader->processes);
	/*
	 * The kernel sends no record of a process that the old rules have dropped, so revoke its
	 * verdict.
	 */
	process_table_judge_again(reader->processes, UINT64_MAX);
	pthread_mutex_unlock(&reader->mutex);
}

int
reader_want_environment(Reader *reader, const char *const *names, size_t count)
{
	int result;

	pthread_mutex_lock(&reader->mutex);
	result = process_table_want_environment(reader->processes, names, count);
	pthread_mutex_unlock(&reader->mutex);
	return result;
}

size_t
reader_kernel_bytes(Reader *reader)
{
	size_t bytes;

	pthread_mutex_lock(&reader->mutex);
	bytes = past_images_buffer_bytes(reader->past);
	pthread_mutex_unlock(&reader->mutex);
	return bytes;
}

uint64_t
reader_dropped(const Reader *reader)
{
	return reader->dropped;
}

void
reader_process_stats(const Reader *reader, ProcessTableStats *stats)
{
	process_table_stats(reader->processes, stats);
}

void
reader_gpu_stats(const Reader *reader, ReaderGpuStats *stats)
{
	*stats = reader->gpu_stats;
}

void
reader_unwind_stats(const Reader *reader, UnwinderStats *stats)
{
	unwind_tables_stats(reader->unwind, stats);
}
