/*
 * cupti.h
 *		Finds CUPTI, which the program may have loaded already, and its functions.
 */
#ifndef GPU_LIBRARY_CUPTI_H
#define GPU_LIBRARY_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_library/cupti_abi.h"

/* All return 0 or an error of CUPTI. */
typedef struct Cupti
{
	int (*subscribe)(void **subscriber, CuptiCallback callback, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t enable, void *subscriber, int32_t domain, uint32_t callback);
	int (*register_buffers)(CuptiRequest request, CuptiComplete complete);
	int (*enable)(int32_t kind);
	int (*disable)(int32_t kind);
	int (*next_record)(uint8_t *buffer, size_t valid, void **record);
	int (*flush)(uint32_t flags);
	int (*dropped)(void *context, uint32_t stream, size_t *records);
	int (*timestamp)(uint64_t *ns);
	int (*register_clock)(CuptiClock clock); /* NULL before CUPTI 11.8 */
} Cupti;

/*
 * Loads CUPTI from the file path; if path is NULL, from the first file that is found. Returns false
 * if no file has all functions.
 */
bool cupti_load(const char *path, Cupti *cupti);

#endif
