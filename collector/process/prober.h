/*
 * prober.h
 *		Makes calls that may never return, on threads that can be left behind.
 *
 * A read of /proc about a process whose memory is locked, or of a file on NFS or FUSE, returns only
 * when the process or server answers, and only SIGKILL ends the wait. A call that takes too long is
 * abandoned together with its thread, and another thread makes the next call.
 *
 * Abandoned threads are counted for each device and for each owner of processes, so that none can
 * use up the threads of the others: no call is made about a device with PROBER_DEVICE_STUCK of
 * them, or an owner with PROBER_OWNER_STUCK, until one returns. Each owner has an account of
 * waiting time. A call that times out is charged twenty times the wait. A call about a process that
 * answers, but only after sleeping for 5 ms, is charged ten times. For an owner that owes more than
 * ten seconds, waits are limited to 5 ms. So in the long run an owner can take a tenth of the
 * caller's time. Late answers of a device are not charged, because local disks can be slow and all
 * owners share them.
 */
#ifndef COLLECTOR_PROBER_H
#define COLLECTOR_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#define PROBER_STUCK		256
#define PROBER_OWNER_STUCK	32
#define PROBER_DEVICE_STUCK 4

typedef struct Prober Prober;

/* The device or owner that must answer the call; fields are 0 if not known. */
typedef struct ProbeSubject
{
	uint64_t device; /* st_dev of the file system that is asked */
	uint64_t owner;	 /* owner that is charged (process/owner.h) */
	uint32_t pid;	 /* if owner is 0: a process whose owner is determined when it is needed */
} ProbeSubject;

/* The first member of a larger structure with the arguments and results of the call. */
typedef struct Probe
{
	void (*run)(struct Probe *probe);
	/*
	 * Called in the caller's thread when it gives up; run may still be running. Copies finished
	 * results out of the probe. If run asks several devices or owners, sets the one that does not
	 * answer. May be NULL.
	 */
	void (*salvage)(struct Probe *probe);
	/* Called after an abandoned run has returned. Releases the results and frees the probe. */
	void (*discard)(struct Probe *probe);
	ProbeSubject subject;
	uint64_t owner; /* owner of the abandoned thread; set by the prober or by salvage */
	/* private to the prober */
	int state;
	struct Probe *next_stuck;
} Probe;

/* Makes a prober, which starts threads when they are needed. Returns 0 or -ENOMEM. */
int prober_create(Prober **prober);

/* Accepts NULL. Does not wait for abandoned threads; each ends when its call returns. */
void prober_free(Prober *prober);

/*
 * Runs the probe and waits for up to wait_ns; for up to 20 s longer while the probe's thread waits
 * for a CPU, until it has used a second of CPU time. Returns 0 if the probe has run; it belongs to
 * the caller. After -ETIMEDOUT, or -EBUSY if too many threads are abandoned, it belongs to the
 * prober, which will discard it. Any thread; the caller must not hold a lock that other threads
 * need.
 */
int prober_run(Prober *prober, Probe *probe, uint64_t wait_ns);

/*
 * Returns true, and counts a refusal, if the device has reached its limit of abandoned threads. A
 * probe that asks several devices calls it before each of them.
 */
bool prober_avoids(Prober *prober, uint64_t device);

/* Like prober_avoids(), but for an owner (process/owner.h), and without counting. */
bool prober_avoids_owner(Prober *prober, uint64_t owner);

/* Returns the number of abandoned threads that have not returned yet. */
uint32_t prober_stuck(Prober *prober);

/* Returns the number of calls that timed out, or were refused because of abandoned threads. */
uint64_t prober_timeouts(Prober *prober);

#endif
