/*
 * flusher.c
 *		Flushes on request, in slices; opens binaries in between.
 *
 * A turn of the thread:
 *
 * 1. Wait for a request, or until binaries can be opened.
 * 2. If no flush is due, open the binaries of sampled files and ask for owed names (late_names.h),
 *    for one slice of time. While the agent uses more than --max-cpu, pauses separate the slices.
 * 3. If a flush was requested, take the reader's interval and resolve it into a batch for one slice
 *    of time; the next turn continues with the rest. Names are waited for until HOLD_NS have
 *    passed; then frames without a name are stored by binary and address.
 * 4. Shrink caches when asked to; sweep files and trim the heap from time to time.
 *
 * When the thread is stopped it finishes the current interval and the next one, without symbols
 * after the deadline.
 */
#include "agent/flusher/flusher.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/flusher/file_binary.h"
#include "agent/flusher/minute.h"
#include "agent/reader/heartbeat.h"
#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"

/* pause before binaries are opened, so that their symbols are ready for the next flush */
#define OPEN_BINARIES_NS NS_PER_S
/* like OPEN_BINARIES_NS until the first batch, because the first flush is near */
#define OPEN_FIRST_NS	 (100 * NS_PER_MS)
#define SWEEP_NS		 (10 * NS_PER_S) /* interval of sweeps for unreferenced files */
#define TRIM_NS			 (60 * NS_PER_S)
#define UNWIND_COUNTS_NS (60 * NS_PER_S)
/* Time of symbolization after which the finished stacks are stored. */
#define SLICE_NS		 (500 * NS_PER_MS)
/* like SLICE_NS until the first batch, so that users see soon that samples are stored */
#define FIRST_SLICE_NS	 (100 * NS_PER_MS)
#define HOLD_NS			 (4 * NS_PER_S) /* longest time that an interval waits for names */
/* pause between slices while the agent must use less CPU time */
#define REST_NS			 (5 * NS_PER_S)
#define LATE_PAUSE_NS	 NS_PER_S /* pause after a slice of late names without an answer */
#define BATCH_BYTES		 ((size_t) 64 * 1024 * 1024)

struct Flusher
{
	FlusherParts parts;
	ResolveStats stats;	 /* this field and those up to the mutex belong to the flusher thread */
	Interval *interval;	 /* being resolved, or NULL */
	uint32_t next_stack; /* index in the interval of the first stack that is not in a batch yet */
	/*
	 * Time at which the interval is stored with the names that are known; 0: there is no interval.
	 * Other threads read this field.
	 */
	_Atomic int64_t hold_until_ns;
	uint32_t round; /* number of the interval, from 1 */
	bool finishing; /* this is the last flush, so all names that can be found are asked for */
	LateNames *late;
	SymbolizerStats reported; /* counts of the symbolizer that are among the losses already */
	uint64_t late_dropped;	  /* count of late names that is among the losses already */
	/* the last count of kernel_changes that the symbolizer was notified of */
	uint64_t kernel_changes;
	UnwindCounts unwind_counts;
	Minute minute;
	int64_t sweep_ns; /* time of the next sweep; the fields below are times, too */
	int64_t trim_ns;
	int64_t unwind_counts_ns;
	int64_t late_ns;	   /* time of the next slice of late names */
	atomic_bool submitted; /* a batch was given to the writer */
	pthread_t thread;
	bool started;
	Heartbeat heartbeat;
	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t wakeup;
	bool requested;
	bool stopping;
	bool resting;
	bool shrinking;
	int64_t deadline_ns; /* deadline of the last flush, CLOCK_MONOTONIC */
};

int
flusher_create(const FlusherParts *parts, Flusher **result)
{
	Flusher *flusher = calloc(1, sizeof(*flusher));

	if (flusher == NULL)
		return -ENOMEM;
	if (late_names_create(parts->files, &flusher->late) != 0)
	{
		free(flusher);
		return -ENOMEM;
	}
	flusher->parts = *parts;
	unwind_counts_init(&flusher->unwind_counts);
	pthread_mutex_init(&flusher->mutex, NULL);
	clock_condition_init(&flusher->wakeup);
	*result = flusher;
	return 0;
}

