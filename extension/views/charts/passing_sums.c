/*
 * passing_sums.c
 *		Samples of stacks that pass filters, added up by time, by one process or several.
 *
 * 1. add_scan(): a scan returns the rows of stacks that pass. If the possible sums are few, they
 *    are cells of an array, by rank and bucket.
 * 2. passing_count_workers(): parallel workers may help. They get the ranges, series and
 *    expressions, make filters of their own, take blocks of the same scan, and leave their cells in
 *    shared memory (profstore_sum_passing()).
 * 3. passing_take_cells(): the leader also reads blocks, waits for the workers, and adds their
 *    cells to the sums. Sums of integers do not depend on the order.
 * 4. Chunks that the leader's filter keeps are passed to the workers, and those that workers add
 *    are returned to it.
 */
#include "views/charts/passing_sums.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/shmem.h"

#include "base/arrays.h"
#include "merge/bucket_sums.h"
#include "select/buckets.h"
#include "select/estimate.h"
#include "select/sample_scan.h"
#include "select/shared_selection.h"
#include "tree/stack_filter.h"

#define COLUMNS (PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE)

/*
 * Limit of the cells of all workers, and a limit of the same size for their kept chunks. Containers
 * often have little shared memory.
 */
#define MOST_SHARED_BYTES ((Size) 16 * 1024 * 1024)

/* Keys of the table of contents of the shared memory. */
enum
{
	KEY_REQUEST = 1,
	KEY_SELECTION,
	KEY_EXPRESSIONS,
	KEY_SAMPLES,
	KEY_CELLS,
	KEY_KEPT,
	KEY_NEWLY_KEPT
};

typedef struct Request
{
	PfsBuckets buckets;
	int32 rank_count;
	TimestampTz first_bucket;
	Size bucket_count;
	Size newly_kept_bytes; /* bytes of the kept chunks that each worker may add */
	bool has_expression[PFS_FILTER_COUNT];
} Request;

PGDLLEXPORT void profstore_sum_passing(dsm_segment *segment, shm_toc *toc);

/* --- one process --- */

/* Adds the rows first to end, all of one series, to buckets; to sums if buckets is NULL. */
static void
passing_add_rows(const PfsPassing *passing, const PfsSampleBlock *block, uint32 first, uint32 end,
				 int32 rank, PfsBucketSums *buckets)
{
	if (buckets != NULL)
	{
		pfs_bucket_sums_add(buckets, rank, block->times + first, block->values + first,
							end - first);
		return;
	}
	for (uint32 row = first; row < end; row++)
	{
		TimestampTz time = block->times[row];

		if (passing->buckets.step_us > 0)
			time = pfs_buckets_start(&passing->buckets, time);
		pfs_series_sums_add(passing->sums, rank, time, block->values[row]);
	}
}

static void
passing_sums_passing_add_block(const PfsPassing *passing, const PfsSampleBlock *block,
							   PfsBucketSums *buckets)
{
	const PfsSeries *series = NULL;

	for (uint32 row = 0, end; row < block->row_count; row = end)
	{
		end = row + 1;
		while (end < block->row_count && block->series[end] == block->series[row])
			end++;
		series = pfs_selection_next_series(passing->selection, series, block->series[row]);
		passing_add_rows(passing, block, row, end, passing->ranks[series->index], buckets);
	}
}

/* Adds all blocks that the scan assigns to this process. */
static void
add_scan(const PfsPassing *passing, PfsSampleScan *scan, PfsBucketSums *buckets)
{
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		passing_sums_passing_add_block(passing, &block, buckets);
}

static void
end_scan(PfsSampleScan *scan, PfsBucketSums *buckets)
{
	if (buckets != NULL)
		pfs_bucket_sums_end(buckets);
	pfs_sample_scan_end(scan);
}

/* Returns an array of sums by rank and bucket; NULL if it would be too large. */
static PfsBucketSums *
begin_buckets(const PfsPassing *passing)
{
	if (passing->buckets.step_us == 0)
		return NULL;
	return pfs_bucket_sums_begin(passing->sums, passing->rank_count, passing->selection->from,
								 passing->selection->to, &passing->buckets,
								 pfs_hash_memory_bytes() / 8);
}

/* --- the request to the workers --- */

static Size
expressions_bytes(const PfsFilters *filters)
{
	const char *expressions[PFS_FILTER_COUNT];
	Size bytes = 0;

	pfs_filters_expressions(filters, expressions);
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		if (expressions[i] != NULL)
			bytes = add_size(bytes, strlen(expressions[i]) + 1);
	return bytes;
}

static void
put_expressions(const PfsFilters *filters, Request *request, char *to)
{
	const char *expressions[PFS_FILTER_COUNT];

	pfs_filters_expressions(filters, expressions);
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
	{
		request->has_expression[i] = expressions[i] != NULL;
		if (expressions[i] != NULL)
			to = stpcpy(to, expressions[i]) + 1;
	}
}

