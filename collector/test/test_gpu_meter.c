/*
 * test_gpu_meter.c
 *		Readings of GPUs, from a library with NVML's interface into a batch.
 */
#include "reader_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include "agent/gpu_meter.h"
#include "agent/reader/amount.h"
#include "gpu/fake_nvml.h"
#include "gpu/nvml.h"
#include "process/process_entry.h"

#define DEVICE_MEMORY 123456789
#define SECOND		  UINT64_C(1000000000)

static FakeNvml *fake;

/* Resets the library, which stays loaded, so that all loaders share its state. */
static void
reset_fake(void)
{
	static void *library;

	if (library == NULL)
		library = dlopen(FAKE_NVML, RTLD_NOW);
	assert_non_null(library);
	fake = dlsym(library, "fake_nvml");
	assert_non_null(fake);
	memset(fake, 0, sizeof(*fake));
	fake->milliwatts = 100000;
	fake->percent = 25;
	fake->utilization = 40;
}

static void
add_process(uint32_t device, pid_t pid, uint64_t bytes, uint32_t busy)
{
	fake->processes[fake->process_count++] = (FakeProcess){ device, (uint32_t) pid, bytes, busy };
}

static Nvml *
open_fake(void)
{
	char problem[NVML_PROBLEM_BYTES] = "";
	Nvml *nvml;

	assert_int_equal(nvml_open(FAKE_NVML, &nvml, problem), 0);
	return nvml;
}

static void
test_no_driver(void **state)
{
	char problem[NVML_PROBLEM_BYTES];
	char detail[NVML_PROBLEM_BYTES];
	Nvml *nvml;

	(void) state;
	reset_fake();
	assert_int_equal(nvml_open("libnosuch.so.1", &nvml, problem), -ENOENT);
	assert_string_equal(problem, "There is no NVIDIA driver: libnosuch.so.1: cannot open shared "
								 "object file: No such file or directory.");
	assert_false(gpu_meter_check("libnosuch.so.1", detail, sizeof(detail)));
	assert_string_equal(detail, problem);
	assert_int_equal(nvml_open("libm.so.6", &nvml, problem), -ENOENT);
	assert_string_equal(problem, "libm.so.6 has no function nvmlInit_v2.");
	fake->init_result = 9;
	assert_int_equal(nvml_open(FAKE_NVML, &nvml, problem), -ENOENT);
	assert_string_equal(problem, "NVML did not start: Driver Not Loaded.");
	fake->init_result = 0;
	assert_true(gpu_meter_check(FAKE_NVML, detail, sizeof(detail)));
	assert_string_equal(detail, "2 devices, driver 580.0-fake");
}

static void
test_readings(void **state)
{
	GpuReading reading;
	Nvml *nvml;

	(void) state;
	reset_fake();
	nvml = open_fake();
	assert_int_equal(nvml_device_count(nvml), 2);
	assert_string_equal(nvml_device_uuid(nvml, 1), "GPU-fake-1");
	assert_false(nvml_needs_glances(nvml, 0));
	assert_true(nvml_needs_glances(nvml, 1));

	/* the first reading has no earlier one to compare with */
	nvml_read(nvml, 0, 10 * SECOND, &reading);
	assert_false(reading.has_active);
	assert_false(reading.has_energy);
	assert_int_equal(reading.failures, 0);
	usleep(50000);
	nvml_read(nvml, 0, 12 * SECOND, &reading);
	assert_true(reading.has_active);
	assert_int_equal(reading.active_ns, SECOND / 2);
	assert_true(reading.has_energy);
	assert_true(reading.energy_mj >= 4900 && reading.energy_mj < 100000);

	/* an invalid percentage, and a counter that began anew */
	fake->percent = NAN;
	fake->restart = 100000;
	usleep(1000);
	nvml_read(nvml, 0, 13 * SECOND, &reading);
	assert_false(reading.has_active);
	assert_false(reading.has_energy);
	fake->percent = 1000;
	usleep(1000);
	nvml_read(nvml, 0, 14 * SECOND, &reading);
	assert_int_equal(reading.active_ns, SECOND);

	/* readings are weighted by the time since the previous one */
	nvml_read(nvml, 1, 10 * SECOND, &reading);
	assert_false(reading.has_active);
	fake->utilization = 100;
	assert_true(nvml_glance(nvml, 1, 11 * SECOND));
	fake->utilization = 10;
	nvml_read(nvml, 1, 13 * SECOND, &reading);
	assert_int_equal(reading.active_ns, SECOND + 2 * SECOND / 10);
	nvml_close(nvml);
}

