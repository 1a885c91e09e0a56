/*
 * losses.h
 *		Counts, by reason, everything that is dropped or stored incompletely, from the kernel to the
 *		database.
 *
 * The counts only rise. losses_take() returns the increase since its last call, which is logged
 * and, with the batch, stored in the table profstore.losses. Any thread may add.
 */
#ifndef COLLECTOR_LOSSES_H
#define COLLECTOR_LOSSES_H

#include <stdatomic.h>
#include <stdint.h>

#include "unwind_types.h"

/* How a reason affects samples. */
typedef enum LossKind
{
	LOSS_LOST,	  /* not stored */
	LOSS_PARTIAL, /* stored with some frames missing */
	LOSS_NOTE,	  /* counts something other than samples */
	LOSS_ROWS,	  /* rows of samples that were not stored; the writer reports them itself */
} LossKind;

/*
 * X(identifier, reason, kind, meaning). The reasons of failed walks, LOSS_WALK_*, are derived from
 * PFS_WALK_FAILURES. A counter of the BPF programs that counts a loss has the same identifier as
 * the loss here.
 */
#define LOSS_REASONS(X)                                                                            \
	X(RING_FULL, "ring_full", LOSS_LOST, "the kernel's ring buffer was full")                      \
	X(NO_SCRATCH, "no_scratch", LOSS_LOST,                                                         \
	  "more BPF programs interrupted each other on a CPU than expected")                           \
	X(RECORD_MALFORMED, "record_malformed", LOSS_LOST, "a record of unexpected size")              \
	X(RECORDS_FULL, "records_full", LOSS_LOST, "too many samples waited to be walked")             \
	X(MEMORY_LIMIT, "memory_limit", LOSS_LOST, "the collector had used up --max-memory")           \
	X(INTERVAL_FULL, "interval_full", LOSS_LOST, "the interval had reached its memory limit")      \
	X(VALUE_OVERFLOW, "value_overflow", LOSS_LOST, "the sum of a series exceeded 63 bits")         \
	X(BATCH_FULL, "batch_full", LOSS_LOST, "the batch had reached its memory limit")               \
	X(KERNEL_STACK_FAILED, "kernel_stack_failed", LOSS_PARTIAL, "no kernel frames")                \
	X(STACK_CUT, "stack_cut", LOSS_PARTIAL, "the stack was too deep; its middle was left out")     \
	X(FRAMES_CUT, "frames_cut", LOSS_NOTE, "frames left out of the middle of deep stacks")         \
	X(PROCESS_GONE, "process_gone", LOSS_PARTIAL, "the process ended before it was read")          \
	X(PROCESS_UNREADABLE, "process_unreadable", LOSS_PARTIAL,                                      \
	  "no permission to read the mappings of the process")                                         \
	X(PROCESS_STUCK, "process_stuck", LOSS_PARTIAL, "the kernel did not answer about the process") \
	X(ADDRESS_UNKNOWN, "address_unknown", LOSS_NOTE, "innermost frames outside of known code")     \
	X(CODE_FULL, "code_full", LOSS_NOTE, "names of generated code for which there was no room")    \
	X(RUNTIME_UNKNOWN, "runtime_unknown", LOSS_NOTE,                                               \
	  "processes with an interpreter of unknown version")                                          \
	X(RUNTIME_UNPLACED, "runtime_unplaced", LOSS_NOTE,                                             \
	  "processes with an interpreter whose thread states were not found")                          \
	X(CHAIN_UNMATCHED, "chain_unmatched", LOSS_NOTE,                                               \
	  "frames of interpreters that could not be placed in the stack")                              \
	X(CODE_STALE, "code_stale", LOSS_NOTE,                                                         \
	  "interpreted functions that were freed before they were read")                               \
	X(CODE_PUT_OFF, "code_put_off", LOSS_NOTE,                                                     \
	  "interpreted functions not read because their owner had reached its limit")                  \
	X(SIDEBAND_FULL, "sideband_full", LOSS_NOTE,                                                   \
	  "starts and mappings of programs for which the kernel's buffer had no room")                 \
	X(PAST_FULL, "past_full", LOSS_NOTE, "processes whose mappings were dropped to save memory")   \
	X(MAPPINGS_CUT, "mappings_cut", LOSS_NOTE, "readings of processes with too many mappings")     \
	X(FILES_REFUSED, "files_refused", LOSS_NOTE,                                                   \
	  "mapped files not opened because too many were open")                                        \
	X(GROUPS_RELATIVE, "groups_relative", LOSS_NOTE,                                               \
	  "readings of processes whose control group has no known path")                               \
	X(SERIES_CAPPED, "series_capped", LOSS_NOTE, "samples under [other]: too many new series")     \
	X(LABELS_FAILED, "labels_failed", LOSS_NOTE,                                                   \
	  "samples under [other]: relabeling rules exceeded their limits")                             \
	X(THREAD_LABELS_FAILED, "thread_labels_failed", LOSS_NOTE, "labels that could not be read")    \
	X(THREAD_LABELS_CUT, "thread_labels_cut", LOSS_NOTE, "sets of labels that are incomplete")     \
	X(TRACES_NOT_KEPT, "traces_not_kept", LOSS_NOTE,                                               \
	  "parts of traces for which there was no room")                                               \
	X(SIDEBAND_GAP, "sideband_gap", LOSS_NOTE, "gaps in which events of a CPU were not received")  \
	X(WAIT_NO_ROOM, "wait_no_room", LOSS_NOTE,                                                     \
	  "threads whose waits were not recorded for lack of memory")                                  \
	X(WAITS_UNREAD, "waits_unread", LOSS_NOTE, "waits whose stack could not be read")              \
	X(PROBES_HELD_UP, "probes_held_up", LOSS_NOTE, "failed attempts to probe functions")           \
	X(PROBES_REFUSED, "probes_refused", LOSS_NOTE,                                                 \
	  "libraries not probed because too many were probed")                                         \
	X(GPU_UNREAD, "gpu_unread", LOSS_NOTE, "readings of GPUs that failed")                         \
	X(GPU_FULL, "gpu_full", LOSS_NOTE,                                                             \
	  "kept launches and rows of programs' GPU libraries for which there was no room")             \
	X(GPU_UNMATCHED, "gpu_unmatched", LOSS_NOTE,                                                   \
	  "launches whose kernels, or kernels whose stack, did not arrive")                            \
	X(GPU_RECORDS_REFUSED, "gpu_records_refused", LOSS_NOTE,                                       \
	  "records of CUPTI, and windows, that contradict themselves or the time")                     \
	X(GPU_CUPTI_BUSY, "gpu_cupti_busy", LOSS_NOTE,                                                 \
	  "attempts to measure kernels while another profiler used CUPTI")                             \
	X(TICKS_MISSED, "ticks_missed", LOSS_NOTE,                                                     \
	  "ticks that were missed, mostly because other BPF programs ran")                             \
	X(CPU_REOPENED, "cpu_reopened", LOSS_NOTE,                                                     \
	  "CPUs that are sampled again after they were offline")                                       \
	X(CPU_NOT_SAMPLED, "cpu_not_sampled", LOSS_NOTE, "online CPUs without a clock, per interval")  \
	X(SYMBOLS_LATE, "symbols_late", LOSS_NOTE, "frames stored by address, before their names")     \
	X(NAMES_DROPPED, "names_dropped", LOSS_NOTE, "names of late frames that were given up")        \
	X(SYMBOL_WORKER_FAILED, "symbol_worker_failed", LOSS_NOTE,                                     \
	  "files on which the symbol worker failed")                                                   \
	X(SYMBOL_WORKER_UNAVAILABLE, "symbol_worker_unavailable", LOSS_NOTE,                           \
	  "addresses not looked up because no symbol worker could be started")                         \
	X(SYMBOL_TABLE_DAMAGED, "symbol_table_damaged", LOSS_NOTE,                                     \
	  "damaged files of symbol tables in the cache directory")                                     \
	X(DEBUG_INFO_LEFT_OUT, "debug_info_left_out", LOSS_NOTE,                                       \
	  "binaries whose debug information would take too much memory")                               \
	X(DATABASE_REFUSED, "database_refused", LOSS_ROWS, "the database did not take the batch")      \
	X(QUEUE_FULL, "writer_queue_full", LOSS_ROWS, "the writer's queue was full")                   \
	X(SPOOL_FULL, "spool_full", LOSS_ROWS, "the spool was full")                                   \
	X(SPOOL_EXPIRED, "spool_expired", LOSS_ROWS, "the batch was in the spool for too long")        \
	X(SPOOL_DAMAGED, "spool_damaged", LOSS_ROWS, "the batch's file in the spool was damaged")      \
	X(WRITER_STOPPED, "writer_stopped", LOSS_ROWS, "not stored when the collector ended")

