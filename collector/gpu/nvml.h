/*
 * nvml.h
 *		Reads NVIDIA GPUs by the driver's management library, which is loaded at run time.
 *
 * All functions may block as long as the driver does, so a thread on which others wait must not
 * call them.
 */
#ifndef COLLECTOR_NVML_H
#define COLLECTOR_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/nvml_abi.h"

#define NVML_LIBRARY	   "libnvidia-ml.so.1"
#define NVML_DEVICES_MAX   64
#define NVML_PROCESSES_MAX 256 /* limit for one device */
#define NVML_PROBLEM_BYTES 256
#define NVML_VERSION_BYTES 80

typedef struct Nvml Nvml;

/* A process that uses a device. */
typedef struct GpuProcess
{
	uint32_t pid;	/* in the initial pid namespace */
	uint64_t bytes; /* bytes of the device's memory; 0 if not known */
	/* Sum of the percentages in the process's samples since the last reading. */
	uint64_t busy;
} GpuProcess;

/* One reading of a device. Amounts are those since the device's last reading. */
typedef struct GpuReading
{
	bool has_active;
	uint64_t active_ns; /* time in which the device was busy */
	bool has_energy;
	uint64_t energy_mj;
	bool has_memory; /* the bytes of the processes are known */
	uint32_t process_count;
	GpuProcess processes[NVML_PROCESSES_MAX];
	uint32_t failures; /* calls that failed, except those that the device does not support */
	bool has_answer;   /* at least one call succeeded */
} GpuReading;

/*
 * Loads the library and finds the devices. Returns 0; -ENOENT if there is no library or no driver,
 * with the reason as a sentence in problem.
 */
int nvml_open(const char *library, Nvml **nvml, char problem[NVML_PROBLEM_BYTES]);
void nvml_close(Nvml *nvml); /* accepts NULL */

uint32_t nvml_device_count(const Nvml *nvml);
const char *nvml_driver_version(const Nvml *nvml);
const char *nvml_device_name(const Nvml *nvml, uint32_t device);
const char *nvml_device_uuid(const Nvml *nvml, uint32_t device);

/*
 * Returns true if the device reports only the percentage of the last moments, so that nvml_glance()
 * must be called about once a second; false if the device counts its activity.
 */
bool nvml_needs_glances(const Nvml *nvml, uint32_t device);

/*
 * Samples the activity of a device for which nvml_needs_glances() is true. Returns false if the
 * call failed. now_ns is CLOCK_MONOTONIC.
 */
bool nvml_glance(Nvml *nvml, uint32_t device, uint64_t now_ns);

/* Reads a device. Its first reading has no activity and no energy. */
void nvml_read(Nvml *nvml, uint32_t device, uint64_t now_ns, GpuReading *reading);

#endif
