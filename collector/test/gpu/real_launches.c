/*
 * real_launches.c
 *		Launches an empty kernel as often as its argument says, and prints the number and the
 *		seconds that it took. Needs a GPU, but neither headers nor a compiler of CUDA.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int (*LaunchFn)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
						unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
						void *stream, void **parameters, void **extra);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
						  ".visible .entry nothing()\n{\n\tret;\n}\n";

static void *library;

/* Returns a function of the driver's library, or ends. */
static void *
function_of(const char *name)
{
	void *function = dlsym(library, name);

	if (function == NULL)
	{
		fprintf(stderr, "libcuda.so.1 has no %s\n", name);
		exit(1);
	}
	return function;
}

static void
succeed(const char *what, int result)
{
	if (result != 0)
	{
		fprintf(stderr, "%s: error %d\n", what, result);
		exit(1);
	}
}

__attribute__((noinline)) void
launch_all(LaunchFn launch, void *kernel, long count)
{
	for (long i = 0; i < count; i++)
		succeed("cuLaunchKernel", launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

int
main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100000;
	struct timespec begin;
	struct timespec end;
	void *context;
	void *module;
	void *kernel;
	int device;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (library == NULL)
	{
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	succeed("cuInit", ((int (*)(unsigned)) function_of("cuInit"))(0));
	succeed("cuDeviceGet", ((int (*)(int *, int)) function_of("cuDeviceGet"))(&device, 0));
	succeed("cuCtxCreate",
			((int (*)(void **, unsigned, int)) function_of("cuCtxCreate_v2"))(&context, 0, device));
	succeed("cuModuleLoadData",
			((int (*)(void **, const void *)) function_of("cuModuleLoadData"))(&module, ptx));
	succeed("cuModuleGetFunction", ((int (*)(void **, void *, const char *)) function_of(
									   "cuModuleGetFunction"))(&kernel, module, "nothing"));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	launch_all((LaunchFn) function_of("cuLaunchKernel"), kernel, count);
	succeed("cuCtxSynchronize", ((int (*)(void)) function_of("cuCtxSynchronize"))());
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%ld %.3f\n", count,
		   (double) (end.tv_sec - begin.tv_sec) + (double) (end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}
