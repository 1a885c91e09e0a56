/*
 * patience.h
 *		A prober of one thread, and the descriptors that still have to be closed.
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
 * Backoff for a file or process that did not answer, because each attempt may leave a blocked
 * thread behind: 2.5 s, then four times as long after each failure, up to 11 minutes. A failure
 * counts as the first one if it comes more than a further pause after the backoff: on a busy
 * machine a process may hold a lock merely because it waits for a CPU. A zeroed structure has no
 * failure.
 */
typedef struct Stall
{
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	uint64_t length_ns;
} Stall;

void stall_note(Stall *stall, uint64_t now_ns);

int patience_init(Patience *patience); /* returns 0 or -ENOMEM */
void patience_fini(Patience *patience);

/* Like prober_run(), but counts timeouts. */
int patience_run(Patience *patience, Probe *probe, uint64_t wait_ns);

/*
 * Closes a descriptor whose file system may block the close. If no thread is available, the
 * descriptor stays open, and a later call tries again.
 */
void patience_close(Patience *patience, int fd);

/* Which files may be opened while other files wait to be closed. */
typedef enum PatienceRoom
{
	PATIENCE_ROOM_NONE,
	PATIENCE_ROOM_KERNEL, /* files of file systems that the kernel serves */
	PATIENCE_ROOM_ALL,
} PatienceRoom;

/*
 * Returns which files of a device (0 if not known) may be opened. A device with
 * PATIENCE_DEVICE_OPEN_MAX descriptors to close gets no more; once PATIENCE_OPEN_MAX descriptors
 * wait in total, FUSE file systems get no more. Otherwise file systems that do not answer could use
 * up the descriptors of this process. First tries to close some.
 */
PatienceRoom patience_room(Patience *patience, uint64_t device);

/*
 * Like patience_close(), but waits for up to wait_ns. Returns false if no thread was available; the
 * descriptor then is still open and belongs to the caller.
 */
bool patience_try_close(Patience *patience, int fd, uint64_t wait_ns);
#define PATIENCE_CLOSE_NS UINT64_C(50000000) /* suitable for a regular file */

#endif
