/*
 * patience.h
 *		Probes of what others answer for, waited for with less patience where waiting adds up.
 *
 * Who does not answer in time costs twenty times what was waited; where ten seconds of that are
 * owed everybody is waited for 5 ms at most until they are worked off. So what does not answer
 * holds the caller up for some seconds at once, and for a twentieth of its time in the long run.
 */
#ifndef COLLECTOR_PATIENCE_H
#define COLLECTOR_PATIENCE_H

#include <stdint.h>

#include "base/allowance.h"
#include "process/prober.h"

/* Belongs to one thread. */
typedef struct Patience
{
	Prober *prober; /* owned */
	Allowance stalls;
	uint64_t timeouts;
} Patience;

int patience_init(Patience *patience); /* 0 or -ENOMEM */
void patience_fini(Patience *patience);

/* As prober_run, where wait_ns is the most that is waited. */
int patience_run(Patience *patience, Probe *probe, uint64_t wait_ns);

#endif