void
flusher_free(Flusher *flusher)
{
	if (flusher == NULL)
		return;
	interval_free(flusher->interval);
	late_names_free(flusher->late);
	unwind_counts_fini(&flusher->unwind_counts);
	pthread_cond_destroy(&flusher->wakeup);
	pthread_mutex_destroy(&flusher->mutex);
	free(flusher);
}

/*
 * Adds to the losses the names that the symbolizer and the list of late names have given up since
 * the last call.
 */
static void
note_symbol_losses(Flusher *flusher)
{
	Losses *losses = flusher->parts.losses;
	uint64_t dropped = late_names_dropped(flusher->late);
	SymbolizerStats stats;

	symbolizer_stats(flusher->parts.symbolizer, &stats);
	losses_add(losses, LOSS_SYMBOL_WORKER_FAILED,
			   stats.worker_failures - flusher->reported.worker_failures);
	losses_add(losses, LOSS_DEBUG_INFO_LEFT_OUT,
			   stats.debug_info_left_out - flusher->reported.debug_info_left_out);
	losses_add(losses, LOSS_SYMBOL_WORKER_UNAVAILABLE,
			   stats.worker_unavailable - flusher->reported.worker_unavailable);
	losses_add(losses, LOSS_SYMBOL_TABLE_DAMAGED,
			   stats.tables_damaged - flusher->reported.tables_damaged);
	losses_add(losses, LOSS_NAMES_DROPPED, dropped - flusher->late_dropped);
	flusher->reported = stats;
	flusher->late_dropped = dropped;
}

/*
 * Moves the losses since the last flush into the batch, and marks samples that are stored in part.
 * Lost samples are logged at once, other losses once a minute.
 */
static void
report_losses(Flusher *flusher, Batch *batch)
{
	note_symbol_losses(flusher);
	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
	{
		uint64_t count = losses_take(flusher->parts.losses, loss);
		const LossFacts *facts = loss_facts(loss);
		bool is_lost = facts->kind == LOSS_LOST;
		char reason[64];

		if (count == 0)
			continue;
		snprintf(reason, sizeof(reason), "%s%s", is_lost ? "" : "incomplete.", facts->reason);
		if (is_lost)
			log_event(LOG_WARNING, "agent", "samples were lost", log_text("reason", facts->reason),
					  log_number("count", (int64_t) count), log_text("meaning", facts->meaning));
		else
			flusher->minute.losses[loss] += count;
		if (batch_add_loss(batch, reason, count) != 0)
			log_event(LOG_WARNING, "agent", "could not add a loss to its batch",
					  log_text("reason", facts->reason));
	}
}

static void
take_interval(Flusher *flusher)
{
	flusher->interval = reader_take(flusher->parts.reader);
	flusher->next_stack = 0;
	flusher->round +=
		flusher->interval != NULL && interval_stack_count(flusher->interval) > 0 ? 1 : 0;
	flusher->hold_until_ns = flusher->interval != NULL ? clock_ns(CLOCK_MONOTONIC) + HOLD_NS : 0;
}

static void
end_interval(Flusher *flusher)
{
	interval_free(flusher->interval);
	flusher->interval = NULL;
	flusher->hold_until_ns = 0;
}

/* Drops the rest of the interval, after an allocation failed, and counts it as lost. */
static void
give_up_interval(Flusher *flusher)
{
	losses_add(flusher->parts.losses, LOSS_BATCH_FULL,
			   interval_sample_count(flusher->interval, flusher->next_stack));
	end_interval(flusher);
}

/*
 * Notifies the symbolizer of changes of kernel code, because new modules, BPF programs and
 * trampolines may reuse addresses.
 */
static void
follow_kernel_code(Flusher *flusher)
{
	uint64_t changes = reader_kernel_changes(flusher->parts.reader);

	if (changes != flusher->kernel_changes)
		kernel_symbols_outdate(flusher->parts.symbolizer);
	flusher->kernel_changes = changes;
	kernel_symbols_follow_modules(flusher->parts.symbolizer);
}

