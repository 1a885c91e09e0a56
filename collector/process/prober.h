/*
 * prober.h
 *		Makes calls that may never return, on threads that can be left behind.
 *
 * /proc of a process whose memory is locked, or a file of NFS or FUSE, answers only when the
 * process or server does, and only SIGKILL ends the wait. A call that takes too long is abandoned
 * together with its thread; another thread makes the next call.
 *
 * Abandoned threads are counted for each device and for each owner of processes, so that neither
 * can use up the threads of the others: a device with PROBER_DEVICE_STUCK of them, or an owner with
 * PROBER_OWNER_STUCK, is not asked until one returns. Each owner has an account of waiting time: a
 * call that times out costs twenty times the wait; a call about a process that answers after
 * sleeping for 5 ms costs ten times. For an owner that owes more than ten seconds, waits are
 * limited to 5 ms. So in the long run an owner can take a tenth of its caller's time. Late answers
 * of a device cost nothing, because local disks can be slow and all owners share them.
 */
#ifndef COLLECTOR_PROBER_H
#define COLLECTOR_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#define PROBER_STUCK		256
#define PROBER_OWNER_STUCK	32
#define PROBER_DEVICE_STUCK 4

typedef struct Prober Prober;

/* The object that must answer the call; zero if not known. */
typedef struct ProbeSubject
{
	uint64_t device; /* st_dev of the file system that is asked */
	uint64_t owner;	 /* owner that pays (process/owner.h) … */
	uint32_t pid; /* … or, if that is 0, a process whose owner is determined when it is needed */
} ProbeSubject;

/* The first member of a larger structure with the arguments and results of the call. */
typedef struct Probe
{
	void (*run)(struct Probe *probe);
	/*
	 * Called in the caller's thread when it gives up, while run may still be running. Copies
	 * finished results out of the probe. If run asks several devices or owners, sets the one that
	 * does not answer. May be NULL.
	 */
	void (*salvage)(struct Probe *probe);
	/* called after an abandoned run has returned: releases the results and frees the probe */
	void (*discard)(struct Probe *probe);
	ProbeSubject subject;
	uint64_t owner; /* owner of the abandoned thread; set by the prober or by salvage */
	/* private to the prober */
	int state;
	struct Probe *next_stuck;
} Probe;

/* Makes a prober; threads are started when needed. 0 or -ENOMEM. */
int prober_create(Prober **prober);

/* Accepts NULL. Abandoned threads end when their calls return; nobody waits for them. */
void prober_free(Prober *prober);

/*
 * Runs the probe and waits for up to wait_ns, or 20 seconds longer while its thread waits for a CPU
 * and has not used a second of one. Returns 0 if it has run; the probe belongs to the caller. After
 * -ETIMEDOUT, or -EBUSY if too many threads are abandoned, it belongs to the prober, which will
 * discard it. Any thread; the caller must not hold a lock that other threads need.
 */
int prober_run(Prober *prober, Probe *probe, uint64_t wait_ns);

/*
 * Returns whether the device has reached its limit of abandoned threads; a refusal is counted. For
 * probes that ask several devices, before each of them.
 */
bool prober_avoids(Prober *prober, uint64_t device);

/* Like prober_avoids(), but for an owner (process/owner.h), and not counted. */
bool prober_avoids_owner(Prober *prober, uint64_t owner);

/* Number of abandoned threads that have not returned yet. */
uint32_t prober_stuck(Prober *prober);

/* Number of calls that timed out or were refused because of abandoned threads. */
uint64_t prober_timeouts(Prober *prober);

#endif