static PfsFilters
get_filters(const Request *request, const char *from)
{
	const char *expressions[PFS_FILTER_COUNT];

	for (int i = 0; i < PFS_FILTER_COUNT; i++)
	{
		expressions[i] = request->has_expression[i] ? from : NULL;
		if (expressions[i] != NULL)
			from += strlen(from) + 1;
	}
	return pfs_filters_make(expressions);
}

static Size
cells_bytes(const PfsBucketSums *buckets, int workers)
{
	return mul_size(mul_size(sizeof(int128), buckets->cell_count), workers);
}

static Size
newly_kept_bytes(const PfsStackFilter *filter, int workers)
{
	return MAXALIGN_DOWN(
		Min(pfs_stack_filter_most_bytes(filter), MOST_SHARED_BYTES / (Size) workers));
}

static PfsKeptArea *
area_of_worker(char *areas, const Request *request, int worker)
{
	return (PfsKeptArea *) (areas + request->newly_kept_bytes * (Size) worker);
}

static void
passing_estimate_shared(ParallelContext *context, const PfsPassing *passing,
						const PfsSampleScan *scan, const PfsStackFilter *filter,
						const PfsBucketSums *buckets)
{
	shm_toc_estimator *estimator = &context->estimator;

	shm_toc_estimate_chunk(estimator, sizeof(Request));
	shm_toc_estimate_chunk(estimator, pfs_shared_selection_bytes(passing->selection));
	shm_toc_estimate_chunk(estimator, Max(expressions_bytes(passing->filters), 1));
	shm_toc_estimate_chunk(estimator, pfs_sample_scan_shared_bytes(scan));
	shm_toc_estimate_chunk(estimator, cells_bytes(buckets, context->nworkers));
	shm_toc_estimate_chunk(estimator, pfs_stack_filter_kept_bytes(filter));
	shm_toc_estimate_chunk(estimator, mul_size(newly_kept_bytes(filter, context->nworkers),
											   context->nworkers));
	shm_toc_estimate_keys(estimator, KEY_NEWLY_KEPT);
}

/* Writes the leader's kept chunks, and an empty area for the chunks that each worker will add. */
static void
put_areas(ParallelContext *context, const PfsStackFilter *filter, const Request *request)
{
	Size bytes = pfs_stack_filter_kept_bytes(filter);
	char *areas;

	pfs_stack_filter_share(filter, false, pfs_parallel_allocate(context, KEY_KEPT, bytes), bytes);
	areas = pfs_parallel_allocate(context, KEY_NEWLY_KEPT,
								  mul_size(request->newly_kept_bytes, context->nworkers));
	for (int worker = 0; worker < context->nworkers; worker++)
		*area_of_worker(areas, request, worker) = (PfsKeptArea){ .is_valid = false };
}

/* Fills the shared memory. Returns the cells of all workers, one array after another. */
static int128 *
fill_shared(ParallelContext *context, const PfsPassing *passing, PfsSampleScan *scan,
			const PfsStackFilter *filter, const PfsBucketSums *buckets)
{
	const PfsSelection *selection = passing->selection;
	Request *request = pfs_parallel_allocate(context, KEY_REQUEST, sizeof(Request));
	Size bytes = cells_bytes(buckets, context->nworkers);
	int128 *cells;

	*request = (Request){ .buckets = passing->buckets,
						  .rank_count = passing->rank_count,
						  .first_bucket = buckets->first,
						  .bucket_count = buckets->bucket_count,
						  .newly_kept_bytes = newly_kept_bytes(filter, context->nworkers) };
	pfs_selection_share(selection, passing->ranks, passing->rank_count,
						pfs_parallel_allocate(context, KEY_SELECTION,
											  pfs_shared_selection_bytes(selection)));
	put_expressions(passing->filters, request,
					pfs_parallel_allocate(context, KEY_EXPRESSIONS,
										  Max(expressions_bytes(passing->filters), 1)));
	pfs_sample_scan_share(scan, pfs_parallel_allocate(context, KEY_SAMPLES,
													  pfs_sample_scan_shared_bytes(scan)));
	put_areas(context, filter, request);
	cells = pfs_parallel_allocate(context, KEY_CELLS, bytes);
	memset(cells, 0, bytes);
	return cells;
}

/* --- workers --- */

static void
passing_put_cells(PfsSeriesSums *sums, const Request *request, int128 *cells)
{
	PfsSeriesKey key;
	int128 sum;

	while (pfs_series_sums_next(sums, &key, &sum))
		cells[(Size) key.series * request->bucket_count +
			  (Size) ((key.id - request->first_bucket) / request->buckets.step_us)] += sum;
	pfs_series_sums_end(sums);
}