static void
test_processes(void **state)
{
	GpuReading reading;
	Nvml *nvml;

	(void) state;
	reset_fake();
	add_process(0, 70000, 1000, 20);
	add_process(0, 70001, NVML_SIZE_UNKNOWN, 0);
	add_process(0, 70000, 500, 0);
	add_process(1, 70002, 7, 0);
	nvml = open_fake();
	nvml_read(nvml, 0, SECOND, &reading);
	assert_int_equal(reading.process_count, 2);
	assert_int_equal(reading.processes[0].bytes, 1500);
	assert_int_equal(reading.processes[1].bytes, 0);
	nvml_read(nvml, 0, 2 * SECOND, &reading);
	assert_int_equal(reading.processes[0].busy, 20);
	assert_int_equal(reading.failures, 0);
	nvml_read(nvml, 1, 2 * SECOND, &reading);
	assert_int_equal(reading.process_count, 1);
	assert_int_equal(reading.failures, 0);

	/* an unsupported quantity is not a failure, unlike an error; neither stops the others */
	fake->energy_result = 999;
	fake->processes_result = NVML_NOT_SUPPORTED;
	nvml_read(nvml, 1, 4 * SECOND, &reading);
	assert_int_equal(reading.failures, 1);
	assert_false(reading.has_energy);
	assert_false(reading.has_memory);
	assert_true(reading.has_active);

	/* more processes than the array holds are a failure, and counted */
	fake->energy_result = 0;
	fake->processes_result = 0;
	for (int i = 0; i < NVML_PROCESSES_MAX; i++)
		add_process(1, 80000 + i, 1, 0);
	nvml_read(nvml, 1, 5 * SECOND, &reading);
	assert_int_equal(reading.failures, 1);
	assert_false(reading.has_memory);
	nvml_close(nvml);
}

static const char *
label_of(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
	{
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	}
	return "";
}

/* Returns the sum of a type's samples of a device and process name; comm "": those of the host. */
static int64_t
sum_of(const Batch *batch, const char *type, const char *gpu, const char *comm)
{
	const BatchSample *samples;
	const BatchSeries *series;
	size_t count = batch_samples(batch, &samples);
	int64_t sum = 0;

	batch_series(batch, &series);
	for (size_t i = 0; i < count; i++)
	{
		const BatchSeries *of = &series[samples[i].series];

		if (strncmp(of->profile_type, type, strlen(type)) == 0 &&
			strcmp(label_of(of, "gpu"), gpu) == 0 && strcmp(label_of(of, "comm"), comm) == 0)
			sum += samples[i].value;
	}
	return sum;
}

/* Runs the meter for some time, and returns its figures. */
static GpuMeterStats
run_meter_for(Fixture *fixture, CodeTable *names, int64_t interval_ns, useconds_t time_us)
{
	GpuMeterOptions options = { .library = FAKE_NVML,
								.interval_ns = interval_ns,
								.open_ns = GPU_METER_OPEN_NS,
								.reader = fixture->reader,
								.losses = &fixture->losses,
								.names = names };
	GpuMeterStats stats = { 0 };
	GpuMeter *meter;

	assert_int_equal(gpu_meter_start(&options, &meter), 0);
	usleep(time_us);
	gpu_meter_stop(meter, &stats);
	return stats;
}

