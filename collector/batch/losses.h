/*
 * losses.h
 *		Everything that is dropped, or stored in part, from the kernel to the database, by reason.
 *
 * The counts only rise; losses_take() returns what was added since its last call, which goes into
 * the log and, with the batch, into the table profstore.losses. Any thread may add.
 */
#ifndef COLLECTOR_LOSSES_H
#define COLLECTOR_LOSSES_H

#include <stdatomic.h>
#include <stdint.h>

#include "unwind_types.h"

/* The effect on samples that a reason counts. */
typedef enum LossKind
{
	LOSS_LOST,	  /* not stored */
	LOSS_PARTIAL, /* stored with some frames missing */
	LOSS_NOTE,	  /* counts something other than samples */
	LOSS_ROWS,	  /* rows of samples that were not stored; the writer reports them itself */
} LossKind;

/*
 * X(identifier, reason, kind, meaning). Those of walks, LOSS_WALK_*, come from PFS_WALK_FAILURES;
 * counters of the BPF programs that count a loss have the identifier that the loss has here.
 */
#define LOSS_REASONS(X)                                                                            \
	X(RING_FULL, "ring_full", LOSS_LOST, "the kernel's ring buffer was full")                      \
	X(NO_SCRATCH, "no_scratch", LOSS_LOST, "more BPF programs met on a CPU than were planned for") \
	X(RECORD_MALFORMED, "record_malformed", LOSS_LOST, "a record of unexpected size")              \
	X(RECORDS_FULL, "records_full", LOSS_LOST, "too many samples waited to be walked")             \
	X(MEMORY_LIMIT, "memory_limit", LOSS_LOST, "the collector had reached --max-memory")           \
	X(INTERVAL_FULL, "interval_full", LOSS_LOST, "memory of the interval is out")                  \
	X(VALUE_OVERFLOW, "value_overflow", LOSS_LOST, "the sum of a series leaves 63 bits")           \
	X(BATCH_FULL, "batch_full", LOSS_LOST, "memory of the batch is out")                           \
	X(KERNEL_STACK_FAILED, "kernel_stack_failed", LOSS_PARTIAL, "no kernel frames")                \
	X(STACK_CUT, "stack_cut", LOSS_PARTIAL, "deep recursion, whose middle is not kept")            \
	X(FRAMES_CUT, "frames_cut", LOSS_NOTE, "frames in the middle of deep recursion")               \
	X(PROCESS_GONE, "process_gone", LOSS_PARTIAL, "the process ended before it was looked at")     \
	X(PROCESS_UNREADABLE, "process_unreadable", LOSS_PARTIAL, "no right to read its mappings")     \
	X(PROCESS_STUCK, "process_stuck", LOSS_PARTIAL, "the kernel did not answer about the process") \
	X(ADDRESS_UNKNOWN, "address_unknown", LOSS_NOTE, "leaf frames in no code that is known")       \
	X(CODE_FULL, "code_full", LOSS_NOTE, "names of generated code that there was no room for")     \
	X(RUNTIME_UNKNOWN, "runtime_unknown", LOSS_NOTE,                                               \
	  "processes with an interpreter of unknown version")                                          \
	X(RUNTIME_UNPLACED, "runtime_unplaced", LOSS_NOTE,                                             \
	  "processes with an interpreter whose threads' state was not found")                          \
	X(CHAIN_UNMATCHED, "chain_unmatched", LOSS_NOTE,                                               \
	  "frames of interpreters that had no place in their stack")                                   \
	X(CODE_STALE, "code_stale", LOSS_NOTE, "interpreted code that was gone before it was read")    \
	X(CODE_PUT_OFF, "code_put_off", LOSS_NOTE,                                                     \
	  "interpreted code that was not read, as its owner had so much read")                         \
	X(SIDEBAND_FULL, "sideband_full", LOSS_NOTE,                                                   \
	  "starts and mappings of programs that the kernel's buffer had no room for")                  \
	X(PAST_FULL, "past_full", LOSS_NOTE, "processes whose mappings were forgotten to save memory") \
	X(MAPPINGS_CUT, "mappings_cut", LOSS_NOTE, "readings of processes with too many mappings")     \
	X(FILES_REFUSED, "files_refused", LOSS_NOTE, "mapped files that were one too many to be open") \
	X(GROUPS_RELATIVE, "groups_relative", LOSS_NOTE, "readings of processes in unplaced groups")   \
	X(SERIES_CAPPED, "series_capped", LOSS_NOTE, "samples under [other]: too many new series")     \
	X(LABELS_FAILED, "labels_failed", LOSS_NOTE,                                                   \
	  "samples under [other]: rules that took too much")                                           \
	X(THREAD_LABELS_FAILED, "thread_labels_failed", LOSS_NOTE, "labels that could not be read")    \
	X(THREAD_LABELS_CUT, "thread_labels_cut", LOSS_NOTE, "sets of labels that are not whole")      \
	X(TRACES_NOT_KEPT, "traces_not_kept", LOSS_NOTE, "parts of traces that there was no room for") \
	X(SIDEBAND_GAP, "sideband_gap", LOSS_NOTE, "times that a CPU had not been listened to")        \
	X(WAIT_NO_ROOM, "wait_no_room", LOSS_NOTE, "threads whose waits there was no memory for")      \
	X(WAITS_UNREAD, "waits_unread", LOSS_NOTE, "waits whose stack could not be read")              \
	X(PROBES_HELD_UP, "probes_held_up", LOSS_NOTE, "times that functions could not be probed")     \
	X(PROBES_REFUSED, "probes_refused", LOSS_NOTE,                                                 \
	  "libraries that were one too many to be probed")                                             \
	X(GPU_UNREAD, "gpu_unread", LOSS_NOTE, "readings of GPUs that failed")                         \
	X(TICKS_MISSED, "ticks_missed", LOSS_NOTE, "ticks that did not come: other BPF programs ran")  \
	X(CPU_REOPENED, "cpu_reopened", LOSS_NOTE, "CPUs that had been away, and were not sampled")    \
	X(CPU_NOT_SAMPLED, "cpu_not_sampled", LOSS_NOTE, "online CPUs without a clock, per interval")  \
	X(SYMBOLS_LATE, "symbols_late", LOSS_NOTE, "frames stored by address, before their names")     \
	X(NAMES_DROPPED, "names_dropped", LOSS_NOTE, "names of late frames that were given up")        \
	X(SYMBOL_WORKER_FAILED, "symbol_worker_failed", LOSS_NOTE,                                     \
	  "files that the symbol worker died of")                                                      \
	X(SYMBOL_WORKER_UNAVAILABLE, "symbol_worker_unavailable", LOSS_NOTE,                           \
	  "addresses that were asked about while no symbol worker could start")                        \
	X(SYMBOL_TABLE_DAMAGED, "symbol_table_damaged", LOSS_NOTE,                                     \
	  "damaged files of symbol tables in the cache directory")                                     \
	X(DEBUG_INFO_LEFT_OUT, "debug_info_left_out", LOSS_NOTE,                                       \
	  "binaries whose debug information would take too much memory")                               \
	X(DATABASE_REFUSED, "database_refused", LOSS_ROWS, "the database did not take the batch")      \
	X(QUEUE_FULL, "writer_queue_full", LOSS_ROWS, "too much waited for the database")              \
	X(SPOOL_FULL, "spool_full", LOSS_ROWS, "too much waited on disk for the database")             \
	X(SPOOL_EXPIRED, "spool_expired", LOSS_ROWS, "waited on disk for too long")                    \
	X(SPOOL_DAMAGED, "spool_damaged", LOSS_ROWS, "the file on disk could not be read again")       \
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

/* Flusher thread. */
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
	const char *reason;	 /* its name in summaries and in profstore.losses */
	LossKind kind;		 /* meaning of its count */
	const char *meaning; /* for people who read the log */
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
