/*
 * past_images.c
 *		A history of exec images by process, newest first, from side-band events.
 *
 * 1. Each event (fork, thread, exec, mapping) updates the process that it is about.
 * 2. The mappings of an image form a layout (layout.h). A forked child shares its parent's layout
 * until one of them maps more.
 * 3. To answer for a moment, find the image that the process executed then, and paint its mappings
 * over each other in their order: the topmost one was visible.
 * 4. If there is no room, drop exited processes first, then those without events for longest. Each
 * layout, and the table for all dropped processes, remembers from which moment on it is complete.
 */
#include "process/past_images.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "process/layout.h"

#define MAX_IMAGES 4 /* limit for each pid */

/* limit of running processes that are skipped before one of them is dropped */
#define MAX_PASSED_OVER 8

#define THREADS_UNKNOWN UINT32_MAX /* number of threads of a process whose start was not observed */

typedef struct PastImage
{
	uint64_t since_ns;
	Layout *layout; /* NULL if not known */
} PastImage;

typedef struct PastProcess
{
	uint32_t pid;
	uint32_t count;
	uint32_t threads;			  /* running threads; 0 if the process has exited */
	uint64_t mapped_ns;			  /* time of the last executable mapping */
	uint64_t file_mapped_ns;	  /* time of the last mapping of a file's code over other memory */
	PastImage images[MAX_IMAGES]; /* newest first */
	UT_hash_handle hh;			  /* the table is sorted by the last event, oldest first */
} PastProcess;

struct PastImages
{
	Sideband *sideband; /* NULL if we do not listen */
	size_t limit;
	size_t limit_bytes;
	size_t bytes;		 /* memory of processes and layouts */
	uint64_t pushed_out; /* processes dropped because of limit_bytes */
	/* A running process that is not in the table made all its mappings before this moment. */
	uint64_t forgotten_ns;
	/*
	 * An exited process that is not in the table, but may have samples on their way, made all its
	 * mappings before this moment.
	 */
	uint64_t forgotten_ended_ns;
	uint64_t updated_ns; /* all events up to this time have been processed */
	uint64_t lost;
	uint64_t gaps;
	uint64_t kernel_changes;
	PastProcess *processes;
	/* the fields below are the last lookup, because the next one is often for the same pid */
	bool found_valid;
	uint32_t found_pid;
	PastProcess *found;
	ProcMapping painted[2 * LAYOUT_MAX_MAPPINGS]; /* result of past_images_find() */
};

static PastProcess *
past_process_find(PastImages *images, uint32_t pid)
{
	if (!images->found_valid || images->found_pid != pid)
	{
		HASH_FIND(hh, images->processes, &pid, sizeof(pid), images->found);
		images->found_pid = pid;
		images->found_valid = true;
	}
	return images->found;
}

static void
remove_process(PastImages *images, PastProcess *process)
{
	uint64_t *forgotten_ns =
		process->threads == 0 ? &images->forgotten_ended_ns : &images->forgotten_ns;

	if (*forgotten_ns < process->mapped_ns)
		*forgotten_ns = process->mapped_ns;
	HASH_DEL(images->processes, process);
	images->found_valid = false;
	for (uint32_t i = 0; i < process->count; i++)
		layout_release(process->images[i].layout);
	images->bytes -= heap_bytes(sizeof(*process));
	free(process);
}

static void
remove_all(PastImages *images)
{
	PastProcess *process;
	PastProcess *next;

	HASH_ITER(hh, images->processes, process, next)
		remove_process(images, process);
}

/*
 * Drops the process that has been without events for longest. Prefers exited processes: a running
 * one would have to be read from /proc again, and on a host that starts hundreds of programs this
 * would happen over and over.
 */
static void
forget_one(PastImages *images)
{
	PastProcess *oldest = images->processes;
	size_t count = HASH_COUNT(images->processes);

	for (size_t i = 0; i < MAX_PASSED_OVER && i < count && images->processes->threads > 0; i++)
	{
		PastProcess *passed = images->processes;

		HASH_DEL(images->processes, passed);
		HASH_ADD(hh, images->processes, pid, sizeof(passed->pid), passed);
	}
	remove_process(images, images->processes->threads == 0 ? images->processes : oldest);
}

static void
add_image(PastProcess *process, uint64_t since_ns, Layout *layout)
{
	if (process->count == MAX_IMAGES)
		layout_release(process->images[--process->count].layout);
	memmove(&process->images[1], &process->images[0], process->count * sizeof(PastImage));
	process->images[0] = (PastImage){ since_ns, layout };
	process->count++;
}

/*
 * Returns the process, creating it if needed, and moves it to the end of the table's order; NULL on
 * out of memory.
 */
