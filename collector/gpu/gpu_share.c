/*
 * gpu_share.c
 *		Divides kernels among launches.
 */
#include "gpu/gpu_share.h"

#include <stdlib.h>

uint64_t
gpu_share_scaled(const GpuWindow *window, uint64_t value)
{
	return (uint64_t) ((double) value * (double) window->head.window.since_ns /
						   (double) window->head.window.observed_ns +
					   0.5);
}

/*
 * Compares rows. Rows of kernels come first: those of one kernel side by side, its sums first. Rows
 * that have no stack come last.
 */
static int
compare_rows(const void *a, const void *b)
{
	const struct pfs_gpu_row *left = a;
	const struct pfs_gpu_row *right = b;
	bool left_last = left->kind > PFS_GPU_ROW_KEPT;
	bool right_last = right->kind > PFS_GPU_ROW_KEPT;

	if (left_last != right_last)
		return left_last ? 1 : -1;
	if (left->name != right->name)
		return left->name < right->name ? -1 : 1;
	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	if (left->stream != right->stream)
		return left->stream < right->stream ? -1 : 1;
	if (left->graph != right->graph)
		return left->graph < right->graph ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

/*
 * A kernel in graphs and by itself counts as two, because launches of graphs are kept with a period
 * of their own: a kept one stands for another number of launches.
 */
static bool
is_one_kernel(const struct pfs_gpu_row *left, const struct pfs_gpu_row *right)
{
	return left->name == right->name && left->device == right->device &&
		   left->stream == right->stream && left->graph == right->graph;
}

/*
 * Divides the sum of the rows first to end - 1, which belong to one kernel. Rounding errors do not
 * add up: each launch gets the difference of two rounded running sums.
 */
static void
share_kernel(const GpuWindow *window, uint32_t first, uint32_t end, const GpuShareSink *sink)
{
	GpuShare share = { GPU_SHARE_NO_LAUNCH, window->rows[first].name, window->rows[first].stream,
					   window->rows[first].device, 0 };
	uint64_t sum_ns = 0;
	uint64_t kept_ns = 0;
	uint64_t passed_ns = 0;
	uint64_t given_ns = 0;

	for (uint32_t i = first; i < end; i++)
	{
		const struct pfs_gpu_row *row = &window->rows[i];

		if (row->kind == PFS_GPU_ROW_KERNELS)
			sum_ns += row->ns;
		else if (sink->has_stack(sink->context, row))
			kept_ns += row->ns;
	}
	sum_ns = gpu_share_scaled(window, sum_ns);
	for (uint32_t i = first; i < end && kept_ns > 0; i++)
	{
		const struct pfs_gpu_row *row = &window->rows[i];
		uint64_t until_ns;

		if (row->kind != PFS_GPU_ROW_KEPT || !sink->has_stack(sink->context, row))
			continue;
		passed_ns += row->ns;
		until_ns = passed_ns == kept_ns
					   ? sum_ns
					   : (uint64_t) ((double) sum_ns * ((double) passed_ns / (double) kept_ns));
		share.launch = i;
		share.ns = until_ns - given_ns;
		given_ns = until_ns;
		if (share.ns > 0)
			sink->add(sink->context, &share);
	}
	if (kept_ns > 0 || sum_ns == 0)
		return;
	share.ns = sum_ns;
	sink->add(sink->context, &share);
}

void
gpu_share_window(GpuWindow *window, bool by_stream, const GpuShareSink *sink)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < window->count && !by_stream; i++)
		window->rows[i].stream = 0;
	if (window->count > 1)
		qsort(window->rows, window->count, sizeof(*window->rows), compare_rows);
	while (first < window->count && window->rows[first].kind <= PFS_GPU_ROW_KEPT)
	{
		uint32_t end = first + 1;

		while (end < window->count && window->rows[end].kind <= PFS_GPU_ROW_KEPT &&
			   is_one_kernel(&window->rows[first], &window->rows[end]))
			end++;
		share_kernel(window, first, end, sink);
		first = end;
	}
}
