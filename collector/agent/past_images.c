/*
 * past_images.c
 *		Images by process, newest first; a forked child shares its parent's mappings until one of them changes.
 */
#include "agent/past_images.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/grow.h"

#define MAX_MAPPINGS \
	512 /* of an image; one with more is forgotten: JIT compilers live long enough for /proc */
#define MAX_IMAGES 4 /* of a process */

/* Mappings of one image or, after fork, of several. */
typedef struct Layout
{
	uint32_t references;
	size_t count;
	size_t capacity;
	ProcMapping *mappings; /* by ascending start; names are ours */
	ProcMapping executable;
} Layout;

typedef struct PastImage
{
	uint64_t since_ns;
	Layout *layout; /* NULL: not known */
} PastImage;

typedef struct PastProcess
{
	uint32_t pid;
	uint32_t count;
	uint64_t mapped_ns;			  /* the last time */
	PastImage images[MAX_IMAGES]; /* newest first */
	UT_hash_handle hh;			  /* the table's order is that of the last event: oldest first */
} PastProcess;

struct PastImages
{
	Sideband *sideband; /* NULL: nothing is told */
	size_t limit;
	uint64_t forgotten_ns; /* what processes that are not known here mapped, they mapped before */
	PastProcess *processes;
};

/* Names of ours are const only to others. */
static void
free_name(const ProcMapping *mapping)
{
	free((void *) (uintptr_t) mapping->name);
}

static void
layout_release(Layout *layout)
{
	if (layout == NULL || --layout->references > 0)
		return;
	for (size_t i = 0; i < layout->count; i++)
		free_name(&layout->mappings[i]);
	free(layout->mappings);
	free_name(&layout->executable);
	free(layout);
}

static bool
copy_mapping(const ProcMapping *from, ProcMapping *to)
{
	*to = *from;
	to->name = strdup(from->name);
	return to->name != NULL;
}

/* Appends behind all others. */
static bool
layout_append(Layout *layout, const ProcMapping *mapping)
{
	if (layout->count >= MAX_MAPPINGS ||
		grow_array(&layout->mappings, &layout->capacity, layout->count, sizeof(ProcMapping)) != 0 ||
		!copy_mapping(mapping, &layout->mappings[layout->count]))
		return false;
	layout->count++;
	return true;
}

/* Appends what of a mapping lies in [start, end). */
static bool
layout_append_part(Layout *layout, const ProcMapping *mapping, uint64_t start, uint64_t end)
{
	ProcMapping part = *mapping;

	if (part.start < start)
	{
		part.file_offset += start - part.start;
		part.start = start;
	}
	if (part.end > end)
		part.end = end;
	return part.start >= part.end || layout_append(layout, &part);
}

/* The mappings of old, over which added is laid: a new layout, or NULL without memory or with too many. */
static Layout *
layout_with(const Layout *old, const ProcMapping *added)
{
	Layout *layout = calloc(1, sizeof(*layout));
	bool placed = false;
	bool good = layout != NULL;

	if (good)
		layout->references = 1;
	for (size_t i = 0; good && i < old->count; i++)
	{
		const ProcMapping *mapping = &old->mappings[i];

		good = layout_append_part(layout, mapping, 0, added->start);
		if (good && !placed && mapping->end > added->start)
		{
			placed = true;
			good = layout_append(layout, added);
		}
		good = good && layout_append_part(layout, mapping, added->end, UINT64_MAX);
	}
	if (good && !placed)
		good = layout_append(layout, added);
	if (good)
	{
		const ProcMapping *executable = &old->executable;

		if (executable->name == NULL && added->name[0] == '/')
			executable = added;
		good = executable->name == NULL || copy_mapping(executable, &layout->executable);
	}
	if (good)
		return layout;
	layout_release(layout);
	return NULL;
}

/* Compilers that write and execute in turn map the same code over and over. */
static bool
layout_has(const Layout *layout, const ProcMapping *mapping)
{
	for (size_t i = 0; i < layout->count; i++)
	{
		const ProcMapping *known = &layout->mappings[i];

		if (known->start == mapping->start && known->end == mapping->end &&
			known->file_offset == mapping->file_offset && known->device == mapping->device &&
			known->inode == mapping->inode && strcmp(known->name, mapping->name) == 0)
			return true;
	}
	return false;
}

static PastProcess *
find_process(const PastImages *images, uint32_t pid)
{
	PastProcess *process;

	HASH_FIND(hh, images->processes, &pid, sizeof(pid), process);
	return process;
}

