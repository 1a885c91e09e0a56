/*
 * fuzz_gpu_rows.c
 *		Fuzzes the decoder of the rows that programs' GPU libraries send, and the division of their
 *		windows.
 *
 * The parts of each kernel must add up to its scaled sum.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_share.h"

static uint64_t shared_ns;

static bool
fuzz_has_stack(void *context, const struct pfs_gpu_row *row)
{
	(void) context;
	return row->correlation % 3 != 0;
}

static void
fuzz_add_share(void *context, const GpuShare *share)
{
	const GpuWindow *window = context;

	if (share->launch != GPU_SHARE_NO_LAUNCH && share->launch >= window->count)
		abort();
	shared_ns += share->ns;
}

static void
fuzz_window(void *context, const GpuWindow *window)
{
	GpuWindow shared = *window;
	const GpuShareSink sink = { &shared, fuzz_has_stack, fuzz_add_share };
	uint64_t sum_ns = 0;

	(void) context;
	shared_ns = 0;
	gpu_share_window(&shared, true, &sink);
	/* kernels are rounded one by one */
	for (uint32_t i = 0; i < shared.count; i++)
	{
		sum_ns += shared.rows[i].kind == PFS_GPU_ROW_KERNELS ? shared.rows[i].ns : 0;
		if ((double) shared.rows[i].bytes * (double) shared.head.window.since_ns /
				(double) shared.head.window.observed_ns >=
			9.2e18)
			abort();
	}
	sum_ns = gpu_share_scaled(&shared, sum_ns);
	if (shared_ns > sum_ns + shared.count + sum_ns / 1000000 ||
		shared_ns + shared.count + sum_ns / 1000000 < sum_ns)
	{
		/* a kept launch of a kernel without a sum gets nothing */
		abort();
	}
	free(shared.rows);
}

static void
fuzz_name(void *context, uint32_t number, const char *text, uint32_t length)
{
	char copy[PFS_GPU_NAME_BYTES];

	(void) context;
	if (number == 0 || number >= PFS_GPU_NAMES_MAX || length == 0 || length > sizeof(copy) ||
		memchr(text, '\0', length) != NULL)
		abort();
	memcpy(copy, text, length);
}

static void
fuzz_device(void *context, uint32_t device, const uint8_t uuid[PFS_GPU_UUID_BYTES])
{
	uint8_t copy[PFS_GPU_UUID_BYTES];

	(void) context;
	memcpy(copy, uuid, sizeof(copy));
	if (device >= PFS_GPU_DEVICES_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const GpuWindowSink sink = { NULL, fuzz_window, fuzz_name, fuzz_device };
	GpuDecoder decoder = { 0 };
	size_t count = size / sizeof(struct pfs_gpu_row);
	struct pfs_gpu_row *rows = malloc(count * sizeof(*rows) + 1);

	if (rows == NULL)
		return 0;
	memcpy(rows, data, count * sizeof(*rows));
	for (size_t i = 0; i < count; i += PFS_GPU_ROWS_MAX)
		gpu_decoder_feed(&decoder, rows + i,
						 count - i < PFS_GPU_ROWS_MAX ? count - i : PFS_GPU_ROWS_MAX,
						 UINT64_C(100000000000) + i, &sink);
	gpu_decoder_fini(&decoder);
	free(rows);
	return 0;
}
