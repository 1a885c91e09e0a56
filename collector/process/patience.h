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

#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "process/prober.h"

/* Belongs to one thread. */
typedef struct Patience
{
	Prober *prober; /* owned */
	Allowance stalls;
	uint64_t timeouts;
	int *open; /* descriptors that are still to be closed */
	size_t open_count;
	size_t open_room;
} Patience;

/*
 * What did not answer is left alone, for 10 s and then each time four times as long, 11 minutes at
 * most: asking leaves a thread behind. Zeroed: it was never asked.
 */
typedef struct Stall
{
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	uint64_t length_ns;
} Stall;

void stall_note(Stall *stall, uint64_t now_ns);

int patience_init(Patience *patience); /* 0 or -ENOMEM */
void patience_fini(Patience *patience);

/* As prober_run, where wait_ns is the most that is waited. */
int patience_run(Patience *patience, Probe *probe, uint64_t wait_ns);

/*
 * Closes a descriptor of a file: its file system may want to know of it, and let who closes wait.
 * Where no thread can be had it stays open until the next one is closed.
 */
void patience_close(Patience *patience, int fd);

#endif