/* Resolves stacks into the batch until the deadline, and counts those that do not fit. */
static void
fill_batch(Flusher *flusher, Batch *batch, int64_t deadline_ns, bool addresses_only)
{
	ResolveContext context = {
		.files = flusher->parts.files,
		.symbolizer = flusher->parts.symbolizer,
		.unwind_counts = &flusher->unwind_counts,
		.late = flusher->late,
		.round = flusher->finishing ? 0 : flusher->round,
		.deadline_ns = deadline_ns,
		.addresses_only = addresses_only,
		.one_at_least = !flusher->submitted,
	};
	ResolveStats stats = { 0 };
	Losses *losses = flusher->parts.losses;

	follow_kernel_code(flusher);
	if (resolve_interval(&context, flusher->interval, &flusher->next_stack, batch, &stats) != 0)
		give_up_interval(flusher);
	losses_add(losses, LOSS_BATCH_FULL, stats.samples_failed);
	losses_add(losses, LOSS_TRACES_NOT_KEPT, stats.traces_failed);
	losses_add(losses, LOSS_SYMBOLS_LATE, stats.addresses_only);
#define ADD_WALK_LOSS(identifier, name, meaning) \
	losses_add(losses, LOSS_WALK_##identifier, stats.incomplete[PFS_WALK_##identifier]);
	PFS_WALK_FAILURES(ADD_WALK_LOSS)
#undef ADD_WALK_LOSS
	flusher->stats.samples += stats.samples;
	flusher->stats.samples_failed += stats.samples_failed;
	flusher->stats.user_samples += stats.user_samples;
	flusher->stats.complete += stats.complete;
}

/*
 * Moves the counts of complete stacks into the batch once a minute; a shorter interval would cost
 * the database too many updates, one for each executable.
 */
static void
report_unwind_counts(Flusher *flusher, Batch *batch)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (now_ns < flusher->unwind_counts_ns)
		return;
	unwind_counts_report(&flusher->unwind_counts, batch);
	flusher->unwind_counts_ns = now_ns + UNWIND_COUNTS_NS;
}

static void
report_stored(Flusher *flusher)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	WriterStats writer;

	if (now_ns < flusher->minute.due_ns)
		return;
	writer_stats(flusher->parts.writer, &writer);
	minute_report(&flusher->minute, &(MinuteTotals){ .samples = flusher->stats.samples,
													 .user_samples = flusher->stats.user_samples,
													 .complete = flusher->stats.complete,
													 .rows = writer.samples_written });
	flusher->minute.due_ns = now_ns + MINUTE_NS;
}

/* Gives a batch to the writer unless it is empty. */
static void
submit(Flusher *flusher, Batch *batch)
{
	const BatchSample *samples;
	const BatchLocation *locations;
	const BatchLoss *losses;
	const BatchUnwound *unwound;

	if (batch_samples(batch, &samples) == 0 && batch_losses(batch, &losses) == 0 &&
		batch_locations(batch, &locations) == 0 && batch_unwound(batch, &unwound) == 0)
	{
		batch_free(batch);
		return;
	}
	flusher->submitted = flusher->submitted || batch_samples(batch, &samples) > 0;
	writer_submit_newest(flusher->parts.writer, batch);
}

/*
 * Resolves the interval for one slice of time and submits the finished part, so that samples do not
 * wait for the symbols of all others.
 */
static void
work(Flusher *flusher, int64_t deadline_ns, bool addresses_only)
{
	int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	const BatchSample *samples;
	Batch *batch;

	if (batch_create(BATCH_BYTES, &batch) != 0)
	{
		give_up_interval(flusher);
		return;
	}
	fill_batch(flusher, batch, deadline_ns, addresses_only);
	report_losses(flusher, batch);
	report_unwind_counts(flusher, batch);
	report_stored(flusher);
	log_event(LOG_DEBUG, "agent", "flushed",
			  log_number("rows", (int64_t) batch_samples(batch, &samples)),
			  log_number("bytes", (int64_t) batch_bytes(batch)),
			  log_number("took_ms", (clock_ns(CLOCK_MONOTONIC) - began_ns) / NS_PER_MS));
	submit(flusher, batch);
	if (flusher->interval != NULL && flusher->next_stack == interval_stack_count(flusher->interval))
		end_interval(flusher);
}

