/*
 * jfr_settings.c
 *		Interprets settings. Defaults are those of the tools: the JDK takes a sample every 20 ms,
 *		async-profiler every 10 ms of CPU time and every 50 ms of wall time, or after the numbers
 *		of events below.
 */
#include "formats/jfr/jfr_settings.h"

#include "formats/lines.h"

#define JDK_PERIOD_NS	 INT64_C(20000000)
#define CPU_INTERVAL_NS	 INT64_C(10000000)
#define WALL_INTERVAL_NS INT64_C(50000000)
/* the event is a call of a method, a breakpoint or a tracepoint, which is always recorded */
#define TRACED_INTERVAL	 1

/* Events of async-profiler whose amounts are nanoseconds of CPU time. */
static const char *const clocks[] = { "cpu", "ctimer", "itimer" };

static const struct
{
	const char *event;
	int64_t interval;
} counters[] = {
	{ "cycles", 1000000 },		  { "instructions", 1000000 },
	{ "bus-cycles", 1000000 },	  { "cache-references", 1000000 },
	{ "branches", 1000000 },	  { "branch-instructions", 1000000 },
	{ "cache-misses", 1000 },	  { "branch-misses", 1000 },
	{ "LLC-load-misses", 1000 },  { "L1-dcache-load-misses", 1000000 },
	{ "dTLB-load-misses", 1000 },
};

/*
 * Parses "20 ms", or a number of nanoseconds. Returns false for other texts, such as "everyChunk".
 */
static bool
settings_parse_time(PfsText text, int64_t *ns)
{
	static const struct
	{
		const char *unit;
		int64_t ns;
	} units[] = { { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	uint32_t digits = 0;
	PfsText unit;

	while (digits < text.length && pfs_is_digit(text.data[digits]))
		digits++;
	if (pfs_parse_int64(pfs_part(text, 0, digits), ns) != PFS_READ_OK)
		return false;
	unit = pfs_trim(pfs_part(text, digits, text.length));
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (pfs_text_equals(unit, units[i].unit))
			return !__builtin_mul_overflow(*ns, units[i].ns, ns);
	return false;
}

void
pfs_jfr_take_setting(PfsJfrSettings *settings, PfsJfrOwner owner, PfsText name, PfsText value)
{
	bool is_execution = owner == PFS_JFR_OWNER_EXECUTION;
	int64_t number;

	if (owner == PFS_JFR_OWNER_RECORDING && pfs_text_equals(name, "event"))
		settings->event = value;
	else if (is_execution && pfs_text_equals(name, "period") && settings_parse_time(value, &number))
		settings->period_ns = number;
	else if (is_execution && pfs_text_equals(name, "interval") &&
			 settings_parse_time(value, &number))
	{
		settings->has_interval = true;
		settings->interval = number;
	}
	else if (is_execution && pfs_text_equals(name, "wall") && settings_parse_time(value, &number))
	{
		settings->has_wall = true;
		settings->wall_ns = number;
	}
	else
		return;
	settings->is_set = true;
}

static bool
is_clock(PfsText event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (pfs_text_equals(event, clocks[i]))
			return true;
	return event.length == 0;
}

static int64_t
default_interval(PfsText event)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (pfs_text_equals(event, counters[i].event))
			return counters[i].interval;
	return TRACED_INTERVAL;
}

int64_t
pfs_jfr_wall_period(const PfsJfrSettings *settings)
{
	if (settings->wall_ns > 0)
		return settings->wall_ns;
	if (pfs_text_equals(settings->event, "wall") && settings->interval > 0)
		return settings->interval;
	return WALL_INTERVAL_NS;
}

PfsJfrMeasure
pfs_jfr_execution_measure(const PfsJfrSettings *settings, bool has_state)
{
	int64_t interval = settings->interval;

	if (!settings->has_interval && !settings->has_wall)
		return (PfsJfrMeasure){ PFS_JFR_CPU,
								settings->period_ns > 0 ? settings->period_ns : JDK_PERIOD_NS };
	if (pfs_text_equals(settings->event, "wall") || (settings->has_wall && has_state))
		return (PfsJfrMeasure){ PFS_JFR_WALL, pfs_jfr_wall_period(settings) };
	if (is_clock(settings->event))
		return (PfsJfrMeasure){ PFS_JFR_CPU, interval > 0 ? interval : CPU_INTERVAL_NS };
	return (PfsJfrMeasure){ PFS_JFR_EVENTS,
							interval > 0 ? interval : default_interval(settings->event) };
}
