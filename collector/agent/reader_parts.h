/*
 * reader_parts.h
 *		The inside of the reader, for its files alone: reader.c, reader_threads.c, ring, walker,
 *		sample_builder.
 */
#ifndef COLLECTOR_READER_PARTS_H
#define COLLECTOR_READER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/heartbeat.h"
#include "agent/interval.h"
#include "agent/reader_options.h"
#include "agent/record.h"
#include "agent/unwind_tables.h"
#include "batch/losses.h"
#include "code/user_frame.h"
#include "kernel/sampler.h"
#include "labels/labeller.h"
#include "process/mapped_file.h"
#include "process/process.h"

/* one may stand for those that were cut out, or for a process that is gone */
#define MAX_FRAMES (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES + 1)

/* A record that was read out of the ring and waits to be handled. */
typedef struct QueuedRecord
{
	struct QueuedRecord *next;
	uint64_t table; /* that its walk waits for */
	size_t length_bytes;
	uint64_t bytes[]; /* of any size; aligned */
} QueuedRecord;

struct Reader
{
	ReaderOptions options;
	MappedFileTable *files;
	Losses *losses;
	Sampler *sampler;
	UnwindTables *unwind; /* of the walker thread; NULL: stacks are taken as they come */
	pthread_t ring_thread;
	pthread_t walker_thread;
	bool started;
	atomic_bool stopping;
	atomic_bool refusing;
	atomic_bool shrinking;
	atomic_bool resting; /* the agent takes more CPU time than it may */
	_Atomic uint64_t kernel_changes;
	Heartbeat ring_heartbeat;
	Heartbeat walker_heartbeat;
	/* of the walker thread: records that wait for unwind tables, in any order */
	QueuedRecord *parked;
	bool tables_wanted; /* likewise: some walk waits, or was cut short, for want of a table */

	bool waits_overtook;	/* of whoever queues waits: the queue was full of them for a second */
	uint64_t names_refused; /* of the flusher thread: as far as they were told as losses */
	RuntimesStats runtimes; /* likewise */
	uint64_t mappings_cut;	/* likewise, with the lock */
	uint64_t groups_relative;
	uint64_t files_refused;

	pthread_mutex_t mutex; /* guards all that follows */
	pthread_cond_t queued;
	pthread_cond_t read; /* a thread has read a process */
	QueuedRecord *queue; /* oldest first */
	QueuedRecord **queue_end;
	size_t queue_bytes;	 /* and of those parked */
	bool queue_complete; /* the ring is empty, and stays so */
	Interval *interval;	 /* NULL without memory */
	uint64_t intervals;	 /* that were taken before it */
	PastImages *past;
	ProcessTable *processes;
	Labeller *labeller;
	uint64_t owners;			/* who pays for the symbols of the sample at hand */
	uint64_t dropped;			/* records of processes that are not to be sampled */
	uint64_t now_ns;			/* CLOCK_MONOTONIC, when the lock was taken */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	/* words of frames: kept ones, and a late walk's */
	uint64_t user_frames[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES];
	uint64_t frame_ends[PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES]; /* 0: not known */
	uint64_t chain_words[PFS_CHAIN_KEPT_WORDS];
	MergedStack merged;
	Frame frames[MAX_FRAMES];
};

/* The user side of a record as walked; its frames are the reader's. */
typedef struct UserWalk
{
	uint32_t count;		/* words */
	uint32_t cut;		/* frames that are missing … */
	uint32_t cut_at;	/* … before the word of this number */
	uint32_t late_from; /* those from here on went by our rules */
	uint8_t status;		/* enum pfs_walk_status */
} UserWalk;

/*
 * The lock, which also looks at the clocks. Functions of the process table give it back
 * while they wait for the kernel or a file system.
 */
void reader_lock(Reader *reader);
void reader_unlock(Reader *reader);

/*
 * The calling thread goes first. Under full load a short-lived process would else be gone before
 * we look. Who was started with more keeps it.
 */
void reader_go_first(void);

/*
 * With the lock. Returns the oldest record of the queue, or NULL; its bytes count until it is
 * freed.
 */
QueuedRecord *reader_take_queued(Reader *reader);

#endif