/* Asks for owed names until the deadline. Returns false if no name was answered. */
static bool
work_at_late_names(Flusher *flusher, int64_t deadline_ns)
{
	size_t settled;
	Batch *batch;

	if (batch_create(BATCH_BYTES, &batch) != 0)
		return false;
	settled = late_names_resolve(flusher->late, flusher->parts.symbolizer,
								 flusher->finishing ? 0 : flusher->round, deadline_ns, batch);
	submit(flusher, batch);
	return settled > 0;
}

/* Submits all counts since the last report. */
static void
report_last_counts(Flusher *flusher)
{
	Batch *batch;

	if (batch_create(BATCH_BYTES, &batch) != 0)
		return;
	unwind_counts_report(&flusher->unwind_counts, batch);
	report_losses(flusher, batch);
	minute_log_flaws(&flusher->minute, flusher->stats.samples - flusher->minute.reported.samples);
	submit(flusher, batch);
}

/*
 * Finishes the current interval, then the samples since, then owed names. After the deadline only
 * addresses are stored.
 */
static void
flusher_finish(Flusher *flusher)
{
	int64_t deadline_ns = flusher->deadline_ns;

	flusher->finishing = true;
	for (int round = 0; round < 2; round++)
	{
		if (flusher->interval == NULL)
			take_interval(flusher);
		while (flusher->interval != NULL)
			work(flusher, deadline_ns, clock_ns(CLOCK_MONOTONIC) >= deadline_ns);
	}
	while (late_names_count(flusher->late) > 0 && work_at_late_names(flusher, deadline_ns))
		;
	report_last_counts(flusher);
}

/* The tasks of one turn of the thread. */
typedef struct Turn
{
	bool stop;
	bool shrink;
	bool flush; /* a flush was requested, or an interval is being resolved */
	bool rest;	/* the agent uses too much CPU time, so names are asked for in slices with pauses */
} Turn;

/* Returns the time of the next slice of late names if no flush is due; -1 if no names are owed. */
static int64_t
late_names_due_ns(const Flusher *flusher)
{
	return late_names_count(flusher->late) > 0 ? flusher->late_ns : -1;
}

/*
 * Waits for a request, or until binaries can be opened or names asked for. Returns at once while an
 * interval is being resolved.
 */
static Turn
wait_for_turn(Flusher *flusher)
{
	int64_t until_ns =
		clock_ns(CLOCK_MONOTONIC) + (flusher->submitted ? OPEN_BINARIES_NS : OPEN_FIRST_NS);
	int64_t late_ns = late_names_due_ns(flusher);
	struct timespec until;
	Turn turn;

	if (late_ns >= 0 && late_ns < until_ns)
		until_ns = late_ns;
	until = (struct timespec){ until_ns / NS_PER_S, until_ns % NS_PER_S };
	pthread_mutex_lock(&flusher->mutex);
	while (flusher->interval == NULL && !flusher->requested && !flusher->stopping)
	{
		if (pthread_cond_timedwait(&flusher->wakeup, &flusher->mutex, &until) == ETIMEDOUT)
			break;
	}
	turn = (Turn){ flusher->stopping, flusher->shrinking,
				   flusher->interval != NULL || flusher->requested, flusher->resting };
	flusher->shrinking = false;
	/*
	 * A request that arrives while an interval is being resolved stays set for the next interval.
	 */
	if (turn.flush && flusher->interval == NULL)
		flusher->requested = false;
	pthread_mutex_unlock(&flusher->mutex);
	return turn;
}

/* Opens binaries and asks for owed names while no flush is due. */
static void
use_idle_time(Flusher *flusher, bool rest)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t late_ns = late_names_due_ns(flusher);
	bool answered;

	file_binary_open_pending(flusher->parts.files, flusher->parts.symbolizer, now_ns + SLICE_NS);
	if (late_ns < 0 || late_ns > now_ns)
		return;
	answered = work_at_late_names(flusher, now_ns + SLICE_NS);
	now_ns = clock_ns(CLOCK_MONOTONIC);
	flusher->late_ns = now_ns + (rest ? REST_NS : answered ? 0 : LATE_PAUSE_NS);
}

