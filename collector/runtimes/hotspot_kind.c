/*
 * hotspot_kind.c
 *		HotSpot as a RuntimeKind.
 *
 * Its frames lie on the machine's stack, so no thread's state is searched for. "Placed" means that
 * the process's tables and heaps of code were read, which is possible when the virtual machine has
 * started.
 */
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
	HotSpotLayout layout;
	struct pfs_hotspot_layout walk;
	HotSpotReading reading =
		hotspot_layout_read(memory, &target->file.hotspot, target->bias, &layout);

	(void) thread_pointer;
	(void) is_first;
	if (reading == HOTSPOT_READ)
		reading = hotspot_layout_describe(memory, &layout, &walk);
	if (reading != HOTSPOT_READ)
	{
		target->is_strange = reading == HOTSPOT_UNKNOWN;
		return false;
	}
	target->hotspot = layout;
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
	if (target->entry.is_placed)
		hotspot_codes_read(memory, &target->hotspot, target->entry.hotspot.heaps, wanted, count);
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
};
