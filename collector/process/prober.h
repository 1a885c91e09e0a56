/*
 * prober.h
 *		Calls that may never return, made by threads that can be left behind.
 *
 * /proc of a process whose memory is locked, a file of a network or user-space file system: the
 * kernel answers when the process or the server does, and no signal but SIGKILL ends the wait. A
 * call that takes too long is left to its thread; another thread makes the next one.
 *
 * Threads that are left behind are counted for each device and for each owner of processes, so that
 * neither uses up the threads of all others: a device with PROBER_DEVICE_STUCK of them is not asked
 * before one has returned, nor is an owner with PROBER_OWNER_STUCK. Waiting is an account of each
 * owner: a call that does not return in time costs twenty times the wait, and one about a process
 * that returns, but sleeps for 5 ms, ten times. An owner that owes more than ten seconds is waited
 * for 5 ms at most. So an owner takes a tenth of its caller's time in the long run. Late answers of
 * a device alone cost nothing, because local disks are slow too, and all share them.
 */
#ifndef COLLECTOR_PROBER_H
#define COLLECTOR_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#define PROBER_STUCK		256
#define PROBER_OWNER_STUCK	32
#define PROBER_DEVICE_STUCK 4

typedef struct Prober Prober;

/* Who answers the call; zeroes where that is not known. */
typedef struct ProbeSubject
{
	uint64_t device; /* st_dev of the file system that is asked */
	uint64_t owner;	 /* who pays for it (process/owner.h) … */
	uint32_t pid;	 /* … otherwise the owner of this process, which is asked for if need be */
} ProbeSubject;

/* First member of a larger structure, which has what the call needs and gets. */
typedef struct Probe
{
	void (*run)(struct Probe *probe);
	/*
	 * In the caller's thread, as it gives up: takes out of the probe what is there already, and
	 * sets the device or the owner that does not answer, if run asks several. Run goes on
	 * meanwhile. May be NULL.
	 */
	void (*salvage)(struct Probe *probe);
	/* after a run that came too late: gives back what it got, and frees the probe */
	void (*discard)(struct Probe *probe);
	ProbeSubject subject;
	uint64_t owner; /* for whom a thread is left behind: set by the prober, or by salvage */
	/* the prober's */
	int state;
	struct Probe *next_stuck;
} Probe;

/* Threads are started as they are needed. 0 or -ENOMEM. */
int prober_create(Prober **prober);

/* Accepts NULL. Threads that are left behind end when their calls do, and nobody waits for them. */
void prober_free(Prober *prober);

/*
 * Runs the probe, and waits for it no longer than wait_ns; up to a second longer while its thread
 * waits for a processor. 0: it has run, and stays the caller's. -ETIMEDOUT: it is the prober's, and
 * will be discarded. -EBUSY: likewise, because too many threads are left behind. Any thread; no
 * lock that another thread needs may be held.
 */
int prober_run(Prober *prober, Probe *probe, uint64_t wait_ns);

/*
 * Has the device as many threads left behind as it may? Asked by a probe that runs, before each of
 * several devices; true is counted.
 */
bool prober_avoids(Prober *prober, uint64_t device);

/* Like prober_avoids(), but for an owner (process/owner.h). Not counted. */
bool prober_avoids_owner(Prober *prober, uint64_t owner);

/* Threads that were left behind, and wait still. */
uint32_t prober_stuck(Prober *prober);

/* Times that a call did not return in time, or was not made because of others that had not. */
uint64_t prober_timeouts(Prober *prober);

#endif
