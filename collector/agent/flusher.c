/*
 * flusher.c
 *		Flushes on request, in slices; opens binaries in between.
 *
 * The thread's turns:
 *
 * 1. Wait for a request, or until binaries are to be opened.
 * 2. If nothing is due, open the binaries of files that were sampled, and ask for names that are
 *    owed (late_names), for a slice of time; self-restraint makes pauses in between.
 * 3. Take the reader's interval when a flush was asked for, and resolve it into a batch for a slice
 *    of time. What is left of it is the next turn's. Names are waited for until HOLD_NS have
 *    passed; what has none by then goes out by binary and address.
 * 4. Give caches back when asked to; sweep files and trim the heap from time to time.
 *
 * When it is told to stop it finishes this interval and the next, without symbols once time is out.
 */
#include "agent/flusher.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/file_binary.h"
#include "agent/heartbeat.h"
#include "agent/minute.h"
#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"

#define OPEN_BINARIES_NS NS_PER_S		   /* so that their symbols are there when a flush is due */
#define OPEN_FIRST_NS	 (100 * NS_PER_MS) /* until something is stored: the first flush is near */
#define SWEEP_NS		 (10 * NS_PER_S)   /* of files that nobody refers to any more */
#define TRIM_NS			 (60 * NS_PER_S)
#define UNWIND_COUNTS_NS (60 * NS_PER_S)
#define SLICE_NS		 (500 * NS_PER_MS) /* of symbolizing before what is done is stored */
#define FIRST_SLICE_NS	 (100 * NS_PER_MS) /* until something is stored: to see that all works */
#define HOLD_NS			 (4 * NS_PER_S)	   /* that an interval waits for names at most */
#define REST_NS			 (5 * NS_PER_S)	   /* between slices, if the collector is to take less */
#define LATE_PAUSE_NS	 NS_PER_S		   /* before late names are asked for again in vain */
#define BATCH_BYTES		 ((size_t) 64 * 1024 * 1024)

struct Flusher
{
	FlusherParts parts;
	ResolveStats stats;	 /* this and what follows: of the thread */
	Interval *interval;	 /* in work, or NULL */
	uint32_t next_stack; /* of it */
	/* then it goes out, with the names that are there; 0: there is none. Other threads read it. */
	_Atomic int64_t hold_until_ns;
	uint32_t round; /* number of the interval, from 1 on */
	bool finishing; /* nothing comes after it: all that can be known is asked for */
	LateNames *late;
	SymbolizerStats reported; /* what of the symbolizer's counts is among the losses */
	uint64_t late_dropped;	  /* likewise */
	uint64_t kernel_changes;  /* that the symbolizer was told of */
	UnwindCounts unwind_counts;
	Minute minute;
	int64_t sweep_ns; /* when it is due, as all that follows */
	int64_t trim_ns;
	int64_t unwind_counts_ns;
	int64_t late_ns;	   /* the next slice of late names */
	atomic_bool submitted; /* some batch */
	pthread_t thread;
	bool started;
	Heartbeat heartbeat;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wakeup;
	bool requested;
	bool stopping;
	bool resting;
	bool shrinking;
	int64_t deadline_ns; /* of the last flush, CLOCK_MONOTONIC */
};

int
flusher_create(const FlusherParts *parts, Flusher **result)
{
	Flusher *flusher = calloc(1, sizeof(*flusher));
	pthread_condattr_t attributes;

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
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&flusher->wakeup, &attributes);
	pthread_condattr_destroy(&attributes);
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

/* Counts what the symbolizer and the list of late names gave up since they were last asked. */
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
 * Puts what was lost since the last flush into the batch; marks what is stored all the same. Lost
 * samples are in the log at once, and the others once a minute.
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

/* Without memory the rest of the interval is lost. */
static void
give_up_interval(Flusher *flusher)
{
	losses_add(flusher->parts.losses, LOSS_BATCH_FULL,
			   interval_sample_count(flusher->interval, flusher->next_stack));
	end_interval(flusher);
}

/* Modules, BPF programs and trampolines come and go, and their addresses are used again. */
static void
follow_kernel_code(Flusher *flusher)
{
	uint64_t changes = reader_kernel_changes(flusher->parts.reader);

	if (changes != flusher->kernel_changes)
		kernel_symbols_outdate(flusher->parts.symbolizer);
	flusher->kernel_changes = changes;
	kernel_symbols_follow_modules(flusher->parts.symbolizer);
}

/*
 * Adds to the batch what can be symbolized until the deadline; everything that does not fit is
 * counted.
 */
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

/* Once a minute: each executable is a row that the database has to find and change. */
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

/* Gives a batch to the writer, if there is anything in it. */
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
 * Works at the interval for a while; what is done goes to the writer, so that no sample waits for
 * all others' symbols.
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

/* Asks for names that are owed until the deadline. Returns false if there was no answer to any. */
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

/* What was counted since the last report. */
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
 * Finishes what is under way and what was sampled since, then what is owed of names; addresses
 * alone are stored when time is out.
 */
static void
finish(Flusher *flusher)
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

/* What a turn of the thread has to do. */
typedef struct Turn
{
	bool stop;
	bool shrink;
	bool flush; /* an interval is in work, or was asked for */
	bool rest;	/* nobody is asked for names but in slices of their own */
} Turn;

/* When names that are owed are asked for, if nothing else is due; -1: none are. */
static int64_t
late_names_due_ns(const Flusher *flusher)
{
	return late_names_count(flusher->late) > 0 ? flusher->late_ns : -1;
}

/* Waits for a request, until binaries are to be opened or names asked for; not at all for work. */
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
	/* a request that comes while an interval is in work is for the one after it */
	if (turn.flush && flusher->interval == NULL)
		flusher->requested = false;
	pthread_mutex_unlock(&flusher->mutex);
	return turn;
}

/* What is due beside flushes: opens binaries, asks for names that are owed. */
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

/* Gives back what can be had again. */
static void
shrink_caches(Flusher *flusher)
{
	symbolizer_shrink(flusher->parts.symbolizer);
	mapped_file_table_sweep(flusher->parts.files);
	malloc_trim(0);
}

static void *
flusher_run(void *argument)
{
	Flusher *flusher = argument;
	Turn turn;

	/* while the BPF program is loaded, so that the first flush need not wait for either */
	symbolizer_start_worker(flusher->parts.symbolizer);
	(void) kallsyms_readable(flusher->parts.symbolizer);
	while (turn = wait_for_turn(flusher), !turn.stop)
	{
		int64_t now_ns;

		heartbeat_work(&flusher->heartbeat);
		/* if a flush is due it opens what it needs */
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
			malloc_trim(0); /* what a burst of samples took goes back */
			flusher->trim_ns = now_ns + TRIM_NS;
		}
		heartbeat_wait(&flusher->heartbeat);
	}
	finish(flusher);
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