static void
remove_process(PastImages *images, PastProcess *process)
{
	if (images->forgotten_ns < process->mapped_ns)
		images->forgotten_ns = process->mapped_ns;
	HASH_DEL(images->processes, process);
	for (uint32_t i = 0; i < process->count; i++)
		layout_release(process->images[i].layout);
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

static void
add_image(PastProcess *process, uint64_t since_ns, Layout *layout)
{
	if (process->count == MAX_IMAGES)
		layout_release(process->images[--process->count].layout);
	memmove(&process->images[1], &process->images[0], process->count * sizeof(PastImage));
	process->images[0] = (PastImage){ since_ns, layout };
	process->count++;
}

/* The process, as the one of the latest event; NULL without memory. */
static PastProcess *
touch_process(PastImages *images, uint32_t pid)
{
	PastProcess *process = find_process(images, pid);

	if (process != NULL)
		HASH_DEL(images->processes, process);
	else
	{
		while (HASH_COUNT(images->processes) >= images->limit)
			remove_process(images, images->processes);
		process = calloc(1, sizeof(*process));
		if (process == NULL)
			return NULL;
		process->pid = pid;
	}
	HASH_ADD(hh, images->processes, pid, sizeof(process->pid), process);
	return process;
}

/* Whatever was known of the pid was about another process. */
static void
note_fork(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = find_process(images, event->pid);
	PastProcess *parent;
	Layout *layout;

	if (process != NULL)
		remove_process(images, process);
	parent = find_process(images, event->parent_pid);
	layout = parent != NULL && parent->count > 0 ? parent->images[0].layout : NULL;
	if (layout == NULL)
		return;
	layout->references++; /* before the parent can be pushed out */
	process = touch_process(images, event->pid);
	if (process != NULL)
		add_image(process, event->time_ns, layout);
	else
		layout_release(layout);
}

static void
note_exec(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = touch_process(images, event->pid);
	Layout *layout;

	if (process == NULL)
		return;
	layout = calloc(1, sizeof(*layout));
	if (layout != NULL)
		layout->references = 1;
	add_image(process, event->time_ns, layout);
}

static void
note_map(PastImages *images, const SidebandEvent *event)
{
	PastProcess *process = touch_process(images, event->pid);
	Layout *layout;

	if (process == NULL)
	{
		images->forgotten_ns = event->time_ns;
		return;
	}
	process->mapped_ns = event->time_ns;
	if (process->count == 0 || process->images[0].layout == NULL ||
		layout_has(process->images[0].layout, &event->map))
		return;
	layout = layout_with(process->images[0].layout, &event->map);
	layout_release(process->images[0].layout);
	process->images[0].layout = layout;
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
		case SIDEBAND_EXEC:
			note_exec(images, event);
			break;
		case SIDEBAND_MAP:
			note_map(images, event);
			break;
		case SIDEBAND_LOST:
			remove_all(images);
			images->forgotten_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
			break;
	}
}

int
past_images_create(size_t process_limit, PastImages **result)
{
	PastImages *images = calloc(1, sizeof(*images));

	if (images == NULL)
		return -ENOMEM;
	images->limit = process_limit;
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
past_images_listen(PastImages *images)
{
	return sideband_create(past_images_note, images, &images->sideband);
}

void
past_images_update(PastImages *images)
{
	if (images->sideband != NULL)
		sideband_read(images->sideband);
}

void
past_images_follow_cpus(PastImages *images)
{
	if (images->sideband != NULL)
		sideband_follow_cpus(images->sideband);
}

static const Layout *
find_layout(const PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const PastProcess *process = find_process(images, pid);

	for (uint32_t i = 0; process != NULL && i < process->count; i++)
	{
		if (process->images[i].since_ns <= time_ns)
			return process->images[i].layout;
	}
	return NULL;
}

size_t
past_images_find(const PastImages *images, uint32_t pid, uint64_t time_ns,
				 const ProcMapping **mappings)
{
	const Layout *layout = find_layout(images, pid, time_ns);

	if (layout == NULL)
		return 0;
	*mappings = layout->mappings;
	return layout->count;
}

uint64_t
past_images_mapped_ns(const PastImages *images, uint32_t pid)
{
	const PastProcess *process = find_process(images, pid);

	if (images->sideband == NULL)
		return UINT64_MAX;
	return process != NULL ? process->mapped_ns : images->forgotten_ns;
}

const ProcMapping *
past_images_executable(const PastImages *images, uint32_t pid, uint64_t time_ns)
{
	const Layout *layout = find_layout(images, pid, time_ns);

	return layout != NULL && layout->executable.name != NULL ? &layout->executable : NULL;
}
