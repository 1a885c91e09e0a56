/*
 * fake_cupti.c
 *		A libcupti.so without a GPU, with CUPTI's interface and layouts.
 *
 * Kernels of a stream run one after the other; a record is delivered at a flush after the kernel's
 * end, or when many are ready. Unused bytes of records are 0xAA. Faults are chosen by
 * fake_configure(). If the program has a fake libcuda, it makes the launches.
 */
#include "fake_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_library/cupti_abi.h"

#define EXPORT		  __attribute__((visibility("default")))
#define PENDING_MAX	  (1U << 20)
#define STREAMS		  64
#define READY_MANY	  512
#define RECORD_BYTES  216
#define DOMAINS		  4
#define CALLBACKS	  1024
#define KINDS		  64
#define LAUNCH_KERNEL 307

typedef struct PendingRecord
{
	uint32_t kind;
	uint8_t copy;
	uint32_t correlation;
	uint32_t stream;
	uint32_t graph;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t bytes;
	const char *name;
	bool is_waiting; /* recorded although activity is off */
} PendingRecord;

static struct
{
	pthread_mutex_t mutex;
	FakeCuptiFaults faults;
	FakeCuptiCounts counts;
	_Atomic(CuptiCallback) callback;
	_Atomic(void *) user;
	atomic_bool callbacks[DOMAINS][CALLBACKS];
	bool kinds[KINDS];
	CuptiRequest request;
	CuptiComplete complete;
	CuptiClock clock;
	_Atomic uint32_t correlation;
	_Atomic size_t lost;
	atomic_bool has_ended; /* its part of the program's end is done: nothing may be called */
	uint64_t free_ns[STREAMS];
	uint64_t told; /* records delivered so far, which number the faults */
	PendingRecord *pending;
	uint32_t first;
	uint32_t count;
} fake = { .mutex = PTHREAD_MUTEX_INITIALIZER, .correlation = 1 };

static uint64_t
real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

static uint64_t
fake_ns(void)
{
	return fake.clock != NULL ? fake.clock() : real_ns();
}

static bool
is_due(uint32_t every)
{
	return every != 0 && fake.told % every == 0;
}

static void
put(uint8_t *record, size_t offset, const void *value, size_t size)
{
	memcpy(record + offset, value, size);
}

static void
put_u32(uint8_t *record, size_t offset, uint32_t value)
{
	put(record, offset, &value, sizeof(value));
}

static void
put_u64(uint8_t *record, size_t offset, uint64_t value)
{
	put(record, offset, &value, sizeof(value));
}

/* Writes the record of a kernel, with the fault that is due. */
static void
write_kernel(uint8_t *record, const PendingRecord *pending)
{
	uint64_t start_ns = pending->start_ns;
	uint64_t end_ns = pending->end_ns;
	uint32_t correlation = pending->correlation;

	if (is_due(fake.faults.zero_every))
		start_ns = 0;
	else if (is_due(fake.faults.backwards_every))
		end_ns = start_ns - 1;
	else if (is_due(fake.faults.early_every))
		start_ns -= 60000000000U;
	else if (is_due(fake.faults.unmatched_every))
		correlation += 1U << 30;
	put_u64(record, KERNEL_START, start_ns);
	put_u64(record, KERNEL_END, end_ns);
	put_u32(record, KERNEL_DEVICE, 0);
	put_u32(record, KERNEL_STREAM, pending->stream);
	put_u32(record, KERNEL_CORRELATION, correlation);
	put(record, KERNEL_NAME, &pending->name, sizeof(pending->name));
	put_u32(record, KERNEL_GRAPH, pending->graph);
}

static void
write_copy(uint8_t *record, const PendingRecord *pending)
{
	record[COPY_KIND] = pending->copy;
	put_u64(record, COPY_SIZE, pending->bytes);
	put_u64(record, COPY_START, pending->start_ns);
	put_u64(record, COPY_END, pending->end_ns);
	put_u32(record, COPY_DEVICE, 0);
	put_u32(record, COPY_STREAM, pending->stream);
}

static size_t
record_bytes(void)
{
	return fake.faults.record_bytes != 0 ? fake.faults.record_bytes : RECORD_BYTES;
}

/* Delivers the records that are ready. The caller must hold the mutex. */
static void
deliver(void)
{
	uint64_t now_ns = fake_ns();

	while (fake.count > 0 && fake.pending[fake.first].end_ns <= now_ns && !fake.faults.is_late)
	{
		uint8_t *buffer = NULL;
		size_t size = 0;
		size_t used = 0;
		size_t limit;

		fake.request(&buffer, &size, &limit);
		while (fake.count > 0 && fake.pending[fake.first].end_ns <= now_ns)
		{
			const PendingRecord *pending = &fake.pending[fake.first];

			if (buffer != NULL && used + record_bytes() > size)
				break;
			fake.told++;
			if (buffer == NULL || is_due(fake.faults.drop_every))
				fake.lost++;
			else
			{
				memset(buffer + used, 0xAA, record_bytes());
				put_u32(buffer, used, pending->kind);
				if (pending->kind == CUPTI_CONCURRENT_KERNEL)
					write_kernel(buffer + used, pending);
				else
					write_copy(buffer + used, pending);
				used += record_bytes();
			}
			fake.first = (fake.first + 1) % PENDING_MAX;
			fake.count--;
		}
		if (buffer != NULL)
			fake.complete(NULL, 0, buffer, size, used);
		else if (fake.lost > 0)
			/* CUPTI reports losses with the next buffer; there is none */
			fake.complete(NULL, 0, buffer, 0, 0);
	}
}

