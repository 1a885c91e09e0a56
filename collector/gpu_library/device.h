/*
 * device.h
 *		The identity of a device, which is the same in all programs, as its number is not.
 */
#ifndef GPU_LIBRARY_DEVICE_H
#define GPU_LIBRARY_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu_rows.h"

/* Asks the driver, once for each device. Returns false if it does not know. */
bool device_uuid(uint32_t device, uint8_t uuid[PFS_GPU_UUID_BYTES]);

#endif
