/*
 * governor.c
 *		Keeps the account of CPU time and applies the two thresholds of memory.
 */
#include "agent/governor.h"

#include <string.h>

#include "base/clock.h"

/* The account holds at most what the ceiling allows in this time. */
#define BURST_NS		   (60.0 * (double) NS_PER_S)
#define RECENT_WEIGHT	   0.25 /* weight of the newest second */
/* the last change takes this long to show in the readings */
#define LOWER_INTERVAL_NS  (5 * NS_PER_S)
#define RAISE_INTERVAL_NS  (30 * NS_PER_S)
/* the frequency is doubled if twice the present use is below this part of the ceiling */
#define RAISE_SHARE		   0.8
#define SHRINK_INTERVAL_NS (5 * NS_PER_S)

static double
ceiling_share(const Governor *governor)
{
	return (double) governor->limits.cpu_percent / 100;
}

static double
account_limit(const Governor *governor)
{
	return BURST_NS * ceiling_share(governor);
}

void
governor_init(Governor *governor, const GovernorLimits *limits, const GovernorReading *first)
{
	memset(governor, 0, sizeof(*governor));
	governor->limits = *limits;
	governor->last = *first;
	governor->frequency_hz = limits->frequency_hz;
	governor->credit_ns = account_limit(governor);
	/* The first change and the first shrinking need not wait for an interval to pass. */
	governor->changed_ns = first->now_ns - LOWER_INTERVAL_NS;
	governor->shrunk_ns = first->now_ns - SHRINK_INTERVAL_NS;
}

static int64_t
frequency_after(const Governor *governor, int halvings)
{
	int64_t asked_hz = governor->limits.frequency_hz;
	int64_t lowest_hz = asked_hz < GOVERNOR_FREQUENCY_HZ_MIN ? asked_hz : GOVERNOR_FREQUENCY_HZ_MIN;
	int64_t frequency_hz = asked_hz >> halvings;

	return frequency_hz > lowest_hz ? frequency_hz : lowest_hz;
}

static void
change_frequency(Governor *governor, int halvings)
{
	governor->halvings = halvings;
	governor->frequency_hz = frequency_after(governor, halvings);
	governor->changed_ns = governor->last.now_ns;
}

/*
 * Books the time since the last reading: adds the CPU time that the ceiling allows in it, and
 * subtracts the CPU time that was used.
 */
static void
book(Governor *governor, const GovernorReading *reading)
{
	double limit_ns = account_limit(governor);
	double elapsed_ns = (double) (reading->now_ns - governor->last.now_ns);
	double used_ns = 0;

	/*
	 * A reading may miss the time of a worker that has just ended, and then be smaller than the
	 * last.
	 */
	if (reading->cpu_ns > governor->last.cpu_ns)
	{
		used_ns = (double) (reading->cpu_ns - governor->last.cpu_ns);
		governor->last.cpu_ns = reading->cpu_ns;
	}
	governor->last.now_ns = reading->now_ns;
	governor->credit_ns += elapsed_ns * ceiling_share(governor) - used_ns;
	if (governor->credit_ns > limit_ns)
		governor->credit_ns = limit_ns;
	if (governor->credit_ns < -limit_ns)
		governor->credit_ns = -limit_ns; /* bounds the debt, so that it can be paid off soon */
	governor->recent_share += RECENT_WEIGHT * (used_ns / elapsed_ns - governor->recent_share);
}

/*
 * Adjusts symbolization and frequency to the account. Between the thresholds nothing changes, so
 * that the frequency does not oscillate.
 */
static void
restrain_cpu(Governor *governor)
{
	double ceiling = ceiling_share(governor);
	int64_t unchanged_ns = governor->last.now_ns - governor->changed_ns;

	if (governor->credit_ns <= 0)
		governor->symbols_wait = true;
	else if (governor->credit_ns >= account_limit(governor) / 8)
		governor->symbols_wait = false;

	if (governor->credit_ns <= 0 && governor->recent_share > ceiling)
	{
		/* At the lowest frequency another halving would change nothing. */
		if (unchanged_ns >= LOWER_INTERVAL_NS &&
			frequency_after(governor, governor->halvings + 1) < governor->frequency_hz)
			change_frequency(governor, governor->halvings + 1);
	}
	else if (governor->halvings > 0 && governor->credit_ns >= account_limit(governor) / 2 &&
			 2 * governor->recent_share <= RAISE_SHARE * ceiling &&
			 unchanged_ns >= RAISE_INTERVAL_NS)
		change_frequency(governor, governor->halvings - 1);
}

static void
restrain_memory(Governor *governor, const GovernorReading *reading)
{
	size_t limit_bytes = governor->limits.memory_bytes;
	bool tight = reading->resident_bytes > limit_bytes / 8 * 7;

	governor->shrink = tight && reading->now_ns - governor->shrunk_ns >= SHRINK_INTERVAL_NS;
	if (governor->shrink)
		governor->shrunk_ns = reading->now_ns;
	/*
	 * Refuse above the limit, but accept again only below seven eighths of it, so that the agent
	 * does not alternate between both.
	 */
	if (reading->resident_bytes > limit_bytes)
		governor->refuse = true;
	else if (!tight)
		governor->refuse = false;
}

void
governor_observe(Governor *governor, const GovernorReading *reading)
{
	if (reading->now_ns <= governor->last.now_ns)
		return;
	book(governor, reading);
	restrain_cpu(governor);
	restrain_memory(governor, reading);
}
