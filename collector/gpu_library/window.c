/*
 * window.c
 *		Sums of a window's kernels and copies, and the launches that belong to it.
 *
 * Launches are noted without a lock in an array at their correlation's remainder, together with the
 * number of the window, so that it need not be cleared.
 */
#include "gpu_library/window.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/unaligned.h"
#include "gpu_library/names.h"

#define SEEN_SLOTS (1U << 18)
#define SUMS	   4096
#define KEPT_ROWS  1024
#define KEPT_MAX   512 /* launches kept in one window */

/* A noted launch: its correlation in the low half, flags, and the window's number. */
#define SEEN_KEPT	 (UINT64_C(1) << 32)
#define SEEN_MATCHED (UINT64_C(1) << 33)
#define SEEN_WINDOW	 34

static _Atomic uint64_t seen_launches[SEEN_SLOTS];

static struct pfs_gpu_row sum_rows[SUMS];
static uint16_t sum_slots[2 * SUMS];
static struct pfs_gpu_row kept_rows[KEPT_ROWS];
static uint16_t kept_slots[2 * KEPT_ROWS];

static struct
{
	/* number of the window in which launches are noted; 0: none is */
	_Atomic uint32_t noting;
	_Atomic uint32_t launch_period;
	_Atomic uint32_t graph_period;
	/* correlations of the first launch in the window, and of the first one after it; 0: none */
	_Atomic uint32_t first;
	_Atomic uint32_t after;
	_Atomic uint64_t seed;
	_Atomic uint64_t launches;
	_Atomic uint64_t graphs;
	_Atomic uint64_t kept;
	_Atomic uint64_t dropped;

	pthread_mutex_t mutex; /* guards the fields below; never taken by a launch */
	uint32_t taking;	   /* number of the window whose records are counted; 0: none is */
	uint32_t last;
	uint64_t late; /* records of copies that came when no window took records */
	CuptiClock clock;
	uint64_t began_ns;
	WindowTotals totals;
} window = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.totals = { .sums = { sum_rows, sum_slots, SUMS, 2 * SUMS, 0 },
				.kept_rows = { kept_rows, kept_slots, KEPT_ROWS, 2 * KEPT_ROWS, 0 } },
};

static uint64_t
mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	number = (number ^ number >> 27) * UINT64_C(0x94D049BB133111EB);
	return number ^ number >> 31;
}

void
window_open(CuptiClock clock, uint64_t seed, const KeptPeriods *periods)
{
	WindowTotals *totals = &window.totals;
	/* before the mutex, for which CUPTI may wait with locks of its own while it delivers records */
	uint64_t began_ns = clock();

	pthread_mutex_lock(&window.mutex);
	window.last = (window.last + 1) & ((1U << 30) - 1);
	window.last += window.last == 0;
	row_table_clear(&totals->sums);
	row_table_clear(&totals->kept_rows);
	*totals = (WindowTotals){ .sums = totals->sums,
							  .kept_rows = totals->kept_rows,
							  .refused = window.late };
	window.late = 0;
	names_begin_window();
	window.clock = clock;
	window.began_ns = began_ns;
	totals->last_ns = window.began_ns;
	window.taking = window.last;
	pthread_mutex_unlock(&window.mutex);
	atomic_store(&window.launch_period, periods->launches);
	atomic_store(&window.graph_period, periods->graphs);
	atomic_store(&window.first, 0);
	atomic_store(&window.after, 0);
	atomic_store(&window.seed, seed);
	atomic_store(&window.launches, 0);
	atomic_store(&window.graphs, 0);
	atomic_store(&window.kept, 0);
	atomic_store(&window.dropped, 0);
	atomic_store(&window.noting, window.last);
}

void
window_close(void)
{
	atomic_store(&window.noting, 0);
}

void
window_finish(WindowTotals *totals)
{
	window_close();
	pthread_mutex_lock(&window.mutex);
	window.taking = 0;
	*totals = window.totals;
	pthread_mutex_unlock(&window.mutex);
	totals->launches = atomic_load(&window.launches);
	totals->graphs = atomic_load(&window.graphs);
	totals->kept = atomic_load(&window.kept);
	if (totals->kept > KEPT_MAX)
		totals->kept = KEPT_MAX;
	totals->dropped = atomic_load(&window.dropped);
}

