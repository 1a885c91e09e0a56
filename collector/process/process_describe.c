/*
 * process_describe.c
 *		Describes processes to the unwinder, and decides whether a description was valid at the time
 *		of a sample.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/process_evict.h"

#define ROOM_RETRY_NS (2 * NS_PER_S) /* freed room is reusable after half of this */

bool
process_take_description(ProcessTable *table, Process *process, ProcessDescription *description)
{
	const MappingList *list = &process->mappings;

	if (process->described || process->state != PROCESS_LIVE ||
		(uint64_t) clock_ns(CLOCK_MONOTONIC) < process->describe_ns)
		return false;
	description->mappings = calloc(list->count + 1, sizeof(*description->mappings));
	if (description->mappings == NULL)
		return false;
	description->identity = process_identity(process);
	description->count = 0;
	for (size_t i = 0; i < list->count; i++)
	{
		Mapping *mapping = &list->mappings[i];
		MappedFile *file = mapping_file(table->files, mapping);

		/*
		 * A walk ends in a mapping that is not described. The code of a file that was not opened
		 * has no table.
		 */
		if (mapping->kind == MAPPING_OTHER || (mapping->kind != MAPPING_ANONYMOUS && file == NULL))
			continue;
		if (file != NULL)
			mapped_file_retain(table->files, file);
		description->mappings[description->count++] =
			(DescribedMapping){ mapping->map.start, mapping->map.end, mapping->map.file_offset,
								file };
	}
	process->described = true;
	process->in_unwinder = true;
	/*
	 * From this moment on the kernel may use the new description, and until it is installed the one
	 * before.
	 */
	memmove(&process->descriptions[1], &process->descriptions[0],
			(DESCRIPTIONS - 1) * sizeof(Described));
	process->descriptions[0] = (Described){ (uint64_t) clock_ns(CLOCK_MONOTONIC), UINT64_MAX,
											list->begin_ns, list->end_ns };
	return true;
}

void
process_described(ProcessTable *table, Process *process, size_t held, uint64_t now_ns)
{
	process->held = held;
	process_set_verdict(table, process, PFS_VERDICT_NO_COPY, held == 0);
	/* UINT64_MAX until here: process_walk_held() considers the older one, too */
	process->descriptions[0].installed_ns = now_ns;
}

/* Returns the process with the most mappings in the unwinder. */
static Process *
largest_described(ProcessTable *table)
{
	Process *largest = NULL;
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		if (process->waits == 0 && (largest == NULL || process->held > largest->held))
			largest = process;
	}
	return largest;
}

void
process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns)
{
	Process *largest;

	process->described = false;
	process->held = 0;
	process_set_verdict(table, process, PFS_VERDICT_NO_COPY, true);
	process->describe_ns = now_ns + ROOM_RETRY_NS;
	/* room that was freed for another process becomes usable only after EXTENT_GRACE_NS */
	if (now_ns < table->room_ns)
		return;
	table->room_ns = now_ns + ROOM_RETRY_NS;
	/*
	 * Processes that are sampled all the time may hold all the room, and would never be evicted as
	 * the least recently sampled.
	 */
	largest = largest_described(table);
	if (largest != NULL && largest->held > process->mappings.count)
		process_evict(table, largest);
	for (size_t left = table->stats.count / 8 + 1; left > 0 && process_evict_oldest(table, process);
		 left--)
		;
}

void
process_describe_again(Process *process, uint64_t now_ns)
{
	process->described = false;
	process->describe_ns = now_ns + ROOM_RETRY_NS;
}

void
process_description_fini(MappedFileTable *files, ProcessDescription *description)
{
	for (size_t i = 0; i < description->count; i++)
		mapped_file_release(files, description->mappings[i].file);
	free(description->mappings);
}

bool
process_walk_held(ProcessTable *table, const Process *process, uint64_t address, uint64_t time_ns,
				  bool late)
{
	uint64_t from_ns = time_ns;
	uint64_t to_ns = time_ns;

	/* consider all descriptions that the kernel may have used at that time */
	for (int i = 0; i < DESCRIPTIONS; i++)
	{
		const Described *described = &process->descriptions[i];

		if (described->taken_ns == 0)
			break;
		/* made after the sample, so the kernel cannot have used it; a late walk may have */
		if (!late && described->taken_ns > time_ns)
			continue;
		if (described->begin_ns < from_ns)
			from_ns = described->begin_ns;
		if (described->end_ns > to_ns)
			to_ns = described->end_ns;
		/* this one was in place at the time of the sample, so older ones were not used */
		if (late || described->installed_ns <= time_ns)
			break;
	}
	return process_code_changed(table, process, address, from_ns, to_ns) != PAST_CHANGED;
}
