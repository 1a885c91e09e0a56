/*
 * window.h
 *		A window: the launches that were observed from its start to its end, and the kernels and
 *		copies of which CUPTI then reports.
 *
 * Only what certainly belongs to the window is counted, because CUPTI reports wrong times for
 * kernels of graphs that run while activity is switched on: kernels of launches before the window
 * are left out, and those that began before it, or whose launch was not seen in it, are refused.
 */
#ifndef GPU_LIBRARY_WINDOW_H
#define GPU_LIBRARY_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_library/cupti.h"
#include "gpu_library/row_table.h"

/* Of this number of launches, one is kept on average; each launch is decided at random. */
typedef struct KeptPeriods
{
	uint32_t launches;
	uint32_t graphs;
} KeptPeriods;

typedef struct WindowTotals
{
	uint64_t launches; /* of kernels and graphs */
	uint64_t graphs;
	uint64_t kept;
	uint64_t matched; /* launches of which a kernel was reported */
	uint64_t graph_kernels;
	uint64_t copies;
	uint64_t refused;
	uint64_t dropped; /* records that CUPTI has lost */
	uint64_t last_ns; /* when the last record was counted, by clock */
	RowTable sums;
	RowTable kept_rows;
} WindowTotals;

/*
 * Thread that opens and finishes windows. clock is the one of the times that CUPTI reports, and
 * must be valid as long as the process lives.
 */
void window_open(CuptiClock clock, uint64_t seed, const KeptPeriods *periods);

/* Ends the observation of launches; records are still taken. */
void window_close(void);

/* Like window_close(), and takes no more records. The tables are valid until the next window. */
void window_finish(WindowTotals *totals);

/*
 * Returns the number of launches of which no kernel has been reported so far. *has_graphs is set if
 * there were launches of graphs, of which any number of kernels may still follow.
 */
uint64_t window_outstanding(uint64_t *last_ns, bool *has_graphs);

/*
 * Any thread, without a lock. Notes a launch, and returns whether it is kept, with its period.
 */
bool window_note_launch(uint32_t correlation, bool is_graph, uint32_t *period);

/* Any thread. Counts the records of a buffer. */
void window_take_records(const Cupti *cupti, uint8_t *buffer, size_t valid);
void window_note_dropped(size_t records);

#endif
