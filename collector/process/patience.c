/*
 * patience.c
 *		How long a probe is waited for.
 */
#include "process/patience.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

#define NS_PER_S	 UINT64_C(1000000000)
#define WAIT_LESS_NS (NS_PER_S / 200)
#define COST		 20 /* times what was waited */
#define BURST_NS	 (10 * NS_PER_S)
#define CLOSE_NS	 (NS_PER_S / 20)
#define STALL_NS	 (10 * NS_PER_S)
#define STALL_MAX_NS (64 * STALL_NS)

void
stall_note(Stall *stall, uint64_t now_ns)
{
	stall->length_ns = stall->length_ns == 0 ? STALL_NS : MIN(4 * stall->length_ns, STALL_MAX_NS);
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
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	int result;

	if (patience->stalls.paid_ns > now_ns + BURST_NS)
		wait_ns = MIN(wait_ns, WAIT_LESS_NS);
	result = prober_run(patience->prober, probe, wait_ns);
	if (result != 0)
		patience->timeouts++;
	if (result == -ETIMEDOUT)
		(void) allowance_take(&patience->stalls, now_ns,
							  COST * ((uint64_t) clock_ns(CLOCK_MONOTONIC) - now_ns),
							  BURST_NS + COST * WAIT_LESS_NS);
	return result;
}

typedef struct CloseProbe
{
	Probe probe;
	Patience *patience; /* not to be used once it has run */
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

/* False without memory. */
static bool
keep_open(Patience *patience, int fd)
{
	if (grow_array(&patience->open, &patience->open_room, patience->open_count,
				   sizeof(*patience->open)) != 0)
		return false;
	patience->open[patience->open_count++] = fd;
	return true;
}

/* In the caller's thread where it has not run. */
static void
discard_close(Probe *probe)
{
	CloseProbe *closing = (CloseProbe *) probe;

	if (!closing->ran && !keep_open(closing->patience, closing->fd))
		close(closing->fd);
	free(closing);
}

/* False where that was not done in time. */
static bool
close_one(Patience *patience, int fd)
{
	CloseProbe *closing = calloc(1, sizeof(*closing));
	int result;

	if (closing == NULL)
	{
		close(fd);
		return true;
	}
	closing->probe = (Probe){ .run = run_close, .discard = discard_close };
	closing->patience = patience;
	closing->fd = fd;
	result = patience_run(patience, &closing->probe, CLOSE_NS);
	if (result == 0)
		free(closing);
	return result == 0;
}

void
patience_close(Patience *patience, int fd)
{
	bool closes = close_one(patience, fd);

	for (size_t left = patience->open_count; closes && left > 0; left--)
		closes = close_one(patience, patience->open[--patience->open_count]);
}
