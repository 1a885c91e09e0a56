/*
 * cell_workers.c
 *		Gives slots to processes.
 *
 * 1. If workers may help, the leader begins the scans of all slots, so that it checks privileges
 *    and reports tiers, and shares each: a worker then sees the same partitions and the leader's
 *    waiting rows. Otherwise a scan begins when its slot is read, because an open one takes memory.
 * 2. Leader and workers take one slot after another. The leader keeps sums at once. A worker has
 *    room for some slots in shared memory (cells_work()).
 * 3. When all have ended, the leader keeps the sums of the workers.
 */
#include "insight/cell_workers.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/shmem.h"

#include "base/arrays.h"
#include "select/shared_selection.h"

/* Limit of shared memory, of which containers often have little. */
#define MOST_SHARED_BYTES ((Size) 16 * 1024 * 1024)

#define NO_SLOT PG_UINT32_MAX

/* Keys of the table of contents of the shared memory. Samples of slot n have KEY_SAMPLES + n. */
enum
{
	KEY_REQUEST = 1,
	KEY_SELECTION,
	KEY_HOSTS,
	KEY_ARE_OLD,
	KEY_ARE_NEW,
	KEY_STACK_IDS,
	KEY_STACKS,
	KEY_LISTS,
	KEY_RESULT_SLOTS,
	KEY_RESULTS,
	KEY_SAMPLES
};

typedef struct CellRequest
{
	PfsPeriods periods;
	uint32 host_count;
	uint32 function_count;
	uint32 stack_count;
	uint32 list_count;
	uint32 result_count; /* number of slots for whose sums there is room */
	pg_atomic_uint32 next_slot;
	pg_atomic_uint32 next_result;
} CellRequest;

PGDLLEXPORT void profstore_scan_cells(dsm_segment *segment, shm_toc *toc);

/* The scan of a slot in the leader. */
typedef struct SlotSamples
{
	PfsSelection selection;
	PfsSampleScan *scan; /* NULL: not begun */
} SlotSamples;

/* --- the leader's slots --- */

static void
cells_begin_slot(const PfsCellScan *scan, uint32 slot, SlotSamples *samples)
{
	samples->selection = pfs_slot_selection(scan, slot);
	samples->scan =
		pfs_sample_scan_begin_sums(&samples->selection, PFS_SLOT_COLUMNS, PFS_PART_PAIRS);
}

/* Scans slots as long as there are more. */
static void
cells_scan_slots(const PfsCellScan *scan, SlotSamples *slots, pg_atomic_uint32 *next_slot,
				 PfsKeepSlot keep, void *state)
{
	double *sums = palloc_extended(pfs_slot_bytes(scan), MCXT_ALLOC_HUGE);
	uint32 slot;

	/* The counter gives each slot to one process. */
	while ((slot = pg_atomic_fetch_add_u32(next_slot, 1)) < pfs_slots_to_scan(scan))
	{
		/* With workers, all scans have begun already. */
		if (slots[slot].scan == NULL)
			cells_begin_slot(scan, slot, &slots[slot]);
		memset(sums, 0, pfs_slot_bytes(scan));
		pfs_slot_add(scan, slot, slots[slot].scan, sums);
		keep(state, slot, sums);
	}
	pfree(sums);
}

/* --- shared memory --- */

/* Calls a macro with the key, the bytes and the source of each array that workers only read. */
#define SHARED_ARRAYS(X, scan)                                                                     \
	X(KEY_HOSTS, sizeof(int32) * (Size) (scan)->selection->distinct_count,                         \
	  (scan)->hosts->of_series)                                                                    \
	X(KEY_ARE_OLD, sizeof(bool) * (Size) (scan)->selection->distinct_count, (scan)->hosts->is_old) \
	X(KEY_ARE_NEW, sizeof(bool) * (Size) (scan)->selection->distinct_count, (scan)->hosts->is_new) \
	X(KEY_STACK_IDS, sizeof(int64) * (Size) (scan)->stack_count, (scan)->stack_ids)                \
	X(KEY_STACKS, sizeof(PfsCellStack) * (Size) (scan)->stack_count, (scan)->stacks)               \
	X(KEY_LISTS, sizeof(uint32) * (Size) (scan)->list_count, (scan)->lists)

/* Returns the bytes of all that the workers read; 0 if a scan cannot be shared. */
static Size
cells_read_bytes(const PfsCellScan *scan, const SlotSamples *slots)
{
	Size bytes = add_size(sizeof(CellRequest), pfs_shared_selection_bytes(scan->selection));

#define ADD_BYTES(key, array_bytes, source) bytes = add_size(bytes, array_bytes);
	SHARED_ARRAYS(ADD_BYTES, scan)
	for (uint32 slot = 0; slot < pfs_slots_to_scan(scan); slot++)
	{
		Size slot_bytes = pfs_sample_scan_shared_bytes(slots[slot].scan);

		if (slot_bytes == 0)
			return 0;
		bytes = add_size(bytes, slot_bytes);
	}
	return bytes;
}

