/*
 * fake_nvml.c
 *		A libnvidia-ml.so.1 with two devices, for machines without a GPU: GPM like a Hopper, and
 *		percentages like an older one.
 *
 * FAKE_NVML_PROCESSES=DEVICE:PID:BYTES:PERCENT,... sets the processes.
 */
#include "fake_nvml.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT FakeNvml fake_nvml = { .milliwatts = 100000, .percent = 25, .utilization = 40 };

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static uint32_t
device_of(NvmlHandle handle)
{
	return (uint32_t) (uintptr_t) handle - 1;
}

/* Returns stale_result if it is set, otherwise result. Every call about a device ends with it. */
static int
device_result(int result)
{
	int stale_result = atomic_load(&fake_nvml.stale_result);

	return stale_result != NVML_DONE ? stale_result : result;
}

EXPORT int
nvmlInit_v2(void)
{
	const char *at = getenv("FAKE_NVML_PROCESSES");
	int used = 0;
	FakeProcess one;

	while (at != NULL && fake_nvml.process_count < FAKE_PROCESSES &&
		   sscanf(at, "%u:%u:%lu:%u%n", &one.device, &one.pid, &one.bytes, &one.busy, &used) == 4)
	{
		fake_nvml.processes[fake_nvml.process_count++] = one;
		at += used + (at[used] == ',');
	}
	atomic_store(&fake_nvml.stale_result, NVML_DONE);
	atomic_fetch_add(&fake_nvml.starts, 1);
	return fake_nvml.init_result;
}

EXPORT int
nvmlShutdown(void)
{
	return NVML_DONE;
}

EXPORT const char *
nvmlErrorString(int result)
{
	return result == 9 ? "Driver Not Loaded" : "Unknown Error";
}

EXPORT int
nvmlSystemGetDriverVersion(char *text, uint32_t size)
{
	snprintf(text, size, "580.0-fake");
	return NVML_DONE;
}

EXPORT int
nvmlDeviceGetCount_v2(uint32_t *count)
{
	*count = FAKE_DEVICES - fake_nvml.missing;
	return NVML_DONE;
}

EXPORT int
nvmlDeviceGetHandleByIndex_v2(uint32_t index, NvmlHandle *handle)
{
	*handle = (NvmlHandle) (uintptr_t) (index + 1);
	return NVML_DONE;
}

EXPORT int
nvmlDeviceGetUUID(NvmlHandle device, char *text, uint32_t size)
{
	snprintf(text, size, "GPU-fake-%u", device_of(device));
	return NVML_DONE;
}

EXPORT int
nvmlDeviceGetName(NvmlHandle device, char *text, uint32_t size)
{
	snprintf(text, size, "Fake %u", device_of(device));
	return NVML_DONE;
}

EXPORT int
nvmlDeviceGetTotalEnergyConsumption(NvmlHandle device, unsigned long long *millijoules)
{
	uint64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + fake_nvml.burn_ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
	while (atomic_load(&fake_nvml.hangs))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	*millijoules = (unsigned long long) ((double) now_ns(CLOCK_MONOTONIC) / 1e9 *
										 (double) fake_nvml.milliwatts) -
				   fake_nvml.restart;
	return device_result(fake_nvml.energy_result);
}

EXPORT int
nvmlDeviceGetUtilizationRates(NvmlHandle device, NvmlUtilization *utilization)
{
	*utilization = (NvmlUtilization){ fake_nvml.utilization, 0 };
	return device_result(device_of(device) == 1 ? NVML_DONE : NVML_NOT_SUPPORTED);
}

EXPORT int
nvmlDeviceGetComputeRunningProcesses_v3(NvmlHandle device, uint32_t *count,
										NvmlProcessInfo *processes)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < fake_nvml.process_count; i++)
	{
		const FakeProcess *process = &fake_nvml.processes[i];

		if (process->device != device_of(device))
			continue;
		if (found == *count)
			return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */
		processes[found++] = (NvmlProcessInfo){ process->pid, process->bytes, 0, 0 };
	}
	*count = found;
	return device_result(fake_nvml.processes_result);
}

EXPORT int
nvmlDeviceGetProcessUtilization(NvmlHandle device, NvmlProcessUtilization *samples, uint32_t *count,
								uint64_t last_us)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < fake_nvml.process_count && found < *count; i++)
	{
		const FakeProcess *process = &fake_nvml.processes[i];

		if (process->device != device_of(device) || process->busy == 0)
			continue;
		/* one sample that was returned before, and a new one */
		samples[found++] = (NvmlProcessUtilization){ process->pid, last_us, 99, 0, 0, 0 };
		if (found < *count)
			samples[found++] = (NvmlProcessUtilization){
				process->pid, now_ns(CLOCK_REALTIME) / 1000, process->busy, 0, 0, 0
			};
	}
	*count = found;
	return device_result(found > 0 ? NVML_DONE : NVML_NOT_FOUND);
}

EXPORT int
nvmlGpmQueryDeviceSupport(NvmlHandle device, NvmlGpmSupport *support)
{
	support->is_supported = device_of(device) == 0;
	return NVML_DONE;
}

EXPORT int
nvmlGpmSampleAlloc(void **sample)
{
	*sample = calloc(1, sizeof(uint64_t));
	return NVML_DONE;
}

EXPORT int
nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return NVML_DONE;
}

EXPORT int
nvmlGpmSampleGet(NvmlHandle device, void *sample)
{
	*(uint64_t *) sample = now_ns(CLOCK_MONOTONIC);
	return device_result(device_of(device) == 0 ? NVML_DONE : NVML_NOT_SUPPORTED);
}

/* Samples in the wrong order, or one that was never taken, are an error, like in the driver. */
EXPORT int
nvmlGpmMetricsGet(NvmlGpmMetrics *metrics)
{
	const uint64_t *first = metrics->samples[0];
	const uint64_t *second = metrics->samples[1];

	if (metrics->version != 1 || *first == 0 || *first >= *second)
		return 2; /* NVML_ERROR_INVALID_ARGUMENT */
	for (uint32_t i = 0; i < metrics->count; i++)
	{
		metrics->metrics[i].result =
			metrics->metrics[i].id == NVML_GPM_GRAPHICS_UTIL ? NVML_DONE : NVML_NOT_SUPPORTED;
		metrics->metrics[i].value = fake_nvml.percent;
	}
	return NVML_DONE;
}
