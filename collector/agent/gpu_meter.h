/*
 * gpu_meter.h
 *		The thread of --gpu: reads the GPUs once a window, and adds their activity, energy and
 *		memory to the interval.
 *
 * No other thread waits for this one, because the driver may take any time to answer. Readings use
 * at most a thousandth of a CPU; if they cost more, windows are skipped, and the next reading
 * covers them.
 */
#ifndef COLLECTOR_GPU_METER_H
#define COLLECTOR_GPU_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/reader/reader.h"
#include "batch/losses.h"

/* Time between two attempts to find a driver that answers. */
#define GPU_METER_OPEN_NS INT64_C(60000000000)

typedef struct GpuMeter GpuMeter;

typedef struct GpuMeterOptions
{
	const char *library; /* path of NVML: NVML_LIBRARY, or another one in tests */
	int64_t interval_ns;
	/* pause between attempts to find a driver: GPU_METER_OPEN_NS, or less in tests */
	int64_t open_ns;
	Reader *reader;
	Losses *losses;
	CodeTable *names; /* the names of devices */
} GpuMeterOptions;

typedef struct GpuMeterStats
{
	uint32_t devices;
	uint64_t readings; /* readings, each of all devices */
	uint64_t amounts;  /* values other than 0 that were added to the interval */
	uint64_t cpu_ns;   /* CPU time of the thread */
} GpuMeterStats;

/* Starts the thread. Pointers must be valid until gpu_meter_stop(). Returns 0 or -errno. */
int gpu_meter_start(const GpuMeterOptions *options, GpuMeter **meter);

/*
 * Reads for the last time and ends the thread. A thread that the driver blocks for longer than a
 * second is left behind, and does not use the agent's parts later. Accepts NULL.
 */
void gpu_meter_stop(GpuMeter *meter, GpuMeterStats *stats);

/* Any thread. Sets the length of windows. Accepts NULL. */
void gpu_meter_set_interval(GpuMeter *meter, int64_t interval_ns);

/* Any thread. Returns how long the thread has been in one reading; 0 if it waits. Accepts NULL. */
int64_t gpu_meter_busy_ms(const GpuMeter *meter);

/*
 * Prints into detail how many devices there are, or why none is available; for "check". Waits for
 * up to 10 s. Returns true if the driver answered.
 */
bool gpu_meter_check(const char *library, char *detail, size_t size);

#endif
