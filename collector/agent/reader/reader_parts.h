/*
 * reader_parts.h
 *		The internal state of the reader. Included only by reader.c, reader_threads.c, ring, walker,
 *		sample_builder, amount, gpu_join.
 */
#ifndef COLLECTOR_READER_PARTS_H
#define COLLECTOR_READER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/reader/gpu_programs.h"
#include "agent/reader/heartbeat.h"
#include "agent/reader/interval.h"
#include "agent/reader/reader_options.h"
#include "agent/reader/record.h"
#include "agent/reader/unwind_tables.h"
#include "batch/losses.h"
#include "code/user_frame.h"
#include "kernel/sampler.h"
#include "labels/labeller.h"
#include "process/mapped_file.h"
#include "process/prober.h"
#include "process/process.h"

/* The additional frame stands for frames that were cut out, or for a process that ended. */
#define MAX_FRAMES (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES + 1)

/* A record that was taken out of the ring and waits to be handled. */
typedef struct QueuedRecord
{
	struct QueuedRecord *next;
	uint64_t table; /* number of the unwind table that the walk waits for */
	size_t length_bytes;
	Record record;	  /* points into bytes */
	uint64_t bytes[]; /* the record, of any length; uint64_t for alignment */
} QueuedRecord;

struct Reader
{
	ReaderOptions options;
	MappedFileTable *files;
	Losses *losses;
	Sampler *sampler;
	/* Used by the walker thread; NULL: stacks are stored as the kernel walked them. */
	UnwindTables *unwind;
	pthread_t ring_thread;
	pthread_t walker_thread;
	bool started;
	atomic_bool stopping;
	atomic_bool refusing;
	atomic_bool shrinking;
	atomic_bool resting; /* the agent uses more CPU time than --max-cpu allows */
	_Atomic uint64_t kernel_changes;
	Heartbeat ring_heartbeat;
	Heartbeat walker_heartbeat;
	/* walker thread: records that wait for unwind tables, in any order */
	QueuedRecord *parked;
	/* walker thread: a walk waits for a missing table, or ended early because of one */
	bool tables_wanted;

	Prober *amounts_prober; /* thread that adds amounts */
	/*
	 * thread that queues waits: the queue was full for a second, so waits are queued without a
	 * pause
	 */
	bool waits_overtook;
	/* Flusher thread: number of refused names that was already added to the losses. */
	uint64_t names_refused;
	RuntimesStats runtimes; /* flusher thread: counts that were already added to the losses */
	uint64_t mappings_cut;	/* count that was already added to the losses; with the lock */
	uint64_t groups_relative;
	uint64_t files_refused;

	pthread_mutex_t mutex; /* guards all fields below */
	pthread_cond_t queued;
	pthread_cond_t read; /* signalled when a thread has read a process */
	QueuedRecord *queue; /* oldest first */
	QueuedRecord **queue_end;
	size_t queue_bytes;	 /* bytes of queued and parked records */
	bool queue_complete; /* the ring is empty, and no record will be added to it */
	Interval *interval;	 /* NULL if out of memory */
	uint64_t intervals;	 /* number of intervals taken before this one */
	PastImages *past;
	ProcessTable *processes;
	Labeller *labeller;
	/* accounts that are charged for the symbols of the current sample */
	uint64_t owners;
	GpuPrograms gpu; /* programs that have loaded the GPU library */
	ReaderGpuStats gpu_stats;
	uint64_t gpu_looked_ns;		/* when windows were last looked at */
	uint64_t dropped;			/* records of processes that must not be sampled */
	uint64_t now_ns;			/* CLOCK_MONOTONIC when the lock was taken */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	/*
	 * Words of frames: first those that the kernel found, then those of a walk that continues it.
	 */
	uint64_t user_frames[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES];
	/* indexed like user_frames; 0: unknown */
	uint64_t frame_ends[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES];
	uint64_t chain_words[PFS_CHAIN_KEPT_WORDS];
	MergedStack merged;
	Frame frames[MAX_FRAMES];
};

/* The user side of a record after its walk. The frames themselves are in the Reader. */
typedef struct UserWalk
{
	uint32_t count;	 /* number of words in user_frames */
	uint32_t cut;	 /* number of frames that were cut out */
	uint32_t cut_at; /* index of the word before which the cut frames are missing */
	/* index from which on frames were walked by unwind rules in this process, not by the kernel */
	uint32_t late_from;
	uint8_t status; /* enum pfs_walk_status */
} UserWalk;

/*
 * Takes the lock and reads the clocks. Functions of the process table release the lock while they
 * wait for the kernel or a file system.
 */
void reader_lock(Reader *reader);
void reader_unlock(Reader *reader);

/*
 * Raises the priority of the calling thread, unless its priority is higher already, and lets it run
 * as soon as it wakes up; threads that it starts do so, too. On a busy machine short-lived
 * processes and functions would otherwise end before they are read.
 */
void reader_go_first(void);

/*
 * Removes the oldest record from the queue and returns it; NULL if the queue is empty. The caller
 * must hold the lock. Its bytes count as queued until it is freed.
 */
QueuedRecord *reader_take_queued(Reader *reader);

#endif
