/*
 * gpu_meter.c
 *		Reads the GPUs at the end of each window.
 *
 * The thread wakes once a second. Each time it samples the devices that report only their activity
 * of the last moment; shortly before the end of a window it reads all devices. A device's activity
 * is divided among the processes in proportion to their own utilization. Activity that belongs to
 * no process is stored for the host, so that the parts always add up to the device's activity.
 */
#include "agent/gpu_meter.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "agent/reader/amount.h"
#include "agent/reader/heartbeat.h"
#include "base/clock.h"
#include "base/log.h"
#include "gpu/nvml.h"

#define TICK_NS		  NS_PER_S
#define READ_EARLY_NS (300 * NS_PER_MS) /* read this long before a window ends */
#define STOP_NS		  NS_PER_S
#define CHECK_NS	  (10 * NS_PER_S)
#define DEVICE_FRAME  "[gpu]"

/* Readings may take 1/CPU_SHARE of one CPU's time. */
#define CPU_SHARE	   1000
/* above this debt of CPU time devices are not read */
#define READ_DEBT_NS   (NS_PER_MS * CPU_SHARE)
/* above this debt devices are not even sampled between two readings */
#define GLANCE_DEBT_NS (10 * NS_PER_MS * CPU_SHARE)

/* State of the GPUs that was logged last. */
typedef enum MeterNews
{
	NEWS_NONE,
	NEWS_UNREAD, /* no GPU can be read */
	NEWS_READ
} MeterNews;

struct GpuMeter
{
	/* if is_left_behind is set, the thread must not use the agent's parts named here */
	GpuMeterOptions options;
	pthread_t thread;
	_Atomic int64_t interval_ns;
	Heartbeat heartbeat;

	pthread_mutex_t mutex; /* guards the fields up to stats */
	pthread_cond_t changed;
	bool stopping;
	bool is_left_behind; /* gpu_meter_stop() has given up waiting; the thread must free the meter */
	bool has_ended;
	GpuMeterStats stats;

	/* this field and all below belong to the thread; NULL: no driver has answered */
	Nvml *nvml;
	int64_t open_ns; /* time of the next attempt to find a driver */
	MeterNews news;
	/* CLOCK_MONOTONIC; at this time the allowance has paid for all CPU time used so far */
	int64_t paid_until_ns;
	int64_t read_window; /* number of the last window that was read */
	int64_t memory_us;	 /* stored time of the last memory sizes; 0: none were stored */
	GpuReading reading;
};

/* Charges the CPU time that this thread has used since began_ns. */
static void
meter_pay(GpuMeter *meter, int64_t began_ns)
{
	int64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;

	meter->paid_until_ns =
		MAX(meter->paid_until_ns, clock_ns(CLOCK_MONOTONIC)) + cost_ns * CPU_SHARE;
}

/* Returns true if the debt of CPU time is below debt_ns. */
static bool
meter_owes_less(const GpuMeter *meter, int64_t debt_ns)
{
	return meter->paid_until_ns - clock_ns(CLOCK_MONOTONIC) < debt_ns;
}

/*
 * Closes the driver's library after a problem. meter_open() loads it again later, because the
 * driver may have been reloaded by then.
 */
static void
meter_give_up(GpuMeter *meter, const char *problem)
{
	nvml_close(meter->nvml);
	meter->nvml = NULL;
	meter->open_ns = clock_ns(CLOCK_MONOTONIC) + meter->options.open_ns;
	if (meter->news != NEWS_UNREAD)
		log_event(LOG_WARNING, "gpu", "no GPU is read", log_text("detail", problem));
	meter->news = NEWS_UNREAD;
}

/* Tries to find a driver and devices, which may appear while the agent runs. */
static void
meter_open(GpuMeter *meter)
{
	char problem[NVML_PROBLEM_BYTES];

	if (clock_ns(CLOCK_MONOTONIC) < meter->open_ns)
		return;
	if (nvml_open(meter->options.library, &meter->nvml, problem) != 0)
		meter_give_up(meter, problem);
	else if (nvml_device_count(meter->nvml) == 0)
		meter_give_up(meter, "The driver has no device.");
}

/* The frame and labels under which values that are read from one device are added. */
typedef struct MeterTarget
{
	GpuMeter *meter;
	CodeObject *frame;
	BatchLabel labels[2];
	uint64_t now_ns;
} MeterTarget;

