/*
 * device.c
 *		Asks the program's driver for the identities of devices.
 */
#include "gpu_library/old_glibc.h"

#include "gpu_library/device.h"

#include <dlfcn.h>
#include <string.h>

typedef struct KnownDevice
{
	bool was_asked;
	bool has_uuid;
	uint8_t uuid[PFS_GPU_UUID_BYTES];
} KnownDevice;

static KnownDevice known_devices[PFS_GPU_DEVICES_MAX];

static bool
ask_driver(uint32_t number, uint8_t uuid[PFS_GPU_UUID_BYTES])
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*get)(int *device, int number) = NULL;
	int (*get_uuid)(uint8_t * uuid, int device) = NULL;
	int device;

	if (driver == NULL)
		return false;
	*(void **) &get = dlsym(driver, "cuDeviceGet");
	*(void **) &get_uuid = dlsym(driver, "cuDeviceGetUuid");
	return get != NULL && get_uuid != NULL && get(&device, (int) number) == 0 &&
		   get_uuid(uuid, device) == 0;
}

bool
device_uuid(uint32_t device, uint8_t uuid[PFS_GPU_UUID_BYTES])
{
	KnownDevice *known = &known_devices[device % PFS_GPU_DEVICES_MAX];

	if (!known->was_asked)
		known->has_uuid = ask_driver(device, known->uuid);
	known->was_asked = true;
	memcpy(uuid, known->uuid, PFS_GPU_UUID_BYTES);
	return known->has_uuid;
}