static pid_t
ended_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* The activity of a device equals that of its processes and of the host together. */
static void
test_meter(void **state)
{
	Fixture *fixture = *state;
	GpuMeterStats stats;
	CodeTable *names;
	int64_t own;
	int64_t host;
	char text[64];
	const BatchSample *samples;
	const BatchSeries *series;

	reset_fake();
	add_process(0, getpid(), DEVICE_MEMORY, 30);
	add_process(0, ended_pid(), 1000, 10);
	fixture->options.window_us = 3600 * INT64_C(1000000);
	fixture->options.start_us = clock_ns(CLOCK_REALTIME) / 1000;
	assert_int_equal(code_table_create(1 << 20, &names), 0);
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	stats = run_meter_for(fixture, names, NS_PER_S, 2500000);
	assert_true(stats.readings >= 3);
	assert_int_equal(stats.devices, 2);
	finish(fixture);
	own = sum_of(fixture->batch, "gpu:active:", "0", "test_gpu_meter");
	host = sum_of(fixture->batch, "gpu:active:", "0", "");
	print_message("own %.3f s, host %.3f s\n", (double) own / 1e9, (double) host / 1e9);
	/* 30 to 10, during a quarter of the time */
	assert_true(llabs(own - 3 * host) < 1000);
	assert_true(own + host > (int64_t) SECOND * 2 / 4 && own + host < (int64_t) SECOND * 4 / 4);
	/* device 1 has no processes */
	assert_true(sum_of(fixture->batch, "gpu:active:", "1", "") > (int64_t) SECOND * 2 * 4 / 10);
	assert_true(sum_of(fixture->batch, "gpu:energy:", "0", "") > 200000);
	/* sizes are those of one reading, however many a window has */
	assert_int_equal(sum_of(fixture->batch, "gpu:memory:", "0", "test_gpu_meter"), DEVICE_MEMORY);
	assert_int_equal(sum_of(fixture->batch, "gpu:memory:", "0", ""), 1000);
	assert_int_equal(losses_total(&fixture->losses, LOSS_GPU_UNREAD), 0);
	for (size_t i = batch_samples(fixture->batch, &samples); i-- > 0;)
	{
		batch_series(fixture->batch, &series);
		stack_text(fixture->batch, samples[i].stack, text, sizeof(text));
		assert_string_equal(text, label_of(&series[samples[i].series], "gpu")[0] == '0' ? "Fake 0"
																						: "Fake 1");
		assert_int_equal(strncmp(label_of(&series[samples[i].series], "gpu_uuid"), "GPU-fake-", 9),
						 0);
		assert_string_equal(label_of(&series[samples[i].series], "node"), "host");
	}
	reader_free(fixture->reader);
	fixture->reader = NULL;
	code_table_free(names);
}

/* Expensive readings are rare: their limit is a thousandth of a CPU. */
static void
test_budget(void **state)
{
	Fixture *fixture = *state;
	GpuMeterStats stats;
	CodeTable *names;

	reset_fake();
	fake->burn_ns = 5000000; /* ns of CPU time for each device */
	assert_int_equal(code_table_create(1 << 20, &names), 0);
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	stats = run_meter_for(fixture, names, NS_PER_S, 3500000);
	assert_int_equal(stats.readings, 2); /* the first reading and the last one */
	finish(fixture);
	/* the energy of the omitted windows is in the next reading */
	assert_true(sum_of(fixture->batch, "gpu:energy:", "0", "") > 340000);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	code_table_free(names);
}

/*
 * A driver that does not answer delays no other thread; its thread is abandoned and frees itself.
 */
static void
test_hang(void **state)
{
	Fixture *fixture = *state;
	GpuMeterStats stats;
	CodeTable *names;
	int64_t began_ns;
	int64_t took_ns;

	reset_fake();
	atomic_store(&fake->hangs, true);
	assert_int_equal(code_table_create(1 << 20, &names), 0);
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	stats = run_meter_for(fixture, names, NS_PER_S, 200000);
	took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	assert_true(took_ns >= NS_PER_S && took_ns < 10 * NS_PER_S);
	assert_int_equal(stats.readings, 0);
	assert_int_equal(losses_total(&fixture->losses, LOSS_GPU_UNREAD), 1);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	code_table_free(names);
	atomic_store(&fake->hangs, false);
	usleep(100000); /* the thread finds that it was abandoned, and ends */
}

/* Waits until the library was started this many times. */
static void
await_starts(unsigned int starts)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 20 * NS_PER_S;

	while (atomic_load(&fake->starts) < starts && clock_ns(CLOCK_MONOTONIC) < until_ns)
		usleep(10000);
	assert_int_equal(atomic_load(&fake->starts), starts);
}