uint64_t
window_outstanding(uint64_t *last_ns, bool *has_graphs)
{
	uint64_t launches = atomic_load(&window.launches);
	uint64_t matched;

	*has_graphs = atomic_load(&window.graphs) > 0;
	pthread_mutex_lock(&window.mutex);
	matched = window.totals.matched;
	*last_ns = window.totals.last_ns;
	pthread_mutex_unlock(&window.mutex);
	return launches > matched ? launches - matched : 0;
}

/* Keeps the lower correlation. Threads call back in another order than correlations are given. */
static void
note_earliest(_Atomic uint32_t *earliest, uint32_t correlation)
{
	uint32_t known = atomic_load_explicit(earliest, memory_order_relaxed);

	while ((known == 0 || (int32_t) (correlation - known) < 0) &&
		   !atomic_compare_exchange_weak(earliest, &known, correlation))
		;
}

bool
window_note_launch(uint32_t correlation, bool is_graph, uint32_t *period)
{
	uint32_t number = atomic_load_explicit(&window.noting, memory_order_acquire);
	uint64_t noted = (uint64_t) number << SEEN_WINDOW | correlation;
	uint64_t draw;
	bool keeps;

	if (number == 0)
	{
		note_earliest(&window.after, correlation);
		return false;
	}
	note_earliest(&window.first, correlation);
	*period = atomic_load_explicit(is_graph ? &window.graph_period : &window.launch_period,
								   memory_order_relaxed);
	/*
	 * Each launch is drawn on its own: a limit for each moment would always keep the same launches
	 * of a loop.
	 */
	draw = mix(correlation ^ atomic_load_explicit(&window.seed, memory_order_relaxed));
	keeps = (draw >> 32) * *period >> 32 == 0 &&
			atomic_fetch_add_explicit(&window.kept, 1, memory_order_relaxed) < KEPT_MAX;
	if (keeps)
		noted |= SEEN_KEPT;
	atomic_store_explicit(&seen_launches[correlation % SEEN_SLOTS], noted, memory_order_release);
	atomic_fetch_add_explicit(&window.launches, 1, memory_order_relaxed);
	if (is_graph)
		atomic_fetch_add_explicit(&window.graphs, 1, memory_order_relaxed);
	return keeps;
}

/*
 * Returns whether a launch was noted in the window, and marks that a kernel of it was reported. The
 * caller must hold the mutex.
 */
static bool
launch_was_seen(uint32_t correlation, bool *is_kept)
{
	_Atomic uint64_t *slot = &seen_launches[correlation % SEEN_SLOTS];
	uint64_t noted = atomic_load_explicit(slot, memory_order_acquire);

	if ((uint32_t) noted != correlation || noted >> SEEN_WINDOW != window.taking)
		return false;
	*is_kept = (noted & SEEN_KEPT) != 0;
	if ((noted & SEEN_MATCHED) == 0 &&
		atomic_compare_exchange_strong(slot, &noted, noted | SEEN_MATCHED))
		window.totals.matched++;
	return true;
}

/*
 * Returns whether a launch was made before the window's first one, or after it was closed, before
 * activity was switched off. Correlations count upwards.
 */
static bool
launch_is_outside(uint32_t correlation)
{
	uint32_t first = atomic_load(&window.first);
	uint32_t after = atomic_load(&window.after);

	return first == 0 || (int32_t) (correlation - first) < 0 ||
		   (after != 0 && (int32_t) (correlation - after) >= 0);
}

static bool
times_are_of_window(uint64_t start_ns, uint64_t end_ns, uint64_t now_ns)
{
	return start_ns != 0 && end_ns >= start_ns && start_ns >= window.began_ns && end_ns <= now_ns;
}

/* Adds a sum; the kernels for which there is no room are added to those without a name. */
static void
add_sum(struct pfs_gpu_row *row)
{
	RowTable *sums = &window.totals.sums;

	if (sums->count < SUMS - 2 * PFS_GPU_DEVICES_MAX && row_table_add(sums, row))
		return;
	row->name = PFS_GPU_OTHER_NAME;
	row->stream = 0;
	if (!row_table_add(sums, row))
		window.totals.refused++;
}

/*
 * Adds a kernel's record to the sums of the window; keeps a row of its own for a launch whose stack
 * is sampled.
 */
