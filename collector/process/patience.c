/*
 * patience.c
 *		How long a probe is waited for.
 */
#include "process/patience.h"

#include <errno.h>
#include <sys/param.h>

#include "base/clock.h"

#define NS_PER_S	 UINT64_C(1000000000)
#define WAIT_LESS_NS (NS_PER_S / 200)
#define COST		 20 /* times what was waited */
#define BURST_NS	 (10 * NS_PER_S)

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
	patience->prober = NULL;
}

int
patience_run(Patience *patience, Probe *probe, uint64_t wait_ns)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	int result;

	if (patience->stalls.paid_ns > now_ns + BURST_NS)
		wait_ns = MIN(wait_ns, WAIT_LESS_NS);
	result = prober_run(patience->prober, probe, wait_ns);
	if (result == -ETIMEDOUT)
	{
		patience->timeouts++;
		(void) allowance_take(&patience->stalls, now_ns, COST * wait_ns,
							  BURST_NS + COST * WAIT_LESS_NS);
	}
	return result;
}
