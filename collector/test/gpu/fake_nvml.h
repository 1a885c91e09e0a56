/*
 * fake_nvml.h
 *		State of the NVML library that tests load in place of the driver's.
 *
 * A program that loads the library finds the state by its symbol "fake_nvml"; other programs set it
 * by the environment (fake_nvml.c).
 */
#ifndef COLLECTOR_TEST_FAKE_NVML_H
#define COLLECTOR_TEST_FAKE_NVML_H

#include <stdatomic.h>
#include <stdint.h>

#define FAKE_DEVICES   2
#define FAKE_PROCESSES 400

typedef struct FakeProcess
{
	uint32_t device;
	uint32_t pid;
	uint64_t bytes;
	uint32_t busy; /* percentage of active cycles */
} FakeProcess;

typedef struct FakeNvml
{
	int init_result;
	atomic_int energy_result; /* result of reading the energy */
	int processes_result;
	atomic_uint missing;	 /* number of devices, the last ones, that are missing */
	atomic_uint starts;		 /* number of times that the library was started */
	atomic_int stale_result; /* result of all calls about a device until the next start; 0: none */
	uint64_t milliwatts;	 /* power of each device */
	double percent;			 /* activity of device 0, which has GPM */
	uint32_t utilization;	 /* activity of device 1, which lacks GPM */
	unsigned long long restart; /* subtracted from the energy */
	uint64_t burn_ns;			/* CPU time of reading the energy */
	atomic_bool hangs;			/* the energy is not returned before this is false */
	uint32_t process_count;
	FakeProcess processes[FAKE_PROCESSES];
} FakeNvml;

#endif