/*
 * Adds a value that was read from a device to the interval, unless it is 0. The caller must hold
 * the meter's mutex.
 */
static void
target_add(const MeterTarget *target, enum pfs_kind kind, uint32_t pid, uint64_t value)
{
	const ReaderAmount amount = {
		.kind = kind,
		.pid = pid,
		.time_ns = target->now_ns,
		.value = value,
		.frame = target->frame,
		.labels = target->labels,
		.label_count = sizeof(target->labels) / sizeof(target->labels[0]),
	};

	if (value == 0)
		return;
	target->meter->stats.amounts++;
	reader_add_amount(target->meter->options.reader, &amount);
}

/*
 * Divides the device's activity among its processes; the last process, or the host, gets the
 * remainder.
 */
static void
target_add_active(const MeterTarget *target, const GpuReading *reading)
{
	uint64_t left_busy = 0;
	uint64_t left_ns = reading->active_ns;

	for (uint32_t i = 0; i < reading->process_count; i++)
		left_busy += reading->processes[i].busy;
	for (uint32_t i = 0; i < reading->process_count && left_busy > 0; i++)
	{
		const GpuProcess *process = &reading->processes[i];
		uint64_t part_ns =
			(uint64_t) ((double) left_ns * (double) process->busy / (double) left_busy);

		part_ns = process->busy == left_busy ? left_ns : MIN(part_ns, left_ns);
		target_add(target, PFS_KIND_GPU_ACTIVE, process->pid, part_ns);
		left_ns -= part_ns;
		left_busy -= process->busy;
	}
	target_add(target, PFS_KIND_GPU_ACTIVE, 0, left_ns);
}

/*
 * Adds the values of one device's reading as samples: active time, energy and the memory of each
 * process.
 */
static void
meter_add_reading(GpuMeter *meter, uint32_t device, uint64_t now_ns, bool with_memory)
{
	const GpuReading *reading = &meter->reading;
	char number[16];
	const CodeName name = { DEVICE_FRAME, nvml_device_name(meter->nvml, device), "", 0, 0 };
	MeterTarget target = { .meter = meter,
						   .labels = { { "gpu", number },
									   { "gpu_uuid", nvml_device_uuid(meter->nvml, device) } },
						   .now_ns = now_ns };

	losses_add(meter->options.losses, LOSS_GPU_UNREAD, reading->failures);
	snprintf(number, sizeof(number), "%u", device);
	target.frame = name.name[0] != '\0' ? code_table_add(meter->options.names, &name) : NULL;
	if (target.frame == NULL)
		return;
	if (reading->has_active)
		target_add_active(&target, reading);
	if (reading->has_energy)
		target_add(&target, PFS_KIND_GPU_ENERGY, 0, reading->energy_mj);
	for (uint32_t i = 0; with_memory && i < reading->process_count; i++)
		target_add(&target, PFS_KIND_GPU_MEMORY, reading->processes[i].pid,
				   reading->processes[i].bytes);
	code_object_release(target.frame);
}

/*
 * Locks the meter's mutex, under which the agent's parts stay valid. Returns false, without the
 * lock, if the agent may have freed them already.
 */
static bool
meter_lock_parts(GpuMeter *meter)
{
	pthread_mutex_lock(&meter->mutex);
	if (!meter->is_left_behind)
		return true;
	pthread_mutex_unlock(&meter->mutex);
	return false;
}

/* Ends a reading of all devices; silent is the number of devices that answered no call at all. */
static void
meter_end_reading(GpuMeter *meter, uint32_t silent)
{
	uint32_t count = nvml_device_count(meter->nvml);

	pthread_mutex_lock(&meter->mutex);
	meter->stats.readings++;
	meter->stats.devices = count;
	pthread_mutex_unlock(&meter->mutex);
	if (silent == count)
	{
		meter_give_up(meter, "The driver does not answer for any device.");
		return;
	}
	if (meter->news != NEWS_READ)
		log_event(LOG_INFO, "gpu", "reading GPUs", log_number("devices", count),
				  log_text("driver", nvml_driver_version(meter->nvml)));
	meter->news = NEWS_READ;
}

