/*
 * sideband.c
 *		perf events that count nothing and report forks, execs and mappings.
 *
 * 1. Each online CPU has an event and a buffer, usually of 128 KiB, which the kernel fills.
 * 2. sideband_read() repeatedly takes the oldest record of all buffers until none is left. Records
 * written after it began stay for the next call, because it may have missed earlier ones of another
 * CPU.
 * 3. Each record becomes a SidebandEvent; a record about lost records becomes SIDEBAND_LOST.
 */
#include "process/sideband.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/clock.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "process/perf_records.h"

#define ONLINE_CPUS_FILE "/sys/devices/system/cpu/online"

/* Room for a few hundred execs on each CPU between two reads. Must be a power of two. */
#define BUFFER_BYTES	   ((size_t) 128 * 1024)
#define BUFFER_BYTES_LEAST ((size_t) 16 * 1024)

/* The size field of a record has 16 bits. */
#define MAX_RECORD_BYTES 65536

typedef struct Buffer
{
	uint32_t cpu;
	int fd;
	bool is_live; /* the event was alive at the last check */
	CpuEventClock clock;
	struct perf_event_mmap_page *control; /* the data begins one page later */
	uint64_t head;						  /* head of the ring buffer at the start of the read */
	uint64_t tail;
	uint64_t time_ns; /* time of the record at the tail; UINT64_MAX: the ring is empty */
} Buffer;

struct Sideband
{
	SidebandHandler handler;
	void *context;
	size_t page_bytes;
	size_t buffer_bytes; /* size of the data of each buffer */
	int wakeup;			 /* epoll descriptor of all buffers */
	Buffer *buffers;
	uint32_t count;
	uint8_t *record; /* MAX_RECORD_BYTES: a contiguous copy of the current record */
};

/* Further records of perf, without the trailer of sample_id_all. */
typedef struct CommRecord
{
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
} CommRecord;

typedef struct LostRecord
{
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
} LostRecord;

typedef struct Trailer
{
	uint32_t pid;
	uint32_t tid;
	uint64_t time_ns;
} Trailer;

/* Opens the event and buffer of a CPU. Returns 0 or -errno. */
static int
open_buffer(const Sideband *sideband, uint32_t cpu, Buffer *buffer)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1, /* since Linux 5.1 */
		.watermark = 1,
		/* wake up when the buffer is half full; the other half has room for events until we read */
		.wakeup_watermark = (uint32_t) (sideband->buffer_bytes / 2),
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	/* edge-triggered, because the event of an offline CPU would always be ready */
	struct epoll_event interest = { .events = EPOLLIN | EPOLLET };
	void *memory;

	*buffer = (Buffer){ .cpu = cpu };
	buffer->fd = cpu_event_open(&attributes, cpu);
	if (buffer->fd < 0)
		return buffer->fd;
	memory = mmap(NULL, sideband->page_bytes + sideband->buffer_bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED, buffer->fd, 0);
	if (memory == MAP_FAILED ||
		epoll_ctl(sideband->wakeup, EPOLL_CTL_ADD, buffer->fd, &interest) != 0)
	{
		int result = -errno;

		if (memory != MAP_FAILED)
			munmap(memory, sideband->page_bytes + sideband->buffer_bytes);
		close(buffer->fd);
		return result;
	}
	buffer->control = memory;
	return 0;
}

static void
close_buffer(const Sideband *sideband, const Buffer *buffer)
{
	munmap(buffer->control, sideband->page_bytes + sideband->buffer_bytes);
	close(buffer->fd);
}

static void
report_lost(const Sideband *sideband, uint64_t lost)
{
	const SidebandEvent event = { .kind = SIDEBAND_LOST, .lost = lost };

	sideband->handler(sideband->context, &event);
}

static bool
listens_to(const Sideband *sideband, uint32_t cpu)
{
	for (uint32_t i = 0; i < sideband->count; i++)
	{
		if (sideband->buffers[i].cpu == cpu)
			return true;
	}
	return false;
}

/* Opens buffers for all online CPUs that lack one. Returns the last error, or 0. */
static int
add_cpus(Sideband *sideband, const CpuList *online)
{
	int result = 0;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		Buffer *grown;
		int error;

		if (!cpu_list_has(online, cpu) || listens_to(sideband, cpu))
			continue;
		grown = reallocarray(sideband->buffers, sideband->count + 1, sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		sideband->buffers = grown;
		/* The buffers' array may move: epoll and the kernel know descriptors, not addresses. */
		error = open_buffer(sideband, cpu, &sideband->buffers[sideband->count]);
		if (error == 0)
		{
			sideband->count++;
			/* events of this CPU before now are missing */
			report_lost(sideband, 0);
		}
		else
			result = error;
	}
	return result;
}

