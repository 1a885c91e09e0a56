/*
 * fake_cuda.c
 *		A libcuda.so.1 whose launches do nothing, for probes of its functions.
 */
#define EXPORT __attribute__((visibility("default"), noinline))

static volatile unsigned long launched;

/* As in the driver's library, the name with a suffix is an alias of one function. */
EXPORT int
cuLaunchKernel(void)
{
	launched++;
	return 0;
}

EXPORT int cuLaunchKernel_ptsz(void) __attribute__((alias("cuLaunchKernel")));

EXPORT int
cuGraphLaunch(void)
{
	launched++;
	return 0;
}

/* A function that launches nothing, and must not be counted. */
EXPORT int
cuCtxSynchronize(void)
{
	return 0;
}
