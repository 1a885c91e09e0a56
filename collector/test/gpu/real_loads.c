/*
 * real_loads.c
 *		Gives a GPU work of a known kind, and prints how much: launches, seconds, and nanoseconds of
 *		the device by its own events. Needs a driver, but neither headers nor a compiler of CUDA.
 *
 *   real_loads count NUMBER                   so many empty kernels
 *   real_loads launch SECONDS                 empty kernels, as fast as one thread launches them
 *   real_loads threads SECONDS THREADS        likewise, of several threads, each in its stream
 *   real_loads spin SECONDS CYCLES            kernels that run for that many cycles
 *   real_loads graph SECONDS KERNELS CYCLES   graphs of KERNELS kernels; CYCLES 0: empty ones
 *   real_loads cycles US                      prints the cycles of that many microseconds only
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX		   64
#define AT_ONCE			   64 /* launches between two looks at the clock */
#define CALIBRATION_CYCLES UINT64_C(2000000)

/* X(member, name, parameters): functions of the driver, which return 0 or an error */
#define DRIVER_FUNCTIONS(X)                                                                  \
	X(init, "cuInit", (unsigned flags))                                                      \
	X(device_get, "cuDeviceGet", (int *device, int number))                                  \
	X(context_create, "cuCtxCreate_v2", (void **context, unsigned flags, int device))        \
	X(context_use, "cuCtxSetCurrent", (void *context))                                       \
	X(module_load, "cuModuleLoadData", (void **module, const void *image))                   \
	X(module_kernel, "cuModuleGetFunction", (void **kernel, void *module, const char *name)) \
	X(launch, "cuLaunchKernel",                                                              \
	  (void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
	   unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters, \
	   void **extra))                                                                        \
	X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                      \
	X(stream_wait, "cuStreamSynchronize", (void *stream))                                    \
	X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                    \
	X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                       \
	X(graph_make, "cuGraphInstantiateWithFlags",                                             \
	  (void **executable, void *graph, unsigned long long flags))                            \
	X(graph_launch, "cuGraphLaunch", (void *executable, void *stream))                       \
	X(event_create, "cuEventCreate", (void **event, unsigned flags))                         \
	X(event_record, "cuEventRecord", (void *event, void *stream))                            \
	X(event_wait, "cuEventSynchronize", (void *event))                                       \
	X(event_elapsed, "cuEventElapsedTime", (float *ms, void *begin, void *end))

static struct
{
#define DRIVER_MEMBER(member, name, parameters) int(*member) parameters;
	DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} driver;

