/*
 * nvml_abi.h
 *		The part of NVML's binary interface that we use, so that building does not need NVML's own
 *		header.
 *
 * Layouts and numbers are those of every libnvidia-ml.so.1 since driver 510. Functions that a
 * driver lacks are not called.
 */
#ifndef COLLECTOR_NVML_ABI_H
#define COLLECTOR_NVML_ABI_H

#include <stdint.h>

/* nvmlReturn_t */
enum
{
	NVML_DONE = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
};

#define NVML_TEXT_BYTES 96 /* NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE */

/* Value that NVML reports for a size that it cannot determine (NVML_VALUE_NOT_AVAILABLE). */
#define NVML_SIZE_UNKNOWN UINT64_MAX

typedef void *NvmlHandle; /* nvmlDevice_t */

/*
 * nvmlUtilization_t: percent of the time in which a kernel ran, and in which memory was accessed.
 */
typedef struct NvmlUtilization
{
	uint32_t gpu;
	uint32_t memory;
} NvmlUtilization;

/* nvmlProcessInfo_t of the functions with suffix _v3. */
typedef struct NvmlProcessInfo
{
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance;
	uint32_t compute_instance;
} NvmlProcessInfo;

/* nvmlProcessUtilizationSample_t */
typedef struct NvmlProcessUtilization
{
	uint32_t pid;
	uint64_t time_us;
	uint32_t sm; /* percent */
	uint32_t memory;
	uint32_t encoder;
	uint32_t decoder;
} NvmlProcessUtilization;

/* nvmlGpmSupport_t, version 1 */
typedef struct NvmlGpmSupport
{
	uint32_t version;
	uint32_t is_supported;
} NvmlGpmSupport;

#define NVML_GPM_VERSION	   1
#define NVML_GPM_GRAPHICS_UTIL 1 /* percent of time in which any engine was busy */

/* nvmlGpmMetric_t */
typedef struct NvmlGpmMetric
{
	uint32_t id;
	int32_t result;
	double value;
	const char *texts[3];
} NvmlGpmMetric;

/*
 * nvmlGpmMetricsGet_t, version 1. The library reads as many metrics as count says; its own array is
 * longer.
 */
#define NVML_GPM_METRICS_ROOM 333
typedef struct NvmlGpmMetrics
{
	uint32_t version;
	uint32_t count;
	void *samples[2];
	NvmlGpmMetric metrics[NVML_GPM_METRICS_ROOM];
} NvmlGpmMetrics;

_Static_assert(sizeof(NvmlProcessInfo) == 24 && sizeof(NvmlProcessUtilization) == 32 &&
				   sizeof(NvmlGpmMetric) == 40,
			   "layouts of NVML's structures");

#endif
