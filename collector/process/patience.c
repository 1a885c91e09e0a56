/*
 * patience.c
 *		Counts the timeouts of one thread's probes, and closes descriptors whose close may block.
 */
#include "process/patience.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

#define CLOSE_AGAIN	 16 /* number of retries of pending closes in one call */
#define STALL_NS	 (5 * NS_PER_S / 2)
#define STALL_MAX_NS (256 * STALL_NS)

void
stall_note(Stall *stall, uint64_t now_ns)
{
	bool is_again = stall->length_ns != 0 && now_ns < stall->until_ns + stall->length_ns;

	stall->length_ns = is_again ? MIN(4 * stall->length_ns, STALL_MAX_NS) : STALL_NS;
	stall->until_ns = now_ns + stall->length_ns;
}

int
patience_init(Patience *patience)
{
	*patience = (Patience){ .timeouts = 0 };
	return prober_create(&patience->prober);
}

void
patience_fini(Patience *patience)
{
	prober_free(patience->prober);
	free(patience->open);
	*patience = (Patience){ .timeouts = patience->timeouts };
}

int
patience_run(Patience *patience, Probe *probe, uint64_t wait_ns)
{
	int result = prober_run(patience->prober, probe, wait_ns);

	if (result != 0)
		patience->timeouts++;
	return result;
}

typedef struct CloseProbe
{
	Probe probe;
	bool *kept; /* points to the caller's flag, which is invalid after run returns */
	int fd;
	bool ran;
} CloseProbe;

static void
run_close(Probe *probe)
{
	CloseProbe *closing = (CloseProbe *) probe;

	closing->ran = true;
	close(closing->fd);
}

/* Keeps a descriptor in the list of those to close later. Returns false on out of memory. */
static bool
keep_open(Patience *patience, int fd)
{
	if (grow_array(&patience->open, &patience->open_room, patience->open_count,
				   sizeof(*patience->open)) != 0)
		return false;
	patience->open[patience->open_count++] = fd;
	return true;
}

/* Runs in the caller's thread if the probe's thread has not begun run_close(). */
static void
discard_close(Probe *probe)
{
	CloseProbe *closing = (CloseProbe *) probe;

	if (!closing->ran)
		*closing->kept = true;
	free(closing);
}

/*
 * Returns the device of a file from the kernel's cache, without asking its server; 0 if not known.
 */
static uint64_t
device_of(int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0)
		return 0;
	return makedev(status.stx_dev_major, status.stx_dev_minor);
}

/*
 * Closes a descriptor and returns like prober_run(). Sets *kept if the descriptor is still open and
 * no thread is closing it.
 */
static int
close_one(Patience *patience, int fd, uint64_t wait_ns, bool *kept)
{
	CloseProbe *closing = calloc(1, sizeof(*closing));
	int result;

	*kept = false;
	/* out of memory, a close that may block is better than a leak of descriptors */
	if (closing == NULL)
	{
		close(fd);
		return 0;
	}
	closing->probe =
		(Probe){ .run = run_close, .discard = discard_close, .subject.device = device_of(fd) };
	closing->kept = kept;
	closing->fd = fd;
	result = patience_run(patience, &closing->probe, wait_ns);
	/* otherwise the probe belongs to the prober */
	if (result == 0)
		free(closing);
	return result;
}

/* Like close_one(), but keeps a descriptor that is still open in the list. */
static int
close_or_keep(Patience *patience, int fd)
{
	bool kept;
	int result = close_one(patience, fd, PATIENCE_CLOSE_NS, &kept);

	/* out of memory, a close that may block is better than a leak of descriptors */
	if (kept && !keep_open(patience, fd))
		close(fd);
	return result;
}

bool
patience_try_close(Patience *patience, int fd, uint64_t wait_ns)
{
	bool kept;

	(void) close_one(patience, fd, wait_ns, &kept);
	return !kept;
}

/* Closes some of the descriptors in the list, until one times out. */
static void
close_again(Patience *patience)
{
	size_t left = MIN(patience->open_count, CLOSE_AGAIN);
	int result = 0;

	/* oldest first; a descriptor whose device is still avoided goes to the end of the list */
	for (; result != -ETIMEDOUT && left > 0; left--)
	{
		int oldest = patience->open[0];

		patience->open_count--;
		memmove(patience->open, patience->open + 1, patience->open_count * sizeof(int));
		result = close_or_keep(patience, oldest);
	}
}

void
patience_close(Patience *patience, int fd)
{
	/* a close that timed out has cost its time already; the others wait for a later call */
	if (close_or_keep(patience, fd) != -ETIMEDOUT)
		close_again(patience);
}

static bool
device_is_full(const Patience *patience, uint64_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < patience->open_count; i++)
		count += device_of(patience->open[i]) == device;
	return device != 0 && count >= PATIENCE_DEVICE_OPEN_MAX;
}

PatienceRoom
patience_room(Patience *patience, uint64_t device)
{
	PatienceRoom room = PATIENCE_ROOM_ALL;

	if (patience->open_count >= PATIENCE_OPEN_MAX || device_is_full(patience, device))
		close_again(patience);
	/* close_again() may have made room */
	if (device_is_full(patience, device))
		room = PATIENCE_ROOM_NONE;
	else if (patience->open_count >= PATIENCE_OPEN_MAX)
		room = PATIENCE_ROOM_KERNEL;
	patience->timeouts += room == PATIENCE_ROOM_NONE;
	return room;
}