/* Adds work to a stream, which begins when the stream is free. The caller must hold the mutex. */
static void
enqueue(PendingRecord *pending, uint64_t ns)
{
	uint64_t now_ns = fake_ns();
	uint64_t *free_ns = &fake.free_ns[pending->stream % STREAMS];

	if (fake.pending == NULL)
		fake.pending = calloc(PENDING_MAX, sizeof(*fake.pending));
	if (fake.pending == NULL || fake.count == PENDING_MAX ||
		(!fake.kinds[pending->kind] && !pending->is_waiting))
		return;
	pending->start_ns = *free_ns > now_ns && !fake.faults.ignores_time ? *free_ns : now_ns;
	pending->end_ns = pending->start_ns + ns;
	*free_ns = pending->end_ns;
	fake.pending[(fake.first + fake.count++) % PENDING_MAX] = *pending;
	fake.counts.records += pending->kind == CUPTI_CONCURRENT_KERNEL;
	fake.counts.ns += pending->kind == CUPTI_CONCURRENT_KERNEL ? ns : 0;
	if (fake.count > READY_MANY)
		deliver();
}

static uint32_t
call_back(uint32_t callback, const char *function)
{
	uint64_t data = 0;
	CuptiCall call = { .site = CUPTI_ENTER, .function = function, .data = &data };
	CuptiCallback handler = atomic_load(&fake.callback);

	call.correlation = atomic_fetch_add(&fake.correlation, 1);
	if (handler != NULL && atomic_load(&fake.callbacks[CUPTI_DRIVER][callback]))
	{
		handler(atomic_load(&fake.user), CUPTI_DRIVER, callback, &call);
		call.site = 1;
		handler(atomic_load(&fake.user), CUPTI_DRIVER, callback, &call);
	}
	return call.correlation;
}

EXPORT FakeLaunch fake_launch;
EXPORT FakeLaunchWaiting fake_launch_waiting;
EXPORT FakeCapture fake_capture;
EXPORT FakeCopy fake_copy;
EXPORT FakeConfigure fake_configure;
EXPORT FakeCounts fake_counts;

void
fake_launch(const char *name, uint64_t ns, uint32_t count, uint32_t stream)
{
	PendingRecord pending = {
		.kind = CUPTI_CONCURRENT_KERNEL, .stream = stream, .graph = count > 1 ? 5 : 0, .name = name
	};

	pending.correlation = call_back(count > 1 ? CUPTI_GRAPH_LAUNCH : LAUNCH_KERNEL,
									count > 1 ? "cuGraphLaunch" : "cuLaunchKernel");
	pthread_mutex_lock(&fake.mutex);
	for (uint32_t i = 0; i < count; i++)
		enqueue(&pending, ns);
	pthread_mutex_unlock(&fake.mutex);
}

void
fake_launch_waiting(const char *name, uint64_t ns, uint32_t kernels)
{
	PendingRecord pending = {
		.kind = CUPTI_CONCURRENT_KERNEL, .stream = 1, .name = name, .is_waiting = true
	};

	for (uint32_t i = 0; i < kernels; i++)
	{
		pending.correlation = call_back(LAUNCH_KERNEL, "cuLaunchKernel");
		pthread_mutex_lock(&fake.mutex);
		enqueue(&pending, ns);
		pthread_mutex_unlock(&fake.mutex);
	}
}

void
fake_capture(void)
{
	(void) call_back(LAUNCH_KERNEL, "cuLaunchKernel");
}

void
fake_copy(uint8_t kind, uint64_t bytes, uint64_t ns)
{
	PendingRecord pending = {
		.kind = kind == 0 ? CUPTI_MEMSET : CUPTI_MEMCPY, .copy = kind, .bytes = bytes, .stream = 1
	};

	pthread_mutex_lock(&fake.mutex);
	enqueue(&pending, ns);
	pthread_mutex_unlock(&fake.mutex);
}

void
fake_configure(const FakeCuptiFaults *faults)
{
	pthread_mutex_lock(&fake.mutex);
	fake.faults = *faults;
	pthread_mutex_unlock(&fake.mutex);
}

void
fake_counts(FakeCuptiCounts *counts)
{
	pthread_mutex_lock(&fake.mutex);
	*counts = fake.counts;
	counts->is_subscribed = atomic_load(&fake.callback) != NULL;
	counts->is_active = fake.kinds[CUPTI_CONCURRENT_KERNEL];
	pthread_mutex_unlock(&fake.mutex);
}

static void
lock_fake(void)
{
	pthread_mutex_lock(&fake.mutex);
}