/* A kernel that does nothing, and one that runs for a number of cycles. */
static const char image[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
							".visible .entry nothing()\n{\n\tret;\n}\n"
							".visible .entry spin(.param .u64 cycles)\n{\n"
							"\t.reg .u64 %c<5>;\n\t.reg .pred %p;\n"
							"\tld.param.u64 %c1, [cycles];\n"
							"\tmov.u64 %c2, %clock64;\n"
							"again:\n"
							"\tmov.u64 %c3, %clock64;\n"
							"\tsub.u64 %c4, %c3, %c2;\n"
							"\tsetp.lt.u64 %p, %c4, %c1;\n"
							"\t@%p bra again;\n"
							"\tret;\n}\n";

static void *context;
static void *empty_kernel;
static void *spin_kernel;

static void
succeed(const char *function, int result)
{
	if (result != 0)
	{
		fprintf(stderr, "%s: error %d\n", function, result);
		exit(1);
	}
}

static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Loads the driver and the kernels, or ends the program. */
static void
open_device(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *module;
	int device;

	if (library == NULL)
	{
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define DRIVER_FIND(member, name, parameters)              \
	*(void **) &driver.member = dlsym(library, name);      \
	if (driver.member == NULL)                             \
	{                                                      \
		fprintf(stderr, "libcuda.so.1 has no %s\n", name); \
		exit(1);                                           \
	}
	DRIVER_FUNCTIONS(DRIVER_FIND)
#undef DRIVER_FIND
	succeed("cuInit", driver.init(0));
	succeed("cuDeviceGet", driver.device_get(&device, 0));
	succeed("cuCtxCreate", driver.context_create(&context, 0, device));
	succeed("cuModuleLoadData", driver.module_load(&module, image));
	succeed("cuModuleGetFunction", driver.module_kernel(&empty_kernel, module, "nothing"));
	succeed("cuModuleGetFunction", driver.module_kernel(&spin_kernel, module, "spin"));
}

/* A stream with the events between which its work is timed. */
typedef struct Timed
{
	void *stream;
	void *begin;
	void *end;
} Timed;

static Timed
timed_open(void)
{
	Timed timed;

	succeed("cuStreamCreate", driver.stream_create(&timed.stream, 1));
	succeed("cuEventCreate", driver.event_create(&timed.begin, 0));
	succeed("cuEventCreate", driver.event_create(&timed.end, 0));
	succeed("cuEventRecord", driver.event_record(timed.begin, timed.stream));
	return timed;
}

/* Waits for the stream's work, and returns its time on the device. */
static double
timed_close_ns(const Timed *timed)
{
	float ms = 0;

	succeed("cuEventRecord", driver.event_record(timed->end, timed->stream));
	succeed("cuEventSynchronize", driver.event_wait(timed->end));
	succeed("cuEventElapsedTime", driver.event_elapsed(&ms, timed->begin, timed->end));
	return (double) ms * 1e6;
}

static void
launch_one(void *stream, uint64_t cycles)
{
	void *parameters[] = { &cycles };

	succeed("cuLaunchKernel", driver.launch(cycles > 0 ? spin_kernel : empty_kernel, 1, 1, 1, 1, 1,
											1, 0, stream, cycles > 0 ? parameters : NULL, NULL));
}

/* The function under which tests look for launches. */
__attribute__((noinline)) void
launch_all(void *stream, uint64_t cycles, long count)
{
	for (long i = 0; i < count; i++)
		launch_one(stream, cycles);
}

__attribute__((noinline)) void
launch_graphs(void *stream, void *graph, long count)
{
	for (long i = 0; i < count; i++)
		succeed("cuGraphLaunch", driver.graph_launch(graph, stream));
}

/* Returns the cycles of a kernel that takes us microseconds. */
static uint64_t
cycles_of(double us)
{
	Timed timed;

	/* the first launch loads the kernel, and raises the device's clock */
	timed = timed_open();
	launch_all(timed.stream, CALIBRATION_CYCLES, 200);
	(void) timed_close_ns(&timed);
	timed = timed_open();
	launch_all(timed.stream, CALIBRATION_CYCLES, 10);
	return (uint64_t) (us * 1000 * 10 * (double) CALIBRATION_CYCLES / timed_close_ns(&timed)) + 1;
}

/* Returns a graph of kernels that run one after the other. */
static void *
make_graph(long kernels, uint64_t cycles)
{
	void *stream;
	void *graph;
	void *executable;

	succeed("cuStreamCreate", driver.stream_create(&stream, 1));
	succeed("cuStreamBeginCapture", driver.capture_begin(stream, 0));
	launch_all(stream, cycles, kernels);
	succeed("cuStreamEndCapture", driver.capture_end(stream, &graph));
	succeed("cuGraphInstantiateWithFlags", driver.graph_make(&executable, graph, 0));
	return executable;
}

/* A load of one thread: kernels, or graphs if there is one. */
typedef struct Load
{
	double seconds;
	uint64_t cycles;
	void *graph;
	long launches;
	double device_ns;
} Load;

static void *
run_load(void *argument)
{
	Load *load = argument;
	Timed timed;
	double until_s = now_s() + load->seconds;

	succeed("cuCtxSetCurrent", driver.context_use(context));
	timed = timed_open();
	while (now_s() < until_s)
	{
		if (load->graph != NULL)
			launch_graphs(timed.stream, load->graph, 1);
		else
			launch_all(timed.stream, load->cycles, AT_ONCE);
		load->launches += load->graph != NULL ? 1 : AT_ONCE;
	}
	load->device_ns = timed_close_ns(&timed);
	return NULL;
}

/* Runs a load in each of several threads, and adds up what they did. */
static void
run_threads(Load *load, long threads)
{
	pthread_t ids[THREADS_MAX];
	Load loads[THREADS_MAX];

	for (long i = 0; i < threads; i++)
	{
		loads[i] = *load;
		if (pthread_create(&ids[i], NULL, run_load, &loads[i]) != 0)
			exit(1);
	}
	for (long i = 0; i < threads; i++)
	{
		pthread_join(ids[i], NULL);
		load->launches += loads[i].launches;
		load->device_ns += loads[i].device_ns;
	}
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "";
	double amount = argc > 2 ? atof(argv[2]) : 0;
	double third = argc > 3 ? atof(argv[3]) : 0;
	double fourth = argc > 4 ? atof(argv[4]) : 0;
	Load load = { .seconds = amount };
	double began_s;

	if (amount <= 0 || (strcmp(kind, "threads") == 0 && (third < 1 || third > THREADS_MAX)) ||
		(strcmp(kind, "graph") == 0 && third < 1))
		return 2;
	open_device();
	if (strcmp(kind, "cycles") == 0)
	{
		printf("%lu\n", (unsigned long) cycles_of(amount));
		return 0;
	}
	if (strcmp(kind, "spin") == 0)
		load.cycles = (uint64_t) third;
	else if (strcmp(kind, "graph") == 0)
		load.graph = make_graph((long) third, (uint64_t) fourth);
	began_s = now_s();
	if (strcmp(kind, "count") == 0)
	{
		Timed timed = timed_open();

		load.launches = (long) amount;
		launch_all(timed.stream, 0, load.launches);
		load.device_ns = timed_close_ns(&timed);
	}
	else if (strcmp(kind, "threads") == 0)
		run_threads(&load, (long) third);
	else
		(void) run_load(&load);
	printf("%ld %.6f %.0f\n", load.launches, now_s() - began_s, load.device_ns);
	return 0;
}