/* Frees memory of caches that can be filled again. */
static void
shrink_caches(Flusher *flusher)
{
	symbolizer_shrink(flusher->parts.symbolizer);
	mapped_file_table_sweep(flusher->parts.files);
	malloc_trim(0);
}

/* Runs the flusher thread. The head of this file describes its turns. */
static void *
flusher_run(void *argument)
{
	Flusher *flusher = argument;
	Turn turn;

	/*
	 * Start the worker and read the kernel's symbols while the BPF program is loaded, so that the
	 * first flush need not wait for either.
	 */
	symbolizer_start_worker(flusher->parts.symbolizer);
	(void) kallsyms_readable(flusher->parts.symbolizer);
	while (turn = wait_for_turn(flusher), !turn.stop)
	{
		int64_t now_ns;

		heartbeat_work(&flusher->heartbeat);
		/* a flush opens only the binaries that it needs */
		if (!turn.flush)
			use_idle_time(flusher, turn.rest);
		if (turn.shrink)
			shrink_caches(flusher);
		if (turn.flush && flusher->interval == NULL)
			take_interval(flusher);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		if (turn.flush && flusher->interval != NULL)
			work(flusher, now_ns + (flusher->submitted ? SLICE_NS : FIRST_SLICE_NS),
				 turn.rest || now_ns >= flusher->hold_until_ns);
		if (now_ns >= flusher->sweep_ns)
		{
			mapped_file_table_sweep(flusher->parts.files);
			flusher->sweep_ns = now_ns + SWEEP_NS;
		}
		if (now_ns >= flusher->trim_ns)
		{
			malloc_trim(0); /* return the memory of a burst of samples */
			flusher->trim_ns = now_ns + TRIM_NS;
		}
		heartbeat_wait(&flusher->heartbeat);
	}
	flusher_finish(flusher);
	return NULL;
}

int
flusher_start(Flusher *flusher)
{
	int result;

	flusher->sweep_ns = clock_ns(CLOCK_MONOTONIC) + SWEEP_NS;
	flusher->trim_ns = clock_ns(CLOCK_MONOTONIC) + TRIM_NS;
	flusher->minute.due_ns = clock_ns(CLOCK_MONOTONIC) + MINUTE_NS;
	result = pthread_create(&flusher->thread, NULL, flusher_run, flusher);
	flusher->started = result == 0;
	return -result;
}

static void
wake(Flusher *flusher, bool stopping)
{
	pthread_mutex_lock(&flusher->mutex);
	flusher->requested = true;
	flusher->stopping = stopping;
	pthread_cond_signal(&flusher->wakeup);
	pthread_mutex_unlock(&flusher->mutex);
}

void
flusher_request(Flusher *flusher)
{
	wake(flusher, false);
}

bool
flusher_has_stored(const Flusher *flusher)
{
	return flusher->submitted;
}

void
flusher_rest(Flusher *flusher, bool rest)
{
	pthread_mutex_lock(&flusher->mutex);
	flusher->resting = rest;
	pthread_mutex_unlock(&flusher->mutex);
}

void
flusher_shrink(Flusher *flusher)
{
	pthread_mutex_lock(&flusher->mutex);
	flusher->shrinking = true;
	pthread_mutex_unlock(&flusher->mutex);
}

void
flusher_stop(Flusher *flusher, int64_t deadline_ns)
{
	if (!flusher->started)
		return;
	pthread_mutex_lock(&flusher->mutex);
	flusher->deadline_ns = deadline_ns;
	pthread_mutex_unlock(&flusher->mutex);
	wake(flusher, true);
	pthread_join(flusher->thread, NULL);
	flusher->started = false;
}

int64_t
flusher_busy_ms(const Flusher *flusher)
{
	return heartbeat_busy_ms(&flusher->heartbeat);
}

int64_t
flusher_held_ms(const Flusher *flusher)
{
	int64_t until_ns = flusher->hold_until_ns;

	return until_ns != 0 ? (clock_ns(CLOCK_MONOTONIC) - until_ns + HOLD_NS) / NS_PER_MS : 0;
}

void
flusher_stats(const Flusher *flusher, ResolveStats *stats)
{
	*stats = flusher->stats;
}
