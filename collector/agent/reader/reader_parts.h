/*
 * reader_parts.h
 *		The inside of the reader, for its own files only: reader.c, reader_threads.c, ring,
 *		walker, sample_builder.
 */
#ifndef COLLECTOR_READER_PARTS_H
#define COLLECTOR_READER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* one more frame stands for frames that were cut out, or for a process that ended */
#define MAX_FRAMES (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES + 1)

/* A record that was read out of the ring and waits to be handled. */
typedef struct QueuedRecord
{
	struct QueuedRecord *next;
	uint64_t table; /* number of the unwind table that the walk waits for */
	size_t length_bytes;
	Record record;	  /* points into bytes */
	uint64_t bytes[]; /* aligned; any length */
} QueuedRecord;

struct Reader
{
	ReaderOptions options;
	MappedFileTable *files;
	Losses *losses;
	Sampler *sampler;
	/* used by the walker thread; NULL: stacks are taken as the kernel walked them */
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
	/* walker thread: records that wait for unwind tables, in no order */
	QueuedRecord *parked;
	bool tables_wanted; /* walker thread: a walk waits for a missing table or was cut short by it */

	Prober *amounts_prober; /* thread that adds amounts */
	bool waits_overtook;	/* thread that queues waits: the queue was full of waits for a second */
	/* flusher thread: count of refused names that is among the losses already */
	uint64_t names_refused;
	RuntimesStats runtimes; /* flusher thread: counts that are among the losses already */
	uint64_t mappings_cut;	/* with the lock: count that is among the losses already */
	uint64_t groups_relative;
	uint64_t files_refused;

	pthread_mutex_t mutex; /* guards all fields below */
	pthread_cond_t queued;
	pthread_cond_t read; /* signalled when a thread has read a process */
	QueuedRecord *queue; /* oldest first */
	QueuedRecord **queue_end;
	size_t queue_bytes;	 /* bytes of queued and parked records */
	bool queue_complete; /* the ring is empty and stays empty */
	Interval *interval;	 /* NULL if out of memory */
	uint64_t intervals;	 /* number of intervals taken before this one */
	PastImages *past;
	ProcessTable *processes;
	Labeller *labeller;
	uint64_t owners;			/* accounts that pay for the symbols of the current sample */
	uint64_t dropped;			/* records of processes that must not be sampled */
	uint64_t now_ns;			/* CLOCK_MONOTONIC when the lock was taken */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	/* words of frames: those of the kernel, then those of a late walk */
	uint64_t user_frames[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES];
	uint64_t frame_ends[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES]; /* by frame; 0: unknown */
	uint64_t chain_words[PFS_CHAIN_KEPT_WORDS];
	MergedStack merged;
	Frame frames[MAX_FRAMES];
};

/* The user side of a record as walked; its frames are the reader's. */
typedef struct UserWalk
{
	uint32_t count;		/* words */
	uint32_t cut;		/* number of frames that were cut out */
	uint32_t cut_at;	/* word before which the cut frames are missing */
	uint32_t late_from; /* frames from this one on were walked by us with unwind rules */
	uint8_t status;		/* enum pfs_walk_status */
} UserWalk;

/*
 * Takes the lock and reads the clocks. Functions of the process table release the lock while they
 * wait for the kernel or a file system.
 */
void reader_lock(Reader *reader);
void reader_unlock(Reader *reader);

/*
 * Raises the priority of the calling thread, unless it has a higher one. Under full load a
 * short-lived process would otherwise end before it is read.
 */
void reader_go_first(void);

/*
 * With the lock. Returns the oldest record of the queue, or NULL. Its bytes count as queued until
 * it is freed.
 */
QueuedRecord *reader_take_queued(Reader *reader);

#endif
