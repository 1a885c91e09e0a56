/*
 * nvml.c
 *		Loads libnvidia-ml.so.1 and reads its devices.
 *
 * The activity of Hopper and later devices comes from their counters (GPM): the difference of two
 * samples covers all of the time between them. Other devices report the percentage of the last
 * moments; it is read once a second and assumed to hold until the next reading.
 */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define UTILIZATION_ROOM 1024 /* room for samples of processes' utilization in one call */
#define PERCENT			 100

/* X(member, parameters, name of the function, true if the library must have it) */
#define NVML_FUNCTIONS(X)                                                                        \
	X(init, (void), "nvmlInit_v2", true)                                                         \
	X(shutdown, (void), "nvmlShutdown", true)                                                    \
	X(driver_version, (char *text, uint32_t size), "nvmlSystemGetDriverVersion", true)           \
	X(count, (uint32_t * count), "nvmlDeviceGetCount_v2", true)                                  \
	X(handle, (uint32_t index, NvmlHandle * handle), "nvmlDeviceGetHandleByIndex_v2", true)      \
	X(uuid, (NvmlHandle device, char *text, uint32_t size), "nvmlDeviceGetUUID", true)           \
	X(name, (NvmlHandle device, char *text, uint32_t size), "nvmlDeviceGetName", true)           \
	X(energy, (NvmlHandle device, unsigned long long *millijoules),                              \
	  "nvmlDeviceGetTotalEnergyConsumption", false)                                              \
	X(utilization, (NvmlHandle device, NvmlUtilization * utilization),                           \
	  "nvmlDeviceGetUtilizationRates", false)                                                    \
	X(processes, (NvmlHandle device, uint32_t * count, NvmlProcessInfo * processes),             \
	  "nvmlDeviceGetComputeRunningProcesses_v3", false)                                          \
	X(process_utilization,                                                                       \
	  (NvmlHandle device, NvmlProcessUtilization * samples, uint32_t * count, uint64_t last_us), \
	  "nvmlDeviceGetProcessUtilization", false)                                                  \
	X(gpm_support, (NvmlHandle device, NvmlGpmSupport * support), "nvmlGpmQueryDeviceSupport",   \
	  false)                                                                                     \
	X(gpm_alloc, (void **sample), "nvmlGpmSampleAlloc", false)                                   \
	X(gpm_free, (void *sample), "nvmlGpmSampleFree", false)                                      \
	X(gpm_get, (NvmlHandle device, void *sample), "nvmlGpmSampleGet", false)                     \
	X(gpm_metrics, (NvmlGpmMetrics * metrics), "nvmlGpmMetricsGet", false)

typedef struct NvmlCalls
{
#define NVML_MEMBER(member, arguments, name, required) int(*member) arguments;
	NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
	const char *(*error_text)(int result);
} NvmlCalls;

typedef struct NvmlDevice
{
	NvmlHandle handle; /* NULL: the device could not be opened */
	char uuid[NVML_TEXT_BYTES];
	char name[NVML_TEXT_BYTES];
	bool has_energy; /* energy_mj is valid */
	uint64_t energy_mj;
	void *gpm[2];	   /* the last sample, and room for the next one; NULL: the device has no GPM */
	bool has_sample;   /* gpm[0] is valid */
	uint64_t since_ns; /* time at which gpm[0] was read */
	uint64_t glanced_ns;
	double glanced_busy_ns; /* busy time since the last reading, summed by nvml_glance() */
	uint64_t processes_us;	/* time of the last sample of processes' utilization */
} NvmlDevice;

struct Nvml
{
	void *library;
	NvmlCalls calls;
	char driver_version[NVML_VERSION_BYTES];
	uint32_t count;
	NvmlDevice devices[NVML_DEVICES_MAX];
	NvmlGpmMetrics metrics; /* buffer of one call, like infos and samples */
	NvmlProcessInfo infos[NVML_PROCESSES_MAX];
	NvmlProcessUtilization samples[UTILIZATION_ROOM];
};

