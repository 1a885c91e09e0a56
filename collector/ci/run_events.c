/*
 * run_events.c
 *		perf events of one process tree, and their ring buffers.
 *
 * An inherited event can have a buffer only if it is bound to a CPU, so each CPU has one event, all
 * of the same process.
 */
#include "ci/run_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "process/cpu_list.h"

#define ONLINE_CPUS_FILE "/sys/devices/system/cpu/online"

/* Without privileges, a user may lock 516 kB of buffers for each CPU (perf_event_mlock_kb). */
#define RING_BYTES ((size_t) 256 * 1024)

/* Records of one run that are kept; a run of an hour on one CPU has 500 MB. */
#define RECORDS_MAX_BYTES ((size_t) 1 << 30)

/* Frames of a stack that the kernel walks. */
#define MAX_STACK 127

/* Size of the end of records other than samples: pid, tid (4 bytes each), time. */
#define SAMPLE_ID_BYTES 16

typedef struct Ring
{
	struct perf_event_mmap_page *control; /* the data begins one page later */
} Ring;

struct RunEvents
{
	size_t count;
	int *fds; /* descriptors by CPU */
	Ring *rings;
	int64_t period_ns;
	bool has_kernel;
	uint64_t lost;
	char *bytes; /* records, one after the other */
	size_t length;
	size_t capacity;
	RunRecord *records;
	size_t record_count;
	size_t record_capacity;
};

static struct perf_event_attr
event_attributes(int64_t period_ns, bool with_kernel)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
									 .size = sizeof(struct perf_event_attr),
									 .config = PERF_COUNT_SW_TASK_CLOCK,
									 .sample_period = (uint64_t) period_ns,
									 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
													PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
									 .disabled = 1,
									 .enable_on_exec = 1,
									 .inherit = 1,
									 .exclude_hv = 1,
									 .exclude_kernel = !with_kernel,
									 .exclude_callchain_kernel = !with_kernel,
									 .mmap = 1,
									 .mmap2 = 1,
									 .comm = 1,
									 .comm_exec = 1,
									 .task = 1,
									 .sample_id_all = 1,
									 .use_clockid = 1,
									 .clockid = CLOCK_MONOTONIC,
									 .watermark = 1,
									 .wakeup_watermark = (uint32_t) RING_BYTES / 2,
									 .sample_max_stack = MAX_STACK };
}

static int
event_open(int64_t period_ns, bool with_kernel, pid_t pid, int cpu)
{
	struct perf_event_attr attributes = event_attributes(period_ns, with_kernel);
	int fd = (int) syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static ExitCode
events_refused(int error, Failure *failure)
{
	ExitCode code = error == EACCES || error == EPERM ? EXIT_PRIVILEGE : EXIT_INTERNAL;

	failure_set(failure, code, "could not open a perf event");
	failure_detail(failure, "%s.", strerror(error));
	if (code == EXIT_PRIVILEGE)
		failure_hint(failure,
					 "Set kernel.perf_event_paranoid to 2 or less (sysctl), give this program "
					 "CAP_PERFMON, or use --no-profile to measure CPU time only. Containers need a "
					 "seccomp profile that allows perf_event_open().");
	else
		failure_hint(failure, "Use --no-profile to measure CPU time only.");
	return code;
}

/* Opens the event of a CPU and maps its buffer. */
static ExitCode
events_open_cpu(RunEvents *events, pid_t pid, int cpu, Failure *failure)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t at = events->count;
	void *memory;
	int fd = event_open(events->period_ns, events->has_kernel, pid, cpu);

	if (at == 0 && (fd == -EACCES || fd == -EPERM))
	{
		events->has_kernel = false;
		fd = event_open(events->period_ns, false, pid, cpu);
	}
	if (fd < 0)
		return events_refused(-fd, failure);
	memory = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
	{
		int error = errno;

		close(fd);
		return events_refused(error, failure);
	}
	events->fds[at] = fd;
	events->rings[at].control = memory;
	events->count++;
	return EXIT_OK;
}

/* Opens the event of each CPU that is online. */
static ExitCode
events_open_cpus(RunEvents *events, pid_t pid, Failure *failure)
{
	CpuList online;
	int error = cpu_list_read(ONLINE_CPUS_FILE, &online);
	ExitCode code = EXIT_OK;

	if (error != 0)
	{
		failure_set(failure, EXIT_INTERNAL, "could not read the list of CPUs");
		failure_detail(failure, "%s: %s.", ONLINE_CPUS_FILE, strerror(-error));
		return failure->code;
	}
	events->fds = calloc(CPU_LIST_MAX, sizeof(int));
	events->rings = calloc(CPU_LIST_MAX, sizeof(Ring));
	if (events->fds == NULL || events->rings == NULL)
		return failure_out_of_memory(failure);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX && code == EXIT_OK; cpu++)
	{
		if (cpu_list_has(&online, cpu))
			code = events_open_cpu(events, pid, (int) cpu, failure);
	}
	return code;
}

