/*
 * hotspot_kind.c
 *		HotSpot as a RuntimeKind.
 *
 * Its frames lie on the machine's stack, so no thread's state is searched for. "Placed" means that
 * the process's tables and heaps of code were read, which is possible when the virtual machine has
 * started.
 */
#include <stdlib.h>

#include "runtimes/hotspot/hotspot_code.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "runtimes/runtime_kind.h"

static bool
hotspot_read_file(const ElfSource *source, const char *name, RuntimeFile *file)
{
	if (!hotspot_file_read(source, name, &file->hotspot))
		return false;
	file->is_known = file->hotspot.is_known;
	return true;
}

static void
hotspot_describe(RuntimeTarget *target)
{
	target->entry.marks = PFS_MARKS_NONE;
}

static bool
hotspot_place(RemoteMemory *memory, RuntimeTarget *target, uint64_t thread_pointer, bool is_first)
{
	HotSpotLayout *layout = malloc(sizeof(*layout));
	struct pfs_hotspot_layout walk;
	HotSpotReading reading = HOTSPOT_NOT_YET;

	(void) thread_pointer;
	(void) is_first;
	if (layout != NULL)
		reading = hotspot_layout_read(memory, &target->file.hotspot, target->bias, layout);
	if (reading == HOTSPOT_READ)
		reading = hotspot_layout_describe(memory, layout, &walk);
	if (reading != HOTSPOT_READ)
	{
		target->is_strange = reading == HOTSPOT_UNKNOWN;
		free(layout);
		return false;
	}
	target->own = layout;
	target->entry.hotspot = walk;
	target->entry.is_placed = 1;
	return true;
}

static bool
hotspot_key_of(const UserFrame *frame, CodeKey *key)
{
	*key = (CodeKey){ frame->code, PFS_FRAME_PAYLOAD(frame->more[0]) };
	return frame->more_count == 1;
}

static void
hotspot_read_codes(RemoteMemory *memory, RuntimeTarget *target, CodeWanted *wanted, size_t count)
{
	if (target->own != NULL)
		hotspot_codes_read(memory, target->own, target->entry.hotspot.heaps, wanted, count);
}

static void
hotspot_release(RuntimeTarget *target)
{
	free(target->own);
	target->own = NULL;
}

const RuntimeKind hotspot_kind = {
	.kind = PFS_RUNTIME_HOTSPOT,
	.title = "HotSpot",
	.label = "[hotspot]",
	.is_threadless = true,
	.read_file = hotspot_read_file,
	.describe = hotspot_describe,
	.place = hotspot_place,
	.key_of = hotspot_key_of,
	.read_codes = hotspot_read_codes,
	.release = hotspot_release,
};