static void
take_kernel(const uint8_t *record, uint64_t now_ns)
{
	uint64_t start_ns = bytes_u64_at(record, KERNEL_START);
	uint64_t end_ns = bytes_u64_at(record, KERNEL_END);
	uint32_t device = bytes_u32_at(record, KERNEL_DEVICE);
	uint64_t name_pointer = bytes_u64_at(record, KERNEL_NAME);
	struct pfs_gpu_row row = { .kind = PFS_GPU_ROW_KERNELS,
							   .version = PFS_GPU_ROW_VERSION,
							   .device = (uint16_t) device,
							   .stream = bytes_u32_at(record, KERNEL_STREAM),
							   .count = 1,
							   .ns = end_ns - start_ns,
							   .start_ns = start_ns,
							   .graph = bytes_u32_at(record, KERNEL_GRAPH) != 0 };
	uint32_t correlation = bytes_u32_at(record, KERNEL_CORRELATION);
	bool is_kept = false;

	/* such kernels are no part of the window: they waited or ran when it began, or came after it */
	if (launch_is_outside(correlation))
		return;
	if (device >= PFS_GPU_DEVICES_MAX || !times_are_of_window(start_ns, end_ns, now_ns) ||
		!launch_was_seen(correlation, &is_kept))
	{
		window.totals.refused++;
		return;
	}
	row.name = name_number((const char *) (uintptr_t) name_pointer);
	window.totals.graph_kernels += row.graph;
	window.totals.last_ns = now_ns;
	if (is_kept)
	{
		struct pfs_gpu_row kept = row;

		kept.kind = PFS_GPU_ROW_KEPT;
		kept.correlation = correlation;
		/* without the row the launch's stack gets no share, but the sum is complete */
		(void) row_table_add(&window.totals.kept_rows, &kept);
	}
	add_sum(&row);
}

static enum pfs_gpu_copy
copy_direction(uint8_t kind)
{
	static const uint8_t directions[] = {
		[1] = PFS_GPU_COPY_HTOD,  [2] = PFS_GPU_COPY_DTOH, [3] = PFS_GPU_COPY_HTOD,
		[4] = PFS_GPU_COPY_DTOH,  [5] = PFS_GPU_COPY_DTOD, [6] = PFS_GPU_COPY_DTOD,
		[7] = PFS_GPU_COPY_DTOD,  [8] = PFS_GPU_COPY_DTOD, [9] = PFS_GPU_COPY_HTOH,
		[10] = PFS_GPU_COPY_PTOP,
	};

	return kind < sizeof(directions) ? (enum pfs_gpu_copy) directions[kind] : PFS_GPU_COPY_OTHER;
}

/* Adds the record of a copy, or of memory that was set, to the sums of the window. */
static void
take_copy(const uint8_t *record, uint32_t kind, uint64_t now_ns)
{
	uint64_t start_ns = bytes_u64_at(record, COPY_START);
	uint64_t end_ns = bytes_u64_at(record, COPY_END);
	uint32_t device = bytes_u32_at(record, COPY_DEVICE);
	struct pfs_gpu_row row = { .kind = kind == CUPTI_MEMSET ? PFS_GPU_ROW_SETS : PFS_GPU_ROW_COPIES,
							   .version = PFS_GPU_ROW_VERSION,
							   .device = (uint16_t) device,
							   .count = 1,
							   .ns = end_ns - start_ns,
							   .bytes = bytes_u64_at(record, COPY_SIZE),
							   .start_ns = start_ns };

	if (device >= PFS_GPU_DEVICES_MAX || !times_are_of_window(start_ns, end_ns, now_ns))
	{
		window.totals.refused++;
		return;
	}
	if (kind != CUPTI_MEMSET)
		row.name = copy_direction(record[COPY_KIND]);
	window.totals.copies++;
	window.totals.last_ns = now_ns;
	if (!row_table_add(&window.totals.sums, &row))
		window.totals.refused++;
}

void
window_take_records(const Cupti *cupti, uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	uint64_t now_ns;

	pthread_mutex_lock(&window.mutex);
	now_ns = window.clock != NULL ? window.clock() : 0;
	while (cupti->next_record(buffer, valid, &record) == CUPTI_DONE)
	{
		uint32_t kind = bytes_u32_at(record, 0);
		bool is_kernel = kind == CUPTI_KERNEL || kind == CUPTI_CONCURRENT_KERNEL;
		bool is_copy = kind == CUPTI_MEMCPY || kind == CUPTI_MEMCPY_PEER || kind == CUPTI_MEMSET;

		/* kernels that come too late have made their launch an unmatched one */
		if (window.taking == 0)
			window.late += is_copy;
		else if (is_kernel)
			take_kernel(record, now_ns);
		else if (is_copy)
			take_copy(record, kind, now_ns);
	}
	pthread_mutex_unlock(&window.mutex);
}

void
window_note_dropped(size_t records)
{
	atomic_fetch_add_explicit(&window.dropped, records, memory_order_relaxed);
}