/*
 * Reads all devices. Memory sizes are stored once a window, because sizes stored for one time are
 * added up.
 */
static void
meter_read(GpuMeter *meter)
{
	int64_t memory_us = 0;
	uint32_t silent = 0;
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

	for (uint32_t i = 0; i < nvml_device_count(meter->nvml); i++)
	{
		nvml_read(meter->nvml, i, now_ns, &meter->reading);
		/* The driver may take any time, so the lock is taken after it has answered. */
		if (!meter_lock_parts(meter))
			return;
		if (i == 0)
			memory_us = reader_stored_time(meter->options.reader, now_ns);
		meter_add_reading(meter, i, now_ns, memory_us != meter->memory_us);
		pthread_mutex_unlock(&meter->mutex);
		silent += meter->reading.failures > 0 && !meter->reading.has_answer;
	}
	meter->memory_us = memory_us;
	meter_end_reading(meter, silent);
}

/* Samples the devices that report only the activity of the last moment. */
static void
meter_glance(GpuMeter *meter)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint32_t failures = 0;

	for (uint32_t i = 0; i < nvml_device_count(meter->nvml); i++)
	{
		if (nvml_needs_glances(meter->nvml, i))
			failures += !nvml_glance(meter->nvml, i, now_ns);
	}
	if (failures > 0 && meter_lock_parts(meter))
	{
		losses_add(meter->options.losses, LOSS_GPU_UNREAD, failures);
		pthread_mutex_unlock(&meter->mutex);
	}
}

/* Returns the number of the window that must be read at this moment. */
static int64_t
window_to_read(const GpuMeter *meter)
{
	return (clock_ns(CLOCK_REALTIME) + READ_EARLY_NS) / atomic_load(&meter->interval_ns);
}

/* Does the work of one second. last: this is the thread's last turn. */
static void
meter_tick(GpuMeter *meter, bool last)
{
	int64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int64_t window = window_to_read(meter);

	heartbeat_work(&meter->heartbeat);
	if (meter->nvml == NULL && !last)
		meter_open(meter);
	/* The last reading is made even if CPU time is owed, because no later one covers its window. */
	if (meter->nvml != NULL &&
		(last || (window != meter->read_window && meter_owes_less(meter, READ_DEBT_NS))))
	{
		meter_read(meter);
		meter->read_window = window;
	}
	else if (meter->nvml != NULL && meter_owes_less(meter, GLANCE_DEBT_NS))
		meter_glance(meter);
	meter_pay(meter, began_ns);
	heartbeat_wait(&meter->heartbeat);
}

/*
 * Waits until the next second; seconds are counted from the ends of windows. Returns false if the
 * thread must end.
 */
static bool
meter_wait(GpuMeter *meter)
{
	int64_t into_ns = (clock_ns(CLOCK_REALTIME) + READ_EARLY_NS) % TICK_NS;
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + TICK_NS - into_ns;
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	bool stopping;

	pthread_mutex_lock(&meter->mutex);
	while (!meter->stopping &&
		   pthread_cond_timedwait(&meter->changed, &meter->mutex, &until) != ETIMEDOUT)
		;
	stopping = meter->stopping;
	pthread_mutex_unlock(&meter->mutex);
	return !stopping;
}

static void
meter_free(GpuMeter *meter)
{
	pthread_cond_destroy(&meter->changed);
	pthread_mutex_destroy(&meter->mutex);
	free(meter);
}

/*
 * The meter's thread: reads the devices at intervals until it is stopped. Frees the meter if its
 * owner did not wait for the end.
 */
static void *
run_meter(void *argument)
{
	GpuMeter *meter = argument;
	bool is_left_behind;

	meter_tick(meter, false);
	while (meter_wait(meter))
		meter_tick(meter, false);
	meter_tick(meter, true);
	nvml_close(meter->nvml);
	pthread_mutex_lock(&meter->mutex);
	meter->stats.cpu_ns = (uint64_t) clock_ns(CLOCK_THREAD_CPUTIME_ID);
	meter->has_ended = true;
	/* Read it under the lock: an owner that sees has_ended frees the meter. */
	is_left_behind = meter->is_left_behind;
	pthread_cond_broadcast(&meter->changed);
	pthread_mutex_unlock(&meter->mutex);
	if (is_left_behind)
		meter_free(meter);
	return NULL;
}

