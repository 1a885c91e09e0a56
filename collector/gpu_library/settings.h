/*
 * settings.h
 *		Settings of the library, from the program's environment.
 */
#ifndef GPU_LIBRARY_SETTINGS_H
#define GPU_LIBRARY_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct GpuSettings
{
	bool is_off;		/* PROFSTORE_GPU=off */
	double share;		/* PROFSTORE_GPU_BUDGET in percent, as a part of 1 */
	uint64_t window_ns; /* PROFSTORE_GPU_WINDOW_MS */
	const char *cupti;	/* PROFSTORE_GPU_CUPTI: a file; NULL: search */
} GpuSettings;

/*
 * Reads the settings. Returns NULL, or the name of a variable that has no valid value and is
 * ignored.
 */
const char *gpu_settings_read(GpuSettings *settings);

#endif