/* Finds the functions. Returns the name of the first required one that is missing, or NULL. */
static const char *
nvml_find_functions(Nvml *nvml)
{
	const char *missing = NULL;

	/* POSIX requires this conversion of a pointer to a function */
#define NVML_FIND(member, arguments, symbol, required)               \
	*(void **) &nvml->calls.member = dlsym(nvml->library, symbol);   \
	if ((required) && nvml->calls.member == NULL && missing == NULL) \
		missing = symbol;
	NVML_FUNCTIONS(NVML_FIND)
#undef NVML_FIND
	*(void **) &nvml->calls.error_text = dlsym(nvml->library, "nvmlErrorString");
	return missing;
}

/* Opens a device. A device that cannot be identified is left out of all readings. */
static void
nvml_open_device(Nvml *nvml, uint32_t index)
{
	NvmlDevice *device = &nvml->devices[index];
	NvmlGpmSupport support = { NVML_GPM_VERSION, 0 };

	if (nvml->calls.handle(index, &device->handle) != NVML_DONE ||
		nvml->calls.uuid(device->handle, device->uuid, sizeof(device->uuid)) != NVML_DONE ||
		nvml->calls.name(device->handle, device->name, sizeof(device->name)) != NVML_DONE)
	{
		device->handle = NULL;
		return;
	}
	device->uuid[sizeof(device->uuid) - 1] = '\0';
	device->name[sizeof(device->name) - 1] = '\0';
	if (nvml->calls.gpm_support == NULL || nvml->calls.gpm_alloc == NULL ||
		nvml->calls.gpm_free == NULL || nvml->calls.gpm_get == NULL ||
		nvml->calls.gpm_metrics == NULL ||
		nvml->calls.gpm_support(device->handle, &support) != NVML_DONE ||
		support.is_supported == 0 || nvml->calls.gpm_alloc(&device->gpm[0]) != NVML_DONE)
		return;
	if (nvml->calls.gpm_alloc(&device->gpm[1]) != NVML_DONE)
	{
		(void) nvml->calls.gpm_free(device->gpm[0]);
		device->gpm[0] = NULL;
	}
}

/*
 * Starts the library and finds the devices. Returns false, with the reason in problem, if there is
 * no driver.
 */
static bool
nvml_start(Nvml *nvml, char problem[NVML_PROBLEM_BYTES])
{
	int result = nvml->calls.init();

	if (result != NVML_DONE)
	{
		snprintf(problem, NVML_PROBLEM_BYTES, "NVML did not start: %s.",
				 nvml->calls.error_text != NULL ? nvml->calls.error_text(result) : "error");
		return false;
	}
	(void) nvml->calls.driver_version(nvml->driver_version, sizeof(nvml->driver_version));
	nvml->driver_version[sizeof(nvml->driver_version) - 1] = '\0';
	if (nvml->calls.count(&nvml->count) != NVML_DONE)
		nvml->count = 0;
	nvml->count = MIN(nvml->count, NVML_DEVICES_MAX);
	for (uint32_t i = 0; i < nvml->count; i++)
		nvml_open_device(nvml, i);
	return true;
}

int
nvml_open(const char *library, Nvml **result, char problem[NVML_PROBLEM_BYTES])
{
	Nvml *nvml = calloc(1, sizeof(*nvml));
	const char *missing;

	if (nvml == NULL)
	{
		snprintf(problem, NVML_PROBLEM_BYTES, "out of memory");
		return -ENOMEM;
	}
	nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (nvml->library == NULL)
	{
		snprintf(problem, NVML_PROBLEM_BYTES, "There is no NVIDIA driver: %s.", dlerror());
		free(nvml);
		return -ENOENT;
	}
	missing = nvml_find_functions(nvml);
	if (missing != NULL)
		snprintf(problem, NVML_PROBLEM_BYTES, "%s has no function %s.", library, missing);
	if (missing != NULL || !nvml_start(nvml, problem))
	{
		dlclose(nvml->library);
		free(nvml);
		return -ENOENT;
	}
	*result = nvml;
	return 0;
}

