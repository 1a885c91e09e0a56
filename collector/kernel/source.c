/*
 * source.c
 *		The table of sources.
 */
#include "kernel/source.h"

const SampleSource *const sample_sources[SOURCE_COUNT] = {
#define SOURCE_ROW(name) [SOURCE_NUMBER_##name] = &name##_source,
	SAMPLE_SOURCES(SOURCE_ROW)
#undef SOURCE_ROW
};

uint64_t
source_ticks(const uint64_t counters[PFS_COUNTER_COUNT])
{
	uint64_t ticks = counters[PFS_COUNTER_EVENTS];

	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		if (sample_sources[i]->events != PFS_COUNTER_EVENTS)
			ticks -= counters[sample_sources[i]->events];
	}
	return ticks;
}