ExitCode
run_events_open(pid_t pid, int64_t frequency, RunEvents **events, Failure *failure)
{
	RunEvents *opened = calloc(1, sizeof(RunEvents));

	*events = NULL;
	if (opened == NULL)
		return failure_out_of_memory(failure);
	opened->period_ns = NS_PER_S / frequency;
	opened->has_kernel = true;
	if (events_open_cpus(opened, pid, failure) != EXIT_OK)
	{
		run_events_close(opened);
		return failure->code;
	}
	*events = opened;
	return EXIT_OK;
}

void
run_events_close(RunEvents *events)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);

	if (events == NULL)
		return;
	for (size_t i = 0; i < events->count; i++)
	{
		munmap(events->rings[i].control, page + RING_BYTES);
		close(events->fds[i]);
	}
	free(events->fds);
	free(events->rings);
	free(events->bytes);
	free(events->records);
	free(events);
}

size_t
run_events_fds(const RunEvents *events, const int **fds)
{
	*fds = events->fds;
	return events->count;
}

/* --- reading --- */

/* Copies bytes out of a ring buffer, which may wrap around. */
static void
ring_copy(const Ring *ring, uint64_t from, void *to, size_t length)
{
	const uint8_t *data = (const uint8_t *) ring->control + sysconf(_SC_PAGESIZE);
	size_t offset = from & (RING_BYTES - 1);
	size_t first = RING_BYTES - offset < length ? RING_BYTES - offset : length;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *) to + first, data, length - first);
}

/* Makes room for a record. Returns its place, or NULL if the limit or the memory is exhausted. */
static char *
events_reserve(RunEvents *events, size_t size)
{
	if (grow_array(&events->records, &events->record_capacity, events->record_count,
				   sizeof(RunRecord)) != 0)
		return NULL;
	if (events->length + size > events->capacity)
	{
		size_t wanted = events->capacity == 0 ? RING_BYTES : events->capacity * 2;
		char *grown = wanted > RECORDS_MAX_BYTES ? NULL : realloc(events->bytes, wanted);

		if (grown == NULL)
			return NULL;
		events->bytes = grown;
		events->capacity = wanted;
	}
	return events->bytes + events->length;
}

/*
 * Returns the time of a record. In a sample it follows the instruction pointer and the thread;
 * other records end with it.
 */
static uint64_t
record_time(const char *record, const struct perf_event_header *header)
{
	size_t at = header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 2 * sizeof(uint64_t)
												   : header->size - sizeof(uint64_t);
	uint64_t time_ns = 0;

	if (at + sizeof(time_ns) <= header->size)
		memcpy(&time_ns, record + at, sizeof(time_ns));
	return time_ns;
}

/* Keeps one record; size is a multiple of 8 (the kernel aligns records). */
static void
events_keep(RunEvents *events, const Ring *ring, uint64_t from,
			const struct perf_event_header *header)
{
	char *record = events_reserve(events, header->size);
	uint64_t lost;

	if (record == NULL)
	{
		events->lost++;
		return;
	}
	ring_copy(ring, from, record, header->size);
	if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*header) + 2 * sizeof(uint64_t))
	{
		memcpy(&lost, record + sizeof(*header) + sizeof(uint64_t), sizeof(lost));
		events->lost += lost;
		return;
	}
	events->records[events->record_count++] =
		(RunRecord){ .time_ns = record_time(record, header), .offset = events->length };
	events->length += header->size;
}

void
run_events_read(RunEvents *events)
{
	for (size_t i = 0; i < events->count; i++)
	{
		const Ring *ring = &events->rings[i];
		uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
		uint64_t tail = ring->control->data_tail;

		while (head - tail >= sizeof(struct perf_event_header))
		{
			struct perf_event_header header;

			ring_copy(ring, tail, &header, sizeof(header));
			if (header.size < sizeof(header) + SAMPLE_ID_BYTES || header.size > head - tail)
			{
				/* the kernel writes no such record; nothing after it can be trusted */
				events->lost++;
				tail = head;
				break;
			}
			events_keep(events, ring, tail, &header);
			tail += header.size;
		}
		__atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
	}
}

static int
compare_records(const void *a, const void *b)
{
	const RunRecord *left = a;
	const RunRecord *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

size_t
run_events_sort(RunEvents *events, const RunRecord **records)
{
	if (events->record_count > 0)
		qsort(events->records, events->record_count, sizeof(RunRecord), compare_records);
	*records = events->records;
	return events->record_count;
}

const struct perf_event_header *
run_events_record(const RunEvents *events, const RunRecord *record)
{
	return (const void *) (events->bytes + record->offset);
}

bool
run_events_has_kernel(const RunEvents *events)
{
	return events->has_kernel;
}

uint64_t
run_events_lost(const RunEvents *events)
{
	return events->lost;
}

int64_t
run_events_period_ns(const RunEvents *events)
{
	return events->period_ns;
}