size_t
sideband_buffer_bytes(size_t limit_bytes, uint32_t cpus)
{
	size_t bytes = BUFFER_BYTES;

	while (bytes > BUFFER_BYTES_LEAST && bytes * cpus > limit_bytes)
		bytes /= 2;
	return bytes;
}

size_t
sideband_bytes(const Sideband *sideband)
{
	return sideband->count * (sideband->page_bytes + sideband->buffer_bytes);
}

int
sideband_create(size_t limit_bytes, SidebandHandler handler, void *context, Sideband **result)
{
	Sideband *sideband = calloc(1, sizeof(*sideband));
	CpuList online;
	int error;

	if (sideband == NULL)
		return -ENOMEM;
	sideband->handler = handler;
	sideband->context = context;
	sideband->page_bytes = (size_t) sysconf(_SC_PAGESIZE);
	sideband->buffer_bytes =
		sideband_buffer_bytes(limit_bytes, (uint32_t) sysconf(_SC_NPROCESSORS_CONF));
	sideband->record = malloc(MAX_RECORD_BYTES);
	sideband->wakeup = epoll_create1(EPOLL_CLOEXEC);
	error = sideband->record != NULL ? 0 : -ENOMEM;
	if (error == 0 && sideband->wakeup < 0)
		error = -errno;
	if (error == 0)
		error = cpu_list_read(ONLINE_CPUS_FILE, &online);
	if (error == 0)
		error = add_cpus(sideband, &online);
	/* fail as a whole, because events of one CPU would otherwise be missing unnoticed */
	if (error != 0)
	{
		sideband_free(sideband);
		return error;
	}
	*result = sideband;
	return 0;
}

void
sideband_free(Sideband *sideband)
{
	if (sideband == NULL)
		return;
	for (uint32_t i = 0; i < sideband->count; i++)
		close_buffer(sideband, &sideband->buffers[i]);
	if (sideband->wakeup >= 0)
		close(sideband->wakeup);
	free(sideband->buffers);
	free(sideband->record);
	free(sideband);
}

/* Returns true if the event of the buffer's CPU is alive. */
static bool
buffer_is_live(Buffer *buffer, const CpuList *online)
{
	return cpu_list_has(online, buffer->cpu) && cpu_event_lives(buffer->fd, &buffer->clock);
}

void
sideband_follow_cpus(Sideband *sideband)
{
	CpuList online;
	uint32_t live = 0;
	uint32_t kept = 0;

	if (cpu_list_read(ONLINE_CPUS_FILE, &online) != 0)
		return;
	for (uint32_t i = 0; i < sideband->count; i++)
		live += sideband->buffers[i].is_live = buffer_is_live(&sideband->buffers[i], &online);
	if (live < sideband->count)
		/* read the events of the other CPUs before the buffers are closed */
		sideband_read(sideband);
	/* closes dead buffers; add_cpus() opens them again if their CPU is online */
	for (uint32_t i = 0; i < sideband->count; i++)
	{
		Buffer *buffer = &sideband->buffers[i];

		if (buffer->is_live)
			sideband->buffers[kept++] = *buffer;
		else
			close_buffer(sideband, buffer);
	}
	sideband->count = kept;
	if (add_cpus(sideband, &online) != 0)
		report_lost(sideband, 0);
}

void
sideband_wait(const Sideband *sideband, int other, int timeout_ms)
{
	struct pollfd waits[] = {
		{ .fd = other, .events = POLLIN },
		{ .fd = sideband != NULL ? sideband->wakeup : -1, .events = POLLIN },
	};
	struct epoll_event events[16];

	/*
	 * Take the edge-triggered events from the epoll descriptor, which stays readable otherwise. If
	 * there are more than 16, the next call returns at once and takes the rest.
	 */
	if (poll(waits, 2, timeout_ms) > 0 && waits[1].revents != 0)
		(void) epoll_wait(sideband->wakeup, events, 16, 0);
}

/* Copies bytes out of the ring buffer, which may wrap around. */
static void
copy_out(const Sideband *sideband, const Buffer *buffer, uint64_t from, void *to, size_t length)
{
	const uint8_t *data = (const uint8_t *) buffer->control + sideband->page_bytes;
	size_t offset = from & (sideband->buffer_bytes - 1);
	size_t first =
		sideband->buffer_bytes - offset < length ? sideband->buffer_bytes - offset : length;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *) to + first, data, length - first);
}

/*
 * Reads the time of the record at the tail. A record about lost records has the trailer with the
 * time, too.
 */
static void
peek_record(const Sideband *sideband, Buffer *buffer)
{
	struct perf_event_header header;

	buffer->time_ns = UINT64_MAX;
	/* the buffer is empty: the kernel advances the head by whole records */
	if (buffer->head - buffer->tail < sizeof(header))
		return;
	copy_out(sideband, buffer, buffer->tail, &header, sizeof(header));
	if (header.size < sizeof(header) + sizeof(Trailer) || header.size > buffer->head - buffer->tail)
	{
		/* the kernel does not write such a record, so nothing after it can be trusted */
		buffer->tail = buffer->head;
		report_lost(sideband, 0);
		return;
	}
	copy_out(sideband, buffer, buffer->tail + header.size - sizeof(uint64_t), &buffer->time_ns,
			 sizeof(uint64_t));
}