static PastProcess *
touch_process(PastImages *images, uint32_t pid)
{
	PastProcess *process = past_process_find(images, pid);

	if (process != NULL)
		HASH_DEL(images->processes, process);
	else
	{
		while (HASH_COUNT(images->processes) >= images->limit)
			forget_one(images);
		process = calloc(1, sizeof(*process));
		if (process == NULL)
			return NULL;
		images->bytes += heap_bytes(sizeof(*process));
		process->pid = pid;
		process->threads = THREADS_UNKNOWN;
	}
	HASH_ADD(hh, images->processes, pid, sizeof(process->pid), process);
	images->found_valid = false;
	return process;
}

/* Begins a new process. Earlier images of the pid belong to another process. */
static void
note_fork(PastImages *images, const SidebandEvent *event)
{
	const PastProcess *parent = past_process_find(images, event->parent_pid);
	Layout *layout = parent != NULL && parent->count > 0 ? parent->images[0].layout : NULL;
	PastProcess *process;

	if (layout == NULL && past_process_find(images, event->pid) == NULL)
		return;
	if (layout != NULL)
		layout->references++; /* the parent may be dropped by touch_process() */
	process = touch_process(images, event->pid);
	if (process == NULL)
		layout_release(layout);
	else
	{
		process->threads = 1;
		process->mapped_ns = event->time_ns;
		process->file_mapped_ns = 0;
		add_image(process, event->time_ns, layout);
	}
}

static void
note_thread(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = past_process_find(images, event->pid);
	bool began = event->kind == SIDEBAND_THREAD;

	if (process != NULL && process->threads != THREADS_UNKNOWN && (began || process->threads > 0))
		process->threads += began ? 1 : -1U;
}

static void
note_exec(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = touch_process(images, event->pid);

	if (process == NULL)
		return;
	process->threads = 1; /* exec ends all other threads */
	add_image(process, event->time_ns, layout_create(&images->bytes, true, 0));
}

/*
 * Adds a mapping to the current image, unless it changes nothing (layout_has()). If an allocation
 * fails, drops the layout: the image is then unknown from here on.
 */
static void
note_map(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = touch_process(images, event->pid);
	Layout **layout;

	if (process == NULL)
	{
		images->forgotten_ns = event->time_ns;
		return;
	}
	process->mapped_ns = event->time_ns;
	if (process->count == 0)
		add_image(process, 0, layout_create(&images->bytes, false, images->forgotten_ns));
	layout = &process->images[0].layout;
	if (*layout == NULL)
		*layout = layout_create(&images->bytes, false, event->time_ns);
	if (*layout == NULL || layout_has(*layout, &event->map))
		return;
	if (event->map.inode != 0)
		process->file_mapped_ns = event->time_ns;
	*layout = layout_unshare(*layout);
	if (*layout != NULL && !layout_append(*layout, &event->map, event->time_ns))
	{
		layout_release(*layout);
		*layout = NULL;
	}
}

/*
 * Drops the processes that have been without events for longest while the limit is exceeded;
 * finally even the process just updated, if that one alone is too large.
 */
static void
enforce_byte_limit(PastImages *images)
{
	while (images->bytes > images->limit_bytes && images->processes != NULL)
	{
		remove_process(images, images->processes);
		images->pushed_out++;
	}
}

void
past_images_note(void *context, const SidebandEvent *event)
{
	PastImages *images = context;

	switch (event->kind)
	{
		case SIDEBAND_FORK:
			note_fork(images, event);
			break;
		case SIDEBAND_THREAD:
		case SIDEBAND_EXIT:
			note_thread(images, event);
			break;
		case SIDEBAND_EXEC:
			note_exec(images, event);
			break;
		case SIDEBAND_MAP:
			note_map(images, event);
			break;
		case SIDEBAND_KERNEL_CODE:
			images->kernel_changes++;
			break;
		case SIDEBAND_LOST:
			images->kernel_changes++;
			remove_all(images);
			images->forgotten_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
			images->lost += event->lost;
			/* at the start earlier events are always missing, which is no gap */
			images->gaps += event->lost == 0 && images->sideband != NULL;
			break;
	}
	enforce_byte_limit(images);
}

int
past_images_create(size_t process_limit, size_t limit_bytes, PastImages **result)
{
	PastImages *images = calloc(1, sizeof(*images));

	if (images == NULL)
		return -ENOMEM;
	images->limit = process_limit;
	images->limit_bytes = limit_bytes;
	*result = images;
	return 0;
}

void
past_images_free(PastImages *images)
{
	if (images == NULL)
		return;
	sideband_free(images->sideband);
	remove_all(images);
	free(images);
}

int
past_images_listen(PastImages *images, size_t limit_bytes)
{
	return sideband_create(limit_bytes, past_images_note, images, &images->sideband);
}

size_t
past_images_buffer_bytes(const PastImages *images)
{
	return images->sideband != NULL ? sideband_bytes(images->sideband) : 0;
}

void
past_images_wait(const PastImages *images, int other, int timeout_ms)
{
	sideband_wait(images->sideband, other, timeout_ms);
}

void
past_images_update(PastImages *images)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);

	if (images->sideband != NULL)
		sideband_read(images->sideband);
	images->updated_ns = now_ns;
}

