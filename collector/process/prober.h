/*
 * prober.h
 *		Calls that may never return, made by threads that can be left behind.
 *
 * /proc of a process whose memory is locked, a file of a network or user-space file system: the
 * kernel answers when whoever is asked does, and no signal short of the last one ends the wait. A
 * call that takes too long is left to its thread; another thread makes the next one.
 */
#ifndef COLLECTOR_PROBER_H
#define COLLECTOR_PROBER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Prober Prober;

/* First member of a larger structure, which has what the call needs and gets. */
typedef struct Probe
{
	void (*run)(struct Probe *probe);
	/*
	 * In the caller's thread, as it gives up: takes out of the probe what is there already. Run
	 * goes on meanwhile. May be NULL.
	 */
	void (*salvage)(struct Probe *probe);
	/* after a run that came too late: gives back what it got, and frees the probe */
	void (*discard)(struct Probe *probe);
	int state; /* the prober's */
} Probe;

/* Threads are started as they are needed. 0 or -ENOMEM. */
int prober_create(Prober **prober);

/* Accepts NULL. Threads that are left behind end when their calls do, and nobody waits for them. */
void prober_free(Prober *prober);

/*
 * Runs the probe, and waits for it so long; longer, up to a second, where the thread does not get a
 * processor. 0: it has run, and stays the caller's. -ETIMEDOUT: it
 * is the prober's, and will be discarded. -EBUSY: likewise, since too many threads are left behind.
 * One caller at a time.
 */
int prober_run(Prober *prober, Probe *probe, uint64_t wait_ns);

/* Threads that were left behind, and wait still. */
uint32_t prober_stuck(Prober *prober);

#endif
