/*
 * fake_driver.c
 *		A libcuda.so.1 that loads the injection library as the real one does, and launches kernels
 *		through a libcupti of our own (fake_cupti.c), if the program has loaded that.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cupti.h"

#define EXPORT __attribute__((visibility("default"), noinline))

static _Atomic(FakeLaunch *) launch;
static _Atomic(FakeCopy *) copy;

EXPORT void fake_cuda_use(FakeLaunch *launches, FakeCopy *copies);
EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDeviceGetUuid(uint8_t *uuid, int device);
EXPORT int cuLaunchKernel(const char *name, uint64_t ns, uint32_t stream);
EXPORT int cuGraphLaunch(const char *name, uint64_t ns, uint32_t kernels);
EXPORT int cuMemcpy(uint8_t kind, uint64_t bytes, uint64_t ns);

static volatile unsigned long calls;

void
fake_cuda_use(FakeLaunch *launches, FakeCopy *copies)
{
	atomic_store(&copy, copies);
	atomic_store(&launch, launches);
}

int
cuInit(unsigned flags)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	(void) flags;
	if (handle != NULL)
		*(void **) &initialize = dlsym(handle, "InitializeInjection");
	if (initialize != NULL)
		(void) initialize();
	return path != NULL && initialize == NULL;
}

int
cuDeviceGet(int *device, int number)
{
	*device = number;
	return 0;
}

int
cuDeviceGetUuid(uint8_t *uuid, int device)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (uint8_t) (i * 17 + device);
	return 0;
}

int
cuLaunchKernel(const char *name, uint64_t ns, uint32_t stream)
{
	FakeLaunch *launches = atomic_load(&launch);

	if (launches != NULL)
		launches(name, ns, 1, stream);
	calls++;
	return 0;
}

int
cuGraphLaunch(const char *name, uint64_t ns, uint32_t kernels)
{
	FakeLaunch *launches = atomic_load(&launch);

	if (launches != NULL)
		launches(name, ns, kernels, 2);
	calls++;
	return 0;
}

int
cuMemcpy(uint8_t kind, uint64_t bytes, uint64_t ns)
{
	FakeCopy *copies = atomic_load(&copy);

	if (copies != NULL)
		copies(kind, bytes, ns);
	calls++;
	return 0;
}
