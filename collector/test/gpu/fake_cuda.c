/*
 * fake_cuda.c
 *		A libcuda.so.1 whose launches do nothing, for probes of its functions.
 */
#define EXPORT __attribute__((visibility("default"), noinline))

static volatile unsigned long launched;

/* As in the driver's library, a name with a suffix is the same function. */
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

/* No launch, and not to be counted. */
EXPORT int
cuCtxSynchronize(void)
{
	return 0;
}