void
past_images_update_to(PastImages *images, uint64_t time_ns)
{
	if (images->updated_ns < time_ns)
		past_images_update(images);
}

void
past_images_follow_cpus(PastImages *images)
{
	if (images->sideband != NULL)
		sideband_follow_cpus(images->sideband);
}

/* Returns the image that the process executed at time_ns; NULL if not known. */
static const PastImage *
find_image(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const PastProcess *process = past_process_find(images, pid);

	for (uint32_t i = 0; process != NULL && i < process->count; i++)
	{
		if (process->images[i].since_ns <= time_ns)
			return &process->images[i];
	}
	return NULL;
}

uint64_t
past_images_since_ns(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const PastImage *image = find_image(images, pid, time_ns);

	return image != NULL ? image->since_ns : 0;
}

/* Returns the image's layout if it is complete; otherwise NULL. */
static const Layout *
find_whole_layout(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const PastImage *image = find_image(images, pid, time_ns);

	return image != NULL && image->layout != NULL && image->layout->whole ? image->layout : NULL;
}

size_t
past_images_find(PastImages *images, uint32_t pid, uint64_t time_ns, const ProcMapping **mappings,
				 uint64_t *last_ns)
{
	const Layout *layout = find_whole_layout(images, pid, time_ns);

	if (layout == NULL || layout->count == 0)
		return 0;
	*mappings = images->painted;
	*last_ns = layout->mappings[layout->count - 1].time_ns;
	return layout_paint(layout, images->painted);
}

const ProcMapping *
past_images_executable(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const Layout *layout = find_whole_layout(images, pid, time_ns);

	for (size_t i = 0; layout != NULL && i < layout->count; i++)
	{
		if (layout->mappings[i].map.name[0] == '/')
			return &layout->mappings[i].map;
	}
	return NULL;
}

const ProcMapping *
past_images_at(PastImages *images, uint32_t pid, uint64_t address, uint64_t time_ns)
{
	const PastImage *image = find_image(images, pid, time_ns);

	if (image == NULL || image->layout == NULL)
		return NULL;
	for (size_t i = image->layout->count; i-- > 0;)
	{
		const PastMapping *mapping = &image->layout->mappings[i];

		if (mapping->time_ns <= time_ns && mapping->map.start <= address &&
			address < mapping->map.end)
			return &mapping->map;
	}
	return NULL;
}

PastChange
past_images_changed(PastImages *images, uint32_t pid, uint64_t address, uint64_t from_ns,
					uint64_t to_ns)
{
	const PastProcess *process = past_process_find(images, pid);
	const PastImage *image = find_image(images, pid, from_ns);

	if (process == NULL)
		return from_ns < images->forgotten_ns || from_ns < images->forgotten_ended_ns
				   ? PAST_UNTOLD
				   : PAST_UNCHANGED;
	if (image == NULL || image->layout == NULL)
		return PAST_UNTOLD;
	for (size_t i = image->layout->count; i-- > 0;)
	{
		const PastMapping *mapping = &image->layout->mappings[i];

		if (mapping->time_ns <= from_ns)
			break;
		if (mapping->time_ns <= to_ns && mapping->map.start <= address &&
			address < mapping->map.end)
			return PAST_CHANGED;
	}
	return from_ns < image->layout->known_since_ns ? PAST_UNTOLD : PAST_UNCHANGED;
}

uint64_t
past_images_mapped_ns(PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const PastProcess *process = past_process_find(images, pid);

	if (images->sideband == NULL)
		return UINT64_MAX;
	if (process != NULL)
		return process->mapped_ns;
	/* the process may have exited since, and been dropped */
	if (time_ns < images->forgotten_ended_ns && images->forgotten_ns < images->forgotten_ended_ns)
		return images->forgotten_ended_ns;
	return images->forgotten_ns;
}

uint64_t
past_images_untold_ns(PastImages *images, uint32_t pid)
{
	const PastProcess *process = past_process_find(images, pid);

	if (process == NULL || process->count == 0 || process->images[0].layout == NULL)
		return images->forgotten_ns;
	return process->images[0].layout->known_since_ns;
}

uint64_t
past_images_take_lost(PastImages *images)
{
	uint64_t lost = images->lost;

	images->lost = 0;
	return lost;
}

uint64_t
past_images_take_gaps(PastImages *images)
{
	uint64_t gaps = images->gaps;

	images->gaps = 0;
	return gaps;
}

uint64_t
past_images_kernel_changes(const PastImages *images)
{
	return images->kernel_changes;
}

uint64_t
past_images_take_pushed_out(PastImages *images)
{
	uint64_t pushed_out = images->pushed_out;

	images->pushed_out = 0;
	return pushed_out;
}

uint64_t
past_images_file_mapped_ns(PastImages *images, uint32_t pid)
{
	const PastProcess *process = past_process_find(images, pid);

	return process != NULL ? process->file_mapped_ns : 0;
}