void
nvml_close(Nvml *nvml)
{
	if (nvml == NULL)
		return;
	for (uint32_t i = 0; i < nvml->count; i++)
	{
		for (int sample = 0; sample < 2; sample++)
		{
			if (nvml->devices[i].gpm[sample] != NULL)
				(void) nvml->calls.gpm_free(nvml->devices[i].gpm[sample]);
		}
	}
	(void) nvml->calls.shutdown();
	dlclose(nvml->library);
	free(nvml);
}

uint32_t
nvml_device_count(const Nvml *nvml)
{
	return nvml->count;
}

const char *
nvml_driver_version(const Nvml *nvml)
{
	return nvml->driver_version;
}

const char *
nvml_device_name(const Nvml *nvml, uint32_t device)
{
	return nvml->devices[device].name;
}

const char *
nvml_device_uuid(const Nvml *nvml, uint32_t device)
{
	return nvml->devices[device].uuid;
}

/* Counts the result of a call in the reading. Returns true if the call succeeded. */
static bool
call_succeeded(int result, GpuReading *reading)
{
	reading->failures +=
		result != NVML_DONE && result != NVML_NOT_SUPPORTED && result != NVML_NOT_FOUND;
	reading->has_answer |= result == NVML_DONE;
	return result == NVML_DONE;
}

bool
nvml_needs_glances(const Nvml *nvml, uint32_t device)
{
	return nvml->devices[device].handle != NULL && nvml->devices[device].gpm[0] == NULL &&
		   nvml->calls.utilization != NULL;
}

/*
 * Adds the busy time since the last glance, assuming that the present percentage was valid since
 * then.
 */
static int
device_glance(const Nvml *nvml, NvmlDevice *device, uint64_t now_ns)
{
	NvmlUtilization now = { 0, 0 };
	int result = nvml->calls.utilization(device->handle, &now);

	if (result != NVML_DONE)
		return result;
	if (device->glanced_ns != 0 && now_ns > device->glanced_ns)
		device->glanced_busy_ns +=
			(double) (now_ns - device->glanced_ns) * MIN(now.gpu, PERCENT) / PERCENT;
	device->glanced_ns = now_ns;
	return result;
}

bool
nvml_glance(Nvml *nvml, uint32_t device, uint64_t now_ns)
{
	int result = device_glance(nvml, &nvml->devices[device], now_ns);

	return result == NVML_DONE || result == NVML_NOT_SUPPORTED;
}

/* Takes a sample of a device with counters, and computes the activity since the previous sample. */
static void
read_gpm(Nvml *nvml, NvmlDevice *device, uint64_t now_ns, GpuReading *reading)
{
	NvmlGpmMetrics *metrics = &nvml->metrics;
	void *newest = device->gpm[1];

	if (!call_succeeded(nvml->calls.gpm_get(device->handle, newest), reading))
		return;
	if (device->has_sample)
	{
		memset(metrics, 0, sizeof(*metrics));
		metrics->version = NVML_GPM_VERSION;
		metrics->count = 1;
		metrics->samples[0] = device->gpm[0];
		metrics->samples[1] = newest;
		metrics->metrics[0].id = NVML_GPM_GRAPHICS_UTIL;
		reading->has_active = call_succeeded(nvml->calls.gpm_metrics(metrics), reading) &&
							  call_succeeded(metrics->metrics[0].result, reading) &&
							  metrics->metrics[0].value >= 0; /* false for NaN, too */
	}
	if (reading->has_active)
		reading->active_ns = (uint64_t) ((double) (now_ns - device->since_ns) *
										 MIN(metrics->metrics[0].value, PERCENT) / PERCENT);
	device->gpm[1] = device->gpm[0];
	device->gpm[0] = newest;
	device->has_sample = true;
	device->since_ns = now_ns;
}

