/*
 * gpu_window.c
 *		Decodes the rows of programs' GPU libraries.
 */
#include "gpu/gpu_window.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* Limits of a valid report: a library observes for a second and awaits its kernels for 5 s. */
#define OBSERVED_MIN_NS UINT64_C(1000000)
#define OBSERVED_MAX_NS UINT64_C(3000000000)
#define AWAITED_NS		UINT64_C(10000000000)
/* kernels that a device runs at a time, and the time in which windows arrive late */
#define STREAMS_MAX		128
#define LATE_NS			UINT64_C(15000000000)
#define COUNT_MAX		(UINT64_C(1) << 40)
/* A window's values are multiplied by at most 30,000, and must then be below 2^63. */
#define BYTES_MAX		(UINT64_C(1) << 48)

/*
 * Returns whether a window stands for time that has passed. Windows of a process that claim more
 * time than has passed since its first one would make its sums as large as it likes.
 */
static bool
window_claims_past_time(GpuDecoder *decoder, const struct pfs_gpu_row *head, uint64_t now_ns)
{
	uint64_t since_ns = decoder->since_ns + head->window.since_ns;

	if (decoder->began_ns == 0)
		decoder->began_ns = now_ns > head->window.since_ns ? now_ns - head->window.since_ns : 1;
	if (since_ns > now_ns - MIN(now_ns, decoder->began_ns) + LATE_NS)
		return false;
	decoder->since_ns = since_ns;
	return true;
}

static bool
head_is_possible(const struct pfs_gpu_row *head)
{
	return head->window.observed_ns >= OBSERVED_MIN_NS &&
		   head->window.observed_ns <= OBSERVED_MAX_NS &&
		   head->window.since_ns >= head->window.observed_ns &&
		   head->window.since_ns <= PFS_GPU_SINCE_MAX_NS &&
		   head->window.length_ns >= head->window.observed_ns &&
		   head->window.length_ns <= head->window.observed_ns + AWAITED_NS &&
		   head->window.launches <= COUNT_MAX && head->window.rows <= PFS_GPU_WINDOW_ROWS;
}

/* Begins a window. A window that is not complete by then is dropped. */
static void
decoder_begin_window(GpuDecoder *decoder, const struct pfs_gpu_row *head, uint64_t now_ns)
{
	GpuWindow *window = &decoder->window;

	decoder->refused += decoder->left > 0;
	decoder->left = 0;
	decoder->busy += MIN(head->name, 1);
	if (head->window.rows == 0 && head->window.observed_ns == 0)
	{
		decoder->refused += MIN(head->correlation, 1);
		return;
	}
	if (!head_is_possible(head) || !window_claims_past_time(decoder, head, now_ns))
	{
		decoder->refused++;
		return;
	}
	free(window->rows);
	window->count = 0;
	window->head = *head;
	window->rows = calloc(MAX(head->window.rows, 1), sizeof(*window->rows));
	if (window->rows == NULL)
		decoder->refused++;
	else
		/* a window without rows is complete at once, which left counts with one */
		decoder->left = head->window.rows + 1;
}

static bool
row_is_possible(const struct pfs_gpu_row *row, uint64_t length_ns)
{
	bool is_kernel = row->kind == PFS_GPU_ROW_KERNELS || row->kind == PFS_GPU_ROW_KEPT;

	return row->device < PFS_GPU_DEVICES_MAX && row->count <= COUNT_MAX &&
		   row->ns <= length_ns * STREAMS_MAX && row->bytes <= BYTES_MAX &&
		   row->name < (is_kernel ? PFS_GPU_NAMES_MAX : PFS_GPU_COPY_COUNT);
}

