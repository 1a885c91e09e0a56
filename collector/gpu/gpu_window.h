/*
 * gpu_window.h
 *		Decodes the rows that a program's GPU library hands over: windows, names, devices.
 *
 * The program may send anything. What contradicts itself is refused, and counted. A decoder belongs
 * to one process.
 */
#ifndef COLLECTOR_GPU_WINDOW_H
#define COLLECTOR_GPU_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_rows.h"

/* A window with its rows of the kinds KERNELS, KEPT, COPIES and SETS. */
typedef struct GpuWindow
{
	struct pfs_gpu_row head;
	struct pfs_gpu_row *rows;
	uint32_t count;
} GpuWindow;

/*
 * Functions that receive windows, names and devices. Texts are not terminated, and may have any
 * bytes but 0.
 */
typedef struct GpuWindowSink
{
	void *context;
	/* The sink owns the rows, and frees them. Their memory is that of the window's count. */
	void (*window)(void *context, const GpuWindow *window);
	void (*name)(void *context, uint32_t number, const char *text, uint32_t length);
	void (*device)(void *context, uint32_t device, const uint8_t uuid[PFS_GPU_UUID_BYTES]);
} GpuWindowSink;

typedef struct GpuDecoder
{
	GpuWindow window;
	uint32_t left;		 /* rows of the window that did not arrive yet */
	uint64_t refused;	 /* windows and rows that were not believed, or are incomplete */
	uint64_t busy;		 /* attempts that found another profiler */
	uint64_t since_ns;	 /* time for which windows stood so far */
	uint64_t began_ns;	 /* CLOCK_MONOTONIC of the first window's begin, as far as is known */
	uint32_t name;		 /* the name whose parts arrive */
	uint32_t name_bytes; /* bytes that have arrived */
	uint32_t name_length;
	char text[PFS_GPU_NAME_BYTES];
} GpuDecoder;

/* Decodes rows that arrived together at now_ns (CLOCK_MONOTONIC). */
void gpu_decoder_feed(GpuDecoder *decoder, const struct pfs_gpu_row *rows, size_t count,
					  uint64_t now_ns, const GpuWindowSink *sink);

/* Frees an incomplete window. */
void gpu_decoder_fini(GpuDecoder *decoder);

/* Returns the memory of the window that is not complete. */
size_t gpu_decoder_bytes(const GpuDecoder *decoder);

#endif