/* Returns the number of slots whose sums fit in shared memory. */
static uint32
cells_count_results(const PfsCellScan *scan, const SlotSamples *slots)
{
	Size bytes = cells_read_bytes(scan, slots);

	/* Workers without room for results would have nothing to do. */
	if (bytes == 0 || bytes >= MOST_SHARED_BYTES)
		return 0;
	return (uint32) Min((MOST_SHARED_BYTES - bytes) / pfs_slot_bytes(scan),
						pfs_slots_to_scan(scan));
}

static void
cells_estimate_shared(ParallelContext *context, const PfsCellScan *scan, const SlotSamples *slots,
					  uint32 result_count)
{
	shm_toc_estimator *estimator = &context->estimator;

	shm_toc_estimate_chunk(estimator, sizeof(CellRequest));
	shm_toc_estimate_chunk(estimator, pfs_shared_selection_bytes(scan->selection));
#define ESTIMATE(key, bytes, source) shm_toc_estimate_chunk(estimator, (bytes) + 1);
	SHARED_ARRAYS(ESTIMATE, scan)
	shm_toc_estimate_chunk(estimator, sizeof(uint32) * result_count);
	shm_toc_estimate_chunk(estimator, mul_size(pfs_slot_bytes(scan), result_count));
	for (uint32 slot = 0; slot < pfs_slots_to_scan(scan); slot++)
		shm_toc_estimate_chunk(estimator, pfs_sample_scan_shared_bytes(slots[slot].scan));
	shm_toc_estimate_keys(estimator, KEY_SAMPLES + pfs_slots_to_scan(scan));
}

/* Copies an array, which may be empty, and then NULL. */
static void
cells_put_array(ParallelContext *context, uint64 key, const void *array, Size bytes)
{
	void *to = pfs_parallel_allocate(context, key, bytes + 1);

	if (bytes > 0)
		memcpy(to, array, bytes);
}

static void
cells_put_request(ParallelContext *context, const PfsCellScan *scan, uint32 result_count)
{
	const PfsSelection *selection = scan->selection;
	CellRequest *request = pfs_parallel_allocate(context, KEY_REQUEST, sizeof(CellRequest));

	*request = (CellRequest){ .periods = *scan->periods,
							  .host_count = scan->hosts->count,
							  .function_count = scan->function_count,
							  .stack_count = scan->stack_count,
							  .list_count = scan->list_count,
							  .result_count = result_count };
	pg_atomic_init_u32(&request->next_slot, 0);
	pg_atomic_init_u32(&request->next_result, 0);
	pfs_selection_share(selection, NULL, selection->distinct_count,
						pfs_parallel_allocate(context, KEY_SELECTION,
											  pfs_shared_selection_bytes(selection)));
}

static void
cells_fill_shared(ParallelContext *context, const PfsCellScan *scan, SlotSamples *slots,
				  uint32 result_count)
{
	uint32 *result_slots;

	cells_put_request(context, scan, result_count);
#define PUT_ARRAY(key, bytes, source) cells_put_array(context, key, source, bytes);
	SHARED_ARRAYS(PUT_ARRAY, scan)
	result_slots = pfs_parallel_allocate(context, KEY_RESULT_SLOTS, sizeof(uint32) * result_count);
	/* A result without a slot was not taken by any worker. */
	for (uint32 i = 0; i < result_count; i++)
		result_slots[i] = NO_SLOT;
	pfs_parallel_allocate(context, KEY_RESULTS, pfs_slot_bytes(scan) * result_count);
	for (uint32 slot = 0; slot < pfs_slots_to_scan(scan); slot++)
		pfs_sample_scan_share(slots[slot].scan, pfs_parallel_allocate(context, KEY_SAMPLES + slot,
																	  pfs_sample_scan_shared_bytes(
																		  slots[slot].scan)));
}

/* --- workers --- */

/* Takes slots, and puts their sums into shared memory, as long as there is room. */
static void
cells_work(const PfsCellScan *scan, CellRequest *request, shm_toc *toc)
{
	uint32 *result_slots = shm_toc_lookup(toc, KEY_RESULT_SLOTS, false);
	char *results = shm_toc_lookup(toc, KEY_RESULTS, false);
	uint32 result;
	uint32 slot;

	/* The place comes first: a slot that is taken must be scanned by its taker. */
	while ((result = pg_atomic_fetch_add_u32(&request->next_result, 1)) < request->result_count &&
		   (slot = pg_atomic_fetch_add_u32(&request->next_slot, 1)) < pfs_slots_to_scan(scan))
	{
		double *sums = (double *) (results + pfs_slot_bytes(scan) * result);
		PfsSelection selection = pfs_slot_selection(scan, slot);

		memset(sums, 0, pfs_slot_bytes(scan));
		pfs_slot_add(scan, slot,
					 pfs_sample_scan_join(&selection, PFS_SLOT_COLUMNS, PFS_PART_PAIRS,
										  (PfsVerdicts){ 0 },
										  shm_toc_lookup(toc, KEY_SAMPLES + slot, false)),
					 sums);
		/* A slot is named only when its sums are complete. */
		result_slots[result] = slot;
	}
}

