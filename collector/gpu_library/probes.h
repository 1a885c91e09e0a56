/*
 * probes.h
 *		The functions at which the BPF programs of the collector are called, and the counter of
 *		programs that are attached.
 */
#ifndef GPU_LIBRARY_PROBES_H
#define GPU_LIBRARY_PROBES_H

#include <stdint.h>

#include "gpu_rows.h"

/* Called by the thread that is about to launch work: the collector samples its stack. */
void pfs_gpu_launch(uint64_t correlation, uint64_t period);

/* Called with at most PFS_GPU_ROWS_MAX rows. */
void pfs_gpu_rows(const struct pfs_gpu_row *rows, uint64_t count);

/* The kernel counts this up for each program that is attached to one of the functions. */
extern volatile uint16_t pfs_gpu_semaphore __attribute__((visibility("default")));

#endif
