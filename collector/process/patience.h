/*
 * patience.h
 *		A prober of one thread, and descriptors that are closed by it.
 */
#ifndef COLLECTOR_PATIENCE_H
#define COLLECTOR_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/prober.h"

#define PATIENCE_DEVICE_OPEN_MAX 16
#define PATIENCE_OPEN_MAX		 256

/* Belongs to one thread. */
typedef struct Patience
{
	Prober *prober; /* owned */
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

/* Like prober_run(), but counts timeouts. */
int patience_run(Patience *patience, Probe *probe, uint64_t wait_ns);

/*
 * Closes a descriptor of a file, whose file system may want to know of it and let us wait. If no
 * thread may be had for that, it stays open and is tried again after a later one.
 */
void patience_close(Patience *patience, int fd);

/* Files that may be opened while others wait to be closed. */
typedef enum PatienceRoom
{
	PATIENCE_ROOM_NONE,
	PATIENCE_ROOM_KERNEL, /* those of file systems that the kernel itself serves */
	PATIENCE_ROOM_ALL,
} PatienceRoom;

/*
 * Returns the files of a device (0: of an unknown one) that may be opened. A device of which
 * PATIENCE_DEVICE_OPEN_MAX descriptors wait to be closed gets no more of them, and once
 * PATIENCE_OPEN_MAX wait in all, no program's file system does: descriptors are this process's, and
 * are not to be used up by file systems that do not answer. Tries to close some first.
 */
PatienceRoom patience_room(Patience *patience, uint64_t device);

/*
 * Like patience_close(), but waits no longer than wait_ns. False if no thread may be had for that:
 * the descriptor is still open, and the caller's.
 */
bool patience_try_close(Patience *patience, int fd, uint64_t wait_ns);
#define PATIENCE_CLOSE_NS UINT64_C(50000000) /* for a file */

#endif