static void
unlock_fake(void)
{
	pthread_mutex_unlock(&fake.mutex);
}

/*
 * A fake libcuda of the program makes its launches through this library. A fork waits until no
 * thread delivers records, because its child, which launches too, would wait for ever otherwise.
 */
__attribute__((constructor)) static void
find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*use)(FakeLaunch *, FakeCopy *) = NULL;

	if (driver != NULL)
		*(void **) &use = dlsym(driver, "fake_cuda_use");
	if (use != NULL)
		use(fake_launch, fake_copy);
	(void) pthread_atfork(lock_fake, unlock_fake, unlock_fake);
}

/* --- CUPTI's functions --- */

EXPORT int cuptiSubscribe(void **subscriber, CuptiCallback callback, void *user);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int32_t domain,
							   uint32_t callback);
EXPORT int cuptiActivityRegisterCallbacks(CuptiRequest request, CuptiComplete complete);
EXPORT int cuptiActivityRegisterTimestampCallback(CuptiClock clock);
EXPORT int cuptiActivityEnable(int32_t kind);
EXPORT int cuptiActivityDisable(int32_t kind);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT int cuptiActivityFlushAll(uint32_t flags);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *records);
EXPORT int cuptiGetTimestamp(uint64_t *ns);

static void
end_fake(void)
{
	atomic_store(&fake.has_ended, true);
}

/* Ends the program by a signal if CUPTI is called after its end. */
static void
require_life(void)
{
	if (atomic_load(&fake.has_ended))
		abort();
}

int
cuptiSubscribe(void **subscriber, CuptiCallback callback, void *user)
{
	static atomic_flag was_used = ATOMIC_FLAG_INIT;
	int result = 0;

	require_life();
	/* as CUPTI's objects, which are made at the first use */
	if (!atomic_flag_test_and_set(&was_used) && atexit(end_fake) != 0)
		abort();
	pthread_mutex_lock(&fake.mutex);
	if (fake.faults.has_profiler || atomic_load(&fake.callback) != NULL)
		result = CUPTI_TWO_SUBSCRIBERS;
	else
	{
		atomic_store(&fake.user, user);
		atomic_store(&fake.callback, callback);
		fake.counts.subscribed++;
		*subscriber = &fake;
	}
	pthread_mutex_unlock(&fake.mutex);
	return result;
}

int
cuptiUnsubscribe(void *subscriber)
{
	require_life();
	if (subscriber != &fake)
		return 1;
	atomic_store(&fake.callback, NULL);
	for (uint32_t i = 0; i < CALLBACKS; i++)
		atomic_store(&fake.callbacks[CUPTI_DRIVER][i], false);
	return 0;
}

int
cuptiEnableCallback(uint32_t enable, void *subscriber, int32_t domain, uint32_t callback)
{
	require_life();
	if (subscriber != &fake || domain < 0 || domain >= DOMAINS || callback >= CALLBACKS)
		return 1;
	atomic_store(&fake.callbacks[domain][callback], enable != 0);
	return 0;
}

int
cuptiActivityRegisterCallbacks(CuptiRequest request, CuptiComplete complete)
{
	pthread_mutex_lock(&fake.mutex);
	fake.request = request;
	fake.complete = complete;
	pthread_mutex_unlock(&fake.mutex);
	return 0;
}

int
cuptiActivityRegisterTimestampCallback(CuptiClock clock)
{
	pthread_mutex_lock(&fake.mutex);
	fake.clock = fake.faults.has_no_clock ? NULL : clock;
	pthread_mutex_unlock(&fake.mutex);
	return fake.faults.has_no_clock;
}

int
cuptiActivityEnable(int32_t kind)
{
	int result;

	pthread_mutex_lock(&fake.mutex);
	result = fake.faults.failing;
	if (result == 0)
		fake.kinds[kind] = true;
	pthread_mutex_unlock(&fake.mutex);
	return result;
}

int
cuptiActivityDisable(int32_t kind)
{
	require_life();
	pthread_mutex_lock(&fake.mutex);
	fake.kinds[kind] = false;
	pthread_mutex_unlock(&fake.mutex);
	return 0;
}

int
cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = *record != NULL ? (uint8_t *) *record + record_bytes() : buffer;

	if (next + record_bytes() > buffer + valid)
		return 12;
	*record = next;
	return 0;
}

/* A forced flush waits for the kernels that run. */
int
cuptiActivityFlushAll(uint32_t flags)
{
	int result;

	require_life();
	pthread_mutex_lock(&fake.mutex);
	result = fake.faults.failing_flush;
	if (result == 0)
		deliver();
	for (int i = 0; i < 1000 && flags != 0 && fake.count > 0 && result == 0; i++)
	{
		const struct timespec pause = { 0, 1000000 };

		(void) nanosleep(&pause, NULL);
		deliver();
	}
	pthread_mutex_unlock(&fake.mutex);
	return result;
}

int
cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *records)
{
	(void) context;
	(void) stream;
	*records = atomic_exchange(&fake.lost, 0);
	return 0;
}

int
cuptiGetTimestamp(uint64_t *ns)
{
	*ns = real_ns();
	return 0;
}