int
gpu_meter_start(const GpuMeterOptions *options, GpuMeter **result)
{
	GpuMeter *meter = calloc(1, sizeof(*meter));
	int error;

	if (meter == NULL)
		return -ENOMEM;
	meter->options = *options;
	meter->read_window = -1;
	atomic_store(&meter->interval_ns, options->interval_ns);
	pthread_mutex_init(&meter->mutex, NULL);
	clock_condition_init(&meter->changed);
	error = pthread_create(&meter->thread, NULL, run_meter, meter);
	if (error != 0)
	{
		meter_free(meter);
		return -error;
	}
	*result = meter;
	return 0;
}

void
gpu_meter_stop(GpuMeter *meter, GpuMeterStats *stats)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + STOP_NS;
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	pthread_t thread;
	bool has_ended;

	if (meter == NULL)
		return;
	pthread_mutex_lock(&meter->mutex);
	meter->stopping = true;
	pthread_cond_broadcast(&meter->changed);
	while (!meter->has_ended &&
		   pthread_cond_timedwait(&meter->changed, &meter->mutex, &until) != ETIMEDOUT)
		;
	*stats = meter->stats;
	thread = meter->thread;
	has_ended = meter->has_ended;
	meter->is_left_behind = !has_ended;
	if (!has_ended)
		losses_add(meter->options.losses, LOSS_GPU_UNREAD, 1);
	/* From here on the thread, if it was left behind, may free the meter. */
	pthread_mutex_unlock(&meter->mutex);
	if (has_ended)
	{
		pthread_join(thread, NULL);
		meter_free(meter);
		return;
	}
	pthread_detach(thread);
	log_event(LOG_WARNING, "gpu", "could not read GPUs for the last time",
			  log_text("detail", "The driver did not answer in time."));
}

void
gpu_meter_set_interval(GpuMeter *meter, int64_t interval_ns)
{
	if (meter != NULL)
		atomic_store(&meter->interval_ns, interval_ns);
}

int64_t
gpu_meter_busy_ms(const GpuMeter *meter)
{
	return meter != NULL ? heartbeat_busy_ms(&meter->heartbeat) : 0;
}

/* An attempt to open the library on a thread of its own, which the caller may leave behind. */
typedef struct GpuCheck
{
	const char *library;
	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t changed;
	bool has_ended;
	bool answered;
	char detail[NVML_PROBLEM_BYTES];
} GpuCheck;

/* The thread of a check: opens NVML, which may hang in the driver, and stores what it reports. */
static void *
run_check(void *argument)
{
	GpuCheck *check = argument;
	char detail[NVML_PROBLEM_BYTES];
	Nvml *nvml;
	bool answered = nvml_open(check->library, &nvml, detail) == 0;

	if (answered)
	{
		snprintf(detail, sizeof(detail), "%u devices, driver %s", nvml_device_count(nvml),
				 nvml_driver_version(nvml));
		nvml_close(nvml);
	}
	pthread_mutex_lock(&check->mutex);
	memcpy(check->detail, detail, sizeof(detail));
	check->answered = answered;
	check->has_ended = true;
	pthread_cond_broadcast(&check->changed);
	pthread_mutex_unlock(&check->mutex);
	return NULL;
}

bool
gpu_meter_check(const char *library, char *detail, size_t size)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + CHECK_NS;
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	/* Never freed on timeout: the thread uses this memory when the driver lets it continue. */
	GpuCheck *check = calloc(1, sizeof(*check));
	pthread_t thread;
	bool answered;

	snprintf(detail, size, "out of memory");
	if (check == NULL)
		return false;
	check->library = library;
	pthread_mutex_init(&check->mutex, NULL);
	clock_condition_init(&check->changed);
	snprintf(check->detail, sizeof(check->detail), "The driver did not answer within 10 s.");
	if (pthread_create(&thread, NULL, run_check, check) != 0)
		return false;
	pthread_detach(thread);
	pthread_mutex_lock(&check->mutex);
	while (!check->has_ended &&
		   pthread_cond_timedwait(&check->changed, &check->mutex, &until) != ETIMEDOUT)
		;
	snprintf(detail, size, "%s", check->detail);
	answered = check->answered;
	pthread_mutex_unlock(&check->mutex);
	return answered;
}
