/*
 * budget.h
 *		How long to pause after a window so that observing costs a given part of the program's time.
 *
 * The costs were measured on an H100 with CUPTI 13.0: of a launch with callback and activity, of a
 * kernel of a graph, and of a launch whose stack the collector's BPF program walks.
 */
#ifndef GPU_LIBRARY_BUDGET_H
#define GPU_LIBRARY_BUDGET_H

#include <stdint.h>

#define BUDGET_LAUNCH_NS	   2100.0
#define BUDGET_GRAPH_KERNEL_NS 500.0
#define BUDGET_KEPT_NS		   3000.0
#define BUDGET_PAUSE_MAX_NS	   UINT64_C(10000000000)

/* Counts of a window, from which the budget is computed. */
typedef struct BudgetedWindow
{
	uint64_t observed_ns;
	uint64_t launches; /* launches and copies */
	uint64_t graph_kernels;
	uint64_t kept;
} BudgetedWindow;

/*
 * Returns the pause. share is the part of the program's time that may be spent; draw is a random
 * number. A pause is at least as long as the window, so that other profilers find a gap, and CUPTI
 * is switched seldom.
 */
static inline uint64_t
budget_pause_ns(const BudgetedWindow *window, double share, uint32_t draw)
{
	double cost_ns = (double) window->launches * BUDGET_LAUNCH_NS +
					 (double) window->graph_kernels * BUDGET_GRAPH_KERNEL_NS +
					 (double) window->kept * BUDGET_KEPT_NS;
	double jitter = 0.5 + (double) draw / 4294967296.0;
	double pause_ns = cost_ns / share - (double) window->observed_ns;

	if (pause_ns < (double) window->observed_ns)
		pause_ns = (double) window->observed_ns;
	pause_ns *= jitter;
	return pause_ns < (double) BUDGET_PAUSE_MAX_NS ? (uint64_t) pause_ns : BUDGET_PAUSE_MAX_NS;
}

#endif
