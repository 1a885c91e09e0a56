/*
 * tender.h
 *		A thread for the work that may wait for whoever controls a process: stacks of threads that
 *		wait, probes in libraries that processes map.
 *
 * Nobody waits for it while the agent runs. If it is held up, waits that go on are told of later,
 * and belong to a later window.
 */
#ifndef COLLECTOR_TENDER_H
#define COLLECTOR_TENDER_H

#include <stdint.h>

#include "kernel/sampler.h"

typedef struct Tender Tender;

/* Waits are tended at the end of each interval. 0 or -errno. */
int tender_start(Sampler *sampler, int64_t interval_ns, Tender **tender);

/* Accepts NULL. Waits for the work at hand. */
void tender_stop(Tender *tender);

/* From now on. Any thread. */
void tender_set_interval(Tender *tender, int64_t interval_ns);

/* How long it has been at its piece of work; 0: it waits, or there is none. Any thread. */
int64_t tender_busy_ms(const Tender *tender);

#endif