void
profstore_sum_passing(dsm_segment *segment, shm_toc *toc)
{
	const Request *request = shm_toc_lookup(toc, KEY_REQUEST, false);
	int128 *cells = shm_toc_lookup(toc, KEY_CELLS, false);
	PfsFilters filters = get_filters(request, shm_toc_lookup(toc, KEY_EXPRESSIONS, false));
	PfsSelection selection = pfs_selection_join(shm_toc_lookup(toc, KEY_SELECTION, false));
	int32 *ranks = PFS_ARRAY(int32, request->rank_count);
	PfsPassing passing = { .selection = &selection,
						   .filters = &filters,
						   .ranks = ranks,
						   .rank_count = request->rank_count,
						   .buckets = request->buckets,
						   .sums = pfs_series_sums_begin(pfs_hash_memory_bytes()) };
	PfsStackFilter *filter;
	PfsBucketSums *buckets;
	PfsSampleScan *scan;

	for (int32 i = 0; i < request->rank_count; i++)
		ranks[i] = i;
	filter = pfs_stack_filter_create(&filters);
	pfs_stack_filter_take(filter, shm_toc_lookup(toc, KEY_KEPT, false));
	scan = pfs_sample_scan_join(&selection, COLUMNS, PFS_PART_SCRAPES,
								pfs_stack_filter_verdicts(filter),
								shm_toc_lookup(toc, KEY_SAMPLES, false));
	buckets = begin_buckets(&passing);
	add_scan(&passing, scan, buckets);
	end_scan(scan, buckets);
	passing_put_cells(passing.sums, request,
					  cells + (Size) ParallelWorkerNumber * request->bucket_count *
								  (Size) request->rank_count);
	pfs_stack_filter_share(filter, true,
						   area_of_worker(shm_toc_lookup(toc, KEY_NEWLY_KEPT, false), request,
										  ParallelWorkerNumber),
						   request->newly_kept_bytes);
}

/* --- the leader --- */

static void
passing_take_cells(const PfsPassing *passing, const int128 *cells, int workers,
				   TimestampTz first_bucket, Size bucket_count)
{
	Size cell_count = bucket_count * (Size) passing->rank_count;

	for (int worker = 0; worker < workers; worker++, cells += cell_count)
		for (Size cell = 0; cell < cell_count; cell++)
			if (cells[cell] != 0)
				pfs_series_sums_add_wide(passing->sums, (int32) (cell / bucket_count),
										 first_bucket + (int64) (cell % bucket_count) *
															passing->buckets.step_us,
										 cells[cell]);
}

static void
take_kept(ParallelContext *context, PfsStackFilter *filter)
{
	const Request *request = shm_toc_lookup(context->toc, KEY_REQUEST, false);
	char *areas = shm_toc_lookup(context->toc, KEY_NEWLY_KEPT, false);

	for (int worker = 0; worker < context->nworkers_launched; worker++)
		pfs_stack_filter_take(filter, area_of_worker(areas, request, worker));
}

/*
 * Adds all samples by this process and workers. If no worker can be started, or there is no shared
 * memory for them, this process reads everything.
 */
static void
add_with_workers(const PfsPassing *passing, PfsSampleScan *scan, PfsStackFilter *filter,
				 PfsBucketSums *buckets, int workers)
{
	const TimestampTz first_bucket = buckets->first;
	const Size bucket_count = buckets->bucket_count;
	ParallelContext *context;
	int128 *cells;

	EnterParallelMode();
	context = CreateParallelContext("$libdir/profstore", "profstore_sum_passing", workers);
	passing_estimate_shared(context, passing, scan, filter, buckets);
	InitializeParallelDSM(context);
	cells = fill_shared(context, passing, scan, filter, buckets);
	LaunchParallelWorkers(context);
	ereport(DEBUG1, (errmsg_internal("%d workers add up samples of stacks that pass",
									 context->nworkers_launched)));
	if (parallel_leader_participation || context->nworkers_launched == 0)
		add_scan(passing, scan, buckets);
	WaitForParallelWorkersToFinish(context);
	passing_take_cells(passing, cells, context->nworkers_launched, first_bucket, bucket_count);
	take_kept(context, filter);
	pfs_sample_scan_take_counters(shm_toc_lookup(context->toc, KEY_SAMPLES, false));
	DestroyParallelContext(context);
	ExitParallelMode();
}

/*
 * A sample takes about one byte. It counts for half a byte here, because a worker has to judge the
 * stacks anew, which pays off from some 10 million samples on. Samples in kept chunks are not read.
 */
static int
passing_count_workers(const PfsSelection *selection, const PfsStackFilter *filter)
{
	return pfs_worker_count(selection,
							(double) pfs_stack_filter_kept_rows(filter, selection->from,
																selection->to),
							0.5);
}

void
pfs_sum_passing(const PfsPassing *passing)
{
	PfsStackFilter *filter = pfs_stack_filter_create(passing->filters);
	PfsSampleScan *scan =
		pfs_sample_scan_begin_judged(passing->selection, COLUMNS, PFS_PART_SCRAPES,
									 pfs_stack_filter_verdicts(filter));
	PfsBucketSums *buckets = begin_buckets(passing);
	int workers = 0;

	if (buckets != NULL && pfs_sample_scan_shared_bytes(scan) > 0)
		workers = Min(passing_count_workers(passing->selection, filter),
					  (int) (MOST_SHARED_BYTES / Max(cells_bytes(buckets, 1), 1)));
	if (workers == 0)
		add_scan(passing, scan, buckets);
	else
		add_with_workers(passing, scan, filter, buckets, workers);
	end_scan(scan, buckets);
}