/* Passes a mapping on, unless its name or range is malformed. */
static void
handle_map(const Sideband *sideband, const MapRecord *record, uint64_t time_ns)
{
	size_t name_bytes = record->header.size - sizeof(*record) - sizeof(Trailer);
	char *name = (char *) sideband->record + sizeof(*record);
	SidebandEvent event = { .kind = SIDEBAND_MAP, .time_ns = time_ns, .pid = record->pid };

	if (memchr(name, '\0', name_bytes) == NULL || record->length == 0 ||
		record->address + record->length < record->address)
		return;
	event.map.start = record->address;
	event.map.end = record->address + record->length;
	event.map.file_offset = record->file_offset;
	event.map.device = makedev(record->major, record->minor);
	event.map.inode = record->inode;
	event.map.deleted = proc_cut_deleted(name);
	/* the kernel could not determine a name, or the memory is "//anon" */
	event.map.name = strncmp(name, "//", 2) == 0 ? "" : name;
	sideband->handler(sideband->context, &event);
}

/*
 * Converts the record in sideband->record to an event and passes it on; size is the record's
 * length.
 */
static void
sideband_handle_record(const Sideband *sideband, size_t size, uint64_t time_ns)
{
	const struct perf_event_header *header = (const void *) sideband->record;
	const TaskRecord *task = (const void *) sideband->record;
	const CommRecord *comm = (const void *) sideband->record;
	const LostRecord *lost = (const void *) sideband->record;
	SidebandEvent event = { .time_ns = time_ns };

	if (header->type == PERF_RECORD_MMAP2 && size > sizeof(MapRecord) + sizeof(Trailer))
		handle_map(sideband, (const void *) sideband->record, time_ns);
	else if ((header->type == PERF_RECORD_FORK || header->type == PERF_RECORD_EXIT) &&
			 size >= sizeof(*task))
	{
		event.kind = header->type == PERF_RECORD_EXIT ? SIDEBAND_EXIT
					 : task->pid == task->parent_pid  ? SIDEBAND_THREAD
													  : SIDEBAND_FORK;
		event.pid = task->pid;
		event.parent_pid = task->parent_pid;
		sideband->handler(sideband->context, &event);
	}
	else if (header->type == PERF_RECORD_COMM && size >= sizeof(*comm) &&
			 (header->misc & PERF_RECORD_MISC_COMM_EXEC))
	{
		event.kind = SIDEBAND_EXEC;
		event.pid = comm->pid;
		sideband->handler(sideband->context, &event);
	}
	else if (header->type == PERF_RECORD_KSYMBOL)
	{
		event.kind = SIDEBAND_KERNEL_CODE;
		sideband->handler(sideband->context, &event);
	}
	else if (header->type == PERF_RECORD_LOST && size >= sizeof(*lost))
		report_lost(sideband, lost->lost);
}

static Buffer *
oldest_buffer(Sideband *sideband)
{
	Buffer *found = NULL;

	for (uint32_t i = 0; i < sideband->count; i++)
	{
		Buffer *buffer = &sideband->buffers[i];

		if (buffer->time_ns != UINT64_MAX && (found == NULL || buffer->time_ns < found->time_ns))
			found = buffer;
	}
	return found;
}

/*
 * A process writes its records one after the other, on whichever CPU it runs. Records newer than
 * the start of this read are left for the next one: an older record of the same process may have
 * been written to another buffer after we examined that buffer.
 */
void
sideband_read(Sideband *sideband)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	Buffer *buffer;

	for (uint32_t i = 0; i < sideband->count; i++)
	{
		buffer = &sideband->buffers[i];
		buffer->head = __atomic_load_n(&buffer->control->data_head, __ATOMIC_ACQUIRE);
		peek_record(sideband, buffer);
	}
	while ((buffer = oldest_buffer(sideband)) != NULL && buffer->time_ns <= now_ns)
	{
		struct perf_event_header header;
		uint64_t time_ns = buffer->time_ns;

		copy_out(sideband, buffer, buffer->tail, &header, sizeof(header));
		copy_out(sideband, buffer, buffer->tail, sideband->record, header.size);
		buffer->tail += header.size;
		peek_record(sideband, buffer);
		sideband_handle_record(sideband, header.size, time_ns);
	}
	for (uint32_t i = 0; i < sideband->count; i++)
	{
		buffer = &sideband->buffers[i];
		/*
		 * The kernel may overwrite everything before the tail, so the records were copied before.
		 */
		__atomic_store_n(&buffer->control->data_tail, buffer->tail, __ATOMIC_RELEASE);
	}
}