typedef enum Loss
{
#define LOSS_ID(identifier, reason, kind, meaning) LOSS_##identifier,
#define LOSS_WALK_ID(identifier, name, meaning)	   LOSS_WALK_##identifier,
	LOSS_REASONS(LOSS_ID)
	PFS_WALK_FAILURES(LOSS_WALK_ID)
#undef LOSS_ID
#undef LOSS_WALK_ID
		LOSS_COUNT
} Loss;

_Static_assert(PFS_WALK_TOO_DEEP == PFS_WALK_END_OF_FRAMES + 1,
			   "a walk that ended reached a root or is counted as a loss");

typedef struct Losses
{
	_Atomic uint64_t counts[LOSS_COUNT];
	uint64_t taken[LOSS_COUNT]; /* flusher thread */
} Losses;

static inline void
losses_add(Losses *losses, Loss loss, uint64_t count)
{
	atomic_fetch_add_explicit(&losses->counts[loss], count, memory_order_relaxed);
}

static inline uint64_t
losses_total(Losses *losses, Loss loss)
{
	return atomic_load_explicit(&losses->counts[loss], memory_order_relaxed);
}

/* Returns the increase of a count since the last call. Flusher thread. */
static inline uint64_t
losses_take(Losses *losses, Loss loss)
{
	uint64_t total = losses_total(losses, loss);
	uint64_t added = total - losses->taken[loss];

	losses->taken[loss] = total;
	return added;
}

typedef struct LossFacts
{
	const char *reason;	 /* the reason's name in summaries and in profstore.losses */
	LossKind kind;		 /* effect of the loss on samples */
	const char *meaning; /* explanation for people who read the log */
} LossFacts;

static inline const LossFacts *
loss_facts(Loss loss)
{
	static const LossFacts facts[LOSS_COUNT] = {
#define LOSS_FACTS(identifier, reason, kind, meaning) { reason, kind, meaning },
#define LOSS_WALK_FACTS(identifier, name, meaning)	  { "stack_" name, LOSS_PARTIAL, meaning },
		LOSS_REASONS(LOSS_FACTS) PFS_WALK_FAILURES(LOSS_WALK_FACTS)
#undef LOSS_FACTS
#undef LOSS_WALK_FACTS
	};

	return &facts[loss];
}

#endif
