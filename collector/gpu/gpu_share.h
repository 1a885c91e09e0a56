/*
 * gpu_share.h
 *		Divides the kernels of a window among the launches whose stacks are known.
 *
 * The sum of a kernel is exact: the library has counted all of its launches in the window, and the
 * window stands for the time since the one before. Only its parts by stack are estimates: each kept
 * launch gets a part in proportion to the time of its own kernels. Kernels of graphs are divided
 * among kept graphs, other kernels among other launches.
 */
#ifndef COLLECTOR_GPU_SHARE_H
#define COLLECTOR_GPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/gpu_window.h"

#define GPU_SHARE_NO_LAUNCH UINT32_MAX

/* A part of the time of one kernel. */
typedef struct GpuShare
{
	uint32_t launch; /* position of the kept launch's row in the window, or GPU_SHARE_NO_LAUNCH */
	uint32_t name;
	uint32_t stream;
	uint16_t device;
	uint64_t ns;
} GpuShare;

/* Scales a value of the observed time of a window to the time for which the window stands. */
uint64_t gpu_share_scaled(const GpuWindow *window, uint64_t value);

/* has_stack returns true if the stack of a kept launch is known; its answer must not change. */
typedef struct GpuShareSink
{
	void *context;
	bool (*has_stack)(void *context, const struct pfs_gpu_row *row);
	void (*add)(void *context, const GpuShare *share);
} GpuShareSink;

/*
 * Calls add for each part. The parts of a kernel add up to its scaled sum. Streams are kept
 * apart if by_stream is true; otherwise a part's stream is 0. The window's rows are reordered.
 */
void gpu_share_window(GpuWindow *window, bool by_stream, const GpuShareSink *sink);

#endif
