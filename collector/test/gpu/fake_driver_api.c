/*
 * fake_driver_api.c
 *		A libcuda.so.1 with the driver's own parameters, for real_loads.c without a GPU.
 *
 * Kernels of a stream run one after the other, a cycle takes a nanosecond, and a thread waits if a
 * stream has too much work before it. If the program has loaded a libcupti of our own
 * (fake_cupti.c), launches go there, too. The injection library is loaded as the real driver does.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cupti.h"

#define EXPORT	   __attribute__((visibility("default"), noinline))
#define AHEAD_NS   200000000 /* work that a stream may have before a launch waits */
#define KERNEL_NS  1000		 /* of a kernel without a parameter */
#define INVALID	   1
#define EMPTY_NAME "nothing"
#define SPIN_NAME  "spin"

/* A stream; while it is captured, it counts kernels. */
typedef struct Stream
{
	uint32_t number;
	atomic_ullong free_ns; /* when its work ends */
	int is_captured;
	uint32_t kernels;
	uint64_t kernel_ns;
} Stream;

typedef struct Graph
{
	uint32_t kernels;
	uint64_t kernel_ns;
} Graph;

typedef struct Event
{
	uint64_t ns;
} Event;

static _Atomic(FakeLaunch *) launch;
static atomic_uint streams;

EXPORT void fake_cuda_use(FakeLaunch *launches, FakeCopy *copies);
EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGet(int *device, int number);
EXPORT int cuDeviceGetUuid(uint8_t *uuid, int device);
EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleGetFunction(const char **kernel, void *module, const char *name);
EXPORT int cuLaunchKernel(const char *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
						  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
						  Stream *stream, void **parameters, void **extra);
EXPORT int cuStreamCreate(Stream **stream, unsigned flags);
EXPORT int cuStreamSynchronize(Stream *stream);
EXPORT int cuStreamBeginCapture_v2(Stream *stream, int mode);
EXPORT int cuStreamEndCapture(Stream *stream, Graph **graph);
EXPORT int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags);
EXPORT int cuGraphLaunch(Graph *graph, Stream *stream);
EXPORT int cuEventCreate(Event **event, unsigned flags);
EXPORT int cuEventRecord(Event *event, Stream *stream);
EXPORT int cuEventSynchronize(const Event *event);
EXPORT int cuEventElapsedTime(float *ms, const Event *begin, const Event *end);

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

static void
wait_until(uint64_t ns)
{
	struct timespec until = { (time_t) (ns / 1000000000U), (long) (ns % 1000000000U) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

/* Adds work to a stream. */
static void
run_on(Stream *stream, const char *name, uint32_t kernels, uint64_t kernel_ns)
{
	FakeLaunch *launches = atomic_load(&launch);
	uint64_t free_ns = atomic_load(&stream->free_ns);
	uint64_t begin_ns = now_ns();

	if (free_ns > begin_ns + AHEAD_NS)
		wait_until(free_ns - AHEAD_NS / 2);
	else if (free_ns < begin_ns)
		free_ns = begin_ns;
	atomic_store(&stream->free_ns, free_ns + kernels * kernel_ns);
	if (launches != NULL)
		launches(name, kernel_ns, kernels, stream->number);
}

void
fake_cuda_use(FakeLaunch *launches, FakeCopy *copies)
{
	(void) copies;
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
	memset(uuid, 1 + device, 16);
	return 0;
}

int
cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	static int only;

	(void) flags;
	(void) device;
	*context = &only;
	return 0;
}

int
cuCtxSetCurrent(void *context)
{
	return context == NULL;
}

int
cuModuleLoadData(void **module, const void *image)
{
	*module = (void *) (uintptr_t) image;
	return strncmp(image, ".version", strlen(".version")) != 0;
}

/* A kernel is its name. */
int
cuModuleGetFunction(const char **kernel, void *module, const char *name)
{
	(void) module;
	*kernel = strcmp(name, SPIN_NAME) == 0 ? SPIN_NAME : EMPTY_NAME;
	return strcmp(name, *kernel) != 0;
}

int
cuLaunchKernel(const char *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			   Stream *stream, void **parameters, void **extra)
{
	uint64_t ns = KERNEL_NS;

	(void) shared;
	(void) extra;
	if (stream == NULL || grid_x * grid_y * grid_z * block_x * block_y * block_z == 0)
		return INVALID;
	if (strcmp(kernel, SPIN_NAME) == 0)
		memcpy(&ns, parameters[0], sizeof(ns));
	if (stream->is_captured)
	{
		stream->kernels++;
		stream->kernel_ns = ns;
	}
	else
		run_on(stream, kernel, 1, ns);
	return 0;
}

int
cuStreamCreate(Stream **stream, unsigned flags)
{
	(void) flags;
	*stream = calloc(1, sizeof(**stream));
	if (*stream == NULL)
		return INVALID;
	(*stream)->number = atomic_fetch_add(&streams, 1) + 7;
	return 0;
}

int
cuStreamSynchronize(Stream *stream)
{
	wait_until(atomic_load(&stream->free_ns));
	return 0;
}

int
cuStreamBeginCapture_v2(Stream *stream, int mode)
{
	(void) mode;
	stream->is_captured = 1;
	stream->kernels = 0;
	return 0;
}

int
cuStreamEndCapture(Stream *stream, Graph **graph)
{
	*graph = calloc(1, sizeof(**graph));
	if (*graph == NULL || !stream->is_captured)
		return INVALID;
	(*graph)->kernels = stream->kernels;
	(*graph)->kernel_ns = stream->kernel_ns;
	stream->is_captured = 0;
	return 0;
}

int
cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags)
{
	(void) flags;
	*executable = graph;
	return 0;
}

int
cuGraphLaunch(Graph *graph, Stream *stream)
{
	run_on(stream, SPIN_NAME, graph->kernels, graph->kernel_ns);
	return 0;
}

int
cuEventCreate(Event **event, unsigned flags)
{
	(void) flags;
	*event = calloc(1, sizeof(**event));
	return *event == NULL;
}

int
cuEventRecord(Event *event, Stream *stream)
{
	uint64_t free_ns = atomic_load(&stream->free_ns);
	uint64_t begin_ns = now_ns();

	event->ns = free_ns > begin_ns ? free_ns : begin_ns;
	return 0;
}

int
cuEventSynchronize(const Event *event)
{
	wait_until(event->ns);
	return 0;
}

int
cuEventElapsedTime(float *ms, const Event *begin, const Event *end)
{
	*ms = (float) ((double) (end->ns - begin->ns) / 1e6);
	return 0;
}