void
profstore_scan_cells(dsm_segment *segment, shm_toc *toc)
{
	CellRequest *request = shm_toc_lookup(toc, KEY_REQUEST, false);
	PfsSelection selection = pfs_selection_join(shm_toc_lookup(toc, KEY_SELECTION, false));
	PfsHosts hosts = { .count = request->host_count,
					   .of_series = shm_toc_lookup(toc, KEY_HOSTS, false),
					   .is_old = shm_toc_lookup(toc, KEY_ARE_OLD, false),
					   .is_new = shm_toc_lookup(toc, KEY_ARE_NEW, false) };
	PfsCellScan scan = { .selection = &selection,
						 .periods = &request->periods,
						 .hosts = &hosts,
						 .function_count = request->function_count,
						 .stack_ids = shm_toc_lookup(toc, KEY_STACK_IDS, false),
						 .stacks = shm_toc_lookup(toc, KEY_STACKS, false),
						 .stack_count = request->stack_count,
						 .lists = shm_toc_lookup(toc, KEY_LISTS, false),
						 .list_count = request->list_count };

	/* Each process computes the ranks from the ids. */
	scan.ranks = pfs_id_ranks(scan.stack_ids, scan.stack_count);
	cells_work(&scan, request, toc);
}

/* --- the leader --- */

/* Keeps the sums of the workers, and ends the leader's scans of their slots. */
static void
cells_take_results(const PfsCellScan *scan, shm_toc *toc, SlotSamples *slots, PfsKeepSlot keep,
				   void *state)
{
	const CellRequest *request = shm_toc_lookup(toc, KEY_REQUEST, false);
	const uint32 *result_slots = shm_toc_lookup(toc, KEY_RESULT_SLOTS, false);
	const char *results = shm_toc_lookup(toc, KEY_RESULTS, false);

	for (uint32 i = 0; i < request->result_count; i++)
	{
		uint32 slot = result_slots[i];

		if (slot == NO_SLOT)
			continue;
		keep(state, slot, (const double *) (results + pfs_slot_bytes(scan) * i));
		pfs_sample_scan_take_counters(shm_toc_lookup(toc, KEY_SAMPLES + slot, false));
		pfs_sample_scan_end(slots[slot].scan);
	}
}

/* If no worker can be started, or there is no room for more sums, this process scans the rest. */
static void
cells_scan_with_workers(const PfsCellScan *scan, SlotSamples *slots, int workers,
						uint32 result_count, PfsKeepSlot keep, void *state)
{
	ParallelContext *context;
	CellRequest *request;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/profstore", "profstore_scan_cells", workers);
	cells_estimate_shared(context, scan, slots, result_count);
	InitializeParallelDSM(context);
	cells_fill_shared(context, scan, slots, result_count);
	request = shm_toc_lookup(context->toc, KEY_REQUEST, false);
	LaunchParallelWorkers(context);
	ereport(DEBUG1, (errmsg_internal("%d workers add up samples of functions",
									 context->nworkers_launched)));
	/* The leader scans, too, if it may, or if there is nobody else. */
	if (parallel_leader_participation || context->nworkers_launched == 0)
		cells_scan_slots(scan, slots, &request->next_slot, keep, state);
	WaitForParallelWorkersToFinish(context);
	/* Scans the slots for whose sums the workers had no room. */
	cells_scan_slots(scan, slots, &request->next_slot, keep, state);
	cells_take_results(scan, context->toc, slots, keep, state);
	DestroyParallelContext(context);
	ExitParallelMode();
}

void
pfs_cells_scan(const PfsCellScan *scan, int workers, PfsKeepSlot keep, void *state)
{
	SlotSamples *slots = PFS_ARRAY0(SlotSamples, pfs_slots_to_scan(scan));
	uint32 result_count = 0;
	pg_atomic_uint32 next_slot;

	if (workers > 0)
	{
		for (uint32 slot = 0; slot < pfs_slots_to_scan(scan); slot++)
			cells_begin_slot(scan, slot, &slots[slot]);
		result_count = cells_count_results(scan, slots);
	}
	if (result_count > 0)
		cells_scan_with_workers(scan, slots, workers, result_count, keep, state);
	else
	{
		pg_atomic_init_u32(&next_slot, 0);
		cells_scan_slots(scan, slots, &next_slot, keep, state);
	}
	pfree(slots);
}