/* Adds a part of a name; parts arrive in order. */
static void
decoder_add_name(GpuDecoder *decoder, const struct pfs_gpu_row *row, const GpuWindowSink *sink)
{
	uint32_t offset = row->part.offset;
	uint32_t length = row->part.length;
	uint32_t bytes;

	if (row->name == PFS_GPU_OTHER_NAME || row->name >= PFS_GPU_NAMES_MAX || length == 0 ||
		length > PFS_GPU_NAME_BYTES || offset >= length ||
		(offset != 0 && (row->name != decoder->name || offset != decoder->name_bytes ||
						 length != decoder->name_length)))
	{
		decoder->refused++;
		decoder->name = PFS_GPU_OTHER_NAME;
		return;
	}
	bytes = MIN(length - offset, PFS_GPU_NAME_PART);
	memcpy(decoder->text + offset, row->part.text, bytes);
	decoder->name = row->name;
	decoder->name_bytes = offset + bytes;
	decoder->name_length = length;
	if (decoder->name_bytes < length)
		return;
	decoder->name = PFS_GPU_OTHER_NAME;
	bytes = (uint32_t) strnlen(decoder->text, length);
	if (bytes > 0)
		sink->name(sink->context, row->name, decoder->text, bytes);
}

/* Returns whether the kernels of each device took no longer than it can have worked. */
static bool
sums_are_possible(const GpuWindow *window)
{
	uint64_t sums_ns[PFS_GPU_DEVICES_MAX] = { 0 };
	uint64_t limit_ns = window->head.window.length_ns * STREAMS_MAX;

	for (uint32_t i = 0; i < window->count; i++)
	{
		const struct pfs_gpu_row *row = &window->rows[i];

		/* a row is at most the limit, which is below 2^41, so that sums of 6,000 rows fit */
		if (row->kind != PFS_GPU_ROW_KEPT)
			sums_ns[row->device] += row->ns;
		if (sums_ns[row->device] > limit_ns)
			return false;
	}
	return true;
}

static void
decoder_end_window(GpuDecoder *decoder, const GpuWindowSink *sink)
{
	GpuWindow window = decoder->window;
	/* names and devices, which were announced as rows, need no room any more */
	struct pfs_gpu_row *rows = realloc(window.rows, MAX(window.count, 1) * sizeof(*rows));

	if (rows != NULL)
		window.rows = rows;
	decoder->window = (GpuWindow){ 0 };
	decoder->left = 0;
	if (sums_are_possible(&window))
		sink->window(sink->context, &window);
	else
	{
		decoder->refused++;
		free(window.rows);
	}
}

static void
decoder_add_row(GpuDecoder *decoder, const struct pfs_gpu_row *row, const GpuWindowSink *sink)
{
	GpuWindow *window = &decoder->window;

	if (row->kind == PFS_GPU_ROW_NAME)
		decoder_add_name(decoder, row, sink);
	else if (row->kind == PFS_GPU_ROW_DEVICE && row->device < PFS_GPU_DEVICES_MAX)
		sink->device(sink->context, row->device, row->uuid);
	else if (row->kind >= PFS_GPU_ROW_KERNELS && row->kind <= PFS_GPU_ROW_SETS &&
			 row_is_possible(row, window->head.window.length_ns))
		window->rows[window->count++] = *row;
	else
		decoder->refused++;
}

void
gpu_decoder_feed(GpuDecoder *decoder, const struct pfs_gpu_row *rows, size_t count, uint64_t now_ns,
				 const GpuWindowSink *sink)
{
	for (size_t i = 0; i < count; i++)
	{
		const struct pfs_gpu_row *row = &rows[i];

		if (row->version != PFS_GPU_ROW_VERSION)
			decoder->refused++;
		else if (row->kind == PFS_GPU_ROW_WINDOW)
			decoder_begin_window(decoder, row, now_ns);
		else if (decoder->left > 1)
		{
			decoder_add_row(decoder, row, sink);
			decoder->left--;
		}
		else
			decoder->refused++;
		if (decoder->left == 1)
			decoder_end_window(decoder, sink);
	}
}

size_t
gpu_decoder_bytes(const GpuDecoder *decoder)
{
	const GpuWindow *window = &decoder->window;

	return window->rows != NULL ? MAX(window->head.window.rows, 1) * sizeof(*window->rows) : 0;
}

void
gpu_decoder_fini(GpuDecoder *decoder)
{
	free(decoder->window.rows);
	decoder->window = (GpuWindow){ 0 };
	decoder->left = 0;
}
