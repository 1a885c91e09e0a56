/*
 * kernels.c
 *		Launches kernels from three functions, which cause 60, 30 and 10 % of the GPU's time, in a
 *		loop of a millisecond. Two of the functions launch the same kernel.
 *
 *   kernels MS [fork|exec|second LIBRARY]
 *
 * Prints for how many nanoseconds it has launched gemm, softmax, and how many launches it made.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuLaunchKernel(const char *name, uint64_t ns, uint32_t stream);
int cuGraphLaunch(const char *name, uint64_t ns, uint32_t kernels);
int cuMemcpy(uint8_t kind, uint64_t bytes, uint64_t ns);

#define GEMM	  "_ZN4math4gemmIfLi8EEEvPKT_PS1_i"
#define SOFTMAX	  "_Z7softmaxPfi"
#define KERNEL_NS 10000

static volatile unsigned long steps;
static uint64_t gemm_ns;
static uint64_t softmax_ns;
static uint64_t launches;

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

__attribute__((noinline)) void
layer(const char *name, uint64_t *sum)
{
	steps++;
	cuLaunchKernel(name, KERNEL_NS, 1);
	*sum += KERNEL_NS;
	launches++;
	steps++;
}

__attribute__((noinline)) void
kernels_sixty(void)
{
	for (int i = 0; i < 6; i++)
		layer(GEMM, &gemm_ns);
	steps++;
}

/* Of a graph of three kernels. */
__attribute__((noinline)) void
kernels_thirty(void)
{
	cuGraphLaunch(SOFTMAX, KERNEL_NS, 3);
	softmax_ns += 3 * KERNEL_NS;
	launches++;
	steps++;
}

__attribute__((noinline)) void
kernels_ten(void)
{
	layer(SOFTMAX, &softmax_ns);
	steps++;
}

__attribute__((noinline)) void
step(void)
{
	uint64_t until_ns = monotonic_ns() + 1000000;

	kernels_sixty();
	kernels_thirty();
	kernels_ten();
	cuMemcpy(1, 4096, 2000);
	while (monotonic_ns() < until_ns)
		steps++;
}

int
main(int argc, char **argv)
{
	uint64_t until_ns;

	if (argc < 2)
		return 2;
	if (cuInit(0) != 0)
	{
		fputs("the injection library cannot be loaded\n", stderr);
		return 1;
	}
	if (argc > 3 && strcmp(argv[2], "second") == 0)
	{
		void *second = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
		int (*initialize)(void) = NULL;

		if (second != NULL)
			*(void **) &initialize = dlsym(second, "InitializeInjection");
		if (initialize == NULL || initialize() != 1)
			return 1;
	}
	until_ns = monotonic_ns() + strtoull(argv[1], NULL, 10) * 1000000;
	for (unsigned i = 0; monotonic_ns() < until_ns; i++)
	{
		step();
		if (argc > 2 && strcmp(argv[2], "fork") == 0 && i % 100 == 0)
		{
			pid_t child = fork();
			int status;

			if (child == 0)
			{
				cuLaunchKernel("child", KERNEL_NS, 1);
				exit(0);
			}
			if (waitpid(child, &status, 0) != child || status != 0)
				return 1;
		}
	}
	if (argc > 2 && strcmp(argv[2], "exec") == 0)
		execl(argv[0], argv[0], argv[1], (char *) NULL);
	printf("%lu %lu %lu\n", (unsigned long) gemm_ns, (unsigned long) softmax_ns,
		   (unsigned long) launches);
	return 0;
}