/*
 * A driver without a device, or whose devices all fail, is opened again; one of which some calls
 * fail is not.
 */
static void
test_reopening(void **state)
{
	Fixture *fixture = *state;
	GpuMeterOptions options = { .library = FAKE_NVML,
								.interval_ns = NS_PER_S,
								.open_ns = NS_PER_S / 2,
								.losses = &fixture->losses };
	GpuMeterStats stats = { 0 };
	CodeTable *names;
	GpuMeter *meter;
	int64_t until_ns;

	reset_fake();
	fake->missing = FAKE_DEVICES;
	fake->energy_result = 999;
	assert_int_equal(code_table_create(1 << 20, &names), 0);
	assert_int_equal(reader_create(&fixture->options, fixture->files, &fixture->losses,
								   &fixture->reader),
					 0);
	options.reader = fixture->reader;
	options.names = names;
	assert_int_equal(gpu_meter_start(&options, &meter), 0);
	await_starts(2);
	fake->missing = 0;
	await_starts(3);
	/* two readings in which the calls for energy fail */
	until_ns = clock_ns(CLOCK_MONOTONIC) + 20 * NS_PER_S;
	while (losses_total(&fixture->losses, LOSS_GPU_UNREAD) < 2 * FAKE_DEVICES &&
		   clock_ns(CLOCK_MONOTONIC) < until_ns)
		usleep(10000);
	assert_int_equal(losses_total(&fixture->losses, LOSS_GPU_UNREAD), 2 * FAKE_DEVICES);
	assert_int_equal(atomic_load(&fake->starts), 3);
	fake->energy_result = 0;
	atomic_store(&fake->stale_result, 999);
	await_starts(4);
	usleep(2500000);
	gpu_meter_stop(meter, &stats);
	assert_int_equal(atomic_load(&fake->starts), 4);
	assert_int_equal(stats.devices, FAKE_DEVICES);
	finish(fixture);
	assert_true(sum_of(fixture->batch, "gpu:energy:", "0", "") > 0);
	assert_true(sum_of(fixture->batch, "gpu:energy:", "1", "") > 0);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	code_table_free(names);
}

/* A process that was sampled is found by its pid; another one is read from /proc. */
static void
test_pids(void **state)
{
	Fixture *fixture = *state;
	Record record = own_record();
	ProcessTableStats stats;
	CodeTable *names;
	ReaderAmount amount = { .kind = PFS_KIND_GPU_MEMORY,
							.pid = (uint32_t) getpid(),
							.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC),
							.value = 5 };
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(code_table_create(1 << 20, &names), 0);
	amount.frame = code_table_add(names, &(CodeName){ "[gpu]", "device", "", 0, 0 });
	record.sample.exec_id = 77; /* a process that /proc does not show */
	strcpy(record.sample.process_comm, "test_gpu_meter");
	add_frame(&record, address_of(test_leaf));
	add_frame(&record, address_of(start_thread) + 1);
	send(fixture, &record);
	reader_add_amount(fixture->reader, &amount);
	reader_process_stats(fixture->reader, &stats);
	assert_int_equal(stats.count, 1);

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
	{
		close(ready[1]);
		_exit(read(ready[0], &byte, 1) != 0);
	}
	amount.pid = (uint32_t) child;
	reader_add_amount(fixture->reader, &amount);
	reader_add_amount(fixture->reader, &amount);
	reader_process_stats(fixture->reader, &stats);
	assert_int_equal(stats.count, 2);
	close(ready[1]);
	waitpid(child, NULL, 0);
	close(ready[0]);
	/* counted for the host, because the process has ended */
	reader_add_amount(fixture->reader, &amount);
	finish(fixture);
	assert_int_equal(sum_of(fixture->batch, "gpu:memory:", "", "test_gpu_meter"), 15);
	assert_int_equal(sum_of(fixture->batch, "gpu:memory:", "", ""), 5);
	code_object_release(amount.frame);
	reader_free(fixture->reader);
	fixture->reader = NULL;
	code_table_free(names);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_driver),
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_processes),
		cmocka_unit_test_setup_teardown(test_meter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hang, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reopening, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pids, setup, teardown),
	};

	symbolizer_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
