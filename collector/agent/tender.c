/*
 * tender.c
 *		Runs the sampler's slow work at the end of each window.
 */
#include "agent/tender.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/param.h>
#include <time.h>

#include "agent/reader/heartbeat.h"
#include "base/clock.h"

#define PACE_NS		  (500 * NS_PER_MS)
/* ongoing waits are closed this long before the window ends */
#define TEND_EARLY_NS (20 * NS_PER_MS)

struct Tender
{
	Sampler *sampler;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards stopping */
	pthread_cond_t asked;
	bool stopping;
	_Atomic int64_t interval_ns;
	Heartbeat heartbeat;
};

/* Returns a time shortly before the end of the current window. */
static int64_t
next_tending(const Tender *tender)
{
	int64_t interval_ns = atomic_load(&tender->interval_ns);
	int64_t into_ns = (clock_ns(CLOCK_REALTIME) + TEND_EARLY_NS) % interval_ns;

	return clock_ns(CLOCK_MONOTONIC) + interval_ns - into_ns;
}

/* Waits until until_ns (CLOCK_MONOTONIC). Returns false if the thread must end. */
static bool
wait_until(Tender *tender, int64_t until_ns)
{
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	bool stopping;

	pthread_mutex_lock(&tender->mutex);
	while (!tender->stopping &&
		   pthread_cond_timedwait(&tender->asked, &tender->mutex, &until) != ETIMEDOUT)
		;
	stopping = tender->stopping;
	pthread_mutex_unlock(&tender->mutex);
	return !stopping;
}

/*
 * Runs the tender thread: calls sampler_pace_tended() often, and sampler_tend() at the end of each
 * window.
 */
static void *
run_tender(void *argument)
{
	Tender *tender = argument;
	int64_t pace_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t tend_ns = next_tending(tender);

	while (wait_until(tender, MIN(pace_ns, tend_ns)))
	{
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

		heartbeat_work(&tender->heartbeat);
		if (now_ns >= pace_ns)
		{
			sampler_pace_tended(tender->sampler, now_ns);
			pace_ns = now_ns + PACE_NS;
		}
		if (now_ns >= tend_ns)
		{
			sampler_tend(tender->sampler);
			/* Tending may take long, so the next time is computed from the end of this one. */
			tend_ns = next_tending(tender);
		}
		heartbeat_wait(&tender->heartbeat);
	}
	return NULL;
}

int
tender_start(Sampler *sampler, int64_t interval_ns, Tender **result)
{
	Tender *tender = calloc(1, sizeof(*tender));
	int error;

	if (tender == NULL)
		return -ENOMEM;
	tender->sampler = sampler;
	atomic_store(&tender->interval_ns, interval_ns);
	pthread_mutex_init(&tender->mutex, NULL);
	clock_condition_init(&tender->asked);
	error = pthread_create(&tender->thread, NULL, run_tender, tender);
	if (error != 0)
	{
		pthread_cond_destroy(&tender->asked);
		pthread_mutex_destroy(&tender->mutex);
		free(tender);
		return -error;
	}
	*result = tender;
	return 0;
}

void
tender_stop(Tender *tender)
{
	if (tender == NULL)
		return;
	pthread_mutex_lock(&tender->mutex);
	tender->stopping = true;
	pthread_cond_signal(&tender->asked);
	pthread_mutex_unlock(&tender->mutex);
	pthread_join(tender->thread, NULL);
	pthread_cond_destroy(&tender->asked);
	pthread_mutex_destroy(&tender->mutex);
	free(tender);
}

void
tender_set_interval(Tender *tender, int64_t interval_ns)
{
	if (tender != NULL)
		atomic_store(&tender->interval_ns, interval_ns);
}

int64_t
tender_busy_ms(const Tender *tender)
{
	return tender != NULL ? heartbeat_busy_ms(&tender->heartbeat) : 0;
}
