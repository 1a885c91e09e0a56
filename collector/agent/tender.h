/*
 * tender.h
 *		A thread for work that a sampled process can delay: reading the stacks of waiting threads,
 *		and attaching probes to libraries that processes map.
 *
 * No thread waits for this one while the agent runs. If it is delayed, ongoing waits are stored
 * later, and in a later window.
 */
#ifndef COLLECTOR_TENDER_H
#define COLLECTOR_TENDER_H

#include <stdint.h>

#include "kernel/sampler.h"

typedef struct Tender Tender;

/* Starts the thread, which tends the sampler at the end of each interval. Returns 0 or -errno. */
int tender_start(Sampler *sampler, int64_t interval_ns, Tender **tender);

/* Accepts NULL. Waits until the current work is finished. */
void tender_stop(Tender *tender);

/* Changes the length of the interval. Any thread. */
void tender_set_interval(Tender *tender, int64_t interval_ns);

/*
 * Returns how long the thread has worked on its current task; 0 if it waits or does not exist. Any
 * thread.
 */
int64_t tender_busy_ms(const Tender *tender);

#endif