static void
read_glances(Nvml *nvml, NvmlDevice *device, uint64_t now_ns, GpuReading *reading)
{
	bool is_first = device->glanced_ns == 0;

	if (!call_succeeded(device_glance(nvml, device, now_ns), reading) || is_first)
		return;
	reading->has_active = true;
	reading->active_ns = (uint64_t) device->glanced_busy_ns;
	device->glanced_busy_ns = 0;
}

static void
read_energy(const Nvml *nvml, NvmlDevice *device, GpuReading *reading)
{
	unsigned long long now_mj = 0;

	if (nvml->calls.energy == NULL ||
		!call_succeeded(nvml->calls.energy(device->handle, &now_mj), reading))
		return;
	/* the driver's counter restarts at 0 when the driver is loaded */
	reading->has_energy = device->has_energy && now_mj >= device->energy_mj;
	reading->energy_mj = reading->has_energy ? now_mj - device->energy_mj : 0;
	device->energy_mj = now_mj;
	device->has_energy = true;
}

/* Returns the entry of a process, adding it if needed; NULL if there is no room. */
static GpuProcess *
reading_process(GpuReading *reading, uint32_t pid)
{
	for (uint32_t i = 0; i < reading->process_count; i++)
	{
		if (reading->processes[i].pid == pid)
			return &reading->processes[i];
	}
	if (reading->process_count == NVML_PROCESSES_MAX)
		return NULL;
	reading->processes[reading->process_count] = (GpuProcess){ .pid = pid };
	return &reading->processes[reading->process_count++];
}

/*
 * Reads the memory of processes. If there are more processes than there is room for, counts one
 * failure.
 */
static void
nvml_read_memory(Nvml *nvml, const NvmlDevice *device, GpuReading *reading)
{
	uint32_t count = NVML_PROCESSES_MAX;

	if (nvml->calls.processes == NULL ||
		!call_succeeded(nvml->calls.processes(device->handle, &count, nvml->infos), reading))
		return;
	reading->has_memory = true;
	for (uint32_t i = 0; i < MIN(count, NVML_PROCESSES_MAX); i++)
	{
		const NvmlProcessInfo *info = &nvml->infos[i];
		GpuProcess *process = reading_process(reading, info->pid);

		/* on a partitioned device a process has one entry for each instance */
		if (process != NULL && info->used_bytes <= INT64_MAX)
			process->bytes += info->used_bytes;
	}
}

/* Reads how much each process used the device since the last reading. */
static void
read_process_utilization(Nvml *nvml, NvmlDevice *device, GpuReading *reading)
{
	uint64_t newest_us = device->processes_us;
	uint32_t count = UTILIZATION_ROOM;

	if (nvml->calls.process_utilization == NULL ||
		!call_succeeded(nvml->calls.process_utilization(device->handle, nvml->samples, &count,
														device->processes_us),
						reading))
		return;
	for (uint32_t i = 0; i < MIN(count, UTILIZATION_ROOM); i++)
	{
		const NvmlProcessUtilization *sample = &nvml->samples[i];
		GpuProcess *process;

		if (sample->time_us <= device->processes_us || sample->sm == 0)
			continue;
		process = reading_process(reading, sample->pid);
		if (process != NULL)
			process->busy += MIN(sample->sm, PERCENT);
		newest_us = MAX(newest_us, sample->time_us);
	}
	device->processes_us = newest_us;
}

void
nvml_read(Nvml *nvml, uint32_t index, uint64_t now_ns, GpuReading *reading)
{
	NvmlDevice *device = &nvml->devices[index];

	memset(reading, 0, sizeof(*reading));
	if (device->handle == NULL)
	{
		reading->failures = 1;
		return;
	}
	if (device->gpm[0] != NULL)
		read_gpm(nvml, device, now_ns, reading);
	else if (nvml->calls.utilization != NULL)
		read_glances(nvml, device, now_ns, reading);
	read_energy(nvml, device, reading);
	nvml_read_memory(nvml, device, reading);
	read_process_utilization(nvml, device, reading);
}
